/* OpenCode's plan: a private, quiet environment and a configuration that speaks to the given provider and no other. */
#include "unit.h"

#include "fakehost.h"
#include "harnesses/acp/quirks.h"
#include "harnesses/opencode/internal.h"
#include "harnesses/harness.h"
#include "harnesses/spawn_plan.h"
#include "json/jstr.h"

static struct harness_plan plan;
static struct err e;
static struct fake f;
static enum harness_approval approval;
static unsigned rules;

static int teardown(void **state _unused_)
{
	approval = APPROVAL_ASK;
	rules = 0;
	harness_plan_done(&plan);
	fake_close(&f);
	return 0;
}

static int make(const char *provider)
{
	char *args[] = { "acp", "--flag", NULL };
	struct harness_def def = { .id = "opencode", .command = "/opt/opencode", .args = args };
	struct harness_req req = { .cwd = "/ws",
				   .home = "/state/homes/s1",
				   .approval = approval,
				   .rules = rules,
				   .mcp_call_ms = 90000 };
	struct harness_provider p;
	int r;

	harness_plan_done(&plan);
	memset(&e, 0, sizeof(e));
	if (!provider)
		return harness_opencode.plan(&def, &req, &plan, &e);
	r = harness_provider_parse(slice_of(provider), &p, &e);
	if (r < 0)
		return r;
	req.provider = &p;
	r = harness_opencode.plan(&def, &req, &plan, &e);
	harness_provider_done(&p);
	return r;
}

static struct slice config(void)
{
	const char *text = harness_plan_getenv(&plan, "OPENCODE_CONFIG_CONTENT");

	assert_non_null(text);
	assert_int_equal(jscan_object(slice_of(text), NULL, 0), JSCAN_OK);
	return slice_of(text);
}

/* The value at a path of member names, separated by '>'. */
static struct jval at(const char *path)
{
	struct jval v = { J_OBJECT, config() };
	char name[300];

	while (*path) {
		size_t n = strcspn(path, ">");

		snprintf(name, sizeof(name), "%.*s", (int)n, path);
		v = jobj_get(v.raw, name);
		path += n + (path[n] == '>');
	}
	return v;
}

static void test_without_provider(void **state _unused_)
{
	assert_int_equal(make(NULL), 0);
	assert_string_equal(plan.argv[0], "/opt/opencode");
	assert_string_equal(plan.argv[1], "acp");
	assert_string_equal(plan.argv[2], "--flag");
	assert_null(plan.argv[3]);
	assert_int_equal(at("provider").type, J_NONE);
	assert_int_equal(at("model").type, J_NONE);
	assert_int_equal(at("autoupdate").type, J_FALSE);
	assert_text(at("share").raw, "\"disabled\"");
	assert_text(at("permission>*").raw, "\"ask\"");
	assert_text(at("permission>grep").raw, "\"allow\"");
	assert_text(at("permission>external_directory>*").raw, "\"ask\"");
	assert_int_equal(at("permission>edit").type, J_NONE);
	assert_text(at("agent>plan>permission>edit").raw, "\"deny\"");
	assert_text(at("experimental>continue_loop_on_deny").raw, "true");
	assert_text(at("experimental>mcp_timeout").raw, "90000");
	assert_null(harness_plan_getenv(&plan, "OPENCODE_MODELS_PATH"));
	assert_null(harness_plan_getenv(&plan, "ACPD_PROVIDER_KEY"));
}

/* Of two rules that fit the later one wins. Skills may be read, and are not what "accept-edits" allows to change. */
static void test_skills_in_the_home(void **state _unused_)
{
	assert_int_equal(make(NULL), 0);
	assert_text(at("permission>external_directory").raw,
		    "{\"*\":\"ask\",\"/state/homes/s1/.agents/skills/*\":\"allow\"}");
	approval = APPROVAL_ACCEPT_EDITS;
	assert_int_equal(make(NULL), 0);
	/* each edit is asked, and the adapter looks where the file lies */
	assert_int_equal(at("permission>edit").type, J_NONE);
	assert_string_equal(harness_plan_getenv(&plan, "ACPD_EDIT_DIRS"), "[\"/ws\"]");
	assert_text(at("permission>external_directory").raw,
		    "{\"*\":\"ask\",\"/state/homes/s1/.agents/skills/*\":\"allow\"}");
	approval = APPROVAL_NEVER;
	assert_int_equal(make(NULL), 0);
	assert_int_equal(at("permission>external_directory").type, J_NONE);
	assert_null(harness_plan_getenv(&plan, "ACPD_EDIT_DIRS"));
}

/* Where there are rules it asks whatever the approval is: about reading only if they speak of that. */
static void test_rules(void **state _unused_)
{
	approval = APPROVAL_NEVER;
	rules = HARNESS_RULES;
	assert_int_equal(make(NULL), 0);
	assert_text(at("permission>*").raw, "\"ask\"");
	assert_text(at("permission>grep").raw, "\"allow\"");
	assert_text(at("permission>external_directory>*").raw, "\"ask\"");
	rules |= HARNESS_RULES_READS;
	assert_int_equal(make(NULL), 0);
	assert_text(at("permission>*").raw, "\"ask\"");
	assert_int_equal(at("permission>grep").type, J_NONE);
	assert_int_equal(at("permission>read").type, J_NONE);
	assert_text(at("permission>question").raw, "\"deny\"");
	/* the plugin would allow edits of subagents without knowing a rule */
	approval = APPROVAL_ACCEPT_EDITS;
	assert_int_equal(make(NULL), 0);
	assert_null(harness_plan_getenv(&plan, "ACPD_EDIT_DIRS"));
}

static void test_environment_is_private_and_quiet(void **state _unused_)
{
	static const struct {
		const char *name, *value;
	} rows[] = {
		{ "XDG_CONFIG_HOME", "/state/homes/s1/.config" },
		{ "XDG_DATA_HOME", "/state/homes/s1/.local/share" },
		{ "XDG_STATE_HOME", "/state/homes/s1/.local/state" },
		{ "XDG_CACHE_HOME", "/state/homes/s1/.cache" },
		{ "OPENCODE_DISABLE_AUTOUPDATE", "1" },
		{ "OPENCODE_DISABLE_MODELS_FETCH", "1" },
		{ "OPENCODE_DISABLE_SHARE", "1" },
	};

	assert_int_equal(make(NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *value = harness_plan_getenv(&plan, rows[i].name);

		assert_non_null(value);
		assert_string_equal(value, rows[i].value);
	}
}

static void test_provider_apis(void **state _unused_)
{
	static const struct {
		const char *api, *npm;
	} rows[] = {
		{ "openai-chat", "\"@ai-sdk/openai-compatible\"" },
		{ "openai-responses", "\"@ai-sdk/openai\"" },
		{ "anthropic", "\"@ai-sdk/anthropic\"" },
		{ "google", "\"@ai-sdk/google\"" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char provider[200];

		snprintf(
			provider, sizeof(provider),
			"{\"api\":\"%s\",\"baseUrl\":\"http://127.0.0.1:1/v1\",\"key\":\"sk-secret\",\"model\":\"m-1\"}",
			rows[i].api);
		assert_int_equal(make(provider), 0);
		assert_text(at("provider>acpd>npm").raw, rows[i].npm);
		assert_text(at("provider>acpd>options>baseURL").raw, "\"http://127.0.0.1:1/v1\"");
		assert_text(at("provider>acpd>options>apiKey").raw, "\"{env:ACPD_PROVIDER_KEY}\"");
		assert_int_equal(at("provider>acpd>models>m-1").type, J_OBJECT);
		assert_text(at("model").raw, "\"acpd/m-1\"");
		assert_text(at("small_model").raw, "\"acpd/m-1\"");
		assert_text(at("enabled_providers").raw, "[\"acpd\"]");
		assert_non_null(harness_plan_getenv(&plan, "OPENCODE_MODELS_PATH"));
		assert_string_equal(harness_plan_getenv(&plan, "ACPD_PROVIDER_KEY"), "sk-secret");
	}
}

/* A model for side calls alone is in the list, or OpenCode does not find it; once. */
static void test_model_for_side_calls(void **state _unused_)
{
	assert_int_equal(make("{\"api\":\"anthropic\",\"key\":\"k\",\"model\":\"m\","
			      "\"smallModel\":\"s\"}"),
			 0);
	assert_text(at("model").raw, "\"acpd/m\"");
	assert_text(at("small_model").raw, "\"acpd/s\"");
	assert_int_equal(at("provider>acpd>models>s").type, J_OBJECT);
	assert_int_equal(at("provider>acpd>models>m").type, J_OBJECT);
	assert_int_equal(make("{\"api\":\"anthropic\",\"key\":\"k\",\"models\":[\"m\",\"s\"],"
			      "\"smallModel\":\"s\"}"),
			 0);
	assert_text(at("small_model").raw, "\"acpd/s\"");
}

static void test_silence(void **state _unused_)
{
	assert_int_equal(make("{\"api\":\"anthropic\",\"key\":\"k\",\"model\":\"m\","
			      "\"idleTimeoutMs\":45000}"),
			 0);
	assert_text(at("provider>acpd>options>headerTimeout").raw, "45000");
	assert_text(at("provider>acpd>options>chunkTimeout").raw, "45000");
	assert_int_equal(make("{\"api\":\"anthropic\",\"key\":\"k\",\"model\":\"m\"}"), 0);
	assert_int_equal(at("provider>acpd>options>headerTimeout").type, J_NONE);
	assert_int_equal(at("provider>acpd>options>chunkTimeout").type, J_NONE);
}

/* The key is in one variable only: not in the configuration, not in the arguments. */
static void test_key_stays_in_its_variable(void **state _unused_)
{
	assert_int_equal(make("{\"api\":\"anthropic\",\"key\":\"sk-secret\",\"model\":\"m\"}"), 0);
	for (size_t i = 0; i < plan.nargs; i++)
		assert_null(strstr(plan.argv[i], "sk-secret"));
	for (size_t i = 0; i < plan.nenv; i++)
		assert_true(!strstr(plan.env[i].value, "sk-secret") ||
			    strcmp(plan.env[i].name, "ACPD_PROVIDER_KEY") == 0);
	for (size_t i = 0; i < plan.nfiles; i++)
		assert_true(!plan.files[i].value || !strstr(plan.files[i].value, "sk-secret"));
	assert_int_equal(at("provider>acpd>options>baseURL").type, J_NONE);
}

static void test_headers_and_odd_names(void **state _unused_)
{
	assert_int_equal(
		make("{\"api\":\"openai-chat\",\"key\":\"k\\\"ey\",\"model\":\"vendor/m \\\"x\\\"\","
		     "\"headers\":{\"X-A\": \"1\"}}"),
		0);
	assert_text(at("provider>acpd>options>headers").raw, "{\"X-A\": \"1\"}");
	assert_int_equal(at("provider>acpd>models>vendor/m \"x\"").type, J_OBJECT);
	assert_true(jstr_is(at("model"), "acpd/vendor/m \"x\""));
	assert_string_equal(harness_plan_getenv(&plan, "ACPD_PROVIDER_KEY"), "k\"ey");
}

static void test_longest_model(void **state _unused_)
{
	char provider[400], path[300] = "provider>acpd>models>", want[300] = "acpd/";
	size_t n = strlen(path);

	memset(path + n, 'm', 256);
	memset(want + 5, 'm', 256);
	snprintf(provider, sizeof(provider), "{\"api\":\"google\",\"key\":\"k\",\"model\":\"%s\"}",
		 path + n);
	assert_int_equal(make(provider), 0);
	assert_int_equal(at(path).type, J_OBJECT);
	assert_true(jstr_is(at("model"), want));
}

static void test_refused_providers(void **state _unused_)
{
	static const struct {
		const char *provider, *field, *reason;
	} rows[] = {
		{ "{\"api\":\"cohere\",\"key\":\"k\",\"model\":\"m\"}", "api",
		  "PROVIDER_API_UNSUPPORTED" },
		{ "{\"api\":\"\",\"key\":\"k\",\"model\":\"m\"}", "api",
		  "PROVIDER_API_UNSUPPORTED" },
		{ "{\"api\":\"Anthropic\",\"key\":\"k\",\"model\":\"m\"}", "api",
		  "PROVIDER_API_UNSUPPORTED" },
		{ "{\"key\":\"k\",\"model\":\"m\"}", "api", "FIELD_MISSING" },
		{ "{\"api\":7,\"key\":\"k\",\"model\":\"m\"}", "api", "FIELD_INVALID" },
		{ "{\"api\":\"google\",\"model\":\"m\",\"via\":\"environment\"}", "key",
		  "FIELD_MISSING" },
		{ "{\"api\":\"google\",\"key\":\"k\"}", "model", "FIELD_MISSING" },
		{ "{\"api\":\"google\",\"key\":\"a\\u0000b\",\"model\":\"m\"}", "key",
		  "FIELD_INVALID" },
		{ "{\"api\":\"google\",\"key\":\"k\",\"model\":\"m\",\"headers\":[]}", "headers",
		  "FIELD_INVALID" },
		{ "{\"api\":\"google\",\"key\":\"k\",\"model\":\"m\",\"baseUrl\":{}}", "baseUrl",
		  "FIELD_INVALID" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char field[80];

		if (make(rows[i].provider) != -EINVAL)
			fail_row(i, rows[i].provider);
		snprintf(field, sizeof(field), "_meta.acpd.provider.%s", rows[i].field);
		assert_string_equal(e.field, field);
		assert_string_equal(e.reason, rows[i].reason);
		assert_int_equal(e.rpc, RPC_INVALID_PARAMS);
		assert_null(strstr(e.msg, "k\"")); /* no key in a message */
	}
}

/* --- what the adapter mends --------------------------------------------------------------------------------- */

static void line(const char *method, const char *params)
{
	char text[2000];

	snprintf(text, sizeof(text),
		 "{\"jsonrpc\":\"2.0\",\"method\":\"%s\",\"params\":{\"sessionId\":\"n1\",%s}}",
		 method, params);
	assert_int_equal(fake_line(&f, slice_of(text)), 0);
}

static void update(const char *members)
{
	char text[1600];

	snprintf(text, sizeof(text), "\"update\":{\"sessionUpdate\":%s}", members);
	line("session/update", text);
}

static void expect(const char *want)
{
	assert_text(buf_slice(&f.log), want);
	buf_reset(&f.log);
}

static void begin(void)
{
	struct harness_req req = fake_request();

	req.mcp_servers = SLICE("[{\"name\":\"my tools\"}]");
	assert_true(fake_ready(&f, &harness_opencode, &req));
	assert_int_equal(fake_prompt(&f, "[]", NULL), 0);
	buf_reset(&f.log);
}

#define DIFF(file, was, is)                                                                        \
	"{\"type\":\"diff\",\"path\":\"" file "\",\"oldText\":" was ",\"newText\":\"" is "\"}"

/* The plugin knows what a call wrote; the update that ends the call is shown with it, and no other. */
static void test_changes_of_files(void **state _unused_)
{
	begin();
	line("_acpd/change", "\"callId\":\"c1\",\"diffs\":[" DIFF("/ws/a", "null", "new") "," DIFF(
				     "/ws/b", "\"old\"", "") "]");
	update("\"tool_call_update\",\"toolCallId\":\"c2\",\"status\":\"completed\"");
	expect("event tool_call_update {\"sessionUpdate\":\"tool_call_update\",\"toolCallId\":\"c2\","
	       "\"status\":\"completed\"}\n");
	update("\"tool_call_update\",\"toolCallId\":\"c1\",\"status\":\"completed\",\"content\":[{\"type\":\"x\"}]");
	expect("event tool_call_update {\"sessionUpdate\":\"tool_call_update\",\"toolCallId\":\"c1\","
	       "\"status\":\"completed\",\"content\":[{\"type\":\"x\"}," DIFF(
		       "/ws/a", "null", "new") "," DIFF("/ws/b", "\"old\"", "") "]}\n");
}

static void test_tools_of_servers_and_unknown_costs(void **state _unused_)
{
	begin();
	update("\"tool_call\",\"toolCallId\":\"c1\",\"title\":\"my_tools_add\"");
	expect("event tool_call {\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"c1\","
	       "\"name\":\"my tools/add\",\"title\":\"my tools.add\"}\n");
	update("\"tool_call_update\",\"toolCallId\":\"c1\",\"title\":\"my_tools_add\"");
	expect("event tool_call_update {\"sessionUpdate\":\"tool_call_update\",\"toolCallId\":\"c1\","
	       "\"title\":\"my tools.add\"}\n");
	update("\"usage_update\",\"used\":5,\"size\":9,\"cost\":{\"amount\":0,\"currency\":\"USD\"}");
	expect("event usage_update {\"sessionUpdate\":\"usage_update\",\"used\":5,\"size\":9}\n");
	update("\"usage_update\",\"used\":5,\"size\":9,\"cost\":{\"amount\":0.5,\"currency\":\"USD\"}");
	expect("event usage_update {\"sessionUpdate\":\"usage_update\",\"used\":5,\"size\":9,"
	       "\"cost\":{\"amount\":0.5,\"currency\":\"USD\"}}\n");
}

static void test_errors(void **state _unused_)
{
	static const struct {
		const char *error, *reply, *want;
	} rows[] = {
		{ "\"name\":\"ContextOverflowError\",\"message\":\"too long\",\"status\":400",
		  "end_turn", "end failed context_overflow 400 retryable=0 too long\n" },
		{ "\"name\":\"ContextOverflowError\",\"message\":\"too long\",\"status\":400",
		  "cancelled", "end cancelled\n" },
		{ "\"name\":\"UnknownError\",\"message\":\"JSON parsing failed: Text: {\"",
		  "end_turn", "end failed provider 0 retryable=1 JSON parsing failed: Text: {\n" },
		{ "\"name\":\"UnknownError\",\"message\":\"Agent not found\"", "end_turn",
		  "end failed provider 0 retryable=0 Agent not found\n" },
	};

	begin();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char reply[100];

		line("_acpd/error", rows[i].error);
		snprintf(reply, sizeof(reply), "{\"id\":%zu,\"result\":{\"stopReason\":\"%s\"}}",
			 i + 3, rows[i].reply);
		assert_int_equal(fake_line(&f, slice_of(reply)), 0);
		expect(rows[i].want);
		assert_int_equal(fake_prompt(&f, "[]", NULL), 0);
		buf_reset(&f.log);
	}
}

/* --- what is allowed without a question ---------------------------------------------------------------------- */

static bool is_unasked(const char *kind, const char *locations)
{
	char call[300];

	snprintf(call, sizeof(call), "{\"kind\":\"%s\",\"locations\":%s}", kind, locations);
	return opencode_quirks.reads_unasked(slice_of(call));
}

/* The files that the rules of OpenCode's own ask about: *.env and *.env.*, but not *.env.example. */
static void test_reads(void **state _unused_)
{
	static const struct {
		const char *path;
		bool unasked;
	} rows[] = {
		{ "/ws/a.txt", true },
		{ "/ws/.env", false },
		{ "/ws/.env.local", false },
		{ "/ws/prod.env", false },
		{ ".env", false },
		{ "/ws/prod.env.old", false },
		{ "/ws/.envrc", true },
		{ "/ws/.envoy.env", false },
		{ "/ws/env", true },
		{ "/ws/.environment.env.1", false },
		{ "/ws/.env/a.txt", true },
		{ "/ws/.env.example", true },
		{ "/ws/", true },
		{ "/ws/prod.env.example", true },
	};
	char locations[100];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		snprintf(locations, sizeof(locations), "[{\"path\":\"/ws/b\"},{\"path\":\"%s\"}]",
			 rows[i].path);
		if (is_unasked("read", locations) != rows[i].unasked)
			fail_row(i, rows[i].path);
	}
	assert_true(is_unasked("search", "[]"));
	assert_false(is_unasked("search", "[{\"path\":\"/ws/.env\"}]"));
	assert_false(is_unasked("edit", "[]"));
	assert_false(is_unasked("read", "[{\"path\":1}]"));
}

#define T(fn) cmocka_unit_test_teardown(fn, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_without_provider),
		T(test_skills_in_the_home),
		T(test_rules),
		T(test_environment_is_private_and_quiet),
		T(test_provider_apis),
		T(test_model_for_side_calls),
		T(test_silence),
		T(test_key_stays_in_its_variable),
		T(test_headers_and_odd_names),
		T(test_longest_model),
		T(test_refused_providers),
		T(test_changes_of_files),
		T(test_errors),
		T(test_tools_of_servers_and_unknown_costs),
		T(test_reads),
	};

	return RUN(tests, NULL, NULL);
}
