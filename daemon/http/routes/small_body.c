/* small_body.c - a request's body that is gathered whole before it is used, up to a bound. */
#include "http/routes/handlers.h"

#include "json/jstr.h"

struct small_body {
	struct http_sink base;
	const struct http_context *ctx;
	http_body_fn fn;
	char *param;
	struct buf text;
	bool too_large;
};

static enum http_take small_body_take(struct http_sink *base, struct slice piece)
{
	struct small_body *b = container_of(base, struct small_body, base);

	b->too_large = buf_add_slice(&b->text, piece) < 0;
	return b->too_large ? HTTP_TAKE_ANSWER : HTTP_TAKE_MORE;
}

static enum http_take small_body_end(struct http_sink *base _unused_)
{
	return HTTP_TAKE_ANSWER;
}

static void small_body_answer(struct http_sink *base, struct http_reply *ret)
{
	struct small_body *b = container_of(base, struct small_body, base);

	if (b->too_large)
		http_reply_error(ret, 413, "BODY_TOO_LARGE", "the body is too large");
	else {
		jstr_repair_halves(b->text.data + b->text.pos, buf_len(&b->text));
		b->fn(b->ctx, b->param, buf_slice(&b->text), ret);
	}
}

static void small_body_free(struct http_sink *base)
{
	struct small_body *b = container_of(base, struct small_body, base);

	buf_done(&b->text);
	free_each(b->param, b);
}

static const struct http_sink_ops ops = { small_body_take, small_body_end, small_body_end,
					  small_body_answer, small_body_free };

void http_take_body(const struct http_call *c, size_t max, http_body_fn fn, struct http_reply *ret)
{
	_cleanup_(freep) char *param =
		xstrndup(c->params[0].n ? c->params[0].p : "", c->params[0].n);
	struct small_body *b;

	if (c->rq->body == FRAMING_NONE) {
		fn(c->ctx, param, SLICE_NONE, ret);
		return;
	}
	b = new0(struct small_body);
	b->base.ops = &ops;
	b->ctx = c->ctx;
	b->fn = fn;
	b->param = TAKE_PTR(param);
	b->text.max = max;
	ret->sink = &b->base;
}
