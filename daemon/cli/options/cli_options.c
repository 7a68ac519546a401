/*
 * cli_options.c - the table of options. config_load.c reads it.
 *
 * A row is one option in the scopes that it names. Two rows may have the same name in different scopes, with
 * different kinds and help: --json of usage, --from of harness install. The order of the rows is the order of
 * --help and --print-config. Rows begin with OPT("name", because the linter for the man page and the tests
 * read this file, too.
 */
#include "cli/options/cli_options.h"

#include "base/limits.h"
#include "base/os/sandbox.h"
#include "cli/harness/harness_install.h"
#include "cli/usage/run_stats.h"
#include "lifecycle/lifecycle.h"
#include "net/claim/e2b_metadata.h"
#include "session/parts/programs/programs.h"

#define STR .type = T_STR
#define STR_OR(text) .type = T_STR, .def = text
#define LIST .type = T_LIST
#define EACH .type = T_EACH
#define PATH .type = T_STR, .path = true
#define PATH_OR(text) .type = T_STR, .path = true, .def = text
#define PATH_LIST .type = T_LIST, .path = true
#define PATH_EACH .type = T_EACH, .path = true
#define KEEP .type = T_KEEP
#define BOOL .type = T_BOOL, .def = "false"
#define WORD(all, text) .type = T_WORD, .words = all, .def = text
#define INT(low, high, number) .type = T_INT, .min = low, .max = high, .num = number
#define INT_OR(word, low, high, number) INT(low, high, number), .words = word
/* Name, kind and default, subcommands, member of struct config, argument, help; then perhaps its letter. */
#define OPT(text, kind, where, field, value, ...)                                                  \
	{                                                                                          \
		.name = text, kind, .scope = where, .offset = offsetof(struct config, field),      \
		.arg = value, .help = __VA_ARGS__                                                  \
	}
#define ALL (SCOPE_SERVE | SCOPE_CLIENT | SCOPE_RUN | SCOPE_LOCAL)
#define REMOTE (SCOPE_CLIENT | SCOPE_RUN)

/* clang-format off */
const struct option_row option_rows[] = {
/* acpd serve: where it listens, what it keeps on disk, and who is let in */
OPT("listen", STR_OR("127.0.0.1:2270"), SCOPE_SERVE, listen, "HOST:PORT",
    "address of the WebSocket and HTTP listener; port 0 takes a free one"),
OPT("state", PATH, SCOPE_SERVE | LEDGER | SCOPE_STATS, state, "DIR",
    "journals, usage ledger and private homes (default /var/lib/acpd as root, else ~/.local/state/acpd)"),
OPT("sandbox-id-file", PATH_OR(SANDBOX_ID_FILE), SCOPE_SERVE, sandbox_id_file, "FILE",
    "the sandbox's id; who restores a snapshot writes it anew, and another id makes the daemon one that nobody has claimed"),
OPT("destroy-sockets", BOOL, SCOPE_SERVE, destroy_sockets, NULL,
    "After a restore, end the TCP connections of sessions to other machines; needs root and --agent-user"),
OPT("workspaces", PATH, SCOPE_SERVE, workspaces, "DIR",
    "where workspaces are kept; made at start, owned by the agent user, announced to clients"),
OPT("run-dir", PATH, ALL | SCOPE_ARCHIVE, run_dir, "DIR",
    "UNIX sockets (default /run/acpd as root, else $XDG_RUNTIME_DIR/acpd)"),
OPT("token-file", PATH, SCOPE_SERVE | REMOTE | SCOPE_LOCAL | SCOPE_ARCHIVE | SCOPE_STATS | SCOPE_UI, token_file, "FILE",
    "the bearer token, or sha256:<hex> of it"),
OPT("claim-e2b", BOOL, SCOPE_SERVE, claim_e2b, NULL,
    "who has E2B's access token of this sandbox may claim the daemon: POST /v1/claim"),
OPT("metadata-url", STR_OR(E2B_METADATA_URL), SCOPE_SERVE, metadata_url, "URL",
    "the metadata service that knows this token's hash; http, and an address of the loopback or of the link"),
/* harnesses, their users and their confinement */
OPT("harness-config", PATH, SCOPE_SERVE | SCOPE_HARNESS, harness_config, "FILE",
    "manifest of further harnesses"),
OPT("default-harness", STR, SCOPE_SERVE, default_harness, "ID",
    "harness of clients that name none", .claim = CLAIM_ANY),
OPT("agent-user", STR, SCOPE_SERVE, agent_user, "NAME",
    "user that harnesses run as; needs root"),
OPT("agent-uids", STR, SCOPE_SERVE, agent_uids, "FIRST-LAST",
    "uids of sessions, one for each; needs root and --agent-user (default: all run as --agent-user)"),
OPT("level", WORD("open guarded strict", NULL), SCOPE_SERVE, level, "LEVEL",
    "how far agents are confined whose client does not say; met whole or refused "
    "(default: guarded, as far as the machine allows)", .claim = CLAIM_ANY),
OPT("level-min", WORD("open guarded strict", "open"), SCOPE_SERVE, level_min, "LEVEL",
    "clients may not ask for less, and it is met whole", .claim = CLAIM_LATER_WORD),
OPT("network-max", WORD("off allowlist on", "on"), SCOPE_SERVE, network_max, "MODE",
    "clients may not give a session more network than that; without a word it has so much", .claim = CLAIM_EARLIER_WORD),
/* requests of the daemon to other machines */
OPT("ca-file", PATH, SCOPE_SERVE | SCOPE_UI, ca_file, "FILE",
    "certificates to trust in requests to other machines, PEM (default: the system's)"),
OPT("upstream-allow", LIST, SCOPE_SERVE, upstream_allow, "LIST",
    "HOST or HOST:PORT, comma-separated, that may be called although private or a metadata service", .claim = CLAIM_ANY),
OPT("fetch-user", STR, SCOPE_SERVE, fetch_user, "NAME",
    "user that acpd-fetch runs as; needs root (default: acpd-fetch, nobody or daemon)"),
OPT("unlocked-keys", BOOL, SCOPE_SERVE, unlocked_keys, NULL,
    "keep keys of requests in memory that may be swapped out, where the machine locks none"),
OPT("profile", PATH_LIST, SCOPE_SERVE, profile, "NAME=FILE",
    "settings of AG-UI threads by name, comma-separated: each a JSON object, read when a run names it"),
OPT("webhook", PATH, SCOPE_SERVE, webhook, "FILE",
    "who is told what happens: a JSON array of receivers {url, secret, events, id}; may come later, and is read when it changes"),
OPT("webhook-keep", KEEP, SCOPE_SERVE, webhook_keep, "AGE[,SIZE]",
    "what waits for a receiver of webhooks is given up after so long, and has so much room on disk (default: 3d,64m)", .claim = CLAIM_ANY),
/* what harnesses get: variables, MCP servers, tools */
OPT("pass-env", LIST, SCOPE_SERVE, pass_env, "LIST",
    "further variables of ours that harnesses may see, comma-separated; NAME* for a prefix"),
OPT("mcp-config", PATH, SCOPE_SERVE, mcp_config, "FILE",
    "MCP servers to run beside the harnesses, in the form of .mcp.json"),
OPT("tools-root", PATH, SCOPE_SERVE, tools_root, "DIR",
    "where the built-in tools of /mcp work if no session is named (default: the home of the agent user)"),
/* HTTP and the run viewer */
OPT("allow-host", LIST, SCOPE_SERVE, allow_host, "LIST",
    "further Host values to serve, comma-separated", .claim = CLAIM_ANY),
OPT("allow-origin", LIST, SCOPE_SERVE, allow_origin, "LIST",
    "browser Origins to serve, comma-separated", .claim = CLAIM_ANY),
OPT("ui-dir", PATH, SCOPE_SERVE | SCOPE_UI, ui_dir, "DIR",
    "where the run viewer is, which is served at /ui (default: ../share/acpd/ui beside the executable)"),
OPT("allow-query-token", BOOL, SCOPE_SERVE, allow_query_token, NULL,
    "accept ?token=, which ends up in proxy logs", .claim = CLAIM_ANY),
OPT("log", WORD("error warn info debug", "info"), SCOPE_SERVE, log, "LEVEL",
    "least severe level that is logged", .claim = CLAIM_ANY),
/* disk, clients and time-outs */
OPT("journal", WORD("on off", "on"), SCOPE_SERVE, journal, "on|off",
    "keep session events on disk; off: only the newest stay readable"),
OPT("journal-max", INT(4096, INT64_MAX / 2, JOURNAL_MAX), SCOPE_SERVE, journal_max, "BYTES",
    "largest journal of one session; beyond it turns fail", .claim = CLAIM_ANY),
OPT("backlog-max", INT(4096, INT64_MAX / 2, CONN_BACKLOG_MAX), SCOPE_SERVE, backlog_max, "BYTES",
    "output a reader may lag behind before it is closed with 1008", .claim = CLAIM_ANY),
OPT("ping-interval", INT(1, 3600, PING_INTERVAL_SECS), SCOPE_SERVE, ping_interval, "SECONDS",
    "WebSocket ping after so much silence"),
OPT("ping-timeout", INT(1, 3600, PING_TIMEOUT_SECS), SCOPE_SERVE, ping_timeout, "SECONDS",
    "a client without a pong for so long is dropped"),
OPT("permission-timeout", INT(1, 604800, PERMISSION_TIMEOUT_SECS), SCOPE_SERVE, permission_timeout, "SECONDS",
    "a question with no client attached is rejected after so long", .claim = CLAIM_ANY),
OPT("mcp-hold", INT(1, 86400, MCP_HOLD_SECS), SCOPE_SERVE, mcp_hold, "SECONDS",
    "an MCP request to a client that has gone fails unless one comes back within so long", .claim = CLAIM_ANY),
OPT("model-hold", INT(1, 86400, MODEL_HOLD_SECS), SCOPE_SERVE, model_hold, "SECONDS",
    "a model call of a session with via: tunnel fails unless a client that makes it comes within so long", .claim = CLAIM_ANY),
OPT("record-model", BOOL, SCOPE_SERVE, record_model, NULL,
    "keep the model calls of sessions that pass the daemon, requests and answers, for their bundles (needs --journal on)"),
OPT("record-max", INT(4096, INT64_MAX / 2, RECORD_MAX_DEFAULT), SCOPE_SERVE, record_max, "BYTES",
    "such calls of one session; beyond it nothing more of it is kept"),
/* how many of each, for how long, and how much */
OPT("harness-idle", INT(0, 31536000, HARNESS_IDLE_SECS), SCOPE_SERVE, harness_idle, "SECONDS",
    "a harness without turn, question and driver for so long is stopped until the next prompt; 0: never", .claim = CLAIM_ANY),
OPT("harness-max", INT(0, 100000, 0), SCOPE_SERVE, harness_max, "N",
    "harnesses that live at a time; 0: as long as 512 MiB of memory are left for the next, at least one", .claim = CLAIM_ANY),
OPT("harness-wait", INT(1, 86400, HARNESS_WAIT_SECS), SCOPE_SERVE, harness_wait, "SECONDS",
    "a prompt that waits so long for a harness fails with TOO_MANY_HARNESSES", .claim = CLAIM_ANY),
OPT("harness-start", INT(1, 3600, HARNESS_START_SECS), SCOPE_SERVE, harness_start, "SECONDS",
    "longest wait for a harness to open its session; then it is stopped and the start fails", .claim = CLAIM_ANY),
OPT("session-max", INT(1, SESSIONS_KEPT_MAX, SESSION_MAX), SCOPE_SERVE, session_max, "N",
    "sessions that are open at a time", .claim = CLAIM_ANY),
OPT("draft-max", INT(0, INT64_MAX / 2, DRAFT_MAX_DEFAULT), SCOPE_SERVE, draft_max, "BYTES",
    "what a draft may take on its disk"),
OPT("limit-memory", INT_OR("auto", LIMIT_MEMORY_MIN, INT64_MAX / 2, -1), SCOPE_SERVE, limit_memory, "BYTES|auto",
    "memory of all processes of a session together, and the most that one may be given; auto: all but 64 MiB", .claim = CLAIM_ANY),
OPT("limit-pids", INT(LIMIT_PIDS_MIN, 4194304, LIMIT_PIDS), SCOPE_SERVE, limit_pids, "N",
    "processes and threads of a session, and the most that one may be given", .claim = CLAIM_ANY),
OPT("keep-usage", KEEP, SCOPE_SERVE, keep_usage, "AGE[,SIZE]",
    "whole files of the usage ledger beyond that are removed once a client has read them, oldest first "
    "(default: only when there is no space)", .claim = CLAIM_ANY),
OPT("usage-file-max", INT(1024, INT64_MAX / 2, LEDGER_FILE_MAX), SCOPE_SERVE, usage_file_max, "BYTES",
    "one file of the usage ledger; the next is begun before it would be larger", .claim = CLAIM_ANY),
OPT("keep-sessions", KEEP, SCOPE_SERVE, keep_sessions, "AGE[,SIZE]",
    "closed sessions that are older, or beyond so much on disk, are deleted, the longest closed first "
    "(default: only when the disk is full)", .claim = CLAIM_ANY),
OPT("archive-store-max", INT(65536, INT64_MAX / 2, ARCHIVE_STORE_MAX), SCOPE_SERVE, archive_store_max, "BYTES",
    "all uploaded archives together; beyond it the least recently used go", .claim = CLAIM_ANY),
OPT("archive-max", INT(65536, INT64_MAX / 2, ARCHIVE_UPLOAD_MAX), SCOPE_SERVE, archive_max, "BYTES",
    "largest archive that may be uploaded", .claim = CLAIM_ANY),
OPT("archives-baked", PATH, SCOPE_SERVE, archives_baked, "DIR",
    "archives of the image, read only (default: /opt/acpd/archives if it is there)"),
OPT("skills", PATH, SCOPE_SERVE, skills, "DIR",
    "skills of the image, a directory each (default: /opt/acpd/skills if it is there)"),
OPT("max-connections", INT(1, 16384, CONN_MAX), SCOPE_SERVE, max_connections, "N",
    "WebSocket connections at a time"),
OPT("drain", INT(0, DRAIN_MAX_SECS, 0), SCOPE_SERVE, drain, "SECONDS",
    "told to end, the daemon begins nothing new and gives what runs so long", .claim = CLAIM_ANY),
OPT("idle-exit", INT(0, 31536000, 0), SCOPE_SERVE, idle_exit, "SECONDS",
    "the daemon ends after so long without work, whoever is connected; 0: never", .claim = CLAIM_ANY),
OPT("max-life", INT(0, 31536000, 0), SCOPE_SERVE, max_life, "SECONDS",
    "the daemon ends after so long, whatever runs, with --drain; 0: never", .claim = CLAIM_ANY),
/* instead of serving */
OPT("check", BOOL, SCOPE_INSTEAD, check, NULL,
    "check the configuration and exit"),
OPT("print-config", BOOL, SCOPE_INSTEAD, print_config, NULL,
    "print the effective configuration and exit"),
/* clients of a daemon */
OPT("url", STR, REMOTE | SCOPE_UI, url, "URL",
    "address of a daemon: ws://, wss://, http:// or https://"),
OPT("url", STR, SCOPE_ARCHIVE | SCOPE_STATS, url, "URL",
    "address of a daemon: http:// or ws:// (default: its acp.sock)"),
OPT("header", EACH, SCOPE_UI, header, "NAME: VALUE",
    "a header that goes with each request to the daemon, as a proxy before it wants; may be repeated"),
OPT("port", INT(0, 65535, 0), SCOPE_UI, port, "PORT",
    "of 127.0.0.1; 0 takes a free one"),
OPT("output", PATH, SCOPE_GET, output, "FILE",
    "write here instead of to standard output", .letter = 'o'),
OPT("speed", INT(0, 1000, 1), SCOPE_REPLAY, speed, "N",
    "how many times as fast as it was; 0: without waiting"),
/* acpd claim, restart and tokens */
OPT("set", EACH, SCOPE_CLAIM, set, "NAME=VALUE",
    "an option of acpd serve that the claim brings; may be repeated"),
OPT("sandbox-id", STR, SCOPE_CLAIM, sandbox_id, "ID",
    "what this sandbox is called, where its provider has left no file that says it"),
OPT("webhook", PATH, SCOPE_CLAIM, webhook, "FILE",
    "receivers of webhooks that the claim brings: a JSON array, as acpd serve --webhook reads it"),
OPT("drain", INT(-1, DRAIN_MAX_SECS, -1), SCOPE_RESTART, restart_drain, "SECONDS",
    "Time for running turns to finish (-1: as the daemon's --drain)"),
OPT("replace", BOOL, SCOPE_CLAIM, replace, NULL,
    "Replace the token of a claimed daemon and end what the old one opened; needs root"),
OPT("keep-tokens", BOOL, SCOPE_CLAIM, keep_tokens, NULL,
    "Keep minted tokens when the token is replaced"),
OPT("scope", WORD("admin drive observe usage model tools", NULL), SCOPE_TOKENS, token_scope, NULL,
    "what the token may"),
OPT("label", STR, SCOPE_TOKENS, label, "TEXT",
    "what it is for, for those who list tokens"),
OPT("expires", STR_OR("1d"), SCOPE_TOKENS, expires, "WHEN",
    "when it is over: a number with m, h or d from now on, or a time as 2026-11-21T08:00:00Z"),
OPT("session", EACH, SCOPE_TOKENS, token_sessions, "ID",
    "a session that it is limited to; may be repeated"),
/* archives, and acpd run */
OPT("uid", INT(0, 4294967294, -1), SCOPE_EXTRACT, uid, "N",
    "user to unpack as, who then owns the tree; needs root (-1: ourselves)"),
OPT("strip", INT_OR("auto", 0, PATH_DEPTH_MAX, 0), SCOPE_EXTRACT | SCOPE_RUN, strip, "N|auto",
    "leading components to take off the names in the archive; auto: a single top directory"),
OPT("links", WORD("refuse skip keep-inside", "refuse"), SCOPE_EXTRACT | SCOPE_RUN, links, "RULE",
    "symbolic links that lead out of the tree: refuse the archive, or leave them out"),
OPT("socket", PATH, REMOTE | SCOPE_ARCHIVE, socket, "PATH",
    "its acp.sock (default: the one in the run directory)"),
OPT("harness", STR, SCOPE_RUN, harness, "ID",
    "harness to run the prompt on"),
OPT("model", STR, SCOPE_RUN, model, "ID",
    "model of the session"),
OPT("provider", PATH, SCOPE_RUN, provider, "FILE",
    "a JSON object for _meta.acpd.provider: api, baseUrl, key, model"),
OPT("env", EACH, SCOPE_RUN, env, "NAME[=VALUE]",
    "variable for the harness, without a value: ours; may be repeated"),
OPT("archive", STR, SCOPE_RUN, archive, "FILE|DIGEST",
    "archive to unpack into the working directory first; a file is uploaded"),
OPT("budget", LIST, SCOPE_RUN, budget, "NAME=N",
    "limit of the turn: steps, toolCalls, seconds, tokens or cost; may be repeated"),
OPT("prompt", STR, SCOPE_RUN, prompt, "TEXT",
    "the prompt; - reads it from standard input", .letter = 'p'),
OPT("cwd", PATH, SCOPE_RUN, cwd, "DIR",
    "working directory of the session (default: this one)"),
OPT("permissions", WORD("reject allow", "reject"), SCOPE_RUN, permissions, "reject|allow",
    "answer to every permission request"),
OPT("keep", BOOL, SCOPE_RUN, keep, NULL,
    "leave the session, which is deleted else, for acpd sessions and session/load"),
/* acpd mcp */
OPT("builtin", BOOL, SCOPE_MCP, builtin, NULL,
    "serve the built-in tools"),
OPT("root", PATH_LIST, SCOPE_MCP, root, "DIR",
    "with --builtin: directory that the tools may reach, the first is where they work; may be repeated "
    "(default: this one)"),
OPT("policy", PATH, SCOPE_MCP, policy, "FILE",
    "with --builtin: what the tools may do, a JSON object"),
OPT("dry-run", BOOL, SCOPE_MCP, dry_run, NULL,
    "with --builtin: tools change nothing, they say what they would do"),
OPT("config-fd", INT(0, 1023, -1), SCOPE_MCP, config_fd, "N",
    "with --builtin: descriptor to read all of that from, as a daemon hands it over"),
OPT("json", BOOL, SCOPE_RUN | SCOPE_LOCAL | SCOPE_ARCHIVE | SCOPE_EXTRACT | SCOPE_VALIDATE | SCOPE_STATS, json, NULL,
    "print one JSON object"),
/* the usage ledger */
OPT("by", LIST, SCOPE_STATS, by, "LIST",
    "Group by " RUN_STATS_BY(", ") " (default: harness,model)"),
OPT("file", PATH_EACH, LEDGER, file, "FILE",
    "a file of the usage ledger, or a directory with all of them; may be repeated, oldest first (default: "
    "the state directory)"),
OPT("since", INT(0, INT64_MAX, 0), SCOPE_USAGE, since, "N",
    "only records with a greater number"),
OPT("session", STR, SCOPE_USAGE, session, "ID",
    "only records of this session"),
OPT("json", BOOL, SCOPE_USAGE, json, NULL,
    "print the records as they are, one JSON object a line; this is the default"),
OPT("table", BOOL, SCOPE_USAGE, table, NULL,
    "print a table of turns and totals for each model"),
OPT("from", STR, SCOPE_VERIFY, from, "N:DIGEST",
    "a record that was seen before, and the SHA-256 of its line: it must be there, or the ledger begin "
    "right after it"),
OPT("json", BOOL, SCOPE_VERIFY, json, NULL,
    "print one JSON object"),
/* acpd confine try, entrypoint and harness */
OPT("level", WORD("open guarded strict", NULL), SCOPE_TRY, level, "LEVEL",
    "level to run the command under (default: guarded)"),
OPT("network", STR, SCOPE_TRY, network, "JSON",
    "where it may go, as _meta.acpd.network says it"),
OPT("upstream-allow", LIST, SCOPE_TRY, upstream_allow, "LIST",
    "HOST or HOST:PORT, comma-separated, that its proxy may call although private"),
OPT("cwd", PATH, SCOPE_TRY, cwd, "DIR",
    "working directory of the command, as of a session (default: this one)"),
OPT("agent-user", STR, SCOPE_TRY, agent_user, "NAME",
    "user to run it as; needs root"),
OPT("require", LIST, SCOPE_ENTRY, require, "NAME",
    "variable that must be set, else nothing is started; its value is never shown"),
OPT("serve", BOOL, SCOPE_ENTRY, serve, NULL,
    "start acpd serve beside the command, with the settings of the ACPD_ variables"),
OPT("partial", BOOL, SCOPE_TRY, partial, NULL,
    "run it although not all of the level can be had here"),
OPT("json", BOOL, SCOPE_TRY, json, NULL,
    "print one JSON object to standard output; what the command prints goes to standard error"),
OPT("prefix", PATH_OR(HARNESS_PREFIX), SCOPE_HARNESS | SCOPE_INSTALL, prefix, "DIR",
    "where harnesses are installed, a directory each"),
OPT("timeout", INT(1, 3600, VERSION_SECS), SCOPE_HARNESS_LIST, timeout, "SECONDS",
    "for each program to say its version"),
OPT("from", PATH, SCOPE_INSTALL, from, "FILE",
    "the package as npm packs it (.tgz), or the bare executable (default: npm fetches it)"),
OPT("timeout", INT(1, 86400, INSTALL_SECS), SCOPE_INSTALL, timeout, "SECONDS",
    "for all of it, the wait for another install with it"),
OPT("json", BOOL, SCOPE_HARNESS | SCOPE_INSTALL, json, NULL,
    "print one JSON object"),
OPT("help", BOOL, ALL | LEDGER | SCOPE_ARCHIVE | SCOPE_EXTRACT | SCOPE_VALIDATE | SCOPE_MCP | SCOPE_TRY |
    SCOPE_ENTRY | SCOPE_HARNESS | SCOPE_INSTALL | SCOPE_STATS | SCOPE_REPLAY | SCOPE_HELP |
    SCOPE_UI, help, NULL,
    "this text", .letter = 'h'),
};
/* clang-format on */

const size_t option_rows_n = ARRAY_SIZE(option_rows);
_Static_assert(ARRAY_SIZE(option_rows) <= OPTION_ROWS_MAX,
	       "what reads the table has no room for it");
