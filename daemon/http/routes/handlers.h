/* handlers.h - what the table of routes calls, for the files of http/ alone. */
#pragma once

#include "http/endpoints.h"
#include "http/query.h"
#include "http/route.h"

struct http_call {
	const struct http_context *ctx;
	const struct http_request *rq;
	struct slice params[ROUTE_PARAMS_MAX]; /* of the path */
};

/* Decodes the query; false: answered with 400. */
bool http_query(const struct http_call *c, const struct query_field *fields, void *ret,
		struct http_reply *reply);
/* The session that the path names; NULL: answered with 404. */
struct session *http_session(const struct http_call *c, struct http_reply *reply);

/* route_life.c */
void http_get_status(const struct http_call *c, struct http_reply *ret);
void http_post_shutdown(const struct http_call *c, struct http_reply *ret);
void http_post_restart(const struct http_call *c, struct http_reply *ret);
/* While the daemon drains. */
void http_retry_after(const struct http_call *c, struct http_reply *ret);
/* route_ui.c */
void http_get_ui(const struct http_call *c, struct http_reply *ret);
void http_get_ui_top(const struct http_call *c, struct http_reply *ret);
/* route_info.c */
void http_get_info(const struct http_call *c, struct http_reply *ret);
/* small_body.c: fn answers a small body, when all of it is there; an empty one at once. param: the path's first, or empty. */
typedef void (*http_body_fn)(const struct http_context *ctx, const char *param, struct slice body,
			     struct http_reply *ret);
void http_take_body(const struct http_call *c, size_t max, http_body_fn fn, struct http_reply *ret);
/* route_agui.c */
void http_post_agui(const struct http_call *c, struct http_reply *ret);
/* route_approvals.c */
void http_get_approvals(const struct http_call *c, struct http_reply *ret);
void http_post_approval(const struct http_call *c, struct http_reply *ret);
/* route_claim.c */
void http_post_claim(const struct http_call *c, struct http_reply *ret);
/* route_sessions.c */
void http_get_sessions(const struct http_call *c, struct http_reply *ret);
void http_get_session(const struct http_call *c, struct http_reply *ret);
/* route_events.c */
void http_get_events(const struct http_call *c, struct http_reply *ret);
/* route_artifacts.c */
void http_get_artifacts(const struct http_call *c, struct http_reply *ret);
void http_get_artifact(const struct http_call *c, struct http_reply *ret);
/* route_export.c */
void http_get_workspace(const struct http_call *c, struct http_reply *ret);
/* route_bundle.c */
void http_get_bundle(const struct http_call *c, struct http_reply *ret);
/* route_bundles.c */
void http_post_bundle(const struct http_call *c, struct http_reply *ret);
/* route_metrics.c */
void http_get_metrics(const struct http_call *c, struct http_reply *ret);
/* route_tokens.c */
void http_get_tokens(const struct http_call *c, struct http_reply *ret);
void http_post_token(const struct http_call *c, struct http_reply *ret);
void http_delete_token(const struct http_call *c, struct http_reply *ret);
/* route_usage.c */
void http_get_usage(const struct http_call *c, struct http_reply *ret);
/* mcp/mcp_status.c */
void http_get_hosted(const struct http_call *c, struct http_reply *ret);
/* route_archives.c */
void http_get_archives(const struct http_call *c, struct http_reply *ret);
void http_get_archive(const struct http_call *c, struct http_reply *ret);
void http_put_archive(const struct http_call *c, struct http_reply *ret);
void http_delete_archive(const struct http_call *c, struct http_reply *ret);
/* mcp/mcp_http.c */
void http_post_mcp(const struct http_call *c, struct http_reply *ret);
void http_get_mcp(const struct http_call *c, struct http_reply *ret);
void http_delete_mcp(const struct http_call *c, struct http_reply *ret);
