/*
 * provider_error.c - maps provider statuses, error names and texts to the error classes of a turn.
 *
 * Providers report the same condition differently: by HTTP status, by a name inside an answer of
 * status 200, or only in the message. Names map to the status that the provider would have sent, so
 * both follow the same rules. Text decides only where a status is ambiguous: 400 and 413 can be a
 * context overflow, 429 can be an exhausted quota. Matching is by substring, and the lists contain
 * texts of known providers.
 */
#include "harnesses/provider.h"

#include "base/util.h"

static const struct {
	int status;
	const char *cls;
} statuses[] = {
	{ 401, "auth" },
	{ 403, "auth" },
	{ 402, "quota" },
	{ 429, "rate_limit" },
};

/* The status that each means: an answer that began as 200 cannot say it otherwise. */
static const struct {
	const char *word;
	int status;
} words[] = {
	{ "overloaded_error", 529 },
	{ "overloaded", 529 },
	{ "server_overloaded", 529 },
	{ "server_is_overloaded", 529 },
	{ "rate_limit_error", 429 },
	{ "rate_limit_exceeded", 429 },
	{ "too_many_requests", 429 },
	{ "RESOURCE_EXHAUSTED", 429 },
	{ "insufficient_quota", 402 },
	{ "billing_error", 402 },
	{ "billing_hard_limit_reached", 402 },
	{ "authentication_error", 401 },
	{ "invalid_api_key", 401 },
	{ "UNAUTHENTICATED", 401 },
	{ "permission_error", 403 },
	{ "PERMISSION_DENIED", 403 },
	{ "context_length_exceeded", 413 },
	{ "request_too_large", 413 },
	{ "invalid_request_error", 400 },
	{ "invalid_request", 400 },
	{ "invalid_prompt", 400 },
	{ "INVALID_ARGUMENT", 400 },
	{ "FAILED_PRECONDITION", 400 },
	{ "not_found_error", 404 },
	{ "model_not_found", 404 },
	{ "NOT_FOUND", 404 },
	{ "timeout_error", 504 },
	{ "DEADLINE_EXCEEDED", 504 },
	{ "UNAVAILABLE", 503 },
	{ "api_error", 500 },
	{ "server_error", 500 },
	{ "internal_error", 500 },
	{ "INTERNAL", 500 },
};

static const char *const overflow_texts[] = {
	"context_length_exceeded", "maximum context length", "context window",
	"prompt is too long",	   "exceeds the context",    "input is too long",
	"input token count",	   "too many tokens",
};

static const char *const quota_texts[] = { "insufficient_quota", "usage limit", "usage_limit",
					   "billing", "exceeded your current quota" };

static bool has_text(const char *text, const char *const *texts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcasestr(text, texts[i]))
			return true;
	return false;
}

bool provider_text_overflow(const char *text)
{
	return has_text(text, overflow_texts, ARRAY_SIZE(overflow_texts));
}

bool provider_text_quota(const char *text)
{
	return has_text(text, quota_texts, ARRAY_SIZE(quota_texts));
}

void provider_error_by_status(struct turn_error *te, int status)
{
	te->http_status = status;
	te->cls = "provider";
	/* Timeout, too many requests, and errors of the server (RFC 9110, RFC 6585): the same request
	 * can succeed later. */
	te->retryable = status == 408 || status == 429 || status >= 500;
	for (size_t i = 0; i < ARRAY_SIZE(statuses); i++)
		if (statuses[i].status == status)
			te->cls = statuses[i].cls;
	if ((status == 400 || status == 413) && provider_text_overflow(te->message)) {
		te->cls = "context_overflow";
	} else if (status == 429 && provider_text_quota(te->message)) {
		te->cls = "quota";
		te->retryable = false;
	}
}

bool provider_error_by_word(struct turn_error *te, const char *word)
{
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strcmp(words[i].word, word) != 0)
			continue;
		provider_error_by_status(te, words[i].status);
		/* The name is unambiguous, whatever the message contains. */
		if (strcmp(word, "context_length_exceeded") == 0)
			te->cls = "context_overflow";
		return true;
	}
	return false;
}
