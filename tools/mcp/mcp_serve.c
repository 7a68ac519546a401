/*
 * mcp_serve.c - moves lines between two descriptors and a front, with back-pressure and a shared
 * budget.
 *
 * mcp_serving_turn() does all work, once at the end of a turn of the loop: output first, because a full output
 * stops input. Callbacks only record and defer it, so `done` never runs inside the front and may
 * free the object. epoll refuses regular files (EPERM), which a timer reads. A socket for both
 * directions is duplicated, because epoll has one entry for each descriptor.
 */
#include "tools/mcp/mcp_serve.h"

#include "base/buf.h"
#include "base/limits.h"
#include "proc/output/lines.h"
#include "tools/mcp/mcp_front.h"

#include <fcntl.h>
#include <sys/epoll.h>

struct mcp_serving {
	struct loop *loop;
	struct mcp_front *front;
	const struct mcp_serve_ops *ops;
	void *ctx;

	struct loop_io in, out;
	int flags_in, flags_out; /* as they were */
	int own;		 /* a second descriptor for the same socket, or -1 */
	bool file_in, file_out;	 /* no epoll for those: always ready */
	struct loop_timer again; /* the next piece of a file */
	struct loop_timer grace;
	struct loop_task task;

	struct lines lines;
	struct buf waiting; /* for the client */
	bool eof;
	bool moved; /* something was written since the grace began */
	bool is_over;
	const char *fault;

	struct mcp_budget *budget; /* may be NULL */
	size_t in_counted, out_counted;
	struct loop_timer half; /* for the rest of a message that has begun */
};

static void mcp_serving_turn(void *ctx);

static void turn_soon(struct mcp_serving *s)
{
	loop_defer(s->loop, &s->task, mcp_serving_turn, s);
}

/* The first reason is kept. fault: NULL if the client left in order; borrowed, and a literal
 * at all calls. */
static void mcp_serving_finish(struct mcp_serving *s, const char *fault)
{
	if (s->is_over)
		return;
	s->is_over = true;
	s->fault = fault;
	turn_soon(s);
}

static void mcp_serving_on_send(void *ctx, struct slice message, struct slice request _unused_,
				bool last _unused_)
{
	struct mcp_serving *s = ctx;

	buf_add_slice(&s->waiting, message);
	buf_putc(&s->waiting, '\n');
	/* Above MCP_OUT_MAX. is_full() stops input long before, so only answers that were
	 * already on the way come here. */
	if (s->waiting.failed)
		mcp_serving_finish(s, "the client does not read");
	else
		turn_soon(s);
}

static const struct mcp_front_ops front_ops = { .send = mcp_serving_on_send };

static bool is_full(const struct mcp_serving *s)
{
	return buf_len(&s->waiting) >= MCP_OUT_SOFT;
}

static void mcp_serving_feed(struct mcp_serving *s, struct slice line)
{
	if (line.n)
		mcp_front_feed(s->front, line);
}

/* Takes the lines that were read, as long as the client reads the answers. */
static void mcp_serving_take_lines(struct mcp_serving *s)
{
	struct slice line;
	int r = 0;

	while (!s->is_over && !is_full(s) && (r = lines_next(&s->lines, &line)) > 0) {
		loop_timer_cancel(&s->half);
		mcp_serving_feed(s, line);
	}
	if (r < 0)
		mcp_serving_finish(s, "a message is too long");
	if (s->is_over || r || is_full(s))
		return;
	if (s->eof) { /* the last line may lack its end */
		mcp_serving_feed(s, lines_rest(&s->lines));
		lines_done(&s->lines);
	}
	lines_trim(&s->lines);
}

/* While the client does not read, we do not either. */
static void on_half(void *ctx)
{
	struct mcp_serving *s = ctx;

	if (is_full(s))
		loop_timer_set(s->loop, &s->half, s->budget->line_ms, on_half, s);
	else
		mcp_serving_finish(s, "the rest of a message did not come");
}

static void mcp_budget_count(size_t now, size_t *counted, size_t *sum)
{
	*sum += now - *counted;
	*counted = now;
}

/* Updates the shared sums by the difference to the last time. Only a client with a part in a
 * sum above its limit is ended, on its own turn. */
static void account(struct mcp_serving *s, size_t in, size_t out)
{
	struct mcp_budget *b = s->budget;

	if (!b)
		return;
	mcp_budget_count(in, &s->in_counted, &b->in);
	mcp_budget_count(out, &s->out_counted, &b->out);
	if (in && b->in > b->in_max)
		mcp_serving_finish(s, "the clients of this socket have begun too much");
	if (out && b->out > b->out_max)
		mcp_serving_finish(s, "the clients of this socket do not read");
	if (!in)
		loop_timer_cancel(&s->half);
	else if (!s->half.due)
		loop_timer_set(s->loop, &s->half, b->line_ms, on_half, s);
}

void mcp_serving_share(struct mcp_serving *s, struct mcp_budget *budget)
{
	s->budget = budget;
}

static void on_grace(void *ctx);

static void end_of_input(struct mcp_serving *s)
{
	s->eof = true;
	s->moved = false;
	loop_timer_set(s->loop, &s->grace, MCP_EOF_GRACE_MS, on_grace, s);
}

/* A client that is still reading a long answer may do so. */
static void on_grace(void *ctx)
{
	struct mcp_serving *s = ctx;

	if (s->moved && buf_len(&s->waiting))
		end_of_input(s);
	else
		mcp_serving_finish(s, NULL);
}

static void mcp_serving_on_readable(void *ctx, uint32_t events _unused_)
{
	struct mcp_serving *s = ctx;
	char *space = lines_space(&s->lines, CHILD_READ_BYTES);
	ssize_t n;

	if (!space) {
		mcp_serving_finish(s, "out of memory");
		return;
	}
	n = read(s->in.fd, space, CHILD_READ_BYTES);
	if (n > 0)
		lines_filled(&s->lines, (size_t)n);
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		end_of_input(s);
	turn_soon(s);
}

static void mcp_serving_on_writable(void *ctx, uint32_t events _unused_)
{
	turn_soon(ctx);
}

static void mcp_serving_on_again(void *ctx)
{
	mcp_serving_on_readable(ctx, EPOLLIN);
}

static void mcp_serving_flush(struct mcp_serving *s)
{
	while (buf_len(&s->waiting)) {
		struct slice rest = buf_slice(&s->waiting);
		ssize_t n = RETRY(write(s->out.fd, rest.p, rest.n));

		/* A client that has closed its end has left in order, which is not an error. */
		if (n < 0 && errno != EAGAIN)
			mcp_serving_finish(
				s, errno == EPIPE || errno == ECONNRESET ? NULL : "cannot write");
		if (n < 0)
			return;
		s->moved = true;
		buf_consume(&s->waiting, (size_t)n);
	}
	buf_trim(&s->waiting, IO_KEEP_BYTES);
}

/* Reads while the client reads, writes while there is something. */
static void mcp_serving_watch(struct mcp_serving *s)
{
	bool take = !s->is_over && !s->eof && !is_full(s);
	bool give = !s->is_over && buf_len(&s->waiting);

	if (!s->file_in && loop_io_set(s->loop, &s->in, take ? EPOLLIN : 0) == -EPERM)
		s->file_in = true;
	if (s->file_in && take && !s->again.due)
		loop_timer_set(s->loop, &s->again, 0, mcp_serving_on_again, s);
	if (!s->file_out && loop_io_set(s->loop, &s->out, give ? EPOLLOUT : 0) == -EPERM)
		s->file_out = true; /* it accepts everything: there was no EAGAIN */
}

/* Reads and writes: the only place, once at the end of each turn of the loop with an event for it. */
static void mcp_serving_turn(void *ctx)
{
	struct mcp_serving *s = ctx;

	if (!s->is_over)
		mcp_serving_flush(s);
	if (!s->is_over)
		mcp_serving_take_lines(s);
	if (s->eof && !mcp_front_waiting(s->front) && !buf_len(&s->waiting) &&
	    !lines_rest(&s->lines).n)
		mcp_serving_finish(s, NULL);
	account(s, lines_rest(&s->lines).n, buf_len(&s->waiting));
	mcp_serving_watch(s);
	if (!s->is_over)
		return;
	loop_task_cancel(&s->task);
	loop_timer_cancel(&s->half);
	loop_timer_cancel(&s->grace);
	loop_timer_cancel(&s->again);
	/* Last, because the receiver may free s. */
	s->ops->done(s->ctx, s->fault);
}

/* Returns the flags from before: a descriptor may be shared with other programs, which get it
 * back as it was. */
static int make_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	fcntl(fd, F_SETFL, flags | O_NONBLOCK);
	return flags;
}

struct mcp_serving *mcp_serve(struct loop *loop, struct mcp_backend *backend, int in, int out,
			      struct slice early, const struct mcp_serve_ops *ops, void *ctx)
{
	struct mcp_serving *s = new0(struct mcp_serving);
	char *space;

	s->loop = loop;
	s->ops = ops;
	s->ctx = ctx;
	s->flags_in = make_nonblocking(in);
	/* One descriptor is asked once: a second time its flags already have O_NONBLOCK. */
	s->flags_out = in == out ? s->flags_in : make_nonblocking(out);
	s->own = in == out ? fcntl(out, F_DUPFD_CLOEXEC, 3) : -1;
	s->in = (struct loop_io){ .fd = in, .fn = mcp_serving_on_readable, .ctx = s };
	s->out = (struct loop_io){ .fd = s->own >= 0 ? s->own : out,
				   .fn = mcp_serving_on_writable,
				   .ctx = s };
	s->waiting.max = MCP_OUT_MAX;
	lines_init(&s->lines, MCP_LINE_MAX);
	space = early.n ? lines_space(&s->lines, early.n) : NULL;
	if (space) {
		memcpy(space, early.p, early.n);
		lines_filled(&s->lines, early.n);
	}
	s->front = mcp_front_new(loop, backend, &front_ops, s);
	turn_soon(s);
	return s;
}

struct mcp_serving *mcp_serving_free(struct mcp_serving *s)
{
	if (!s)
		return NULL;
	mcp_front_free(s->front);
	account(s, 0, 0);
	loop_task_cancel(&s->task);
	loop_timer_cancel(&s->half);
	loop_timer_cancel(&s->grace);
	loop_timer_cancel(&s->again);
	loop_io_set(s->loop, &s->in, 0);
	loop_io_set(s->loop, &s->out, 0);
	fcntl(s->in.fd, F_SETFL, s->flags_in);
	fcntl(s->out.fd, F_SETFL, s->flags_out);
	closep(&s->own);
	lines_done(&s->lines);
	buf_done(&s->waiting);
	free(s);
	return NULL;
}
