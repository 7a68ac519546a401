/*
 * toolgate.c - judges, counts, asks about and forwards every tools/call.
 * Answers of the gate are deferred: backend.h forbids `done` inside the call.
 */
#include "tools/relay/gate/toolgate_internal.h"

#include "json/jstr.h"
#include "session/parts/trace/tool_trace.h"

enum toolgate_state {
	TOOLGATE_HELD,	  /* a question is open */
	TOOLGATE_RUNNING, /* the server works on it */
	TOOLGATE_SETTLED, /* we answer ourselves, at the end of this turn of the loop */
};

struct toolgate_ask {
	struct slice key,
		state; /* of a question of the server, in asked; empty: our own question */
	struct buf asked;
};

struct toolgate_call {
	struct mcp_call call; /* first */
	struct toolgate *g;
	enum toolgate_state state;
	struct mcp_call *inner;
	struct buf params;
	char *tool;
	struct mcp_policy_word word;
	struct loop_timer timer;
	struct loop_task task;
	struct buf answer;
	struct toolgate_ask ask;
	bool first_page, outside;
	void *begun; /* of ops->begin */
};

static struct toolgate *toolgate_of(struct mcp_backend *b)
{
	return container_of(b, struct toolgate, backend);
}

static struct toolgate_call *toolgate_call_new(struct toolgate *g, const struct mcp_reply_ops *ops,
					       void *ctx)
{
	struct toolgate_call *c = new0(struct toolgate_call);

	c->call = (struct mcp_call){ &g->backend, ops, ctx };
	c->g = g;
	return c;
}

static void toolgate_call_free(struct toolgate_call *c)
{
	if (c->begun)
		c->g->ops->end(c->g->ctx, c->begun);
	loop_timer_cancel(&c->timer);
	loop_task_cancel(&c->task);
	buf_done(&c->params);
	buf_done(&c->answer);
	buf_done(&c->ask.asked);
	free_each(c->tool, c);
}

/* c is gone after. */
static void toolgate_call_end(struct toolgate_call *c, struct slice result, struct slice error)
{
	mcp_call_done(&c->call, result, error);
	toolgate_call_free(c);
}

/* --- answers of our own ------------------------------------------------------------------------------ */

static void toolgate_on_settled(void *ctx)
{
	struct toolgate_call *c = ctx;

	if (c->answer.failed)
		toolgate_call_end(c, SLICE_NONE,
				  SLICE("{\"code\":-32603,\"message\":\"out of memory\"}"));
	else
		toolgate_call_end(c, buf_slice(&c->answer), SLICE_NONE);
}

/* Answers with a refusal, at the end of this turn of the loop. The inner call must be gone. */
static void refuse_because(struct toolgate_call *c, const struct toolgate_refusal *why)
{
	c->state = TOOLGATE_SETTLED;
	loop_timer_cancel(&c->timer);
	buf_reset(&c->answer);
	toolgate_says(c->g, c->tool, why, &c->answer);
	loop_defer(c->g->loop, &c->task, toolgate_on_settled, c);
}

static void refuse_limit(struct toolgate_call *c, const char *code, const char *limit,
			 int64_t value)
{
	refuse_because(c, &(struct toolgate_refusal){ code, limit, value });
}

static void call_refuse(struct toolgate_call *c, const char *code)
{
	refuse_limit(c, code, NULL, 0);
}

/* --- the server's answers ---------------------------------------------------------------------------- */

/* Remembers that this call may come back with answers. The ring drops the oldest: that one is
 * counted and judged again. */
static void round_note(struct toolgate_call *c, struct slice result)
{
	struct toolgate *g = c->g;

	if (!jstr_is(jobj_get(result, "resultType"), "input_required"))
		return;
	toolgate_params_round(c->tool, buf_slice(&c->params), jobj_get(result, "requestState").raw,
			      &g->rounds[g->next_round]);
	g->next_round = (g->next_round + 1) % TOOLGATE_ROUNDS_MAX;
}

static bool is_too_large(const struct toolgate_call *c, size_t n)
{
	return c->word.rule.max_result_bytes >= 0 && n > (uint64_t)c->word.rule.max_result_bytes;
}

static void ask_ours(struct toolgate_call *c, struct slice result,
		     const struct toolgate_asked *asked);

/* Passes a file of our own server to the session. False: there is none. */
static bool take_artifact(struct toolgate *g, struct slice result, struct buf *out)
{
	_cleanup_(buf_done) struct buf described = { 0 };
	struct jval file = g->config.builtin && result.n ? toolgate_result_artifact(result) :
							   (struct jval){ 0 };

	if (file.type == J_NONE)
		return false;
	if (g->ops->artifact && file.type == J_OBJECT)
		g->ops->artifact(g->ctx, file.raw, &described);
	toolgate_result_describe(result, buf_slice(&described), out);
	return !out->failed;
}

/* session/parts/mcp/upcall.c reports this if it is unknown whether the call was carried out. A model reads results, not
 * errors. */
static bool is_lost(struct slice error)
{
	return jstr_is(jobj_get(jobj_get(error, "data").raw, "reason"), "TOOL_CALL_LOST");
}

static void on_tool_done(void *ctx, struct slice result, struct slice error)
{
	_cleanup_(buf_done) struct buf without = { 0 };
	struct toolgate_call *c = ctx;
	struct toolgate_asked asked;

	c->inner = NULL;
	loop_timer_cancel(&c->timer);
	if (c->g->config.upward && is_lost(error)) {
		call_refuse(c, "TOOL_CALL_LOST");
		return;
	}
	/* Before the size is checked, because a file is not shown to the model. */
	if (take_artifact(c->g, result, &without))
		result = buf_slice(&without);
	if (result.n && c->g->config.builtin && toolgate_params_asked(result, &asked)) {
		ask_ours(c, result, &asked);
	} else if (result.n && is_too_large(c, result.n)) {
		refuse_limit(c, "RESULT_TOO_LARGE", "maxResultBytes",
			     c->word.rule.max_result_bytes);
	} else if (is_too_large(c, error.n)) {
		toolgate_call_end(
			c, SLICE_NONE,
			SLICE("{\"code\":-32603,\"message\":\"the server's error is larger than the session's "
			      "policy allows (maxResultBytes)\",\"data\":{\"reason\":\"RESULT_TOO_LARGE\"}}"));
	} else {
		round_note(c, result);
		toolgate_call_end(c, result, error);
	}
}

static const struct mcp_reply_ops tool_ops = { .notify = mcp_call_pass, .done = on_tool_done };

/* The timer runs only while the server works, not while a human is asked. */
static void toolgate_on_timeout(void *ctx)
{
	struct toolgate_call *c = ctx;

	mcp_call_cancel(TAKE_PTR(c->inner));
	refuse_limit(c, "TIMEOUT", "timeoutMs", c->word.rule.timeout_ms);
}

static void toolgate_call_start(struct toolgate_call *c, struct slice params)
{
	_cleanup_(buf_done) struct buf able = { 0 };
	struct toolgate *g = c->g;

	if (g->config.builtin) {
		toolgate_params_able(params, &able);
		toolgate_params_variables(g, c->tool, params);
	}
	c->state = TOOLGATE_RUNNING;
	if (c->word.rule.timeout_ms > 0)
		loop_timer_set(g->loop, &c->timer, (uint64_t)c->word.rule.timeout_ms,
			       toolgate_on_timeout, c);
	c->inner = mcp_backend_call(g->inner, "tools/call",
				    g->config.builtin && !able.failed ? buf_slice(&able) : params,
				    &tool_ops, c);
}

/* --- questions --------------------------------------------------------------------------------------- */

static void ask_put(struct toolgate_call *c, const struct toolgate_question *q)
{
	const struct toolgate *g = c->g;

	c->state = TOOLGATE_HELD;
	if (g->ops->ask)
		g->ops->ask(g->ctx, &c->ask, q);
	else
		call_refuse(c, "PERMISSION_REJECTED");
}

/* A question of the server: keeps what the answer needs, and passes the rest to the client. */
static void ask_ours(struct toolgate_call *c, struct slice result,
		     const struct toolgate_asked *asked)
{
	_cleanup_(freep) char *title = NULL;
	struct toolgate_ask *a = &c->ask;
	struct slice copy;

	buf_reset(&a->asked);
	if (buf_add_slice(&a->asked, result) < 0) {
		call_refuse(c, "PERMISSION_REJECTED");
		return;
	}
	/* Key and state must point into the copy: the result is gone when the answer comes. */
	copy = buf_slice(&a->asked);
	a->key = (struct slice){ copy.p + (asked->key.p - result.p), asked->key.n };
	a->state = asked->state.n ?
			   (struct slice){ copy.p + (asked->state.p - result.p), asked->state.n } :
			   SLICE_NONE;
	jstr_decode(jobj_get(asked->permission, "title"), BUF_MAX_DEFAULT, &title);
	ask_put(c, &(struct toolgate_question){ c->tool, slice_of(title),
						jobj_get(buf_slice(&c->params), "arguments").raw,
						asked->permission });
}

static void ask_rule(struct toolgate_call *c)
{
	_cleanup_(buf_done) struct buf title = { 0 };

	buf_printf(&title, "%s: %s", c->g->server, c->tool);
	ask_put(c, &(struct toolgate_question){ c->tool, buf_slice(&title),
						jobj_get(buf_slice(&c->params), "arguments").raw,
						SLICE_NONE });
}

static void answer_allow(struct toolgate_call *c)
{
	_cleanup_(buf_done) struct buf again = { 0 };

	/* A question of a rule: the server has not had the call yet. */
	if (!c->ask.key.p) {
		toolgate_call_start(c, buf_slice(&c->params));
		return;
	}
	toolgate_params_allow(buf_slice(&c->params), c->ask.key, c->ask.state, &again);
	toolgate_call_start(c, buf_slice(&again));
}

void toolgate_answer(struct toolgate_ask *a, enum toolgate_answer answer)
{
	struct toolgate_call *c = container_of(a, struct toolgate_call, ask);

	if (c->state != TOOLGATE_HELD)
		return;
	if (answer == TOOLGATE_ALLOW)
		answer_allow(c);
	else
		call_refuse(c, "PERMISSION_REJECTED");
}

/* --- a call of a tool -------------------------------------------------------------------------------- */

/* False: refused. */
static bool call_count(struct toolgate_call *c)
{
	struct toolgate_refusal why;

	if (toolgate_count(c->g, &c->word, &(struct toolgate_caller){ c->tool, c->outside },
			   &c->begun, &why))
		return true;
	refuse_because(c, &why);
	return false;
}

/* True for the next round of this very call, with the requested input: the call was counted and allowed. Holds once. */
static bool call_continues(struct toolgate_call *c, struct slice params)
{
	struct sha256 round;

	if (!toolgate_params_continues(params))
		return false;
	toolgate_params_round(c->tool, params, jobj_get(params, "requestState").raw, &round);
	for (size_t i = 0; i < TOOLGATE_ROUNDS_MAX; i++) {
		if (!sha256_equal(&c->g->rounds[i], &round))
			continue;
		memset(&c->g->rounds[i], 0, sizeof(c->g->rounds[i]));
		return true;
	}
	return false;
}

/* The order is that of the costs: what is denied is not counted, and what no count allows asks
 * no human. */
static void call_judge(struct toolgate_call *c, struct slice params)
{
	struct toolgate *g = c->g;
	bool continues;

	mcp_policy_word(g->config.rules, g->server, c->tool, g->config.fallback, &c->word, NULL);
	if (c->word.rule.verdict == POLICY_DENY) {
		call_refuse(c, "POLICY_DENIED");
		return;
	}
	continues = call_continues(c, params);
	if (!continues && !call_count(c))
		return;
	/* A dry run counts like a call. */
	if (c->word.rule.dry_run > 0) {
		if (g->ops->recorded)
			g->ops->recorded(g->ctx, c->tool, jobj_get(params, "arguments").raw);
		call_refuse(c, "DRY_RUN");
	} else if (c->word.rule.verdict == POLICY_ASK && !continues) {
		ask_rule(c);
	} else {
		toolgate_call_start(c, params);
	}
}

static void on_nameless(void *ctx)
{
	toolgate_call_end(
		ctx, SLICE_NONE,
		SLICE("{\"code\":-32602,\"message\":\"tools/call needs the name of a tool\",\"data\":{"
		      "\"reason\":\"FIELD_INVALID\",\"field\":\"name\"}}"));
}

static struct mcp_call *toolgate_call_tool(struct toolgate *g, bool outside, struct slice params,
					   const struct mcp_reply_ops *ops, void *ctx)
{
	struct toolgate_call *c = toolgate_call_new(g, ops, ctx);

	c->outside = outside;
	if (jstr_decode(jobj_get(params, "name"), POLICY_NAME_MAX, &c->tool) < 0) {
		c->state = TOOLGATE_SETTLED;
		loop_defer(g->loop, &c->task, on_nameless, c);
	} else if (buf_add_slice(&c->params, params) < 0) {
		c->state = TOOLGATE_SETTLED;
		c->answer.failed = true;
		loop_defer(g->loop, &c->task, toolgate_on_settled, c);
	} else {
		call_judge(c, params);
	}
	return &c->call;
}

/* --- lists, and the rest ----------------------------------------------------------------------------- */

static void on_list_done(void *ctx, struct slice result, struct slice error)
{
	_cleanup_(buf_done) struct buf out = { 0 };
	struct toolgate_call *c = ctx;

	c->inner = NULL;
	if (!result.n || !toolgate_list_filter(c->g, result, c->first_page, &out))
		toolgate_call_end(c, result, error);
	else if (out.failed)
		toolgate_call_end(c, SLICE_NONE,
				  SLICE("{\"code\":-32603,\"message\":\"out of memory\"}"));
	else
		toolgate_call_end(c, buf_slice(&out), SLICE_NONE);
}

static const struct mcp_reply_ops list_ops = { .notify = mcp_call_pass, .done = on_list_done };

static struct mcp_call *toolgate_call_list(struct toolgate *g, struct slice params,
					   const struct mcp_reply_ops *ops, void *ctx)
{
	struct toolgate_call *c = toolgate_call_new(g, ops, ctx);

	c->state = TOOLGATE_RUNNING;
	c->first_page = jobj_get(params, "cursor").type == J_NONE;
	c->inner = mcp_backend_call(g->inner, "tools/list", params, &list_ops, c);
	return &c->call;
}

static struct mcp_call *any_call(struct toolgate *g, bool outside, const char *method,
				 struct slice params, const struct mcp_reply_ops *ops, void *ctx)
{
	if (strcmp(method, "tools/call") == 0)
		return toolgate_call_tool(g, outside, params, ops, ctx);
	if (strcmp(method, "tools/list") == 0)
		return toolgate_call_list(g, params, ops, ctx);
	/* Nothing to add: the caller gets the server's own call. */
	return mcp_backend_call(g->inner, method, params, ops, ctx);
}

static struct mcp_call *toolgate_backend_call(struct mcp_backend *b, const char *method,
					      struct slice params, const struct mcp_reply_ops *ops,
					      void *ctx)
{
	return any_call(toolgate_of(b), false, method, params, ops, ctx);
}

static struct mcp_call *outside_call(struct mcp_backend *b, const char *method, struct slice params,
				     const struct mcp_reply_ops *ops, void *ctx)
{
	return any_call(container_of(b, struct toolgate, outside), true, method, params, ops, ctx);
}

static void backend_cancel(struct mcp_call *call)
{
	struct toolgate_call *c = container_of(call, struct toolgate_call, call);

	if (c->inner)
		mcp_call_cancel(c->inner);
	else if (c->state == TOOLGATE_HELD && c->g->ops->unask)
		c->g->ops->unask(c->g->ctx, &c->ask);
	toolgate_call_free(c);
}

static void toolgate_backend_free(struct mcp_backend *b)
{
	struct toolgate *g = toolgate_of(b);

	toolgate_list_forget(g);
	free_each(g->tallies, g->server, g);
}

static const struct mcp_backend_ops backend_ops = {
	.call = toolgate_backend_call,
	.cancel = backend_cancel,
	.free = toolgate_backend_free,
};

static const struct mcp_backend_ops outside_ops = {
	.call = outside_call,
	.cancel = backend_cancel,
};

struct toolgate *toolgate_new(struct loop *loop, struct mcp_backend *inner,
			      const struct toolgate_config *config, const struct toolgate_ops *ops,
			      void *ctx)
{
	struct toolgate *g = new0(struct toolgate);

	g->backend.ops = &backend_ops;
	g->outside.ops = &outside_ops;
	g->loop = loop;
	g->inner = inner;
	g->config = *config;
	g->server = xstrdup(config->server);
	g->config.server = g->server;
	g->ops = ops;
	g->ctx = ctx;
	return g;
}

struct toolgate *toolgate_free(struct toolgate *g)
{
	if (g)
		toolgate_backend_free(&g->backend);
	return NULL;
}

struct mcp_backend *toolgate_backend(struct toolgate *g)
{
	return &g->backend;
}

struct mcp_backend *toolgate_outside(struct toolgate *g)
{
	return &g->outside;
}
