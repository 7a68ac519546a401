/* handlers.h - what the table of routes calls, for the files of http/ alone. */
#pragma once

#include "base/err.h"
#include "http/endpoints.h"
#include "http/request_parts.h"
#include "workspace/helper_job.h"

struct http_call {
	const struct http_context *ctx;
	const struct http_request *rq;
	struct slice params[ROUTE_PARAMS_MAX]; /* of the path */
};

struct reason_status {
	const char *reason; /* NULL: end of the table */
	int status;
};

/* Returns the status of e's reason; other if no row has it. */
int http_status_of(const struct err *e, const struct reason_status *rows, int other);
/* Decodes the query; false: answered with 400. */
bool http_query(const struct http_call *c, const struct query_field *fields, void *ret,
		struct http_reply *reply);
/* The session that the path names; NULL: answered with 404. */
struct session *http_session(const struct http_call *c, struct http_reply *reply);

/* route_life.c */
void http_get_ready(const struct http_call *c, struct http_reply *ret);
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
void http_get_hosted(const struct http_call *c, struct http_reply *ret);
/* small_body.c: fn answers a small body, when all of it is there; an empty one at once. param: the path's first, or empty. */
typedef void (*http_body_fn)(const struct http_context *ctx, const char *param, struct slice body,
			     struct http_reply *ret);
void http_take_body(const struct http_call *c, size_t max, http_body_fn fn, struct http_reply *ret);
/* route_approvals.c */
void http_get_approvals(const struct http_call *c, struct http_reply *ret);
void http_post_approval(const struct http_call *c, struct http_reply *ret);
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
void http_post_bundle(const struct http_call *c, struct http_reply *ret);
/* metrics/metric_text.c */
void http_get_metrics(const struct http_call *c, struct http_reply *ret);
/* route_tokens.c */
void http_get_tokens(const struct http_call *c, struct http_reply *ret);
void http_post_token(const struct http_call *c, struct http_reply *ret);
void http_delete_token(const struct http_call *c, struct http_reply *ret);
/* route_usage.c */
void http_get_usage(const struct http_call *c, struct http_reply *ret);
/* route_archives.c */
void http_get_archives(const struct http_call *c, struct http_reply *ret);
void http_get_archive(const struct http_call *c, struct http_reply *ret);
void http_put_archive(const struct http_call *c, struct http_reply *ret);
void http_delete_archive(const struct http_call *c, struct http_reply *ret);
/* mcp/mcp_http.c */
void http_post_mcp(const struct http_call *c, struct http_reply *ret);
void http_get_mcp(const struct http_call *c, struct http_reply *ret);
void http_delete_mcp(const struct http_call *c, struct http_reply *ret);

/* --- file_body.c: a file as the body of a reply: streamed, whole or the part that a Range header asks for ---------- */

/* Owns fd. type: must live until ret's head is written. Answers 416 if the range begins after the end. */
void http_reply_file(const struct http_call *c, struct http_reply *ret, int fd, uint64_t size,
		     const char *type);

/* --- helper_body.c: an archive that acpd-unpack makes while it is sent: first a sink that waits for its beginning, so that a
 * refusal is an error and not a short archive, then a stream.
 *
 * Embedded in its owner. Once it is in a reply it belongs to that; `over` is called when the client is gone or has all
 * of it, and acpd-unpack has ended: then the owner frees what it is embedded in. */

struct helper_body {
	struct http_sink sink;
	struct http_stream stream;
	struct loop *loop;
	struct helper_job *helper; /* NULL: it has ended, or has not begun */
	struct loop_io data;	   /* fd -1: at its end */
	const char *type, *disposition;
	void (*over)(struct helper_body *b);
	void (*reported)(struct helper_body *b, struct slice report); /* or NULL: the job is done */
	bool waiting; /* the owner has not started it yet, and will, or fails */
	bool ready, begun, orphan, failed; /* ready: there are bytes */
	struct err error;
};

/* The rest of b is zeros, but for what the owner sets: type, disposition, over, waiting. */
void helper_body_init(struct helper_body *b, struct loop *loop);
/* Starts the job, with the archive's pipe as its descriptor 3; -EIO with e: helper_body_fail or the owner reports it. */
int helper_body_start(struct helper_body *b, const struct http_context *ctx,
		      const struct helper_job_spec *spec, struct err *e);
/* It cannot be started. */
void helper_body_fail(struct helper_body *b, const struct err *e);
/* It has not been put into a reply, and will not be. */
void helper_body_done(struct helper_body *b);
