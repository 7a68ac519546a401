/* event_webhook.c - what of a session's life is told to receivers elsewhere. */
#include "session/core/session_internal.h"

#include "json/jenc.h"
#include "outbox/outbox.h"
#include "session/core/redact/redact_internal.h"
#include "session/core/session_part.h"

void event_webhook(struct session *s, enum webhook_type type, const char *key, struct slice members)
{
	_cleanup_(buf_done) struct buf hidden = { 0 }, b = { 0 };
	struct outbox *o = s->store->outbox;

	if (!outbox_wants(o, type))
		return;
	buf_putc(&b, '{');
	buf_add_slice(&b, session_mask_json(s, members, true, event_fields_webhook, &hidden));
	buf_putc(&b, '}');
	outbox_event_once(o, type, s->id, key, buf_slice(&b));
}

void event_broken(struct session *s, const char *key, const char *reason, const char *text)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);

	jw_str(&w, "reason", reason);
	jw_str(&w, "message", text);
	event_webhook(s, WEBHOOK_SESSION_BROKEN, key, buf_slice(&b));
}

static void put_incarnation(struct jw *w, const struct session *s, const struct session_turn *t)
{
	if (t->incarnation && strcmp(t->incarnation, s->store->incarnation) != 0)
		jw_str(w, "turnIncarnation", t->incarnation);
}

static void put_turn(struct jw *w, const struct session *s, const struct session_turn *t,
		     const struct turn_result *r)
{
	if (t->no)
		jw_uint(w, "turn", t->no);
	put_incarnation(w, s, t);
	if (!t->goes_on) /* else the prompt goes on */
		jw_str(w, "key", t->key);
	if (r->failed) {
		turn_error_put(w, "error", r->error);
	} else {
		jw_raw(w, "stopReason", jobj_get(r->result, "stopReason").raw);
		account_put_acp(&t->account, NULL, w, "usage");
	}
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
	put_turn(&w, s, t, r);
	buf_printf(&key, "%s %llu", t->incarnation ? t->incarnation : "",
		   (unsigned long long)t->no);
	buf_putc(&key, '\0');
	event_webhook(s, WEBHOOK_TURN_ENDED, t->no ? key.data : NULL, buf_slice(&b));
	outbox_flush(s->store->outbox);
}
