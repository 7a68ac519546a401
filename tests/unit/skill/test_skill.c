/* A SKILL.md against the rules: every row of fixtures/skills/vectors.json, then what a vector cannot say. */
#include "unit.h"

#include "base/os/file.h"
#include "base/limits.h"
#include "json/jdec.h"
#include "json/jstr.h"
#include "skill/skill.h"

#define VECTORS "tests/fixtures/skills/vectors.json"

static struct skill_report report;

static int setup(void **state _unused_)
{
	skill_report_init(&report);
	return 0;
}

static int teardown(void **state _unused_)
{
	skill_report_done(&report);
	return 0;
}

static void check(struct slice file, const char *dir)
{
	_cleanup_(slice_freep) struct slice copy = exact_copy(file);

	skill_report_done(&report);
	skill_report_init(&report);
	skill_check_file(copy, dir, &report);
}

/* --- vectors ------------------------------------------------------------------------------------------- */

struct vector {
	char *name, *dir, *text, *base64;
	struct slice repeat, strict, warnings, fields;
	bool usable;
};

static const struct jfield vector_fields[] = {
	JF_STR(struct vector, name, "name", JF_REQUIRED, 200),
	JF_STR(struct vector, dir, "dir", JF_REQUIRED, 200),
	JF_STR(struct vector, text, "file", 0, 1 << 20),
	JF_STR(struct vector, base64, "base64", 0, 1 << 20),
	JF_OBJ(struct vector, repeat, "repeat", 0),
	JF_ARR(struct vector, strict, "strict", JF_REQUIRED),
	JF_ARR(struct vector, warnings, "warnings", 0),
	JF_OBJ(struct vector, fields, "fields", 0),
	JF_BOOL(struct vector, usable, "usable", JF_REQUIRED),
	JF_END,
};

static int base64_value(char c)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

static void put_base64(struct buf *b, const char *text)
{
	unsigned bits = 0, n = 0;

	for (; base64_value(*text) >= 0; text++) {
		bits = bits << 6 | (unsigned)base64_value(*text);
		n += 6;
		if (n >= 8) {
			n -= 8;
			buf_putc(b, (char)(bits >> n & 0xff));
		}
	}
	assert_true(!*text || *text == '=');
}

/* "file" with each key of "repeat" replaced by {"text", "times"}. */
static void put_file(struct buf *b, const struct vector *v)
{
	struct slice rest = slice_of(v->text), key;
	struct jiter it;
	struct jval r;

	if (v->base64) {
		put_base64(b, v->base64);
		return;
	}
	while (rest.n) {
		bool found = false;

		if (v->repeat.n)
			jiter_init(&it, (struct jval){ J_OBJECT, v->repeat });
		while (v->repeat.n && !found && jiter_next(&it, &key, &r)) {
			_cleanup_(freep) char *word = xstrndup(key.p, key.n), *text = NULL;
			int64_t times;

			found = slice_skip(&rest, word);
			if (!found)
				continue;
			assert_int_equal(jstr_decode(jobj_get(r.raw, "text"), 4096, &text), 0);
			assert_int_equal(jdec_int(jobj_get(r.raw, "times"), &times), 0);
			while (times--)
				buf_puts(b, text);
		}
		if (found)
			continue;
		buf_putc(b, *rest.p++);
		rest.n--;
	}
}

/* The codes of this kind, sorted as they were found, as a JSON array. */
static void put_codes(struct buf *b, bool warnings)
{
	struct jw w = JW(b);

	jw_arr(&w, NULL);
	for (size_t i = 0; i < report.n; i++)
		if ((report.findings[i].severity == SKILL_WARNING) == warnings)
			jw_str(&w, NULL, report.findings[i].code);
	jw_end_arr(&w);
}

/* White space between the codes does not count. */
static bool same_codes(struct slice want, bool warnings, const char *name)
{
	_cleanup_(buf_done) struct buf got = { 0 }, expected = { 0 };

	put_codes(&got, warnings);
	for (size_t i = 0; i < want.n; i++)
		if (!strchr(" \t\r\n", want.p[i]))
			buf_putc(&expected, want.p[i]);
	if (slice_eq(buf_slice(&got), buf_slice(&expected)))
		return true;
	print_error("%s: %s\n  want: %.*s\n  got:  %.*s\n", name, warnings ? "warnings" : "strict",
		    (int)expected.len, expected.data, (int)got.len, got.data);
	return false;
}

/* What the report says of the skill holds all members that the vector names. */
static bool same_fields(struct slice want, const char *name)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);
	struct slice key;
	struct jiter it;
	struct jval v;
	bool ok = true;

	jw_obj(&w, NULL);
	skill_report_put(&report, &w);
	jw_end_obj(&w);
	assert_int_equal(jscan_value(buf_slice(&b), NULL), JSCAN_OK);
	jiter_init(&it, (struct jval){ J_OBJECT, want });
	while (jiter_next(&it, &key, &v)) {
		_cleanup_(freep) char *member = xstrndup(key.p, key.n);
		_cleanup_(freep) char *a = NULL, *x = NULL;
		struct jval got = jobj_get(buf_slice(&b), member);

		if (v.type == J_STRING && jstr_decode(v, 1 << 20, &a) == 0 && jstr_is(got, a))
			continue;
		if (v.type == got.type && v.type != J_STRING && slice_eq(v.raw, got.raw))
			continue;
		print_error("%s: %s\n  want: %.*s\n  got:  %.*s\n", name, member, (int)v.raw.n,
			    v.raw.p, (int)got.raw.n, got.raw.p);
		ok = false;
	}
	return ok;
}

static bool run_vector(struct jval raw)
{
	_cleanup_(buf_done) struct buf file = { 0 };
	struct vector v = { 0 };
	struct err e = { 0 };
	bool ok;

	if (jdec_object(raw.raw, vector_fields, NULL, &v, &e) < 0)
		fail_msg("%s: %.*s", e.msg, (int)MIN(raw.raw.n, 200u), raw.raw.p);
	put_file(&file, &v);
	check(buf_slice(&file), v.dir);
	ok = same_codes(v.strict, false, v.name);
	ok &= same_codes(v.warnings.n ? v.warnings : SLICE("[]"), true, v.name);
	ok &= !v.fields.n || same_fields(v.fields, v.name);
	if (report.usable != v.usable || report.valid != (v.strict.n == 2)) {
		print_error("%s: usable %d, valid %d\n", v.name, report.usable, report.valid);
		ok = false;
	}
	jdec_free(vector_fields, &v);
	return ok;
}

static void test_vectors(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jiter it;
	struct jval all, v;
	size_t n = 0, bad = 0;

	assert_int_equal(file_read(VECTORS, 1 << 20, &b), 0);
	assert_int_equal(jscan_value(buf_slice(&b), &all), JSCAN_OK);
	assert_true(jiter_init(&it, all) && all.type == J_ARRAY);
	for (; jiter_next(&it, NULL, &v); n++)
		bad += !run_vector(v);
	assert_int_equal(bad, 0);
	assert_true(n >= 80);
}

/* --- limits -------------------------------------------------------------------------------------------- */

static const struct skill_finding *finding(const char *code)
{
	for (size_t i = 0; i < report.n; i++)
		if (strcmp(report.findings[i].code, code) == 0)
			return &report.findings[i];
	fail_msg("no finding %s", code);
	return NULL;
}

static void put_times(struct buf *b, const char *text, size_t times)
{
	while (times--)
		buf_puts(b, text);
}

static void test_limit_is_in_the_finding(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	const struct skill_finding *f;

	buf_puts(&b, "---\nname: a\ndescription: ");
	put_times(&b, "\xc3\xa9", SKILL_DESCRIPTION_MAX + 6);
	buf_puts(&b, "\n---\nbody\n");
	check(buf_slice(&b), "a");
	f = finding("DESCRIPTION_TOO_LONG");
	assert_string_equal(f->field, "description");
	assert_int_equal(f->line, 3);
	assert_true(f->has_limit && f->limit == 1024 && f->used == 1030);
	assert_true(report.usable && !report.valid);
}

static void test_frontmatter_and_file_are_bounded(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	buf_puts(&b, "---\nname: a\ndescription: b\nlicense: ");
	put_times(&b, "x", SKILL_FRONT_MAX);
	buf_puts(&b, "\n---\nbody\n");
	check(buf_slice(&b), "a");
	assert_int_equal(finding("FRONTMATTER_TOO_LARGE")->limit, SKILL_FRONT_MAX);
	put_times(&b, "x", SKILL_FILE_MAX);
	check(buf_slice(&b), "a");
	assert_int_equal(finding("FILE_TOO_LARGE")->used, b.len);
	assert_false(report.usable);
}

/* As many as fit are told, the rest is counted. */
static void test_findings_are_bounded(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 }, json = { 0 };
	struct jw w = JW(&json);

	buf_puts(&b, "---\nname: a\ndescription: b\n");
	for (int i = 0; i < SKILL_FINDINGS_MAX + 7; i++)
		buf_printf(&b, "key-%d: x\n", i);
	buf_puts(&b, "---\nbody\n");
	check(buf_slice(&b), "a");
	assert_int_equal(report.n, SKILL_FINDINGS_MAX);
	assert_int_equal(report.left_out, 7);
	assert_int_equal(report.skill.nunknown, SKILL_FINDINGS_MAX + 7);
	jw_obj(&w, NULL);
	skill_report_put(&report, &w);
	jw_end_obj(&w);
	assert_true(jobj_get(buf_slice(&json), "findingsLeftOut").type == J_NUMBER);
}

/* A file whose directory is not known yet is not wrong for that. */
static void test_unknown_directory(void **state _unused_)
{
	check(SLICE("---\nname: a\ndescription: b\n---\nbody\n"), NULL);
	assert_true(report.valid && report.usable);
	assert_int_equal(report.n, 0);
}

/* No end of a good file, wherever it is cut, is more than a finding. */
static void test_every_prefix(void **state _unused_)
{
	static const struct slice file = SLICE(
		"\xef\xbb\xbf---\r\nname: \"a\\u00e9\"\r\ndescription: >-\r\n  x: y\r\nmetadata: {a: [b, 'c']}\r\n---\r\n# B\r\n");

	for (size_t n = 0; n <= file.n; n++) {
		check((struct slice){ file.p, n }, "a");
		assert_true(report.n > 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_limit_is_in_the_finding),
		cmocka_unit_test(test_frontmatter_and_file_are_bounded),
		cmocka_unit_test(test_findings_are_bounded),
		cmocka_unit_test(test_unknown_directory),
		cmocka_unit_test(test_every_prefix),
	};

	return RUN(tests, setup, teardown);
}
