/* Heads of HTTP requests: what is one, what it says of itself and of its body. */
#include "base/buf.h"
#include "base/http/http_message.h"
#include "base/util.h"
#include "unit.h"

#include <errno.h>

#define LINE "POST /a?b HTTP/1.1\r\n"

/* Each ends with its head, but those that are not whole (result 0). */
static const struct {
	const char *head;
	int result;  /* 1: a head; 0: more has to come; -1: refused */
	long length; /* -1: none; -2: chunked */
	bool stays;
} heads[] = {
	{ LINE "\r\n", 1, -1, true },
	{ LINE "Content-Length: 5\r\n\r\n", 1, 5, true },
	{ LINE "transfer-encoding: CHUNKED\r\n\r\n", 1, -2, true },
	{ LINE "Connection: close\r\n\r\n", 1, -1, false },
	{ LINE "Connection: TE, Close\r\n\r\n", 1, -1, false },
	{ LINE "Connection: keep-alive\r\n\r\n", 1, -1, true },
	{ "GET http://x/y HTTP/1.1\r\n\r\n", 1, -1, true },
	{ "", 0, 0, false },
	{ LINE, 0, 0, false },
	{ "POST /a HTTP/1.1\n\n", 0, 0, false },
	{ "\r\n\r\n", -1, 0, false },
	{ "POST /a HTTP/1.0\r\n\r\n", -1, 0, false },
	{ "POST /a HTTP/1.1 \r\n\r\n", -1, 0, false },
	{ "POST /a HTTP/2\r\n\r\n", -1, 0, false },
	{ "POST /a\r\n\r\n", -1, 0, false },
	{ "POST  /a HTTP/1.1\r\n\r\n", -1, 0, false },
	{ "POST /a b HTTP/1.1\r\n\r\n", -1, 0, false },
	{ "POST /a\t HTTP/1.1\r\n\r\n", -1, 0, false },
	{ "POST /\xc3\xa9 HTTP/1.1\r\n\r\n", -1, 0, false },
	{ "P(ST /a HTTP/1.1\r\n\r\n", -1, 0, false },
	{ " POST /a HTTP/1.1\r\n\r\n", -1, 0, false },
	{ LINE " folded: x\r\n\r\n", -1, 0, false },
	{ LINE "a : x\r\n\r\n", -1, 0, false },
	{ LINE "Content-Length: 5\r\nContent-Length: 5\r\n\r\n", -1, 0, false },
	{ LINE "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", -1, 0, false },
	{ LINE "Transfer-Encoding: gzip\r\n\r\n", -1, 0, false },
	{ LINE "Content-Length: +5\r\n\r\n", -1, 0, false },
};

static long length_of(const struct http_request_head *r)
{
	return r->body.chunked ? -2 : r->body.has_length ? (long)r->body.length : -1;
}

static void a_request_is_one_or_it_is_not(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		struct slice in = slice_of(heads[i].head);
		struct http_request_head r;
		ssize_t n = http_request_parse(in, 4096, &r);
		ssize_t want = heads[i].result > 0 ? (ssize_t)in.n : heads[i].result ? -EPROTO : 0;

		if (n != want ||
		    (n > 0 && (length_of(&r) != heads[i].length || r.stays != heads[i].stays)))
			fail_row(i, heads[i].head);
	}
}

static void its_parts_are_found(void **state _unused_)
{
	struct http_request_head r;
	struct slice v;

	assert_true(http_request_parse(SLICE(LINE "X-Api-Key:  k \r\n\r\nrest"), 4096, &r) > 0);
	assert_true(slice_is(r.method, "POST") && slice_is(r.target, "/a?b"));
	assert_true(http_field_find(r.fields, "x-api-key", &v) && slice_is(v, "k"));
	assert_false(http_field_find(r.fields, "rest", &v));
}

static void a_head_is_bounded(void **state _unused_)
{
	struct http_request_head r;

	assert_int_equal(http_request_parse(SLICE(LINE "a: b\r\n\r\n"), 20, &r), -EMSGSIZE);
	assert_int_equal(http_request_parse(SLICE(LINE "a: b\r\n"), 64, &r), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_is_one_or_it_is_not),
		cmocka_unit_test(its_parts_are_found),
		cmocka_unit_test(a_head_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
