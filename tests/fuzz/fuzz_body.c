/* What tells where an upload's body lies: first line Content-Range, second line Range, then chunked coding. Bytes come out inside what went
 * in, cutting the input elsewhere changes nothing, and a range lies inside its total. */
#include "fuzz.h"

#include "base/http/chunked.h"
#include "http/request_parts.h"

#include <errno.h>

static void check_ranges(struct slice content, struct slice range)
{
	struct content_range c;
	uint64_t first, count;

	if (content_range_parse(content, &c) == 0)
		FUZZ_CHECK(c.first <= c.total && c.count <= c.total - c.first &&
			   (c.count || c.first == c.total));
	for (uint64_t size = 0; size < 3000; size = size * 3 + 1) {
		int r = range_parse(range, size, &first, &count);

		if (r == 0)
			FUZZ_CHECK(first == 0 && count == size);
		if (r > 0)
			FUZZ_CHECK(count > 0 && first < size && count <= size - first);
	}
}

/* All that comes out, the input being cut as seed says. -EINVAL as it is; else how much was used. */
static long decode(struct slice in, uint32_t seed, struct buf *out, struct chunked *c)
{
	size_t used = 0;
	int r;

	*c = (struct chunked){ 0 };
	while (in.n && c->state != CHUNKED_END) {
		_cleanup_(exact_free) struct slice copy = fuzz_cut(&seed, &in);
		struct slice piece = copy, data;

		while ((r = chunked_next(c, &piece, &data)) > 0) {
			FUZZ_CHECK(data.n && slice_inside(data, copy));
			FUZZ_CHECK(buf_add_slice(out, data) == 0);
		}
		used += copy.n - piece.n;
		if (r < 0)
			return -EINVAL;
		FUZZ_CHECK(!piece.n || c->state == CHUNKED_END);
	}
	return (long)used;
}

static void check_chunks(struct slice in)
{
	_cleanup_(buf_done) struct buf whole = { 0 };
	struct chunked c;
	long used = decode(in, 0, &whole, &c);

	for (uint32_t i = 1; i <= FUZZ_CUTS; i++) {
		_cleanup_(buf_done) struct buf cut = { 0 };
		struct chunked d;

		FUZZ_CHECK(decode(in, FUZZ_SEED(i, in), &cut, &d) == used && d.state == c.state);
		FUZZ_CHECK(slice_eq(buf_slice(&whole), buf_slice(&cut)));
	}
	FUZZ_CHECK((used < 0) == (c.state == CHUNKED_BAD));
	FUZZ_CHECK(buf_len(&whole) <= in.n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(exact_free) struct slice all = exact(data, size);
	_cleanup_(buf_done) struct buf blown = { 0 };
	struct slice rest = all, content, range;

	if (!next_piece(&rest, '\n', &content) || !next_piece(&rest, '\n', &range))
		return 0;
	check_ranges(content, range);
	if (!rest.p)
		return 0;
	check_chunks(rest);
	fuzz_blow_up(rest, &blown);
	check_chunks(buf_slice(&blown));
	return 0;
}
