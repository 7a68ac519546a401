/*
 * errors.c - Codex's TurnError as the class of a failed turn. codexErrorInfo is a word, or an object of one member
 * with the HTTP status in it. There is no word for a model that stopped early: only the message shows it.
 */
#include "harnesses/codex/internal.h"

#include "json/jdec.h"

#define F_RETRYABLE 1

static const struct {
	const char *info, *cls;
	unsigned flags;
	int status; /* the meaning of the word, where Codex does not send the number */
} words[] = {
	{ "contextWindowExceeded", "context_overflow", 0, 0 },
	{ "sessionBudgetExceeded", "quota", 0, 0 },
	{ "usageLimitExceeded", "quota", 0, 0 },
	{ "rateLimitExceeded", "rate_limit", F_RETRYABLE, 429 },
	{ "flexUnavailable", "rate_limit", F_RETRYABLE, 429 },
	{ "serverOverloaded", "provider", F_RETRYABLE, 0 },
	{ "policyCapacityUnavailable", "provider", F_RETRYABLE, 0 },
	{ "internalServerError", "provider", F_RETRYABLE, 500 },
	{ "httpConnectionFailed", "provider", F_RETRYABLE, 0 },
	{ "responseStreamConnectionFailed", "provider", F_RETRYABLE, 0 },
	{ "responseStreamDisconnected", "provider", F_RETRYABLE, 0 },
	{ "responseTooManyFailedAttempts", "provider", F_RETRYABLE, 0 },
	{ "unauthorized", "auth", 0, 401 },
	{ "badRequest", "provider", 0, 400 },
	{ "modelNotFound", "provider", 0, 404 },
	{ "inferenceHookDenied", "harness_error", 0, 0 },
	{ "tooManyDenials", "harness_error", 0, 0 },
	{ "sandboxError", "harness_error", 0, 0 },
	{ "threadRollbackFailed", "harness_error", 0, 0 },
};

/* Errors that are an ACP stop reason: by the word, or by the message. */
static const struct {
	const char *info, *text, *stop;
} stops[] = {
	{ "cyberPolicy", NULL, "refusal" },
	{ "misalignmentPolicyViolation", NULL, "refusal" },
	{ NULL, "Incomplete response returned, reason: max_output_tokens", "max_tokens" },
	{ NULL, "Incomplete response returned, reason: content_filter", "refusal" },
};

/* Messages of the class "other". */
static const struct {
	const char *text, *cls;
	unsigned flags;
} texts[] = {
	{ "stream disconnected before completion", "provider", F_RETRYABLE },
	{ "error sending request", "provider", F_RETRYABLE },
	{ "timeout", "provider", F_RETRYABLE },
	{ "timed out", "provider", F_RETRYABLE },
	{ "Missing environment variable", "auth", 0 },
};

/* The word, and the object beside it if there is one. */
static char *info_word(struct slice error, struct slice *ret_more)
{
	struct jval info = jobj_get(error, "codexErrorInfo"), v;
	struct slice key;
	struct jiter it;

	*ret_more = SLICE_NONE;
	if (info.type == J_OBJECT && jiter_init(&it, info) && jiter_next(&it, &key, &v)) {
		*ret_more = v.raw;
		return xstrndup(key.p, key.n);
	}
	return codex_str(error, "codexErrorInfo");
}

/* The status is the provider's own number, so it overrides the class of codexErrorInfo. */
static void by_status(struct turn_error *te)
{
	if (te->http_status == 401 || te->http_status == 403)
		te->cls = "auth";
	else if (te->http_status == 402)
		te->cls = "quota";
	else if (te->http_status == 429)
		te->cls = "rate_limit";
	if (te->http_status)
		te->retryable = te->http_status == 429 || te->http_status == 408 ||
				te->http_status >= 500;
}

static void by_text(struct turn_error *te, const char *message)
{
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		if (!strstr(message, texts[i].text))
			continue;
		te->cls = texts[i].cls;
		te->retryable = texts[i].flags & F_RETRYABLE;
		return;
	}
}

/* For a bad request, the message is the provider's whole answer. */
static bool by_body(struct turn_error *te, char **message)
{
	struct jval body;
	char *said;

	if (jscan_value(slice_of(*message), &body) != JSCAN_OK || body.type != J_OBJECT)
		return false;
	te->cls = "provider";
	te->http_status = 400;
	said = codex_shown(jobj_get(body.raw, "error").raw, "message");
	if (said && *said) {
		free(*message);
		*message = said;
	} else {
		free(said);
	}
	return true;
}

static void classify_by_word(struct turn_error *te, const char *word, const char *message)
{
	for (size_t i = 0; word && i < ARRAY_SIZE(words); i++) {
		if (strcmp(words[i].info, word) != 0)
			continue;
		te->cls = words[i].cls;
		te->retryable = words[i].flags & F_RETRYABLE;
		te->http_status = words[i].status;
		return;
	}
	by_text(te, message);
}

static const char *stop_of(const char *word, const char *message)
{
	for (size_t i = 0; i < ARRAY_SIZE(stops); i++)
		if (stops[i].info ? word && strcmp(stops[i].info, word) == 0 :
				    strstr(message, stops[i].text) != NULL)
			return stops[i].stop;
	return NULL;
}

void codex_error_classify(struct slice error, struct turn_error *ret, const char **ret_stop)
{
	_cleanup_(freep) char *message = codex_shown(error, "message"), *word = NULL;
	struct slice more;
	int64_t status;

	*ret = (struct turn_error){ .cls = "harness_error" };
	word = info_word(error, &more);
	if (!message || !*message)
		xstrset(&message, "Codex ended the turn with an error without a message");
	/* With the message as Codex sent it: by_body replaces it by the provider's sentence. */
	*ret_stop = stop_of(word, message);
	if (!by_body(ret, &message))
		classify_by_word(ret, word, message);
	if (jdec_int(jobj_get(more, "httpStatusCode"), &status) == 0 && status >= 100 &&
	    status <= 599)
		ret->http_status = (int)status;
	by_status(ret);
	snprintf(ret->message, sizeof(ret->message), "%s", message);
	err_flatten(ret->message);
}
