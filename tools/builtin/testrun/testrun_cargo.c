/* testrun_cargo.c - why tests of cargo failed: it prints the reasons after all results, under a heading for each. */
#include "tools/builtin/testrun/testrun_parse.h"

#include "base/limits.h"
#include "base/util.h"

#define WAITING_MAX (16 * KIB) /* names; each heading is looked for among them */
#define HEAD "---- "
#define TAIL " stdout ----"

void test_report_said(struct test_report *r, struct slice line)
{
	if (buf_len(&r->said) + line.n >= TEST_MESSAGE_MAX)
		return;
	if (buf_len(&r->said))
		buf_putc(&r->said, '\n');
	buf_add_slice(&r->said, line);
}

void test_cargo_failed(struct test_report *r, struct slice name)
{
	/* No space to wait for its reason: it is reported without one. */
	if (buf_len(&r->failed) + name.n >= WAITING_MAX) {
		test_report_add(
			r, &(struct test_case){ .name = name, .status = TEST_FAILED, .ms = -1 });
		return;
	}
	buf_add_slice(&r->failed, name);
	buf_putc(&r->failed, '\n');
}

/* The first of those that have failed and were not reported yet is taken out. False: there is none, or none of that
 * name. */
static bool cargo_take(struct test_report *r, struct slice name, struct slice *ret)
{
	struct slice rest = buf_slice(&r->failed);

	while (slice_cut(&rest, '\n', ret))
		if (!name.p || slice_eq(*ret, name))
			return true;
	return false;
}

static void cargo_give(struct test_report *r, struct slice name, struct slice message)
{
	struct test_case c = { .name = name, .message = message, .status = TEST_FAILED, .ms = -1 };
	size_t n = name.n + 1, at = (size_t)(name.p - r->failed.data);

	/* First, because the name lies in the list from which it is removed below. */
	test_report_add(r, &c);
	memmove(r->failed.data + at, r->failed.data + at + n, buf_len(&r->failed) - at - n);
	r->failed.len -= n;
}

static void section_end(struct test_report *r)
{
	struct slice name;

	if (buf_len(&r->current) && cargo_take(r, buf_slice(&r->current), &name))
		cargo_give(r, name, buf_slice(&r->said));
	buf_reset(&r->current);
	buf_reset(&r->said);
}

void test_cargo_end(struct test_report *r)
{
	struct slice name;

	section_end(r);
	while (buf_len(&r->failed) && cargo_take(r, SLICE_NONE, &name))
		cargo_give(r, name, SLICE_NONE);
}

void test_cargo_line(struct test_report *r, struct slice line)
{
	size_t around = strlen(HEAD) + strlen(TAIL);

	if (line.n > around && slice_starts(line, HEAD) &&
	    memcmp(line.p + line.n - strlen(TAIL), TAIL, strlen(TAIL)) == 0) {
		section_end(r);
		buf_add(&r->current, line.p + strlen(HEAD), line.n - around);
	} else if (slice_is(line, "failures:")) {
		section_end(r);
	} else if (slice_starts(line, "test result: ")) {
		test_cargo_end(r);
	} else if (buf_len(&r->current)) {
		test_report_said(r, line);
	}
}
