/* The places that resemble a text that is not in a file: which are reported, and in which order. */
#include "unit.h"

#include "json/jenc.h"
#include "tools/builtin/files/file_describe.h"

/* The lines of the places, as text, best first. */
static void places(const char *text, const char *wanted, struct buf *ret)
{
	_cleanup_(buf_done) struct buf out = { 0 };
	struct jw w = JW(&out);
	struct jiter it;
	struct jval v;

	jw_obj(&w, NULL);
	nearest_text_put(&w, slice_of(text), slice_of(wanted));
	jw_end_obj(&w);
	if (!jiter_init(&it, jobj_get(buf_slice(&out), "nearest")))
		return;
	while (jiter_next(&it, NULL, &v)) {
		struct slice line = jobj_get(v.raw, "line").raw;
		struct slice alike = jobj_get(v.raw, "alike").raw;

		buf_printf(ret, "%.*s:%.*s ", (int)line.n, line.p, (int)alike.n, alike.p);
	}
}

static void test_order(void **state _unused_)
{
	static const struct {
		const char *text, *wanted, *want;
	} rows[] = {
		{ "a\nb\nx\ny\n", "a\nb\nc\nd\n", "1:2 " },
		/* The first of equals. */
		{ "a\nb\n-\n-\na\nb\n-\n-\n", "a\nb\nc\nd\n", "1:2 5:2 " },
		/* The better of two places that overlap moves before the places that are worse. */
		{ "p\np\np\n-\n-\np\np\np\np\nq\n", "p\np\np\nq\n", "7:4 1:3 " },
		/* ... and stays when others follow. */
		{ "p\np\n-\n-\np\np\n-\n-\n-\np\np\np\np\nq\n-\n-\np\np\np\n-\n", "p\np\np\nq\n",
		  "11:4 17:3 1:2 " },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(buf_done) struct buf got = { 0 };

		places(rows[i].text, rows[i].wanted, &got);
		if (!slice_is(buf_slice(&got), rows[i].want))
			fail_msg("row %zu: %.*s", i, (int)got.len, got.data);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
	};

	return RUN(tests, NULL, NULL);
}
