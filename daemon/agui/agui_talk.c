/*
 * agui_talk.c - converts updates of a session to AG-UI events (live) or messages (history).
 *
 * ACP sends chunks, AG-UI needs a start and an end: one message is open at a time, and any other
 * event ends it. A message id contains the number of its first event, so live events and snapshots
 * use the same id. In a history, chunks are concatenated as escaped JSON and quoted at the end;
 * nothing is decoded. AGUI_SNAPSHOT_MAX bounds a history. Above the limit `whole` is false, and no
 * snapshot is sent.
 */
#include "agui/agui_talk.h"

#include "base/limits.h"
#include "json/jstr.h"

#include <inttypes.h>

const char *agui_id(char out[AGUI_ID_SIZE], uint64_t seq)
{
	snprintf(out, AGUI_ID_SIZE, "acpd-%" PRIu64, seq);
	return out;
}

struct jw agui_event_begin(struct buf *out, const char *type)
{
	struct jw w = JW(out);

	/* A single data line: the JSON is written without line breaks. */
	buf_puts(out, "data: ");
	jw_obj(&w, NULL);
	jw_str(&w, "type", type);
	return w;
}

void agui_event_end(struct jw *w)
{
	jw_end_obj(w);
	/* An empty line ends an event (WHATWG HTML, server-sent events). */
	buf_puts(w->b, "\n\n");
}

void agui_event_of(struct buf *out, const char *type, const struct jw_member *members)
{
	struct jw w = agui_event_begin(out, type);

	jw_put(&w, members);
	agui_event_end(&w);
}

static void event_of(struct agui_talk *t, const char *type)
{
	char id[AGUI_ID_SIZE];

	agui_event(t->out, type, JW_STR("messageId", agui_id(id, t->open_seq)));
}

/* --- history -------------------------------------------------------------------------------------------------------- */

struct jw agui_message_begin(struct agui_talk *t, const char *id, const char *role)
{
	struct jw w = JW(&t->messages);

	if (buf_len(&t->messages))
		buf_putc(&t->messages, ',');
	jw_obj(&w, NULL);
	jw_str(&w, "id", id);
	jw_str(&w, "role", role);
	return w;
}

void agui_message_end(struct agui_talk *t, struct jw *w)
{
	jw_end_obj(w);
	if (t->messages.failed)
		t->is_whole = false;
}

static void put_history_message(struct agui_talk *t, const char *role)
{
	char id[AGUI_ID_SIZE];
	struct jw w;

	w = agui_message_begin(t, agui_id(id, t->open_seq), role);
	/* start_message has written the opening quote. */
	buf_putc(&t->text, '"');
	jw_raw(&w, "content", buf_slice(&t->text));
	agui_message_end(t, &w);
}

/* The message of a person: with the id that its client gave, and in one part if it was one. */
static void put_prompt(struct agui_talk *t)
{
	struct jval role = jobj_get(t->origin, "role"), given = jobj_get(t->origin, "id");
	struct jw w = JW(&t->messages);
	char id[AGUI_ID_SIZE];

	agui_id(id, t->open_seq);
	if (buf_len(&t->messages))
		buf_putc(&t->messages, ',');
	jw_obj(&w, NULL);
	if (given.type == J_STRING)
		jw_raw(&w, "id", given.raw);
	else
		jw_str(&w, "id", id);
	jw_raw(&w, "role", role.type == J_STRING ? role.raw : SLICE("\"user\""));
	buf_putc(&t->text, '"');
	/* 2: only the quotes, so the single part is not text. */
	if (t->nparts > 1 || buf_len(&t->text) == 2) {
		jw_arr(&w, "content");
		jw_raw(&w, NULL, buf_slice(&t->parts));
		jw_end_arr(&w);
	} else {
		jw_raw(&w, "content", buf_slice(&t->text));
	}
	agui_message_end(t, &w);
}

static void history_close(struct agui_talk *t)
{
	if (t->open == OPEN_USER)
		put_prompt(t);
	else
		put_history_message(t, t->open == OPEN_TEXT ? "assistant" : "reasoning");
	if (t->text.failed || t->parts.failed)
		t->is_whole = false;
	buf_reset(&t->text);
	buf_reset(&t->parts);
	buf_reset(&t->text_origin);
	/* origin points into text_origin, whose memory is reused. */
	t->origin = SLICE_NONE;
	t->nparts = 0;
}

/* --- messages ------------------------------------------------------------------------------------------------------- */

static void live_close(struct agui_talk *t)
{
	if (t->open == OPEN_THOUGHT) {
		event_of(t, "REASONING_MESSAGE_END");
		event_of(t, "REASONING_END");
	} else {
		event_of(t, "TEXT_MESSAGE_END");
	}
}

void agui_talk_close(struct agui_talk *t)
{
	if (t->open == OPEN_NONE)
		return;
	if (t->is_history)
		history_close(t);
	else
		live_close(t);
	t->open = OPEN_NONE;
	xstrset(&t->open_id, NULL);
}

static void live_start(struct agui_talk *t)
{
	bool thought = t->open == OPEN_THOUGHT;
	char id[AGUI_ID_SIZE];

	if (thought)
		event_of(t, "REASONING_START");
	agui_event(t->out, thought ? "REASONING_MESSAGE_START" : "TEXT_MESSAGE_START",
		   JW_STR("messageId", agui_id(id, t->open_seq)),
		   JW_STR("role", thought	       ? "reasoning" :
				  t->open == OPEN_USER ? "user" :
							 "assistant"));
}

static void start_message(struct agui_talk *t, enum agui_open what, uint64_t seq, struct slice id)
{
	agui_talk_close(t);
	t->open = what;
	t->open_seq = seq;
	t->open_id = id.n ? xstrndup(id.p, id.n) : NULL;
	if (t->is_history)
		buf_putc(&t->text, '"');
	else
		live_start(t);
}

/* raw: a JSON string. */
static void add_delta(struct agui_talk *t, struct slice raw)
{
	char id[AGUI_ID_SIZE];

	if (t->is_history) {
		buf_add(&t->text, raw.p + 1, raw.n - 2);
		return;
	}
	agui_event(t->out,
		   t->open == OPEN_THOUGHT ? "REASONING_MESSAGE_CONTENT" : "TEXT_MESSAGE_CONTENT",
		   JW_STR("messageId", agui_id(id, t->open_seq)), JW_RAW("delta", raw));
}

/* The same message goes on. An id that one side does not have says nothing. */
static bool message_goes_on(const struct agui_talk *t, enum agui_open what, struct slice id)
{
	return t->open == what && (!id.n || !t->open_id || slice_is(id, t->open_id));
}

void agui_activity(struct agui_talk *t, const char *id, const char *type, struct slice content)
{
	struct jw w;

	agui_talk_close(t);
	if (t->is_history) {
		w = agui_message_begin(t, id, "activity");
		jw_str(&w, "activityType", type);
		jw_raw(&w, "content", content);
		agui_message_end(t, &w);
		return;
	}
	agui_event(t->out, "ACTIVITY_SNAPSHOT", JW_STR("messageId", id),
		   JW_STR("activityType", type), JW_RAW("content", content));
}

static void text_chunk(struct agui_talk *t, enum agui_open what, uint64_t seq, struct slice update)
{
	struct slice id = jobj_get(update, "messageId").raw,
		     content = jobj_get(update, "content").raw;
	struct jval text = jobj_get(content, "text");
	char own[AGUI_ID_SIZE];

	if (!jstr_is(jobj_get(content, "type"), "text") || text.type != J_STRING) {
		agui_id(own, seq);
		if (content.n)
			agui_activity(t, own, "CONTENT", content);
		return;
	}
	/* AG-UI requires a delta that is not empty. */
	if (text.raw.n == 2)
		return;
	if (!message_goes_on(t, what, id))
		start_message(t, what, seq, id);
	add_delta(t, text.raw);
}

/* --- prompts -------------------------------------------------------------------------------------------------------- */

static void put_source(struct jw *w, const char *type, struct slice value, struct slice mime)
{
	jw_object(w, "source", JW_STR("type", type), JW_RAW("value", value),
		  JW_RAW("mimeType", mime));
}

/* A block of ACP as the part that it was. */
static void put_prompt_part(struct jw *w, struct slice block)
{
	struct jval type = jobj_get(block, "type"), text = jobj_get(block, "text");
	struct jval data = jobj_get(block, "data"), uri = jobj_get(block, "uri");

	jw_obj(w, NULL);
	if (text.type == J_STRING) {
		jw_str(w, "type", "text");
		jw_raw(w, "text", text.raw);
	} else if (data.type == J_STRING) {
		jw_raw(w, "type", type.raw);
		put_source(w, "data", data.raw, jobj_get(block, "mimeType").raw);
	} else {
		jw_str(w, "type", "document");
		put_source(w, "url", uri.type == J_STRING ? uri.raw : SLICE("\"\""), SLICE_NONE);
	}
	jw_end_obj(w);
}

static bool same_origin(const struct agui_talk *t, struct slice origin)
{
	return t->open == OPEN_USER && t->origin.n == origin.n && slice_eq(t->origin, origin);
}

/* A message of one person is several blocks, if it has several parts. What the daemon itself wrote has no origin. */
static void prompt_block(struct agui_talk *t, uint64_t seq, struct slice block)
{
	struct slice meta = jobj_get(block, "_meta").raw, origin = jobj_get(meta, "agui").raw;
	struct jval text = jobj_get(block, "text");
	struct jw w = JW(&t->parts);

	/* put_context wrote this block: the client has no such message. */
	if (jobj_get(origin, "context").type == J_TRUE)
		return;
	if (!same_origin(t, origin) || !origin.n) {
		start_message(t, OPEN_USER, seq, SLICE_NONE);
		buf_add_slice(&t->text_origin, origin);
		t->origin = buf_slice(&t->text_origin);
	}
	/* Each block has a writer of its own, which cannot know whether a part precedes it. */
	w.comma = t->nparts++ > 0;
	put_prompt_part(&w, block);
	if (text.type == J_STRING)
		add_delta(t, text.raw);
}

static void user_chunk(struct agui_talk *t, uint64_t seq, struct slice update)
{
	struct slice block = jobj_get(update, "content").raw;

	if (t->is_history)
		prompt_block(t, seq, block);
	else
		text_chunk(t, OPEN_USER, seq, update);
}

/* --- all of them ---------------------------------------------------------------------------------------------------- */

static void agent_chunk(struct agui_talk *t, uint64_t seq, struct slice update)
{
	agui_talk_release(t);
	text_chunk(t, OPEN_TEXT, seq, update);
}

static void thought_chunk(struct agui_talk *t, uint64_t seq, struct slice update)
{
	agui_talk_release(t);
	text_chunk(t, OPEN_THOUGHT, seq, update);
}

static const struct {
	const char *name;
	void (*fn)(struct agui_talk *t, uint64_t seq, struct slice update);
} updates[] = {
	{ "agent_message_chunk", agent_chunk },	       { "agent_thought_chunk", thought_chunk },
	{ "user_message_chunk", user_chunk },	       { "tool_call", agui_talk_call },
	{ "tool_call_update", agui_talk_call_update }, { "plan", agui_talk_plan },
	{ "plan_update", agui_talk_plan_update },      { "plan_removed", agui_talk_plan_removed },
	{ "compaction_update", agui_talk_compaction }, { "subagent_update", agui_talk_subagent },
};

void agui_talk_raw(struct agui_talk *t, struct slice update)
{
	if (!t->is_history)
		agui_event(t->out, "RAW", JW_RAW("event", update), JW_STR("source", "acp"));
}

void agui_talk_update(struct agui_talk *t, uint64_t seq, struct slice update)
{
	struct jval name = jobj_get(update, "sessionUpdate");

	for (size_t i = 0; i < ARRAY_SIZE(updates); i++)
		if (jstr_is(name, updates[i].name)) {
			updates[i].fn(t, seq, update);
			return;
		}
	if (!agui_talk_state(t, update))
		agui_talk_raw(t, update);
}

void agui_talk_pause(struct agui_talk *t)
{
	agui_talk_close(t);
	agui_calls_end(t);
	agui_more_pause(t);
}

void agui_talk_turn_over(struct agui_talk *t)
{
	/* In this order: the pause ends the arguments of the calls that the release shows. */
	agui_talk_release(t);
	agui_talk_pause(t);
	agui_calls_free(&t->calls);
	t->plan_seq = 0;
}

void agui_talk_go_live(struct agui_talk *t)
{
	agui_talk_pause(t);
	agui_plans_put(t);
	t->is_history = false;
}

void agui_talk_init(struct agui_talk *t, struct buf *out, bool old, const struct agui_names *names)
{
	*t = (struct agui_talk){ .out = out, .is_old = old, .is_whole = true, .names = *names };
	t->messages.max = t->text.max = t->parts.max = AGUI_SNAPSHOT_MAX;
	agui_calls_init(&t->calls);
	list_init(&t->plans);
	list_init(&t->subagents);
}

void agui_talk_done(struct agui_talk *t)
{
	agui_calls_free(&t->calls);
	agui_more_done(t);
	free(t->open_id);
	buf_done(&t->text);
	buf_done(&t->text_origin);
	buf_done(&t->parts);
	buf_done(&t->messages);
	for (size_t i = 0; i < PART_MAX; i++)
		free(t->state[i]);
}
