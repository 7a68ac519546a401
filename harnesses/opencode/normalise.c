#include "harnesses/opencode/normalise.h"

#include "harnesses/acp/internal.h"
#include "harnesses/acp/turn.h"
#include "json/jdec.h"
#include "json/jenc.h"
#include "json/jstr.h"

#include <stdio.h>

/* ACP shows a summary as if it were an answer, and after the compaction has ended. */
struct summary {
	char message[64], compaction[64];
};

/* What a call did to files. ACP shows only what the edit tool was told. */
struct change {
	char *call, *diffs; /* diffs: raw array */
};

struct state {
	bool in_turn, counted, truncated, failed;
	struct turn_error error;
	struct summary summaries[4]; /* the latest */
	unsigned nsummaries;
	struct change changes[8]; /* the latest: more are not on their way at once */
	unsigned nchanges;
};

static struct state *state_of(struct harness *h)
{
	return h->hook_state;
}

/* --- what the plugin says ----------------------------------------------------------------------------- */

/* OpenCode keeps apart what belongs together: input without cache, output without reasoning. Zeros are its word for unknown. */
static void set_tokens(struct harness_usage *u, struct slice tokens)
{
	struct slice cache = jobj_get(tokens, "cache").raw;

	harness_usage_set(u, COUNT_INPUT, jobj_get(tokens, "input"));
	harness_usage_set(u, COUNT_OUTPUT, jobj_get(tokens, "output"));
	harness_usage_set(u, COUNT_REASONING, jobj_get(tokens, "reasoning"));
	harness_usage_set(u, COUNT_CACHE_READ, jobj_get(cache, "read"));
	harness_usage_set(u, COUNT_CACHE_WRITE, jobj_get(cache, "write"));
	harness_usage_set(u, COUNT_TOTAL, jobj_get(tokens, "total"));
	u->count[COUNT_INPUT] += u->count[COUNT_CACHE_READ] + u->count[COUNT_CACHE_WRITE];
	u->count[COUNT_OUTPUT] += u->count[COUNT_REASONING];
	if (!u->count[COUNT_INPUT] && !u->count[COUNT_OUTPUT])
		u->has = 0;
}

static void on_call(struct harness *h, struct slice params)
{
	struct harness_usage u = { .source = "step-finish.tokens" };
	_cleanup_(freep) char *model = NULL, *provider = NULL, *reason = NULL;
	struct state *s = state_of(h);

	set_tokens(&u, jobj_get(params, "tokens").raw);
	/* a model without prices costs 0 in its books, which is no report */
	u.has_cost = harness_cost_parse(jobj_get(params, "cost").raw, &u.cost) && u.cost > 0;
	jstr_decode(jobj_get(params, "model"), 256, &model);
	jstr_decode(jobj_get(params, "provider"), 256, &provider);
	jstr_decode(jobj_get(params, "reason"), 64, &reason);
	u.model = model;
	u.provider = provider && strcmp(provider, OPENCODE_PROVIDER_ID) != 0 ? provider : NULL;
	u.finish_reason = reason;
	s->counted = true;
	s->failed = false; /* an error before it, a context overflow, has been mended */
	if (jobj_get(params, "child").type != J_TRUE)
		s->truncated = reason && strcmp(reason, "length") == 0;
	if (u.has || u.has_cost)
		h->host.ops->usage(h->host.ctx, &u);
}

static void send_event(struct harness *h, enum harness_update kind, struct buf *b)
{
	struct harness_event ev = { .kind = kind, .update = buf_slice(b) };

	h->host.ops->event(h->host.ctx, &ev);
}

static void on_retry(struct harness *h, struct slice params)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);
	int64_t attempt = 0;
	char title[80];

	jdec_int(jobj_get(params, "attempt"), &attempt);
	snprintf(title, sizeof(title), "The model request failed; retry %d follows", (int)attempt);
	jw_obj(&w, NULL);
	jw_str(&w, "sessionUpdate", "notice");
	jw_str(&w, "severity", "warning");
	jw_str(&w, "title", title);
	if (jobj_get(params, "message").type == J_STRING)
		jw_raw(&w, "description", jobj_get(params, "message").raw);
	jw_end_obj(&w);
	send_event(h, UPDATE_NOTICE, &b);
}

static void on_compaction(struct harness *h, struct slice params)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);

	if (jobj_get(params, "id").type != J_STRING || jobj_get(params, "status").type != J_STRING)
		return;
	jw_obj(&w, NULL);
	jw_str(&w, "sessionUpdate", "compaction_update");
	jw_raw(&w, "compactionId", jobj_get(params, "id").raw);
	jw_raw(&w, "status", jobj_get(params, "status").raw);
	jw_end_obj(&w);
	send_event(h, UPDATE_COMPACTION, &b);
}

static void copy_id(char to[64], struct jval v)
{
	_cleanup_(freep) char *text = NULL;

	if (jstr_decode(v, 63, &text) == 0)
		snprintf(to, 64, "%s", text);
}

static void on_summary(struct harness *h, struct slice params)
{
	struct state *s = state_of(h);
	struct summary *to = &s->summaries[s->nsummaries++ % ARRAY_SIZE(s->summaries)];

	memset(to, 0, sizeof(*to));
	copy_id(to->message, jobj_get(params, "messageId"));
	copy_id(to->compaction, jobj_get(params, "id"));
}

static void on_change(struct harness *h, struct slice params)
{
	struct jval call = jobj_get(params, "callId"), diffs = jobj_get(params, "diffs");
	struct state *s = state_of(h);
	struct change *to;

	if (call.type != J_STRING || diffs.type != J_ARRAY)
		return;
	to = &s->changes[s->nchanges++ % ARRAY_SIZE(s->changes)];
	free(to->call);
	free(to->diffs);
	to->call = xstrndup(call.raw.p, call.raw.n);
	to->diffs = xstrndup(diffs.raw.p, diffs.raw.n);
}

/* What has no status was no answer of the provider at all, or one that broke off. */
static bool is_broken_answer(struct jval name, const char *message)
{
	return jstr_is(name, "UnknownError") && strcasestr(message, "JSON pars");
}

static void on_error(struct harness *h, struct slice params)
{
	_cleanup_(freep) char *text = NULL;
	struct jval name = jobj_get(params, "name");
	struct state *s = state_of(h);
	struct turn_error *te = &s->error;
	int64_t status = 0;

	if (jstr_is(name, "MessageAbortedError"))
		return;
	if (jstr_is(name, "MessageOutputLengthError")) {
		s->truncated = true;
		return;
	}
	memset(te, 0, sizeof(*te));
	s->failed = true;
	if (jstr_decode(jobj_get(params, "message"), 64 * KIB, &text) < 0 || !*text)
		xstrset(&text, "OpenCode reported an error without a message");
	snprintf(te->message, sizeof(te->message), "%s", text);
	err_flatten(te->message);
	jdec_int(jobj_get(params, "status"), &status);
	acp_error_by_status(te, status >= 100 && status <= 599 ? (int)status : 0);
	te->retryable |= jobj_get(params, "retryable").type == J_TRUE ||
			 is_broken_answer(name, te->message);
	if (jstr_is(name, "ContextOverflowError"))
		te->cls = "context_overflow";
	else if (jstr_is(name, "ProviderAuthError"))
		te->cls = "auth";
	if (strcmp(te->cls, "context_overflow") == 0)
		te->retryable = false;
}

static void on_notification(struct harness *h, const char *method, struct slice params)
{
	static const struct {
		const char *method;
		void (*fn)(struct harness *h, struct slice params);
	} rows[] = {
		{ "_acpd/call", on_call },	 { "_acpd/retry", on_retry },
		{ "_acpd/error", on_error },	 { "_acpd/compaction", on_compaction },
		{ "_acpd/summary", on_summary }, { "_acpd/change", on_change },
	};

	if (!state_of(h)->in_turn || !h->native_id ||
	    !jstr_is(jobj_get(params, "sessionId"), h->native_id))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (strcmp(rows[i].method, method) == 0)
			rows[i].fn(h, params);
}

/* --- the turn ------------------------------------------------------------------------------------------ */

static void forget_changes(struct harness *h)
{
	struct state *s = state_of(h);

	for (size_t i = 0; i < ARRAY_SIZE(s->changes); i++) {
		free(s->changes[i].call);
		free(s->changes[i].diffs);
	}
}

static void on_turn_start(struct harness *h)
{
	forget_changes(h);
	*state_of(h) = (struct state){ .in_turn = true };
}

static bool on_turn_end(struct harness *h, struct harness_turn_end *end)
{
	struct state *s = state_of(h);
	bool ended = !end->failed && strcmp(end->stop_reason, "end_turn") == 0;

	s->in_turn = false;
	if (s->failed && (end->failed || ended))
		*end = (struct harness_turn_end){ .failed = true, .error = s->error };
	else if (ended && s->truncated)
		end->stop_reason = "max_tokens";
	return s->counted;
}

/* --- tool calls ----------------------------------------------------------------------------------------- */

/* OpenCode names a tool of a server "server_tool", with everything but letters, digits, _ and - as _. */
static bool is_tool_of(const char *server, const char *tool)
{
	for (; *server; server++, tool++) {
		bool plain = (*server >= 'a' && *server <= 'z') ||
			     (*server >= 'A' && *server <= 'Z') ||
			     (*server >= '0' && *server <= '9') || *server == '-';

		if (*tool != (plain ? *server : '_'))
			return false;
	}
	return *tool == '_' && tool[1];
}

/* The server's name if it is a tool of one. Caller frees. */
static char *server_of(const struct harness *h, const char *tool)
{
	struct jiter it;
	struct jval v;

	jiter_init(&it, (struct jval){ J_ARRAY, slice_of(h->mcp_servers) });
	while (jiter_next(&it, NULL, &v)) {
		_cleanup_(freep) char *name = NULL;

		if (v.type == J_OBJECT && jstr_decode(jobj_get(v.raw, "name"), 256, &name) == 0 &&
		    is_tool_of(name, tool))
			return TAKE_PTR(name);
	}
	return NULL;
}

/* Instead of "server_tool". False: it is no tool of a server. */
static bool put_server_tool(struct harness *h, struct slice update, const char *tool,
			    struct buf *to)
{
	_cleanup_(freep) char *server = server_of(h, tool);
	struct jw w = JW(to);
	const char *own;
	char name[600];

	if (!server)
		return false;
	own = tool + strlen(server) + 1;
	jw_obj(&w, NULL);
	jw_members(&w, update, "title");
	if (jstr_is(jobj_get(update, "sessionUpdate"), "tool_call")) {
		snprintf(name, sizeof(name), "%s/%s", server, own);
		jw_str(&w, "name", name);
	}
	snprintf(name, sizeof(name), "%s.%s", server, own);
	jw_str(&w, "title", name);
	jw_end_obj(&w);
	return true;
}

/* The first word of a call: its title is the tool's name. */
static bool put_name(struct harness *h, struct slice update, struct buf *to)
{
	_cleanup_(freep) char *tool = NULL;
	struct jw w = JW(to);

	if (jstr_decode(jobj_get(update, "title"), 256, &tool) < 0 || !*tool)
		return false;
	if (put_server_tool(h, update, tool, to))
		return true;
	if (!jstr_is(jobj_get(update, "sessionUpdate"), "tool_call") ||
	    jobj_get(update, "name").type != J_NONE)
		return false;
	jw_obj(&w, NULL);
	jw_members(&w, update, NULL);
	jw_str(&w, "name", tool);
	jw_end_obj(&w);
	return true;
}

static const char *diffs_of(struct harness *h, struct slice update)
{
	struct slice call = jobj_get(update, "toolCallId").raw;
	struct state *s = state_of(h);

	for (size_t i = 0; i < ARRAY_SIZE(s->changes); i++)
		if (s->changes[i].call && slice_is(call, s->changes[i].call))
			return s->changes[i].diffs;
	return NULL;
}

static void put_all(struct jw *w, struct jval array)
{
	struct jiter it;
	struct jval v;

	if (array.type == J_ARRAY && jiter_init(&it, array))
		while (jiter_next(&it, NULL, &v))
			jw_raw(w, NULL, v.raw);
}

static bool put_diffs(struct harness *h, struct slice update, struct buf *to)
{
	const char *diffs = diffs_of(h, update);
	struct jw w = JW(to);

	if (!diffs || !jstr_is(jobj_get(update, "status"), "completed"))
		return false;
	jw_obj(&w, NULL);
	jw_members(&w, update, "content");
	jw_arr(&w, "content");
	put_all(&w, jobj_get(update, "content"));
	put_all(&w, (struct jval){ J_ARRAY, slice_of(diffs) });
	jw_end_arr(&w);
	jw_end_obj(&w);
	return true;
}

/* The cost of models without prices is 0 in its books: it is not known. */
static bool put_gauge(struct harness *h _unused_, struct slice update, struct buf *to)
{
	int64_t cost;
	struct jw w = JW(to);

	if (!harness_cost_parse(jobj_get(jobj_get(update, "cost").raw, "amount").raw, &cost) ||
	    cost > 0)
		return false;
	jw_obj(&w, NULL);
	jw_members(&w, update, "cost");
	jw_end_obj(&w);
	return true;
}

/* What is wrong with an update of a kind. One of these at most applies to any. */
static const struct {
	enum harness_update kind;
	bool (*put)(struct harness *h, struct slice update, struct buf *to);
} mends[] = {
	{ UPDATE_TOOL_CALL, put_name },
	{ UPDATE_TOOL_CALL_UPDATE, put_diffs },
	{ UPDATE_TOOL_CALL_UPDATE, put_name },
	{ UPDATE_USAGE, put_gauge },
};

static void mend(struct harness *h, struct harness_event *ev, struct buf *scratch)
{
	for (size_t i = 0; i < ARRAY_SIZE(mends); i++) {
		_cleanup_(buf_done) struct buf to = { 0 };

		if (mends[i].kind != ev->kind || !mends[i].put(h, ev->update, &to))
			continue;
		/* what stood in scratch may be the update that has just been read */
		buf_done(scratch);
		*scratch = to;
		to = (struct buf){ 0 };
		ev->update = buf_slice(scratch);
		return;
	}
}

static const struct summary *summary_of(struct harness *h, struct slice update)
{
	struct state *s = state_of(h);
	struct jval id = jobj_get(update, "messageId");

	for (size_t i = 0; i < ARRAY_SIZE(s->summaries); i++)
		if (s->summaries[i].message[0] && jstr_is(id, s->summaries[i].message))
			return &s->summaries[i];
	return NULL;
}

/* False: there is nothing it could be shown with. */
static bool to_summary(struct harness_event *ev, const struct summary *s, struct buf *scratch)
{
	struct jw w = JW(scratch);

	if (ev->kind != UPDATE_AGENT_CHUNK || !s->compaction[0])
		return false;
	jw_obj(&w, NULL);
	jw_str(&w, "sessionUpdate", "compaction_summary_chunk");
	jw_str(&w, "compactionId", s->compaction);
	jw_raw(&w, "content", jobj_get(ev->update, "content").raw);
	jw_end_obj(&w);
	ev->kind = UPDATE_COMPACTION_CHUNK;
	ev->update = buf_slice(scratch);
	return true;
}

static bool on_update(struct harness *h, struct harness_event *ev, struct buf *scratch)
{
	const struct summary *summary = NULL;

	mend(h, ev, scratch);
	if (ev->kind == UPDATE_AGENT_CHUNK || ev->kind == UPDATE_THOUGHT_CHUNK)
		summary = summary_of(h, ev->update);
	return !summary || to_summary(ev, summary, scratch);
}

static const struct acp_hooks hooks = {
	.state_size = sizeof(struct state),
	.free = forget_changes,
	.on_update = on_update,
	.on_notification = on_notification,
	.on_turn_start = on_turn_start,
	.on_turn_end = on_turn_end,
};

const struct acp_quirks opencode_quirks = {
	.name = "opencode",
	.usage = ACP_USAGE_LAST_CALL,
	.input_excludes_cache = true,
	.output_excludes_reasoning = true,
	.exit_in = "metadata",
	.exit_code = "exit",
	.model_prefix = OPENCODE_PROVIDER_ID "/",
	.dirs_by_plan = true,
	.edits_by_us = true,
	.system_prompt = ACP_SYSTEM_PLAN,
	.hooks = &hooks,
};
