/*
 * message.c - the model's output, as it streams in, and the usage of each model call.
 *
 * Pi streams blocks of a message: start, deltas, end. A block without deltas is sent at its end, so that nothing is missing
 * and nothing comes twice. How the last message stopped is kept until the turn ends (turn.c).
 */
#include "harnesses/pi/internal.h"

#include "base/os/file.h"
#include "json/jstr.h"

/* --- chunks ------------------------------------------------------------------------------------------- */

/* Messages have no id in Pi; their time in milliseconds is one that a resumed session does not repeat. */
void pi_on_message_start(struct harness *h, const struct pi_record *r)
{
	struct jval time = jobj_get(r->m[M_MESSAGE].v.raw, "timestamp");

	if (!jstr_is(jobj_get(r->m[M_MESSAGE].v.raw, "role"), "assistant"))
		return;
	if (time.type == J_NUMBER && time.raw.n < 24) {
		snprintf(h->turn.message_id, sizeof(h->turn.message_id), "m%.*s", (int)time.raw.n,
			 time.raw.p);
		return;
	}
	snprintf(h->turn.message_id, sizeof(h->turn.message_id), "m%s", RANDOM_HEX(8));
}

static void emit_text_chunk(struct harness *h, enum harness_update kind, struct jval text)
{
	char id[48];

	/* A raw string of 2 bytes is "". */
	if (text.type != J_STRING || text.raw.n <= 2)
		return;
	/* a thought and the answer of one model message are two messages to a client */
	snprintf(id, sizeof(id), "%s%s", h->turn.message_id,
		 kind == UPDATE_THOUGHT_CHUNK ? ".thought" : "");
	harness_emit(&h->host, kind, JW_STR("messageId", id),
		     JW_OBJ("content", JW_STR("type", "text"), JW_RAW("text", text.raw)));
}

static void block_start(struct harness *h, const struct pi_record *r _unused_,
			enum harness_update kind _unused_)
{
	h->turn.block_seen = h->turn.gap = false;
}

static void block_delta(struct harness *h, const struct pi_record *r, enum harness_update kind)
{
	struct jval gap = { J_STRING, SLICE("\"\\n\\n\"") };

	h->turn.block_seen = true;
	/* Pi puts its separator also after the last thought, and the block's end removes it */
	if (h->turn.gap)
		emit_text_chunk(h, kind, gap);
	h->turn.gap = kind == UPDATE_THOUGHT_CHUNK && slice_eq(r->delta[D_DELTA].v.raw, gap.raw);
	if (!h->turn.gap)
		emit_text_chunk(h, kind, r->delta[D_DELTA].v);
}

/* Its content is that of the deltas, unless there were none. */
static void block_end(struct harness *h, const struct pi_record *r, enum harness_update kind)
{
	if (!h->turn.block_seen)
		emit_text_chunk(h, kind, r->delta[D_CONTENT].v);
	h->turn.block_seen = true;
}

static void start_streamed_call(struct harness *h, const struct pi_record *r,
				enum harness_update kind _unused_)
{
	pi_tool_emit(h, r->delta[D_ID].v, r->delta[D_TOOL].v, (struct jval){ 0 },
		     (struct jval){ 0 }, "pending");
}

static void end_streamed_call(struct harness *h, const struct pi_record *r,
			      enum harness_update kind _unused_)
{
	struct slice call = r->delta[D_CALL].v.raw;

	pi_tool_emit(h, jobj_get(call, "id"), jobj_get(call, "name"), jobj_get(call, "arguments"),
		     (struct jval){ 0 }, "pending");
}

static const struct {
	const char *type;
	void (*fn)(struct harness *h, const struct pi_record *r, enum harness_update kind);
	enum harness_update kind;
} deltas[] = {
	{ "text_delta", block_delta, UPDATE_AGENT_CHUNK },
	{ "thinking_delta", block_delta, UPDATE_THOUGHT_CHUNK },
	{ "text_start", block_start, UPDATE_AGENT_CHUNK },
	{ "thinking_start", block_start, UPDATE_THOUGHT_CHUNK },
	{ "text_end", block_end, UPDATE_AGENT_CHUNK },
	{ "thinking_end", block_end, UPDATE_THOUGHT_CHUNK },
	{ "toolcall_start", start_streamed_call, UPDATE_TOOL_CALL },
	{ "toolcall_end", end_streamed_call, UPDATE_TOOL_CALL_UPDATE },
};

void pi_on_message_update(struct harness *h, const struct pi_record *r)
{
	for (size_t i = 0; i < ARRAY_SIZE(deltas); i++) {
		if (!jstr_is(r->delta[D_TYPE].v, deltas[i].type))
			continue;
		deltas[i].fn(h, r, deltas[i].kind);
		return;
	}
}

/* --- usage -------------------------------------------------------------------------------------------- */

/* Pi counts what was read from or written to a cache beside the input. */
static void set_counts(struct harness_usage *u, struct slice usage, bool writes_cache)
{
	static const struct usage_field fields[] = {
		{ "input", COUNT_INPUT },	   { "output", COUNT_OUTPUT },
		{ "cacheRead", COUNT_CACHE_READ }, { "cacheWrite", COUNT_CACHE_WRITE },
		{ "reasoning", COUNT_REASONING },  { "totalTokens", COUNT_TOTAL },
	};

	harness_usage_read(u, usage, fields, ARRAY_SIZE(fields));
	if (u->has & (1u << COUNT_INPUT))
		u->count[COUNT_INPUT] += u->count[COUNT_CACHE_READ] + u->count[COUNT_CACHE_WRITE];
	/* the 0 of an API that does not report it */
	if (!u->count[COUNT_CACHE_WRITE] && !writes_cache)
		u->has &= ~(1u << COUNT_CACHE_WRITE);
}

void pi_usage(struct harness *h, struct slice usage, struct slice message, const char *source)
{
	struct slice cost = jobj_get(usage, "cost").raw;
	struct harness_usage u = { .source = source };
	_cleanup_(freep) char *model = jobj_str(message, "responseModel", 1024);
	_cleanup_(freep) char *provider = jobj_str(message, "provider", 1024);
	_cleanup_(freep) char *response = jobj_str(message, "responseId", 1024);
	_cleanup_(freep) char *finish = jobj_str(message, "rawStopReason", 1024);

	set_counts(&u, usage, jstr_is(jobj_get(message, "api"), "anthropic-messages"));
	/* All 0 means that no usage was reported (README.md). */
	if (!u.count[COUNT_INPUT] && !u.count[COUNT_OUTPUT])
		return;
	/* 0 is the cost of a model without prices */
	u.has_cost = harness_cost_parse(jobj_get(cost, "total").raw, &u.cost) && u.cost > 0;
	if (!model)
		model = jobj_str(message, "model", 1024);
	if (!model && h->now_model)
		model = xstrdup(h->now_model);
	u.model = model;
	u.provider = provider && strcmp(provider, PI_PROVIDER) != 0 ? provider : NULL;
	u.response_id = response;
	u.finish_reason = finish;
	h->host.ops->usage(h->host.ctx, &u);
}

/* --- the end of a message --------------------------------------------------------------------------- */

/* Providers' words for a stop because of the content; Pi makes errors of them. */
static bool is_refusal(struct slice message)
{
	static const char *const words[] = { "refusal", "content_filter", "SAFETY",
					     "PROHIBITED_CONTENT", "BLOCKLIST" };
	_cleanup_(freep) char *raw = jobj_str(message, "rawStopReason", 1024);

	for (size_t i = 0; raw && i < ARRAY_SIZE(words); i++)
		if (strstr(raw, words[i]))
			return true;
	return false;
}

static void note_message_failure(struct harness *h, struct slice message)
{
	_cleanup_(freep) char *text = NULL;

	if (jstr_decode_shown(jobj_get(message, "errorMessage"), 64 * KIB, &text) < 0)
		xstrset(&text, "");
	pi_error_classify(text, &h->turn.error);
	/* PI_PROVIDER is the daemon's name for the session's provider: it means nothing to a client. */
	if (h->now_provider && strcmp(h->now_provider, PI_PROVIDER) != 0)
		h->turn.error.provider = h->now_provider;
	h->turn.stop = NULL;
}

static void note_stop(struct harness *h, struct slice message)
{
	static const struct {
		const char *pi, *acp;
	} reasons[] = {
		{ "stop", "end_turn" },	    { "toolUse", "end_turn" },	{ "length", "max_tokens" },
		{ "aborted", "cancelled" }, { "deferred", "end_turn" },
	};
	struct jval reason = jobj_get(message, "stopReason");

	if (is_refusal(message)) {
		h->turn.stop = "refusal";
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++) {
		if (!jstr_is(reason, reasons[i].pi))
			continue;
		h->turn.stop = reasons[i].acp;
		return;
	}
	note_message_failure(h, message);
}

void pi_on_message_end(struct harness *h, const struct pi_record *r)
{
	struct slice message = r->m[M_MESSAGE].v.raw;
	struct slice usage = jobj_get(message, "usage").raw;
	struct jval role = jobj_get(message, "role");

	/* A tool can call a model itself; its tokens belong to the turn too. */
	if (jstr_is(role, "toolResult") && usage.n)
		pi_usage(h, usage, SLICE("{}"), "message_end.toolResult.usage");
	if (!jstr_is(role, "assistant"))
		return;
	pi_usage(h, usage, message, "message_end.message.usage");
	note_stop(h, message);
	if (h->turn.stop)
		pi_ask_stats(h);
}
