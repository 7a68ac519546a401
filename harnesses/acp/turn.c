#include "harnesses/acp/turn.h"

#include "json/jdec.h"
#include "json/jstr.h"

#include <errno.h>
#include <stdio.h>

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

static int64_t error_number(struct slice error)
{
	int64_t code = 0;

	return jdec_int(jobj_get(error, "code"), &code) == 0 ? code : 0;
}

static void error_message(struct slice error, struct turn_error *ret)
{
	_cleanup_(freep) char *text = NULL;

	if (jstr_decode(jobj_get(error, "message"), 64 * KIB, &text) < 0 || !*text)
		xstrset(&text, "the harness reported an error without a message");
	snprintf(ret->message, sizeof(ret->message), "%s", text);
	err_flatten(ret->message);
}

void acp_error_classify(struct slice error, struct turn_error *ret)
{
	struct slice data = jobj_get(error, "data").raw;
	int64_t code = error_number(error);

	memset(ret, 0, sizeof(*ret));
	error_message(error, ret);
	ret->http_status = http_status(data);
	ret->retryable = ret->http_status == 429 || ret->http_status >= 500;
	if (code == RPC_AUTH_REQUIRED || ret->http_status == 401 || ret->http_status == 403)
		ret->cls = "auth";
	else if (ret->http_status == 429)
		ret->cls = "rate_limit";
	else if (ret->http_status || jobj_get(data, "errorName").type == J_STRING)
		ret->cls = "provider";
	else
		ret->cls = "harness_error";
}

int acp_error_code(struct slice error)
{
	int64_t code = error_number(error);

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

/* ACP's Usage (unstable), taken at its word: the turn's own numbers, input with what was cached, output with reasoning. */
bool acp_usage_from_reply(const struct rpc_msg *m, struct harness_usage *ret)
{
	static const struct {
		const char *key;
		enum harness_count what;
	} fields[] = {
		{ "inputTokens", COUNT_INPUT },
		{ "outputTokens", COUNT_OUTPUT },
		{ "cachedReadTokens", COUNT_CACHE_READ },
		{ "cachedWriteTokens", COUNT_CACHE_WRITE },
		{ "thoughtTokens", COUNT_REASONING },
		{ "totalTokens", COUNT_TOTAL },
	};
	struct jval usage = jobj_get(m->result, "usage");

	*ret = (struct harness_usage){ .whole_turn = true, .source = "session/prompt.usage" };
	if (m->error.n || usage.type != J_OBJECT)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		harness_usage_set(ret, fields[i].what, jobj_get(usage.raw, fields[i].key));
	return ret->has;
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
	struct jval call = jobj_get(params, "toolCall"), options = jobj_get(params, "options"), v;
	struct slice seen[32];
	struct jiter it;
	size_t n = 0;

	if (call.type != J_OBJECT || jobj_get(call.raw, "toolCallId").type != J_STRING ||
	    options.type != J_ARRAY)
		return -EINVAL;
	jiter_init(&it, options);
	for (; jiter_next(&it, NULL, &v); n++) {
		if (n >= ARRAY_SIZE(seen) || !option_ok(v, &seen[n]))
			return -EINVAL;
		for (size_t i = 0; i < n; i++)
			if (slice_eq(seen[i], seen[n]))
				return -EINVAL;
	}
	return n ? 0 : -EINVAL;
}
