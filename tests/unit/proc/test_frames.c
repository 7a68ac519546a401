/* Messages in lines that hold other bytes, and how much of such output a child may write. */
#include "unit.h"

#include "base/buf.h"
#include "base/limits.h"
#include "proc/output/frames.h"
#include "proc/output/noise.h"

#define M(id) "{\"jsonrpc\":\"2.0\",\"id\":" #id ",\"result\":{}}"

static struct buf taken;
static int answer;

static int take(void *ctx _unused_, struct slice frame)
{
	buf_putc(&taken, '[');
	buf_add_slice(&taken, frame);
	buf_putc(&taken, ']');
	return answer;
}

static enum frames_result find(struct slice line)
{
	buf_reset(&taken);
	return frames_take(line, take, NULL);
}

static int teardown(void **state _unused_)
{
	buf_done(&taken);
	answer = 0;
	return 0;
}

#define ROW(line, messages)                                                                        \
	{                                                                                          \
		SLICE(line), SLICE(messages)                                                       \
	}

static void test_found(void **state _unused_)
{
	static const struct {
		struct slice line, messages;
	} rows[] = {
		ROW("\x1b[0m" M(1), "[" M(1) "]"),
		ROW("\x1b[1;32m \x1b[0m" M(1), "[" M(1) "]"),
		ROW("\x1b]0;title\x07" M(1), "[" M(1) "]"),
		ROW("\x1b]8;;http://x\x1b\\" M(1), "[" M(1) "]"),
		ROW("\x1bPq\x1b\\" M(1), "[" M(1) "]"),
		ROW("\x1b]no end" M(1), "[" M(1) "]"),
		ROW("\x1b(B\x1b=\x1b>" M(1), "[" M(1) "]"),
		ROW("\x1b[" M(1), "[" M(1) "]"),
		ROW("\x1b" M(1), "[" M(1) "]"),
		ROW("\xef\xbb\xbf" M(1), "[" M(1) "]"),
		ROW("\0\0" M(1), "[" M(1) "]"),
		ROW("10%\r100%\r" M(1), "[" M(1) "]"),
		ROW("sent: \r" M(1), "[" M(1) "]"),
		ROW("Loading" M(1), "[" M(1) "]"),
		ROW("Loading... " M(1), "[" M(1) "]"),
		ROW("42% " M(1), "[" M(1) "]"),
		ROW("\xff" M(1), "[" M(1) "]"),
		ROW(M(1) "npm notice", "[" M(1) "]"),
		ROW(M(1) " \x1b[0m", "[" M(1) "]"),
		ROW(M(1) M(2), "[" M(1) "][" M(2) "]"),
		ROW(M(1) " " M(2), "[" M(1) "][" M(2) "]"),
		ROW("{\"level\":1}" M(1), "[" M(1) "]"),
		ROW("\x1b[0m{ \"type\":\"x\"}", "[{ \"type\":\"x\"}]"),
		ROW("{\"method\":\"a\xe9"
		    "b\xff\"}",
		    "[{\"method\":\"a\xef\xbf\xbd"
		    "b\xef\xbf\xbd\"}]"),
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (find(rows[i].line) != FRAMES_TAKEN ||
		    !slice_eq(buf_slice(&taken), rows[i].messages))
			fail_msg("row %zu: %.*s", i, (int)buf_len(&taken), taken.data);
	}
}

static void test_not_found(void **state _unused_)
{
	static const struct slice rows[] = {
		SLICE(""),
		SLICE("npm notice"),
		SLICE("{"),
		SLICE("}"),
		SLICE("{ port: 3000 }"),
		SLICE("{\"level\":30,\"msg\":\"x\"}"),
		SLICE("{\"level\":30"),
		SLICE("[1,2]"),
		SLICE("[{\"level\":1}]"),
		SLICE("sent: " M(1)),
		SLICE("<- " M(1)),
		SLICE("DEBUG " M(1)),
		SLICE("[acp] " M(1)),
		SLICE("frame=" M(1)),
		SLICE("\x1b[32mrecv\x1b[0m " M(1)),
		SLICE("{\"level\":20,\"sent\":" M(1) "}"),
		SLICE("x {\"jsonrpc\":\"2.0\",\"id\""),
		SLICE("\xff\xfe\x80"),
		SLICE("\x1b"),
		SLICE("\x1b["),
		SLICE("\x1b]"),
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (find(rows[i]) != FRAMES_NONE || buf_len(&taken))
			fail_msg("row %zu: %.*s", i, (int)rows[i].n, rows[i].p);
}

static void test_broken(void **state _unused_)
{
	static const struct slice rows[] = {
		SLICE("{\"jsonrpc\":\"2.0\",\"method\":\"x"),
		SLICE("{\"id\":1,\"result\":{"),
		SLICE("{\"type\":\"message_update\",oops}"),
		SLICE("\x1b[0m{\"method\":"),
		SLICE("x\r{\"method\":"),
		SLICE(M(1) "{\"jsonrpc\":"),
		SLICE("[{\"jsonrpc\":\"2.0\",\"method\":\"x\"}]"),
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (find(rows[i]) != FRAMES_BROKEN)
			fail_msg("row %zu: %.*s", i, (int)rows[i].n, rows[i].p);
}

/* The taker says that it is no message: broken if it claims to be one. */
static void test_no_message(void **state _unused_)
{
	answer = 1;
	assert_int_equal(find(SLICE("{\"id\":1,\"level\":\"info\"}")), FRAMES_NONE);
	assert_int_equal(find(SLICE("{\"id\":1,\"jsonrpc\":\"2.0\"}")), FRAMES_BROKEN);
	assert_int_equal(find(SLICE("Loading... {\"jsonrpc\":\"2.0\"}")), FRAMES_NONE);
}

static void test_no_more_wanted(void **state _unused_)
{
	answer = -1;
	assert_int_equal(find(SLICE(M(1) M(2))), FRAMES_TAKEN);
	assert_true(slice_is(buf_slice(&taken), "[" M(1) "]"));
}

/* A long line with many beginnings of messages takes as long as it is, and not as its square. */
static void test_long_line(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	for (int i = 0; i < 400000; i++)
		buf_puts(&b, "x{\"id\":[");
	assert_int_equal(find(buf_slice(&b)), FRAMES_NONE);
}

/* Beginnings of strings that a terminal takes: not one has an end. */
static void test_endless_escapes(void **state _unused_)
{
	static const char *const beginnings[] = { "\x1b]", "\x1bP", "\x1b^", "\x1b_", "\x1bX" };

	for (size_t k = 0; k < ARRAY_SIZE(beginnings); k++) {
		_cleanup_(buf_done) struct buf b = { 0 };

		for (int i = 0; i < 400000; i++)
			buf_puts(&b, beginnings[k]);
		assert_int_equal(find(buf_slice(&b)), FRAMES_NONE);
	}
}

/* --- how much --------------------------------------------------------------------------------------------- */

static void test_limit_of_a_minute(void **state _unused_)
{
	struct noise n = { 0 };

	for (int i = 0; i < NOISE_MINUTE_MAX; i++)
		assert_true(noise_skipped(&n, 1, 100000));
	assert_false(noise_skipped(&n, 1, 100000));
	assert_true(noise_skipped(&n, 1, 160000));
	assert_int_equal(n.lines.skipped, NOISE_MINUTE_MAX + 2);
}

static void test_limit_in_all(void **state _unused_)
{
	struct noise n = { 0 };
	uint64_t now = 100000, i = 0;

	while (noise_skipped(&n, 1, now += 60000) && ++i < 2 * NOISE_MAX)
		;
	assert_int_equal(i, NOISE_MAX);
}

static void test_long_lines_weigh_more(void **state _unused_)
{
	struct noise n = { 0 };

	assert_true(noise_skipped(&n, (NOISE_MINUTE_MAX - 1) * KIB, 100000));
	assert_false(noise_skipped(&n, 1, 100000));
}

static void test_first_bytes(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct noise_text t;

	noise_text_set(&t, SLICE("a\0b"));
	assert_string_equal(t.text, "a b");
	for (size_t i = 0; i < 2 * sizeof(t.text); i++)
		buf_putc(&b, 'x');
	noise_text_set(&t, buf_slice(&b));
	assert_int_equal(strlen(t.text), sizeof(t.text) - 1);
	noise_text_set(&t, SLICE_NONE);
	assert_string_equal(t.text, "");
}

static void test_room_in_the_log(void **state _unused_)
{
	struct noise n = { 0 };

	for (int i = 0; i < LOG_BURST; i++)
		assert_true(noise_shown(&n, 100000));
	assert_false(noise_shown(&n, 100000));
	assert_true(noise_shown(&n, 100000 + LOG_EACH_MS));
}

#define T(fn) cmocka_unit_test_teardown(fn, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_found),		 T(test_not_found),
		T(test_broken),		 T(test_no_message),
		T(test_no_more_wanted),	 T(test_long_line),
		T(test_endless_escapes), T(test_limit_of_a_minute),
		T(test_limit_in_all),	 T(test_long_lines_weigh_more),
		T(test_first_bytes),	 T(test_room_in_the_log),
	};

	return RUN(tests, NULL, NULL);
}
