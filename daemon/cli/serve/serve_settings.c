/*
 * serve_settings.c - maps options to the configuration of each part, at the start and at a claim.
 *
 * Both use the same functions, so an option has one meaning. serve_check_claim checks what the type
 * of an option does not express. serve_set only assigns, because a claim can no longer be refused
 * when it runs. A claim precedes the first connection and the first session, so no client has used
 * the previous values.
 */
#include "cli/serve/serve.h"

#include "base/log.h"
#include "outbox/otlp/telemetry.h"
#include "base/net/address_rules.h"
#include "egress/egress.h"
#include "fetcher/fetcher.h"
#include "outbox/outbox.h"
#include "http/metrics/metrics.h"

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
	/* The word has been checked, so one of them is it. */
	int i = EGRESS_ON;

	while (i > EGRESS_OFF && strcmp(egress_modes[i], c->network_max) != 0)
		i--;
	return (enum egress_mode)i;
}

const char *serve_baked(const char *given, const char *usual)
{
	return given ? given : access(usual, X_OK) == 0 ? usual : NULL;
}

static struct store_terms serve_store_terms(const struct config *c)
{
	return (struct store_terms){ .journal_max = (uint64_t)c->journal_max,
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
				     .keep = c->keep_sessions };
}

const char *serve_default_harness(const struct config *c, const struct harness_table *t)
{
	if (c->default_harness)
		return c->default_harness;
	return t->defs[t->first_manifest < t->n ? t->first_manifest : 0].id;
}

struct store_config serve_store_config(const struct config *c)
{
	return (struct store_config){ .state = c->state,
				      .agent_user = c->agent_user,
				      .agent_uids = c->agent_uids,
				      .pass_env = c->pass_env,
				      .journal = strcmp(c->journal, "on") == 0,
				      .terms = serve_store_terms(c),
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
	/* 0: no limit by size. */
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

void serve_set(struct daemon *d)
{
	const struct config *c = d->cfg;
	struct store_terms terms = serve_store_terms(c);
	struct admission_config gc = serve_admission_config(c);
	struct acp_config ac = serve_acp_config(c, &d->harnesses);
	struct life_times times = serve_life_times(c);

	store_set_terms(d->store, &terms);
	archive_store_limit(d->archives, (uint64_t)c->archive_store_max, (uint64_t)c->archive_max);
	fetcher_allow(d->fetcher, c->upstream_allow);
	egress_allow(d->egress, c->upstream_allow);
	acp_server_set(d->acp, &ac);
	admission_set(d->admission, &gc);
	lifecycle_set(d->life, &times);
	outbox_limit(d->outbox, &c->webhook_keep);
	d->http.backlog_max = (uint64_t)c->backlog_max;
	log_set_level((enum log_level)log_level_parse(c->log));
}

/* --- telemetry ------------------------------------------------------------------------------------------------ */

static const char *telemetry_variable(const char *name)
{
	return getenv(name);
}

static void telemetry_warn(const char *name, const char *why)
{
	log_warn("serve", "a variable of telemetry is not followed", "name", name, "text", why);
}

int serve_telemetry_check(struct err *e)
{
	_cleanup_(freep) char *program = NULL;
	struct otlp_config c = { .service = NULL };
	bool any;
	int r = otlp_config_read(&c, telemetry_variable, NULL, e);

	if (r < 0)
		return r;
	any = otlp_config_any(&c);
	otlp_config_done(&c);
	program = any ? fetcher_program() : NULL;
	return !any || program ? 0 :
				 err_set(e, -ENOENT, 0, "FETCH_UNAVAILABLE",
					 "telemetry: acpd-fetch, which sends it, is not installed");
}

struct outbox *serve_outbox_new(const struct daemon *d)
{
	struct otlp_config telemetry = { .service = NULL };
	struct outbox_config oc = { .loop = d->loop,
				    .fetcher = d->fetcher,
				    .state = d->cfg->state,
				    .keep = d->cfg->webhook_keep,
				    .telemetry = &telemetry };
	struct err e = { 0 };

	(void)otlp_config_read(&telemetry, telemetry_variable, telemetry_warn, &e);
	return outbox_new(&oc);
}

static void collect_metrics(void *ctx, struct metric_sink *m)
{
	daemon_metrics_put(ctx, m);
}

void serve_telemetry_collect(struct daemon *d)
{
	telemetry_collect(outbox_telemetry(d->outbox), collect_metrics, &d->http);
}

/* --- tokens --------------------------------------------------------------------------------------------------- */

static bool is_session(void *ctx, const char *id)
{
	return store_find(ctx, id) != NULL;
}

static void on_token_problem(void *ctx, const char *name, const char *text)
{
	store_note_problem(ctx, "tokens", name, text);
}

struct tokens *serve_tokens_new(const struct daemon *d)
{
	struct tokens_config tc = { .loop = d->loop,
				    .state = d->cfg->state,
				    .known = is_session,
				    .ceiling = acp_ceiling_check,
				    .problem = on_token_problem,
				    .ctx = d->store };

	return tokens_new(&tc);
}
