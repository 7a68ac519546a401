/* The provider object of a session and the numbers of usage reports: what is taken, and what is refused by which name. */
#include "unit.h"

#include "base/limits.h"
#include "base/os/locked.h"
#include "harnesses/provider.h"

#define DIRECT ",\"via\":\"direct\""
#define PLACE "{\"baseUrl\":\"http://x\"}"

static void test_refused(void **state _unused_)
{
	static const struct {
		const char *raw, *field, *reason;
	} rows[] = {
		{ "{}", "api", "FIELD_MISSING" },
		{ "{\"api\":\"openai-chat\",\"via\":\"environment\"}", "key", "FIELD_MISSING" },
		{ "{\"api\":\"google\",\"key\":\"k\",\"via\":\"Tunnel\"}", "via",
		  "PROVIDER_VIA_UNSUPPORTED" },
		{ "{\"api\":\"google\",\"via\":7}", "via", "FIELD_INVALID" },
		{ "{\"api\":\"google\",\"key\":\"\",\"via\":\"tunnel\"}", "key", "FIELD_INVALID" },
		{ "{\"api\":\"google\",\"baseUrl\":\"http://x\"}", "baseUrl", "FIELD_INVALID" },
		{ "{\"api\":7,\"key\":\"k\"}", "api", "FIELD_INVALID" },
		{ "{\"api\":\"\",\"key\":\"k\"}", "api", "PROVIDER_API_UNSUPPORTED" },
		{ "{\"api\":\"OpenAI-chat\",\"key\":\"k\"}", "api", "PROVIDER_API_UNSUPPORTED" },
		{ "{\"api\":\"google\",\"key\":7}", "key", "FIELD_INVALID" },
		{ "{\"api\":\"google\",\"key\":\"a\\u0000b\"}", "key", "FIELD_INVALID" },
		{ "{\"api\":\"google\",\"key\":\"k\",\"baseUrl\":[]}", "baseUrl", "FIELD_INVALID" },
		{ "{\"api\":\"google\",\"key\":\"k\",\"base_url\":\"x\"}", "base_url",
		  "PARAM_UNSUPPORTED" },
		{ "{\"api\":\"google\",\"key\":\"k\",\"model\":{}}", "model", "FIELD_INVALID" },
		{ "{\"api\":\"google\",\"key\":\"k\",\"models\":{}}", "models", "FIELD_INVALID" },
		{ "{\"api\":\"google\",\"key\":\"k\",\"models\":[\"a\",null]}", "models[1]",
		  "FIELD_INVALID" },
		{ "{\"api\":\"google\",\"key\":\"k\",\"models\":[\"\"]}", "models[0]",
		  "FIELD_INVALID" },
		{ "{\"api\":\"google\",\"key\":\"k\",\"idleTimeoutMs\":999}", "idleTimeoutMs",
		  "FIELD_OUT_OF_RANGE" },
		{ "{\"api\":\"google\",\"key\":\"k\",\"idleTimeoutMs\":3600001}", "idleTimeoutMs",
		  "FIELD_OUT_OF_RANGE" },
		{ "{\"api\":\"google\",\"key\":\"k\",\"idleTimeoutMs\":0}", "idleTimeoutMs",
		  "FIELD_OUT_OF_RANGE" },
		{ "{\"api\":\"google\",\"key\":\"k\",\"idleTimeoutMs\":1500.5}", "idleTimeoutMs",
		  "FIELD_INVALID" },
		{ "{\"api\":\"google\",\"key\":\"k\",\"idleTimeoutMs\":\"5000\"}", "idleTimeoutMs",
		  "FIELD_INVALID" },
		{ "{\"api\":\"google\",\"via\":\"environment\",\"key\":\"k\",\"auth\":{}}", "auth",
		  "FIELD_INVALID" },
		{ "{\"api\":\"google\",\"via\":\"tunnel\",\"fallbacks\":[]}", "fallbacks",
		  "FIELD_INVALID" },
		{ "{\"api\":\"google\"" DIRECT ",\"key\":\"a\\nb\"}", "key", "FIELD_INVALID" },
		{ "{\"api\":\"google\"" DIRECT ",\"baseUrl\":\"ftp://x\"}", "baseUrl",
		  "URL_INVALID" },
		{ "{\"api\":\"google\"" DIRECT ",\"baseUrl\":\"https://\"}", "baseUrl",
		  "URL_INVALID" },
		{ "{\"api\":\"google\"" DIRECT ",\"baseUrl\":\"https://u:p@x/v1\"}", "baseUrl",
		  "URL_INVALID" },
		{ "{\"api\":\"google\"" DIRECT ",\"baseUrl\":\"https://x/v1#a\"}", "baseUrl",
		  "URL_INVALID" },
		{ "{\"api\":\"google\"" DIRECT ",\"auth\":{\"header\":\"a b\"}}", "auth.header",
		  "FIELD_INVALID" },
		{ "{\"api\":\"google\"" DIRECT ",\"auth\":{\"type\":\"sigv4\"}}", "auth.type",
		  "PARAM_UNSUPPORTED" },
		{ "{\"api\":\"google\"" DIRECT ",\"fallbacks\":[7]}", "fallbacks[0]",
		  "FIELD_INVALID" },
		{ "{\"api\":\"google\"" DIRECT ",\"fallbacks\":[{}]}", "fallbacks[0].baseUrl",
		  "FIELD_MISSING" },
		{ "{\"api\":\"google\"" DIRECT ",\"fallbacks\":[{\"baseUrl\":\"x\"}]}",
		  "fallbacks[0].baseUrl", "URL_INVALID" },
		{ "{\"api\":\"google\"" DIRECT ",\"fallbacks\":[" PLACE "," PLACE "," PLACE
		  "," PLACE "," PLACE "]}",
		  "fallbacks[4]", "TOO_MANY" },
		{ "{\"api\":\"google\"" DIRECT
		  ",\"fallbacks\":[{\"baseUrl\":\"http://x\",\"model\":\"m\"}]}",
		  "fallbacks[0].model", "PARAM_UNSUPPORTED" },
		{ "{\"api\":\"google\",\"via\":\"environment\",\"key\":\"k\",\"limits\":{\"concurrency\":1}}",
		  "limits", "FIELD_INVALID" },
		{ "{\"api\":\"google\",\"limits\":[]}", "limits", "FIELD_INVALID" },
		{ "{\"api\":\"google\",\"limits\":{\"concurrency\":0}}", "limits.concurrency",
		  "FIELD_OUT_OF_RANGE" },
		{ "{\"api\":\"google\",\"limits\":{\"concurrency\":65}}", "limits.concurrency",
		  "FIELD_OUT_OF_RANGE" },
		{ "{\"api\":\"google\",\"limits\":{\"callsPerMinute\":0}}", "limits.callsPerMinute",
		  "FIELD_OUT_OF_RANGE" },
		{ "{\"api\":\"google\",\"limits\":{\"callsPerMinute\":1001}}",
		  "limits.callsPerMinute", "FIELD_OUT_OF_RANGE" },
		{ "{\"api\":\"google\",\"limits\":{\"callsPerMinute\":1.5}}",
		  "limits.callsPerMinute", "FIELD_INVALID" },
		{ "{\"api\":\"google\",\"limits\":{\"perMinute\":1}}", "limits.perMinute",
		  "PARAM_UNSUPPORTED" },
		{ "{\"api\":\"google\",\"key\":\"k\",\"headers\":[]}", "headers", "FIELD_INVALID" },
		{ "{\"api\":\"google\",\"key\":\"k\",\"headers\":{\"\":\"x\"}}", "headers.",
		  "FIELD_INVALID" },
		{ "{\"api\":\"google\",\"key\":\"k\",\"headers\":{\"A\":\"x\",\"B\":1}}",
		  "headers.B", "FIELD_INVALID" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(slice_freep) struct slice raw = exact_copy(slice_of(rows[i].raw));
		struct harness_provider p;
		struct err e = { 0 };
		char field[96];

		snprintf(field, sizeof(field), "_meta.acpd.provider.%s", rows[i].field);
		if (harness_provider_parse(raw, &p, &e) >= 0 ||
		    strcmp(e.reason, rows[i].reason) != 0 || strcmp(e.field, field) != 0)
			fail_msg("row %zu: %s: %s %s", i, rows[i].raw, e.field, e.reason);
		assert_null(p.given_key); /* nothing is left to free */
	}
}

/* Who makes the calls, where the client does not say: whoever has the key. */
static void test_via(void **state _unused_)
{
	static const struct {
		const char *raw;
		enum harness_via via;
	} rows[] = {
		{ "{\"api\":\"google\",\"key\":\"k\"}", PROVIDER_DIRECT },
		{ "{\"api\":\"google\",\"key\":\"\"}", PROVIDER_DIRECT },
		{ "{\"api\":\"google\",\"key\":\"k\",\"via\":\"environment\"}",
		  PROVIDER_ENVIRONMENT },
		{ "{\"api\":\"google\"}", PROVIDER_TUNNEL },
		{ "{\"api\":\"google\",\"key\":null,\"via\":null}", PROVIDER_TUNNEL },
		{ "{\"api\":\"google\",\"via\":\"tunnel\"}", PROVIDER_TUNNEL },
		{ "{\"api\":\"google\",\"via\":\"direct\"}", PROVIDER_DIRECT },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct harness_provider p;

		if (harness_provider_parse(slice_of(rows[i].raw), &p, NULL) < 0 ||
		    p.via != rows[i].via)
			fail_row(i, rows[i].raw);
		harness_provider_done(&p);
	}
}

/* Keys are no part of the text that is kept, and via no longer depends on them. */
static void test_split(void **state _unused_)
{
	struct slice raw = SLICE(
		"{\"api\":\"google\",\"key\":\"k-\\u0031\",\"auth\":{\"header\":\"X-Key\"},\"via\":\"direct\","
		"\"fallbacks\":[{\"baseUrl\":\"http://a\",\"key\":\"k-2\",\"headers\":{\"h\":\"x\"}},"
		"{\"baseUrl\":\"http://b\",\"auth\":{\"header\":\"Y\",\"prefix\":\"P \"}}]}");
	_cleanup_(buf_done) struct buf text = { 0 };
	struct provider_keys keys = { 0 }, more = { 0 };
	struct provider_upstream u;
	struct harness_provider p;

	provider_split(raw, &text, &keys);
	assert_text(buf_slice(&text),
		    "{\"api\":\"google\",\"auth\":{\"header\":\"X-Key\"},\"via\":\"direct\","
		    "\"fallbacks\":[{\"baseUrl\":\"http://a\",\"headers\":{\"h\":\"x\"}},"
		    "{\"baseUrl\":\"http://b\",\"auth\":{\"header\":\"Y\",\"prefix\":\"P \"}}]}");
	assert_string_equal(locked_text_str(keys.of[0]), "k-1");
	assert_string_equal(locked_text_str(keys.of[1]), "k-2");
	assert_null(keys.of[2]);
	assert_int_equal(provider_load(buf_slice(&text), &p), 0);
	assert_int_equal(p.via, PROVIDER_DIRECT);
	assert_true(provider_upstream(&p, 0, &u));
	assert_null(u.base_url);
	assert_string_equal(u.auth_header, "X-Key");
	assert_null(u.auth_prefix);
	provider_upstream_done(&u);
	assert_true(provider_upstream(&p, 2, &u));
	assert_string_equal(u.base_url, "http://b");
	assert_string_equal(u.auth_prefix, "P ");
	assert_int_equal(u.headers.n, 0);
	provider_upstream_done(&u);
	assert_false(provider_upstream(&p, 3, &u));
	provider_keys_copy(&more, &keys);
	assert_true(provider_keys_equal(&more, &keys));
	provider_keys_done(&keys);
	assert_false(provider_keys_equal(&more, &keys));
	assert_string_equal(locked_text_str(more.of[0]), "k-1");
	provider_keys_done(&more);
	harness_provider_done(&p);
}

static void test_limits(void **state _unused_)
{
	struct harness_provider p;

	assert_int_equal(harness_provider_parse(SLICE("{\"api\":\"google\"}"), &p, NULL), 0);
	assert_int_equal(p.limits.concurrency, MODEL_CALLS_DEFAULT);
	assert_int_equal(p.limits.calls_per_minute, 0);
	harness_provider_done(&p);
	assert_int_equal(harness_provider_parse(SLICE("{\"api\":\"google\",\"limits\":"
						      "{\"concurrency\":64,"
						      "\"callsPerMinute\":1000}}"),
						&p, NULL),
			 0);
	assert_int_equal(p.limits.concurrency, 64);
	assert_int_equal(p.limits.calls_per_minute, 1000);
	harness_provider_done(&p);
}

/* Whether a harness that was started with "had" goes on with the other. */
static void test_alike(void **state _unused_)
{
	static const char had[] = "{\"api\":\"google\",\"via\":\"tunnel\",\"model\":\"m\"}";
	static const struct {
		const char *raw;
		bool alike;
	} rows[] = {
		{ had, true },
		{ "{\"api\":\"google\",\"model\":\"m\",\"headers\":{\"a\":\"b\"}}", true },
		{ "{\"api\":\"google\",\"model\":\"m\",\"paths\":[\"GET /v1beta/x\"]}", true },
		{ "{\"api\":\"google\",\"model\":\"m\",\"via\":\"direct\",\"key\":\"k\"}", true },
		{ "{\"api\":\"anthropic\",\"model\":\"m\"}", false },
		{ "{\"api\":\"google\",\"model\":\"n\"}", false },
		{ "{\"api\":\"google\"}", false },
		{ "{\"api\":\"google\",\"model\":\"m\",\"models\":[\"n\"]}", false },
		{ "{\"api\":\"google\",\"model\":\"m\",\"smallModel\":\"s\"}", false },
		{ "{\"api\":\"google\",\"model\":\"m\",\"idleTimeoutMs\":5000}", false },
		{ "{\"api\":\"google\",\"model\":\"m\",\"via\":\"environment\",\"key\":\"k\"}",
		  false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct harness_provider a, b;

		assert_int_equal(harness_provider_parse(slice_of(had), &a, NULL), 0);
		assert_int_equal(harness_provider_parse(slice_of(rows[i].raw), &b, NULL), 0);
		if (harness_provider_alike(&a, &b) != rows[i].alike ||
		    harness_provider_alike(&b, &a) != rows[i].alike)
			fail_row(i, rows[i].raw);
		harness_provider_done(&a);
		harness_provider_done(&b);
	}
}

static bool collect(void *ctx, const char *model)
{
	buf_puts(ctx, model);
	buf_putc(ctx, ' ');
	return true;
}

static bool collect_one(void *ctx, const char *model)
{
	collect(ctx, model);
	return false;
}

static void check_models(const char *members, const char *want)
{
	_cleanup_(buf_done) struct buf raw = { 0 }, b = { 0 };
	struct harness_provider p;

	buf_printf(&raw, "{\"api\":\"anthropic\",\"key\":\"k\"%s}", members);
	assert_int_equal(harness_provider_parse(buf_slice(&raw), &p, NULL), 0);
	harness_provider_each_model(&p, collect, &b);
	assert_text(buf_slice(&b), want);
	harness_provider_done(&p);
}

static void test_models(void **state _unused_)
{
	check_models("", "");
	check_models(",\"model\":\"a\"", "a ");
	check_models(",\"models\":[]", "");
	check_models(",\"models\":[\"b\",\"a\"]", "b a ");
	check_models(",\"model\":\"a\",\"models\":[\"b\",\"a\",\"b\",\"c\",\"a\"]", "a b c ");
	check_models(",\"model\":\"\\u0061\",\"models\":[\"a\",\"b\"]", "a b ");
}

static void test_each_model_stops(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct harness_provider p;

	assert_int_equal(
		harness_provider_parse(
			SLICE("{\"api\":\"google\",\"key\":\"k\",\"models\":[\"x\",\"y\"]}"), &p,
			NULL),
		0);
	harness_provider_each_model(&p, collect_one, &b);
	assert_buf(&b, "x ");
	harness_provider_done(&p);
	harness_provider_done(&p); /* twice is nothing */
}

static void test_whole(void **state _unused_)
{
	struct harness_provider p;

	assert_int_equal(harness_provider_parse(
				 SLICE("{\"api\":\"openai-responses\",\"baseUrl\":\"http://h/v1\","
				       "\"key\":\"s\\u00e9\",\"model\":\"m\",\"models\":[\"n\"],"
				       "\"headers\":{\"X\":\"y\"},\"idleTimeoutMs\":3600000}"),
				 &p, NULL),
			 0);
	assert_string_equal(p.api, "openai-responses");
	assert_string_equal(p.base_url, "http://h/v1");
	assert_string_equal(p.key, "s\xc3\xa9");
	assert_string_equal(p.model, "m");
	assert_text(p.models, "[\"n\"]");
	assert_text(p.headers, "{\"X\":\"y\"}");
	assert_int_equal(p.idle_timeout_ms, 3600000);
	harness_provider_done(&p);
}

static void test_counts(void **state _unused_)
{
	static const struct {
		const char *text;
		bool has;
		uint64_t count;
	} rows[] = {
		{ "0", true, 0 },
		{ "7", true, 7 },
		{ "9007199254740992", true, 9007199254740992 },
		{ "9007199254740993", false, 0 },
		{ "18446744073709551616", false, 0 },
		{ "-1", false, 0 },
		{ "-0", false, 0 },
		{ "1.0", false, 0 },
		{ "1e3", false, 0 },
		{ "\"7\"", false, 0 },
		{ "null", false, 0 },
		{ "[7]", false, 0 },
		{ "true", false, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(slice_freep) struct slice s = exact_copy(slice_of(rows[i].text));
		struct harness_usage u = { 0 };
		struct jval v;

		assert_int_equal(jscan_value(s, &v), JSCAN_OK);
		harness_usage_set(&u, COUNT_OUTPUT, v);
		if (u.has != (rows[i].has ? 1u << COUNT_OUTPUT : 0) ||
		    u.count[COUNT_OUTPUT] != rows[i].count)
			fail_row(i, rows[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_via),
		cmocka_unit_test(test_split),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_alike),
		cmocka_unit_test(test_models),
		cmocka_unit_test(test_each_model_stops),
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_counts),
	};

	return RUN(tests, NULL, NULL);
}
