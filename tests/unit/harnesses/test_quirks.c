/* The quirk table: what a row renders, and recorded conversations with the real agents that it was measured on. */
#include "replay.h"

#include "harnesses/harness.h"
#include "harnesses/acp/quirks.h"
#include "harnesses/registry.h"
#include "harnesses/spawn_plan.h"
#include "json/jstr.h"

static struct harness_plan plan;
static struct harness_provider provider;
static struct buf seen;

static int teardown(void **state)
{
	harness_plan_done(&plan);
	harness_provider_done(&provider);
	buf_done(&seen);
	return replay_teardown(state);
}

/* --- what a row renders ------------------------------------------------------------------------------------- */

static int make_plan(const char *name, const char *raw_provider, struct harness_req *req)
{
	static struct slice raw;
	struct err e;

	raw = slice_of(raw_provider);
	harness_plan_done(&plan);
	harness_provider_done(&provider);
	req->home = "/h";
	if (raw.n) {
		assert_int_equal(harness_provider_parse(raw, &provider, &e), 0);
		req->provider = &provider;
		req->model = provider.model;
	}
	return acp_quirks_plan(harness_quirks_find(name), req, &plan, &e);
}

static void test_silence_cannot_be_limited(void **state _unused_)
{
	static const char *const names[] = { "copilot", "claude", "gemini", "" };
	struct harness_provider p = { .idle_timeout_ms = 45000 };
	struct harness_req req = { .home = "/h", .provider = &p };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct harness_def def = { .command = "x",
					   .quirks = harness_quirks_find(names[i]) };
		struct err e = { 0 };

		harness_plan_done(&plan);
		assert_true(harness_acp.plan(&def, &req, &plan, &e) < 0);
		assert_string_equal(e.reason, "PARAM_UNSUPPORTED");
		assert_string_equal(e.field, "_meta.acpd.provider.idleTimeoutMs");
	}
}

#define PROVIDER(api, url)                                                                         \
	"{\"api\":\"" api "\",\"baseUrl\":\"" url "\",\"key\":\"k\",\"model\":\"m\","              \
	"\"headers\":{\"x-a\":\"1\",\"x-b\":\"2\"}}"

static void check_env(const char *name, const char *want)
{
	const char *got = harness_plan_getenv(&plan, name);

	if (!want)
		assert_null(got);
	else
		assert_string_equal(got ? got : "(none)", want);
}

static void test_provider_in_the_agents_words(void **state _unused_)
{
	static const struct {
		const char *quirks, *provider, *name, *value;
	} rows[] = {
		{ "copilot", PROVIDER("openai-chat", "http://g/v1"), "COPILOT_PROVIDER_BASE_URL",
		  "http://g/v1" },
		{ "copilot", PROVIDER("openai-chat", "http://g/v1"), "COPILOT_PROVIDER_WIRE_API",
		  "completions" },
		{ "copilot", PROVIDER("openai-responses", "http://g/v1"),
		  "COPILOT_PROVIDER_WIRE_API", "responses" },
		{ "copilot", PROVIDER("anthropic", "http://g/v1/"), "COPILOT_PROVIDER_BASE_URL",
		  "http://g" },
		{ "copilot", PROVIDER("openai-chat", "http://g/v1"), "COPILOT_OFFLINE", "true" },
		{ "copilot", "", "COPILOT_OFFLINE", NULL },
		{ "copilot", "", "COPILOT_MODEL", NULL },
		{ "copilot", "", "COPILOT_HOME", "/h/.copilot" },
		{ "claude", PROVIDER("anthropic", "http://g/v1"), "ANTHROPIC_BASE_URL",
		  "http://g" },
		{ "claude", PROVIDER("anthropic", "http://g/v1"), "ANTHROPIC_AUTH_TOKEN", "k" },
		{ "claude", PROVIDER("anthropic", "http://g/v1"), "ANTHROPIC_CUSTOM_HEADERS",
		  "x-a: 1\nx-b: 2" },
		{ "claude", PROVIDER("anthropic", "http://g/v1"), "ANTHROPIC_MODEL", "m" },
		{ "claude", PROVIDER("anthropic", "http://g/v1"), "ANTHROPIC_SMALL_FAST_MODEL",
		  "m" },
		{ "claude",
		  "{\"api\":\"anthropic\",\"key\":\"k\",\"model\":\"m\",\"smallModel\":\"s\"}",
		  "ANTHROPIC_SMALL_FAST_MODEL", "s" },
		{ "gemini", PROVIDER("google", "http://g/v1beta"), "GOOGLE_GEMINI_BASE_URL",
		  "http://g" },
		{ "gemini", PROVIDER("google", "http://g"), "GOOGLE_GEMINI_BASE_URL", "http://g" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct harness_req req = fake_request();

		assert_int_equal(make_plan(rows[i].quirks, rows[i].provider, &req), 0);
		check_env(rows[i].name, rows[i].value);
	}
}

static void test_api_that_the_agent_has_no_client_for(void **state _unused_)
{
	struct harness_req req = fake_request();

	assert_int_equal(make_plan("claude", PROVIDER("openai-chat", "http://g"), &req), -EINVAL);
	assert_int_equal(make_plan("gemini", PROVIDER("anthropic", "http://g"), &req), -EINVAL);
	assert_int_equal(make_plan("copilot", PROVIDER("google", "http://g"), &req), -EINVAL);
}

#define STDIO                                                                                      \
	"{\"name\":\"s\",\"command\":\"/s\",\"args\":[\"a\"],\"env\":[{\"name\":\"N\",\"value\":\"V\"}]}"
#define HTTP "{\"type\":\"http\",\"name\":\"h\",\"url\":\"http://h\",\"headers\":[]}"

/* Copilot refuses stdio servers in session/new: they go to its configuration, the others to session/new. */
static void test_servers_that_the_agent_refuses(void **state _unused_)
{
	struct harness_req req = fake_request();

	req.mcp_servers = SLICE("[" STDIO "," HTTP "]");
	assert_int_equal(make_plan("copilot", "", &req), 0);
	assert_int_equal(plan.nfiles, 1);
	assert_string_equal(plan.files[0].name, ".copilot/mcp-config.json");
	assert_string_equal(plan.files[0].value,
			    "{\"mcpServers\":{\"s\":{\"type\":\"local\",\"command\":\"/s\","
			    "\"args\":[\"a\"],\"env\":{\"N\":\"V\"},\"tools\":[\"*\"]}}}");
}

static const char *start(const char *name, const struct harness_req *req)
{
	f.quirks = harness_quirks_find(name);
	assert_int_equal(fake_open(&f, &harness_acp, req), 0);
	buf_reset(&f.log);
	assert_int_equal(fake_line(&f, SLICE("{\"id\":1,\"result\":{\"protocolVersion\":1}}")), 0);
	buf_putc(&f.log, '\0');
	return f.log.data;
}

static void test_session_new(void **state _unused_)
{
	struct harness_req req = fake_request();

	req.mcp_servers = SLICE("[" STDIO "," HTTP "]");
	assert_non_null(strstr(start("copilot", &req), "\"mcpServers\":[" HTTP "]"));
	fake_close(&f);
	req.system_prompt = "be brief";
	assert_non_null(strstr(start("claude", &req),
			       "\"_meta\":{\"systemPrompt\":{\"append\":\"be brief\"}}"));
	fake_close(&f);
	req.system_override = true;
	assert_non_null(strstr(start("claude", &req), "\"_meta\":{\"systemPrompt\":\"be brief\"}"));
}

#define ASK                                                                                             \
	"{\"id\":7,\"method\":\"session/request_permission\",\"params\":{\"toolCall\":{\"toolCallId\":" \
	"\"c\"},\"options\":[{\"optionId\":\"o\",\"name\":\"n\",\"kind\":\"allow_once\"}]}}"

/* The mode is set before the session is ready; what is asked all the same is answered. */
static void test_nothing_is_asked(void **state _unused_)
{
	struct harness_req req = fake_request();

	req.approval = APPROVAL_NEVER;
	start("gemini", &req);
	buf_reset(&f.log);
	fake_line(&f, SLICE("{\"id\":2,\"result\":{\"sessionId\":\"n\",\"modes\":{"
			    "\"currentModeId\":\"default\",\"availableModes\":[]}}}"));
	assert_buf(&f.log, "send {\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"session/set_mode\","
			   "\"params\":{\"sessionId\":\"n\",\"modeId\":\"yolo\"}}\n");
	buf_reset(&f.log);
	fake_line(&f, SLICE("{\"id\":3,\"result\":{}}"));
	assert_buf(&f.log, "ready n restored=0 caps= modes={\"currentModeId\":\"yolo\","
			   "\"availableModes\":[]}\n");
	buf_reset(&f.log);
	fake_line(&f, SLICE(ASK));
	assert_buf(&f.log, "send {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"outcome\":{"
			   "\"outcome\":\"selected\",\"optionId\":\"o\"}}}\n");
	assert_int_equal(f.asks, 0);
}

/* --- recorded conversations --------------------------------------------------------------------------------- */

static void keep_line(struct slice line)
{
	static const char *const wanted[] = { "usage ", "end ", "event notice" };

	if (slice_starts(line, "ask ")) {
		buf_printf(&seen, "%.*s\n", 16, line.p);
		return;
	}
	if (slice_starts(line, "reply 1 ")) {
		buf_printf(&seen, "reply %.*s\n", 103, line.p + 8);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		if (slice_starts(line, wanted[i])) {
			buf_printf(&seen, "%.*s\n", (int)MIN(line.n, 120u), line.p);
			return;
		}
}

/* The adapter counts its requests as the recording client did: the ids fit. */
static void client_side(struct slice m)
{
	struct jval method = jobj_get(m, "method"), result = jobj_get(m, "result");

	if (jstr_is(method, "session/prompt"))
		assert_int_equal(f.ops->prompt(f.h,
					       jobj_get(jobj_get(m, "params").raw, "prompt").raw,
					       SLICE_NONE, &f.err),
				 0);
	else if (jstr_is(method, "session/set_model"))
		assert_int_equal(f.ops->set_config(
					 f.h, 1, SLICE("\"configId\":\"model\",\"value\":\"auto\""),
					 &f.err),
				 0);
	else if (jstr_is(method, "session/set_mode"))
		assert_int_equal(f.ops->set_mode(f.h, 2, "autoEdit", &f.err), 0);
	else if (result.type == J_OBJECT)
		f.ops->answer(f.h, asked, result.raw);
	take_log();
}

static void replay(const char *quirks, const char *name, const char *want)
{
	static const struct replay_side side = { .dir = "tests/fixtures/agents/",
						 .client = client_side };
	struct slice rest, line;

	f.quirks = harness_quirks_find(quirks);
	assert_int_equal(fake_open(&f, &harness_acp, NULL), 0);
	replay_file(&side, name);
	rest = buf_slice(&said);
	while (next_line(&rest, &line))
		keep_line(line);
	assert_buf(&seen, want);
}

/* Where there are rules the agent stays in the mode that asks, and the core is told what its approval allows. */
static void test_rules(void **state _unused_)
{
	struct harness_req req = fake_request();

	req.approval = APPROVAL_NEVER;
	f.rules = HARNESS_RULES;
	start("gemini", &req);
	buf_reset(&f.log);
	fake_line(&f, SLICE("{\"id\":2,\"result\":{\"sessionId\":\"n\",\"modes\":{"
			    "\"currentModeId\":\"default\",\"availableModes\":[]}}}"));
	assert_buf(&f.log, "ready n restored=0 caps= modes={\"currentModeId\":\"default\","
			   "\"availableModes\":[]}\n");
	buf_reset(&f.log);
	fake_line(&f, SLICE(ASK));
	assert_int_equal(f.asks, 1);
	assert_non_null(memmem(f.log.data, f.log.len, "ask 1 permission approved {", 27));
	f.rules = 0;
}

#define EDIT(locations)                                                                            \
	"{\"id\":9,\"method\":\"session/request_permission\",\"params\":{\"sessionId\":\"n\","     \
	"\"toolCall\":{\"toolCallId\":\"c\",\"kind\":\"edit\"" locations                           \
	"},\"options\":[{\"optionId\":\"a\",\"name\":\"N\",\"kind\":\"allow_once\"}]}}"

/* An edit is accepted unasked if it names its files, and all of them lie in the workspace. */
static void test_accepted_edits(void **state _unused_)
{
	static const struct {
		const char *line;
		bool approved;
	} rows[] = {
		{ EDIT(",\"locations\":[{\"path\":\"a\"}]"), true },
		{ EDIT(",\"locations\":[{\"path\":\"a\"},{\"path\":\"/elsewhere\"}]"), false },
		{ EDIT(",\"locations\":[]"), false },
		{ EDIT(""), false },
	};
	struct harness_req req = fake_request();

	req.approval = APPROVAL_ACCEPT_EDITS;
	f.rules = HARNESS_RULES;
	start("gemini", &req);
	fake_line(&f, SLICE("{\"id\":2,\"result\":{\"sessionId\":\"n\"}}"));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		buf_reset(&f.log);
		fake_line(&f, slice_of(rows[i].line));
		assert_int_equal(memmem(f.log.data, f.log.len, " approved {", 11) != NULL,
				 rows[i].approved);
	}
	f.rules = 0;
}

static void test_copilot_errors(void **state _unused_)
{
	replay("copilot", "copilot-errors",
	       "event notice {\"sessionUpdate\":\"notice\",\"severity\":\"warning\",\"title\":\"Request failed due to a transient API error. Retryi\n"
	       "event notice {\"sessionUpdate\":\"notice\",\"severity\":\"warning\",\"title\":\"Request failed due to a transient API error. Retryi\n"
	       "end failed auth 401 retryable=0 Authentication failed with provider at http://127.0.0.1:18080/v1 (HTTP 401).   Check you\n"
	       "end failed rate_limit 429 retryable=1 Failed to get response from the AI model; retried 5 times (total retry wait time: \n");
}

static void test_copilot_tool(void **state _unused_)
{
	replay("copilot", "copilot-tool",
	       "ask 1 permission\n"
	       "usage turn input=2400 output=80 cache_read=400 cache_write=0 reasoning=16 total=2480\n"
	       "end end_turn\n"
	       "ask 2 permission\n"
	       "usage turn input=2400 output=80 cache_read=400 cache_write=0 reasoning=16 total=2480\n"
	       "end end_turn\n");
}

static void test_claude_errors(void **state _unused_)
{
	replay("claude", "claude-errors",
	       "end failed auth 401 retryable=0 Failed to authenticate. API Error: 401 fake provider error 401\n"
	       "end failed rate_limit 429 retryable=1 API Error: Request rejected (429) \302\267 fake provider error 429\n"
	       "end failed provider 500 retryable=1 API Error: 500 fake provider error 500. This is a server-side issue, usually tempora\n"
	       "usage turn input=1200 output=40 cache_read=200 cache_write=0 total=1240 cost=19360000000 model=fake-model\n"
	       "end end_turn\n");
}

static void test_gemini_approval(void **state _unused_)
{
	replay("gemini", "gemini-approval",
	       "ask 1 permission\n"
	       "usage turn input=2400 model=gemini-2.5-flash\n"
	       "end end_turn\n");
}

static void test_gemini_models(void **state _unused_)
{
	replay("gemini", "gemini-models",
	       "reply {\"configOptions\":[{\"id\":\"model\",\"name\":\"Model\",\"category\":\"model\",\"type\":\"select\",\"currentValue\":\"auto\"\n"
	       "usage turn input=1200 model=gemini-3.8-flash\n"
	       "end end_turn\n");
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, replay_setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_provider_in_the_agents_words),
		T(test_silence_cannot_be_limited),
		T(test_api_that_the_agent_has_no_client_for),
		T(test_servers_that_the_agent_refuses),
		T(test_session_new),
		T(test_nothing_is_asked),
		T(test_copilot_errors),
		T(test_copilot_tool),
		T(test_claude_errors),
		T(test_rules),
		T(test_accepted_edits),
		T(test_gemini_approval),
		T(test_gemini_models),
	};

	return RUN(tests, NULL, NULL);
}
