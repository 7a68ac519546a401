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

/* What a route answers with: fills ret, which is empty, of status 200 and JSON. */
typedef void http_handler(const struct http_call *c, struct http_reply *ret);

http_handler http_get_ready, http_get_status, http_post_shutdown, http_post_restart, http_get_ui,
	http_get_ui_top, http_get_info, http_get_hosted, http_get_approvals, http_post_approval,
	http_get_sessions, http_get_session, http_get_events, http_get_artifacts, http_get_artifact,
	http_get_workspace, http_get_bundle, http_post_bundle, http_get_metrics, http_get_tokens,
	http_post_token, http_delete_token, http_get_usage, http_get_archives, http_get_archive,
	http_put_archive, http_delete_archive, http_post_mcp, http_get_mcp, http_delete_mcp;
/* route_life.c: the header that says when to come again, while the daemon drains. */
void http_retry_after(const struct http_call *c, struct http_reply *ret);
/* small_body.c: fn answers a small body, when all of it is there; an empty one at once. param: the path's first, or empty. */
typedef void (*http_body_fn)(const struct http_context *ctx, const char *param, struct slice body,
			     struct http_reply *ret);
void http_take_body(const struct http_call *c, size_t max, http_body_fn fn, struct http_reply *ret);

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
