/*
 * turn.c - one turn at a time: turn/start, and its end by turn/completed. A second turn/start would steer the first.
 *
 * turn/interrupt ends the turn at once but leaves its commands running in the background, so a cancelled turn is
 * reported only when thread/backgroundTerminals/clean has been answered.
 */
#include "harnesses/codex/internal.h"

static void report_turn_end(struct harness *h)
{
	h->turn = TURN_NONE;
	xstrset(&h->turn_id, NULL);
	xstrset(&h->used_model, NULL);
	/* Commands go on after their turn, until a cancel cleans the background (on_cleaned). */
	h->outlived = (h->outlived || codex_items_open(h)) && !h->cancelled;
	codex_items_free(h);
	if (h->output_waits || h->awaited_ms)
		h->host.ops->timer(h->host.ctx, 0);
	h->output_waits = false;
	h->awaited_ms = 0;
	/* last, with all of the turn reset: the core may start the next one before this returns */
	h->host.ops->turn_end(h->host.ctx, &h->end);
}

static void on_cleaned(void *ctx, uint64_t tag _unused_, const struct rpc_msg *m)
{
	struct harness *h = ctx;

	/* An error answer counts too: the turn must end, even if a thread could not be cleaned. */
	if (m && h->turn == TURN_CLEANING && --h->cleaning == 0)
		report_turn_end(h);
}

static void put_turn_thread(const struct harness *h, struct jw *w)
{
	jw_obj(w, NULL);
	jw_str(w, "threadId", h->thread_id);
}

static void end_turn(struct harness *h)
{
	/* Codex waits for none of these any more, so the client must not be shown them. */
	codex_asks_drop(h, true);
	if (h->cancelled) {
		h->turn = TURN_CLEANING;
		/* The number of answers to wait for; the last one reports the end of the turn. */
		h->cleaning = codex_children_stop(h, on_cleaned);
		if (codex_request(h, "thread/backgroundTerminals/clean", on_cleaned, 0,
				  JW_STR("threadId", h->thread_id)) >= 0)
			h->cleaning++;
		if (h->cleaning)
			return;
	}
	report_turn_end(h);
}

static void fail_codex_turn(struct harness *h, const char *cls, const char *text)
{
	h->end = (struct harness_turn_end){ .failed = true, .error = { .cls = cls } };
	snprintf(h->end.error.message, sizeof(h->end.error.message), "%s", text);
	end_turn(h);
}

void codex_interrupt(struct harness *h)
{
	if (h->interrupt_sent || !h->turn_id)
		return;
	h->interrupt_sent = true;
	/* refused: the turn is over already, or it goes on; then the core ends it with the process */
	codex_request(h, "turn/interrupt", harness_reply_ignored, 0,
		      JW_STR("threadId", h->thread_id), JW_STR("turnId", h->turn_id));
}

static void note_turn_running(struct harness *h, struct slice turn)
{
	/* The answer to turn/start and turn/started both report the id, in either order: the first one
	 * counts. */
	char *id = codex_str(turn, "id");

	if (!id || h->turn != TURN_STARTING) {
		free(id);
		return;
	}
	free(h->turn_id);
	h->turn_id = id;
	h->turn = TURN_RUNNING;
	codex_answer_awaited(h, false);
	if (h->cancelled)
		codex_interrupt(h);
}

static void on_started(void *ctx, uint64_t tag _unused_, const struct rpc_msg *m)
{
	struct harness *h = ctx;
	char text[ERR_MSG_SIZE];

	if (!m || h->turn != TURN_STARTING)
		return;
	if (!m->error.n && jobj_get(jobj_get(m->result, "turn").raw, "id").type == J_STRING) {
		note_turn_running(h, jobj_get(m->result, "turn").raw);
		return;
	}
	if (m->error.n)
		codex_error_text(m->error, text, sizeof(text));
	else
		snprintf(text, sizeof(text), "Codex started a turn without an id");
	fail_codex_turn(h, m->error.n ? "harness_error" : "harness_protocol", text);
}

void codex_on_turn_started(struct harness *h, struct slice params)
{
	note_turn_running(h, jobj_get(params, "turn").raw);
}

/* The core cancels the turn when the call beyond the limit is announced; until then nothing may allow that call. */
void codex_limit(struct harness *h, int64_t tool_calls)
{
	h->limited = tool_calls >= 0;
}

static void put_turn_policy(struct harness *h, struct jw *w)
{
	bool each;

	h->ruled = h->host.ops->rules(h->host.ctx) != 0;
	each = h->limited || h->ruled;
	/* Also once after the reason is gone, to restore the session's own policy. */
	if (each || h->asks_each)
		codex_approval_put(h, h->setting ? &h->wanted : &h->now, w);
	h->asks_each = each;
}

int codex_prompt(struct harness *h, struct slice content, struct slice meta _unused_, struct err *e)
{
	JW_BUF(w, b);
	int r;

	h->cancelled = h->interrupt_sent = false;
	h->silent_ms = 0;
	h->echoes = 0; /* what Codex changes by itself it changes in a turn */
	memset(&h->end, 0, sizeof(h->end));
	put_turn_thread(h, &w);
	r = codex_input_put(&w, "input", content, e);
	if (r < 0)
		return r;
	put_turn_policy(h, &w);
	jw_end_obj(&w);
	h->turn = TURN_STARTING;
	r = codex_call(h, "turn/start", buf_slice(&b), on_started, 0);
	if (r >= 0)
		return 0;
	h->turn = TURN_NONE;
	return harness_gone(r, "Codex", e);
}

void codex_cancel(struct harness *h)
{
	if (h->turn == TURN_NONE || h->turn == TURN_CLEANING)
		return;
	h->cancelled = true;
	if (h->turn == TURN_RUNNING)
		codex_interrupt(h);
}

void codex_on_turn_completed(struct harness *h, struct slice params)
{
	struct slice turn = jobj_get(params, "turn").raw;
	struct jval status = jobj_get(turn, "status");
	const char *stop = NULL;

	if (h->turn != TURN_RUNNING || !jstr_is(jobj_get(turn, "id"), h->turn_id))
		return;
	memset(&h->end, 0, sizeof(h->end));
	if (jstr_is(status, "completed")) {
		stop = "end_turn";
	} else if (h->silent_ms && !h->cancelled) {
		codex_silent_put(h, &h->end.error);
	} else if (jstr_is(status, "interrupted")) {
		stop = "cancelled";
		h->cancelled =
			true; /* a question answered by cancel: its commands are to end as well */
	} else {
		codex_error_classify(jobj_get(turn, "error").raw, &h->end.error, &stop);
	}
	h->end.failed = !stop;
	h->end.stop_reason = stop;
	end_turn(h);
}

/* --- steering ---------------------------------------------------------------------------------------- */

static void on_codex_steered(void *ctx, uint64_t token, const struct rpc_msg *m)
{
	struct harness *h = ctx;

	harness_steered(&h->host, token, m);
}

int codex_steer(struct harness *h, uint64_t token, struct slice content, struct err *e)
{
	JW_BUF(w, b);
	int r;

	if (h->turn != TURN_RUNNING)
		return err_set(e, -EAGAIN, RPC_INVALID_REQUEST, "NO_TURN",
			       "no turn runs that could be steered");
	put_turn_thread(h, &w);
	/* Text for this turn must not reach the next one. */
	jw_str(&w, "expectedTurnId", h->turn_id);
	r = codex_input_put(&w, "input", content, e);
	if (r < 0)
		return r;
	jw_end_obj(&w);
	return harness_gone(codex_call(h, "turn/steer", buf_slice(&b), on_codex_steered, token),
			    "Codex", e);
}
