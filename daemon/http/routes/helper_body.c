/*
 * helper_body.c - an archive that acpd-unpack writes into a pipe, as the body of a reply.
 *
 * The status precedes the archive, so the object is a sink until the first byte or a refusal
 * arrives. After that it is a stream: a later failure breaks the stream off instead of ending it.
 * The daemon's end of the pipe does not block, the program's end does: a slow client stops the
 * program. After a disconnect the object is freed when the program has exited, because its
 * callbacks refer to it.
 */
#include "http/routes/handlers.h"

#include "base/limits.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>

static void helper_body_done(struct helper_body *b)
{
	if (b->data.fd < 0)
		return;
	loop_io_set(b->loop, &b->data, 0);
	close(b->data.fd);
	b->data.fd = -1;
}

static void helper_body_wake(struct helper_body *b)
{
	if (b->begun)
		http_stream_wake(&b->stream);
	else
		http_sink_wake(&b->sink);
}

static void on_helper_body_data(void *ctx, uint32_t events _unused_)
{
	struct helper_body *b = ctx;
	int waiting = 0;

	/* The pipe stays readable until the client takes more: without this the loop would spin. */
	loop_io_set(b->loop, &b->data, 0);
	/* End of file and data raise the same event. FIONREAD tells them apart and reads nothing. */
	if (ioctl(b->data.fd, FIONREAD, &waiting) < 0 || waiting > 0)
		b->ready = true;
	else if (!b->ready)
		helper_body_done(b); /* nothing came: the program reports why at its end */
	helper_body_wake(b);
}

/* Its client is gone, and its program has ended. */
static void free_if_over(struct helper_body *b)
{
	if (!b->orphan || b->helper)
		return;
	helper_body_done(b);
	b->over(b);
}

static void on_helper_body_done(void *ctx, struct slice report, const struct err *e)
{
	struct helper_body *b = ctx;

	if (!e && b->reported)
		b->reported(b, report);
	b->helper = helper_job_free(b->helper);
	b->failed = e != NULL;
	if (e)
		b->error = *e;
	if (b->orphan)
		free_if_over(b);
	else
		helper_body_wake(b);
}

static const struct helper_job_events events = { NULL, on_helper_body_done };

static void helper_body_let_go(struct helper_body *b)
{
	b->orphan = true;
	helper_body_done(b); /* the program's next write ends it */
	if (b->helper)
		helper_job_abort(b->helper);
	free_if_over(b);
}

/* --- the archive ------------------------------------------------------------------------------------------ */

static enum http_fill wait_for_data(struct helper_body *b)
{
	loop_io_set(b->loop, &b->data, EPOLLIN);
	return HTTP_FILL_WAIT;
}

static enum http_fill helper_body_fill(struct http_stream *base, struct buf *out, size_t room)
{
	struct helper_body *b = container_of(base, struct helper_body, stream);
	ssize_t n;

	/* The end of the data is not the end of the body: the program's result decides whether it is complete. */
	if (b->data.fd < 0)
		return b->helper ? HTTP_FILL_WAIT : b->failed ? HTTP_FILL_ERROR : HTTP_FILL_END;
	if (buf_reserve(out, room) < 0)
		return HTTP_FILL_ERROR;
	n = read(b->data.fd, out->data + out->len, room);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? wait_for_data(b) : HTTP_FILL_ERROR;
	out->len += (size_t)n;
	if (n > 0)
		return HTTP_FILL_MORE;
	helper_body_done(b);
	return helper_body_fill(base, out, room);
}

static void helper_body_stream_free(struct http_stream *base)
{
	helper_body_let_go(container_of(base, struct helper_body, stream));
}

static const struct http_stream_ops stream_ops = { .fill = helper_body_fill,
						   .free = helper_body_stream_free };

/* --- its beginning ------------------------------------------------------------------------------------------ */

static enum http_take helper_body_check(struct http_sink *base)
{
	struct helper_body *b = container_of(base, struct helper_body, sink);

	return !b->waiting && (!b->helper || b->ready) ? HTTP_TAKE_ANSWER : HTTP_TAKE_WAIT;
}

static enum http_take helper_body_take(struct http_sink *base, struct slice piece _unused_)
{
	return helper_body_check(base); /* a body is ignored */
}

static void helper_body_reply_failed(const struct helper_body *b, struct http_reply *ret)
{
	static const struct reason_status rows[] = {
		{ "PATH_NOT_FOUND", 404 },
		{ "ACCESS_DENIED", 403 },
		{ "NO_SPACE", 507 },
		{ "SESSION_NOT_FOUND", 404 },
		{ NULL, 0 },
	};
	int other = b->error.rpc == RPC_INVALID_PARAMS ? 400 : 500;

	http_reply_error(ret, http_status_of(&b->error, rows, other), b->error.reason,
			 b->error.msg);
}

static void helper_body_answer(struct http_sink *base, struct http_reply *ret)
{
	struct helper_body *b = container_of(base, struct helper_body, sink);

	if (!b->ready) {
		helper_body_reply_failed(b, ret);
		return;
	}
	b->begun = true;
	ret->content_type = b->type;
	http_reply_header(ret, "Content-Disposition:", b->disposition);
	ret->stream = &b->stream;
}

/* Once it has begun, the stream owns it. */
static void helper_body_sink_free(struct http_sink *base)
{
	struct helper_body *b = container_of(base, struct helper_body, sink);

	if (!b->begun)
		helper_body_let_go(b);
}

static const struct http_sink_ops sink_ops = { helper_body_take, helper_body_check,
					       helper_body_check, helper_body_answer,
					       helper_body_sink_free };

/* --- the job -------------------------------------------------------------------------------------------------- */

void helper_body_init(struct helper_body *b, struct loop *loop)
{
	b->loop = loop;
	b->sink.ops = &sink_ops;
	b->stream.ops = &stream_ops;
	b->data.fd = -1;
}

int helper_body_start(struct helper_body *b, const struct http_context *ctx,
		      const struct helper_job_spec *spec, struct err *e)
{
	struct helper_job_spec own = *spec;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return err_set(e, -errno, 0, "OUT_OF_DESCRIPTORS", "cannot open a pipe");
	(void)fcntl(ends[1], F_SETFL, 0); /* the program's end blocks */
	(void)fcntl(ends[0], F_SETPIPE_SZ, (int)(4 * CHILD_READ_BYTES));
	b->data = (struct loop_io){ .fd = ends[0], .fn = on_helper_body_data, .ctx = b };
	own.data = ends[1];
	b->helper = helper_job_start(ctx->loop, ctx->procs, &own, &events, b, e);
	close(ends[1]); /* or we would never read the end of what the program writes */
	b->waiting = false;
	if (!b->helper) {
		helper_body_done(b);
		return -EIO;
	}
	loop_io_set(b->loop, &b->data, EPOLLIN);
	return 0;
}

void helper_body_fail(struct helper_body *b, const struct err *e)
{
	b->waiting = false;
	b->failed = true;
	b->error = *e;
	helper_body_wake(b);
}
