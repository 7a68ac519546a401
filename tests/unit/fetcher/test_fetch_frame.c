/* The frames between daemon and acpd-fetch, and the channel that carries them. */
#include "unit.h"

#include "fetcher/wire/fetch_frame.h"
#include "loop/frame_channel.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>

static void test_order(void **state _unused_)
{
	char method[] = "POST", url[] = "https://a.example/b?c=\"d\"";
	const struct fetch_order o = { .method = method,
				       .url = url,
				       .headers = SLICE("{\"a\":\"b\"}"),
				       .key = 7,
				       .body = 12,
				       .idle_ms = 60000,
				       .named = true };
	_cleanup_(buf_done) struct buf b = { 0 };
	struct fetch_order got;

	fetch_order_put(&b, &o);
	assert_int_equal(fetch_order_parse(buf_slice(&b), &got), 0);
	assert_string_equal(got.method, method);
	assert_string_equal(got.url, url);
	assert_text(got.headers, "{\"a\":\"b\"}");
	assert_true(got.key == 7 && got.body == 12 && got.idle_ms == 60000 && got.named);
	fetch_order_done(&got);
}

static void test_bad_payloads(void **state _unused_)
{
	static const char *const orders[] = {
		"",
		"[]",
		"{}",
		"{\"method\":\"GET\",\"url\":\"u\"}",
		"{\"method\":\"\",\"url\":\"u\",\"idleMs\":1}",
		"{\"method\":\"G T\",\"url\":\"u\",\"idleMs\":1}",
		"{\"method\":\"GET\",\"url\":\"u\",\"idleMs\":0}",
		"{\"method\":\"GET\",\"url\":\"u\",\"idleMs\":1,\"body\":-1}",
		"{\"method\":\"GET\",\"url\":\"u\",\"idleMs\":1,\"more\":1}",
		"{\"method\":\"GET\",\"url\":\"u\",\"idleMs\":1,\"headers\":[]}",
	};
	static const struct slice answers[] = {
		SLICE(""),
		SLICE("\310"),
		SLICE("\310\0"),
		SLICE("\310\0[]"),
		SLICE("\310\0{"),
		SLICE("\001\0{}"),
		SLICE("\310\0{\"A\":\"b\"}"),
		SLICE("\310\0{\"a\":1}"),
		SLICE("\310\0{\"a\":\"\\n\"}"),
		SLICE("\310\0{\"a b\":\"\"}"),
	};
	static const struct slice keys[] = { SLICE(""),		SLICE("a"),
					     SLICE("a\0"),	SLICE("a\0b\0"),
					     SLICE("a b\0\0c"), SLICE("a\0b\0c\0d"),
					     SLICE("\0\0c") };
	static const struct slice verdicts[] = { SLICE(""), SLICE("\377x"), SLICE("\001a\0b") };
	struct slice name, prefix, value;
	struct fetch_verdict v;
	struct fetch_order o;
	uint32_t n;
	int status;

	for (size_t i = 0; i < ARRAY_SIZE(orders); i++)
		if (fetch_order_parse(slice_of(orders[i]), &o) == 0)
			fail_row(i, orders[i]);
	for (size_t i = 0; i < ARRAY_SIZE(answers); i++)
		if (fetch_answer_parse(answers[i], &status, &value) == 0)
			fail_row(i, "answer");
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (fetch_key_parse(keys[i], &name, &prefix, &value) == 0)
			fail_row(i, "key");
	for (size_t i = 0; i < ARRAY_SIZE(verdicts); i++)
		if (fetch_verdict_parse(verdicts[i], &v) == 0)
			fail_row(i, "verdict");
	assert_int_equal(fetch_taken_parse(SLICE("abc"), &n), -EPROTO);
}

/* --- the channel ---------------------------------------------------------------------------------------------- */

static struct loop *loop;
static struct frame_channel near, far;
static unsigned frames, fds, closed;
static size_t bytes;
static int answer;

static int on_frame(void *ctx _unused_, const struct frame *f, int *fd)
{
	char c = 0;

	assert_int_equal(f->number, frames);
	frames++;
	bytes += f->payload.n;
	if (f->type == FRAME_OPEN) {
		assert_true(*fd >= 0);
		assert_int_equal(pread(*fd, &c, 1, 0), 1);
		assert_int_equal(c, 'a' + (int)f->number % 26);
		closep(fd);
		fds++;
	}
	return answer;
}

static void on_closed(void *ctx _unused_, const char *why _unused_)
{
	closed++;
}

static const struct frame_channel_ops ops = { FRAME_MAX, on_frame, on_closed };

static int setup(void **state _unused_)
{
	int ends[2];

	loop = loop_new();
	frames = fds = closed = 0;
	bytes = 0;
	answer = 0;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
		return -1;
	frame_channel_open(&near, loop, ends[0], false, &ops, NULL);
	frame_channel_open(&far, loop, ends[1], true, &ops, NULL);
	return 0;
}

static int teardown(void **state _unused_)
{
	frame_channel_close(&near);
	frame_channel_close(&far);
	loop = loop_free(loop);
	return 0;
}

static void run_while_moving(void)
{
	struct pollfd p = { .fd = loop_fd(loop), .events = POLLIN };

	while (poll(&p, 1, 0) > 0)
		loop_dispatch(loop);
}

static int file_with(char c)
{
	int fd = memfd_create("body", MFD_CLOEXEC);

	assert_int_equal(write(fd, &c, 1), 1);
	return fd;
}

/* More than the socket takes waits, and each descriptor comes with its frame. */
static void test_channel(void **state _unused_)
{
	static char large[FRAME_PAYLOAD_MAX];
	size_t sent = 0;

	for (uint32_t i = 0; i < 200; i++) {
		size_t n = i % 7 == 0 ? sizeof(large) : i;
		bool open = i % 3 == 0;

		frame_channel_send(&near, open ? FRAME_OPEN : FRAME_DATA, i,
				   (struct slice){ large, n },
				   open ? file_with((char)('a' + i % 26)) : -1);
		sent += n;
	}
	assert_true(frame_channel_waiting(&near) > 1 * MIB);
	run_while_moving();
	assert_int_equal(frames, 200);
	assert_int_equal(fds, 67);
	assert_int_equal(bytes, sent);
	assert_int_equal(frame_channel_waiting(&near), 0);
}

static void test_secret_leaves_nothing(void **state _unused_)
{
	frame_channel_send(&near, FRAME_KEY, 0, SLICE("a\0b\0canary-0123456789"), -1);
	frame_channel_send(&near, FRAME_TAKEN, 1, SLICE("abcd"), -1);
	run_while_moving();
	assert_int_equal(frames, 2);
	assert_null(memmem(far.in, 2 * FRAME_HEAD_SIZE + 20 + 4, "canary", 6));
}

static void test_breach(void **state _unused_)
{
	answer = -EPROTO;
	frame_channel_send(&near, FRAME_DATA, 0, SLICE("x"), -1);
	run_while_moving();
	assert_true(frames == 1 && closed == 2); /* both ends see it */
	frame_channel_send(&near, FRAME_DATA, 1, SLICE("x"), file_with('a'));
	frame_channel_send(&far, FRAME_DATA, 1, SLICE("x"), -1);
	run_while_moving();
	assert_true(frames == 1 && closed == 2);
}

static void test_no_frame(void **state _unused_)
{
	static const char wrong[2 * FRAME_HEAD_SIZE] = { 0 };

	assert_int_equal(write(near.io.fd, wrong, sizeof(wrong)), sizeof(wrong));
	run_while_moving();
	assert_true(frames == 0 && closed == 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_bad_payloads),
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(test_channel),
		TEST(test_secret_leaves_nothing),
		TEST(test_breach),
		TEST(test_no_frame),
	};

	return RUN(tests, NULL, NULL);
}
