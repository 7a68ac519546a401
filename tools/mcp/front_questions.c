/* front_questions.c - "input_required": each question goes to the legacy client as a request of its own, all of a round
 * at once. When the last is answered, the request goes to the server again, unchanged, with the answers and the
 * server's state. */
#include "base/os/file.h"
#include "json/json.h"
#include "tools/mcp/mcp_front_internal.h"

/* One request to the client. Its id, unless it is 0, is in f->asks as long as it exists. */
struct front_question {
	struct list link; /* exchange.asks */
	struct front_request *x;
	uint32_t id;
	char *key; /* raw, without quotes */
};

/* --- what a client can be asked --- */

static bool front_question_has(struct slice object, const char *key)
{
	return jobj_get(object, key).type != J_NONE;
}

static const char *need_elicitation(struct slice params)
{
	return jstr_is(jobj_get(params, "mode"), "url") ? "elicitation.url" : "elicitation.form";
}

static const char *need_sampling(struct slice params)
{
	/* MCP 2025-11-25: tools in a sampling request need a capability of their own. */
	return front_question_has(params, "tools") || front_question_has(params, "toolChoice") ?
		       "sampling.tools" :
		       "sampling";
}

static const char *need_roots(struct slice params _unused_)
{
	return "roots";
}

static const struct kind {
	const char *method;
	const char *(*need)(struct slice params); /* the capability, as a path */
	bool needs_params;
} kinds[] = {
	{ "elicitation/create", need_elicitation, true },
	{ "sampling/createMessage", need_sampling, true },
	{ "roots/list", need_roots, false },
};

static const struct kind *front_question_kind(struct slice request)
{
	struct jval method = jobj_get(request, "method");

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (jstr_is(method, kinds[i].method))
			return &kinds[i];
	return NULL;
}

/* path: "group" or "group.flag". Without modes, elicitation means forms. */
static bool client_can(const struct mcp_front *f, const char *path)
{
	const char *dot = strchrnul(path, '.');
	_cleanup_(freep) char *group = xstrndup(path, (size_t)(dot - path));
	struct jval v = jobj_get(slice_of(f->client_capabilities), group);

	if (v.type != J_OBJECT)
		return false;
	if (!*dot || front_question_has(v.raw, dot + 1))
		return true;
	return strcmp(path, "elicitation.form") == 0 && !front_question_has(v.raw, "url");
}

/* --- the end of it without the server --- */

/* A model reads the results of tools, the client all others. */
static void front_questions_give_up(struct front_request *x, const struct err *e)
{
	_cleanup_(buf_done) struct buf result = { 0 };

	front_questions_drop(x, true);
	if (strcmp(x->method->name, "tools/call") != 0) {
		front_request_refuse(x, e, SLICE_NONE);
		return;
	}
	mcp_put_tool_error(&result, e, SLICE_NONE);
	front_legacy_result(x, buf_slice(&result));
}

/* Unlinks the question and removes its id, so a late answer finds no receiver. */
static void front_question_free(struct front_question *a)
{
	list_del(&a->link);
	rpc_calls_drop(&a->x->front->asks, a->id);
	free_each(a->key, a);
}

static void front_question_withdraw(const struct front_question *a)
{
	_cleanup_(buf_done) struct buf params = { 0 };
	struct front_request *x = a->x;

	buf_printf(&params, "{\"requestId\":%u}", a->id);
	front_notify(x->front, "notifications/cancelled", buf_slice(&params), slice_of(x->id));
}

void front_questions_drop(struct front_request *x, bool tell)
{
	list_each(a, &x->asks, struct front_question, link) {
		if (tell)
			front_question_withdraw(a);
		front_question_free(a);
	}
	loop_timer_cancel(&x->timer);
}

static void front_questions_on_timeout(void *ctx)
{
	struct front_request *x = ctx;
	struct err e;

	err_set(&e, -ETIMEDOUT, 0, "INPUT_TIMEOUT",
		"%s needs an answer from the client, which has not come within %d seconds",
		x->method->name, MCP_ASK_MS / 1000);
	front_questions_give_up(x, &e);
}

/* --- answers --- */

static void give_up_too_large(struct front_request *x)
{
	struct err e;

	err_set(&e, -E2BIG, 0, "INPUT_TOO_LARGE", "%s and the answers to it are too large together",
		x->method->name);
	front_questions_give_up(x, &e);
}

static void front_questions_retry(void *ctx)
{
	_cleanup_(buf_done) struct buf members = { 0 }, params = { 0 };
	struct front_request *x = ctx;
	struct jw w = JW(&members);

	loop_timer_cancel(&x->timer);
	if (buf_len(&x->answers)) {
		jw_obj(&w, "inputResponses");
		jw_raw(&w, NULL, buf_slice(&x->answers));
		jw_end_obj(&w);
	}
	jw_raw(&w, "requestState", slice_of(x->state));
	/* x->params are those of the client, so nothing of an earlier round is in them. */
	mcp_object_merge(&params, slice_of(x->params), buf_slice(&members));
	params.failed |= x->answers.failed || members.failed;
	buf_done(&x->answers);
	if (params.failed)
		give_up_too_large(x);
	else
		front_legacy_call(x, x->method->name, buf_slice(&params), &front_legacy_replies);
}

static void give_up_refused(struct front_request *x, struct slice error)
{
	_cleanup_(freep) char *text = NULL;
	struct err e;

	if (jstr_decode_shown(jobj_get(error, "message"), MESSAGE_MAX, &text) == 0)
		err_flatten(text);
	err_set(&e, -ECANCELED, 0, "INPUT_REFUSED", "%s needs an answer from the client: %s",
		x->method->name, text ? text : "it answered with an error");
	front_questions_give_up(x, &e);
}

static void front_question_on_answer(void *ctx, uint64_t tag _unused_, const struct rpc_msg *reply)
{
	struct front_question *a = ctx;
	struct front_request *x = a->x;
	struct jw w = { &x->answers, buf_len(&x->answers) > 0 };

	/* The table is dropped, after all requests. */
	if (!reply)
		return;
	/* Must come before the question is freed, because the key is the question's. */
	if (reply->result.n)
		jw_member_raw(&w, (struct slice){ a->key, strlen(a->key) }, reply->result);
	front_question_free(a);
	if (!reply->result.n)
		give_up_refused(x, reply->error);
	else if (list_empty(&x->asks))
		front_questions_retry(x);
}

/* --- questions --- */

/* 2025-11-25 requires an id of a page to visit; 2026-07-28 has none. */
static void front_question_put_params(struct buf *out, struct slice params)
{
	char id[33];

	if (!jstr_is(jobj_get(params, "mode"), "url") ||
	    front_question_has(params, "elicitationId")) {
		buf_add_slice(out, params);
		return;
	}
	random_hex(id, 16);
	mcp_object_merge(out, params, slice_of(SHORT_TEXT(64, "\"elicitationId\":\"%s\"", id)));
}

static int front_question_check(const struct front_request *x, struct slice key,
				struct slice request, struct err *e)
{
	const struct kind *kind = front_question_kind(request);
	struct jval params = jobj_get(request, "params");
	bool absent = params.type == J_NONE || params.type == J_NULL;
	const char *need;

	if (!kind || (absent ? kind->needs_params : params.type != J_OBJECT))
		return err_set(e, -EINVAL, 0, "INPUT_INVALID",
			       "%s asked for input in a way that MCP has not got: \"%.*s\"",
			       x->method->name, (int)MIN(key.n, 60u), key.p);
	need = kind->need(params.raw);
	if (!client_can(x->front, need))
		return err_set(e, -EOPNOTSUPP, 0, "CAPABILITY_MISSING",
			       "%s asked for %s, and the client has not announced the capability "
			       "\"%s\"",
			       x->method->name, kind->method, need);
	return 0;
}

static int check_questions(const struct front_request *x, struct jval questions, struct err *e)
{
	unsigned n = 0;

	jobj_each(key, v, questions.raw) {
		/* All questions are checked before the first is sent: a client must not see
		 * half of a round that fails. */
		int r = front_question_check(x, key, v.raw, e);

		if (r < 0)
			return r;
		if (++n > MCP_ASKS_MAX)
			return err_set(e, -E2BIG, 0, "INPUT_INVALID",
				       "%s asked more than %d questions at once", x->method->name,
				       MCP_ASKS_MAX);
	}
	return 0;
}

/* False: too many are open. */
static bool front_question_put(struct front_request *x, struct slice key, struct slice request)
{
	_cleanup_(buf_done) struct buf params = { 0 }, b = { 0 };
	struct mcp_front *f = x->front;
	const struct kind *kind = front_question_kind(request);
	struct jval asked = jobj_get(request, "params");
	struct front_question *a = new0(struct front_question);
	char id[16];

	a->x = x;
	a->key = xstrndup(key.p, key.n);
	a->id = rpc_calls_add(&f->asks, front_question_on_answer, a, 0);
	list_add_tail(&x->asks, &a->link);
	/* The question is linked already, so the caller's giving up frees it. */
	if (!a->id || !kind)
		return false;
	snprintf(id, sizeof(id), "%u", a->id);
	if (asked.type == J_OBJECT)
		front_question_put_params(&params, asked.raw);
	mcp_put_request(&b, slice_of(id), kind->method, buf_slice(&params));
	if (params.failed || b.failed)
		return false;
	front_send(f, &b, slice_of(x->id), false);
	return true;
}

static void put_questions(struct front_request *x, struct jval questions)
{
	struct err e;

	jobj_each(key, v, questions.raw) {
		if (front_question_put(x, key, v.raw))
			continue;
		err_set(&e, -EBUSY, 0, "INPUT_INVALID", "%s asked too much of the client",
			x->method->name);
		front_questions_give_up(x, &e);
		return;
	}
	loop_timer_set(x->front->loop, &x->timer, MCP_ASK_MS, front_questions_on_timeout, x);
}

/* Checks that the result is allowed for this method, in this round, and asks something or has a state. */
static int check_round(struct front_request *x, struct jval questions, struct jval state,
		       struct err *e)
{
	/* A server that asks again and again must not keep the request of its client open
	 * forever. */
	if (++x->rounds > MCP_ROUNDS_MAX)
		return err_set(e, -ELOOP, 0, "INPUT_ROUNDS",
			       "%s still needs input after %d rounds of questions", x->method->name,
			       MCP_ROUNDS_MAX);
	if (!jobj_has_members(questions) && state.type != J_STRING)
		return err_set(e, -EINVAL, 0, "INPUT_INVALID",
			       "%s needs input and does not say which", x->method->name);
	return check_questions(x, questions, e);
}

static void refuse_result(struct front_request *x)
{
	struct err e;

	err_set(&e, -EINVAL, 0, "INPUT_INVALID",
		"the server needs input for a method that cannot have any");
	front_request_refuse(x, &e, SLICE_NONE);
}

void front_questions_begin(struct front_request *x, struct slice result)
{
	struct jval questions = jobj_get(result, "inputRequests");
	struct jval state = jobj_get(result, "requestState");
	struct err e;

	if (!x->params) {
		refuse_result(x);
		return;
	}
	if (check_round(x, questions, state, &e) < 0) {
		front_questions_give_up(x, &e);
		return;
	}
	free(x->state);
	x->state = state.type == J_STRING ? xstrndup(state.raw.p, state.raw.n) : NULL;
	/* With a state alone the server wants to be called again. Not at once, or the two
	 * would spin. */
	if (jobj_has_members(questions))
		put_questions(x, questions);
	else
		loop_timer_set(x->front->loop, &x->timer, MCP_PACE_MS, front_questions_retry, x);
}
