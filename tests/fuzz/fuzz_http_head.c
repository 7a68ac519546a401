/* An answer as a server may send it: its head and its body. What comes out lies inside what went in, more bytes behind
 * a head change nothing in it, and cutting the body elsewhere does not either. */
#include "fuzz.h"

#include "base/http/http_message.h"
#include "base/limits.h"

/* All of the body that comes out; -1: it is broken. */
static int decode(struct message_body b, struct slice in, uint32_t seed, struct buf *out)
{
	while (in.n && !http_body_has_ended(&b)) {
		_cleanup_(exact_free) struct slice copy = fuzz_cut(&seed, &in);
		struct slice piece = copy, data;
		int r;

		while ((r = http_body_next(&b, &piece, &data)) > 0) {
			FUZZ_CHECK(data.n && slice_inside(data, copy));
			FUZZ_CHECK(buf_add_slice(out, data) == 0);
		}
		if (r < 0)
			return -1;
		FUZZ_CHECK(!piece.n || http_body_has_ended(&b));
	}
	return http_body_has_ended(&b);
}

static void check_body(const struct http_head *h, struct slice in)
{
	_cleanup_(buf_done) struct buf whole = { 0 };
	struct message_body b;
	int r;

	http_body_begin(&b, h, false);
	r = decode(b, in, 0, &whole);
	for (uint32_t i = 1; i <= FUZZ_CUTS; i++) {
		_cleanup_(buf_done) struct buf cut = { 0 };

		FUZZ_CHECK(decode(b, in, FUZZ_SEED(i, in), &cut) == r);
		FUZZ_CHECK(slice_eq(buf_slice(&whole), buf_slice(&cut)));
	}
}

static void check_head(const struct http_head *h, struct slice text)
{
	struct slice v;

	FUZZ_CHECK(h->status >= 100 && h->status < 1000 && slice_inside(h->fields, text));
	FUZZ_CHECK(h->body.length <= INT64_MAX && (h->body.has_length || !h->body.length));
	FUZZ_CHECK(http_field_find(h->fields, "content-length", &v) == h->body.has_length);
	FUZZ_CHECK(http_field_find(h->fields, "transfer-encoding", &v) == h->body.chunked);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(exact_free) struct slice all = exact(data, size);
	struct http_head h, alone;
	ssize_t n = http_head_parse(all, &h);

	if (n <= 0)
		return 0;
	FUZZ_CHECK((size_t)n <= all.n && n <= HTTP_HEADERS_MAX);
	check_head(&h, (struct slice){ all.p, (size_t)n });
	FUZZ_CHECK(http_head_parse((struct slice){ all.p, (size_t)n }, &alone) == n);
	FUZZ_CHECK(http_head_parse((struct slice){ all.p, (size_t)n - 1 }, &alone) == 0);
	check_body(&h, slice_after(all, (size_t)n));
	return 0;
}
