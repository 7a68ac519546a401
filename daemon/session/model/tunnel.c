/* tunnel.c - model calls to a client: who has them, once more to the next, what passes in both directions. */
#include "session/session_internal.h"

#include "base/http/http_fields.h"
#include "base/limits.h"
#include "base/os/file.h"
#include "json/jdec.h"
#include "json/jenc.h"
#include "json/jstr.h"

#define CALL_ID_SIZE sizeof("model-call:0123456789abcdef0123456789abcdef")

struct tunnel_call {
	struct list link;
	struct session *session;
	struct model_call *call;
	struct model_taker *taker; /* NULL: it waits for one */
	char id[CALL_ID_SIZE];
	uint64_t turn;
	unsigned attempt;
	size_t sent, credit;  /* of the body: bytes sent, and how many more may be */
	uint64_t sent_seq;    /* of its next piece */
	uint64_t next_seq;    /* of the answer's next piece */
	size_t window;	      /* bytes that the client may still send */
	bool answered, holed; /* a piece of the answer is missing */
	struct loop_timer hold;
};

static void call_done(struct tunnel_call *c)
{
	loop_timer_cancel(&c->hold);
	list_del(&c->link);
	free(c);
}

/* Its taker is to stop. */
static void call_withdraw(struct tunnel_call *c)
{
	if (c->taker)
		c->taker->ops->cancel(c->taker->ctx, c);
}

static void call_fail(struct tunnel_call *c, enum model_refusal why)
{
	model_call_refuse(c->call, why);
	call_done(c);
}

/* The client does not keep to the rules. */
static void call_broken(struct tunnel_call *c)
{
	call_withdraw(c);
	call_fail(c, MODEL_CALL_FAILED);
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
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);

	jw_obj(&w, NULL);
	jw_str(&w, "callId", c->id);
	jw_uint(&w, "seq", c->sent_seq++);
	jw_slice(&w, "text", piece);
	jw_bool(&w, "last", last);
	jw_end_obj(&w);
	c->taker->ops->notify(c->taker->ctx, "_acpd/model/body", buf_slice(&b));
}

/* As much as the client has room for. */
static void send_body(struct tunnel_call *c)
{
	struct slice body = model_call_request(c->call)->body;

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

static struct model_taker *best_taker(const struct session *s, enum model_api api)
{
	struct model_taker *best = NULL;

	list_each(t, (struct list *)&s->model.takers, struct model_taker, link)
		if ((t->apis & 1u << api) && (!best || t->only >= best->only))
			best = t;
	return best;
}

static void on_held_too_long(void *ctx)
{
	call_fail(ctx, MODEL_NO_TAKER);
}

static void call_hold(struct tunnel_call *c)
{
	struct session *s = c->session;

	c->taker = NULL;
	if (s->when_detached != DETACHED_HOLD)
		loop_timer_set(s->store->loop, &c->hold, s->store->model.hold * 1000ul,
			       on_held_too_long, c);
}

static void call_ask(struct tunnel_call *c)
{
	struct model_taker *t = best_taker(c->session, model_call_request(c->call)->api);

	if (!t) {
		call_hold(c);
		return;
	}
	loop_timer_cancel(&c->hold);
	c->taker = t;
	c->session->store->model.asked_again += c->attempt > 0;
	c->attempt++;
	c->sent = 0;
	c->sent_seq = c->next_seq = 0;
	c->credit = c->window = MODEL_WINDOW;
	c->holed = false;
	if (t->ops->ask(t->ctx, c))
		send_body(c);
	else
		call_fail(c, MODEL_TOO_MANY_CALLS);
}

static bool has_header(struct slice headers, struct slice name)
{
	struct slice own;
	struct jiter it;
	struct jval v;

	if (!headers.n || !jiter_init(&it, (struct jval){ J_OBJECT, headers }))
		return false;
	while (jiter_next(&it, &own, &v))
		if (http_words_same(own, name))
			return true;
	return false;
}

/* The client's own for its provider, and what of the harness's they do not replace. */
static void put_headers(struct jw *w, struct slice given, struct slice passed)
{
	struct slice name;
	struct jiter it;
	struct jval v;

	jw_obj(w, "headers");
	if (given.n)
		jw_members(w, given, NULL);
	jiter_init(&it, (struct jval){ J_OBJECT, passed });
	while (jiter_next(&it, &name, &v))
		if (!has_header(given, name))
			jw_member_raw(w, name, v.raw);
	jw_end_obj(w);
}

void tunnel_put(const struct tunnel_call *c, struct buf *params)
{
	const struct model_request *r = model_call_request(c->call);
	struct jw w = JW(params);

	jw_obj(&w, NULL);
	jw_str(&w, "callId", c->id);
	jw_str(&w, "sessionId", c->session->id);
	if (c->turn)
		jw_uint(&w, "turn", c->turn);
	jw_str(&w, "api", model_api_name(r->api));
	jw_slice(&w, "method", r->method);
	jw_slice(&w, "path", r->path);
	put_headers(&w, c->session->setup.gateway.headers, r->headers);
	jw_str(&w, "model", r->model);
	jw_uint(&w, "bodyBytes", r->body.n);
	jw_uint(&w, "attempt", c->attempt);
	jw_end_obj(&w);
}

/* --- from the listener ------------------------------------------------------------------------------------------ */

static void on_taken(void *ctx, size_t n)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct tunnel_call *c = ctx;
	struct jw w = JW(&b);

	c->window += n;
	jw_obj(&w, NULL);
	jw_str(&w, "callId", c->id);
	jw_uint(&w, "bytes", n);
	jw_end_obj(&w);
	c->taker->ops->notify(c->taker->ctx, "_acpd/model/credit", buf_slice(&b));
}

static void on_gone(void *ctx)
{
	struct tunnel_call *c = ctx;

	call_withdraw(c);
	call_done(c);
}

static const struct model_call_ops call_ops = { on_taken, on_gone };

static void on_call(void *ctx, struct model_call *call)
{
	struct tunnel_call *c = new0(struct tunnel_call);
	struct session *s = ctx;

	c->session = s;
	c->call = call;
	c->turn = session_running(s);
	memcpy(c->id, "model-call:", 11);
	random_hex(c->id + 11, 16);
	list_init(&c->link);
	list_add_tail(&s->model.calls, &c->link);
	model_call_follow(call, &call_ops, c);
	call_ask(c);
}

const struct model_listener_ops tunnel_listener_ops = { on_call };

/* --- from the client ---------------------------------------------------------------------------------------- */

void tunnel_head(struct tunnel_call *c, int status, struct slice headers)
{
	if (c->answered) {
		tunnel_stray(c->session->store);
		return;
	}
	c->answered = true;
	if (model_call_head(c->call, status, headers))
		return;
	call_withdraw(c);
	call_done(c);
}

void tunnel_chunk(struct tunnel_call *c, uint64_t seq, struct slice bytes)
{
	if (!c->answered || seq != c->next_seq) {
		tunnel_stray(c->session->store);
		c->holed = true;
		return;
	}
	c->next_seq++;
	if (bytes.n > c->window || bytes.n > MODEL_PIECE_MAX) {
		call_broken(c);
		return;
	}
	c->window -= bytes.n;
	if (!c->holed)
		model_call_data(c->call, bytes);
}

void tunnel_credit(struct tunnel_call *c, uint64_t bytes)
{
	c->credit += (size_t)MIN(bytes, MODEL_WINDOW - MIN((uint64_t)c->credit, MODEL_WINDOW));
	if (!c->answered) /* a provider that has answered reads no more of it */
		send_body(c);
}

void tunnel_answered(struct tunnel_call *c, struct slice result, struct slice error)
{
	struct jval reason = jobj_get(jobj_get(error, "data").raw, "reason");

	if (error.n)
		call_fail(c, jstr_is(reason, "MODEL_TIMEOUT") ? MODEL_CALL_TIMEOUT :
								MODEL_CALL_FAILED);
	else if (c->holed || !c->answered || jobj_get(result, "complete").type != J_TRUE)
		call_fail(c, MODEL_CALL_FAILED);
	else {
		model_call_end(c->call);
		call_done(c);
	}
}

void tunnel_stray(struct session_store *st)
{
	st->model.strays++;
}

/* --- takers --------------------------------------------------------------------------------------------------- */

void taker_attach(struct model_taker *t, struct session *s)
{
	if (t->session)
		list_del(&t->link);
	t->session = s;
	list_add_tail(&s->model.takers, &t->link);
	list_each(c, &s->model.calls, struct tunnel_call, link)
		if (!c->taker)
			call_ask(c);
}

void taker_detach(struct model_taker *t)
{
	struct session *s = t->session;

	if (!s)
		return;
	list_del(&t->link);
	t->session = NULL;
	list_each(c, &s->model.calls, struct tunnel_call, link) {
		if (c->taker != t)
			continue;
		c->taker = NULL;
		if (c->answered)
			call_fail(c, MODEL_CALL_FAILED);
		else
			call_ask(c);
	}
}

void taker_has_room(struct model_taker *t)
{
	if (!t->session)
		return;
	list_each(c, &t->session->model.calls, struct tunnel_call, link)
		if (c->taker == t && !c->answered)
			send_body(c);
}

struct tunnel_call *taker_find(struct model_taker *t, const char *call_id)
{
	if (!t->session)
		return NULL;
	list_each(c, &t->session->model.calls, struct tunnel_call, link)
		if (c->taker == t && strcmp(c->id, call_id) == 0)
			return c;
	return NULL;
}

void takers_drop(struct session *s)
{
	while (!list_empty(&s->model.takers)) {
		struct model_taker *t = list_first(&s->model.takers, struct model_taker, link);

		list_del(&t->link);
		t->session = NULL;
		t->ops->closed(t->ctx);
	}
}
