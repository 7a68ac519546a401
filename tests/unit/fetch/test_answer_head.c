/* Heads of answers as libcurl hands them over. */
#include "unit.h"

#include "base/limits.h"
#include "fetch/fetch.h"
#include "fetcher/wire/fetch_frame.h"

static int feed(struct answer_head *h, const char *text, bool interim)
{
	struct slice copy = exact_copy(slice_of(text));
	int r = answer_head_line(h, copy, interim);

	slice_freep(&copy);
	return r;
}

/* What is put is what the other side takes. */
static void expect(struct answer_head *h, const char *want)
{
	_cleanup_(buf_done) struct buf json = { 0 }, b = { 0 };
	struct slice headers;
	int status;

	answer_head_put(h, &json);
	if (want)
		assert_buf(&json, want);
	fetch_answer_put(&b, 200, buf_slice(&json));
	assert_true(buf_len(&b) <= FRAME_PAYLOAD_MAX);
	assert_int_equal(fetch_answer_parse(buf_slice(&b), &status, &headers), 0);
	answer_head_done(h);
}

static void test_head(void **state _unused_)
{
	struct answer_head h = { 0 };

	assert_int_equal(feed(&h, "HTTP/1.1 103 Early Hints\r\n", true), 0);
	assert_int_equal(feed(&h, "Link: </a>\r\n", true), 0);
	assert_int_equal(feed(&h, "\r\n", true), 0);
	assert_int_equal(feed(&h, "HTTP/1.1 200 OK\r\n", false), 0);
	assert_int_equal(feed(&h, "X-A:  1 \t\r\n", false), 0);
	assert_int_equal(feed(&h, "x-b: \r\n", false), 0);
	assert_int_equal(feed(&h, "x-A: 2\n", false), 0);
	assert_int_equal(feed(&h, "no field\r\n", false), 0);
	assert_int_equal(feed(&h, "a b: 1\r\n", false), 0);
	assert_int_equal(feed(&h, ": 1\r\n", false), 0);
	assert_int_equal(feed(&h, "\r\n", false), 1);
	assert_int_equal(feed(&h, "trailer: 1\r\n", false), 0);
	assert_int_equal(feed(&h, "\r\n", false), 0);
	expect(&h, "{\"x-a\":\"1, 2\",\"x-b\":\"\"}");
}

static void test_odd_bytes(void **state _unused_)
{
	struct answer_head h = { 0 };
	struct slice nul = { "n: a\0b\r\n", 8 };

	feed(&h, "t: a\tb\x7f\x01\r\n", false);
	feed(&h, "u: \xc3\xa4 \xff\xc3\r\n", false);
	answer_head_line(&h, nul, false);
	expect(&h, "{\"t\":\"a b  \",\"u\":\"\xc3\xa4 ??\",\"n\":\"a b\"}");
}

/* The largest heads still fit into a frame; the next byte or name is too much. */
static void test_large(void **state _unused_)
{
	static char line[FETCH_HEAD_MAX + 2];
	struct answer_head h = { 0 };
	int r = 0, n = 0;

	memset(line, '"', sizeof(line) - 1);
	line[0] = 'a';
	line[1] = ':';
	line[FETCH_HEAD_MAX - 1] = '\0';
	assert_int_equal(feed(&h, line, false), 0);
	expect(&h, NULL);
	line[FETCH_HEAD_MAX - 1] = line[FETCH_HEAD_MAX] = '"';
	assert_int_equal(feed(&h, line, false), -EMSGSIZE);
	answer_head_done(&h);
	for (; r == 0; n++) {
		snprintf(line, sizeof(line), "n%d: \x01\xff\r\n", n);
		r = feed(&h, line, false);
	}
	assert_int_equal(r, -EMSGSIZE);
	assert_int_equal(n, ANSWER_NAMES_MAX + 1);
	expect(&h, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_head),
					    cmocka_unit_test(test_odd_bytes),
					    cmocka_unit_test(test_large) };

	return RUN(tests, NULL, NULL);
}
