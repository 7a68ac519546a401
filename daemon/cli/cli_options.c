#include "cli/cli_options.h"

#include "base/os/file.h"
#include "base/limits.h"
#include "base/log.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>

/* T_LIST joins values by commas. T_EACH joins them by newlines, because a value may hold commas.
 * T_KEEP is read by base/retention.h. */
enum option_type { T_STR, T_INT, T_BOOL, T_WORD, T_LIST, T_EACH, T_KEEP };

struct option_row {
	const char *name;
	enum option_type type;
	unsigned scope;
	size_t offset;
	int64_t min, max, num; /* T_INT: range and default; -1 is "auto" where that is a word */
	const char *def;       /* NULL: none, or computed (set_computed) */
	const char *words;     /* T_WORD: allowed values, separated by spaces */
	const char *arg, *help;
	char letter; /* short form or 0 */
};

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
#define LEDGER (SCOPE_USAGE | SCOPE_VERIFY)
#define ALL (SCOPE_SERVE | SCOPE_CLIENT | SCOPE_RUN | SCOPE_LOCAL)
#define REMOTE (SCOPE_CLIENT | SCOPE_RUN)

/* clang-format off */
static const struct option_row rows[] = {
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

#define N_ROWS ARRAY_SIZE(rows)

static void *slot(const struct config *c, const struct option_row *r)
{
	return (char *)c + r->offset;
}

static int bad_value(const struct option_row *r, const char *value, struct err *e)
{
	if (r->type == T_INT)
		return err_field(e, r->name, "OPTION_INVALID",
				 "--%s: '%s' is not a number from %lld to %lld%s%s", r->name, value,
				 (long long)r->min, (long long)r->max, r->words ? " or " : "",
				 r->words ? r->words : "");
	if (r->type == T_KEEP)
		return err_field(
			e, r->name, "OPTION_INVALID",
			"--%s: '%s' is not %s: an age like 12h or 7d, a size like 500m or 2g",
			r->name, value, r->arg);
	return err_field(e, r->name, "OPTION_INVALID", "--%s: '%s' is not one of: %s", r->name,
			 value, r->type == T_BOOL ? "true false" : r->words);
}

static bool is_word(const char *words, const char *value)
{
	size_t n = strlen(value);

	if (strchr(value, ' '))
		return false;
	for (const char *p = words; p; p = strchr(p, ' '), p += p != NULL)
		if (n && strncmp(p, value, n) == 0 && (p[n] == ' ' || !p[n]))
			return true;
	return false;
}

static int set_value(struct config *c, const struct option_row *r, const char *value, struct err *e)
{
	long long n;
	char *end;

	switch (r->type) {
	case T_WORD:
		if (!is_word(r->words, value))
			return bad_value(r, value, e);
		/* fall through */
	case T_STR:
	case T_LIST:
	case T_EACH:
		xstrset(slot(c, r), value);
		return 0;
	case T_BOOL:
		if (!is_word("true false 1 0", value))
			return bad_value(r, value, e);
		*(bool *)slot(c, r) = value[0] == 't' || value[0] == '1';
		return 0;
	case T_INT:
		if (r->words && strcmp(value, r->words) == 0) {
			*(int64_t *)slot(c, r) = -1;
			return 0;
		}
		errno = 0;
		n = strtoll(value, &end, 10);
		if (errno || *end || !*value || n < r->min || n > r->max)
			return bad_value(r, value, e);
		*(int64_t *)slot(c, r) = n;
		return 0;
	case T_KEEP:
		return retention_parse(value, slot(c, r)) < 0 ? bad_value(r, value, e) : 0;
	}
	return -EINVAL;
}

static const char *env_name(const struct option_row *r, char *out, size_t size)
{
	snprintf(out, size, "ACPD_%s", r->name);
	for (char *p = out + 5; *p; p++)
		*p = *p == '-' ? '_' : (char)toupper((unsigned char)*p);
	return out;
}

/* An action (check, print-config, help) is not a setting, so it has no variable. Neither has the choice
 * of records to read: ACPD_SESSION means something else. */
static bool has_env(const struct option_row *r)
{
	if (!(r->scope & ~(LEDGER | SCOPE_GET | SCOPE_EXTRACT | SCOPE_VALIDATE | SCOPE_MCP)))
		return false;
	return r->type != T_BOOL || strcmp(r->name, "allow-query-token") == 0;
}

static void default_dir(char **field, const char *root_path, const char *xdg_env,
			const char *home_sub)
{
	const char *xdg = getenv(xdg_env), *home = getenv("HOME");

	if (*field)
		return;
	if (geteuid() == 0)
		*field = xstrdup(root_path);
	else if (xdg && *xdg)
		*field = file_join(xdg, "acpd");
	else if (home && *home && home_sub)
		*field = file_join(home, home_sub);
}

/* Defaults that depend on our uid and environment. The run directory is /run/acpd,
 * $XDG_RUNTIME_DIR/acpd or <state>/run. */
static void set_computed(struct config *c)
{
	char cwd[PATH_MAX];

	default_dir(&c->state, "/var/lib/acpd", "XDG_STATE_HOME", ".local/state/acpd");
	default_dir(&c->run_dir, "/run/acpd", "XDG_RUNTIME_DIR", NULL);
	if (!c->run_dir && c->state)
		c->run_dir = file_join(c->state, "run");
	if (!c->socket && c->run_dir)
		c->socket = file_join(c->run_dir, "acp.sock");
	if (!c->cwd && getcwd(cwd, sizeof(cwd)))
		c->cwd = xstrdup(cwd);
}

static int load_defaults(struct config *c, unsigned scope, struct err *e)
{
	char name[64];
	int r = 0;

	for (size_t i = 0; i < N_ROWS && r == 0; i++)
		if (rows[i].type == T_INT)
			*(int64_t *)slot(c, &rows[i]) = rows[i].num;
		else if (rows[i].def)
			r = set_value(c, &rows[i], rows[i].def, e);
	for (size_t i = 0; i < N_ROWS && r == 0; i++) {
		const char *v = has_env(&rows[i]) && (rows[i].scope & scope) ?
					getenv(env_name(&rows[i], name, sizeof(name))) :
					NULL;

		if (v && *v)
			r = set_value(c, &rows[i], v, e);
	}
	return r;
}

/* getopt_long accepts any unambiguous prefix, but "--token SECRET" must not become --token-file. */
static int check_names(unsigned scope, int argc, char **argv, struct err *e)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		size_t n = strcspn(argv[i], "="), k = 0;

		if (strncmp(argv[i], "--", 2) != 0)
			continue;
		while (k < N_ROWS && !((rows[k].scope & scope) && strlen(rows[k].name) == n - 2 &&
				       strncmp(rows[k].name, argv[i] + 2, n - 2) == 0))
			k++;
		if (k == N_ROWS)
			return err_field(e, argv[i], "OPTION_UNKNOWN", "%.*s: no such option",
					 (int)n, argv[i]);
		if (!argv[i][n] && rows[k].type != T_BOOL)
			i++; /* its value */
	}
	return 0;
}

/* A list option may be repeated: the values are joined. */
static int add_value(struct config *c, const struct option_row *row, bool again, const char *value,
		     struct err *e)
{
	_cleanup_(freep) char *joined = NULL;
	char **have = slot(c, row);

	if ((row->type != T_LIST && row->type != T_EACH) || !again)
		return set_value(c, row, row->type == T_BOOL ? "true" : value, e);
	if (asprintf(&joined, "%s%c%s", *have, row->type == T_LIST ? ',' : '\n', value) < 0)
		abort();
	return set_value(c, row, joined, e);
}

static int parse_argv(struct config *c, unsigned scope, int argc, char **argv, struct err *e)
{
	struct option longs[N_ROWS + 1] = { { 0 } };
	char shorts[2 * N_ROWS + 2] = ":", *s = shorts + 1;
	size_t map[N_ROWS], n = 0;
	bool seen[N_ROWS] = { false };
	int ch, r = 0, index;

	for (size_t i = 0; i < N_ROWS; i++) {
		if (!(rows[i].scope & scope))
			continue;
		longs[n] =
			(struct option){ rows[i].name,
					 rows[i].type == T_BOOL ? no_argument : required_argument,
					 NULL, 256 + (int)n };
		map[n++] = i;
		if (rows[i].letter) {
			*s++ = rows[i].letter;
			if (rows[i].type != T_BOOL)
				*s++ = ':';
		}
	}
	optind = 0;
	opterr = 0;
	while (r == 0 && (ch = getopt_long(argc, argv, shorts, longs, &index)) != -1) {
		const struct option_row *row = ch >= 256 ? &rows[map[ch - 256]] : NULL;

		for (size_t i = 0; !row && i < N_ROWS; i++)
			if (rows[i].letter == ch && (rows[i].scope & scope))
				row = &rows[i];
		if (!row || ch == '?' || ch == ':')
			return err_field(e, argv[optind - 1], "OPTION_UNKNOWN", "%s: %s",
					 argv[optind - 1],
					 ch == ':' ? "needs a value" : "no such option");
		r = add_value(c, row, seen[row - rows], optarg, e);
		seen[row - rows] = true;
	}
	c->args = argv + optind;
	c->nargs = argc - optind;
	return r;
}

static bool is_text(const struct option_row *r)
{
	return r->type != T_INT && r->type != T_BOOL && r->type != T_KEEP;
}

int config_load(struct config *c, unsigned scope, int argc, char **argv, struct err *e)
{
	int r;

	memset(c, 0, sizeof(*c));
	r = load_defaults(c, scope, e);
	if (r == 0)
		r = check_names(scope, argc, argv, e);
	if (r == 0)
		r = parse_argv(c, scope, argc, argv, e);
	if (r == 0)
		set_computed(c);
	else
		config_done(c);
	return r;
}

void config_done(struct config *c)
{
	for (size_t i = 0; i < N_ROWS; i++)
		if (is_text(&rows[i])) {
			char **s = slot(c, &rows[i]);

			free(*s);
			*s = NULL;
		}
}

void config_print(const struct config *c, unsigned scope)
{
	char keep[RETENTION_TEXT_MAX];

	for (size_t i = 0; i < N_ROWS; i++) {
		const struct option_row *r = &rows[i];

		if (!(r->scope & scope) || !has_env(r))
			continue;
		if (r->type == T_INT)
			printf("%s = %lld\n", r->name, (long long)*(int64_t *)slot(c, r));
		else if (r->type == T_BOOL)
			printf("%s = %s\n", r->name, *(bool *)slot(c, r) ? "true" : "false");
		else if (r->type == T_KEEP)
			printf("%s = %s\n", r->name, retention_text(slot(c, r), keep));
		else
			printf("%s = %s\n", r->name,
			       *(char **)slot(c, r) ? *(char **)slot(c, r) : "");
	}
}

void config_usage(unsigned scope)
{
	char left[64], name[64];

	for (size_t i = 0; i < N_ROWS; i++) {
		const struct option_row *r = &rows[i];

		if (!(r->scope & scope))
			continue;
		snprintf(left, sizeof(left), "--%s%s%s", r->name, r->arg ? " " : "",
			 r->arg ? r->arg : "");
		printf("  %-28s %s", left, r->help);
		if (r->type == T_INT)
			printf(" (%lld)", (long long)r->num);
		else if (r->def && r->type != T_BOOL)
			printf(" (%s)", r->def);
		if (has_env(r))
			printf(" [%s]", env_name(r, name, sizeof(name)));
		printf("\n");
	}
}
