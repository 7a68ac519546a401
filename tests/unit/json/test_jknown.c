/* Scans of a text whose long values are known return what scans without this knowledge return. */
#include "unit.h"

#include "base/limits.h"
#include "harnesses/harness.h"
#include "json/jknown.h"
#include "json/jscan.h"

#define LONG (3 * JKNOWN_MIN)

static void put_string(struct buf *b, const char *part)
{
	size_t from = b->len;

	buf_putc(b, '"');
	while (b->len - from < LONG)
		buf_puts(b, part);
	buf_putc(b, '"');
}

/* An update with long strings, one of them in a list, and a long list of short values. */
static void put_line(struct buf *b, const char *part)
{
	size_t from;

	buf_puts(b, "{\"jsonrpc\":\"2.0\", \"params\" : {\"sessionId\":\"s\",\"update\":");
	buf_puts(b, "{\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"t\",\"title\":");
	put_string(b, part);
	buf_puts(b, ",\"content\":[{\"type\":\"content\",\"content\":{\"type\":\"text\",\"text\":");
	put_string(b, part);
	buf_puts(b, "}}],\"rawOutput\":[0");
	for (from = b->len; b->len - from < LONG;)
		buf_puts(b, ",{\"a\":[1,\"b\"]}");
	buf_puts(b, "]}},\"last\":true}");
}

struct found {
	enum jscan_error e;
	bool repair;
	struct jval sub[3], last, title, update;
	enum harness_update kind;
	size_t members;
};

static struct found look(struct slice line)
{
	struct harness_event ev = { 0 };
	struct jslot params[] = { { JSLOT("sessionId") },
				  { JSLOT("update"), .take = harness_update_take, .ctx = &ev },
				  { JSLOT("absent") } };
	struct jslot top[] = { { JSLOT("params"), .sub = params, .nsub = 3 }, { JSLOT("last") } };
	struct found f = { .e = jscan_message(line, top, 2, &f.repair), .last = top[1].v };
	struct jiter it;
	struct jval v;

	for (size_t i = 0; i < 3; i++)
		f.sub[i] = params[i].v;
	f.update = params[1].v;
	f.title = jobj_get(f.update.raw, "title");
	f.kind = ev.kind;
	if (f.e == JSCAN_OK && jiter_init(&it, f.update))
		while (jiter_next(&it, NULL, &v))
			f.members++;
	return f;
}

static void check_same(struct jval a, struct jval b)
{
	assert_int_equal(a.type, b.type);
	assert_ptr_equal(a.raw.p, b.raw.p);
	assert_int_equal(a.raw.n, b.raw.n);
}

static void check_line(struct slice text, bool known)
{
	_cleanup_(slice_freep) struct slice line = exact_copy(text);
	struct found without = look(line), with;
	struct jknown k;
	bool repair;

	assert_int_equal(jknown_scan(&k, line, &repair), without.e);
	assert_int_equal(repair, without.repair);
	assert_int_equal(k.n > 0, known);
	jknown_use(&k);
	with = look(line);
	jknown_use(NULL);
	assert_int_equal(with.e, without.e);
	assert_int_equal(with.repair, without.repair);
	assert_int_equal(with.kind, without.kind);
	assert_int_equal(with.members, without.members);
	for (size_t i = 0; i < 3; i++)
		check_same(with.sub[i], without.sub[i]);
	check_same(with.last, without.last);
	check_same(with.title, without.title);
	jknown_done(&k);
}

static void test_same_as_without(void **state _unused_)
{
	static const char *const parts[] = { "plain text ", "\\n\\t", "\xc3\xa4", "a\\ud83d",
					     "\\ud83d\\ude00" };

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		_cleanup_(buf_done) struct buf b = { 0 };

		put_line(&b, parts[i]);
		check_line(buf_slice(&b), true);
		/* cut off within a long value and behind all of them */
		check_line((struct slice){ b.data, b.len / 2 }, false);
		check_line((struct slice){ b.data, b.len - 1 }, false);
	}
}

static void test_text_that_is_not_json(void **state _unused_)
{
	static const char *const parts[] = { "\xff", "\\x", "\n" };

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		_cleanup_(buf_done) struct buf b = { 0 };

		put_line(&b, parts[i]);
		check_line(buf_slice(&b), false);
	}
}

/* A value is skipped where it is known, and scanned where the same text stands elsewhere or ends earlier. */
static void test_only_in_its_text(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	_cleanup_(slice_freep) struct slice line, other;
	struct jknown k;
	struct jval v;
	bool repair;

	buf_puts(&b, "{\"a\":");
	put_string(&b, "\\n");
	buf_putc(&b, '}');
	line = exact_copy(buf_slice(&b));
	other = exact_copy(buf_slice(&b));
	assert_int_equal(jknown_scan(&k, line, &repair), JSCAN_OK);
	assert_int_equal(k.n, 1);
	((char *)line.p)[LONG / 2] = '\x01'; /* nobody looks at it any more */
	((char *)other.p)[LONG / 2] = '\x01';
	jknown_use(&k);
	v = jobj_get(line, "a");
	assert_int_equal(v.type, J_STRING);
	assert_int_equal(v.raw.n, line.n - 6);
	assert_int_equal(jobj_get(other, "a").type, J_NONE);
	assert_int_equal(jscan_value((struct slice){ line.p, line.n - 2 }, NULL), JSCAN_E_SYNTAX);
	jknown_use(NULL);
	assert_int_equal(jobj_get(line, "a").type, J_NONE);
	jknown_done(&k);
}

static void test_nesting(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	size_t opened = 0;

	while (++opened < JSON_DEPTH_MAX)
		buf_puts(&b, "{\"a\":");
	put_string(&b, "x");
	while (--opened)
		buf_putc(&b, '}');
	check_line(buf_slice(&b), true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_as_without),
		cmocka_unit_test(test_text_that_is_not_json),
		cmocka_unit_test(test_only_in_its_text),
		cmocka_unit_test(test_nesting),
	};

	return RUN(tests, NULL, NULL);
}
