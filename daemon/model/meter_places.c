/*
 * meter_places.c - for each model API, the JSON paths of the values that call_meter.c collects.
 *
 * A stream wraps the same object that a plain answer is: `response.`, `message.`, or an array
 * element. meter_place removes that prefix, so one table serves both forms. The type, code and
 * message of an event are read only outside the wrapper. "*" is any array element, as in the paths
 * of jpush.
 */
#include "model/meter_places.h"

#include "base/util.h"

struct place {
	const char *path;
	int take;
};

#define TEXT(what) (TAKE_TEXT + (what))

#define ERROR_PLACES                                                                               \
	{ "error", TEXT(TEXT_ERROR_MESSAGE) }, { "error.message", TEXT(TEXT_ERROR_MESSAGE) },      \
		{ "error.code", TEXT(TEXT_ERROR_CODE) },                                           \
	{                                                                                          \
		"error.type", TEXT(TEXT_ERROR_TYPE)                                                \
	}

static const struct place responses[] = {
	{ "type", TEXT(TEXT_EVENT_TYPE) },
	{ "code", TEXT(TEXT_EVENT_CODE) },
	{ "message", TEXT(TEXT_EVENT_MESSAGE) },
	{ "model", TEXT(TEXT_MODEL) },
	{ "id", TEXT(TEXT_ID) },
	{ "status", TEXT(TEXT_FINISH) },
	{ "incomplete_details.reason", TEXT(TEXT_FINISH_DETAIL) },
	{ "service_tier", TEXT(TEXT_TIER) },
	{ "item.type", TAKE_OUTPUT_TYPE },
	{ "output.*.type", TAKE_OUTPUT_TYPE },
	{ "usage.input_tokens", COUNT_INPUT },
	{ "usage.input_tokens_details.cached_tokens", COUNT_CACHE_READ },
	{ "usage.input_tokens_details.cache_write_tokens", COUNT_CACHE_WRITE },
	{ "usage.output_tokens", COUNT_OUTPUT },
	{ "usage.output_tokens_details.reasoning_tokens", COUNT_REASONING },
	{ "usage.total_tokens", COUNT_TOTAL },
	{ "usage.cost", TAKE_COST },
	ERROR_PLACES,
	{ NULL, 0 },
};

static const struct place chat[] = {
	{ "model", TEXT(TEXT_MODEL) },
	{ "id", TEXT(TEXT_ID) },
	{ "choices.*.finish_reason", TEXT(TEXT_FINISH) },
	{ "service_tier", TEXT(TEXT_TIER) },
	{ "choices.*.delta.tool_calls.*.function.name", TAKE_TOOL },
	{ "choices.*.message.tool_calls.*.function.name", TAKE_TOOL },
	{ "usage.prompt_tokens", COUNT_INPUT },
	{ "usage.prompt_tokens_details.cached_tokens", COUNT_CACHE_READ },
	{ "usage.prompt_tokens_details.cache_write_tokens", COUNT_CACHE_WRITE },
	{ "usage.prompt_cache_hit_tokens", COUNT_CACHE_READ },
	{ "usage.completion_tokens", COUNT_OUTPUT },
	{ "usage.completion_tokens_details.reasoning_tokens", COUNT_REASONING },
	{ "usage.total_tokens", COUNT_TOTAL },
	{ "usage.cost", TAKE_COST },
	ERROR_PLACES,
	{ NULL, 0 },
};

static const struct place anthropic[] = {
	{ "type", TEXT(TEXT_EVENT_TYPE) },
	{ "model", TEXT(TEXT_MODEL) },
	{ "id", TEXT(TEXT_ID) },
	{ "stop_reason", TEXT(TEXT_FINISH) },
	{ "delta.stop_reason", TEXT(TEXT_FINISH) },
	{ "usage.service_tier", TEXT(TEXT_TIER) },
	{ "content_block.type", TAKE_OUTPUT_TYPE },
	{ "content.*.type", TAKE_OUTPUT_TYPE },
	{ "usage.input_tokens", COUNT_INPUT },
	{ "usage.cache_read_input_tokens", COUNT_CACHE_READ },
	{ "usage.cache_creation_input_tokens", COUNT_CACHE_WRITE },
	{ "usage.cache_creation.ephemeral_5m_input_tokens", COUNT_CACHE_WRITE_5M },
	{ "usage.cache_creation.ephemeral_1h_input_tokens", COUNT_CACHE_WRITE_1H },
	{ "usage.output_tokens", COUNT_OUTPUT },
	{ "usage.output_tokens_details.thinking_tokens", COUNT_REASONING },
	{ "usage.output_tokens_details.reasoning_tokens", COUNT_REASONING },
	{ "usage.cost", TAKE_COST },
	ERROR_PLACES,
	{ NULL, 0 },
};

static const struct place google[] = {
	{ "modelVersion", TEXT(TEXT_MODEL) },
	{ "responseId", TEXT(TEXT_ID) },
	{ "candidates.*.finishReason", TEXT(TEXT_FINISH) },
	{ "promptFeedback.blockReason", TEXT(TEXT_FINISH) },
	{ "candidates.*.content.parts.*.functionCall.name", TAKE_TOOL },
	{ "usageMetadata.promptTokenCount", COUNT_INPUT },
	{ "usageMetadata.toolUsePromptTokenCount", TAKE_TOOL_PROMPT },
	{ "usageMetadata.cachedContentTokenCount", COUNT_CACHE_READ },
	{ "usageMetadata.candidatesTokenCount", COUNT_OUTPUT },
	{ "usageMetadata.thoughtsTokenCount", COUNT_REASONING },
	{ "usageMetadata.totalTokenCount", COUNT_TOTAL },
	{ "error.message", TEXT(TEXT_ERROR_MESSAGE) },
	{ "error.code", TEXT(TEXT_ERROR_CODE) },
	{ "error.status", TEXT(TEXT_ERROR_TYPE) },
	{ NULL, 0 },
};

/* prefix: what stands around the same object in a stream. */
static const struct {
	const struct place *places;
	const char *prefix;
} apis[MODEL_API_MAX] = {
	[MODEL_OPENAI_RESPONSES] = { responses, "response." },
	[MODEL_OPENAI_CHAT] = { chat, "" },
	[MODEL_ANTHROPIC] = { anthropic, "message." },
	[MODEL_GOOGLE] = { google, "*." },
};

int meter_place(enum model_api api, const char *path)
{
	const char *prefix = apis[api].prefix;
	bool inner = *prefix && strncmp(path, prefix, strlen(prefix)) == 0;

	path += inner ? strlen(prefix) : 0;
	for (const struct place *p = apis[api].places; p->path; p++)
		/* The first byte before strcmp: this runs for every value of a stream. */
		if (*p->path == *path && strcmp(p->path, path) == 0)
			/* the type of what is inside is not the event's */
			return inner && p->take >= TEXT(TEXT_EVENT_TYPE) ? -1 : p->take;
	return -1;
}

static bool is_type_among(const char *word, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(words[i], word) == 0)
			return true;
	return false;
}

bool meter_type_ends(enum model_api api, const char *type)
{
	static const char *const ends[] = { "response.completed", "response.incomplete",
					    "response.failed" };

	/* The others have no such event: openai-chat ends with [DONE], Google with its usage (call_meter.c). */
	if (api == MODEL_ANTHROPIC)
		return strcmp(type, "message_stop") == 0;
	return api == MODEL_OPENAI_RESPONSES && is_type_among(type, ends, ARRAY_SIZE(ends));
}

bool meter_type_is_tool(const char *type)
{
	static const char *const tools[] = {
		"function_call",    "custom_tool_call", "local_shell_call", "shell_call",
		"apply_patch_call", "computer_call",	"tool_use",	    "tool_calls",
	};

	return is_type_among(type, tools, ARRAY_SIZE(tools));
}
