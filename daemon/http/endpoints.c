/*
 * endpoints.c - the table of routes, the checks before a handler, and the replies that need no
 * session.
 *
 * routes[] defines method, path, scope and session limit of each route; docs and tests are compared
 * with it. The checks run in this order: route, scope (403), visibility of the session, query, handler. A
 * session that a token does not see gets the 404 of a session that does not exist. HEAD uses the
 * route of GET. net/ has checked Host, Origin and token before.
 */
#include "http/endpoints.h"

#include "base/version.h"
#include "http/routes/handlers.h"
#include "http/openapi.h"
#include "json/jenc.h"

struct route {
	const char *method, *path; /* path: a pattern of http/request_parts.h */
	enum grant_need need;
	enum need_sessions sessions;
	http_handler *fn;
	const struct query_field
		*query; /* all that a query may have; NULL: fn reads it, or ignores it */
};

static void get_health(const struct http_call *c _unused_, struct http_reply *ret)
{
	buf_puts(&ret->body, "{\"status\":\"ok\"}");
}

static void get_openapi(const struct http_call *c _unused_, struct http_reply *ret)
{
	buf_puts(&ret->body, openapi_text);
}

/* Who knows claims reads the rest of the request. */
static void post_claim(const struct http_call *c, struct http_reply *ret)
{
	c->ctx->claim(c->ctx->claim_ctx, c->rq, ret);
}

struct agui_query {
	struct slice profile;
};

static const struct query_field agui_fields[] = {
	{ "profile", QUERY_TEXT, offsetof(struct agui_query, profile), NULL },
	{ 0 },
};

/* Who knows AG-UI (agui/) reads the rest of the request. */
static void post_agui(const struct http_call *c, struct http_reply *ret)
{
	struct agui_query q = { 0 };

	if (http_query(c, agui_fields, &q, ret))
		c->ctx->agui(c->ctx->agui_ctx, c->rq, c->params[0], q.profile, ret);
}

static const struct query_field no_query[] = { { 0 } };

/* clang-format off */
static const struct route routes[] = {
	{ "GET",    "/health",                      NEED_OPEN,    SESSIONS_NONE,  get_health,          NULL },
	{ "GET",    "/openapi.json",                NEED_OPEN,    SESSIONS_NONE,  get_openapi,         NULL },
	{ "GET",    "/ui",                          NEED_OPEN,    SESSIONS_NONE,  http_get_ui_top,     NULL },
	{ "GET",    "/ui/",                         NEED_OPEN,    SESSIONS_NONE,  http_get_ui,         NULL },
	{ "GET",    "/ui/app.js",                   NEED_OPEN,    SESSIONS_NONE,  http_get_ui,         NULL },
	{ "GET",    "/ui/app.css",                  NEED_OPEN,    SESSIONS_NONE,  http_get_ui,         NULL },
	{ "GET",    "/ready",                       NEED_OBSERVE, SESSIONS_ALL,   http_get_ready,      NULL },
	{ "GET",    "/metrics",                     NEED_OBSERVE, SESSIONS_ALL,   http_get_metrics,    NULL },
	{ "GET",    "/v1/info",                     NEED_ANY,     SESSIONS_NONE,  http_get_info,       no_query },
	{ "GET",    "/v1/status",                   NEED_OBSERVE, SESSIONS_ALL,   http_get_status,     no_query },
	{ "POST",   "/v1/shutdown",                 NEED_ADMIN,   SESSIONS_ALL,   http_post_shutdown,  no_query },
	{ "POST",   "/v1/restart",                  NEED_ADMIN,   SESSIONS_ALL,   http_post_restart,   no_query },
	{ "POST",   "/v1/claim",                    NEED_OPEN,    SESSIONS_NONE,  post_claim,          no_query },
	{ "GET",    "/v1/sessions",                 NEED_OBSERVE, SESSIONS_OWN,   http_get_sessions,   no_query },
	{ "GET",    "/v1/sessions/{}",              NEED_OBSERVE, SESSIONS_NAMED, http_get_session,    no_query },
	{ "GET",    "/v1/sessions/{}/events",       NEED_OBSERVE, SESSIONS_NAMED, http_get_events,     NULL },
	{ "GET",    "/v1/sessions/{}/workspace",    NEED_OBSERVE, SESSIONS_NAMED, http_get_workspace,  NULL },
	{ "GET",    "/v1/sessions/{}/bundle",       NEED_OBSERVE, SESSIONS_NAMED, http_get_bundle,     no_query },
	{ "GET",    "/v1/sessions/{}/artifacts",    NEED_OBSERVE, SESSIONS_NAMED, http_get_artifacts,  no_query },
	{ "GET",    "/v1/sessions/{}/artifacts/{}", NEED_OBSERVE, SESSIONS_NAMED, http_get_artifact,   no_query },
	{ "POST",   "/v1/bundles",                  NEED_ADMIN,   SESSIONS_ALL,   http_post_bundle,    NULL },
	{ "GET",    "/v1/approvals",                NEED_OBSERVE, SESSIONS_OWN,   http_get_approvals,  NULL },
	{ "POST",   "/v1/approvals/{}",             NEED_DRIVE,   SESSIONS_OWN,   http_post_approval,  no_query },
	{ "GET",    "/v1/usage",                    NEED_USAGE,   SESSIONS_OWN,   http_get_usage,      NULL },
	{ "GET",    "/v1/tokens",                   NEED_ADMIN,   SESSIONS_ALL,   http_get_tokens,     no_query },
	{ "POST",   "/v1/tokens",                   NEED_ADMIN,   SESSIONS_ALL,   http_post_token,     no_query },
	{ "DELETE", "/v1/tokens/{}",                NEED_ADMIN,   SESSIONS_ALL,   http_delete_token,   no_query },
	{ "GET",    "/v1/mcp",                      NEED_OBSERVE, SESSIONS_ALL,   http_get_hosted,     no_query },
	{ "GET",    "/v1/archives",                 NEED_DRIVE,   SESSIONS_ALL,   http_get_archives,   no_query },
	{ "GET",    "/v1/archives/{}",              NEED_DRIVE,   SESSIONS_ALL,   http_get_archive,    no_query },
	{ "PUT",    "/v1/archives/{}",              NEED_DRIVE,   SESSIONS_ALL,   http_put_archive,    no_query },
	{ "DELETE", "/v1/archives/{}",              NEED_DRIVE,   SESSIONS_ALL,   http_delete_archive, no_query },
	{ "POST",   "/v1/agui/{}",                  NEED_DRIVE,   SESSIONS_OWN,   post_agui,           NULL },
	{ "POST",   "/mcp",                         NEED_TOOLS,   SESSIONS_OWN,   http_post_mcp,       NULL },
	{ "GET",    "/mcp",                         NEED_TOOLS,   SESSIONS_OWN,   http_get_mcp,        NULL },
	{ "DELETE", "/mcp",                         NEED_TOOLS,   SESSIONS_OWN,   http_delete_mcp,     NULL },
	{ "POST",   "/mcp/{}",                      NEED_TOOLS,   SESSIONS_OWN,   http_post_mcp,       NULL },
	{ "GET",    "/mcp/{}",                      NEED_TOOLS,   SESSIONS_OWN,   http_get_mcp,        NULL },
	{ "DELETE", "/mcp/{}",                      NEED_TOOLS,   SESSIONS_OWN,   http_delete_mcp,     NULL },
};
/* clang-format on */

/* The methods of a resource, as the header Allow has them. */
struct allowed {
	char text[32];
};

static void endpoint_allow(struct allowed *a, const char *method)
{
	size_t n = strlen(a->text);

	snprintf(a->text + n, sizeof(a->text) - n, "%s%s", n ? ", " : "", method);
}

/* A route whose part is not set up does not exist: it gets 404, and never 405. */
static bool is_served(const struct http_context *ctx, const struct route *r)
{
	return (r->fn != post_claim || ctx->claim) && (r->fn != post_agui || ctx->agui);
}

static const struct route *find_route(const struct http_context *ctx, const char *method,
				      const char *path, struct slice *params,
				      struct allowed *allowed)
{
	*allowed = (struct allowed){ "" };
	for (size_t i = 0; i < ARRAY_SIZE(routes); i++) {
		if (!is_served(ctx, &routes[i]) || !route_match(routes[i].path, path, params))
			continue;
		if (strcmp(routes[i].method, method) == 0 ||
		    (strcmp(method, "HEAD") == 0 && strcmp(routes[i].method, "GET") == 0))
			return &routes[i];
		endpoint_allow(allowed, routes[i].method);
	}
	return NULL;
}

bool http_route_open(const struct http_context *ctx, const char *method, const char *path)
{
	struct slice params[ROUTE_PARAMS_MAX];
	struct allowed allowed;
	const struct route *r = find_route(ctx, method, path, params, &allowed);

	return r && r->need == NEED_OPEN;
}

void http_reply_header(struct http_reply *ret, const char *name, const char *value)
{
	if (ret->nheaders == HTTP_REPLY_HEADERS)
		return;
	ret->headers[ret->nheaders].name = name;
	snprintf(ret->headers[ret->nheaders++].value, sizeof(ret->headers[0].value), "%s", value);
}

void http_reply_err(struct http_reply *ret, int status, const struct err *e)
{
	struct jw w = JW(&ret->body);

	ret->status = status;
	ret->content_type = "application/json";
	jw_object(&w, NULL,
		  JW_OBJ("error", JW_STR("reason", e->reason),
			 JW_STR("field", *e->field ? e->field : NULL),
			 JW_STR("scope", *e->scope ? e->scope : NULL), JW_STR("message", e->msg)));
}

void http_reply_error(struct http_reply *ret, int status, const char *reason, const char *message)
{
	struct err e;

	err_set(&e, -EINVAL, 0, reason, "%s", message);
	http_reply_err(ret, status, &e);
}

int http_status_of(const struct err *e, const struct reason_status *rows, int other)
{
	while (rows->reason && strcmp(rows->reason, e->reason) != 0)
		rows++;
	return rows->reason ? rows->status : other;
}

bool http_query(const struct http_call *c, const struct query_field *fields, void *ret,
		struct http_reply *reply)
{
	struct err e = { 0 };

	if (query_decode(c->rq->query, c->rq->nquery, fields, ret, &e) == 0)
		return true;
	http_reply_error(reply, 400, e.reason, e.msg);
	return false;
}

static struct http_reply empty_reply(void)
{
	return (struct http_reply){ .status = 200, .content_type = "application/json" };
}

void http_sink_answer(struct http_sink *s, struct http_reply *ret)
{
	*ret = empty_reply();
	s->ops->answer(s, ret);
}

/* An open route needs none. */
static int check_grant(const struct route *r, const struct http_request *rq, struct err *e)
{
	if (r->need == NEED_OPEN)
		return 0;
	return rq->grant ? grant_check(rq->grant, r->need, r->sessions, e) :
			   grant_missing(r->need, e);
}

/* One that it does not see is none for it. */
static bool sees_session(const struct route *r, const struct http_call *c)
{
	_cleanup_(freep) char *id = NULL;

	if (r->sessions != SESSIONS_NAMED || !grant_limited(c->rq->grant))
		return true;
	id = xstrndup(c->params[0].p, c->params[0].n);
	return grant_sees(c->rq->grant, id);
}

void http_respond(const struct http_context *ctx, const struct http_request *rq,
		  struct http_reply *ret)
{
	struct http_call c = { .ctx = ctx, .rq = rq };
	const struct route *r;
	struct allowed allowed;
	struct err e;

	*ret = empty_reply();
	r = find_route(ctx, rq->method, rq->path, c.params, &allowed);
	if (r && check_grant(r, rq, &e) < 0) {
		http_reply_err(ret, 403, &e);
		ret->denied = true;
	} else if (r && !sees_session(r, &c)) {
		http_reply_error(ret, 404, "SESSION_NOT_FOUND", "there is no such session");
	} else if (r) {
		if (!r->query || http_query(&c, r->query, NULL, ret))
			r->fn(&c, ret);
	} else if (allowed.text[0]) {
		http_reply_error(ret, 405, "METHOD_NOT_ALLOWED",
				 "this resource has no such method");
		http_reply_header(ret, "Allow:", allowed.text);
	} else {
		http_reply_error(ret, 404, "NOT_FOUND", "there is no such resource");
	}
}
