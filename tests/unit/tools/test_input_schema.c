/* test_input_schema.c - schemas as providers take them; tests/harness/scenarios/tools.mjs has what they then make of them. */
#include "unit.h"

#include "base/limits.h"
#include "tools/relay/harness/input_schema.h"

#define S "{\"type\":\"string\"}"

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
	  "{\"type\":\"object\",\"properties\":{\"a\":" S ",\"b\":" S "}}" },
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
	{ "{\"type\":\"object\",\"properties\":{\"a\\u0062\":" S
	  "},\"required\":[\"ab\"],\"not\":{}}",
	  "{\"type\":\"object\",\"properties\":{\"a\\u0062\":" S "},\"required\":[\"ab\"]}" },
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_schema),
		cmocka_unit_test(what_is_written_is_bounded),
		cmocka_unit_test(what_is_looked_for_is_bounded),
	};

	return RUN(tests, NULL, NULL);
}
