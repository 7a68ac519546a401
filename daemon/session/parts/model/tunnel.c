/*
 * tunnel.c - model calls that a client makes: who has them, retries with the next client, flow control both ways.
 *
 * A call without a taker is held (call_hold), and asked again as soon as one attaches. Each attempt starts from
 * zero: bytes sent, sequence numbers, both windows and the gzip probe (call_ask). A piece is accepted only from
 * the taker that has the call (taker_find); others are counted as strays. provider_call_fail, _break and _end free
 * the call, so nothing may use c after them.
 */
#include "session/core/session_internal.h"

#include "base/limits.h"
#include "base/log.h"
#include "json/json.h"
#include "model/gzip_start.h"
#include "session/parts/model/session_model_internal.h"

/* What the tunnel has of a call. */
struct tunnel_call {
	struct provider_call *of;
	struct model_taker *taker; /* NULL: it waits for one */
	size_t sent, credit;	   /* of the body: bytes sent, and how many more may be */
	uint64_t sent_seq;	   /* of its next piece */
	uint64_t next_seq;	   /* of the answer's next piece */
	size_t window;		   /* bytes that the client may still send */
	bool holed;		   /* a piece of the answer is missing */
	struct gzip_start start;   /* of the answer */
	struct loop_timer hold;
};

static const struct model_request *request_of(const struct tunnel_call *c)
{
	return model_call_request(c->of->call);
}

/* NULL: somebody else carries it. */
static struct tunnel_call *tunnel_of(const struct provider_call *c)
{
	return c->carrier == &tunnel_carrier ? c->carried : NULL;
}

/* Its taker is to stop. */
static void tunnel_stop(struct provider_call *call)
{
	struct tunnel_call *c = tunnel_of(call);

	if (c && c->taker)
		c->taker->ops->cancel(c->taker->ctx, c);
}

static void tunnel_forget(struct provider_call *call)
{
	struct tunnel_call *c = TAKE_PTR(call->carried);

	if (c)
		loop_timer_cancel(&c->hold);
	free(c);
}

/* --- the request's body ------------------------------------------------------------------------------------- */

/* At most max bytes, and no character in two. */
static struct slice next_piece(struct slice body, size_t max)
{
	size_t n = MIN(body.n, max);

	while (n < body.n && n && ((unsigned char)body.p[n] & 0xc0) == 0x80)
		n--;
	return (struct slice){ body.p, n };
}

static void send_piece(struct tunnel_call *c, struct slice piece, bool last)
{
	JW_BUF(w, b);

	jw_object(&w, NULL, JW_STR("callId", c->of->id), JW_UINT("seq", c->sent_seq++),
		  JW_SLICE("text", piece), JW_BOOL("last", last));
	c->taker->ops->notify(c->taker->ctx, "_acpd/model/body", buf_slice(&b));
}

/* Stops where the credit is used up or the connection is full: tunnel_credit and taker_has_room resume it. */
static void send_body(struct tunnel_call *c)
{
	struct slice body = request_of(c)->body;

	while (c->sent < body.n) {
		struct slice rest = { body.p + c->sent, body.n - c->sent };
		struct slice piece = next_piece(rest, MIN(c->credit, (size_t)MODEL_PIECE_MAX));

		if (!piece.n || !c->taker->ops->room(c->taker->ctx))
			return;
		c->sent += piece.n;
		c->credit -= piece.n;
		send_piece(c, piece, c->sent == body.n);
	}
}

/* --- to a taker --------------------------------------------------------------------------------------------- */

/* Prefers connections that do nothing else; of equal ones the newest, which is last in the list. */
static struct model_taker *best_taker(const struct session *s, enum model_api api)
{
	struct model_taker *best = NULL;

	list_each(t, (struct list *)&model_of(s)->takers, struct model_taker, link)
		if ((t->apis & 1u << api) && (!best || t->only >= best->only))
			best = t;
	return best;
}

static void tunnel_on_held_too_long(void *ctx)
{
	struct tunnel_call *c = ctx;

	provider_call_fail(c->of, MODEL_NO_TAKER);
}

/* Without a limit of time where the session waits for its client. */
static void call_hold(struct tunnel_call *c)
{
	struct session *s = c->of->session;

	c->taker = NULL;
	if (s->when_detached != DETACHED_HOLD)
		loop_timer_set(s->store->loop, &c->hold, s->store->terms.model_hold * 1000ul,
			       tunnel_on_held_too_long, c);
}

static void call_ask(struct tunnel_call *c)
{
	struct model_taker *t = best_taker(c->of->session, request_of(c)->api);

	if (!t) {
		call_hold(c);
		return;
	}
	loop_timer_cancel(&c->hold);
	c->taker = t;
	provider_call_attempt(c->of);
	c->sent = 0;
	c->sent_seq = c->next_seq = 0;
	c->credit = c->window = MODEL_WINDOW;
	c->holed = false;
	c->start = (struct gzip_start){ 0 };
	if (t->ops->ask(t->ctx, c))
		send_body(c);
	else
		provider_call_fail(c->of, MODEL_TOO_MANY_CALLS);
}

static void tunnel_ask(struct provider_call *call)
{
	struct tunnel_call *c = new0(struct tunnel_call);

	c->of = call;
	call->carried = c;
	call_ask(c);
}

void tunnel_put(const struct tunnel_call *c, struct buf *params)
{
	const struct model_request *r = request_of(c);
	const struct session *s = c->of->session;
	struct jw w = JW(params);

	jw_obj(&w, NULL);
	jw_str(&w, "callId", c->of->id);
	jw_str(&w, "sessionId", s->id);
	if (c->of->turn)
		jw_uint(&w, "turn", c->of->turn);
	jw_str(&w, "api", model_api_name(r->api));
	jw_slice(&w, "method", r->method);
	jw_slice(&w, "path", r->path);
	provider_call_put_headers(c->of, &w, "headers", s->setup.gateway.headers);
	jw_str(&w, "model", r->model);
	jw_uint(&w, "bodyBytes", r->body.n);
	jw_uint(&w, "attempt", c->of->attempt);
	jw_end_obj(&w);
}

static void tunnel_taken(struct provider_call *call, size_t n)
{
	JW_BUF(w, b);
	struct tunnel_call *c = call->carried;

	c->window += n;
	jw_object(&w, NULL, JW_STR("callId", call->id), JW_UINT("bytes", n));
	c->taker->ops->notify(c->taker->ctx, "_acpd/model/credit", buf_slice(&b));
}

const struct call_carrier tunnel_carrier = { tunnel_ask, tunnel_taken, tunnel_stop, tunnel_forget };

/* --- from the client ---------------------------------------------------------------------------------------- */

void tunnel_head(struct tunnel_call *c, int status, struct slice headers)
{
	if (c->of->answered)
		tunnel_stray(c->of->session->store);
	else
		provider_call_head(c->of, status, headers);
}

/* Bytes of the answer's start that are not passed on yet: with the next ones they may be a header of gzip. */
static struct slice held_start(const struct tunnel_call *c)
{
	return c->start.state == GZIP_START_OPEN ? c->start.seen : SLICE_NONE;
}

/* fetch() of a client decodes by itself, and leaves the field that said so: only the bytes tell. */
static void pass_bytes(struct tunnel_call *c, struct slice bytes)
{
	_cleanup_(buf_done) struct buf both = { .max = MODEL_PIECE_MAX + KIB };
	struct slice held = held_start(c);

	switch (gzip_start_take(&c->start, bytes)) {
	case GZIP_START_OPEN:
		break;
	case GZIP_START_YES:
		log_warn("model", "model answer compressed", "session", c->of->session->id, "call",
			 c->of->id);
		provider_call_break(c->of, MODEL_CALL_FAILED);
		break;
	case GZIP_START_NO:
		if (held.n) {
			buf_add_slice(&both, held);
			buf_add_slice(&both, bytes);
			bytes = buf_slice(&both);
		}
		provider_call_data(c->of, bytes);
	}
}

/* After a missing piece nothing is passed on: the answer is incomplete, and has no regular end. */
void tunnel_chunk(struct tunnel_call *c, uint64_t seq, struct slice bytes)
{
	if (!c->of->answered || seq != c->next_seq) {
		tunnel_stray(c->of->session->store);
		c->holed = true;
		return;
	}
	c->next_seq++;
	if (bytes.n > c->window || bytes.n > MODEL_PIECE_MAX) { /* against the rules */
		provider_call_break(c->of, MODEL_CALL_FAILED);
		return;
	}
	c->window -= bytes.n;
	if (!c->holed)
		pass_bytes(c, bytes);
}

/* A provider that has answered reads no more of it. */
static void send_rest(struct tunnel_call *c)
{
	if (!c->of->answered)
		send_body(c);
}

/* The sum is at most MODEL_WINDOW, whatever the client grants. */
void tunnel_credit(struct tunnel_call *c, uint64_t bytes)
{
	c->credit += (size_t)MIN(bytes, MODEL_WINDOW - MIN((uint64_t)c->credit, MODEL_WINDOW));
	send_rest(c);
}

void tunnel_answered(struct tunnel_call *c, struct slice result, struct slice error)
{
	struct jval reason = jobj_get(jobj_get(error, "data").raw, "reason");
	struct provider_call *of = c->of;
	struct slice held = held_start(c);

	/* First: each of the branches below ends the call. */
	call_use_request_id(of, jobj_get(result, "requestId"));
	if (error.n) {
		provider_call_fail(of, jstr_is(reason, "MODEL_TIMEOUT") ? MODEL_CALL_TIMEOUT :
									  MODEL_CALL_FAILED);
	} else if (c->holed || !of->answered || jobj_get(result, "complete").type != J_TRUE) {
		provider_call_fail(of, MODEL_CALL_FAILED);
	} else {
		if (held.n)
			provider_call_data(of, held);
		provider_call_end(of);
	}
}

void tunnel_stray(struct session_store *st)
{
	store_model_of(st)->strays++;
}

/* --- takers --------------------------------------------------------------------------------------------------- */

/* fn for each call of the taker, or, if it is NULL, for each that waits for one. fn may end the call. */
static void each_call(struct session *s, const struct model_taker *t,
		      void (*fn)(struct tunnel_call *c))
{
	list_each(call, &model_of(s)->calls, struct provider_call, link) {
		struct tunnel_call *c = tunnel_of(call);

		if (c && c->taker == t)
			fn(c);
	}
}

void taker_attach(struct model_taker *t, struct session *s)
{
	if (t->session)
		list_del(&t->link);
	t->session = s;
	list_add_tail(&model_of(s)->takers, &t->link);
	each_call(s, NULL, call_ask);
}

/* What the harness has of an answer cannot be taken back: then there is no other attempt. */
static void taker_lost(struct tunnel_call *c)
{
	c->taker = NULL;
	if (c->of->answered)
		provider_call_fail(c->of, MODEL_CALL_FAILED);
	else
		call_ask(c);
}

void taker_detach(struct model_taker *t)
{
	struct session *s = t->session;

	if (!s)
		return;
	list_del(&t->link);
	t->session = NULL;
	each_call(s, t, taker_lost);
}

void taker_has_room(struct model_taker *t)
{
	if (t->session)
		each_call(t->session, t, send_rest);
}

struct tunnel_call *taker_find(struct model_taker *t, const char *call_id)
{
	if (!t->session)
		return NULL;
	list_each(call, &model_of(t->session)->calls, struct provider_call, link) {
		struct tunnel_call *c = tunnel_of(call);

		if (c && c->taker == t && strcmp(call->id, call_id) == 0)
			return c;
	}
	return NULL;
}

/* Unlinked before the call: closed may free it. */
void takers_drop(struct session *s)
{
	list_drain(t, &model_of(s)->takers, struct model_taker, link) {
		list_del(&t->link);
		t->session = NULL;
		t->ops->closed(t->ctx);
	}
}
