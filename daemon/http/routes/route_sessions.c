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

struct sessions_answer {
	struct jw w;
	const struct grant *grant;
};

static bool sessions_put_one(void *ctx, struct session *s, uint64_t number _unused_)
{
	struct sessions_answer *l = ctx;

	if (grant_sees(l->grant, session_id(s)))
		session_put_status(&l->w, NULL, s);
	return true;
}

void http_get_sessions(const struct http_call *c, struct http_reply *ret)
{
	struct sessions_answer l = { .w = JW(&ret->body), .grant = c->rq->grant };

	jw_obj(&l.w, NULL);
	jw_str(&l.w, "incarnation", store_incarnation(c->ctx->store));
	jw_arr(&l.w, "sessions");
	store_each(c->ctx->store, 0, sessions_put_one, &l);
	jw_end_arr(&l.w);
	jw_end_obj(&l.w);
}

void http_get_session(const struct http_call *c, struct http_reply *ret)
{
	struct jw w = JW(&ret->body);
	struct session *s;

	s = http_session(c, ret);
	if (s)
		session_put_status(&w, NULL, s);
}
