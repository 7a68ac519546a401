/*
 * daemon_metrics.c - what the daemon counts of its work, from the parts that count.
 *
 * All numbers are read into one struct first. A metric without labels is a row that names its member; the rows stand in the
 * order of the output, between the families that have labels.
 */
#include "http/metrics/metrics.h"

#include "base/clock.h"
#include "base/util.h"
#include "http/endpoints.h"
#include "outbox/otlp/telemetry.h"
#include "outbox/outbox.h"

struct daemon_numbers {
	uint64_t uptime_secs, unread, archives_damaged;
	unsigned connections, sessions, children;
	struct store_totals store;
	struct store_life life;
	struct ledger_counts usage;
	struct hosted_totals mcp;
	struct receiver_totals webhooks;
};

/* A number of a struct: unsigned, of four bytes or of eight. */
struct metric_row {
	const char *name, *help;
	size_t at, size;
};

#define METRIC(member, name, help)                                                                 \
	{                                                                                          \
		name, help, offsetof(struct daemon_numbers, member),                               \
			sizeof(((struct daemon_numbers *)0)->member)                               \
	}

static const struct metric_row before_labels[] = {
	METRIC(uptime_secs, "acpd_uptime_seconds", "Seconds since the start."),
	METRIC(connections, "acpd_connections", "Open client connections."),
	METRIC(sessions, "acpd_sessions", "Sessions in memory."),
	METRIC(children, "acpd_children", "Harness processes."),
	METRIC(life.live, "acpd_harnesses", "Harnesses of sessions that live."),
	METRIC(life.harness_max, "acpd_harnesses_max", "As many may (--harness-max)."),
	METRIC(life.waiting, "acpd_harnesses_waiting", "Sessions that wait for one."),
	METRIC(store.rested_idle, "acpd_harnesses_stopped_idle_total",
	       "Harnesses stopped after --harness-idle."),
	METRIC(store.rested_room, "acpd_harnesses_stopped_room_total",
	       "Idle harnesses stopped to make room for another."),
	METRIC(store.crowded_out, "acpd_harnesses_refused_total",
	       "Prompts and sessions that got none in time (TOO_MANY_HARNESSES)."),
	METRIC(life.session_max, "acpd_sessions_max", "Sessions that may be open (--session-max)."),
	METRIC(unread, "acpd_usage_records_unread", "Usage records that no client has read."),
	METRIC(usage.files, "acpd_usage_files", "Files of the usage ledger."),
	METRIC(usage.bytes, "acpd_usage_bytes", "Their bytes."),
	METRIC(usage.removed_files, "acpd_usage_files_removed_total",
	       "Files of the usage ledger removed (--keep-usage, or no space)."),
	METRIC(store.removed_empty, "acpd_sessions_removed_empty_total",
	       "Sessions removed that had no client and no history."),
	METRIC(store.removed_age, "acpd_sessions_removed_age_total",
	       "Closed sessions deleted for their age (--keep-sessions)."),
	METRIC(store.removed_size, "acpd_sessions_removed_size_total",
	       "Closed sessions deleted for their size (--keep-sessions)."),
	METRIC(store.removed_room, "acpd_sessions_removed_room_total",
	       "Closed sessions deleted because the disk was full."),
	METRIC(store.trimmed, "acpd_journals_trimmed_total",
	       "Times that acknowledged events were given up for want of room."),
	METRIC(store.removal.pending, "acpd_removals_pending",
	       "Deleted sessions and other trees whose files are still on disk."),
	METRIC(store.removal.failed, "acpd_removals_failed_total",
	       "Those that could not be removed; tried again at the next start."),
	METRIC(store.running, "acpd_turns_running", "Turns running now."),
	METRIC(store.turns, "acpd_turns_total", "Prompts accepted."),
	METRIC(store.failed, "acpd_turns_failed_total", "Turns that ended in an error."),
	METRIC(store.events, "acpd_events_total", "Session events numbered."),
	METRIC(store.dropped, "acpd_updates_dropped_total",
	       "Updates that a harness sent outside a turn or that clients may not see."),
	METRIC(store.mended, "acpd_updates_mended_total",
	       "Updates and questions of harnesses that ACP's schema does not allow, and what was left out of."),
	METRIC(store.refused, "acpd_updates_refused_total", "Those of which nothing was left."),
	METRIC(store.unknown, "acpd_updates_unknown_total",
	       "Updates of harnesses of a kind that acpd does not know."),
};

static const struct metric_row before_model_refusals[] = {
	METRIC(store.long_lines.lines, "acpd_long_lines_total",
	       "Lines of harnesses that a thread read before the loop did."),
	METRIC(store.long_lines.in_work, "acpd_long_lines_in_work",
	       "Of these, lines that the thread reads now or will read next."),
	METRIC(store.model.calls, "acpd_model_calls_total", "Model calls that went to a client."),
	METRIC(store.model.refused[MODEL_KEY_WRONG], "acpd_model_unauthorized_total",
	       "Requests with a wrong key at the addresses of sessions."),
};

static const struct metric_row after_model_refusals[] = {
	METRIC(store.model.asked_again, "acpd_model_asked_again_total",
	       "Model calls asked again of another connection."),
	METRIC(store.model.dropped, "acpd_model_messages_dropped_total",
	       "Messages of clients about calls that they do not have, or out of order."),
	METRIC(archives_damaged, "acpd_archives_damaged_total",
	       "Stored archives that were not as they were uploaded."),
	METRIC(mcp.servers, "acpd_mcp_servers", "Hosted MCP servers."),
	METRIC(mcp.ready, "acpd_mcp_servers_ready", "Those that answer."),
	METRIC(mcp.failed, "acpd_mcp_servers_failed", "Those that were given up."),
	METRIC(mcp.restarts, "acpd_mcp_restarts_total", "Restarts of hosted MCP servers."),
	METRIC(webhooks.sent, "acpd_webhooks_sent_total", "Webhooks that a receiver has accepted."),
	METRIC(webhooks.failed, "acpd_webhooks_failed_total", "Attempts to send one that failed."),
	METRIC(webhooks.dropped, "acpd_webhooks_dropped_total",
	       "Events that a receiver was not told: too old, too many, or no space."),
	METRIC(webhooks.waiting, "acpd_webhooks_pending", "Events that wait for a receiver."),
	METRIC(webhooks.bytes, "acpd_webhooks_bytes", "Bytes of them on disk."),
	METRIC(webhooks.unwritten, "acpd_webhooks_unwritten",
	       "Receivers whose events cannot be written to disk just now."),
};

static double metric_number(const struct metric_row *r, const void *numbers)
{
	const void *at = (const char *)numbers + r->at;

	return r->size == sizeof(uint32_t) ? *(const uint32_t *)at : (double)*(const uint64_t *)at;
}

static void put_rows(struct metric_sink *m, const struct metric_row *rows, size_t n,
		     const struct daemon_numbers *numbers)
{
	for (size_t i = 0; i < n; i++)
		metric_put(m, rows[i].name, rows[i].help, metric_number(&rows[i], numbers));
}

#define PUT_ROWS(m, rows, numbers) put_rows(m, rows, ARRAY_SIZE(rows), numbers)

/* --- with labels ------------------------------------------------------------------------------------------------ */

static void daemon_metrics_put_outside(struct metric_sink *m, const uint64_t n[OUTSIDE_END_MAX])
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

static void put_refusals(struct metric_sink *m, const uint64_t refused[MODEL_REFUSAL_MAX])
{
	metric_family(m, "acpd_model_refused_total",
		      "Others that got no answer of a provider, or not a whole one.");
	for (int i = 0; i < MODEL_REFUSAL_MAX; i++)
		/* A wrong key is counted by a metric of its own, acpd_model_unauthorized_total. */
		if (i != MODEL_KEY_WRONG)
			metric_point(m, "code", model_refusal_word((enum model_refusal)i),
				     (double)refused[i]);
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

/* --- all of them ------------------------------------------------------------------------------------------------ */

static void read_numbers(const struct http_context *ctx, struct daemon_numbers *n)
{
	*n = (struct daemon_numbers){
		.uptime_secs = (clock_mono_ms() - ctx->started_ms) / 1000,
		.archives_damaged = archive_damaged_count(ctx->archives),
		.connections = ctx->connections,
		.sessions = store_count(ctx->store),
		.children = proc_host_count(ctx->procs),
	};
	store_life(ctx->store, &n->life);
	store_totals(ctx->store, &n->store);
	hosted_totals(ctx->hosted, &n->mcp);
	ledger_count(store_ledger(ctx->store), &n->usage);
	outbox_totals(ctx->outbox, &n->webhooks);
	n->unread = n->usage.last - n->usage.read;
}

void daemon_metrics_put(const struct http_context *ctx, struct metric_sink *m)
{
	struct daemon_numbers n;

	read_numbers(ctx, &n);
	PUT_ROWS(m, before_labels, &n);
	daemon_metrics_put_outside(m, n.store.outside);
	put_noise(m, n.store.noise);
	PUT_ROWS(m, before_model_refusals, &n);
	put_refusals(m, n.store.model.refused);
	PUT_ROWS(m, after_model_refusals, &n);
	put_telemetry(m, outbox_telemetry(ctx->outbox));
	put_admissions(m, ctx->tokens);
	machine_metrics_put(ctx, m);
}
