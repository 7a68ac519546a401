/*
 * emit.c - from a typed event to a numbered, encoded entry of the log; and what webhooks are sent.
 *
 * An event is encoded once, into the store's scratch memory, behind EVLOG_BEFORE_FRAME free bytes: the
 * log completes its journal line there, without a copy. Text that the masked stream holds back goes
 * first (masked_stream_flush), as it is older. Secrets in updates and notes are hidden here, before
 * anything is stored.
 */
#include "session/core/session_internal.h"

#include "base/format/digits.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/os/sandbox.h"
#include "json/json.h"
#include "session/core/redact/redact_internal.h"
#include "session/core/session_part.h"
#include "outbox/outbox.h"

/* What an event belongs to, unless it says so itself; NULL: nothing. */
static const struct trace_context *event_context(const struct session *s)
{
	return s->turn.current ? &s->turn.current->trace : NULL;
}

static void event_put_parent(struct jw *w, const struct trace_context *of)
{
	if (of && *of->parent)
		jw_str(w, "traceparent", of->parent);
}

/* What the client calls the prompt, or the call. */
static void event_put_request_id(struct jw *w, const struct trace_context *of)
{
	if (of)
		jw_str(w, "clientRequestId", of->request_id);
}

/* What a client and its operator call the session's configuration and account, and the machine. */
static void event_put_labels(struct jw *w, const struct session *s)
{
	session_labels_put(w, s->setup.labels);
	jw_str(w, "sandboxId", sandbox_id());
}

/* The caller ends the object. */
static void event_begin_acpd(struct jw *w, const struct session *s, const struct trace_context *of)
{
	/* as pieces: each event has them */
	buf_puts(w->b, w->comma ? ",\"acpd\":{\"seq\":" : "\"acpd\":{\"seq\":");
	u64_put(w->b, s->log.events.last + 1);
	w->comma = true;
	if (session_running(s)) {
		buf_puts(w->b, ",\"turn\":");
		u64_put(w->b, session_running(s));
	}
	event_put_request_id(w, of);
}

/* --- of which incarnation the numbers of events are ----------------------------------------------------- */

static bool incarnation_is_named(const struct session *s)
{
	return incarnations_now(&s->log.incarnations, s->store->incarnation) &&
	       evlog_ahead(&s->log.events);
}

/* Before an event gets its number: the journal says first of which incarnation that is. */
static void event_name_incarnation(struct session *s)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	uint64_t from = s->log.events.last + 1;

	if (incarnation_is_named(s))
		return;
	incarnations_begin(&s->log.incarnations, s->store->incarnation, from);
	incarnations_put_one(&b, s->store->incarnation, from);
	/* Exempt from the limit of the journal: without it the numbers of the events that follow would be ambiguous. */
	evlog_note_ahead(&s->log.events, "incarnation", buf_slice(&b));
}

void session_settle_incarnation(struct session *s)
{
	if (incarnation_is_named(s))
		return;
	event_name_incarnation(s);
	evlog_flush(&s->log.events);
}

uint64_t session_shares(const struct session *s, const char *incarnation)
{
	return incarnations_end(&s->log.incarnations, incarnation, s->log.events.last + 1);
}

bool session_is_foreign(const struct session *s, const char *incarnation, uint64_t seen)
{
	return incarnation && strcmp(incarnation, s->store->incarnation) != 0 &&
	       seen >= session_shares(s, incarnation);
}

/* --- encoding ------------------------------------------------------------------------------------------ */

static void event_append(struct session *s, unsigned kind, uint64_t origin)
{
	struct buf *b = &s->store->scratch;
	struct evlog_entry e = { .seq = s->log.events.last + 1,
				 .origin = origin,
				 .kind = (uint8_t)kind };

	/* The number is not used: the next event gets it, so readers see no gap. */
	if (b->failed) {
		log_error("session", "event too large to encode", "session", s->id);
		return;
	}
	e.frame = (struct slice){ b->data + EVLOG_BEFORE_FRAME, b->len - EVLOG_BEFORE_FRAME };
	s->store->totals.events++;
	/* Lifecycle events are not content: a client need not acknowledge them before the session is stored
	 * (trim_stored). */
	if (kind != EVENT_LIFECYCLE)
		s->log.last_content = e.seq;
	evlog_append_whole(&s->log.events, &e, event_kind_name(kind), b);
	buf_reset(b);
	if (!s->harness.long_line) /* which has memory there that another event may need */
		buf_trim(b, LOG_BLOCK_MAX);
	session_wake(s);
}

static struct jw event_begin(struct session *s, const char *method)
{
	static const char before_frame[EVLOG_BEFORE_FRAME];
	struct buf *b = &s->store->scratch;

	/* First: it may append a record, and the record must precede this event. */
	event_name_incarnation(s);
	buf_reset(b);
	/* The log writes its item there (evlog_append_whole). */
	buf_add(b, before_frame, sizeof(before_frame));
	buf_puts(b, "{\"jsonrpc\":\"2.0\",\"method\":\"");
	buf_puts(b, method);
	buf_puts(b, "\",\"params\":{\"sessionId\":\"");
	buf_puts(b, s->id); /* our own ids need no escaping */
	buf_putc(b, '"');
	return (struct jw){ b, true };
}

/* An update, where id is given with that in the place of its member key: a long one is not copied for it. */
static void event_put_update(struct buf *b, struct slice update, const char *key, struct slice id)
{
	struct jw w = JW(b);

	if (!id.n) {
		buf_add_slice(b, update);
		return;
	}
	jw_obj(&w, NULL);
	jw_members(&w, update, key);
	jw_raw(&w, key, id);
	jw_end_obj(&w);
}

/* What an update has of its own besides: the id that clients know, and which turn it tries again. */
struct emit_marks {
	const char *key;
	struct slice id;
	uint64_t origin;		  /* of a prompt: it need not go back there */
	const struct session_turn *again; /* the turn whose prompt are words of the daemon; or NULL */
};

static void event_write_update(struct session *s, enum harness_update kind, struct slice update,
			       struct slice meta, const struct emit_marks *marks)
{
	_cleanup_(buf_done) struct buf hidden = { .max = s->store->scratch.max }, more = { 0 };
	struct slice known = session_mask_json(s, update, false, event_fields_of(kind), &hidden);
	struct jw w = event_begin(s, "session/update");

	/* Once: growing step by step would copy a large update several times. */
	buf_reserve(w.b, known.n + meta.n + EVENT_AROUND);
	buf_puts(w.b, ",\"update\":");
	event_put_update(w.b, known, marks->key, marks->id);
	buf_puts(w.b, ",\"_meta\":{");
	w.comma = false;
	if (meta.n) /* acpd is ours alone */
		jw_members(&w, session_mask_json(s, meta, false, NULL, &more), "acpd");
	event_put_parent(&w, event_context(s));
	event_begin_acpd(&w, s, event_context(s));
	if (marks->again)
		PARTS_CALL(put_end, marks->again, &w, END_PROMPT);
	buf_puts(w.b, "}}}}");
	event_append(s, kind, marks->origin);
}

void event_emit_update(struct session *s, enum harness_update kind, struct slice update,
		       struct slice meta)
{
	event_write_update(s, kind, update, meta, &(struct emit_marks){ 0 });
}

void event_emit_prompt(struct session *s, struct slice update, uint64_t origin, bool again)
{
	masked_stream_flush(s);
	event_write_update(s, UPDATE_USER_CHUNK, update, SLICE_NONE,
			   &(struct emit_marks){ .origin = origin,
						 .again = again ? s->turn.current : NULL });
}

void event_emit_named(struct session *s, const struct harness_event *ev, const char *key,
		      struct slice id)
{
	masked_stream_flush(s);
	event_write_update(s, ev->kind, ev->update, ev->meta,
			   &(struct emit_marks){ .key = key, .id = id });
}

void event_emit(struct session *s, enum harness_update kind, struct slice update)
{
	masked_stream_flush(s);
	event_emit_update(s, kind, update, SLICE_NONE);
}

/* own: its context, where it is not that of the running turn; NULL: it is. */
static void event_write(struct session *s, enum session_event_kind kind, struct slice data,
			const struct trace_context *own)
{
	const struct trace_context *of = own ? own : event_context(s);
	_cleanup_(buf_done) struct buf hidden = { 0 };
	struct slice known = session_mask_json(s, data, true, event_fields_of(kind), &hidden);
	struct jw w;

	masked_stream_flush(s);
	w = event_begin(s, "_acpd/event");
	jw_obj(&w, "event");
	jw_raw(&w, NULL, known);
	jw_end_obj(&w);
	jw_obj(&w, "_meta");
	event_put_parent(&w, of);
	event_begin_acpd(&w, s, of);
	if (own)
		event_put_labels(&w, s);
	buf_puts(w.b, "}}}}");
	event_append(s, kind, 0);
}

void event_note(struct session *s, enum session_event_kind kind, struct slice data)
{
	event_write(s, kind, data, NULL);
}

void event_note_of(struct session *s, const struct trace_context *of, struct slice data)
{
	event_write(s, EVENT_LIFECYCLE, data, of);
}

void turn_error_put(struct jw *w, const char *key, const struct turn_error *te)
{
	jw_obj(w, key);
	jw_str(w, "class", te->cls);
	jw_str(w, "reason", te->reason);
	jw_str(w, "provider", te->provider);
	if (te->http_status)
		jw_int(w, "httpStatus", te->http_status);
	if (te->peak_bytes)
		jw_uint(w, "peakBytes", te->peak_bytes);
	if (te->limit_bytes)
		jw_uint(w, "limitBytes", te->limit_bytes);
	jw_str(w, "message", te->message);
	jw_bool(w, "retryable", te->retryable);
	if (te->same_key)
		jw_bool(w, "sameKey", true);
	jw_end_obj(w);
}

/* The closed list of classes, for what is read back. daemon/protocol/errors.md */
static const char *const error_classes[] = {
	"harness_exit",
	"harness_protocol",
	"harness_start",
	"harness_error",
	"auth",
	"rate_limit",
	"quota",
	"provider",
	"context_overflow",
	"empty_turn",
	"resource",
	"out_of_memory",
	"shutdown",
};

/* Reasons of their own that a prompt fails with; what is no such is NULL. */
const char *turn_error_reason(const char *reason)
{
	static const char *const reasons[] = { "TOO_MANY_HARNESSES", "DRAFT_TOO_LARGE",
					       "CONTENT_UNSUPPORTED" };

	for (size_t i = 0; reason && i < ARRAY_SIZE(reasons); i++)
		if (strcmp(reasons[i], reason) == 0)
			return reasons[i];
	return NULL;
}

void turn_error_load(struct slice raw, struct turn_error *ret)
{
	char reason[64] = "";
	struct jval cls = jobj_get(raw, "class");
	int64_t status = 0;

	*ret = (struct turn_error){ .cls = "harness_error" };
	/* The strings of struct turn_error are static: texts that are read are mapped to them. */
	for (size_t i = 0; i < ARRAY_SIZE(error_classes); i++)
		if (jstr_is(cls, error_classes[i]))
			ret->cls = error_classes[i];
	if (jdec_int(jobj_get(raw, "httpStatus"), &status) == 0)
		ret->http_status = (int)status;
	jstr_copy(jobj_get(raw, "reason"), reason, sizeof(reason));
	ret->reason = turn_error_reason(reason);
	ret->peak_bytes = jobj_uint(raw, "peakBytes");
	ret->limit_bytes = jobj_uint(raw, "limitBytes");
	ret->retryable = jobj_get(raw, "retryable").type == J_TRUE;
	ret->same_key = jobj_get(raw, "sameKey").type == J_TRUE;
	jstr_copy(jobj_get(raw, "message"), ret->message, sizeof(ret->message));
}

static void event_put_outcome(struct jw *w, const struct session_turn *t,
			      const struct turn_result *r)
{
	if (!t->goes_on) /* else the prompt goes on */
		jw_str(w, "key", t->key);
	if (r->failed) {
		turn_error_put(w, "error", r->error);
		return;
	}
	jw_raw(w, "stopReason", jobj_get(r->result, "stopReason").raw);
	account_put_acp(&t->account, NULL, w, "usage");
}

void event_emit_turn_end(struct session *s, const struct session_turn *t,
			 const struct turn_result *r)
{
	struct jw w = event_begin(s, "_acpd/turn_end");

	jw_uint(&w, "seq", s->log.events.last + 1);
	jw_uint(&w, "turn", t->no);
	event_put_outcome(&w, t, r);
	jw_obj(&w, "_meta");
	event_put_parent(&w, &t->trace);
	jw_obj(&w, "acpd");
	jw_uint(&w, "seq", s->log.events.last + 1);
	jw_uint(&w, "turn", t->no);
	event_put_request_id(&w, &t->trace);
	event_put_labels(&w, s);
	PARTS_CALL(put_end, t, &w, END_EVENT);
	jw_end_obj(&w);
	jw_end_obj(&w);
	buf_puts(w.b, "}}");
	event_append(s, EVENT_TURN_END, 0);
}

/* --- text that was not Unicode: counted as it enters, and reported once in each turn --------------------- */

static const char *const text_sources[TEXT_SOURCES] = {
	[TEXT_OF_CLIENT] = "client",
	[TEXT_OF_HARNESS] = "harness",
};

void session_text_repaired(struct session *s, enum text_source from, size_t places)
{
	s->log.repaired[from] += places;
}

void event_text_repaired(struct session *s)
{
	JW_BUF(w, b);
	bool any = false;

	jw_str(&w, "kind", "lifecycle");
	jw_str(&w, "event", "text_repaired");
	for (size_t i = 0; i < TEXT_SOURCES; i++) {
		if (!s->log.repaired[i])
			continue;
		jw_uint(&w, text_sources[i], s->log.repaired[i]);
		s->log.repaired[i] = 0;
		any = true;
	}
	if (any)
		event_note(s, EVENT_LIFECYCLE, buf_slice(&b));
}

/* --- webhooks: what of a session's life its receivers are sent ------------------------------------------ */

void event_webhook(struct session *s, enum webhook_type type, const char *key, struct slice members)
{
	_cleanup_(buf_done) struct buf hidden = { 0 }, b = { 0 };
	struct outbox *o = s->store->outbox;

	/* The members are masked and copied only if a receiver gets them. */
	if (!outbox_wants(o, type))
		return;
	buf_putc(&b, '{');
	buf_add_slice(&b, session_mask_json(s, members, true, event_fields_webhook, &hidden));
	buf_putc(&b, '}');
	outbox_event_once(o, type, s->id, key, buf_slice(&b));
}

void event_broken(struct session *s, const char *key, const char *reason, const char *text)
{
	JW_BUF(w, b);

	jw_str(&w, "reason", reason);
	jw_str(&w, "message", text);
	event_webhook(s, WEBHOOK_SESSION_BROKEN, key, buf_slice(&b));
}

void turn_put_incarnation(struct jw *w, const struct session_turn *t)
{
	if (t->incarnation && strcmp(t->incarnation, t->session->store->incarnation) != 0)
		jw_str(w, "turnIncarnation", t->incarnation);
}

static void webhook_put_turn(struct jw *w, const struct session *s, const struct session_turn *t,
			     const struct turn_result *r)
{
	if (t->no)
		jw_uint(w, "turn", t->no);
	turn_put_incarnation(w, t);
	event_put_outcome(w, t, r);
	PARTS_CALL(put_end, t, w, END_WEBHOOK);
	session_labels_put(w, s->setup.labels);
	if (*t->trace.parent)
		jw_str(w, "traceparent", t->trace.parent);
}

void event_webhook_turn_end(struct session *s, const struct session_turn *t,
			    const struct turn_result *r)
{
	_cleanup_(buf_done) struct buf b = { 0 }, key = { 0 };
	struct jw w = JW(&b);

	if (!outbox_wants(s->store->outbox, WEBHOOK_TURN_ENDED))
		return;
	webhook_put_turn(&w, s, t, r);
	buf_printf(&key, "%s %llu", t->incarnation ? t->incarnation : "",
		   (unsigned long long)t->no);
	buf_putc(&key, '\0');
	event_webhook(s, WEBHOOK_TURN_ENDED, t->no ? key.data : NULL, buf_slice(&b));
	/* At once: the event of the turn is written next, and must not precede its webhook on disk. */
	outbox_flush(s->store->outbox);
}
