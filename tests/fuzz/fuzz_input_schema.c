/*
 * Input schemas of tools, as servers list them. What is written is JSON and the schema of an object, also for a second pass.
 */
#include "fuzz.h"

#include "base/limits.h"
#include "json/jstr.h"
#include "tools/relay/harness/schema_fitting.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(buf_done) struct buf out = { 0 }, again = { 0 };
	_cleanup_(exact_free) struct slice text = exact(data, size);
	size_t effort = 1 * MIB;
	const char *why = NULL;
	enum schema_fit fit;
	struct jval v;

	if (jscan_value(text, &v) != JSCAN_OK)
		return 0;
	fit = input_schema_fit(v, &effort, &out, &why);
	FUZZ_CHECK((fit == SCHEMA_UNFIT) == (why != NULL));
	FUZZ_CHECK((fit == SCHEMA_REWRITTEN) == (buf_len(&out) > 0));
	if (fit != SCHEMA_REWRITTEN)
		return 0;
	FUZZ_CHECK(jscan_value(buf_slice(&out), &v) == JSCAN_OK && v.type == J_OBJECT);
	FUZZ_CHECK(jstr_is(jobj_get(v.raw, "type"), "object"));
	effort = TOOL_SCHEMA_EFFORT_MAX;
	FUZZ_CHECK(input_schema_fit(v, &effort, &again, &why) != SCHEMA_UNFIT);
	return 0;
}
