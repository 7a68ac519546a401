/*
 * cli_options.h - the configuration, as one table (cli_options.c): each row gives a flag, its ACPD_* environment variable, type,
 * range, default and help. --help, --print-config and --check come from the same rows. A flag wins over the environment.
 */
#pragma once

#include "base/err.h"
#include "base/format/retention.h"

enum option_scope {
	SCOPE_SERVE = 1,
	SCOPE_CLIENT = 2,
	SCOPE_RUN = 4,
	SCOPE_LOCAL = 8,
	SCOPE_USAGE = 16,
	SCOPE_VERIFY = 32,
	SCOPE_ARCHIVE = 64,
	SCOPE_GET = 128,
	SCOPE_EXTRACT = 256,
	SCOPE_VALIDATE = 512,
	SCOPE_MCP = 1024,
	SCOPE_TRY = 2048,
	SCOPE_ENTRY = 4096,
	SCOPE_CLAIM = 8192,
	SCOPE_HARNESS = 16384,
	SCOPE_HARNESS_LIST = 32768,
	SCOPE_INSTALL = 65536,
	SCOPE_STATS = 131072,
	SCOPE_REPLAY = 262144,
	SCOPE_HELP = 1 << 19,	 /* a command that takes no option but this one */
	SCOPE_INSTEAD = 1 << 20, /* what serve does instead of serving */
	SCOPE_TOKENS = 1 << 21,
	SCOPE_UI = 1 << 22,
	SCOPE_RESTART = 1 << 23,
};

struct config {
	char *listen, *state, *sandbox_id_file, *workspaces, *run_dir, *token_file, *harness_config,
		*default_harness, *agent_user, *agent_uids, *pass_env, *mcp_config, *tools_root,
		*root, *policy;
	bool builtin, dry_run;
	int64_t config_fd;
	char *allow_host, *allow_origin, *log, *journal, *url, *socket, *harness, *prompt, *cwd,
		*permissions, *model, *provider, *env, *archive, *budget, *file, *session,
		*archives_baked, *output, *skills, *from, *ca_file, *upstream_allow, *fetch_user,
		*level, *level_min, *network_max, *network, *require, *set, *sandbox_id, *prefix,
		*metadata_url, *webhook, *profile, *ui_dir, *token_scope, *label, *expires,
		*token_sessions, *header, *by, *links;
	int64_t journal_max, backlog_max, ping_interval, ping_timeout, permission_timeout, mcp_hold,
		model_hold, record_max, max_connections, harness_idle, harness_max, harness_wait,
		harness_start, session_max, draft_max, usage_file_max, limit_memory, limit_pids,
		since, archive_store_max, archive_max, uid, strip, speed, timeout, drain, idle_exit,
		max_life, port, restart_drain;
	struct retention keep_usage, webhook_keep, keep_sessions;
	bool serve, keep, partial, allow_query_token, record_model, unlocked_keys, destroy_sockets,
		claim_e2b, check, print_config, json, table, help, replace, keep_tokens;
	char **args; /* what is no option, in argv */
	int nargs;
};

/* Defaults, environment, then argv[1..]; scope: which rows apply. -EINVAL with e naming the option. */
int config_load(struct config *c, unsigned scope, int argc, char **argv, struct err *e);
void config_done(struct config *c);
void config_print(const struct config *c, unsigned scope);
void config_usage(unsigned scope);

/* --- a row of the table, for what reads, prints and explains it --- */

/* T_LIST joins values by commas. T_EACH joins them by newlines, because a value may hold commas.
 * T_KEEP is read by base/format/retention.h. */
enum option_type { T_STR, T_INT, T_BOOL, T_WORD, T_LIST, T_EACH, T_KEEP };

/* Whether a claim may bring it (serve/serve_claim.c). A word may be fixed by an image: then only a stricter one is taken. */
enum option_claim {
	CLAIM_NEVER,
	CLAIM_ANY,
	CLAIM_LATER_WORD, /* none that stands before it in the words */
	CLAIM_EARLIER_WORD,
};

struct option_row {
	const char *name;
	enum option_type type;
	unsigned scope;
	size_t offset;
	int64_t min, max, num; /* T_INT: range and default; -1 is "auto" where that is a word */
	const char *def;       /* NULL: none, or computed (set_computed) */
	const char *words;     /* T_WORD: allowed values, separated by spaces */
	const char *arg, *help;
	bool path; /* the value, or each item of a list, is a path, after NAME= where arg says so */
	char letter; /* short form or 0 */
	enum option_claim claim;
};

extern const struct option_row option_rows[];
extern const size_t option_rows_n;
#define OPTION_ROWS_MAX 128

#define OPTION_ENV_SIZE 64
/* The variable that may set it; false: none may. */
bool option_env_name(const struct option_row *r, char ret[OPTION_ENV_SIZE]);

/* The row of a name of n bytes in that scope; NULL: there is none. */
const struct option_row *option_find(unsigned scope, const char *name, size_t n);
/* Where a word stands among words with spaces between them; -1: it is none of them. */
int option_word_place(const char *words, const char *word);
/* The member of c. */
void *option_slot(const struct config *c, const struct option_row *r);
/* As argv gives it: 0, or -EINVAL with e. */
int option_set(struct config *c, const struct option_row *r, const char *value, struct err *e);
/* It owns a string in struct config. */
bool option_is_text(const struct option_row *r);

#define LEDGER (SCOPE_USAGE | SCOPE_VERIFY) /* scopes that read the usage ledger */

/* --- env_names.c: which of the variables ACPD_* in our environment nothing reads --- */

/* Calls fn for each that is not known, at most ENV_NAMES_UNKNOWN_MAX times. name is cut to a line. nearest: the known one
 * that is most alike. */
void env_names_unknown(void (*fn)(void *ctx, const char *name, const char *nearest), void *ctx);
