#include "cli/cli_options.h"

#include "base/http/authority.h"
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

#define OPT(name, type, scope, field, min, max, num, def, words, arg, help, letter)                \
	{                                                                                          \
		name, type, scope, offsetof(struct config, field), min, max, num, def, words, arg, \
			help, letter                                                               \
	}
#define LEDGER (SCOPE_USAGE | SCOPE_VERIFY)
#define ALL (SCOPE_SERVE | SCOPE_CLIENT | SCOPE_RUN | SCOPE_LOCAL)
#define REMOTE (SCOPE_CLIENT | SCOPE_RUN)

/* clang-format off */
static const struct option_row rows[] = {
OPT("listen", T_STR, SCOPE_SERVE, listen, 0, 0, 0, "127.0.0.1:2270", NULL, "HOST:PORT", "address of the WebSocket and HTTP listener; port 0 takes a free one", 0),
OPT("state", T_STR, SCOPE_SERVE | LEDGER, state, 0, 0, 0, NULL, NULL, "DIR", "journals, usage ledger and private homes (default /var/lib/acpd as root, else ~/.local/state/acpd)", 0),
OPT("workspaces", T_STR, SCOPE_SERVE, workspaces, 0, 0, 0, NULL, NULL, "DIR", "where workspaces are kept; made at start, owned by the agent user, announced to clients", 0),
OPT("run-dir", T_STR, ALL | SCOPE_ARCHIVE, run_dir, 0, 0, 0, NULL, NULL, "DIR", "UNIX sockets (default /run/acpd as root, else $XDG_RUNTIME_DIR/acpd)", 0),
OPT("token-file", T_STR, SCOPE_SERVE | REMOTE | SCOPE_LOCAL | SCOPE_ARCHIVE, token_file, 0, 0, 0, NULL, NULL, "FILE", "the bearer token, or sha256:<hex> of it", 0),
OPT("harness-config", T_STR, SCOPE_SERVE, harness_config, 0, 0, 0, NULL, NULL, "FILE", "manifest of further harnesses", 0),
OPT("default-harness", T_STR, SCOPE_SERVE, default_harness, 0, 0, 0, NULL, NULL, "ID", "harness of clients that name none", 0),
OPT("agent-user", T_STR, SCOPE_SERVE, agent_user, 0, 0, 0, NULL, NULL, "NAME", "user that harnesses run as; needs root", 0),
OPT("pass-env", T_LIST, SCOPE_SERVE, pass_env, 0, 0, 0, NULL, NULL, "LIST", "further variables of ours that harnesses may see, comma-separated; NAME* for a prefix", 0),
OPT("mcp-config", T_STR, SCOPE_SERVE, mcp_config, 0, 0, 0, NULL, NULL, "FILE", "MCP servers to run beside the harnesses, in the form of .mcp.json", 0),
OPT("tools-root", T_STR, SCOPE_SERVE, tools_root, 0, 0, 0, NULL, NULL, "DIR", "where the built-in tools of /mcp work if no session is named (default: the home of the agent user)", 0),
OPT("allow-host", T_LIST, SCOPE_SERVE, allow_host, 0, 0, 0, NULL, NULL, "LIST", "further Host values to serve, comma-separated", 0),
OPT("allow-origin", T_LIST, SCOPE_SERVE, allow_origin, 0, 0, 0, NULL, NULL, "LIST", "browser Origins to serve, comma-separated", 0),
OPT("allow-query-token", T_BOOL, SCOPE_SERVE, allow_query_token, 0, 0, 0, "false", NULL, NULL, "accept ?token=, which ends up in proxy logs", 0),
OPT("log", T_WORD, SCOPE_SERVE, log, 0, 0, 0, "info", "error warn info debug", "LEVEL", "least severe level that is logged", 0),
OPT("journal", T_WORD, SCOPE_SERVE, journal, 0, 0, 0, "on", "on off", "on|off", "keep session events on disk; off: only the newest stay readable", 0),
OPT("journal-max", T_INT, SCOPE_SERVE, journal_max, 4096, INT64_MAX / 2, JOURNAL_MAX, NULL, NULL, "BYTES", "largest journal of one session; beyond it turns fail", 0),
OPT("backlog-max", T_INT, SCOPE_SERVE, backlog_max, 4096, INT64_MAX / 2, CONN_BACKLOG_MAX, NULL, NULL, "BYTES", "output a reader may lag behind before it is closed with 1008", 0),
OPT("ping-interval", T_INT, SCOPE_SERVE, ping_interval, 1, 3600, PING_INTERVAL_SECS, NULL, NULL, "SECONDS", "WebSocket ping after so much silence", 0),
OPT("ping-timeout", T_INT, SCOPE_SERVE, ping_timeout, 1, 3600, PING_TIMEOUT_SECS, NULL, NULL, "SECONDS", "a client without a pong for so long is dropped", 0),
OPT("permission-timeout", T_INT, SCOPE_SERVE, permission_timeout, 1, 604800, PERMISSION_TIMEOUT_SECS, NULL, NULL, "SECONDS", "a question with no client attached is rejected after so long", 0),
OPT("mcp-hold", T_INT, SCOPE_SERVE, mcp_hold, 1, 86400, MCP_HOLD_SECS, NULL, NULL, "SECONDS", "an MCP request to a client that has gone fails unless one comes back within so long", 0),
OPT("harness-idle", T_INT, SCOPE_SERVE, harness_idle, 0, 31536000, HARNESS_IDLE_SECS, NULL, NULL, "SECONDS", "a harness without turn, question and driver for so long is stopped until the next prompt; 0: never", 0),
OPT("harness-max", T_INT, SCOPE_SERVE, harness_max, 0, 100000, 0, NULL, NULL, "N", "harnesses that live at a time; 0: one for each 512 MiB of memory, at least one", 0),
OPT("harness-wait", T_INT, SCOPE_SERVE, harness_wait, 1, 86400, HARNESS_WAIT_SECS, NULL, NULL, "SECONDS", "a prompt that waits so long for a harness fails with TOO_MANY_HARNESSES", 0),
OPT("session-max", T_INT, SCOPE_SERVE, session_max, 1, SESSIONS_KEPT_MAX, SESSION_MAX, NULL, NULL, "N", "sessions that are open at a time", 0),
OPT("keep-usage", T_KEEP, SCOPE_SERVE, keep_usage, 0, 0, 0, NULL, NULL, "AGE[,SIZE]", "whole files of the usage ledger beyond that are removed once a client has read them, oldest first (default: only when there is no space)", 0),
OPT("usage-file-max", T_INT, SCOPE_SERVE, usage_file_max, 1024, INT64_MAX / 2, LEDGER_FILE_MAX, NULL, NULL, "BYTES", "one file of the usage ledger; the next is begun before it would be larger", 0),
OPT("keep-sessions", T_KEEP, SCOPE_SERVE, keep_sessions, 0, 0, 0, NULL, NULL, "AGE[,SIZE]", "closed sessions that are older, or beyond so much on disk, are deleted, the longest closed first (default: only when the disk is full)", 0),
OPT("archive-store-max", T_INT, SCOPE_SERVE, archive_store_max, 65536, INT64_MAX / 2, ARCHIVE_STORE_MAX, NULL, NULL, "BYTES", "all uploaded archives together; beyond it the least recently used go", 0),
OPT("archive-max", T_INT, SCOPE_SERVE, archive_max, 65536, INT64_MAX / 2, ARCHIVE_UPLOAD_MAX, NULL, NULL, "BYTES", "largest archive that may be uploaded", 0),
OPT("archives-baked", T_STR, SCOPE_SERVE, archives_baked, 0, 0, 0, NULL, NULL, "DIR", "archives of the image, read only (default: /opt/acpd/archives if it is there)", 0),
OPT("skills", T_STR, SCOPE_SERVE, skills, 0, 0, 0, NULL, NULL, "DIR", "skills of the image, a directory each (default: /opt/acpd/skills if it is there)", 0),
OPT("max-connections", T_INT, SCOPE_SERVE, max_connections, 1, 16384, CONN_MAX, NULL, NULL, "N", "WebSocket connections at a time", 0),
OPT("check", T_BOOL, SCOPE_SERVE, check, 0, 0, 0, "false", NULL, NULL, "check the configuration and exit", 0),
OPT("print-config", T_BOOL, SCOPE_SERVE, print_config, 0, 0, 0, "false", NULL, NULL, "print the effective configuration and exit", 0),
OPT("url", T_STR, REMOTE, url, 0, 0, 0, NULL, NULL, "URL", "address of a daemon: ws://, wss://, http:// or https://", 0),
OPT("url", T_STR, SCOPE_ARCHIVE, url, 0, 0, 0, NULL, NULL, "URL", "address of a daemon: http:// or ws:// (default: its acp.sock)", 0),
OPT("output", T_STR, SCOPE_GET, output, 0, 0, 0, NULL, NULL, "FILE", "write here instead of to standard output", 'o'),
OPT("uid", T_INT, SCOPE_EXTRACT, uid, 0, 4294967294, -1, NULL, NULL, "N", "user to unpack as, who then owns the tree; needs root (-1: ourselves)", 0),
OPT("strip", T_INT, SCOPE_EXTRACT | SCOPE_RUN, strip, 0, PATH_DEPTH_MAX, 0, NULL, "auto", "N|auto", "leading components to take off the names in the archive; auto: a single top directory", 0),
OPT("socket", T_STR, REMOTE | SCOPE_ARCHIVE, socket, 0, 0, 0, NULL, NULL, "PATH", "its acp.sock (default: the one in the run directory)", 0),
OPT("harness", T_STR, SCOPE_RUN, harness, 0, 0, 0, NULL, NULL, "ID", "harness to run the prompt on", 0),
OPT("model", T_STR, SCOPE_RUN, model, 0, 0, 0, NULL, NULL, "ID", "model of the session", 0),
OPT("provider", T_STR, SCOPE_RUN, provider, 0, 0, 0, NULL, NULL, "FILE", "a JSON object for _meta.acpd.provider: api, baseUrl, key, model", 0),
OPT("env", T_EACH, SCOPE_RUN, env, 0, 0, 0, NULL, NULL, "NAME[=VALUE]", "variable for the harness, without a value: ours; may be repeated", 0),
OPT("archive", T_STR, SCOPE_RUN, archive, 0, 0, 0, NULL, NULL, "FILE|DIGEST", "archive to unpack into the working directory first; a file is uploaded", 0),
OPT("budget", T_LIST, SCOPE_RUN, budget, 0, 0, 0, NULL, NULL, "NAME=N", "limit of the turn: steps, toolCalls, seconds, tokens or cost; may be repeated", 0),
OPT("prompt", T_STR, SCOPE_RUN, prompt, 0, 0, 0, NULL, NULL, "TEXT", "the prompt; - reads it from standard input", 'p'),
OPT("cwd", T_STR, SCOPE_RUN, cwd, 0, 0, 0, NULL, NULL, "DIR", "working directory of the session (default: this one)", 0),
OPT("permissions", T_WORD, SCOPE_RUN, permissions, 0, 0, 0, "reject", "reject allow", "reject|allow", "answer to every permission request", 0),
OPT("keep", T_BOOL, SCOPE_RUN, keep, 0, 0, 0, "false", NULL, NULL, "leave the session, which is deleted else, for acpd sessions and session/load", 0),
OPT("builtin", T_BOOL, SCOPE_MCP, builtin, 0, 0, 0, "false", NULL, NULL, "serve the built-in tools", 0),
OPT("root", T_LIST, SCOPE_MCP, root, 0, 0, 0, NULL, NULL, "DIR", "with --builtin: directory that the tools may reach, the first is where they work; may be repeated (default: this one)", 0),
OPT("policy", T_STR, SCOPE_MCP, policy, 0, 0, 0, NULL, NULL, "FILE", "with --builtin: what the tools may do, a JSON object", 0),
OPT("dry-run", T_BOOL, SCOPE_MCP, dry_run, 0, 0, 0, "false", NULL, NULL, "with --builtin: tools change nothing, they say what they would do", 0),
OPT("config-fd", T_INT, SCOPE_MCP, config_fd, 0, 1023, -1, NULL, NULL, "N", "with --builtin: descriptor to read all of that from, as a daemon hands it over", 0),
OPT("json", T_BOOL, SCOPE_RUN | SCOPE_LOCAL | SCOPE_ARCHIVE | SCOPE_EXTRACT | SCOPE_VALIDATE, json, 0, 0, 0, "false", NULL, NULL, "print one JSON object", 0),
OPT("file", T_EACH, LEDGER, file, 0, 0, 0, NULL, NULL, "FILE", "a file of the usage ledger, or a directory with all of them; may be repeated, oldest first (default: the state directory)", 0),
OPT("since", T_INT, SCOPE_USAGE, since, 0, INT64_MAX, 0, NULL, NULL, "N", "only records with a greater number", 0),
OPT("session", T_STR, SCOPE_USAGE, session, 0, 0, 0, NULL, NULL, "ID", "only records of this session", 0),
OPT("json", T_BOOL, SCOPE_USAGE, json, 0, 0, 0, "false", NULL, NULL, "print the records as they are, one JSON object a line; this is the default", 0),
OPT("table", T_BOOL, SCOPE_USAGE, table, 0, 0, 0, "false", NULL, NULL, "print a table of turns and totals for each model", 0),
OPT("from", T_STR, SCOPE_VERIFY, from, 0, 0, 0, NULL, NULL, "N:DIGEST", "a record that was seen before, and the SHA-256 of its line: it must be there, or the ledger begin right after it", 0),
OPT("json", T_BOOL, SCOPE_VERIFY, json, 0, 0, 0, "false", NULL, NULL, "print one JSON object", 0),
OPT("help", T_BOOL, ALL | LEDGER | SCOPE_ARCHIVE | SCOPE_EXTRACT | SCOPE_VALIDATE | SCOPE_MCP, help, 0, 0, 0, "false", NULL, NULL, "this text", 'h'),
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

int config_parse_listen(const char *listen, char **host, int *port, struct err *e)
{
	struct authority a;

	if (!authority_parse(slice_of(listen), 0, &a) || a.port < 0)
		return err_field(e, "listen", "OPTION_INVALID", "--listen: '%s' is not HOST:PORT",
				 listen);
	*host = xstrndup(a.host.p, a.host.n);
	*port = a.port;
	return 0;
}
