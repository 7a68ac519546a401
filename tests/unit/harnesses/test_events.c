/* Update kinds: the members without which an update is no valid ACP, checked against the schema itself. */
#include "unit.h"

#include "base/os/file.h"
#include "harnesses/harness.h"
#include "json/jenc.h"
#include "json/jstr.h"

#define SCHEMA "tests/fixtures/acp-v1/schema.unstable.json"

struct need {
	char name[40];
	const char *value; /* a valid one */
};

struct sample {
	char kind[60];
	struct need needs[4];
	size_t n;
};

static struct buf schema;
static struct slice defs;

static int setup(void **state _unused_)
{
	if (file_read(SCHEMA, 4 << 20, &schema) < 0)
		return -1;
	defs = jobj_get(buf_slice(&schema), "$defs").raw;
	return defs.n ? 0 : -1;
}

static int teardown(void **state _unused_)
{
	buf_done(&schema);
	return 0;
}

static void text_of(struct jval v, char *out, size_t n)
{
	_cleanup_(freep) char *s = NULL;

	assert_int_equal(jstr_decode(v, n - 1, &s), 0);
	strcpy(out, s);
}

/* {"$ref":"#/$defs/X"} -> the definition X; that of the first element for {"allOf":[...]}. */
static struct slice follow(struct slice object)
{
	struct jval all = jobj_get(object, "allOf"), first;
	struct jiter it;
	char ref[80];

	if (jiter_init(&it, all) && jiter_next(&it, NULL, &first))
		object = first.raw;
	if (jobj_get(object, "$ref").type != J_STRING)
		return object;
	text_of(jobj_get(object, "$ref"), ref, sizeof(ref));
	return jobj_get(defs, strrchr(ref, '/') + 1).raw;
}

/* A value of the type that a property's schema asks for. */
static const char *valid_value(struct slice property)
{
	struct slice d = follow(property);
	struct jval type = jobj_get(d, "type");

	if (jstr_is(type, "string"))
		return "\"x\"";
	if (jstr_is(type, "array"))
		return "[]";
	if (jstr_is(type, "integer"))
		return "1";
	return NULL;
}

static const char *value_of(struct slice body, const char *name)
{
	static const struct {
		const char *name, *value;
	} unions[] = {
		/* objects and enumerations that the schema spells as unions */
		{ "content", "{\"type\":\"text\",\"text\":\"t\"}" },
		{ "plan", "{\"type\":\"markdown\",\"planId\":\"p\",\"content\":\"c\"}" },
		{ "severity", "\"info\"" },
		{ "status", "\"completed\"" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(unions); i++)
		if (strcmp(unions[i].name, name) == 0)
			return unions[i].value;
	return valid_value(jobj_get(jobj_get(body, "properties").raw, name).raw);
}

static void sample_of(struct slice variant, struct sample *s)
{
	struct slice properties = jobj_get(variant, "properties").raw, body = follow(variant);
	struct jiter it;
	struct jval v;

	*s = (struct sample){ .n = 0 };
	text_of(jobj_get(jobj_get(properties, "sessionUpdate").raw, "const"), s->kind,
		sizeof(s->kind));
	if (!jiter_init(&it, jobj_get(body, "required")))
		return;
	while (jiter_next(&it, NULL, &v)) {
		struct need *need = &s->needs[s->n++];

		assert_true(s->n <= ARRAY_SIZE(s->needs));
		text_of(v, need->name, sizeof(need->name));
		need->value = value_of(body, need->name);
		assert_non_null(need->value);
	}
}

/* The update with one member left out, or given another value. */
static void put_sample(struct buf *b, const struct sample *s, size_t other, const char *value)
{
	struct jw w = JW(b);

	buf_reset(b);
	jw_obj(&w, NULL);
	jw_raw(&w, "_meta", SLICE("{\"a\":1}"));
	for (size_t i = 0; i < s->n; i++)
		jw_raw(&w, s->needs[i].name, slice_of(i == other ? value : s->needs[i].value));
	jw_str(&w, "sessionUpdate", s->kind);
	jw_end_obj(&w);
}

static int check(const struct buf *b, struct err *e)
{
	struct harness_event ev = { .kind = UPDATE_MAX };
	int r;

	memset(e, 0, sizeof(*e));
	r = harness_event_from_update(buf_slice(b), &ev, e);
	assert_true(r < 0 || ev.kind < UPDATE_MAX);
	assert_true(r < 0 || slice_eq(ev.update, buf_slice(b)));
	return r;
}

static void check_variant(struct slice variant)
{
	static const char *const wrong[] = { "null", "true", "7", "\"s\"", "[]", "{}" };
	_cleanup_(buf_done) struct buf b = { 0 };
	struct sample s;
	struct err e;

	sample_of(variant, &s);
	put_sample(&b, &s, s.n, NULL);
	if (check(&b, &e) < 0)
		fail_msg("%s is refused: %s (%.*s)", s.kind, e.msg, (int)b.len, b.data);
	for (size_t i = 0; i < s.n; i++) {
		put_sample(&b, &s, i, "");
		if (check(&b, &e) != -EINVAL)
			fail_msg("%s without %s is taken", s.kind, s.needs[i].name);
		assert_string_equal(e.field, s.needs[i].name);
		for (size_t k = 0; k < ARRAY_SIZE(wrong); k++) {
			char want = s.needs[i].value[0];
			bool same = wrong[k][0] == want || (wrong[k][0] == '7' && want == '1');

			put_sample(&b, &s, i, wrong[k]);
			if ((check(&b, &e) == 0) != same)
				fail_msg("%s with %s %s", s.kind, s.needs[i].name, wrong[k]);
		}
	}
}

/* Every kind of update that the schema knows, with each required member missing and of each wrong type. */
static void test_against_the_schema(void **state _unused_)
{
	struct slice updates = jobj_get(defs, "SessionUpdate").raw;
	struct jiter it;
	struct jval v;
	unsigned n = 0;

	assert_true(jiter_init(&it, jobj_get(updates, "oneOf")));
	for (; jiter_next(&it, NULL, &v); n++)
		check_variant(v.raw);
	assert_int_equal(n, UPDATE_MAX);
}

static void test_refused(void **state _unused_)
{
	static const char *const rows[] = {
		"{}",
		"[]",
		"1",
		"{\"sessionUpdate\":1}",
		"{\"sessionUpdate\":\"\"}",
		"{\"sessionUpdate\":\"nonsense\"}",
		"{\"sessionUpdate\":\"Plan\",\"entries\":[]}",
		"{\"sessionUpdate\":\"_x\"}",
		"{\"sessionUpdate\":\"plan\",\"sessionUpdate\":\"plan\",\"entries\":[]}",
		"{\"sessionUpdate\":\"plan\",\"entries\":[],\"entries\":[]}",
		"{\"sessionUpdate\":\"plan\",\"entries\":[],\"\\u0065ntries\":[]}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct harness_event ev;
		struct err e;

		if (harness_event_from_update(slice_of(rows[i]), &ev, &e) != -EINVAL)
			fail_row(i, rows[i]);
		assert_true(harness_event_from_update(slice_of(rows[i]), &ev, NULL) < 0);
	}
}

static void test_escaped_kind(void **state _unused_)
{
	struct harness_event ev;

	assert_int_equal(harness_event_from_update(
				 SLICE("{\"session\\u0055pdate\":\"pl\\u0061n\",\"entries\":[]}"),
				 &ev, NULL),
			 0);
	assert_int_equal(ev.kind, UPDATE_PLAN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_the_schema),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_escaped_kind),
	};

	return RUN(tests, setup, teardown);
}
