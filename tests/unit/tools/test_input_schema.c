/* test_input_schema.c - schemas as providers take them; tests/harness/scenarios/tools.mjs has what they then make of them. */
#include "unit.h"

#include "base/limits.h"
#include "tools/relay/harness/schema_fitting.h"

#define S "{\"type\":\"string\"}"
#define IN(schema) "{\"type\":\"object\",\"properties\":{\"in\":" schema "}}"

static const struct {
	const char *schema; /* "": none */
	const char *given;  /* NULL: unchanged; "": unfit */
} rows[] = {
	{ "{ \"type\":\"object\", \"properties\":{\"a\":" S "}, \"required\":[\"a\"]}", NULL },
	{ "{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"type\":\"object\",\"properties\":{},\"additionalProperties\":false}",
	  NULL },
	{ "{\"type\":\"object\",\"properties\":{\"a\":{},\"b\":{\"type\":[\"string\",\"null\"],\"enum\":[1.0]}},\"x-own\":1e2}",
	  NULL },
	{ "", "{\"type\":\"object\",\"properties\":{}}" },
	{ "null", "{\"type\":\"object\",\"properties\":{}}" },
	{ "true", "{\"type\":\"object\",\"properties\":{}}" },
	{ "{}", "{\"type\":\"object\",\"properties\":{}}" },
	{ "false", "" },
	{ "7", "" },
	{ "\"object\"", "" },
	{ "{\"type\":\"string\"}", "" },
	{ "{\"type\":[\"string\",\"null\"]}", "" },
	{ "{\"enum\":[1]}", "" },
	{ "{\"const\":1}", "" },
	{ "{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"null\"}]}", "" },
	{ "{\"allOf\":[{\"type\":\"object\"},{\"type\":\"null\"}]}", "" },
	{ "{\"$ref\":\"#/$defs/a\",\"$defs\":{\"a\":" S "}}", "" },
	{ "{\"type\":[\"object\",\"null\"],\"properties\":{\"a\":" S "}}",
	  "{\"type\":\"object\",\"properties\":{\"a\":" S "}}" },
	{ "{\"type\":\"object\",\"properties\":[],\"required\":null}",
	  "{\"type\":\"object\",\"properties\":{}}" },
	{ "{\"type\":\"object\",\"properties\":{\"a\":" S "},\"required\":null}",
	  "{\"type\":\"object\",\"properties\":{\"a\":" S "}}" },
	{ "{\"type\":\"object\",\"properties\":{\"a\":" S "},\"required\":[\"a\",7]}",
	  "{\"type\":\"object\",\"properties\":{\"a\":" S "},\"required\":[\"a\"]}" },
	{ "{\"type\":\"object\",\"properties\":{},\"required\":[\"a\",7]}",
	  "{\"type\":\"object\",\"properties\":{}}" },
	{ "{\"type\":\"object\",\"properties\":{\"a\":{\"$ref\":\"#/$defs/x~1y\",\"description\":\"d\"}},\"$defs\":{\"x/y\":" S
	  "}}",
	  "{\"type\":\"object\",\"properties\":{\"a\":{\"description\":\"d\",\"type\":\"string\"}}}" },
	{ "{\"type\":\"object\",\"properties\":{\"a\":{\"$ref\":\"#/$defs/no\"},\"b\":{\"$ref\":\"https://a/b\"}}}",
	  "{\"type\":\"object\",\"properties\":{\"a\":{},\"b\":{}}}" },
	{ "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"array\",\"items\":{\"$ref\":\"#/properties/a\"}}}}",
	  "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"array\",\"items\":{\"type\":\"array\",\"items\":{}}}}}" },
	{ "{\"$ref\":\"#\"}", "{\"type\":\"object\",\"properties\":{}}" },
	{ "{\"$ref\":\"#/$defs/a\",\"$defs\":{\"a\":{\"type\":\"object\",\"properties\":{\"a\":" S
	  "},\"required\":[\"a\"]}}}",
	  "{\"type\":\"object\",\"properties\":{\"a\":" S "},\"required\":[\"a\"]}" },
	{ "{\"anyOf\":[{\"properties\":{\"a\":" S
	  "},\"required\":[\"a\"]},{\"properties\":{\"a\":{},\"b\":" S "},\"required\":[\"b\"]}]}",
	  "{\"type\":\"object\",\"properties\":{\"a\":{\"anyOf\":[" S ",{}]},\"b\":" S "}}" },
	{ "{\"anyOf\":[{\"properties\":{\"act\":{\"const\":1},\"a\":" S
	  "}},{\"properties\":{\"act\":{\"const\":2},\"a\":" S
	  ",\"z\":{}}}],\"properties\":{\"z\":" S "}}",
	  "{\"type\":\"object\",\"properties\":{\"z\":" S
	  ",\"act\":{\"anyOf\":[{\"const\":1},{\"const\":2}]},\"a\":" S "}}" },
	{ "{\"allOf\":[{\"oneOf\":[{\"properties\":{\"a\":" S
	  "}},{\"properties\":{\"a\":true}}]},{\"properties\":{\"a\":{\"title\":\"t\"}}}]}",
	  "{\"type\":\"object\",\"properties\":{\"a\":{\"title\":\"t\"}}}" },
	{ "{\"allOf\":[{\"properties\":{\"a\":" S
	  "},\"required\":[\"a\"]},{\"required\":[\"a\"]}],\"title\":\"t\"}",
	  "{\"type\":\"object\",\"title\":\"t\",\"properties\":{\"a\":" S
	  "},\"required\":[\"a\"]}" },
	{ "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"number\",\"minimum\":0,\"exclusiveMinimum\":true}}}",
	  "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"number\",\"minimum\":0}}}" },
	{ "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"array\"},\"b\":{\"type\":\"array\",\"items\":[" S
	  "]},\"c\":{\"type\":\"strnig\",\"enum\":[],\"anyOf\":[]},\"d\":true,\"e\":false}}",
	  "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"array\",\"items\":{}},"
	  "\"b\":{\"type\":\"array\",\"items\":{}},\"c\":{},\"d\":{}}}" },
	{ IN("{\"properties\":{\"a\":{},\"b\":{}},\"oneOf\":[{\"required\":[\"a\"]},{\"required\":[\"b\"]}]}"),
	  IN("{\"properties\":{\"a\":{},\"b\":{}},\"anyOf\":[{},{}]}") },
	{ IN("{\"oneOf\":[{\"$ref\":\"#\"}],\"anyOf\":[" S "],\"title\":\"t\"}"),
	  IN("{\"anyOf\":[" S "],\"title\":\"t\"}") },
	{ IN("{\"oneOf\":[{\"$ref\":\"#/no\"}]}"), IN("{\"anyOf\":[{}]}") },
	{ IN("{\"oneOf\":[" S ",{\"not\":" S "}]}"), NULL },
	{ IN("{\"not\":{\"required\":[\"a\"]},\"title\":\"t\"}"), IN("{\"title\":\"t\"}") },
	{ IN("{\"title\":\"t\",\"not\":{\"items\":{\"$ref\":\"#\"}}}"), IN("{\"title\":\"t\"}") },
	{ IN("{\"if\":{\"required\":[\"a\"]},\"then\":" S ",\"else\":{}}"), IN("{}") },
	{ IN("{\"if\":" S ",\"then\":{\"required\":[\"a\"]},\"else\":" S "}"),
	  IN("{\"if\":" S ",\"then\":{},\"else\":" S "}") },
	{ IN("{\"contains\":{\"required\":[\"a\"]},\"maxContains\":1}"),
	  IN("{\"maxContains\":1}") },
	{ IN("{\"prefixItems\":[" S "],\"items\":{\"type\":\"null\"}}"), IN("{\"items\":{}}") },
	{ "{\"type\":\"object\",\"properties\":{\"a\\u0062\":" S
	  "},\"required\":[\"ab\"],\"not\":{}}",
	  "{\"type\":\"object\",\"properties\":{\"a\\u0062\":" S "},\"required\":[\"ab\"]}" },
	{ IN("{\"unevaluatedProperties\":false,\"allOf\":[{\"properties\":{\"a\":" S "}}]}"),
	  NULL },
	{ "{\"type\":\"object\",\"properties\":{\"a\":" S
	  "},\"unevaluatedProperties\":{\"type\":\"null\"}}",
	  NULL },
	{ IN("{\"unevaluatedProperties\":false,\"allOf\":[{\"$ref\":\"#/no\"}],\"title\":\"t\"}"),
	  IN("{\"allOf\":[{}],\"title\":\"t\"}") },
	{ IN("{\"unevaluatedProperties\":false,\"anyOf\":[{\"$ref\":\"#/properties/in\"},{\"properties\":{\"a\":" S
	     "}}]}"),
	  IN("{\"anyOf\":[{\"anyOf\":[{},{\"properties\":{\"a\":" S "}}]},{\"properties\":{\"a\":" S
	     "}}]}") },
	{ IN("{\"unevaluatedItems\":false,\"prefixItems\":[" S "]}"), IN("{}") },
	{ IN("{\"unevaluatedProperties\":{\"type\":\"strnig\"},\"title\":\"t\"}"),
	  IN("{\"title\":\"t\",\"unevaluatedProperties\":{}}") },
	{ "{\"type\":\"object\",\"properties\":{\"a\":" S
	  ",\"b\":{\"$ref\":\"#/no\"},\"in\":{\"allOf\":[" S "],\"unevaluatedProperties\":false}}}",
	  "{\"type\":\"object\",\"properties\":{\"a\":" S ",\"b\":{},\"in\":{\"allOf\":[" S
	  "],\"unevaluatedProperties\":false}}}" },
	{ "{\"type\":\"object\",\"allOf\":[{\"$ref\":\"#/no\"}],\"properties\":{\"a\":" S
	  "},\"unevaluatedProperties\":false}",
	  "{\"type\":\"object\",\"properties\":{\"a\":" S "}}" },
	{ "{\"description\":\"d\",\"$ref\":\"#/$defs/a\",\"$defs\":{\"a\":{\"properties\":{\"a\":" S
	  "}}},\"properties\":{\"b\":{}},\"additionalProperties\":false,\"minProperties\":1}",
	  "{\"type\":\"object\",\"description\":\"d\",\"properties\":{\"a\":" S "}}" },
};

static void each_schema(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(buf_done) struct buf out = { 0 };
		size_t effort = TOOL_SCHEMA_EFFORT_MAX;
		struct jval v = { J_NONE, SLICE_NONE };
		const char *why = "";
		enum schema_fit fit;

		if (*rows[i].schema)
			assert_int_equal(jscan_value(slice_of(rows[i].schema), &v), JSCAN_OK);
		fit = input_schema_fit(v, &effort, &out, &why);
		if (fit != (!rows[i].given ? SCHEMA_FITS :
			    *rows[i].given ? SCHEMA_REWRITTEN :
					     SCHEMA_UNFIT) ||
		    (fit == SCHEMA_REWRITTEN && !slice_is(buf_slice(&out), rows[i].given)) ||
		    (fit == SCHEMA_UNFIT && !*why))
			fail_msg("%s: %d %.*s %s", rows[i].schema, fit, (int)buf_len(&out),
				 out.len ? out.data : "", why);
	}
}

/* Each level refers to the next one twice: written out, the last would stand there 2^40 times. */
static void what_is_written_is_bounded(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 }, out = { 0 };
	size_t effort = TOOL_SCHEMA_EFFORT_MAX;
	const char *why = NULL;
	struct jval v;

	buf_puts(
		&b,
		"{\"type\":\"object\",\"properties\":{\"a\":{\"$ref\":\"#/$defs/d0\"}},\"$defs\":{");
	for (int i = 0; i < 40; i++)
		buf_printf(
			&b,
			"\"d%d\":{\"type\":\"object\",\"properties\":{\"a\":{\"$ref\":\"#/$defs/d%d\"},"
			"\"b\":{\"$ref\":\"#/$defs/d%d\"}}},",
			i, i + 1, i + 1);
	buf_puts(&b, "\"d40\":{}}}");
	assert_int_equal(jscan_value(buf_slice(&b), &v), JSCAN_OK);
	assert_int_equal(input_schema_fit(v, &effort, &out, &why), SCHEMA_UNFIT);
	assert_int_equal(buf_len(&out), 0);
	assert_non_null(strstr(why, "256 KiB"));
}

/* Branches that refer to branches: without properties nothing is written, and it ends all the same. */
static void what_is_looked_for_is_bounded(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 }, out = { 0 };
	size_t effort = TOOL_SCHEMA_EFFORT_MAX;
	const char *why = NULL;
	struct jval v;

	buf_puts(&b, "{\"$ref\":\"#/$defs/d0\",\"$defs\":{");
	for (int i = 0; i < 8; i++) {
		buf_printf(&b, "\"d%d\":{\"anyOf\":[", i);
		for (int k = 0; k < 100; k++)
			buf_printf(&b, "%s{\"$ref\":\"#/$defs/d%d\"}", k ? "," : "", i + 1);
		buf_puts(&b, "]},");
	}
	buf_puts(&b, "\"d8\":{}}}");
	assert_int_equal(jscan_value(buf_slice(&b), &v), JSCAN_OK);
	assert_int_equal(input_schema_fit(v, &effort, &out, &why), SCHEMA_REWRITTEN);
	assert_buf(&out, "{\"type\":\"object\",\"properties\":{}}");
}

/* What a not holds is taken back at each level: it fills nothing, and it ends all the same. */
static void what_is_taken_back_is_bounded(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 }, out = { 0 };
	size_t effort = 1 * MIB;
	const char *why = NULL;
	struct jval v;

	buf_puts(&b, "{\"properties\":{\"in\":{\"$ref\":\"#/$defs/d0\"}},\"$defs\":{");
	for (int i = 0; i < 20; i++)
		buf_printf(
			&b,
			"\"d%d\":{\"not\":{\"anyOf\":[{\"$ref\":\"#/$defs/d%d\"},{\"$ref\":\"#/$defs/d%d\"}]}},",
			i, i + 1, i + 1);
	buf_puts(&b, "\"d20\":{}}}");
	assert_int_equal(jscan_value(buf_slice(&b), &v), JSCAN_OK);
	assert_int_equal(input_schema_fit(v, &effort, &out, &why), SCHEMA_REWRITTEN);
	assert_buf(&out, IN("{}"));
	assert_true(effort < 4 * KIB);
}

/* More of them than are compared: then the property can be anything. */
static void variants_are_bounded(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 }, out = { 0 };
	size_t effort = TOOL_SCHEMA_EFFORT_MAX;
	const char *why = NULL;
	struct jval v;

	buf_puts(&b, "{\"anyOf\":[{}");
	for (int i = 0; i <= TOOL_SCHEMA_VARIANTS_MAX; i++)
		buf_printf(&b, ",{\"properties\":{\"in\":{\"const\":%d}}}", i);
	buf_puts(&b, "]}");
	assert_int_equal(jscan_value(buf_slice(&b), &v), JSCAN_OK);
	assert_int_equal(input_schema_fit(v, &effort, &out, &why), SCHEMA_REWRITTEN);
	assert_buf(&out, IN("{}"));
}

/* Of a reference each step is charged, as each reads on its own. */
static void each_step_of_a_reference_is_charged(void **state _unused_)
{
	static const char text[] = IN("{\"$ref\":\"#/a/a/a/a\"}");
	_cleanup_(buf_done) struct buf b = { 0 }, out = { 0 };
	const char *why = NULL;
	size_t effort;
	struct jval v;

	buf_printf(&b, "%.*s,\"a\":{\"a\":{\"a\":{\"a\":" S "}}}}", (int)sizeof(text) - 2, text);
	assert_int_equal(jscan_value(buf_slice(&b), &v), JSCAN_OK);
	for (size_t steps = 3; steps <= 64; steps += 61) {
		buf_reset(&out);
		effort = steps * KIB;
		assert_int_equal(input_schema_fit(v, &effort, &out, &why), SCHEMA_REWRITTEN);
		assert_non_null(strstr(out.data, steps == 3 ? "\"in\":{}" : "\"in\":" S));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_schema),
		cmocka_unit_test(what_is_written_is_bounded),
		cmocka_unit_test(what_is_looked_for_is_bounded),
		cmocka_unit_test(what_is_taken_back_is_bounded),
		cmocka_unit_test(variants_are_bounded),
		cmocka_unit_test(each_step_of_a_reference_is_charged),
	};

	return RUN(tests, NULL, NULL);
}
