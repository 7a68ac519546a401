/* emit.c - from a typed event to a numbered, encoded entry of the log; and which tool calls of a turn are open. */
#include "session/internal.h"

#include "base/limits.h"
#include "base/log.h"
#include "json/jenc.h"
#include "json/jstr.h"
#include "session/paths.h"

static void put_acpd(struct jw *w, uint64_t seq, uint64_t turn)
{
	jw_obj(w, "acpd");
	jw_uint(w, "seq", seq);
	if (turn)
		jw_uint(w, "turn", turn);
	jw_end_obj(w);
}

static void append(struct session *s, unsigned kind, uint64_t origin)
{
	struct buf *b = &s->store->scratch;
	struct evlog_entry e = { s->log.last + 1, origin, (uint8_t)kind, SLICE_NONE };

	secrets_redact(&s->secrets, b);
	e.frame = buf_slice(b);
	if (b->failed) {
		log_error("session", "event too large to encode", "session", s->id);
		return;
	}
	s->store->totals.events++;
	evlog_append(&s->log, &e, event_kind_name(kind));
	buf_reset(b);
	buf_trim(b, LOG_BLOCK_MAX);
	session_wake(s);
}

static struct jw begin(struct session *s, const char *method)
{
	struct buf *b = &s->store->scratch;

	buf_reset(b);
	buf_puts(b, "{\"jsonrpc\":\"2.0\",\"method\":\"");
	buf_puts(b, method);
	buf_puts(b, "\",\"params\":{\"sessionId\":\"");
	buf_puts(b, s->id); /* our own ids need no escaping */
	buf_putc(b, '"');
	return (struct jw){ b, true };
}

void session_emit(struct session *s, enum harness_update kind, struct slice update,
		  struct slice meta, uint64_t origin)
{
	struct jw w = begin(s, "session/update");

	jw_raw(&w, "update", update);
	jw_obj(&w, "_meta");
	if (meta.n)
		jw_members(&w, meta, "acpd"); /* that member is ours alone */
	put_acpd(&w, s->log.last + 1, session_running(s));
	buf_puts(w.b, "}}}");
	append(s, kind, origin);
}

void turn_error_put(struct jw *w, const char *key, const struct turn_error *te)
{
	jw_obj(w, key);
	jw_str(w, "class", te->cls);
	jw_str(w, "provider", te->provider);
	if (te->http_status)
		jw_int(w, "httpStatus", te->http_status);
	jw_str(w, "message", te->message);
	jw_bool(w, "retryable", te->retryable);
	jw_end_obj(w);
}

void session_emit_turn_end(struct session *s, const struct turn *t, const struct turn_result *r)
{
	struct jw w = begin(s, "_acpd/turn_end");

	jw_uint(&w, "seq", s->log.last + 1);
	jw_uint(&w, "turn", t->no);
	jw_str(&w, "key", t->key);
	if (r->failed) {
		turn_error_put(&w, "error", r->error);
	} else {
		jw_raw(&w, "stopReason", jobj_get(r->result, "stopReason").raw);
		jw_raw(&w, "usage", jobj_get(r->result, "usage").raw);
	}
	buf_puts(w.b, "}}");
	append(s, EVENT_TURN_END, 0);
}

/* --- tool calls ---------------------------------------------------------------------------------------- */

static struct tool_call *call_find(struct session *s, struct slice id)
{
	/* the newest are the likeliest */
	for (struct list *at = s->calls.prev; at != &s->calls; at = at->prev) {
		struct tool_call *c = list_entry(at, struct tool_call, link);

		if (slice_is(id, c->id))
			return c;
	}
	return NULL;
}

static void call_free(struct session *s, struct tool_call *c)
{
	list_del(&c->link);
	s->ncalls--;
	free(c->id);
	free(c);
}

static struct tool_call *call_add(struct session *s, struct slice id)
{
	struct tool_call *c;

	if (s->ncalls >= SESSION_CALLS_MAX)
		call_free(s, list_first(&s->calls, struct tool_call, link));
	c = new0(struct tool_call);
	c->id = xstrndup(id.p, id.n);
	c->open = true;
	list_add_tail(&s->calls, &c->link);
	s->ncalls++;
	return c;
}

static void emit_call_failed(struct session *s, const struct tool_call *c)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);

	jw_obj(&w, NULL);
	jw_str(&w, "sessionUpdate", "tool_call_update");
	jw_raw(&w, "toolCallId", slice_of(c->id));
	jw_str(&w, "status", "failed");
	jw_end_obj(&w);
	session_emit(s, UPDATE_TOOL_CALL_UPDATE, buf_slice(&b), SLICE_NONE, 0);
}

void session_close_calls(struct session *s)
{
	while (!list_empty(&s->calls)) {
		struct tool_call *c = list_first(&s->calls, struct tool_call, link);

		if (c->open && s->current)
			emit_call_failed(s, c);
		call_free(s, c);
	}
}

/* Some agents' first word on a call is an update or a permission request: make the missing announcement. */
static void emit_announcement(struct session *s, struct slice call, struct slice id)
{
	struct jslot f[] = { { .key = "title" }, { .key = "kind" } };
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);

	jscan_object(call, f, ARRAY_SIZE(f));
	jw_obj(&w, NULL);
	jw_str(&w, "sessionUpdate", "tool_call");
	jw_raw(&w, "toolCallId", id);
	jw_raw(&w, "title", f[0].v.type == J_STRING ? f[0].v.raw : id);
	jw_raw(&w, "kind", f[1].v.type == J_STRING ? f[1].v.raw : SLICE_NONE);
	jw_str(&w, "status", "pending");
	jw_end_obj(&w);
	session_emit(s, UPDATE_TOOL_CALL, buf_slice(&b), SLICE_NONE, 0);
}

void session_announce_call(struct session *s, struct slice call)
{
	struct slice id = jobj_get(call, "toolCallId").raw;

	if (call_find(s, id))
		return;
	call_add(s, id);
	emit_announcement(s, call, id);
}

static void track_call(struct session *s, const struct harness_event *ev)
{
	struct jslot f[] = { { .key = "toolCallId" }, { .key = "status" } };
	struct tool_call *c;

	jscan_object(ev->update, f, ARRAY_SIZE(f));
	if (ev->kind == UPDATE_TOOL_CALL_UPDATE)
		session_announce_call(s, ev->update);
	c = call_find(s, f[0].v.raw);
	if (!c)
		c = call_add(s, f[0].v.raw);
	if (f[1].v.type == J_STRING)
		c->open = !jstr_is(f[1].v, "completed") && !jstr_is(f[1].v, "failed");
}

static void emit_tool_call(struct session *s, const struct harness_event *ev)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	bool mended = paths_make_absolute(ev->update, s->cwd, &b);

	track_call(s, ev);
	session_emit(s, ev->kind, mended ? buf_slice(&b) : ev->update, ev->meta, 0);
}

/* --- events from the harness ----------------------------------------------------------------------------- */

static void replace_raw(char **slot, struct slice s)
{
	free(*slot);
	*slot = xstrndup(s.p, s.n);
}

void session_store_mode(struct session *s, struct slice mode)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);

	if (!s->modes)
		return;
	jw_obj(&w, NULL);
	jw_raw(&w, "currentModeId", mode);
	jw_members(&w, slice_of(s->modes), "currentModeId");
	jw_end_obj(&w);
	replace_raw(&s->modes, buf_slice(&b));
}

/* Updates that change what a later load reports. */
static void note_state(struct session *s, const struct harness_event *ev)
{
	struct jval v;

	if (ev->kind == UPDATE_CONFIG) {
		replace_raw(&s->config, jobj_get(ev->update, "configOptions").raw);
	} else if (ev->kind == UPDATE_MODE) {
		session_store_mode(s, jobj_get(ev->update, "currentModeId").raw);
	} else if (ev->kind == UPDATE_INFO) {
		v = jobj_get(ev->update, "title");
		if (v.type == J_NULL)
			xstrset(&s->title, NULL);
		else if (v.type == J_STRING) {
			free(s->title);
			s->title = NULL;
			jstr_decode(v, 4096, &s->title);
		}
	}
}

void session_harness_event(struct session *s, const struct harness_event *ev)
{
	const struct event_kind_row *row = event_kind_row(ev->kind);
	bool in_turn = s->current && s->current->state != TURN_QUEUED;

	if ((row->flags & EVENT_F_NEVER) || ((row->flags & EVENT_F_TURN) && !in_turn)) {
		s->store->totals.dropped++;
		return;
	}
	if (in_turn && (row->flags & EVENT_F_TURN))
		s->current->outputs++;
	note_state(s, ev);
	if (ev->kind == UPDATE_TOOL_CALL || ev->kind == UPDATE_TOOL_CALL_UPDATE)
		emit_tool_call(s, ev);
	else
		session_emit(s, ev->kind, ev->update, ev->meta, 0);
	if (s->log.error && s->current && s->current->state == TURN_RUNNING) {
		turn_fail(s, "resource", false, "the session's journal cannot be written: %s",
			  strerror(-s->log.error));
		if (s->proc && s->hstate == H_READY) {
			s->hstate = H_STOPPING;
			proc_kill(s->proc);
		}
	}
}
