/*
 * serve_settings.c - maps options to the configuration of each part, at the start and at a claim.
 *
 * Both use the same functions, so an option has one meaning. serve_check_claim checks what the type
 * of an option does not express. serve_set only assigns, because a claim can no longer be refused
 * when it runs. A claim precedes the first connection and the first session, so no client has used
 * the previous values.
 */
#include "cli/serve/serve_settings.h"

#include "base/log.h"
#include "base/net/upstream_allow.h"
#include "cli/serve/serve_check.h"
#include "egress/egress.h"
#include "fetcher/fetcher.h"
#include "outbox/outbox.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#define SKILLS_BAKED "/opt/acpd/skills"

/* The words have been checked. */
static struct level_policy level_policy(const struct config *c)
{
	struct level_policy p = {
		.wish = { .level = LEVEL_GUARDED, .named = c->level != NULL, .at_least = true }
	};

	if (c->level)
		(void)level_parse(c->level, &p.wish.level);
	(void)level_parse(c->level_min, &p.min);
	return p;
}

static enum egress_mode network_max(const struct config *c)
{
	int i = EGRESS_ON;

	while (i > EGRESS_OFF && strcmp(egress_modes[i], c->network_max) != 0)
		i--;
	return (enum egress_mode)i;
}

const char *serve_baked(const char *given, const char *usual)
{
	return given ? given : access(usual, X_OK) == 0 ? usual : NULL;
}

struct store_config serve_store_config(const struct config *c)
{
	return (struct store_config){ .state = c->state,
				      .agent_user = c->agent_user,
				      .agent_uids = c->agent_uids,
				      .pass_env = c->pass_env,
				      .journal = strcmp(c->journal, "on") == 0,
				      .journal_max = (uint64_t)c->journal_max,
				      .permission_timeout = (unsigned)c->permission_timeout,
				      .mcp_hold = (unsigned)c->mcp_hold,
				      .model_hold = (unsigned)c->model_hold,
				      .record_max = c->record_model ? (uint64_t)c->record_max : 0,
				      .harness_idle = (unsigned)c->harness_idle,
				      .harness_max = (unsigned)c->harness_max,
				      .harness_wait = (unsigned)c->harness_wait,
				      .harness_start = (unsigned)c->harness_start,
				      .session_max = (unsigned)c->session_max,
				      .draft_max = (uint64_t)c->draft_max,
				      .level = level_policy(c),
				      .network_max = network_max(c),
				      .limits = { .memory = (uint64_t)MAX(c->limit_memory, 0),
						  .pids = (uint64_t)c->limit_pids },
				      .keep_usage = c->keep_usage,
				      .usage_file_max = (uint64_t)c->usage_file_max,
				      .keep = c->keep_sessions,
				      .workspaces = c->workspaces,
				      .skills = serve_baked(c->skills, SKILLS_BAKED) };
}

struct admission_config serve_admission_config(const struct config *c)
{
	return (struct admission_config){ c->allow_host, c->allow_origin, c->allow_query_token,
					  c->agent_user, c->agent_uids };
}

struct acp_config serve_acp_config(const struct config *c, const struct harness_table *harnesses)
{
	return (struct acp_config){ .default_harness = serve_default_harness(c, harnesses),
				    .backlog_max = (uint64_t)c->backlog_max,
				    .workspaces = c->workspaces };
}

int serve_check_claim(const struct config *c, const struct harness_table *harnesses, struct err *e)
{
	const char *id = serve_default_harness(c, harnesses);

	if (!harness_table_find(harnesses, id))
		return err_field(e, "settings.default-harness", "OPTION_INVALID",
				 "default-harness: no harness '%s'", id);
	if (c->webhook_keep.bytes && c->webhook_keep.bytes < (int64_t)WEBHOOK_SPOOL_MIN)
		return err_field(e, "settings.webhook-keep", "OPTION_INVALID",
				 "webhook-keep: less than %lu bytes", WEBHOOK_SPOOL_MIN);
	if (upstream_allow_check(c->upstream_allow, e) == 0)
		return 0;
	snprintf(e->field, sizeof(e->field), "settings.upstream-allow");
	return -EINVAL;
}

struct life_times serve_life_times(const struct config *c)
{
	return (struct life_times){ .drain = (unsigned)c->drain,
				    .idle_exit = (unsigned)c->idle_exit,
				    .max_life = (unsigned)c->max_life };
}

void serve_set(const struct config *c, const struct serve_parts *p)
{
	struct store_config sc = serve_store_config(c);
	struct admission_config gc = serve_admission_config(c);
	struct acp_config ac = serve_acp_config(c, p->harnesses);
	struct life_times times = serve_life_times(c);

	store_set_limits(p->store, &sc);
	archive_store_limit(p->archives, (uint64_t)c->archive_store_max, (uint64_t)c->archive_max);
	fetcher_allow(p->fetcher, c->upstream_allow);
	egress_allow(p->egress, c->upstream_allow);
	acp_server_set(p->acp, &ac);
	admission_set(p->admission, &gc);
	lifecycle_set(p->life, &times);
	outbox_limit(p->outbox, &c->webhook_keep);
	p->http->backlog_max = (uint64_t)c->backlog_max;
	log_set_level((enum log_level)log_level_parse(c->log));
}
