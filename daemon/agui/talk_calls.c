/*
 * talk_calls.c - tool calls of the harness: their names, arguments, progress and results.
 *
 * Live, a call is told when it begins, and its arguments once. In a history it stands when all of it is known. A call that may
 * be to a tool of the front end is held back until such a call comes, or cannot any more: a client must not get it twice.
 */
#include "agui/agui_talk.h"

#include "base/limits.h"
#include "json/jstr.h"

static struct agui_call *find_harness_call(struct agui_talk *t, const char *harness_id)
{
	list_each(c, &t->calls.list, struct agui_call, link)
		if (strcmp(c->harness_id, harness_id) == 0)
			return c;
	return NULL;
}

static void harness_call_free(struct agui_calls *all, struct agui_call *c)
{
	list_del(&c->link);
	all->n--;
	agui_said_done(&c->said);
	free_each(c->id, c->harness_id, c->name, c->args, c);
}

void agui_calls_init(struct agui_calls *c)
{
	list_init(&c->list);
	c->n = 0;
}

void agui_calls_free(struct agui_calls *c)
{
	while (!list_empty(&c->list))
		harness_call_free(c, list_first(&c->list, struct agui_call, link));
}

void agui_calls_move(struct agui_calls *from, struct agui_calls *to)
{
	list_drain(c, &from->list, struct agui_call, link) {
		list_del(&c->link);
		list_add_tail(&to->list, &c->link);
		from->n--;
		to->n++;
	}
}

/* --- events and messages -------------------------------------------------------------------------------------------- */

static void tell_start(struct agui_talk *t, const char *id, const char *name, uint64_t seq)
{
	char own[AGUI_ID_SIZE];

	agui_event(t->out, "TOOL_CALL_START", JW_STR("toolCallId", id),
		   JW_STR("toolCallName", name),
		   JW_STR("parentMessageId", seq ? agui_id(own, seq) : NULL));
}

static void tell_args(struct agui_talk *t, const char *id, struct slice args)
{
	/* Sent as a single delta: ACP reports arguments as a whole. */
	agui_event(t->out, "TOOL_CALL_ARGS", JW_STR("toolCallId", id),
		   JW_SLICE("delta", args.n ? args : SLICE("{}")));
	agui_event(t->out, "TOOL_CALL_END", JW_STR("toolCallId", id));
}

void agui_talk_front_call(struct agui_talk *t, const char *id, const char *tool, struct slice args)
{
	agui_talk_close(t);
	tell_start(t, id, tool, 0);
	tell_args(t, id, args);
}

/* A history has a call when all of it is known. */
static void put_call_message(struct agui_talk *t, struct agui_call *c)
{
	char own[AGUI_ID_SIZE];
	struct jw w;

	if (c->is_put)
		return;
	c->is_put = true;
	agui_talk_close(t);
	w = agui_message_begin(t, agui_id(own, c->seq), "assistant");
	jw_arr(&w, "toolCalls");
	jw_object(&w, NULL, JW_STR("id", c->id), JW_STR("type", "function"),
		  JW_OBJ("function", JW_STR("name", c->name),
			 JW_STR("arguments", c->args ? c->args : "{}")));
	jw_end_arr(&w);
	agui_message_end(t, &w);
}

static void put_call_result(struct agui_talk *t, const struct agui_call *c, uint64_t seq,
			    struct slice text)
{
	char own[AGUI_ID_SIZE];
	struct jw w;

	agui_id(own, seq);
	if (t->is_history) {
		w = agui_message_begin(t, own, "tool");
		jw_str(&w, "toolCallId", c->id);
		jw_slice(&w, "content", text);
		agui_message_end(t, &w);
		return;
	}
	agui_event(t->out, "TOOL_CALL_RESULT", JW_STR("messageId", own),
		   JW_STR("toolCallId", c->id), JW_SLICE("content", text), JW_STR("role", "tool"));
}

/* --- what an update says -------------------------------------------------------------------------------------------- */

static struct slice call_args(struct slice update)
{
	struct jval v = jobj_get(update, "rawInput");

	return v.type == J_OBJECT && v.raw.n > 2 ? v.raw : SLICE_NONE;
}

static bool has_call_ended(struct slice update)
{
	struct jval status = jobj_get(update, "status");

	return jstr_is(status, "completed") || jstr_is(status, "failed");
}

/* The tool's name; else what kind of tool it is: titles are sentences. */
static char *call_name(struct slice update)
{
	static const char *const members[] = { "name", "kind" };
	char *name = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		if (jstr_decode(jobj_get(update, members[i]), RPC_ID_MAX, &name) == 0 && *name)
			return name;
		else
			xstrset(&name, NULL);
	return xstrdup("tool");
}

static void add_result_block(struct buf *b, struct slice item)
{
	struct slice content = jobj_get(item, "content").raw;
	struct jval text = jobj_get(content, "text"), path = jobj_get(item, "path");

	if (buf_len(b))
		buf_putc(b, '\n');
	/* A diff has no text: its path is shown. */
	if (text.type == J_STRING)
		(void)jstr_decode_bytes(text, b);
	else if (path.type == J_STRING)
		(void)jstr_decode_bytes(path, b);
	else
		buf_add_slice(b, content.n ? content : item);
}

/* Its text; else what the tool itself gave. */
static void call_result_text(struct slice update, struct buf *b)
{
	jarr_each(v, jobj_get(update, "content")) {
		/* The rest does not fit into AGUI_RESULT_MAX. */
		if (b->failed)
			break;
		add_result_block(b, v.raw);
	}
	if (!buf_len(b))
		buf_add_slice(b, jobj_get(update, "rawOutput").raw);
}

/* --- calls ---------------------------------------------------------------------------------------------------------- */

static void keep_args(struct agui_call *c, struct slice args)
{
	/* A snapshot shows {} for arguments that are too large. */
	if (!args.n || args.n > AGUI_RESULT_MAX)
		return;
	jraw_set(&c->args, (struct jval){ J_OBJECT, args }, J_OBJECT);
}

static void agui_call_show(struct agui_talk *t, struct agui_call *c, struct slice args)
{
	agui_talk_close(t);
	if (t->is_history || c->held) {
		keep_args(c, args);
		return;
	}
	tell_start(t, c->id, c->name, c->seq);
	/* Without arguments the call stays open: an update may have them. */
	c->ended = args.n > 0;
	if (args.n)
		tell_args(t, c->id, args);
}

static void agui_call_release(struct agui_talk *t, struct agui_call *c)
{
	/* A history needs the arguments later, for the call's message. */
	_cleanup_(freep) char *args = t->is_history ? NULL : TAKE_PTR(c->args);

	if (!c->held)
		return;
	c->held = false;
	agui_said_done(&c->said);
	if (!t->is_history)
		agui_call_show(t, c, slice_of(args));
}

static struct agui_call *harness_call_new(struct agui_talk *t, const char *harness_id)
{
	struct agui_call *c = new0(struct agui_call), *first;

	if (t->calls.n == AGUI_CALLS_MAX) {
		/* Released first: a call that is held back would never be shown. */
		first = list_first(&t->calls.list, struct agui_call, link);
		agui_call_release(t, first);
		harness_call_free(&t->calls, first);
	}
	c->harness_id = xstrdup(harness_id);
	list_add_tail(&t->calls.list, &c->link);
	t->calls.n++;
	return c;
}

/* One more can be held. */
static bool agui_calls_may_hold(const struct agui_talk *t)
{
	unsigned held = 0;

	list_each(c, (struct list *)&t->calls.list, struct agui_call, link)
		held += c->held;
	return held < AGUI_HELD_MAX;
}

/* A call to a tool of the front end is told when it comes there. */
static void find_owner(struct agui_talk *t, struct agui_call *c, struct slice update)
{
	struct agui_call_owner is = { 0 };
	enum agui_tool_owner whose = OWNER_HARNESS;

	if (t->names.owner_of)
		whose = t->names.owner_of(t->names.ctx, update, c->harness_id, &is);
	c->id = is.id ? is.id : xstrdup(c->harness_id);
	c->name = is.tool ? is.tool : call_name(update);
	c->said = is.said;
	c->hidden = whose == OWNER_FRONT_END && !t->is_history;
	/* If too many are held, one more is shown as the harness's own. */
	c->held = whose == OWNER_UNKNOWN && agui_calls_may_hold(t);
}

void agui_talk_call(struct agui_talk *t, uint64_t seq, struct slice update)
{
	_cleanup_(freep) char *id = NULL;
	struct agui_call *c;

	if (jstr_decode(jobj_get(update, "toolCallId"), RPC_ID_MAX, &id) < 0 ||
	    find_harness_call(t, id))
		return;
	c = harness_call_new(t, id);
	c->seq = seq;
	find_owner(t, c, update);
	if (!c->hidden)
		agui_call_show(t, c, call_args(update));
	/* The first report may have progress, or the result, already. */
	agui_talk_call_update(t, seq, update);
}

static void end_args(struct agui_talk *t, struct agui_call *c, struct slice args)
{
	if (t->is_history) {
		keep_args(c, args);
		return;
	}
	if (!c->ended && !c->hidden && !c->is_put)
		tell_args(t, c->id, args);
	c->ended = true;
}

static void finish_call(struct agui_talk *t, struct agui_call *c, uint64_t seq, struct slice update)
{
	_cleanup_(buf_done) struct buf text = { .max = AGUI_RESULT_MAX };

	call_result_text(update, &text);
	/* Before the result: TOOL_CALL_END must not follow it. */
	end_args(t, c, call_args(update));
	if (t->is_history)
		put_call_message(t, c);
	if (!c->hidden) {
		agui_talk_close(t);
		put_call_result(t, c, seq, buf_slice(&text));
	}
	harness_call_free(&t->calls, c);
}

/* --- progress ------------------------------------------------------------------------------------------------------- */

/* A call may begin with it: its own message has the number alone. */
static void progress_id(char out[AGUI_ID_SIZE + 16], uint64_t seq)
{
	snprintf(out, AGUI_ID_SIZE + 16, "acpd-%llu-progress", (unsigned long long)seq);
}

static const char *const shown[] = { "status", "title", "content", "locations" };

static void tell_progress(struct agui_talk *t, const struct agui_call *c, struct slice update)
{
	struct jw w = agui_event_begin(t->out, "ACTIVITY_DELTA");
	char id[AGUI_ID_SIZE + 16], path[32];

	progress_id(id, c->activity_seq);
	jw_str(&w, "messageId", id);
	jw_str(&w, "activityType", "TOOL_CALL");
	jw_arr(&w, "patch");
	for (size_t i = 0; i < ARRAY_SIZE(shown); i++) {
		struct slice v = jobj_get(update, shown[i]).raw;

		if (!v.n)
			continue;
		snprintf(path, sizeof(path), "/%s", shown[i]);
		jw_object(&w, NULL, JW_STR("op", "add"), JW_STR("path", path), JW_RAW("value", v));
	}
	jw_end_arr(&w);
	agui_event_end(&w);
}

static void show_activity(struct agui_talk *t, struct agui_call *c, uint64_t seq,
			  struct slice update)
{
	JW_BUF(w, b);
	char id[AGUI_ID_SIZE + 16];

	c->activity_seq = seq;
	progress_id(id, seq);
	jw_obj(&w, NULL);
	jw_str(&w, "toolCallId", c->id);
	for (size_t i = 0; i < ARRAY_SIZE(shown); i++)
		jw_raw(&w, shown[i], jobj_get(update, shown[i]).raw);
	jw_end_obj(&w);
	agui_activity(t, id, "TOOL_CALL", buf_slice(&b));
}

/* Progress is news: a history has only what came of it. */
static void show_progress(struct agui_talk *t, struct agui_call *c, uint64_t seq,
			  struct slice update)
{
	if (t->is_history || c->hidden || c->held ||
	    !jstr_is(jobj_get(update, "status"), "in_progress"))
		return;
	if (c->activity_seq)
		tell_progress(t, c, update);
	else
		show_activity(t, c, seq, update);
}

/* More is known of one that is held. */
static void agui_call_note(struct agui_talk *t, struct agui_call *c, struct slice args)
{
	if (!args.n)
		return;
	c->said.args = agui_args_digest(args);
	jraw_set(&c->args, (struct jval){ J_OBJECT, args }, J_OBJECT);
	/* Too large to be stored until it is known whose call this is. */
	if (args.n > AGUI_HELD_ARGS_MAX)
		agui_call_release(t, c);
}

void agui_talk_call_update(struct agui_talk *t, uint64_t seq, struct slice update)
{
	_cleanup_(freep) char *id = NULL;
	struct agui_call *c;

	if (jstr_decode(jobj_get(update, "toolCallId"), RPC_ID_MAX, &id) < 0)
		return;
	c = find_harness_call(t, id);
	if (!c)
		return;
	/* The call ended before the front end got a call, so it is the harness's own. */
	if (c->held && has_call_ended(update))
		agui_call_release(t, c);
	if (c->held)
		agui_call_note(t, c, call_args(update));
	else if (call_args(update).n)
		end_args(t, c, call_args(update));
	if (has_call_ended(update))
		finish_call(t, c, seq, update);
	else
		show_progress(t, c, seq, update);
}

void agui_calls_end(struct agui_talk *t)
{
	list_each(c, &t->calls.list, struct agui_call, link)
		if (c->held)
			continue;
		else if (t->is_history)
			put_call_message(t, c);
		else
			end_args(t, c, SLICE_NONE);
}

/* --- calls that are held back ---------------------------------------------------------------------------- */

void agui_talk_release(struct agui_talk *t)
{
	list_each(c, &t->calls.list, struct agui_call, link)
		agui_call_release(t, c);
}

static struct agui_call *find_held_fit(const struct agui_talk *t, const char *tool, uint64_t args)
{
	struct agui_call *named = NULL;

	list_each(c, (struct list *)&t->calls.list, struct agui_call, link) {
		enum agui_fit fit = c->held ? agui_said_fits(&c->said, tool, args) : FIT_NONE;

		if (fit == FIT_WHOLE)
			return c;
		if (fit == FIT_NAME && !named)
			named = c;
	}
	return named;
}

char *agui_talk_claim(struct agui_talk *t, const char *tool, uint64_t args)
{
	struct agui_call *c = find_held_fit(t, tool, args);

	if (!c)
		return NULL;
	c->held = false;
	/* The front end's call is shown instead, so updates of this one are not. */
	c->hidden = true;
	agui_said_done(&c->said);
	return xstrdup(c->harness_id);
}
