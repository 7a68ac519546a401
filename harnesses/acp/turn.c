/*
 * turn.c - classifies the end of a turn: stop reason, error class, HTTP status. Pure.
 *
 * ACP defines neither error classes nor the place of a provider's status. The sources are used in
 * order of reliability: a numeric status in error.data, the JSON-RPC code, the name in errorKind or
 * errorName, text. An error that an agent reports as text replaces the message; its status applies
 * only if the reply has none.
 */
#include "harnesses/acp/internal.h"

#include "harnesses/provider.h"
#include "json/json.h"

static const char *const stop_reasons[] = { "end_turn", "max_tokens", "max_turn_requests",
					    "refusal", "cancelled" };

static const char *known_stop_reason(struct jval v)
{
	for (size_t i = 0; i < ARRAY_SIZE(stop_reasons); i++)
		if (jstr_is(v, stop_reasons[i]))
			return stop_reasons[i];
	return NULL;
}

/* HTTP status where an agent puts it: data.statusCode, data.status or data.httpStatus. */
static int http_status(struct slice data)
{
	static const char *const keys[] = { "statusCode", "status", "httpStatus" };
	int64_t n;

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (jdec_int(jobj_get(data, keys[i]), &n) == 0 && n >= 100 && n <= 599)
			return (int)n;
	return 0;
}

static void error_message(struct slice error, struct turn_error *ret)
{
	_cleanup_(freep) char *text = NULL;

	if (jstr_decode_shown(jobj_get(error, "message"), 64 * KIB, &text) < 0 || !*text)
		xstrset(&text, "the harness reported an error without a message");
	snprintf(ret->message, sizeof(ret->message), "%s", text);
	err_flatten(ret->message);
}

/* The name for it in data.errorKind or data.errorName. */
static const struct {
	const char *name, *cls;
	bool retryable;
} kinds[] = {
	{ "rate_limit", "rate_limit", true },
	{ "server_error", "provider", true },
	{ "overloaded", "provider", true },
	{ "authentication_failed", "auth", false },
	{ "billing_error", "quota", false },
	{ "ProviderAuthError", "auth", false },
	{ "ContextOverflowError", "context_overflow", false },
};

static bool by_kind(struct slice data, struct turn_error *te)
{
	struct jval name = jobj_get(data, "errorKind");

	if (name.type != J_STRING)
		name = jobj_get(data, "errorName");
	if (name.type != J_STRING)
		return false;
	te->cls = provider_text_overflow(te->message) ? "context_overflow" : "provider";
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (jstr_is(name, kinds[i].name)) {
			te->cls = kinds[i].cls;
			te->retryable = kinds[i].retryable;
		}
	return true;
}

void acp_error_classify(struct slice error, struct turn_error *ret)
{
	struct slice data = jobj_get(error, "data").raw;
	int status = http_status(data);

	memset(ret, 0, sizeof(*ret));
	error_message(error, ret);
	if (status)
		provider_error_by_status(ret, status);
	else if (jobj_int(error, "code") == RPC_AUTH_REQUIRED)
		ret->cls = "auth";
	else if (!by_kind(data, ret))
		ret->cls = "harness_error";
}

/* The first number in it that can be a status: "(HTTP 401)", "429 Too many", "rejected (429)". */
static int status_in(const char *text)
{
	for (const char *p = text; *p;) {
		char *end;
		long n;

		if (*p < '0' || *p > '9') {
			p++;
			continue;
		}
		n = strtol(p, &end, 10);
		if (end - p == 3 && n >= 400 && n <= 599 &&
		    /* Preceded by a space or a bracket: a part of an id or of a port is not a status. */
		    (p == text || p[-1] == ' ' || p[-1] == '('))
			return (int)n;
		p = end;
	}
	return 0;
}

void acp_error_from_text(const char *text, struct harness_turn_end *end)
{
	struct turn_error *te = &end->error;
	int status = status_in(text);

	const char *said = strncmp(text, "Error: ", 7) == 0 ? text + 7 : text;

	snprintf(te->message, sizeof(te->message), "%s", said);
	err_flatten(te->message);
	/* The reply's own class is more reliable, so the text only sets one where the reply has none. */
	if (!end->failed) {
		end->failed = true;
		end->stop_reason = NULL;
		te->cls = provider_text_overflow(te->message) ? "context_overflow" : "provider";
		te->retryable = strstr(te->message, "retried") != NULL;
	}
	if (status && !te->http_status)
		provider_error_by_status(te, status);
}

int acp_error_code(struct slice error)
{
	int64_t code = jobj_int(error, "code");

	/* Only the codes that mean the same for the client's own call are passed on. */
	return code == RPC_INVALID_PARAMS || code == RPC_METHOD_NOT_FOUND ? (int)code :
									    RPC_INTERNAL_ERROR;
}

void acp_turn_end_from_reply(const struct rpc_msg *m, struct harness_turn_end *ret)
{
	struct jval reason;

	memset(ret, 0, sizeof(*ret));
	if (m->error.n) {
		ret->failed = true;
		acp_error_classify(m->error, &ret->error);
		return;
	}
	reason = jobj_get(m->result, "stopReason");
	ret->stop_reason = known_stop_reason(reason);
	if (ret->stop_reason)
		return;
	ret->failed = true;
	ret->error.cls = "harness_protocol";
	snprintf(ret->error.message, sizeof(ret->error.message),
		 "the harness ended the turn without a known stop reason");
}

static bool option_ok(struct jval v, struct slice *ret_id)
{
	struct jslot s[] = { { .key = "optionId" }, { .key = "name" }, { .key = "kind" } };

	if (v.type != J_OBJECT || jscan_object(v.raw, s, ARRAY_SIZE(s)) != JSCAN_OK)
		return false;
	*ret_id = s[0].v.raw;
	return s[0].v.type == J_STRING && s[1].v.type == J_STRING && s[2].v.type == J_STRING;
}

int acp_permission_check(struct slice params)
{
	struct jval call = jobj_get(params, "toolCall"), options = jobj_get(params, "options");
	struct slice seen[32];
	size_t n = 0;

	if (call.type != J_OBJECT || jobj_get(call.raw, "toolCallId").type != J_STRING ||
	    options.type != J_ARRAY)
		return -EINVAL;
	jarr_each(v, options) {
		/* At most 32 options: each id is compared with all earlier ones. */
		if (n >= ARRAY_SIZE(seen) || !option_ok(v, &seen[n]))
			return -EINVAL;
		for (size_t i = 0; i < n; i++)
			if (slice_eq(seen[i], seen[n]))
				return -EINVAL;
		n++;
	}
	return n ? 0 : -EINVAL;
}
