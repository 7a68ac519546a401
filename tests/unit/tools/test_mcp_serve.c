/* A front on two descriptors: lines in, lines out, a client that does not read, and the end. */
#include "mcp_rig.h"

#include "base/limits.h"
#include "tools/mcp/mcp_serve.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>

#define RPC_ "{\"jsonrpc\":\"2.0\","
#define CALL(id) RPC_ "\"id\":" id ",\"method\":\"tools/list\",\"params\":{" MODERN_META "}}"
#define ASKED "> tools/list {" MODERN_META "}\n"
#define EMPTY(id) RPC_ "\"id\":" id ",\"result\":{}}\n"

struct served {
	struct mcp_rig *r;
	struct mcp_serving *s;
	int in, out; /* the client's ends */
	int theirs[2];
	int done; /* how often */
	char fault[64];
};

static void on_done(void *ctx, const char *fault)
{
	struct served *t = ctx;

	t->done++;
	snprintf(t->fault, sizeof(t->fault), "%s", fault ? fault : "");
	t->s = mcp_serving_free(t->s);
}

static const struct mcp_serve_ops ops = { .done = on_done };

static struct served served_new(void)
{
	struct served t = { .r = mcp_rig_new() };

	return t;
}

static void serve(struct served *t, int in, int out, const char *early)
{
	t->s = mcp_serve(t->r->loop, &t->r->backend, in, out, slice_of(early), &ops, t);
	t->theirs[0] = in;
	t->theirs[1] = out == in ? -1 : out;
}

static void serve_pipes(struct served *t, const char *early)
{
	int in[2], out[2];

	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	t->in = in[1];
	t->out = out[0];
	fcntl(t->out, F_SETFL, O_NONBLOCK);
	serve(t, in[0], out[1], early);
}

static void served_done(struct served *t)
{
	mcp_serving_free(t->s);
	closep(&t->in);
	closep(&t->out);
	closep(&t->theirs[0]);
	closep(&t->theirs[1]);
	mcp_rig_free(&t->r);
}

static void say(struct served *t, const char *text)
{
	assert_int_equal(write(t->in, text, strlen(text)), strlen(text));
	mcp_rig_run(t->r, 5);
}

static void heard(struct served *t, const char *want)
{
	char got[4096];
	ssize_t n;

	mcp_rig_run(t->r, 5);
	n = read(t->out, got, sizeof(got));
	assert_text(((struct slice){ got, n > 0 ? (size_t)n : 0 }), want);
}

static void test_lines(void **state _unused_)
{
	_cleanup_(served_done) struct served t = served_new();

	serve_pipes(&t, "\r\n" CALL("1") "\n{\"jso");
	say(&t, "nrpc\":\"2.0\",\"id\":2,");
	assert_log(t.r, ASKED);
	say(&t, "\"method\":\"tools/list\",\"params\":{" MODERN_META "}}\r\n\n" CALL("3") "\n{\n");
	assert_log(t.r, ASKED ASKED);
	mcp_rig_result(t.r, 2, "{}");
	mcp_rig_result(t.r, 0, "{}");
	heard(&t, RPC_
	      "\"id\":null,\"error\":{\"code\":-32700,\"message\":\"Parse error\",\"data\":{\"reason\":"
	      "\"PARSE_ERROR\"}}}\n" EMPTY("3") EMPTY("1"));
	assert_int_equal(t.done, 0);
}

static void test_socket(void **state _unused_)
{
	_cleanup_(served_done) struct served t = served_new();
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	t.in = pair[0];
	t.out = fcntl(pair[0], F_DUPFD_CLOEXEC, 3);
	serve(&t, pair[1], pair[1], "");
	say(&t, CALL("1") "\n");
	mcp_rig_result(t.r, 0, "{}");
	heard(&t, EMPTY("1"));
	shutdown(t.in, SHUT_WR);
	mcp_rig_run(t.r, 20);
	assert_int_equal(t.done, 1);
	assert_string_equal(t.fault, "");
}

/* Files need no epoll; a script may be fed so, its last line without an end. */
static void test_files(void **state _unused_)
{
	_cleanup_(served_done) struct served t = served_new();
	char got[200];
	ssize_t n;
	int in, out;

	scratch_write("in", CALL("1") "\n" CALL("2"), strlen(CALL("1") "\n" CALL("2")));
	in = open(scratch_path("in"), O_RDONLY | O_CLOEXEC);
	out = open(scratch_path("out"), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(in >= 0 && out >= 0);
	t.in = t.out = -1;
	serve(&t, in, out, "");
	mcp_rig_run(t.r, 50);
	assert_log(t.r, ASKED ASKED);
	assert_int_equal(t.done, 0); /* they are still to be answered */
	mcp_rig_result(t.r, 0, "{}");
	mcp_rig_result(t.r, 1, "{}");
	mcp_rig_run(t.r, 20);
	assert_int_equal(t.done, 1);
	n = pread(out, got, sizeof(got), 0);
	assert_text(((struct slice){ got, (size_t)n }), EMPTY("1") EMPTY("2"));
}

/* What is not answered soon after the end is cancelled; a subscription is not waited for. */
static void test_end(void **state _unused_)
{
	_cleanup_(served_done) struct served t = served_new();

	serve_pipes(&t, CALL("1") "\n");
	mcp_rig_run(t.r, 5);
	buf_reset(&t.r->log);
	close(TAKE_FD(t.in));
	mcp_rig_run(t.r, MCP_EOF_GRACE_MS / 2);
	assert_int_equal(t.done, 0);
	mcp_rig_run(t.r, MCP_EOF_GRACE_MS);
	assert_int_equal(t.done, 1);
	assert_log(t.r, "x tools/list\n");
}

static void test_end_with_subscription(void **state _unused_)
{
	_cleanup_(served_done) struct served t = served_new();

	serve_pipes(&t, RPC_ "\"id\":1,\"method\":\"subscriptions/listen\",\"params\":{" MODERN_META
			     "}}\n");
	mcp_rig_run(t.r, 5);
	close(TAKE_FD(t.in));
	mcp_rig_run(t.r, 20);
	assert_int_equal(t.done, 1);
}

static void test_client_gone(void **state _unused_)
{
	_cleanup_(served_done) struct served t = served_new();

	serve_pipes(&t, CALL("1") "\n");
	mcp_rig_run(t.r, 5);
	close(TAKE_FD(t.out));
	mcp_rig_result(t.r, 0, "{}");
	mcp_rig_run(t.r, 20);
	assert_int_equal(t.done, 1);
	assert_string_equal(t.fault, "");
}

static char *big_result(void)
{
	char *big = xalloc(2 * MIB + 1);

	memset(big, 'x', 2 * MIB);
	memcpy(big, "{\"a\":\"", 6);
	memcpy(big + 2 * MIB - 2, "\"}", 2);
	return big;
}

/* Above the soft limit nothing is taken in until the client has read; then everything comes, in order. */
static void test_slow_reader(void **state _unused_)
{
	_cleanup_(served_done) struct served t = served_new();
	_cleanup_(buf_done) struct buf got = { 0 };
	_cleanup_(freep) char *big = big_result();
	size_t want = strlen(big) + strlen(EMPTY("1")) - 2;

	serve_pipes(&t, CALL("1") "\n");
	mcp_rig_run(t.r, 5);
	mcp_rig_result(t.r, 0, big);
	say(&t, CALL("2") "\n");
	assert_log(t.r, ASKED); /* the second is not taken */
	while (buf_len(&got) < want) {
		char piece[65536];
		ssize_t n = read(t.out, piece, sizeof(piece));

		if (n > 0)
			buf_add(&got, piece, (size_t)n);
		mcp_rig_run(t.r, 1);
	}
	assert_int_equal(buf_len(&got), want);
	mcp_rig_run(t.r, 20);
	assert_log(t.r, ASKED);
	mcp_rig_result(t.r, 1, "{}");
	heard(&t, EMPTY("2"));
}

/* The end of the input does not cut off a long answer that is being read, however slowly. */
static void test_slow_reader_at_the_end(void **state _unused_)
{
	_cleanup_(served_done) struct served t = served_new();
	_cleanup_(freep) char *big = big_result();
	static char piece[65536];
	size_t got = 0;
	ssize_t n;

	serve_pipes(&t, CALL("1") "\n");
	mcp_rig_run(t.r, 5);
	close(TAKE_FD(t.in));
	mcp_rig_run(t.r, 5);
	mcp_rig_result(t.r, 0, big);
	while (!t.done) {
		n = read(t.out, piece, sizeof(piece));
		got += n > 0 ? (size_t)n : 0;
		mcp_rig_run(t.r, 2 * MCP_EOF_GRACE_MS / 32);
	}
	while ((n = read(t.out, piece, sizeof(piece))) > 0)
		got += (size_t)n;
	assert_int_equal(got, strlen(big) + strlen(EMPTY("1")) - 2);
	assert_int_equal(t.done, 1);
}

/* Not even what has been read already is taken, and no more is read. */
static void test_no_reader(void **state _unused_)
{
	_cleanup_(served_done) struct served t = served_new();
	_cleanup_(buf_done) struct buf early = { 0 };
	static const char ping[] = RPC_ "\"id\":1,\"method\":\"ping\"}\n";
	static char piece[4096];
	size_t taken = 0;
	ssize_t n;

	while (buf_len(&early) < 2 * MIB)
		buf_puts(&early, ping);
	buf_puts(&early, CALL("2") "\n");
	buf_putc(&early, '\0');
	serve_pipes(&t, early.data);
	fcntl(t.in, F_SETFL, O_NONBLOCK);
	memset(piece, '\n', sizeof(piece));
	for (int i = 0; i < 20; i++) {
		mcp_rig_run(t.r, 2);
		while ((n = write(t.in, piece, sizeof(piece))) > 0)
			taken += (size_t)n;
	}
	assert_log(t.r, "");
	assert_true(taken < 512 * KIB); /* the pipe, and one read */
	assert_int_equal(t.done, 0);
}

static void test_line_too_long(void **state _unused_)
{
	_cleanup_(served_done) struct served t = served_new();
	static char piece[MIB];

	serve_pipes(&t, "");
	fcntl(t.in, F_SETFL, O_NONBLOCK);
	memset(piece, ' ', sizeof(piece));
	for (uint64_t sent = 0; !t.done && sent < MCP_LINE_MAX + 4 * MIB;) {
		ssize_t n = write(t.in, piece, sizeof(piece));

		sent += n > 0 ? (uint64_t)n : 0;
		loop_dispatch(t.r->loop);
	}
	assert_int_equal(t.done, 1);
	assert_string_equal(t.fault, "a message is too long");
}

/* The descriptors are as they were. */
static void test_flags(void **state _unused_)
{
	_cleanup_(served_done) struct served t = served_new();

	serve_pipes(&t, "");
	assert_true(fcntl(t.theirs[0], F_GETFL) & O_NONBLOCK);
	t.s = mcp_serving_free(t.s);
	assert_false(fcntl(t.theirs[0], F_GETFL) & O_NONBLOCK);
	assert_false(fcntl(t.theirs[1], F_GETFL) & O_NONBLOCK);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_socket),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_end),
		cmocka_unit_test(test_end_with_subscription),
		cmocka_unit_test(test_client_gone),
		cmocka_unit_test(test_slow_reader),
		cmocka_unit_test(test_slow_reader_at_the_end),
		cmocka_unit_test(test_no_reader),
		cmocka_unit_test(test_line_too_long),
		cmocka_unit_test(test_flags),
	};

	signal(SIGPIPE, SIG_IGN);
	return RUN(tests, scratch_setup, scratch_done);
}
