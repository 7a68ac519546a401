/*
 * text.c - some agents report a failed turn, a retry or a changed setting as text of the model. Such a text comes whole
 * in one chunk. What looks like an error is held back until the turn shows what it was: if more of an answer follows,
 * or a reply with usage numbers, it was the model's; else it is why the turn failed.
 */
#include "harnesses/acp/internal.h"

#include "json/json.h"

static const struct acp_text *text_row_find(const struct acp_text *t, const char *text)
{
	for (; t && t->begins; t++) {
		size_t n = strlen(text), m = t->ends ? strlen(t->ends) : 0;

		if (strncmp(text, t->begins, strlen(t->begins)) == 0 &&
		    (!t->ends || (n > m && strcmp(text + n - m, t->ends) == 0)))
			return t;
	}
	return NULL;
}

static void say_held(struct harness *h)
{
	struct harness_event ev = { .kind = UPDATE_AGENT_CHUNK, .update = buf_slice(&h->held) };

	if (!ev.update.n)
		return;
	h->host.ops->event(h->host.ctx, &ev);
	buf_reset(&h->held);
}

/* "Info: text" -> a notice with that text. */
static void to_notice(struct harness_event *ev, const char *text, struct buf *scratch)
{
	const char *colon = strstr(text, ": ");
	struct jw w = JW(scratch);

	jw_object(&w, NULL, JW_STR("sessionUpdate", "notice"), JW_STR("severity", "warning"),
		  JW_STR("title", colon ? colon + 2 : text));
	ev->kind = UPDATE_NOTICE;
	ev->update = buf_slice(scratch);
}

static bool is_answer(enum harness_update kind)
{
	return kind == UPDATE_AGENT_CHUNK || kind == UPDATE_THOUGHT_CHUNK ||
	       kind == UPDATE_TOOL_CALL || kind == UPDATE_TOOL_CALL_UPDATE || kind == UPDATE_PLAN;
}

bool acp_text_filter(struct harness *h, struct harness_event *ev, struct buf *scratch)
{
	const struct acp_quirks *q = h->quirks;
	_cleanup_(freep) char *text = NULL;

	/* An answer follows, so the text that looked like an error was the model's. */
	if (is_answer(ev->kind))
		say_held(h);
	if (ev->kind != UPDATE_AGENT_CHUNK ||
	    (!q->error_texts && !q->notice_texts && !q->echo_text) ||
	    jstr_decode(jobj_get(jobj_get(ev->update, "content").raw, "text"), 16 * KIB, &text) < 0)
		return true;
	if (q->echo_text && strncmp(text, q->echo_text, strlen(q->echo_text)) == 0)
		return false;
	if (text_row_find(q->notice_texts, text)) {
		to_notice(ev, text, scratch);
	} else if (text_row_find(q->error_texts, text)) {
		/* A copy: the update is a slice of the line. */
		buf_add_slice(&h->held, ev->update);
		return false;
	}
	return true;
}

void acp_text_end(struct harness *h, const struct rpc_msg *reply, struct harness_turn_end *end)
{
	_cleanup_(freep) char *text = NULL;
	struct slice held = buf_slice(&h->held);
	const struct acp_text *t;
	bool ended = !end->failed && strcmp(end->stop_reason, "end_turn") == 0;
	bool counted = jobj_get(reply->result, "usage").type == J_OBJECT;

	if (!held.n ||
	    jstr_decode(jobj_get(jobj_get(held, "content").raw, "text"), 16 * KIB, &text) < 0)
		return;
	t = text_row_find(h->quirks->error_texts, text);
	/* Only a normal end can hide an error. Usage numbers show that a model answered, unless the
	 * text is certain. */
	if (!end->failed && (!ended || !t || (!t->certain && counted))) {
		say_held(h);
		return;
	}
	acp_error_from_text(text, end);
	buf_reset(&h->held);
}

/* In an object, or in one of an array's. */
static bool exit_code_failed(struct jval where, const char *code)
{
	struct jval n;

	if (where.type == J_OBJECT) {
		n = jobj_get(where.raw, code);
		/* null: it was stopped before it could end */
		return n.type == J_NULL || (n.type == J_NUMBER && !slice_is(n.raw, "0"));
	}
	jarr_each(v, where)
		if (v.type == J_OBJECT && exit_code_failed(v, code))
			return true;
	return false;
}

void acp_exit_code(const struct harness *h, struct harness_event *ev, struct buf *scratch)
{
	const struct acp_quirks *q = h->quirks;
	struct jw w = JW(scratch);

	if (!q->exit_code || ev->kind != UPDATE_TOOL_CALL_UPDATE ||
	    !jstr_is(jobj_get(ev->update, "status"), "completed") ||
	    !exit_code_failed(jobj_get(jobj_get(ev->update, "rawOutput").raw, q->exit_in),
			      q->exit_code))
		return;
	jw_obj(&w, NULL);
	jw_members(&w, ev->update, "status");
	jw_str(&w, "status", "failed");
	jw_end_obj(&w);
	ev->update = buf_slice(scratch);
}

void acp_put_as_text(struct jw *w, struct slice content)
{
	jw_arr(w, "prompt");
	jw_raw(w, NULL, SLICE("{\"type\":\"text\",\"text\":\"" ACP_NO_COMMAND "\"}"));
	jarr_each(v, content)
		jw_raw(w, NULL, v.raw);
	jw_end_arr(w);
}
