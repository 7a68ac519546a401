/*
 * report.c - reads the notifications of the plugin, which internal.h lists.
 *
 * They are taken during a turn only: what comes between two turns belongs to neither. What is read here is kept until the
 * prompt is answered, which the plugin's lines precede on the same pipe (normalise.c).
 */
#include "harnesses/acp/internal.h"
#include "harnesses/adapter.h"
#include "harnesses/opencode/internal.h"
#include "harnesses/provider.h"
#include "json/json.h"

/* Keeps an id that fits; else to stays as it is. */
static void opencode_copy_id(char to[64], struct jval v)
{
	_cleanup_(freep) char *text = NULL;

	if (jstr_decode(v, 63, &text) == 0)
		snprintf(to, 64, "%s", text);
}

/* OpenCode counts input without cache, and output without reasoning. Zeros mean
 * unknown. */
static void set_tokens(struct harness_usage *u, struct slice tokens)
{
	static const struct usage_field own[] = {
		{ "input", COUNT_INPUT },
		{ "output", COUNT_OUTPUT },
		{ "reasoning", COUNT_REASONING },
		{ "total", COUNT_TOTAL },
	};
	static const struct usage_field cache[] = { { "read", COUNT_CACHE_READ },
						    { "write", COUNT_CACHE_WRITE } };

	harness_usage_read(u, tokens, own, ARRAY_SIZE(own));
	harness_usage_read(u, jobj_get(tokens, "cache").raw, cache, ARRAY_SIZE(cache));
	u->count[COUNT_INPUT] += u->count[COUNT_CACHE_READ] + u->count[COUNT_CACHE_WRITE];
	/* Counts without a bit in has are 0, so the sums are right without a check. */
	u->count[COUNT_OUTPUT] += u->count[COUNT_REASONING];
	if (!u->count[COUNT_REASONING])
		u->has &= ~(1u << COUNT_REASONING);
	if (!u->count[COUNT_INPUT] && !u->count[COUNT_OUTPUT])
		u->has = 0;
}

static void on_model_call_ended(struct harness *h, struct slice params)
{
	struct harness_usage u = { .source = "step-finish.tokens" };
	_cleanup_(freep) char *model = jobj_str(params, "model", 256);
	_cleanup_(freep) char *provider = jobj_str(params, "provider", 256);
	_cleanup_(freep) char *reason = jobj_str(params, "reason", 64);
	struct opencode_state *s = opencode_state_of(h);

	set_tokens(&u, jobj_get(params, "tokens").raw);
	/* OpenCode's cost of a model without prices is 0, which is no report */
	u.has_cost = harness_cost_parse(jobj_get(params, "cost").raw, &u.cost) && u.cost > 0;
	u.model = model;
	u.provider = provider && strcmp(provider, OPENCODE_PROVIDER_ID) != 0 ? provider : NULL;
	u.finish_reason = reason;
	s->counted = true;
	s->failed = false; /* an error before it, a context overflow, has been mended */
	/* A subagent that stopped early does not end the turn. */
	if (jobj_get(params, "child").type != J_TRUE)
		s->truncated = reason && strcmp(reason, "length") == 0;
	if (u.has || u.has_cost)
		h->host.ops->usage(h->host.ctx, &u);
}

static void on_request_retry(struct harness *h, struct slice params)
{
	struct jval message = jobj_get(params, "message");
	char title[80];

	snprintf(title, sizeof(title), "The model request failed; retry %d follows",
		 (int)jobj_int(params, "attempt"));
	harness_emit(&h->host, UPDATE_NOTICE, JW_STR("severity", "warning"), JW_STR("title", title),
		     JW_RAW("description", message.type == J_STRING ? message.raw : SLICE_NONE));
}

/* From now on everything belongs to the next attempt. */
static void on_message_again(struct harness *h, struct slice params)
{
	struct opencode_state *s = opencode_state_of(h);

	opencode_copy_id(s->broken, jobj_get(params, "messageId"));
	s->retries++;
}

static void on_compaction(struct harness *h, struct slice params)
{
	struct jval id = jobj_get(params, "id"), status = jobj_get(params, "status");

	if (id.type == J_STRING && status.type == J_STRING)
		harness_emit(&h->host, UPDATE_COMPACTION, JW_RAW("compactionId", id.raw),
			     JW_RAW("status", status.raw));
}

/* Its states are ACP's; a task that was given up is no part of the plan. */
static void put_todo_entry(struct jw *w, struct slice todo)
{
	static const char *const states[] = { "pending", "in_progress", "completed" };
	static const char *const weights[] = { "high", "medium", "low" };
	struct jval status = jobj_get(todo, "status"), weight = jobj_get(todo, "priority");
	const char *state = NULL, *priority = "medium";

	for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
		state = jstr_is(status, states[i]) ? states[i] : state;
		priority = jstr_is(weight, weights[i]) ? weights[i] : priority;
	}
	if (!state || jobj_get(todo, "content").type != J_STRING)
		return;
	jw_object(w, NULL, JW_RAW("content", jobj_get(todo, "content").raw),
		  JW_STR("priority", priority), JW_STR("status", state));
}

static void on_plan(struct harness *h, struct slice params)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	if (harness_plan_update(jobj_get(params, "todos"), put_todo_entry, &b))
		harness_send_update(&h->host, UPDATE_PLAN, &b);
}

static void on_summary(struct harness *h, struct slice params)
{
	struct opencode_state *s = opencode_state_of(h);
	struct opencode_summary *to = &s->summaries[s->nsummaries++ % ARRAY_SIZE(s->summaries)];

	memset(to, 0, sizeof(*to));
	opencode_copy_id(to->message, jobj_get(params, "messageId"));
	opencode_copy_id(to->compaction, jobj_get(params, "id"));
}

static void on_change(struct harness *h, struct slice params)
{
	struct jval call = jobj_get(params, "callId"), diffs = jobj_get(params, "diffs");
	struct opencode_state *s = opencode_state_of(h);
	struct opencode_change *to;

	if (call.type != J_STRING || diffs.type != J_ARRAY)
		return;
	/* A ring of the latest: there are never more at once (internal.h). */
	to = &s->changes[s->nchanges++ % ARRAY_SIZE(s->changes)];
	jraw_set(&to->call, call, J_STRING);
	jraw_set(&to->diffs, diffs, J_ARRAY);
}

/* An error without a status means no answer of the provider at all, or one that broke off. */
static bool is_broken_answer(struct jval name, const char *message)
{
	return jstr_is(name, "UnknownError") && strcasestr(message, "JSON pars");
}

static void on_error(struct harness *h, struct slice params)
{
	_cleanup_(freep) char *text = NULL;
	struct jval name = jobj_get(params, "name");
	struct opencode_state *s = opencode_state_of(h);
	struct turn_error *te = &s->error;
	int64_t status = jobj_int(params, "status");

	/* A cancel, which the prompt's answer reports itself. */
	if (jstr_is(name, "MessageAbortedError"))
		return;
	if (jstr_is(name, "MessageOutputLengthError")) {
		s->truncated = true;
		return;
	}
	memset(te, 0, sizeof(*te));
	s->failed = true;
	if (jstr_decode_shown(jobj_get(params, "message"), 64 * KIB, &text) < 0 || !*text)
		xstrset(&text, "OpenCode reported an error without a message");
	snprintf(te->message, sizeof(te->message), "%s", text);
	err_flatten(te->message);
	provider_error_by_status(te, status >= 100 && status <= 599 ? (int)status : 0);
	te->retryable |= jobj_get(params, "retryable").type == J_TRUE ||
			 is_broken_answer(name, te->message);
	if (jstr_is(name, "ContextOverflowError"))
		te->cls = "context_overflow";
	else if (jstr_is(name, "ProviderAuthError"))
		te->cls = "auth";
	/* The same conversation is too long at each attempt. */
	if (strcmp(te->cls, "context_overflow") == 0)
		te->retryable = false;
}

void opencode_on_notification(struct harness *h, const char *method, struct slice params)
{
	static const struct {
		const char *method;
		void (*fn)(struct harness *h, struct slice params);
	} rows[] = {
		{ "_acpd/call", on_model_call_ended },
		{ "_acpd/retry", on_request_retry },
		{ "_acpd/error", on_error },
		{ "_acpd/compaction", on_compaction },
		{ "_acpd/summary", on_summary },
		{ "_acpd/change", on_change },
		{ "_acpd/plan", on_plan },
		{ "_acpd/again", on_message_again },
	};

	if (!opencode_state_of(h)->in_turn || !h->native_id ||
	    !jstr_is(jobj_get(params, "sessionId"), h->native_id))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (strcmp(rows[i].method, method) == 0)
			rows[i].fn(h, params);
}
