/*
 * mcp_http.c - /mcp and /mcp/{name}: the checks before a body is read, the streams of a session, and its end.
 *
 * Refusals are JSON-RPC errors, since that is what MCP clients read; their id is null, because no message has been read yet.
 * The order is: Accept and Content-Type, query, the token's sessions, the backend. GET and DELETE belong to sessions, which the
 * modern revision does not have, so they are refused for it before anything is looked up.
 */
#include "http/mcp/mcp_http_internal.h"

#include "http/routes/handlers.h"
#include "rpc/rpc.h"
#include "tools/mcp/msg.h"

#define EVENT_STREAM "text/event-stream"

struct mcp_args {
	struct slice session;
};

static const struct query_field fields[] = {
	{ "session", QUERY_TEXT, offsetof(struct mcp_args, session), NULL },
	{ 0 },
};

/* --- what is common ------------------------------------------------------------------------------------- */

static void mcp_http_reply_error(struct http_reply *ret, int status, const struct err *e)
{
	ret->status = status;
	rpc_put_error(&ret->body, SLICE("null"), e, SLICE_NONE);
}

static bool mcp_http_refuse(struct http_reply *ret, int status, const char *field,
			    const char *reason, const char *text)
{
	struct err e;

	err_field(&e, field, reason, "%s", text);
	e.rpc = RPC_INVALID_REQUEST;
	mcp_http_reply_error(ret, status, &e);
	return false;
}

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n >= m && strcmp(s + n - m, end) == 0;
}

static void reply_no_backend(struct http_reply *ret, const struct err *e)
{
	bool absent = ends_with(e->reason, "_UNKNOWN") || ends_with(e->reason, "_NOT_FOUND");

	mcp_http_reply_error(ret, absent ? 404 : 503, e);
}

/* A token that is limited to sessions names one of its own. */
static bool sees(const struct grant *g, struct slice session, struct err *e)
{
	_cleanup_(freep) char *id = session.n ? xstrndup(session.p, session.n) : NULL;

	if (!id)
		return grant_check(g, NEED_TOOLS, SESSIONS_ALL, e) == 0;
	if (grant_sees(g, id))
		return true;
	err_set(e, -ENOENT, RPC_NOT_FOUND, "SESSION_NOT_FOUND", "there is no such session");
	return false;
}

/* False: answered. */
static bool find_backend(const struct http_call *c, struct mcp_backend **b, struct http_reply *ret)
{
	const struct mcp_endpoint *endpoint = &c->ctx->mcp->endpoint;
	struct mcp_args a = { 0 };
	struct err e = { 0 };

	if (query_decode(c->rq->query, c->rq->nquery, fields, &a, &e) < 0) {
		mcp_http_reply_error(ret, 400, &e);
		return false;
	}
	if (!sees(c->rq->grant, a.session, &e)) {
		mcp_http_reply_error(ret, *e.scope ? 403 : 404, &e);
		return false;
	}
	*b = endpoint->find(endpoint->ctx, c->params[0], a.session, &e);
	if (!*b)
		reply_no_backend(ret, &e);
	return *b;
}

static bool accepts(const struct http_call *c, const char *type, const char *range)
{
	return route_accepts(c->rq->accept, type) || route_accepts(c->rq->accept, range) ||
	       route_accepts(c->rq->accept, "*/*");
}

/* --- POST ------------------------------------------------------------------------------------------------ */

static bool is_json(struct slice type)
{
	return route_accepts(type, "application/json") && !memchr(type.p, ',', type.n);
}

static bool check_post(const struct http_call *c, struct http_reply *ret)
{
	if (!accepts(c, "application/json", "application/*") || !accepts(c, EVENT_STREAM, "text/*"))
		return mcp_http_refuse(ret, 406, "Accept", "NOT_ACCEPTABLE",
				       "Accept must list application/json and " EVENT_STREAM);
	if (!is_json(c->rq->content_type))
		return mcp_http_refuse(ret, 415, "Content-Type", "CONTENT_TYPE_UNSUPPORTED",
				       "Content-Type must be application/json");
	if (c->rq->body == FRAMING_LENGTH && c->rq->length > MESSAGE_MAX)
		return mcp_http_refuse(ret, 413, "Content-Length", "MESSAGE_TOO_LARGE",
				       "the message is too large");
	return true;
}

void http_post_mcp(const struct http_call *c, struct http_reply *ret)
{
	struct mcp_backend *b;

	if (check_post(c, ret) && find_backend(c, &b, ret))
		ret->sink = &mcp_exchange_new(c->ctx->mcp, b, c->rq)->sink;
}

/* --- GET and DELETE, which only sessions have ------------------------------------------------------------ */

/* The session of the request; NULL: answered. */
static struct mcp_session *find_session(const struct http_call *c, struct http_reply *ret)
{
	struct mcp_session *s;
	struct mcp_backend *b;
	struct err e;
	int status;

	if (mcp_modern_version(c->rq->mcp_version)) {
		mcp_http_refuse(ret, 405, "MCP-Protocol-Version", "METHOD_NOT_ALLOWED",
				"protocol version " MCP_MODERN " has only POST");
		http_reply_header(ret, "Allow:", "POST");
		return NULL;
	}
	if (!find_backend(c, &b, ret))
		return NULL;
	s = mcp_session_find(c->ctx->mcp, b, c->rq->grant, c->rq->mcp_session, &status, &e);
	if (!s) {
		mcp_http_reply_error(ret, status, &e);
		return NULL;
	}
	if (mcp_legacy_version_ok(c->rq->mcp_version))
		return s;
	mcp_http_refuse(ret, 400, "MCP-Protocol-Version", "PROTOCOL_VERSION_UNSUPPORTED",
			"this protocol version is not served here");
	return NULL;
}

void http_get_mcp(const struct http_call *c, struct http_reply *ret)
{
	struct mcp_session *s;

	if (!accepts(c, EVENT_STREAM, "text/*")) {
		mcp_http_refuse(ret, 406, "Accept", "NOT_ACCEPTABLE",
				"Accept must list " EVENT_STREAM);
		return;
	}
	s = find_session(c, ret);
	if (s)
		mcp_session_listen(s, ret);
}

void http_delete_mcp(const struct http_call *c, struct http_reply *ret)
{
	struct mcp_session *s = find_session(c, ret);

	if (!s)
		return;
	mcp_session_end(s, "SESSION_ENDED", "the client ended the session");
	ret->content_type = NULL;
}

/* --- the table ------------------------------------------------------------------------------------------- */

struct mcp_http *mcp_http_new(struct loop *loop, const struct mcp_endpoint *endpoint)
{
	struct mcp_http *m = new0(struct mcp_http);

	m->loop = loop;
	m->endpoint = *endpoint;
	list_init(&m->sessions);
	list_init(&m->exchanges);
	return m;
}

void mcp_http_forget(struct mcp_http *m, const struct mcp_backend *b)
{
	struct err e;

	err_set(&e, -ENOENT, RPC_INTERNAL_ERROR, "SERVER_GONE", "the server is gone");
	list_each(s, &m->sessions, struct mcp_session, link)
		if (s->backend == b)
			mcp_session_end(s, "SERVER_GONE", "the server is gone");
	list_each(x, &m->exchanges, struct mcp_exchange, link)
		/* The front refers to the backend, which is freed after this call. */
		if (x->backend == b) {
			x->front = mcp_front_free(x->front);
			mcp_exchange_fail(x, 503, &e, SLICE_NONE);
		}
}

struct mcp_http *mcp_http_free(struct mcp_http *m)
{
	if (!m)
		return NULL;
	list_each(s, &m->sessions, struct mcp_session, link)
		mcp_session_end(s, "STOPPING", "the daemon stops");
	free(m);
	return NULL;
}
