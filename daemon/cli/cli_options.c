/* cli_options.c - the table of options. config_load.c reads it. */
#include "cli/option_row.h"

#include "base/limits.h"

#define STR .type = T_STR
#define STR_OR(text) .type = T_STR, .def = text
#define LIST .type = T_LIST
#define EACH .type = T_EACH
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
OPT("listen", STR_OR("127.0.0.1:2270"), SCOPE_SERVE, listen, "HOST:PORT",
    "address of the WebSocket and HTTP listener; port 0 takes a free one"),
OPT("state", STR, SCOPE_SERVE | LEDGER, state, "DIR",
    "journals, usage ledger and private homes (default /var/lib/acpd as root, else ~/.local/state/acpd)"),
OPT("workspaces", STR, SCOPE_SERVE, workspaces, "DIR",
    "where workspaces are kept; made at start, owned by the agent user, announced to clients"),
OPT("run-dir", STR, ALL | SCOPE_ARCHIVE, run_dir, "DIR",
    "UNIX sockets (default /run/acpd as root, else $XDG_RUNTIME_DIR/acpd)"),
OPT("token-file", STR, SCOPE_SERVE | REMOTE | SCOPE_LOCAL | SCOPE_ARCHIVE, token_file, "FILE",
    "the bearer token, or sha256:<hex> of it"),
OPT("harness-config", STR, SCOPE_SERVE, harness_config, "FILE",
    "manifest of further harnesses"),
OPT("default-harness", STR, SCOPE_SERVE, default_harness, "ID",
    "harness of clients that name none"),
OPT("agent-user", STR, SCOPE_SERVE, agent_user, "NAME",
    "user that harnesses run as; needs root"),
OPT("level", WORD("open guarded strict", NULL), SCOPE_SERVE, level, "LEVEL",
    "how far agents are confined whose client does not say; met whole or refused "
    "(default: guarded, as far as the machine allows)"),
OPT("level-min", WORD("open guarded strict", "open"), SCOPE_SERVE, level_min, "LEVEL",
    "clients may not ask for less, and it is met whole"),
OPT("network-max", WORD("off allowlist on", "on"), SCOPE_SERVE, network_max, "MODE",
    "clients may not give a session more network than that; without a word it has so much"),
OPT("ca-file", STR, SCOPE_SERVE, ca_file, "FILE",
    "certificates to trust in requests to other machines, PEM (default: the system's)"),
OPT("upstream-allow", LIST, SCOPE_SERVE, upstream_allow, "LIST",
    "HOST or HOST:PORT, comma-separated, that may be called although private or a metadata service"),
OPT("fetch-user", STR, SCOPE_SERVE, fetch_user, "NAME",
    "user that acpd-fetch runs as; needs root (default: acpd-fetch, nobody or daemon)"),
OPT("pass-env", LIST, SCOPE_SERVE, pass_env, "LIST",
    "further variables of ours that harnesses may see, comma-separated; NAME* for a prefix"),
OPT("mcp-config", STR, SCOPE_SERVE, mcp_config, "FILE",
    "MCP servers to run beside the harnesses, in the form of .mcp.json"),
OPT("tools-root", STR, SCOPE_SERVE, tools_root, "DIR",
    "where the built-in tools of /mcp work if no session is named (default: the home of the agent user)"),
OPT("allow-host", LIST, SCOPE_SERVE, allow_host, "LIST",
    "further Host values to serve, comma-separated"),
OPT("allow-origin", LIST, SCOPE_SERVE, allow_origin, "LIST",
    "browser Origins to serve, comma-separated"),
OPT("allow-query-token", BOOL, SCOPE_SERVE, allow_query_token, NULL,
    "accept ?token=, which ends up in proxy logs"),
OPT("log", WORD("error warn info debug", "info"), SCOPE_SERVE, log, "LEVEL",
    "least severe level that is logged"),
OPT("journal", WORD("on off", "on"), SCOPE_SERVE, journal, "on|off",
    "keep session events on disk; off: only the newest stay readable"),
OPT("journal-max", INT(4096, INT64_MAX / 2, JOURNAL_MAX), SCOPE_SERVE, journal_max, "BYTES",
    "largest journal of one session; beyond it turns fail"),
OPT("backlog-max", INT(4096, INT64_MAX / 2, CONN_BACKLOG_MAX), SCOPE_SERVE, backlog_max, "BYTES",
    "output a reader may lag behind before it is closed with 1008"),
OPT("ping-interval", INT(1, 3600, PING_INTERVAL_SECS), SCOPE_SERVE, ping_interval, "SECONDS",
    "WebSocket ping after so much silence"),
OPT("ping-timeout", INT(1, 3600, PING_TIMEOUT_SECS), SCOPE_SERVE, ping_timeout, "SECONDS",
    "a client without a pong for so long is dropped"),
OPT("permission-timeout", INT(1, 604800, PERMISSION_TIMEOUT_SECS), SCOPE_SERVE, permission_timeout, "SECONDS",
    "a question with no client attached is rejected after so long"),
OPT("mcp-hold", INT(1, 86400, MCP_HOLD_SECS), SCOPE_SERVE, mcp_hold, "SECONDS",
    "an MCP request to a client that has gone fails unless one comes back within so long"),
OPT("model-hold", INT(1, 86400, MODEL_HOLD_SECS), SCOPE_SERVE, model_hold, "SECONDS",
    "a model call of a session with via: tunnel fails unless a client that makes it comes within so long"),
OPT("harness-idle", INT(0, 31536000, HARNESS_IDLE_SECS), SCOPE_SERVE, harness_idle, "SECONDS",
    "a harness without turn, question and driver for so long is stopped until the next prompt; 0: never"),
OPT("harness-max", INT(0, 100000, 0), SCOPE_SERVE, harness_max, "N",
    "harnesses that live at a time; 0: one for each 512 MiB of memory, at least one"),
OPT("harness-wait", INT(1, 86400, HARNESS_WAIT_SECS), SCOPE_SERVE, harness_wait, "SECONDS",
    "a prompt that waits so long for a harness fails with TOO_MANY_HARNESSES"),
OPT("session-max", INT(1, SESSIONS_KEPT_MAX, SESSION_MAX), SCOPE_SERVE, session_max, "N",
    "sessions that are open at a time"),
OPT("keep-usage", KEEP, SCOPE_SERVE, keep_usage, "AGE[,SIZE]",
    "whole files of the usage ledger beyond that are removed once a client has read them, oldest first "
    "(default: only when there is no space)"),
OPT("usage-file-max", INT(1024, INT64_MAX / 2, LEDGER_FILE_MAX), SCOPE_SERVE, usage_file_max, "BYTES",
    "one file of the usage ledger; the next is begun before it would be larger"),
OPT("keep-sessions", KEEP, SCOPE_SERVE, keep_sessions, "AGE[,SIZE]",
    "closed sessions that are older, or beyond so much on disk, are deleted, the longest closed first "
    "(default: only when the disk is full)"),
OPT("archive-store-max", INT(65536, INT64_MAX / 2, ARCHIVE_STORE_MAX), SCOPE_SERVE, archive_store_max, "BYTES",
    "all uploaded archives together; beyond it the least recently used go"),
OPT("archive-max", INT(65536, INT64_MAX / 2, ARCHIVE_UPLOAD_MAX), SCOPE_SERVE, archive_max, "BYTES",
    "largest archive that may be uploaded"),
OPT("archives-baked", STR, SCOPE_SERVE, archives_baked, "DIR",
    "archives of the image, read only (default: /opt/acpd/archives if it is there)"),
OPT("skills", STR, SCOPE_SERVE, skills, "DIR",
    "skills of the image, a directory each (default: /opt/acpd/skills if it is there)"),
OPT("max-connections", INT(1, 16384, CONN_MAX), SCOPE_SERVE, max_connections, "N",
    "WebSocket connections at a time"),
OPT("check", BOOL, SCOPE_SERVE, check, NULL,
    "check the configuration and exit"),
OPT("print-config", BOOL, SCOPE_SERVE, print_config, NULL,
    "print the effective configuration and exit"),
OPT("url", STR, REMOTE, url, "URL",
    "address of a daemon: ws://, wss://, http:// or https://"),
OPT("url", STR, SCOPE_ARCHIVE, url, "URL",
    "address of a daemon: http:// or ws:// (default: its acp.sock)"),
OPT("output", STR, SCOPE_GET, output, "FILE",
    "write here instead of to standard output", .letter = 'o'),
OPT("uid", INT(0, 4294967294, -1), SCOPE_EXTRACT, uid, "N",
    "user to unpack as, who then owns the tree; needs root (-1: ourselves)"),
OPT("strip", INT_OR("auto", 0, PATH_DEPTH_MAX, 0), SCOPE_EXTRACT | SCOPE_RUN, strip, "N|auto",
    "leading components to take off the names in the archive; auto: a single top directory"),
OPT("socket", STR, REMOTE | SCOPE_ARCHIVE, socket, "PATH",
    "its acp.sock (default: the one in the run directory)"),
OPT("harness", STR, SCOPE_RUN, harness, "ID",
    "harness to run the prompt on"),
OPT("model", STR, SCOPE_RUN, model, "ID",
    "model of the session"),
OPT("provider", STR, SCOPE_RUN, provider, "FILE",
    "a JSON object for _meta.acpd.provider: api, baseUrl, key, model"),
OPT("env", EACH, SCOPE_RUN, env, "NAME[=VALUE]",
    "variable for the harness, without a value: ours; may be repeated"),
OPT("archive", STR, SCOPE_RUN, archive, "FILE|DIGEST",
    "archive to unpack into the working directory first; a file is uploaded"),
OPT("budget", LIST, SCOPE_RUN, budget, "NAME=N",
    "limit of the turn: steps, toolCalls, seconds, tokens or cost; may be repeated"),
OPT("prompt", STR, SCOPE_RUN, prompt, "TEXT",
    "the prompt; - reads it from standard input", .letter = 'p'),
OPT("cwd", STR, SCOPE_RUN, cwd, "DIR",
    "working directory of the session (default: this one)"),
OPT("permissions", WORD("reject allow", "reject"), SCOPE_RUN, permissions, "reject|allow",
    "answer to every permission request"),
OPT("keep", BOOL, SCOPE_RUN, keep, NULL,
    "leave the session, which is deleted else, for acpd sessions and session/load"),
OPT("builtin", BOOL, SCOPE_MCP, builtin, NULL,
    "serve the built-in tools"),
OPT("root", LIST, SCOPE_MCP, root, "DIR",
    "with --builtin: directory that the tools may reach, the first is where they work; may be repeated "
    "(default: this one)"),
OPT("policy", STR, SCOPE_MCP, policy, "FILE",
    "with --builtin: what the tools may do, a JSON object"),
OPT("dry-run", BOOL, SCOPE_MCP, dry_run, NULL,
    "with --builtin: tools change nothing, they say what they would do"),
OPT("config-fd", INT(0, 1023, -1), SCOPE_MCP, config_fd, "N",
    "with --builtin: descriptor to read all of that from, as a daemon hands it over"),
OPT("json", BOOL, SCOPE_RUN | SCOPE_LOCAL | SCOPE_ARCHIVE | SCOPE_EXTRACT | SCOPE_VALIDATE, json, NULL,
    "print one JSON object"),
OPT("file", EACH, LEDGER, file, "FILE",
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
OPT("help", BOOL, ALL | LEDGER | SCOPE_ARCHIVE | SCOPE_EXTRACT | SCOPE_VALIDATE | SCOPE_MCP, help, NULL,
    "this text", .letter = 'h'),
};
/* clang-format on */

const size_t option_rows_n = ARRAY_SIZE(option_rows);
_Static_assert(ARRAY_SIZE(option_rows) <= OPTION_ROWS_MAX,
	       "what reads the table has no room for it");
