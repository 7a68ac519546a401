/*
 * items.c - the items of the running turn. Messages and thoughts are sent as they come; what is a tool call is kept
 * until the turn ends, since its output comes in pieces, questions refer to it, and a first piece may be missing.
 */
#include "harnesses/codex/internal.h"
#include "harnesses/inside.h"

static void item_free(struct codex_item *it)
{
	list_del(&it->link);
	buf_done(&it->body);
	buf_done(&it->output);
	free_each(it->id, it->shown, it->tool, it->paths, it);
}

void codex_items_free(struct harness *h)
{
	while (!list_empty(&h->items))
		item_free(list_first(&h->items, struct codex_item, link));
}

/* True only for the running turn: an older one's command may end long after it. */
static bool of_this_turn(const struct harness *h, struct slice params)
{
	struct jval turn = jobj_get(params, "turnId");

	return h->turn_id && jstr_is(turn, h->turn_id);
}

/* --- messages and thoughts ---------------------------------------------------------------------------- */

/* text: a raw JSON string; up to 2 bytes it is empty. */
static void send_chunk(struct harness *h, enum harness_update kind, const struct codex_item *it,
		       struct slice text)
{
	if (text.n > 2)
		codex_emit(h, kind, JW_STR("messageId", it->shown),
			   JW_OBJ("content", JW_STR("type", "text"), JW_RAW("text", text)));
}

static void send_delta(struct harness *h, enum harness_update kind, struct slice params)
{
	_cleanup_(freep) char *id = codex_str(params, "itemId");
	struct jval delta = jobj_get(params, "delta");
	struct codex_item *it;

	if (!id || delta.type != J_STRING || !of_this_turn(h, params))
		return;
	codex_answer_begun(h);
	it = codex_item_for_text(h, id);
	it->streamed = true;
	send_chunk(h, kind, it, delta.raw);
}

void codex_on_message_delta(struct harness *h, struct slice params)
{
	send_delta(h, UPDATE_AGENT_CHUNK, params);
}

void codex_on_thought_delta(struct harness *h, struct slice params)
{
	send_delta(h, UPDATE_THOUGHT_CHUNK, params);
}

/* Begins a new paragraph, except for the first. */
void codex_on_thought_part(struct harness *h, struct slice params)
{
	_cleanup_(freep) char *id = codex_str(params, "itemId");
	struct jval index = jobj_get(params, "summaryIndex");

	if (id && index.type == J_NUMBER && !slice_is(index.raw, "0") && of_this_turn(h, params))
		send_chunk(h, UPDATE_THOUGHT_CHUNK, codex_item_for_text(h, id),
			   SLICE("\"\\n\\n\""));
}

/* A text that was not streamed comes whole with the end of its item. */
static void send_unstreamed(struct harness *h, struct codex_item *it, struct slice item)
{
	struct jval type = jobj_get(item, "type"), text = jobj_get(item, "text");

	if (it->streamed || it->is_done)
		return;
	if (!jstr_is(type, "reasoning")) {
		if (text.type == J_STRING)
			send_chunk(h, UPDATE_AGENT_CHUNK, it, text.raw);
		return;
	}
	jarr_each_at(i, v, jobj_get(item, "summary")) {
		if (i)
			send_chunk(h, UPDATE_THOUGHT_CHUNK, it, SLICE("\"\\n\\n\""));
		if (v.type == J_STRING)
			send_chunk(h, UPDATE_THOUGHT_CHUNK, it, v.raw);
	}
}

static void send_compaction(struct harness *h, const char *id, const char *status)
{
	codex_emit(h, UPDATE_COMPACTION, JW_STR("compactionId", id), JW_STR("status", status));
}

/* --- tool calls ---------------------------------------------------------------------------------------- */

static void open_call_update(struct jw *w, const struct codex_item *it, enum harness_update kind,
			     const char *status)
{
	harness_update_open(w, kind);
	jw_str(w, "toolCallId", it->shown);
	jw_str(w, "status", status);
}

/* Members of the call, and what of its content is known already. */
static void render_body(struct codex_item *it, struct slice item)
{
	struct jw w = JW(&it->body);

	buf_reset(&it->body);
	it->row->head(&w, item, it->row);
	/* The head alone tells two calls of one id apart (item_list.c): content changes while a call
	 * runs. */
	it->head = buf_len(&it->body);
	if (it->row->content) {
		jw_arr(&w, "content");
		it->row->content(&w, item);
		jw_end_arr(&w);
	}
}

static void start_call(struct harness *h, struct codex_item *it, struct slice item)
{
	JW_BUF(w, b);
	_cleanup_(freep) char *tool = codex_str(item, "tool"), *server = codex_str(item, "server");
	struct jval changes = jobj_get(item, "changes");

	if (tool && server) {
		free(it->tool);
		it->tool = xprintf("%s/%s", server, tool);
	}
	if (!jraw_set(&it->paths, changes, J_ARRAY))
		xstrset(&it->paths, NULL);
	render_body(it, item);
	open_call_update(&w, it, UPDATE_TOOL_CALL, codex_tool_status(it->row, item, false));
	jw_raw(&w, NULL, buf_slice(&it->body));
	jw_end_obj(&w);
	codex_event(h, &b);
}

static void send_output(struct harness *h, const struct codex_item *it, const char *status)
{
	JW_BUF(w, b);

	open_call_update(&w, it, UPDATE_TOOL_CALL_UPDATE, status);
	if (buf_len(&it->output)) {
		jw_arr(&w, "content");
		jw_object(&w, NULL, JW_STR("type", "content"),
			  JW_OBJ("content", JW_STR("type", "text"),
				 JW_SLICE("text", buf_slice(&it->output))));
		jw_end_arr(&w);
	}
	jw_end_obj(&w);
	codex_event(h, &b);
}

/* Updates replace content, so each carries all of it: a small addition to a long content waits for more. */
static void show_output(struct harness *h, struct codex_item *it)
{
	if (it->unsent < buf_len(&it->output) / OUTPUT_GROWTH) {
		/* One timer for all items: it is not started again while it runs. */
		if (!h->output_waits)
			h->host.ops->timer(h->host.ctx, OUTPUT_DELAY_MS);
		h->output_waits = true;
		return;
	}
	it->unsent = 0;
	send_output(h, it, "in_progress");
}

void codex_output_show(struct harness *h)
{
	h->output_waits = false;
	list_each(it, &h->items, struct codex_item, link) {
		if (it->is_done || !it->unsent)
			continue;
		it->unsent = 0;
		send_output(h, it, "in_progress");
	}
}

/* A long output is cut to its end meanwhile. */
static void add_output(struct harness *h, struct slice params, const char *key, bool replace)
{
	_cleanup_(freep) char *id = codex_str(params, "itemId");
	_cleanup_(buf_done) struct buf text = { 0 };
	struct codex_item *it = codex_item_find(h, id);

	if (!it || !it->row || it->is_done || jstr_decode_bytes(jobj_get(params, key), &text) < 0 ||
	    !buf_len(&text))
		return;
	if (replace)
		buf_reset(&it->output);
	buf_add_slice(&it->output, buf_slice(&text));
	/* Before the cut: what is cut off again also counts as new. */
	it->unsent += buf_len(&text);
	if (buf_len(&it->output) > OUTPUT_SHOWN_MAX)
		buf_consume(&it->output, buf_len(&it->output) - OUTPUT_SHOWN_MAX);
	show_output(h, it);
}

void codex_on_output_delta(struct harness *h, struct slice params)
{
	add_output(h, params, "delta", false);
}

void codex_on_mcp_progress(struct harness *h, struct slice params)
{
	add_output(h, params, "message", true);
}

void codex_item_goes_on(struct harness *h, struct codex_item *it)
{
	if (it->row && !it->is_done)
		send_output(h, it, "in_progress");
}

void codex_on_patch_updated(struct harness *h, struct slice params)
{
	_cleanup_(freep) char *id = codex_str(params, "itemId");
	JW_BUF(w, b);
	struct jval changes = jobj_get(params, "changes");
	struct codex_item *it = codex_item_find(h, id);

	if (!it || !it->row || it->is_done || changes.type != J_ARRAY)
		return;
	jraw_set(&it->paths, changes, J_ARRAY);
	/* The notification has the member that the row reads from an item: changes. */
	render_body(it, params);
	open_call_update(&w, it, UPDATE_TOOL_CALL_UPDATE, "in_progress");
	jw_raw(&w, NULL, buf_slice(&it->body));
	jw_end_obj(&w);
	codex_event(h, &b);
}

static void end_item_call(struct harness *h, struct codex_item *it, struct slice item)
{
	_cleanup_(buf_done) struct buf b = { 0 }, content = { 0 };
	struct jw w = JW(&b), c = JW(&content);

	open_call_update(&w, it, UPDATE_TOOL_CALL_UPDATE, codex_tool_status(it->row, item, true));
	if (it->row->content)
		it->row->content(&c, item);
	if (buf_len(&content)) { /* else the streamed content stays */
		jw_arr(&w, "content");
		jw_raw(&w, NULL, buf_slice(&content));
		jw_end_arr(&w);
	}
	codex_output_put(&w, "rawOutput", item);
	jw_end_obj(&w);
	codex_event(h, &b);
	it->is_done = true;
	buf_done(&it->output);
}

/* --- start and end ------------------------------------------------------------------------------------- */

/* Of a subagent only its actions are shown, not its texts for its parent. */
static bool is_shown(const struct harness *h, struct slice params, struct slice item)
{
	struct jval thread = jobj_get(params, "threadId");

	if (thread.type == J_STRING && !jstr_is(thread, h->thread_id))
		return h->turn_id && codex_tool_row(jobj_get(item, "type"));
	return of_this_turn(h, params);
}

/* NULL: the item is not shown. */
static struct codex_item *item_of(struct harness *h, struct slice params, struct slice *ret)
{
	_cleanup_(freep) char *id = NULL;
	struct codex_item *it;

	*ret = jobj_get(params, "item").raw;
	id = codex_str(*ret, "id");
	if (!id || !h->thread_id || !is_shown(h, params, *ret))
		return NULL;
	it = codex_item_newest(h, id);
	return it ? it : codex_item_add(h, id);
}

void codex_on_item_started(struct harness *h, struct slice params)
{
	struct slice item;
	struct codex_item *it = item_of(h, params, &item);
	struct jval type = jobj_get(item, "type");

	if (!it || codex_item_same(h, it->id, item, true))
		return; /* it was reported before */
	/* A gateway has used the id again: this is another item. */
	if (it->started || it->is_done)
		it = codex_item_again(h, it);
	it->started = true;
	if (of_this_turn(h, params) && !jstr_is(type, "userMessage"))
		codex_answer_begun(h);
	it->row = codex_tool_row(type);
	if (it->row)
		start_call(h, it, item);
	else if (jstr_is(type, "contextCompaction"))
		send_compaction(h, it->id, "in_progress");
}

/* Which item has ended; newest: of its id. */
static struct codex_item *ended_item(struct harness *h, struct codex_item *newest,
				     struct slice params, struct slice item)
{
	struct codex_item *it = codex_item_same(h, newest->id, item, false);

	if (!codex_tool_row(jobj_get(item, "type"))) {
		it = codex_item_text(h, newest->id);
		return it ? it : codex_item_for_text(h, newest->id);
	}
	if (it || (newest->row && newest->is_done))
		return it ? it : newest;
	codex_on_item_started(h, params); /* its start was never reported */
	return codex_item_newest(h, newest->id);
}

void codex_on_item_completed(struct harness *h, struct slice params)
{
	struct slice item;
	struct codex_item *it = item_of(h, params, &item);
	struct jval type = jobj_get(item, "type");

	it = it ? ended_item(h, it, params, item) : NULL;
	if (!it || it->is_done)
		return;
	if (it->row)
		end_item_call(h, it, item);
	else if (jstr_is(type, "contextCompaction"))
		send_compaction(h, it->id, "completed");
	else if (jstr_is(type, "agentMessage") || jstr_is(type, "plan") ||
		 jstr_is(type, "reasoning"))
		send_unstreamed(h, it, item);
	it->is_done = true;
}

/* --- what a patch touches -------------------------------------------------------------------------------- */

/* A relative path would depend on the directory of the program, so it does not count as inside. */
static bool in_workspace(const struct harness *h, const char *path)
{
	return path && path[0] == '/' && harness_inside(path, h->cwd, slice_of(h->additional_dirs));
}

bool codex_item_in_workspace(const struct harness *h, const struct codex_item *it)
{
	size_t n = 0;

	jarr_each(v, slice_of(it->paths)) {
		_cleanup_(freep) char *path = codex_str(v.raw, "path");
		struct jval to = jobj_get(jobj_get(v.raw, "kind").raw, "move_path");
		_cleanup_(freep) char *moved = codex_str(jobj_get(v.raw, "kind").raw, "move_path");

		/* Both ends of a move count. A move_path that cannot be decoded is not in the workspace
		 * either. */
		if (!in_workspace(h, path) || (to.type == J_STRING && !in_workspace(h, moved)))
			return false;
		n++;
	}
	/* Without any path nothing is known about the patch, so the client is asked. */
	return n > 0;
}
