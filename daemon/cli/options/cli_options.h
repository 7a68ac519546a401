/*
 * cli_options.h - the configuration, as one table: each row gives a flag, its ACPD_* environment variable, type,
 * range, default and help. --help, --print-config and --check come from the same rows. A flag wins over the
 * environment.
 */
#pragma once

#include "base/err.h"
#include "base/format/retention.h"

#include <stdbool.h>
#include <stdint.h>

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
	SCOPE_RERUN = 1 << 23,
	SCOPE_RESTART = 1 << 24,
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
	struct retention keep_usage, webhook_keep;
	struct retention keep_sessions;
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
