/*
 * helper_body.h - an archive that acpd-unpack makes while it is sent: first a sink that waits for its beginning, so that a
 * refusal is an error and not a short archive, then a stream.
 *
 * Embedded in its owner. Once it is in a reply it belongs to that; `over` is called when the client is gone or has all
 * of it, and acpd-unpack has ended: then the owner frees what it is embedded in.
 */
#pragma once

#include "base/err.h"
#include "http/routes/handlers.h"
#include "workspace/helper_job.h"

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
