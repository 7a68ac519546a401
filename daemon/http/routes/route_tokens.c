/* route_tokens.c - /v1/tokens: the tokens that the daemon has minted (access/tokens.h). */
#include "http/routes/handlers.h"

#include "base/limits.h"
#include "json/jenc.h"

#define BY_HTTP "http"

void http_get_tokens(const struct http_call *c, struct http_reply *ret)
{
	struct jw w = JW(&ret->body);

	jw_obj(&w, NULL);
	tokens_put(c->ctx->tokens, &w);
	jw_end_obj(&w);
}

static void tokens_refuse(struct http_reply *ret, const struct err *e)
{
	static const struct reason_status rows[] = {
		{ "TOO_MANY_TOKENS", 409 },
		{ "TOKEN_UNKNOWN", 404 },
		{ "UNCLAIMED", 503 },
		{ "NO_SPACE", 507 },
		{ "STATE_NOT_WRITABLE", 503 },
		{ "INTERNAL", 500 },
		{ NULL, 0 },
	};

	http_reply_err(ret, http_status_of(e, rows, 400), e);
}

/* The answer has the token: the text that it was made of is wiped. */
static void mint(const struct http_context *ctx, const char *param _unused_, struct slice body,
		 struct http_reply *ret)
{
	JW_BUF(w, b);
	struct err e = { 0 };
	struct jval v;
	int r;

	if (jscan_value(body, &v) != JSCAN_OK || v.type != J_OBJECT)
		r = err_field(&e, "", "BODY_INVALID", "the body is a JSON object");
	else {
		jw_obj(&w, NULL);
		r = tokens_mint(ctx->tokens, v.raw, BY_HTTP, &w, &e);
		jw_end_obj(&w);
	}
	if (r < 0) {
		tokens_refuse(ret, &e);
		return;
	}
	ret->status = 201;
	http_reply_header(ret, "Cache-Control:", "no-store");
	buf_add_slice(&ret->body, buf_slice(&b));
	secret_wipe(b.data, b.cap);
}

void http_post_token(const struct http_call *c, struct http_reply *ret)
{
	http_take_body(c, TOKEN_BODY_MAX, mint, ret);
}

void http_delete_token(const struct http_call *c, struct http_reply *ret)
{
	_cleanup_(freep) char *id = xstrndup(c->params[0].p, c->params[0].n);
	struct err e = { 0 };

	if (tokens_revoke(c->ctx->tokens, id, BY_HTTP, &e) < 0)
		tokens_refuse(ret, &e);
	else
		buf_puts(&ret->body, "{}");
}
