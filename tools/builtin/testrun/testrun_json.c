/* testrun_json.c - the JSON report that jest writes, and vitest after it: files, and in each its tests. */
#include "tools/builtin/testrun/testrun_parse.h"

#include "base/limits.h"
#include "base/util.h"
#include "json/jstr.h"

static void test_json_put(struct buf *b, struct jval v)
{
	if (v.type == J_STRING)
		jstr_decode_bytes(v, b);
}

/* The path of a file, as people write it: below dir. */
static void test_json_put_file(struct buf *b, struct jval name, const char *dir)
{
	_cleanup_(buf_done) struct buf path = { 0 };
	struct slice s;

	test_json_put(&path, name);
	s = buf_slice(&path);
	/* dir may also be the beginning of another name, as /a is of /ab. */
	if (s.n && slice_skip(&s, dir) && !slice_skip(&s, "/"))
		s = buf_slice(&path);
	buf_add_slice(b, s);
}

/* Joins the strings of an array. */
static void test_json_put_all(struct buf *b, struct jval list, const char *between, size_t max)
{
	jarr_each(v, list) {
		if (buf_len(b) >= max)
			break;
		if (buf_len(b))
			buf_puts(b, between);
		test_json_put(b, v);
	}
}

static double milliseconds(struct jval v)
{
	char text[32] = "", *end;
	double ms;

	if (v.type != J_NUMBER || v.raw.n >= sizeof(text))
		return -1;
	memcpy(text, v.raw.p, v.raw.n);
	ms = strtod(text, &end);
	return *end ? -1 : ms;
}

static void add_test(struct test_report *r, struct slice file, struct slice test)
{
	_cleanup_(buf_done) struct buf suite = { 0 }, name = { 0 }, message = { 0 }, clean = { 0 };
	struct jval status = jobj_get(test, "status");
	struct test_case c = { .ms = milliseconds(jobj_get(test, "duration")) };

	buf_add_slice(&suite, file);
	test_json_put_all(&suite, jobj_get(test, "ancestorTitles"), " > ", TEST_NAME_MAX);
	test_json_put(&name, jobj_get(test, "title"));
	/* Other states, such as pending, todo and skipped, mean that the test was not run. */
	c.status = jstr_is(status, "passed") ? TEST_PASSED :
		   jstr_is(status, "failed") ? TEST_FAILED :
					       TEST_SKIPPED;
	if (c.status == TEST_FAILED)
		test_json_put_all(&message, jobj_get(test, "failureMessages"), "\n",
				  TEST_MESSAGE_MAX);
	c.suite = buf_slice(&suite);
	c.name = buf_slice(&name);
	c.message = test_plain(buf_slice(&message), &clean);
	test_report_add(r, &c);
}

/* A file that could not be run has no tests: it counts as one failed test. */
static void add_file(struct test_report *r, struct slice of, const char *dir)
{
	_cleanup_(buf_done) struct buf file = { 0 }, message = { 0 }, clean = { 0 };
	struct jval tests = jobj_get(of, "assertionResults");
	bool any = false;

	test_json_put_file(&file, jobj_get(of, "name"), dir);
	jarr_each(v, tests) {
		if (v.type == J_OBJECT)
			add_test(r, buf_slice(&file), v.raw);
		any = true;
	}
	if (any || !jstr_is(jobj_get(of, "status"), "failed"))
		return;
	test_json_put(&message, jobj_get(of, "message"));
	test_report_add(r, &(struct test_case){
				   .name = buf_slice(&file),
				   .message = test_plain(buf_slice(&message), &clean),
				   .status = TEST_FAILED,
				   .ms = -1,
			   });
}

bool test_json_read(struct slice json, const char *dir, struct test_report *r)
{
	struct jval whole, files;

	if (jscan_value(json, &whole) != JSCAN_OK || whole.type != J_OBJECT)
		return false;
	files = jobj_get(whole.raw, "testResults");
	if (files.type != J_ARRAY)
		return false;
	jarr_each(v, files)
		if (v.type == J_OBJECT)
			add_file(r, v.raw, dir);
	return true;
}
