/*
 * text.c - some agents tell a failed turn, a retry or a changed setting as if the model had said it. Such a text comes whole in one
 * chunk. What looks like an error is held back until the turn shows what it was: followed by more of an answer, or by a
 * reply with usage numbers, it was the model's; else it is why the turn failed.
 */
#include "harnesses/acp/internal.h"

#include "harnesses/acp/turn.h"
#include "json/jenc.h"
#include "json/jstr.h"

#include <stdio.h>

static bool matches(const struct acp_text *t, const char *text)
{
	for (; t && t->begins; t++) {
		size_t n = strlen(text), m = t->ends ? strlen(t->ends) : 0;

		if (strncmp(text, t->begins, strlen(t->begins)) == 0 &&
		    (!t->ends || (n > m && strcmp(text + n - m, t->ends) == 0)))
			return true;
	}
	return false;
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

	jw_obj(&w, NULL);
	jw_str(&w, "sessionUpdate", "notice");
	jw_str(&w, "severity", "warning");
	jw_str(&w, "title", colon ? colon + 2 : text);
	jw_end_obj(&w);
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

	if (is_answer(ev->kind))
		say_held(h);
	if (ev->kind != UPDATE_AGENT_CHUNK ||
	    (!q->error_texts && !q->notice_texts && !q->echo_text) ||
	    jstr_decode(jobj_get(jobj_get(ev->update, "content").raw, "text"), 16 * KIB, &text) < 0)
		return true;
	if (q->echo_text && strncmp(text, q->echo_text, strlen(q->echo_text)) == 0)
		return false;
	if (matches(q->notice_texts, text)) {
		to_notice(ev, text, scratch);
	} else if (matches(q->error_texts, text)) {
		buf_add_slice(&h->held, ev->update);
		return false;
	}
	return true;
}

void acp_text_end(struct harness *h, const struct rpc_msg *reply, struct harness_turn_end *end)
{
	_cleanup_(freep) char *text = NULL;
	struct slice held = buf_slice(&h->held);

	if (!held.n)
		return;
	if (!reply->error.n &&
	    (jobj_get(reply->result, "usage").type == J_OBJECT ||
	     strcmp(end->stop_reason ? end->stop_reason : "", "end_turn") != 0)) {
		say_held(h);
		return;
	}
	if (jstr_decode(jobj_get(jobj_get(held, "content").raw, "text"), 16 * KIB, &text) == 0)
		acp_error_from_text(text, end);
	buf_reset(&h->held);
}

void acp_exit_code(const struct harness *h, struct harness_event *ev, struct buf *scratch)
{
	struct slice output, metadata;
	struct jval code;
	struct jw w = JW(scratch);

	if (!h->quirks->exit_code || ev->kind != UPDATE_TOOL_CALL_UPDATE ||
	    !jstr_is(jobj_get(ev->update, "status"), "completed"))
		return;
	output = jobj_get(ev->update, "rawOutput").raw;
	metadata = jobj_get(output, "metadata").raw;
	code = jobj_get(metadata, h->quirks->exit_code);
	if (code.type != J_NUMBER || slice_is(code.raw, "0"))
		return;
	jw_obj(&w, NULL);
	jw_members(&w, ev->update, "status");
	jw_str(&w, "status", "failed");
	jw_end_obj(&w);
	ev->update = buf_slice(scratch);
}
