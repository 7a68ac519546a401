/*
 * cmd_acp.c - `acpd acp`: lines of standard input become messages to the daemon, and its messages become lines of
 * standard output, unchanged.
 *
 * Both directions are parsed only to count open requests. When the client closes our input, open requests get
 * EOF_GRACE_MS for their answers. A daemon that is not claimed answers UNCLAIMED and closes: that is an exit code
 * of its own.
 */
#include "cli/cmd.h"
#include "cli/control/reach_daemon.h"

#include "base/os/file.h"
#include "base/limits.h"
#include "proc/output/lines.h"
#include "json/jstr.h"
#include "rpc/rpc.h"

#include <sys/epoll.h>

#define EOF_GRACE_MS 2000

struct bridge {
	struct loop *loop;
	struct daemon_link *link;
	struct loop_io in;
	struct lines lines;
	struct loop_timer grace;
	int64_t open; /* requests of the client without an answer */
	bool eof, unclaimed;
	int code;
};

static void bridge_finish(struct bridge *b, int code)
{
	b->code = code;
	loop_quit(b->loop);
}

static void on_bridge_grace_over(void *ctx)
{
	struct bridge *b = ctx;

	daemon_link_close(b->link);
}

static void maybe_close(struct bridge *b)
{
	if (b->eof && b->open <= 0)
		daemon_link_close(b->link);
}

static void bridge_take_line(struct bridge *b, struct slice line)
{
	struct rpc_msg m;
	struct err e;

	if (!line.n)
		return;
	switch (rpc_parse(line, &m, &e)) {
	case RPC_PARSED:
		b->open += m.kind == RPC_REQUEST;
		break;
	case RPC_E_ANSWER: /* no request, but the daemon will say so */
		b->open++;
		break;
	default:
		break;
	}
	daemon_link_send(b->link, line);
}

static void on_bridge_stdin(void *ctx, uint32_t events _unused_)
{
	struct bridge *b = ctx;
	char *space = lines_space(&b->lines, CHILD_READ_BYTES);
	struct slice line;
	ssize_t n = space ? read(b->in.fd, space, CHILD_READ_BYTES) : 0;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0) {
		lines_filled(&b->lines, (size_t)n);
		while (lines_next(&b->lines, &line) > 0)
			bridge_take_line(b, line);
		return;
	}
	bridge_take_line(b, lines_rest(&b->lines));
	/* Else the end of the input would be reported again and again. */
	loop_io_set(b->loop, &b->in, 0);
	b->eof = true;
	loop_timer_set(b->loop, &b->grace, EOF_GRACE_MS, on_bridge_grace_over, b);
	maybe_close(b);
}

static void on_bridge_open(void *ctx)
{
	struct bridge *b = ctx;

	if (loop_io_set(b->loop, &b->in, EPOLLIN) <
	    0) { /* a regular file cannot be polled: read it at once */
		while (!b->eof)
			on_bridge_stdin(b, EPOLLIN);
	}
}

static void on_bridge_message(void *ctx, struct slice text)
{
	struct bridge *b = ctx;
	struct rpc_msg m;
	struct err e;

	/* Blocks while the client does not read, and so holds the daemon back. */
	if (file_write_all(STDOUT_FILENO, text.p, text.n) < 0 ||
	    file_write_all(STDOUT_FILENO, "\n", 1) < 0) {
		bridge_finish(b, EXIT_FAILED); /* our client is gone */
		return;
	}
	if (rpc_parse(text, &m, &e) == RPC_PARSED && m.kind == RPC_RESPONSE) {
		b->open--;
		b->unclaimed |=
			jstr_is(jobj_get(jobj_get(m.error, "data").raw, "reason"), "UNCLAIMED");
	}
	maybe_close(b);
}

static void on_bridge_closed(void *ctx, bool opened, const char *why)
{
	struct bridge *b = ctx;

	if (!opened || b->unclaimed)
		bridge_finish(b, fail(EXIT_UNREACHABLE, "%s",
				      b->unclaimed ? "the daemon is not claimed" : why));
	else if (b->eof)
		bridge_finish(b, EXIT_DONE);
	else
		bridge_finish(b, fail(EXIT_FAILED, "%s", why));
}

static const struct daemon_link_events events = { on_bridge_open, on_bridge_message,
						  on_bridge_closed };

int cmd_acp(const struct config *c)
{
	struct bridge b = { .loop = loop_new() };
	struct err e;

	if (!b.loop)
		return fail(EXIT_FAILED, "cannot make the event loop");
	b.in = (struct loop_io){ .fd = STDIN_FILENO, .fn = on_bridge_stdin, .ctx = &b };
	lines_init(&b.lines, LINE_MAX_BYTES);
	b.link = reach_daemon(b.loop, c, &events, &b, &e);
	if (b.link)
		daemon_link_run(b.link);
	else
		b.code = fail_option(&e, EXIT_UNREACHABLE);
	daemon_link_free(b.link);
	lines_done(&b.lines);
	loop_free(b.loop);
	return b.code;
}
