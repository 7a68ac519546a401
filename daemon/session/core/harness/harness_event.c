/*
 * harness_event.c - the core's half of the adapter contract: what a harness reports is checked, named with
 * acpd's ids, and put into the log.
 */
#include "session/core/session_internal.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/format/utf8.h"
#include "json/json.h"
#include "session/core/session_states.h"
#include "session/core/turn/absolute_paths.h"
#include "session/core/redact/redact_internal.h"
#include "session/core/session_part.h"

/* --- updates -------------------------------------------------------------------------------------------- */

/* It is cut after its secrets are hidden: of half of one nothing would be found. */
static void update_set_title(struct session *s, struct jval v)
{
	char *title = NULL;

	if (jstr_decode_shown(v, v.raw.n, &title) < 0)
		return;
	session_mask_string(s, &title);
	title[utf8_fitting(slice_of(title), SESSION_TITLE_MAX)] = '\0';
	free(s->title);
	s->title = title;
}

static void update_put_with_id(struct buf *b, struct slice update, const char *key, struct slice id)
{
	struct jw w = JW(b);

	jw_obj(&w, NULL);
	jw_members(&w, update, key);
	jw_raw(&w, key, id);
	jw_end_obj(&w);
}

static void update_emit_tool_call(struct session *s, const struct harness_event *ev,
				  struct slice id)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct slice ours = tool_call_track(s, ev, id);
	struct harness_event absolute = *ev;

	if (absolute_paths_put(ev->update, session_workdir(s), &b))
		absolute.update = buf_slice(&b);
	event_emit_named(s, &absolute, "toolCallId", ours);
}

/* id: of the message, if it has one. */
static void update_emit_chunk(struct session *s, const struct harness_event *ev, struct jval id)
{
	struct slice ours = id.type == J_STRING ? turn_message_id(s, id.raw) : SLICE_NONE;
	_cleanup_(buf_done) struct buf b = { 0 };
	struct harness_event named = *ev;

	if (!masked_stream_wants(s, ev)) {
		event_emit_named(s, ev, "messageId", ours);
		return;
	}
	/* The stream keeps the update as it is sent: with the id that clients know. */
	if (ours.n) {
		update_put_with_id(&b, ev->update, "messageId", ours);
		named.update = buf_slice(&b);
	}
	masked_stream_add(s, &named);
}

/* Updates that change what a later load reports. */
static void update_note_state(struct session *s, const struct harness_event *ev)
{
	struct jval v;

	if (ev->kind == UPDATE_CONFIG) {
		settings_config_changed(s, jobj_get(ev->update, "configOptions").raw);
	} else if (ev->kind == UPDATE_MODE) {
		settings_store_mode(s, jobj_get(ev->update, "currentModeId").raw);
	} else if (ev->kind == UPDATE_INFO) {
		v = jobj_get(ev->update, "title");
		/* null clears the title. A missing member leaves it. */
		if (v.type == J_NULL)
			xstrset(&s->title, NULL);
		else if (v.type == J_STRING)
			update_set_title(s, v);
	}
}

/* What comes of it goes to clients, who may drop all of a message in which one value does not fit. */
static bool update_check(struct session *s, struct harness_event *ev, struct buf *mended,
			 struct jval *id)
{
	enum harness_check r = CHECK_FITS;

	/* The adapter has checked it while it parsed the line. */
	if (ev->fits)
		*id = ev->id;
	else
		r = harness_update_check(ev->kind, ev->update, mended, id);
	if (r == CHECK_FITS)
		return true;
	s->store->totals.mended += r == CHECK_MENDED;
	s->store->totals.refused += r == CHECK_REFUSED;
	log_debug("session",
		  r == CHECK_MENDED ? "update of the harness mended" :
				      "update of the harness refused",
		  "session", s->id, "kind", harness_update_name(ev->kind));
	ev->update = buf_slice(mended);
	return r == CHECK_MENDED;
}

static void update_emit(struct session *s, const struct harness_event *ev, struct jval id)
{
	if (ev->kind == UPDATE_TOOL_CALL || ev->kind == UPDATE_TOOL_CALL_UPDATE)
		update_emit_tool_call(s, ev, id.raw);
	else
		update_emit_chunk(s, ev, id);
}

/* A turn of which something cannot be kept fails, and its harness is stopped. */
static void harness_check_journal(struct session *s)
{
	if (s->log.events.error && s->turn.current && s->turn.current->state == TURN_RUNNING) {
		turn_fail(s, "resource", true, "the session's journal cannot be written: %s",
			  strerror(-s->log.events.error));
		if (s->harness.proc && s->harness.state == H_READY) {
			harness_set_state(s, H_STOPPING);
			proc_kill(s->harness.proc);
		}
	}
}

/* A list that is sent whole each time, and again to each client that comes: a long one is refused as it enters. */
static bool update_refuse_beyond(struct session *s, const struct harness_event *ev)
{
	JW_BUF(w, b);
	const char *name = harness_update_name(ev->kind);

	if (!harness_update_is_beyond(ev->kind, ev->update.n))
		return false;
	s->store->totals.refused++;
	log_warn("session", "update too large", "session", s->id, "kind", name);
	jw_str(&w, "kind", "lifecycle");
	jw_str(&w, "event", "update_refused");
	jw_str(&w, "update", name);
	jw_uint(&w, "bytes", ev->update.n);
	jw_uint(&w, "limitBytes", UPDATE_LIST_MAX);
	event_note(s, EVENT_LIFECYCLE, buf_slice(&b));
	return true;
}

static void host_event(void *ctx, const struct harness_event *given)
{
	struct session *s = ctx;
	const struct event_kind_row *row = event_kind_row(given->kind);
	struct session_turn *t = turn_in_harness(s);
	_cleanup_(buf_done) struct buf mended = { 0 };
	struct harness_event checked = *given, *ev = &checked;
	struct jval id;

	/* A kind that only the daemon emits, or an update of a turn that has ended: no turn can contain it. */
	if ((row->flags & EVENT_F_NEVER) || ((row->flags & EVENT_F_TURN) && !t)) {
		s->store->totals.dropped++;
		return;
	}
	if (update_refuse_beyond(s, ev)) {
		if (t && (row->flags & EVENT_F_TURN)) /* the harness has answered, if too much */
			turn_output(t);
		return;
	}
	if (!update_check(s, ev, &mended, &id))
		return;
	if (t && (row->flags & EVENT_F_TURN)) {
		turn_output(t);
		PARTS_CALL(output, t, ev->kind, ev->update);
	}
	/* Before update_emit: a client that loads the session on this event must see the new state. */
	update_note_state(s, ev);
	update_emit(s, ev, id);
	if (t && (row->flags & EVENT_F_TURN))
		PARTS_CALL(output_told, s);
	harness_check_journal(s);
}

void harness_journal_settled(void *ctx)
{
	struct session *s = ctx;

	/* Readers first: the event is readable now. Then the harness may write on (see PRESCAN_KEPT). */
	session_wake(s);
	harness_check_journal(s);
	if (s->harness.proc)
		proc_line_done(s->harness.proc);
}

/* --- the callbacks -------------------------------------------------------------------------------------- */

static void host_unknown(void *ctx, struct slice update)
{
	harness_log_odd(ctx, "harness update unknown", update);
	unknown_update_tell(ctx, update);
}

static int host_send(void *ctx, struct slice line)
{
	struct session *s = ctx;

	return s->harness.proc ? proc_send(s->harness.proc, line) : -EPIPE;
}

void harness_put_native(const struct session *s, struct buf *ret)
{
	struct jw w = JW(ret);

	jw_object(&w, NULL, JW_STR("nativeId", s->harness.native_id));
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

	/* It has been stopped, or its start has timed out, while it opened the session. */
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

	/* Later failures of the start have their own path (on_configured, harness_broken). */
	if (s->harness.state == H_STARTING) {
		struct err own = session_mask_err(s, e);

		harness_open_failed(s, &own);
	}
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
	/* The daemon counts the calls that go through it. Numbers of the harness would count them twice. */
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

static void adapter_on_timer(void *ctx)
{
	struct session *s = ctx;

	if (s->harness.adapter && s->def->ops->on_timer)
		s->def->ops->on_timer(s->harness.adapter);
}

static void host_timer(void *ctx, unsigned ms)
{
	struct session *s = ctx;

	if (ms)
		loop_timer_set(s->store->loop, &s->harness.adapter_timer, ms, adapter_on_timer, s);
	else
		loop_timer_cancel(&s->harness.adapter_timer);
}

const struct harness_host_ops adapter_host_ops = {
	host_send,  host_ready, host_failed,   host_event,	    host_unknown, host_ask,
	host_unask, host_usage, host_turn_end, settings_host_reply, host_rules,	  host_timer,
};
