/* What of a model API passes: paths, headers of requests, headers of answers. */
#include "base/util.h"
#include "model/model_api.h"
#include "unit.h"

static const struct {
	enum model_api api;
	const char *method, *path;
	bool passes;
	const char *model; /* that the path names */
} paths[] = {
	{ MODEL_OPENAI_RESPONSES, "POST", "/v1/responses", true, "" },
	{ MODEL_OPENAI_RESPONSES, "POST", "/v1/responses?stream=true", true, "" },
	{ MODEL_OPENAI_RESPONSES, "GET", "/v1/responses", false, "" },
	{ MODEL_OPENAI_RESPONSES, "POST", "/v1/chat/completions", false, "" },
	{ MODEL_OPENAI_CHAT, "POST", "/v1/chat/completions", true, "" },
	{ MODEL_OPENAI_CHAT, "POST", "/v1/chat/completions/", false, "" },
	{ MODEL_OPENAI_CHAT, "POST", "//v1/chat/completions", false, "" },
	{ MODEL_OPENAI_CHAT, "POST", "/v1/./chat/completions", false, "" },
	{ MODEL_OPENAI_CHAT, "POST", "/v1/chat%2Fcompletions", false, "" },
	{ MODEL_OPENAI_CHAT, "POST", "/V1/chat/completions", false, "" },
	{ MODEL_OPENAI_CHAT, "POST", "http://x/v1/chat/completions", false, "" },
	{ MODEL_OPENAI_CHAT, "post", "/v1/chat/completions", false, "" },
	{ MODEL_OPENAI_CHAT, "GET", "/v1/models", true, "" },
	{ MODEL_OPENAI_CHAT, "GET", "/v1/models/gpt-5.5", true, "" },
	{ MODEL_OPENAI_CHAT, "GET", "/v1/models/", false, "" },
	{ MODEL_OPENAI_CHAT, "GET", "/v1/models/..", false, "" },
	{ MODEL_OPENAI_CHAT, "GET", "/v1/models/a/b", false, "" },
	{ MODEL_OPENAI_CHAT, "GET", "/v1/models/a%2fb", false, "" },
	{ MODEL_OPENAI_CHAT, "GET", "/v1/models?a=b\\c", false, "" },
	{ MODEL_OPENAI_CHAT, "DELETE", "/v1/models/a", false, "" },
	{ MODEL_ANTHROPIC, "POST", "/v1/messages?beta=true", true, "" },
	{ MODEL_ANTHROPIC, "POST", "/v1/messages/count_tokens", true, "" },
	{ MODEL_ANTHROPIC, "POST", "/v1/messages/batches", false, "" },
	{ MODEL_GOOGLE, "POST", "/v1beta/models/g-2.5:generateContent", true, "g-2.5" },
	{ MODEL_GOOGLE, "POST", "/v1beta/models/g:streamGenerateContent?alt=sse", true, "g" },
	{ MODEL_GOOGLE, "POST", "/v1beta/models/g:countTokens", true, "g" },
	{ MODEL_GOOGLE, "POST", "/v1beta/models/:generateContent", false, "" },
	{ MODEL_GOOGLE, "POST", "/v1beta/models/a:b:generateContent", false, "" },
	{ MODEL_GOOGLE, "POST", "/v1beta/tunedModels/g:generateContent", false, "" },
	{ MODEL_GOOGLE, "POST", "/v1/models/g:generateContent", false, "" },
};

static void only_calls_of_the_api_pass(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		struct slice path = slice_of(paths[i].path);
		bool passes = model_path_passes(paths[i].api, SLICE_NONE, slice_of(paths[i].method),
						path);

		if (passes != paths[i].passes ||
		    (passes && !slice_is(model_of_path(paths[i].api, path), paths[i].model)))
			fail_row(i, paths[i].path);
	}
}

#define MORE                                                                                       \
	"[\"POST /v1/embeddings\", \"GET /v1/files/*\",\"POST /v1/responses/*/cancel\","           \
	"\"POST /v1/models/*:embed\"]"

static const struct {
	const char *method, *path;
	bool passes;
} more_paths[] = {
	{ "POST", "/v1/embeddings", true },
	{ "POST", "/v1/embeddings?a=b", true },
	{ "GET", "/v1/embeddings", false },
	{ "POST", "/v1/embeddings/", false },
	{ "POST", "/v1/embeddings/x", false },
	{ "GET", "/v1/files/f-1", true },
	{ "GET", "/v1/files/", false },
	{ "GET", "/v1/files/..", false },
	{ "GET", "/v1/files/a/b", false },
	{ "GET", "/v1/files/a%2fb", false },
	{ "POST", "/v1/responses/r_1/cancel", true },
	{ "POST", "/v1/responses//cancel", false },
	{ "POST", "/v1/responses/a/b/cancel", false },
	{ "POST", "/v1/models/m:embed", true },
	{ "POST", "/v1/models/m:other", false },
	{ "POST", "/v1/chat/completions", true },
};

static void what_a_session_adds_passes_too(void **state _unused_)
{
	struct err e = { 0 };

	assert_int_equal(model_paths_check(MODEL_OPENAI_CHAT, SLICE(MORE), "paths", &e), 0);
	for (size_t i = 0; i < ARRAY_SIZE(more_paths); i++)
		if (model_path_passes(MODEL_OPENAI_CHAT, SLICE(MORE),
				      slice_of(more_paths[i].method),
				      slice_of(more_paths[i].path)) != more_paths[i].passes)
			fail_row(i, more_paths[i].path);
	assert_text(model_of_path(MODEL_OPENAI_CHAT, SLICE("/v1/models/m:embed?x=/v1/models/n:a")),
		    "m");
	assert_text(model_of_path(MODEL_OPENAI_CHAT, SLICE("/v1/x?x=/v1/models/n:a")), "");
}

static void rows_that_say_more_than_a_path_are_refused(void **state _unused_)
{
	static const char *const rows[] = {
		"7",
		"null",
		"[]",
		"\"\"",
		"\"/v1/x\"",
		"\"POST\"",
		"\"POST \"",
		"\"POST /v1\"",
		"\"POST /v1/\"",
		"\"POST /v1x/y\"",
		"\"POST /v1beta/x\"",
		"\"POST v1/x\"",
		"\"POST  /v1/x\"",
		"\"post /v1/x\"",
		"\"DELETE /v1/x\"",
		"\"POST /v1/x \"",
		"\"POST /v1/x/\"",
		"\"POST /v1//x\"",
		"\"POST /v1/./x\"",
		"\"POST /v1/../x\"",
		"\"POST /v1/x/..\"",
		"\"POST /v1/%2e%2e/x\"",
		"\"POST /v1/x?y=z\"",
		"\"POST /v1/x#y\"",
		"\"POST /v1/x\\u002fy\"",
		"\"POST /v1/x\\/y\"",
		"\"POST /v1/a*\"",
		"\"POST /v1/*a\"",
		"\"POST /v1/**\"",
		"\"POST /v1/*/*\"",
		"\"POST /v1/a:*\"",
		"\"POST /v1/\xc3\xa4\"",
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char list[80];
		struct err e = { 0 };

		snprintf(list, sizeof(list), "[\"GET /v1/good\",%s]", rows[i]);
		if (model_paths_check(MODEL_OPENAI_CHAT, slice_of(list), "paths", &e) >= 0 ||
		    strcmp(e.field, "paths[1]") != 0 || strcmp(e.reason, "FIELD_INVALID") != 0)
			fail_row(i, rows[i]);
	}
	assert_int_equal(
		model_paths_check(MODEL_GOOGLE, SLICE("[\"POST /v1beta/*:x\"]"), "p", NULL), 0);
}

static void some_calls_use_tokens(void **state _unused_)
{
	static const struct {
		enum model_api api;
		const char *method, *path;
		bool want;
	} rows[] = {
		{ MODEL_OPENAI_RESPONSES, "POST", "/v1/responses", true },
		{ MODEL_OPENAI_RESPONSES, "GET", "/v1/responses", false },
		{ MODEL_OPENAI_CHAT, "POST", "/v1/chat/completions?a=b", true },
		{ MODEL_OPENAI_CHAT, "POST", "/v1/embeddings", false },
		{ MODEL_OPENAI_CHAT, "GET", "/v1/models", false },
		{ MODEL_ANTHROPIC, "POST", "/v1/messages?beta=true", true },
		{ MODEL_ANTHROPIC, "POST", "/v1/messages/count_tokens", false },
		{ MODEL_GOOGLE, "POST", "/v1beta/models/g:streamGenerateContent?alt=sse", true },
		{ MODEL_GOOGLE, "POST", "/v1beta/models/g:generateContent", true },
		{ MODEL_GOOGLE, "POST", "/v1beta/models/g:countTokens", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (model_path_generates(rows[i].api, slice_of(rows[i].method),
					 slice_of(rows[i].path)) != rows[i].want)
			fail_row(i, rows[i].path);
}

static const struct {
	enum model_api api;
	const char *lines, *want;
} requests[] = {
	{ MODEL_OPENAI_CHAT, "", "{\"accept-encoding\":\"identity\"}" },
	{ MODEL_OPENAI_CHAT,
	  "Authorization: Bearer k\r\nX-Api-Key: k\r\nCookie: c\r\nHost: h\r\nAccept-Encoding: br\r\n",
	  "{\"accept-encoding\":\"identity\"}" },
	{ MODEL_OPENAI_RESPONSES, "User-Agent: u\r\nX-Codex-Turn: \"t\"\r\nX-Codex-: no\r\n",
	  "{\"user-agent\":\"u\",\"x-codex-turn\":\"\\\"t\\\"\",\"accept-encoding\":\"identity\"}" },
	{ MODEL_OPENAI_CHAT, "X-Opencode-Session-Id: s\r\nX-Session-Id: s\r\n",
	  "{\"x-opencode-session-id\":\"s\",\"x-session-id\":\"s\",\"accept-encoding\":\"identity\"}" },
	{ MODEL_OPENAI_CHAT, "Accept: a\r\naccept: b\r\n",
	  "{\"accept\":\"a\",\"accept-encoding\":\"identity\"}" },
	{ MODEL_ANTHROPIC, "Anthropic-Beta: a,b\r\nOpenAI-Beta: x\r\n",
	  "{\"anthropic-beta\":\"a,b\",\"accept-encoding\":\"identity\"}" },
	{ MODEL_GOOGLE, "x-goog-api-key: k\r\nx-goog-api-client: g\xff\r\n",
	  "{\"x-goog-api-client\":\"g\xef\xbf\xbd\",\"accept-encoding\":\"identity\"}" },
};

static void headers_of_a_request_pass_by_name(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
		_cleanup_(buf_done) struct buf b = { 0 };
		struct jw w = JW(&b);

		jw_obj(&w, NULL);
		model_request_headers(requests[i].api, slice_of(requests[i].lines), &w);
		jw_end_obj(&w);
		if (!slice_is(buf_slice(&b), requests[i].want))
			fail_row(i, requests[i].lines);
	}
}

static void headers_of_an_answer_pass_by_name(void **state _unused_)
{
	static const char *const pass[] = { "Content-Type", "retry-after",
					    "X-RateLimit-Limit-Tokens", "request-id" };
	static const char *const stay[] = { "Set-Cookie",	 "content-length",
					    "transfer-encoding", "content-encoding",
					    "x-ratelimit-",	 "",
					    "connection" };

	for (size_t i = 0; i < ARRAY_SIZE(pass); i++)
		if (!model_answer_header_passes(slice_of(pass[i])))
			fail_row(i, pass[i]);
	for (size_t i = 0; i < ARRAY_SIZE(stay); i++)
		if (model_answer_header_passes(slice_of(stay[i])))
			fail_row(i, stay[i]);
}

static void names_lead_to_their_api_and_back(void **state _unused_)
{
	for (int i = 0; i < MODEL_API_MAX; i++)
		assert_int_equal(model_api_find(model_api_name((enum model_api)i)), i);
	assert_int_equal(model_api_find("openai"), -1);
}

static void the_answer_asked_for_is_found(void **state _unused_)
{
	static const struct {
		const char *body;
		uint64_t want;
	} rows[] = {
		{ "", 0 },
		{ "{}", 0 },
		{ "{\"max_output_tokens\":5}", 5 },
		{ "{\"max_tokens\":5,\"max_completion_tokens\":7}", 7 },
		{ "{\"max_tokens\":-5}", 0 },
		{ "{\"max_tokens\":\"5\"}", 0 },
		{ "{\"max_tokens\":null}", 0 },
		{ "{\"generationConfig\":{\"maxOutputTokens\":9}}", 9 },
		{ "{\"generationConfig\":[9]}", 0 },
		{ "{\"messages\":[{\"max_tokens\":5}]}", 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (model_output_asked(slice_of(rows[i].body)) != rows[i].want)
			fail_row(i, rows[i].body);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_calls_of_the_api_pass),
		cmocka_unit_test(some_calls_use_tokens),
		cmocka_unit_test(what_a_session_adds_passes_too),
		cmocka_unit_test(rows_that_say_more_than_a_path_are_refused),
		cmocka_unit_test(the_answer_asked_for_is_found),
		cmocka_unit_test(headers_of_a_request_pass_by_name),
		cmocka_unit_test(headers_of_an_answer_pass_by_name),
		cmocka_unit_test(names_lead_to_their_api_and_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
