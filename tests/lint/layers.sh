#!/bin/sh
# layers.sh [TREE] - who may include whom. A relation that is not in these tables is a violation.
. "$(dirname "$0")/files.sh"

# Rank, layer, and where it is stricter than its rank: the only other layers it may include. A file may include its
# own layer and every layer of a lower rank; layers of the same rank do not see each other. harnesses/ and tools/ are
# top-level folders, unpack/, fetch/, proxy/ and init/ are executables of their own and skill/ a part of the first alone, tests/ see everything.
layers='
0  base
1  digest
1  loop
1  confine
2  json
2  service    loop confine base
2  diff       digest base
3  tree       digest base
3  access     json digest loop base
3  rpc
4  proc
5  harnesses  rpc json base
5  policy     tree json base
6  usage
6  archive
7  workspace
7  model      harnesses digest json base loop
6  fetcher    digest json base loop proc
7  outbox     fetcher digest json base loop
7  egress     digest json base loop proc
8  session
9  tools
9  lifecycle
10 acp
10 http
10 skill      tree json base
11 agui
11 net
12 cli
12 unpack     tree diff skill json digest confine base
12 fetch      service fetcher json loop confine base
12 proxy      service egress json loop confine base
12 init       -
13 tests
'
# Files of session/ that know no session: of its headers they include only their own kind's.
sessionless='^(daemon/)?session/(core/log/(evlog(_[a-z]+)?|journal_record|event_table|incarnations)|core/harness/(session_env|setup|setup_rows|setup_values|session_labels|baseenv|config_options)|core/turn/(client_ids|absolute_paths)|core/store/state_dir|core/(home_program|removal|session_parameter|trace_context)|core/redact/(mask|mask_match|event_fields|secrets|protocol_words)|parts/approval/approval_terms|parts/draft/draft_terms|parts/rules/(rule_request|rule_judge|own_rules)|parts/model/call_rate|parts/users/(agent_uids|leftovers|parked_uids))[.][ch]$'
# Headers of a library: only files that match may include them. The stub agent is a program of its own.
libraries='
libwebsockets\.h        ^daemon/net/
(cjson/)?cJSON\.h       ^(daemon/json|tests/stub)/
seccomp\.h              ^daemon/confine/confine[^/]*\.c$
curl/curl\.h            ^daemon/fetch/
ares\.h                 ^daemon/proxy/
archive(_entry)?\.h     ^daemon/unpack/
z(lib|std|std_errors)\.h ^(daemon/(unpack|diff|outbox/otlp)|tests)/
isa-l/(crc|igzip_lib)\.h ^daemon/unpack/bytes/
yaml\.h                 ^daemon/skill/
pcre2\.h                ^tools/builtin/search/regex\.c$
openssl/.*              ^daemon/(digest/|net/client/tls_client\.c$)
cmocka\.h               ^tests/
sanitizer/.*            ^tests/
'
# Everything else in <...> has to be libc or the kernel.
libc=' aio alloca arpa/inet assert byteswap ctype dirent dlfcn elf endian err errno execinfo fcntl features fnmatch
float getopt glob grp immintrin inttypes iso646 langinfo libgen limits link locale malloc math mntent netdb nmmintrin
poll pthread pty pwd sched search semaphore setjmp signal spawn stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib
stdnoreturn string strings syscall sysexits syslog termios tgmath threads time ucontext unistd utime wchar wordexp
x86intrin cpuid '
prefixes='^(sys|linux|asm|asm-generic|bits|net|netinet|netpacket)/'

export layers sessionless libraries libc prefixes
lint_c_files | awk -f "$lint_dir/layers.awk"
