/* Heads and bodies of HTTP answers: what is one, and where it ends, however it is cut. */
#include "base/buf.h"
#include "base/http/http_message.h"
#include "base/limits.h"
#include "base/util.h"
#include "unit.h"

#include <errno.h>

#define OK "HTTP/1.1 200 OK\r\n"

/* --- heads ------------------------------------------------------------------------------------------------ */

/* Each ends with its head, but those that are not whole (n 0). */
static const struct {
	const char *head;
	int status;  /* 0: more has to come; -1: refused */
	long length; /* -1: none; -2: chunked */
} heads[] = {
	{ OK "\r\n", 200, -1 },
	{ "HTTP/1.0 404\r\n\r\n", 404, -1 },
	{ "HTTP/1.1 503 \r\n\r\n", 503, -1 },
	{ "HTTP/1.1 100 Continue\r\n\r\n", 100, -1 },
	{ OK "Content-Length: 0\r\n\r\n", 200, 0 },
	{ OK "A: b\r\ncontent-LENGTH:\t 17 \r\nX:\r\n\r\n", 200, 17 },
	{ OK "Transfer-Encoding: Chunked\r\n\r\n", 200, -2 },
	{ OK "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n", 200, -2 },
	{ OK "X: caf\xc3\xa9\r\n\r\n", 200, -1 },
	{ "", 0, 0 },
	{ "HTTP/1.1 200 OK", 0, 0 },
	{ OK "A: b\r\n", 0, 0 },
	{ OK "A: b\n\n", 0, 0 },
	{ "\r\n\r\n", -1, 0 },
	{ "SSH-2.0-x\r\n\r\n", -1, 0 },
	{ "HTTP/2 200\r\n\r\n", -1, 0 },
	{ "HTTP/1.x 200 OK\r\n\r\n", -1, 0 },
	{ "HTTP/1.1  200 OK\r\n\r\n", -1, 0 },
	{ "HTTP/1.1 20\r\n\r\n", -1, 0 },
	{ "HTTP/1.1 2000\r\n\r\n", -1, 0 },
	{ "HTTP/1.1 099 x\r\n\r\n", -1, 0 },
	{ "HTTP/1.1 200 a\nb\r\n\r\n", -1, 0 },
	{ OK " folded: x\r\n\r\n", -1, 0 },
	{ OK "A: b\r\n c\r\n\r\n", -1, 0 },
	{ OK "A : b\r\n\r\n", -1, 0 },
	{ OK "no colon\r\n\r\n", -1, 0 },
	{ OK ": b\r\n\r\n", -1, 0 },
	{ OK "A: b\rc\r\n\r\n", -1, 0 },
	{ OK "A: b\nContent-Length: 1\r\n\r\n", -1, 0 },
	{ OK "Content-Length: -1\r\n\r\n", -1, 0 },
	{ OK "Content-Length: 1, 1\r\n\r\n", -1, 0 },
	{ OK "Content-Length:\r\n\r\n", -1, 0 },
	{ OK "Content-Length: 9223372036854775808\r\n\r\n", -1, 0 },
	{ OK "Content-Length: 1\r\nContent-Length: 2\r\n\r\n", -1, 0 },
	{ OK "Content-Length: 1\r\ncontent-length: 1\r\n\r\n", -1, 0 },
	{ OK "Transfer-Encoding: gzip\r\n\r\n", -1, 0 },
	{ OK "Transfer-Encoding: gzip, chunked\r\n\r\n", -1, 0 },
	{ OK "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", -1, 0 },
};

static long length_of(const struct http_head *h)
{
	return h->body.chunked ? -2 : h->body.has_length ? (long)h->body.length : -1;
}

static void a_head_is_one_or_it_is_not(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		struct slice in = slice_of(heads[i].head);
		struct http_head h;
		ssize_t n = http_head_parse(in, &h);
		ssize_t want = heads[i].status > 0 ? (ssize_t)in.n : heads[i].status ? -EPROTO : 0;

		if (n != want ||
		    (n > 0 && (h.status != heads[i].status || length_of(&h) != heads[i].length)))
			fail_row(i, heads[i].head);
	}
}

static void a_head_is_bounded(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct http_head h;

	buf_puts(&b, OK "A: ");
	while (buf_len(&b) < HTTP_HEADERS_MAX - 4)
		buf_putc(&b, 'a');
	assert_int_equal(http_head_parse(buf_slice(&b), &h), 0);
	buf_puts(&b, "\r\n\r\nbody");
	assert_int_equal(http_head_parse(buf_slice(&b), &h), HTTP_HEADERS_MAX);
	b.len -= 8;
	buf_puts(&b, "a\r\n\r\n");
	assert_int_equal(http_head_parse(buf_slice(&b), &h), -EMSGSIZE);
}

static void fields_are_found_by_name(void **state _unused_)
{
	struct http_head h;
	struct slice v;

	assert_true(http_head_parse(SLICE(OK "Ab: 1 2 \r\nA:\r\na: late\r\n\r\nB: no\r\n"), &h) >
		    0);
	assert_true(http_field_find(h.fields, "ab", &v) && slice_is(v, "1 2"));
	assert_true(http_field_find(h.fields, "a", &v) && slice_is(v, ""));
	assert_false(http_field_find(h.fields, "b", &v));
	assert_false(http_field_find(h.fields, "", &v));
}

/* --- bodies ----------------------------------------------------------------------------------------------- */

static const struct {
	const char *head, *wire, *want;
	bool to_head, ends, whole;
} bodies[] = {
	{ OK "Content-Length: 3\r\n\r\n", "abcd", "abc", false, true, true },
	{ OK "Content-Length: 3\r\n\r\n", "ab", "ab", false, false, false },
	{ OK "Content-Length: 0\r\n\r\n", "x", "", false, true, true },
	{ OK "Content-Length: 3\r\n\r\n", "", "", true, true, true },
	{ OK "\r\n", "abc", "abc", false, false, true },
	{ OK "\r\n", "", "", true, true, true },
	{ OK "Transfer-Encoding: chunked\r\n\r\n", "2\r\nab\r\n1;x\r\nc\r\n0\r\n\r\nd", "abc",
	  false, true, true },
	{ OK "Transfer-Encoding: chunked\r\n\r\n", "2\r\nab\r\n", "ab", false, false, false },
	{ OK "Transfer-Encoding: chunked\r\n\r\n", "zz\r\n", NULL, false, false, false },
	{ "HTTP/1.1 204 No\r\n\r\n", "x", "", false, true, true },
	{ "HTTP/1.1 204 No\r\nTransfer-Encoding: chunked\r\n\r\n", "", "", false, true, true },
	{ "HTTP/1.1 304 No\r\nContent-Length: 9\r\n\r\n", "", "", false, true, true },
};

/* In pieces of step bytes. False: it is broken. */
static bool feed(struct message_body *b, struct slice wire, size_t step, struct buf *out)
{
	while (wire.n) {
		struct slice piece = { wire.p, MIN(step, wire.n) }, data;
		int r;

		wire = (struct slice){ wire.p + piece.n, wire.n - piece.n };
		while ((r = http_body_next(b, &piece, &data)) > 0)
			buf_add_slice(out, data);
		if (r < 0)
			return false;
		assert_true(!piece.n || http_body_has_ended(b));
	}
	return true;
}

static void check_body(size_t i, size_t step)
{
	_cleanup_(buf_done) struct buf out = { 0 };
	struct http_head h;
	struct message_body b;
	bool ok;

	assert_true(http_head_parse(slice_of(bodies[i].head), &h) > 0);
	http_body_begin(&b, &h, bodies[i].to_head);
	ok = feed(&b, slice_of(bodies[i].wire), step, &out);
	if (ok != (bodies[i].want != NULL) || http_body_has_ended(&b) != bodies[i].ends ||
	    http_body_is_whole(&b) != bodies[i].whole ||
	    (ok && !slice_is(buf_slice(&out), bodies[i].want)))
		fail_row(i, bodies[i].wire);
}

static void a_body_ends_where_its_head_says(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(bodies); i++)
		for (size_t step = 1; step < 40; step++)
			check_body(i, step);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_head_is_one_or_it_is_not),
		cmocka_unit_test(a_head_is_bounded),
		cmocka_unit_test(fields_are_found_by_name),
		cmocka_unit_test(a_body_ends_where_its_head_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
