/* route_metrics.c - GET /metrics: what the daemon counts, in the text format of Prometheus (version 0.0.4). */
#include "http/routes/handlers.h"

#include "base/clock.h"
#include "outbox/outbox.h"

#include <string.h>

/* By the format's convention the name of a counter, and no other, ends in _total. */
static const char *type_of(const char *name)
{
	const char *last = strrchr(name, '_');

	return last && strcmp(last, "_total") == 0 ? "counter" : "gauge";
}

static void put(struct buf *b, const char *name, const char *help, uint64_t value)
{
	const char *type = type_of(name);

	buf_printf(b, "# HELP acpd_%s %s\n# TYPE acpd_%s %s\nacpd_%s %llu\n", name, help, name,
		   type, name, (unsigned long long)value);
}

static void put_harnesses(struct buf *b, const struct store_life *life,
			  const struct store_totals *t)
{
	put(b, "harnesses", "Harnesses of sessions that live.", life->live);
	put(b, "harnesses_max", "As many may (--harness-max).", life->harness_max);
	put(b, "harnesses_waiting", "Sessions that wait for one.", life->waiting);
	put(b, "harnesses_stopped_idle_total", "Harnesses stopped after --harness-idle.",
	    t->rested_idle);
	put(b, "harnesses_stopped_room_total", "Idle harnesses stopped to make room for another.",
	    t->rested_room);
	put(b, "harnesses_refused_total",
	    "Prompts and sessions that got none in time (TOO_MANY_HARNESSES).", t->crowded_out);
	put(b, "sessions_max", "Sessions that may be open (--session-max).", life->session_max);
}

static void put_usage(struct buf *b, const struct ledger_counts *usage)
{
	put(b, "usage_records_unread", "Usage records that no client has read.",
	    usage->last - usage->read);
	put(b, "usage_files", "Files of the usage ledger.", usage->files);
	put(b, "usage_bytes", "Their bytes.", usage->bytes);
	put(b, "usage_files_removed_total",
	    "Files of the usage ledger removed (--keep-usage, or no space).", usage->removed_files);
}

static void put_removed(struct buf *b, const struct store_totals *t)
{
	put(b, "sessions_removed_empty_total",
	    "Sessions removed that had no client and no history.", t->removed_empty);
	put(b, "sessions_removed_age_total",
	    "Closed sessions deleted for their age (--keep-sessions).", t->removed_age);
	put(b, "sessions_removed_size_total",
	    "Closed sessions deleted for their size (--keep-sessions).", t->removed_size);
	put(b, "sessions_removed_room_total", "Closed sessions deleted because the disk was full.",
	    t->removed_room);
	put(b, "journals_trimmed_total",
	    "Times that acknowledged events were given up for want of room.", t->trimmed);
	put(b, "removals_pending",
	    "Deleted sessions and other trees whose files are still on disk.", t->removal.pending);
	put(b, "removals_failed_total",
	    "Those that could not be removed; tried again at the next start.", t->removal.failed);
}

static void put_turns(struct buf *b, const struct store_totals *t)
{
	put(b, "turns_running", "Turns running now.", t->running);
	put(b, "turns_total", "Prompts accepted.", t->turns);
	put(b, "turns_failed_total", "Turns that ended in an error.", t->failed);
	put(b, "events_total", "Session events numbered.", t->events);
	put(b, "updates_dropped_total",
	    "Updates that a harness sent outside a turn or that clients may not see.", t->dropped);
	put(b, "updates_mended_total",
	    "Updates and questions of harnesses that ACP's schema does not allow, and what was left out of.",
	    t->mended);
	put(b, "updates_refused_total", "Those of which nothing was left.", t->refused);
}

static void put_refusals(struct buf *b, const uint64_t refused[MODEL_REFUSAL_MAX])
{
	buf_puts(b, "# HELP acpd_model_refused_total Others that got no answer of a provider, or "
		    "not a whole one.\n# TYPE acpd_model_refused_total counter\n");
	for (int i = 0; i < MODEL_REFUSAL_MAX; i++)
		if (i != MODEL_KEY_WRONG)
			buf_printf(b, "acpd_model_refused_total{code=\"%s\"} %llu\n",
				   model_refusal_word((enum model_refusal)i),
				   (unsigned long long)refused[i]);
}

static void put_model(struct buf *b, const struct store_totals *t)
{
	put(b, "model_calls_total", "Model calls that went to a client.", t->model.calls);
	put(b, "model_unauthorized_total",
	    "Requests with a wrong key at the addresses of sessions.",
	    t->model.refused[MODEL_KEY_WRONG]);
	put_refusals(b, t->model.refused);
	put(b, "model_asked_again_total", "Model calls asked again of another connection.",
	    t->model.asked_again);
	put(b, "model_messages_dropped_total",
	    "Messages of clients about calls that they do not have, or out of order.",
	    t->model.dropped);
}

static void put_mcp(struct buf *b, const struct hosted_totals *mcp)
{
	put(b, "mcp_servers", "Hosted MCP servers.", mcp->servers);
	put(b, "mcp_servers_ready", "Those that answer.", mcp->ready);
	put(b, "mcp_servers_failed", "Those that were given up.", mcp->failed);
	put(b, "mcp_restarts_total", "Restarts of hosted MCP servers.", mcp->restarts);
}

static void put_webhooks(struct buf *b, const struct outbox *o)
{
	struct receiver_totals t;

	outbox_totals(o, &t);
	put(b, "webhooks_sent_total", "Webhooks that a receiver has accepted.", t.sent);
	put(b, "webhooks_failed_total", "Attempts to send one that failed.", t.failed);
	put(b, "webhooks_dropped_total",
	    "Events that a receiver was not told: too old, too many, or no space.", t.dropped);
	put(b, "webhooks_pending", "Events that wait for a receiver.", t.waiting);
	put(b, "webhooks_bytes", "Bytes of them on disk.", t.bytes);
	put(b, "webhooks_unwritten", "Receivers whose events cannot be written to disk just now.",
	    t.unwritten);
}

/* By door, scope of the token and outcome; without a token nobody is let in. */
static void put_admissions(struct buf *b, const struct tokens *t)
{
	if (!t)
		return;
	buf_puts(b,
		 "# HELP acpd_admissions_total WebSockets, requests by HTTP and local connections "
		 "that were let in or refused.\n# TYPE acpd_admissions_total counter\n");
	for (int door = 0; door < DOOR_MAX; door++)
		for (int scope = 0; scope <= GRANT_MAX; scope++)
			for (int in = scope == GRANT_MAX ? 0 : 1; in >= 0; in--)
				buf_printf(b,
					   "acpd_admissions_total{over=\"%s\",scope=\"%s\","
					   "outcome=\"%s\"} %llu\n",
					   door_word((enum door)door),
					   scope == GRANT_MAX ?
						   "none" :
						   grant_scope_word((enum grant_scope)scope),
					   in ? "accepted" : "refused",
					   (unsigned long long)tokens_noted(t, (enum door)door,
									    (enum grant_scope)scope,
									    in));
	put(b, "tokens", "Minted tokens that hold.", tokens_count(t));
}

void http_get_metrics(const struct http_call *c, struct http_reply *ret)
{
	const struct http_context *ctx = c->ctx;
	struct buf *b = &ret->body;
	struct store_totals t;
	struct hosted_totals mcp;
	struct store_life life;
	struct ledger_counts usage;

	store_life(ctx->store, &life);
	store_totals(ctx->store, &t);
	hosted_totals(ctx->hosted, &mcp);
	ledger_count(store_ledger(ctx->store), &usage);
	ret->content_type = "text/plain; version=0.0.4";
	put(b, "uptime_seconds", "Seconds since the start.",
	    (clock_mono_ms() - ctx->started_ms) / 1000);
	put(b, "connections", "Open client connections.", ctx->connections);
	put(b, "sessions", "Sessions in memory.", store_count(ctx->store));
	put(b, "children", "Harness processes.", proc_host_count(ctx->procs));
	put_harnesses(b, &life, &t);
	put_usage(b, &usage);
	put_removed(b, &t);
	put_turns(b, &t);
	put_model(b, &t);
	put(b, "archives_damaged_total", "Stored archives that were not as they were uploaded.",
	    archive_damaged_count(ctx->archives));
	put_mcp(b, &mcp);
	put_webhooks(b, ctx->outbox);
	put_admissions(b, ctx->tokens);
}
