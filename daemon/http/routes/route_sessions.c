/* route_sessions.c - GET /v1/sessions and /v1/sessions/{id}: the data of _acpd/status, without a WebSocket. */
#include "http/routes/handlers.h"

#include "base/limits.h"
#include "json/jenc.h"

static const struct query_field no_query[] = { { 0 } };

struct session *http_session(const struct http_call *c, struct http_reply *reply)
{
	_cleanup_(freep) char *id = xstrndup(c->params[0].p, c->params[0].n);
	struct session *s = store_find(c->ctx->store, id);

	if (!s)
		http_reply_error(reply, 404, "SESSION_NOT_FOUND", "there is no such session");
	return s;
}

static bool put_one(void *ctx, struct session *s, uint64_t number _unused_)
{
	session_put_status(ctx, NULL, s);
	return true;
}

void http_get_sessions(const struct http_call *c, struct http_reply *ret)
{
	struct jw w = JW(&ret->body);

	if (!http_query(c, no_query, NULL, ret))
		return;
	jw_obj(&w, NULL);
	jw_str(&w, "incarnation", store_incarnation(c->ctx->store));
	jw_arr(&w, "sessions");
	store_each(c->ctx->store, 0, put_one, &w);
	jw_end_arr(&w);
	jw_end_obj(&w);
}

void http_get_session(const struct http_call *c, struct http_reply *ret)
{
	struct jw w = JW(&ret->body);
	struct session *s;

	if (!http_query(c, no_query, NULL, ret))
		return;
	s = http_session(c, ret);
	if (s)
		session_put_status(&w, NULL, s);
}
