/* route_sessions.c - GET /v1/sessions and /v1/sessions/{id}: the data of _acpd/status, without a WebSocket. */
#include "http/routes/handlers.h"

#include "json/jenc.h"

/* http_respond has checked that the token sees the session. */
struct session *http_session(const struct http_call *c, struct http_reply *reply)
{
	_cleanup_(freep) char *id = xstrndup(c->params[0].p, c->params[0].n);
	struct session *s = store_find(c->ctx->store, id);

	if (!s)
		http_reply_error(reply, 404, "SESSION_NOT_FOUND", "there is no such session");
	return s;
}

void http_get_sessions(const struct http_call *c, struct http_reply *ret)
{
	struct jw w = JW(&ret->body);

	jw_obj(&w, NULL);
	jw_str(&w, "incarnation", store_incarnation(c->ctx->store));
	store_put_sessions(c->ctx->store, c->rq->grant, &w);
	jw_end_obj(&w);
}

void http_get_session(const struct http_call *c, struct http_reply *ret)
{
	struct jw w = JW(&ret->body);
	struct session *s = http_session(c, ret);

	if (s)
		session_put_status(&w, NULL, s);
}
