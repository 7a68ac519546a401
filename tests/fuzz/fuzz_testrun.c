/*
 * What a test runner printed, and a JUnit report. Whatever they are, the results are JSON, and each test that is listed was counted.
 * First byte: the format, and whether the text is a report.
 */
#include "fuzz.h"

#include "tools/builtin/testrun/testrun_parse.h"

static const char *const formats[] = { "tap",	"go",	"cargo", "pytest",
				       "marks", "auto", "junit", "exit" };

static void feed(struct test_report *r, struct slice text)
{
	while (text.n) {
		const char *end = memchr(text.p, '\n', text.n);
		size_t n = end ? (size_t)(end - text.p) : text.n;
		struct slice line = exact(text.p, n);

		test_report_line(r, line);
		exact_free(&line);
		n += end != NULL;
		text = slice_after(text, n);
	}
	test_report_end(r);
}

static void check(const struct test_report *r)
{
	_cleanup_(buf_done) struct buf all = { 0 };
	unsigned listed = 0, counted = 0;
	struct jiter it;
	struct jval v;

	buf_putc(&all, '[');
	buf_add_slice(&all, buf_slice(&r->items));
	buf_putc(&all, ']');
	FUZZ_CHECK(jscan_value(buf_slice(&all), &v) == JSCAN_OK);
	for (jiter_init(&it, v); jiter_next(&it, NULL, &v);) {
		FUZZ_CHECK(jobj_get(v.raw, "name").type == J_STRING);
		listed++;
	}
	for (int i = 0; i < TEST_STATUSES; i++)
		counted += r->count[i];
	FUZZ_CHECK(listed + r->unlisted == counted);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct test_report r;
	struct slice text;

	if (size == 0)
		return 0;
	text = exact(data + 1, size - 1);
	test_report_init(&r, test_format_find(formats[data[0] % ARRAY_SIZE(formats)]));
	feed(&r, text);
	check(&r);
	test_report_done(&r);
	test_report_init(&r, test_format_find("junit"));
	test_junit_read(text, &r);
	check(&r);
	test_report_done(&r);
	exact_free(&text);
	return 0;
}
