/* daemon_metrics.c - what the daemon counts of its work, from the parts that count. */
#include "http/metrics/metrics.h"

#include "base/clock.h"
#include "http/endpoints.h"
#include "outbox/otlp/telemetry.h"
#include "outbox/outbox.h"

#include <stddef.h>

static void put_harnesses(struct metric_sink *m, const struct store_life *life,
			  const struct store_totals *t)
{
	metric_put(m, "acpd_harnesses", "Harnesses of sessions that live.", (double)life->live);
	metric_put(m, "acpd_harnesses_max", "As many may (--harness-max).",
		   (double)life->harness_max);
	metric_put(m, "acpd_harnesses_waiting", "Sessions that wait for one.",
		   (double)life->waiting);
	metric_put(m, "acpd_harnesses_stopped_idle_total",
		   "Harnesses stopped after --harness-idle.", (double)t->rested_idle);
	metric_put(m, "acpd_harnesses_stopped_room_total",
		   "Idle harnesses stopped to make room for another.", (double)t->rested_room);
	metric_put(m, "acpd_harnesses_refused_total",
		   "Prompts and sessions that got none in time (TOO_MANY_HARNESSES).",
		   (double)t->crowded_out);
	metric_put(m, "acpd_sessions_max", "Sessions that may be open (--session-max).",
		   (double)life->session_max);
}

static void put_usage(struct metric_sink *m, const struct ledger_counts *usage)
{
	metric_put(m, "acpd_usage_records_unread", "Usage records that no client has read.",
		   (double)(usage->last - usage->read));
	metric_put(m, "acpd_usage_files", "Files of the usage ledger.", (double)usage->files);
	metric_put(m, "acpd_usage_bytes", "Their bytes.", (double)usage->bytes);
	metric_put(m, "acpd_usage_files_removed_total",
		   "Files of the usage ledger removed (--keep-usage, or no space).",
		   (double)usage->removed_files);
}

static void put_removed(struct metric_sink *m, const struct store_totals *t)
{
	metric_put(m, "acpd_sessions_removed_empty_total",
		   "Sessions removed that had no client and no history.", (double)t->removed_empty);
	metric_put(m, "acpd_sessions_removed_age_total",
		   "Closed sessions deleted for their age (--keep-sessions).",
		   (double)t->removed_age);
	metric_put(m, "acpd_sessions_removed_size_total",
		   "Closed sessions deleted for their size (--keep-sessions).",
		   (double)t->removed_size);
	metric_put(m, "acpd_sessions_removed_room_total",
		   "Closed sessions deleted because the disk was full.", (double)t->removed_room);
	metric_put(m, "acpd_journals_trimmed_total",
		   "Times that acknowledged events were given up for want of room.",
		   (double)t->trimmed);
	metric_put(m, "acpd_removals_pending",
		   "Deleted sessions and other trees whose files are still on disk.",
		   (double)t->removal.pending);
	metric_put(m, "acpd_removals_failed_total",
		   "Those that could not be removed; tried again at the next start.",
		   (double)t->removal.failed);
}

static void put_turns(struct metric_sink *m, const struct store_totals *t)
{
	metric_put(m, "acpd_turns_running", "Turns running now.", (double)t->running);
	metric_put(m, "acpd_turns_total", "Prompts accepted.", (double)t->turns);
	metric_put(m, "acpd_turns_failed_total", "Turns that ended in an error.",
		   (double)t->failed);
	metric_put(m, "acpd_events_total", "Session events numbered.", (double)t->events);
	metric_put(m, "acpd_updates_dropped_total",
		   "Updates that a harness sent outside a turn or that clients may not see.",
		   (double)t->dropped);
	metric_put(
		m, "acpd_updates_mended_total",
		"Updates and questions of harnesses that ACP's schema does not allow, and what was left out of.",
		(double)t->mended);
	metric_put(m, "acpd_updates_refused_total", "Those of which nothing was left.",
		   (double)t->refused);
	metric_put(m, "acpd_updates_unknown_total",
		   "Updates of harnesses of a kind that acpd does not know.", (double)t->unknown);
}

static void put_outside(struct metric_sink *m, const uint64_t n[OUTSIDE_END_MAX])
{
	metric_family(m, "acpd_mcp_tool_calls_total", "Tool calls that came over /mcp and ended.");
	for (int i = 0; i < OUTSIDE_END_MAX; i++)
		metric_point(m, "outcome", outside_end_word((enum outside_end)i), (double)n[i]);
}

static void put_noise(struct metric_sink *m, const struct noise_counts n[NOISE_FROM_MAX])
{
	static const char *const from[NOISE_FROM_MAX] = { "harness", "mcp" };

	metric_family(m, "acpd_output_skipped_total",
		      "Lines on a program's stdout that held no message.");
	for (int i = 0; i < NOISE_FROM_MAX; i++)
		metric_point(m, "from", from[i], (double)n[i].skipped);
	metric_family(m, "acpd_output_cleaned_total",
		      "Lines on a program's stdout that held a message among other bytes.");
	for (int i = 0; i < NOISE_FROM_MAX; i++)
		metric_point(m, "from", from[i], (double)n[i].cleaned);
}

static void put_long_lines(struct metric_sink *m, const struct prescan_counts *n)
{
	metric_put(m, "acpd_long_lines_total",
		   "Lines of harnesses that a thread read before the loop did.", (double)n->lines);
	metric_put(m, "acpd_long_lines_in_work",
		   "Of these, lines that the thread reads now or will read next.",
		   (double)n->in_work);
}

static void put_refusals(struct metric_sink *m, const uint64_t refused[MODEL_REFUSAL_MAX])
{
	metric_family(m, "acpd_model_refused_total",
		      "Others that got no answer of a provider, or not a whole one.");
	for (int i = 0; i < MODEL_REFUSAL_MAX; i++)
		if (i != MODEL_KEY_WRONG)
			metric_point(m, "code", model_refusal_word((enum model_refusal)i),
				     (double)refused[i]);
}

static void put_model(struct metric_sink *m, const struct store_totals *t)
{
	metric_put(m, "acpd_model_calls_total", "Model calls that went to a client.",
		   (double)t->model.calls);
	metric_put(m, "acpd_model_unauthorized_total",
		   "Requests with a wrong key at the addresses of sessions.",
		   (double)t->model.refused[MODEL_KEY_WRONG]);
	put_refusals(m, t->model.refused);
	metric_put(m, "acpd_model_asked_again_total",
		   "Model calls asked again of another connection.", (double)t->model.asked_again);
	metric_put(m, "acpd_model_messages_dropped_total",
		   "Messages of clients about calls that they do not have, or out of order.",
		   (double)t->model.dropped);
}

static void put_mcp(struct metric_sink *m, const struct hosted_totals *mcp)
{
	metric_put(m, "acpd_mcp_servers", "Hosted MCP servers.", (double)mcp->servers);
	metric_put(m, "acpd_mcp_servers_ready", "Those that answer.", (double)mcp->ready);
	metric_put(m, "acpd_mcp_servers_failed", "Those that were given up.", (double)mcp->failed);
	metric_put(m, "acpd_mcp_restarts_total", "Restarts of hosted MCP servers.",
		   (double)mcp->restarts);
}

static void put_webhooks(struct metric_sink *m, const struct outbox *o)
{
	struct receiver_totals t;

	outbox_totals(o, &t);
	metric_put(m, "acpd_webhooks_sent_total", "Webhooks that a receiver has accepted.",
		   (double)t.sent);
	metric_put(m, "acpd_webhooks_failed_total", "Attempts to send one that failed.",
		   (double)t.failed);
	metric_put(m, "acpd_webhooks_dropped_total",
		   "Events that a receiver was not told: too old, too many, or no space.",
		   (double)t.dropped);
	metric_put(m, "acpd_webhooks_pending", "Events that wait for a receiver.",
		   (double)t.waiting);
	metric_put(m, "acpd_webhooks_bytes", "Bytes of them on disk.", (double)t.bytes);
	metric_put(m, "acpd_webhooks_unwritten",
		   "Receivers whose events cannot be written to disk just now.",
		   (double)t.unwritten);
}

static void put_admission(struct metric_sink *m, const struct tokens *t, enum door door, int scope,
			  bool in)
{
	struct metric_label l[] = {
		{ "over", door_word(door) },
		{ "scope",
		  scope == GRANT_MAX ? "none" : grant_scope_word((enum grant_scope)scope) },
		{ "outcome", in ? "accepted" : "refused" },
	};

	m->point(m, l, ARRAY_SIZE(l), (double)tokens_noted(t, door, (enum grant_scope)scope, in));
}

static void put_signals(const struct telemetry *t, struct metric_sink *m, const char *name,
			const char *help, size_t member)
{
	struct otlp_counts c;

	metric_family(m, name, help);
	for (int s = 0; s < OTLP_SIGNALS; s++)
		if (telemetry_count(t, (enum otlp_signal)s, &c))
			metric_point(m, "signal", otlp_signal_words[s],
				     (double)*(const uint64_t *)((const char *)&c + member));
}

static void put_telemetry(struct metric_sink *m, const struct telemetry *t)
{
	put_signals(t, m, "acpd_otlp_sent_total", "Records that a receiver of OTLP has taken.",
		    offsetof(struct otlp_counts, sent));
	put_signals(t, m, "acpd_otlp_failed_total", "Requests to one that failed.",
		    offsetof(struct otlp_counts, failed));
	put_signals(t, m, "acpd_otlp_dropped_total",
		    "Records that nobody got: too many, too large, or refused.",
		    offsetof(struct otlp_counts, dropped));
	put_signals(t, m, "acpd_otlp_rejected_total",
		    "Records that a receiver has rejected of a batch that it took.",
		    offsetof(struct otlp_counts, rejected));
	put_signals(t, m, "acpd_otlp_waiting", "Records that wait.",
		    offsetof(struct otlp_counts, waiting));
}

/* By door, scope of the token and outcome; without a token nobody is let in. */
static void put_admissions(struct metric_sink *m, const struct tokens *t)
{
	if (!t)
		return;
	metric_family(
		m, "acpd_admissions_total",
		"WebSockets, requests by HTTP and local connections that were let in or refused.");
	for (int door = 0; door < DOOR_MAX; door++)
		for (int scope = 0; scope <= GRANT_MAX; scope++)
			for (int in = scope == GRANT_MAX ? 0 : 1; in >= 0; in--)
				put_admission(m, t, (enum door)door, scope, in);
	metric_put(m, "acpd_tokens", "Minted tokens that hold.", (double)tokens_count(t));
}

void daemon_metrics_put(const struct http_context *ctx, struct metric_sink *m)
{
	struct store_totals t;
	struct hosted_totals mcp;
	struct store_life life;
	struct ledger_counts usage;

	store_life(ctx->store, &life);
	store_totals(ctx->store, &t);
	hosted_totals(ctx->hosted, &mcp);
	ledger_count(store_ledger(ctx->store), &usage);
	metric_put(m, "acpd_uptime_seconds", "Seconds since the start.",
		   (double)((clock_mono_ms() - ctx->started_ms) / 1000));
	metric_put(m, "acpd_connections", "Open client connections.", ctx->connections);
	metric_put(m, "acpd_sessions", "Sessions in memory.", store_count(ctx->store));
	metric_put(m, "acpd_children", "Harness processes.", proc_host_count(ctx->procs));
	put_harnesses(m, &life, &t);
	put_usage(m, &usage);
	put_removed(m, &t);
	put_turns(m, &t);
	put_outside(m, t.outside);
	put_noise(m, t.noise);
	put_long_lines(m, &t.long_lines);
	put_model(m, &t);
	metric_put(m, "acpd_archives_damaged_total",
		   "Stored archives that were not as they were uploaded.",
		   (double)archive_damaged_count(ctx->archives));
	put_mcp(m, &mcp);
	put_webhooks(m, ctx->outbox);
	put_telemetry(m, outbox_telemetry(ctx->outbox));
	put_admissions(m, ctx->tokens);
	machine_metrics_put(ctx, m);
}
