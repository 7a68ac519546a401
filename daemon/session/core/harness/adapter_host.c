/* adapter_host.c - the core's half of the adapter contract. */
#include "session/core/session_internal.h"
#include "session/core/session_states.h"

#include "json/jenc.h"
#include "session/core/redact/redact_internal.h"
#include "session/core/session_part.h"

#include <errno.h>

static int host_send(void *ctx, struct slice line)
{
	struct session *s = ctx;

	return s->harness.proc ? proc_send(s->harness.proc, line) : -EPIPE;
}

void harness_put_native(const struct session *s, struct buf *ret)
{
	struct jw w = JW(ret);

	jw_obj(&w, NULL);
	jw_str(&w, "nativeId", s->harness.native_id);
	jw_end_obj(&w);
}

/* What a restarted daemon will need to take the session up again. */
void harness_note_native(struct session *s)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	harness_put_native(s, &b);
	evlog_note(&s->log.events, "native", buf_slice(&b));
}

static void host_ready(void *ctx, const struct harness_ready *r)
{
	struct session *s = ctx;

	if (s->harness.state != H_STARTING)
		return;
	if (s->state == SESSION_OPENING && s->harness.forked_from && !r->restored) {
		struct err e;

		err_set(&e, -ENODATA, RPC_INTERNAL_ERROR, "FORK_FAILED",
			"the harness did not take up the context");
		harness_open_failed(s, &e);
		return;
	}
	harness_set_state(s, H_CONFIGURING);
	s->harness.restored = !s->harness.native_id || r->restored;
	s->harness.caps = r->caps;
	xstrset(&s->harness.native_id, r->native_id);
	xstrset(&s->harness.version, r->version);
	settings_store_options(s, r->modes, r->config_options);
	harness_note_native(s);
	harness_configure(s);
}

static void host_failed(void *ctx, const struct err *e)
{
	struct session *s = ctx;

	if (s->harness.state == H_STARTING) {
		struct err own = session_mask_err(s, e);

		harness_open_failed(s, &own);
	}
}

static void host_event(void *ctx, const struct harness_event *ev)
{
	harness_event_take(ctx, ev);
}

static void host_unknown(void *ctx, struct slice update)
{
	unknown_updates_take(ctx, update);
}

static void host_ask(void *ctx, const struct harness_ask *a)
{
	PARTS_CALL(ask, ctx, a);
}

static void host_unask(void *ctx, uint64_t id)
{
	PARTS_CALL(unask, ctx, id);
}

static void host_usage(void *ctx, const struct harness_usage *u)
{
	struct session *s = ctx;
	struct session_turn *t = turn_in_harness(s);

	if (!t)
		return;
	if (PARTS_FIRST(meters_calls, s)) {
		account_usage(&t->reported, u);
		return;
	}
	account_usage(&t->account, u);
	if (!u->whole_turn)
		PARTS_CALL(model_call, s, u);
}

static void host_turn_end(void *ctx, const struct harness_turn_end *end)
{
	struct session *s = ctx;

	if (turn_in_harness(s))
		turn_finish(s, end);
}

static unsigned host_rules(void *ctx)
{
	return session_parts_rules_need(ctx);
}

static void on_adapter_timer(void *ctx)
{
	struct session *s = ctx;

	if (s->harness.adapter && s->def->ops->on_timer)
		s->def->ops->on_timer(s->harness.adapter);
}

static void host_timer(void *ctx, unsigned ms)
{
	struct session *s = ctx;

	if (ms)
		loop_timer_set(s->store->loop, &s->harness.adapter_timer, ms, on_adapter_timer, s);
	else
		loop_timer_cancel(&s->harness.adapter_timer);
}

const struct harness_host_ops adapter_host_ops = {
	host_send,  host_ready, host_failed,   host_event,	    host_unknown, host_ask,
	host_unask, host_usage, host_turn_end, settings_host_reply, host_rules,	  host_timer,
};
