/* Looking members up: spans, escaped names, duplicates, and walking what was found. */
#include "unit.h"

#include "json/jscan.h"
#include "json/jstr.h"
#include "json/jwalk.h"

static struct jslot slots[4];

static enum jscan_error find(const char *text)
{
	static const char *const keys[] = { "id", "method", "params", "additionalDirectories" };

	for (size_t i = 0; i < ARRAY_SIZE(slots); i++)
		slots[i] = (struct jslot){ .key = keys[i], .v = { J_TRUE, SLICE("left over") } };
	return jscan_object(slice_of(text), slots, ARRAY_SIZE(slots));
}

static void test_found(void **state _unused_)
{
	assert_int_equal(
		find(" { \"x\":[1], \"id\" : 1e400 ,\"params\":{\"id\":2}, \"method\":\"m\\u0041\" } "),
		JSCAN_OK);
	assert_text(slots[0].v.raw, "1e400");
	assert_text(slots[1].v.raw, "\"m\\u0041\"");
	assert_text(slots[2].v.raw, "{\"id\":2}");
	assert_int_equal(slots[3].v.type, J_NONE);
	assert_int_equal(slots[3].v.raw.n, 0);
}

static void test_escaped_names(void **state _unused_)
{
	assert_int_equal(
		find("{\"\\u0069\\u0064\":1,\"\\u006Dethod\":2,\"\\u0070\\u0061ram\\u0073\":3}"),
		JSCAN_OK);
	assert_text(slots[0].v.raw, "1");
	assert_text(slots[1].v.raw, "2");
	assert_text(slots[2].v.raw, "3");
	/* as like as can be, but others */
	assert_int_equal(
		find("{\"\\u0069d\\u0000\":1,\"\\ud800id\":2,\"ID\":3,\"id \":4,\"i\":5,\"\":6}"),
		JSCAN_OK);
	assert_int_equal(slots[0].v.type, J_NONE);
}

static char *escape_all(const char *s)
{
	char *out = xalloc(6 * strlen(s) + 1), *p = out;

	for (; *s; s++)
		p += sprintf(p, "\\u%04x", (unsigned char)*s);
	return out;
}

/* A name must be recognized however it is written and however long: else two readers see two messages. */
static void test_escaped_names_of_any_length(void **state _unused_)
{
	char name[200] = "";

	for (size_t n = 1; n < sizeof(name); n++) {
		_cleanup_(freep) char *escaped = NULL;
		struct slice key;

		name[n - 1] = (char)('a' + n % 26);
		escaped = escape_all(name);
		key = slice_of(escaped);
		assert_true(jkey_is(key, name));
		key.n -= 6;
		assert_false(jkey_is(key, name));
		name[n - 1]++;
		assert_false(jkey_is(slice_of(escaped), name));
		name[n - 1]--;
	}
}

static void test_duplicates(void **state _unused_)
{
	assert_int_equal(find("{\"id\":1,\"id\":1}"), JSCAN_E_DUPLICATE);
	assert_int_equal(find("{\"id\":null,\"id\":1}"), JSCAN_E_DUPLICATE);
	assert_int_equal(find("{\"id\":1,\"x\":0,\"i\\u0064\":2}"), JSCAN_E_DUPLICATE);
	assert_int_equal(find("{\"x\":1,\"x\":2}"), JSCAN_OK);
	assert_int_equal(find("{\"id\":1,\"x\":{\"id\":2,\"id\":3}}"), JSCAN_OK);
	assert_text(slots[0].v.raw, "1");
}

/* Members of members, found in the same pass. */
static void test_sub_slots(void **state _unused_)
{
	struct jslot inner[] = { { .key = "a" }, { .key = "b" } };
	struct jslot outer[] = { { .key = "o", .sub = inner, .nsub = 2 }, { .key = "a" } };

	inner[0].v.type = J_TRUE; /* left over */
	assert_int_equal(jscan_object(SLICE("{\"a\":1,\"o\":{\"\\u0062\":[2],\"x\":{\"a\":3}}}"),
				      outer, 2),
			 JSCAN_OK);
	assert_text(outer[0].v.raw, "{\"\\u0062\":[2],\"x\":{\"a\":3}}");
	assert_text(outer[1].v.raw, "1");
	assert_int_equal(inner[0].v.type, J_NONE);
	assert_text(inner[1].v.raw, "[2]");
	assert_int_equal(jscan_object(SLICE("{\"o\":[{\"a\":1}]}"), outer, 2), JSCAN_OK);
	assert_int_equal(inner[0].v.type, J_NONE);
	assert_int_equal(jscan_object(SLICE("{\"o\":{\"a\":1,\"a\":2}}"), outer, 2),
			 JSCAN_E_DUPLICATE);
	assert_int_equal(jscan_object(SLICE("{\"o\":{\"a\":1},\"o\":{\"b\":2}}"), outer, 2),
			 JSCAN_E_DUPLICATE);
	assert_int_equal(jscan_object(SLICE("{\"o\":{\"a\":1}"), outer, 2), JSCAN_E_SYNTAX);
	assert_int_equal(jscan_object(SLICE("[]"), outer, 2), JSCAN_E_NOT_OBJECT);
	assert_int_equal(inner[0].v.type, J_NONE);
}

static void test_not_an_object(void **state _unused_)
{
	static const char *const values[] = { "[]", "[{\"id\":1}]", "1", "\"{}\"", "null", "true" };
	static const char *const broken[] = { "",	   "{",		  "[",
					      "{\"id\":1", "{\"id\":1}}", "{\"id\":1} x",
					      "{\"id\"}",  "nul" };

	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		assert_int_equal(find(values[i]), JSCAN_E_NOT_OBJECT);
		assert_int_equal(slots[0].v.type, J_NONE);
	}
	for (size_t i = 0; i < ARRAY_SIZE(broken); i++)
		assert_int_equal(find(broken[i]), JSCAN_E_SYNTAX);
	assert_int_equal(find("{\"id\":\"\xff\"}"), JSCAN_E_UTF8);
}

static void test_get(void **state _unused_)
{
	assert_text(jobj_get(SLICE("{\"a\":{\"b\":1}}"), "a").raw, "{\"b\":1}");
	assert_int_equal(jobj_get(SLICE("{\"a\":1}"), "b").type, J_NONE);
	assert_int_equal(jobj_get(SLICE("{\"a\":1,\"a\":2}"), "a").type, J_NONE);
	assert_int_equal(jobj_get(SLICE("[1]"), "a").type, J_NONE);
	assert_int_equal(jobj_get(SLICE("{"), "a").type, J_NONE);
	assert_int_equal(jobj_get(SLICE_NONE, "a").type, J_NONE);
}

static void walk(const char *text, struct buf *b)
{
	struct jiter it;
	struct slice key;
	struct jval v;

	assert_int_equal(jscan_value(slice_of(text), &v), JSCAN_OK);
	if (!jiter_init(&it, v)) {
		buf_puts(b, "none");
		return;
	}
	while (jiter_next(&it, &key, &v)) {
		if (it.object) {
			buf_add_slice(b, key);
			buf_putc(b, '=');
		}
		buf_add_slice(b, v.raw);
		buf_putc(b, '|');
	}
}

static void test_walk(void **state _unused_)
{
	static const struct {
		const char *text, *seen;
	} rows[] = {
		{ "[]", "" },
		{ " [ ] ", "" },
		{ "{}", "" },
		{ "[1]", "1|" },
		{ "[ 1 , \"a,]\" ,[2,3], {\"x\":[]} ,null ]", "1|\"a,]\"|[2,3]|{\"x\":[]}|null|" },
		{ "{\"a\":1}", "a=1|" },
		{ "{ \"a\\\"}\" : {\"b\":[1,2]} , \"\" : \"}\" , \"a\" : -0 }",
		  "a\\\"}={\"b\":[1,2]}|=\"}\"|a=-0|" },
		{ "[[[]],[]]", "[[]]|[]|" },
		{ "1", "none" },
		{ "\"[]\"", "none" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(buf_done) struct buf b = { 0 };

		walk(rows[i].text, &b);
		assert_buf(&b, rows[i].seen);
	}
}

/* All of it, by parts: what was read is what stands there. False: it is not valid. */
static bool put_parts(struct jwalk *w, struct buf *b)
{
	bool object = jwalk_type(w) == J_OBJECT, first = true;
	char close = object ? '}' : ']';
	enum jwalk_part part;
	struct slice key;
	struct jval v;

	if (!object && jwalk_type(w) != J_ARRAY) {
		if (!jwalk_value(w, &v))
			return false;
		buf_add_slice(b, v.raw);
		return true;
	}
	buf_putc(b, object ? '{' : '[');
	part = jwalk_enter(w, object ? '{' : '[', close);
	for (; part == JWALK_PART; part = jwalk_next(w, close), first = false) {
		buf_puts(b, first ? "" : ",");
		if (object) {
			if (!jwalk_key(w, &key))
				return false;
			buf_putc(b, '"');
			buf_add_slice(b, key);
			buf_puts(b, "\":");
		}
		if (!put_parts(w, b))
			return false;
	}
	buf_putc(b, close);
	return part == JWALK_END;
}

static void test_walk_by_parts(void **state _unused_)
{
	static const char *const rows[][2] = {
		{ "[]", "[]" },
		{ " { } ", "{}" },
		{ "[ [ ] , { } , [[]] ]", "[[],{},[[]]]" },
		{ "1e5", "1e5" },
		{ "[-0,true , false,null,\"]\"]", "[-0,true,false,null,\"]\"]" },
		{ "{ \"a\\\"}\" : {\"b\":[1,{\"c\":\"}\"}] } , \"\" : {} ,\"d\":[ ]}",
		  "{\"a\\\"}\":{\"b\":[1,{\"c\":\"}\"}]},\"\":{},\"d\":[]}" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(buf_done) struct buf b = { 0 };
		struct jwalk w = jwalk_of(slice_of(rows[i][0]));

		assert_true(put_parts(&w, &b));
		assert_buf(&b, rows[i][1]);
		assert_int_equal(jwalk_type(&w) == J_NONE || *w.p == ' ', true);
	}
}

/* What the scanner refuses is no value by parts either. */
static void test_walk_of_what_is_not_valid(void **state _unused_)
{
	static const char *const rows[] = { "[1 2]",	   "[1,]",	"[,1]",
					    "[1}",	   "{\"a\":1]", "{\"a\":1,}",
					    "{\"a\" 1}",   "{a:1}",	"{\"a\":1 \"b\":2}",
					    "[\"\x01\"]",  "[01]",	"[tru]",
					    "{\"a\"}",	   "[\"\\x\"]", "[\"\xff\"]",
					    "{\"a\\\":1}", "[",		"{\"a\":[}]}",
					    "]",	   "[[1]" };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct slice text = exact_copy(slice_of(rows[i]));
		_cleanup_(buf_done) struct buf b = { 0 };
		struct jwalk w = jwalk_of(text);

		assert_int_not_equal(jscan_value(text, NULL), JSCAN_OK);
		if (put_parts(&w, &b))
			fail_msg("%s was read", rows[i]);
		free((char *)text.p);
	}
}

/* What is cut off is never read to its end. */
static void test_walk_of_a_part(void **state _unused_)
{
	static const char text[] = "{\"a\":[1,{\"b\":\"c\"}],\"d\":true}";

	for (size_t n = 0; n < sizeof(text) - 1; n++) {
		struct slice part = exact_copy((struct slice){ text, n });
		_cleanup_(buf_done) struct buf b = { 0 };
		struct jwalk w = jwalk_of(part);

		assert_false(put_parts(&w, &b));
		assert_true((const char *)w.p <= part.p + n);
		free((char *)part.p);
	}
}

static void test_walk_is_as_deep_as_the_scan(void **state _unused_)
{
	_cleanup_(buf_done) struct buf text = { 0 }, b = { 0 };

	for (unsigned n = JSON_DEPTH_MAX; n <= JSON_DEPTH_MAX + 1; n++) {
		struct jwalk w;

		buf_reset(&text);
		for (unsigned i = 0; i < 2 * n; i++)
			buf_putc(&text, i < n ? '[' : ']');
		w = jwalk_of(buf_slice(&text));
		assert_int_equal(put_parts(&w, &b), n == JSON_DEPTH_MAX);
		assert_int_equal(jscan_value(buf_slice(&text), NULL) == JSCAN_OK,
				 n == JSON_DEPTH_MAX);
	}
}

static void test_names_like_it(void **state _unused_)
{
	assert_true(jkey_is(SLICE("name"), "name"));
	assert_true(jkey_is(SLICE("na\\u006de"), "name"));
	assert_true(jkey_is(SLICE("\\\\"), "\\"));
	assert_true(jkey_is(SLICE(""), ""));
	assert_false(jkey_is(SLICE("nam"), "name"));
	assert_false(jkey_is(SLICE("names"), "name"));
	assert_false(jkey_is(SLICE("nime"), "name"));
	assert_false(jkey_is(SLICE(""), "name"));
	assert_false(jkey_is(SLICE("name"), ""));
	assert_false(jkey_is(SLICE("\\n"), "\\n")); /* a line break, and two characters */
	assert_false(jkey_is(SLICE("a\\n"), "a\\n"));
}

static void test_key_as_string(void **state _unused_)
{
	jobj_each(key, v, SLICE("{\"\":1,\"n\\u0061me\":2}"))
		assert_true(jstr_is(jkey_string(key), jkey_is(key, "") ? "" : "name"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_found),
		cmocka_unit_test(test_escaped_names),
		cmocka_unit_test(test_escaped_names_of_any_length),
		cmocka_unit_test(test_duplicates),
		cmocka_unit_test(test_sub_slots),
		cmocka_unit_test(test_not_an_object),
		cmocka_unit_test(test_get),
		cmocka_unit_test(test_walk),
		cmocka_unit_test(test_walk_by_parts),
		cmocka_unit_test(test_walk_of_a_part),
		cmocka_unit_test(test_walk_of_what_is_not_valid),
		cmocka_unit_test(test_walk_is_as_deep_as_the_scan),
		cmocka_unit_test(test_names_like_it),
		cmocka_unit_test(test_key_as_string),
	};

	return RUN(tests, NULL, NULL);
}
