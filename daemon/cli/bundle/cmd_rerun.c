/*
 * cmd_rerun.c - `acpd bundle rerun`: makes the run of a bundle again on a daemon, without a provider. The session is a new
 * one, set up as that of the bundle; its prompts are sent one after the other, its model calls are answered from the
 * recording, its questions as they were answered then. At the end the two runs are compared.
 */
#include "cli/bundle/bundle_files.h"
#include "cli/bundle/rerun.h"

#include "base/limits.h"
#include "json/jenc.h"
#include "json/jstr.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct rerun {
	const struct config *cfg;
	struct acp_client client;
	struct recorded_calls recording;
	struct rerun_plan plan;
	struct rerun_taker taker;
	struct rerun_result result;
	char *dir, *cwd;
	struct rerun_turn *turn;    /* the one that is made */
	struct rerun_turn ended;    /* what came of it: its end, and what the agent said */
	bool cancelling, cancelled; /* the turn is to be cancelled; it has been */
	struct loop_timer patience;
};

static void print_rerun_error(const char *what, struct slice error)
{
	_cleanup_(freep) char *text = NULL, *reason = NULL, *field = NULL;
	struct slice data = jobj_get(error, "data").raw;

	jstr_decode(jobj_get(error, "message"), 4096, &text);
	jstr_decode(jobj_get(data, "reason"), 256, &reason);
	jstr_decode(jobj_get(data, "field"), 256, &field);
	fail(EXIT_FAILED, "%s: %s: %s%s%s%s", what, reason ? reason : "an error", text ? text : "",
	     field ? " (" : "", field ? field : "", field ? ")" : "");
}

static void rerun_failed(void *ctx, const char *method, struct slice error)
{
	struct rerun *r = ctx;

	print_rerun_error(method, error);
	client_close(&r->client, EXIT_FAILED);
}

static void rerun_refused(void *ctx _unused_, struct slice error)
{
	print_rerun_error("the daemon refused the connection", error);
}

static void tell_rerun_stays(void *ctx)
{
	const struct rerun *r = ctx;

	fprintf(stderr, "acpd: session %s stays\n", r->client.session_id);
}

/* --- a turn that was cancelled then ------------------------------------------------------------------------- */

static void cancel_rerun_turn(void *ctx)
{
	struct rerun *r = ctx;

	loop_timer_cancel(&r->patience);
	if (r->cancelled)
		return;
	r->cancelled = true;
	client_cancel(&r->client);
}

static void cancel_if_said(struct rerun *r)
{
	if (r->cancelling && buf_len(&r->ended.said) >= buf_len(&r->turn->said))
		cancel_rerun_turn(r);
}

static bool was_cancelled(const struct rerun_turn *turn)
{
	return turn && turn->stop_reason && strcmp(turn->stop_reason, "cancelled") == 0;
}

/* Not every turn was cancelled during a model call: a command or a question may have run, which nothing ends now. */
static void cancel_in_time(struct rerun *r)
{
	if (was_cancelled(r->turn))
		loop_timer_set(r->client.loop, &r->patience, r->turn->took_ms + RERUN_PATIENCE_MS,
			       cancel_rerun_turn, r);
}

/* Where its calls end in the recording, and once the agent has said what it said then; it is not waited for long. */
static bool on_call_given_up(void *ctx)
{
	struct rerun *r = ctx;

	if (!was_cancelled(r->turn))
		return false;
	if (!r->cancelling)
		loop_timer_set(r->client.loop, &r->patience, RERUN_PATIENCE_MS, cancel_rerun_turn,
			       r);
	/* The call stays open: the daemon ends it when the turn is cancelled. */
	r->cancelling = true;
	cancel_if_said(r);
	return true;
}

/* --- its turns ----------------------------------------------------------------------------------------------- */

/* A prompt that was refused has had no turn. */
static char *refused_prompt_error(struct slice error)
{
	struct slice data = jobj_get(error, "data").raw;
	char *text = rerun_error_text(jobj_get(data, "turn").raw);

	if (!text)
		jstr_decode(jobj_get(data, "reason"), 64, &text);
	return text ? text : xstrdup("error");
}

static void rerun_forget_turn(struct rerun *r)
{
	loop_timer_cancel(&r->patience);
	r->cancelling = r->cancelled = false;
	buf_reset(&r->ended.said);
	free_each(TAKE_PTR(r->ended.stop_reason), TAKE_PTR(r->ended.error));
}

static void on_workspace_compared(void *ctx, uint64_t tag _unused_, const struct rpc_msg *m)
{
	struct acp_client *c = ctx;
	struct rerun *r = c->ctx;

	if (!m)
		return;
	rerun_result_workspace(&r->result, m->result, m->error);
	client_close(c, EXIT_DONE);
}

/* All turns have been made. */
static void ask_workspace(struct rerun *r)
{
	JW_BUF(w, b);

	/* The bundle has nothing to compare with: the daemon is not asked. */
	if (!r->plan.state) {
		client_close(&r->client, EXIT_DONE);
		return;
	}
	jw_object(&w, NULL, JW_STR("sessionId", r->client.session_id), JW_STR("since", "baseline"));
	client_call(&r->client, "_acpd/workspace/diff", buf_slice(&b), on_workspace_compared);
}

static void on_turn_ended(void *ctx, uint64_t tag, const struct rpc_msg *m);

static void make_next_turn(struct rerun *r)
{
	struct list *at = r->turn ? r->turn->link.next : r->plan.turns.next;

	if (at == &r->plan.turns) {
		ask_workspace(r);
		return;
	}
	r->turn = container_of(at, struct rerun_turn, link);
	client_prompt(&r->client, buf_slice(&r->turn->prompt), on_turn_ended);
	cancel_in_time(r);
}

static void on_turn_ended(void *ctx, uint64_t tag _unused_, const struct rpc_msg *m)
{
	struct acp_client *c = ctx;
	struct rerun *r = c->ctx;

	if (!m)
		return;
	if (m->error.n)
		r->ended.error = refused_prompt_error(m->error);
	else
		jstr_decode(jobj_get(m->result, "stopReason"), 64, &r->ended.stop_reason);
	/* Compared before it is forgotten: the next turn uses the same struct. */
	rerun_result_turn(&r->result, r->turn, &r->ended);
	rerun_forget_turn(r);
	make_next_turn(r);
}

static void rerun_session_opened(void *ctx, struct slice result)
{
	struct slice meta = jobj_get(jobj_get(result, "_meta").raw, "acpd").raw;
	struct rerun *r = ctx;

	if (jstr_decode(jobj_get(meta, "cwd"), PATH_BYTES_MAX, &r->cwd) == 0)
		r->taker.cwd = r->cwd;
	make_next_turn(r);
}

/* --- what the agent says and asks ---------------------------------------------------------------------------- */

static void rerun_update(void *ctx, const struct rpc_msg *m)
{
	struct slice update = jobj_get(m->params, "update").raw;
	struct slice meta = jobj_get(jobj_get(m->params, "_meta").raw, "acpd").raw;
	struct jval text = jobj_get(jobj_get(update, "content").raw, "text");
	struct rerun *r = ctx;

	if (!jstr_is(jobj_get(update, "sessionUpdate"), "agent_message_chunk") ||
	    text.type != J_STRING || jobj_get(meta, "turn").type == J_NONE)
		return;
	jstr_decode_bytes(text, &r->ended.said);
	cancel_if_said(r);
}

static struct slice rerun_permit(void *ctx, const struct rpc_msg *m)
{
	struct rerun *r = ctx;
	const char *option = rerun_plan_answer(&r->plan);

	return option && *option ? client_option(m, "optionId", option) : SLICE_NONE;
}

static bool rerun_message(void *ctx, const struct rpc_msg *m)
{
	struct rerun *r = ctx;

	return rerun_taker_message(&r->taker, m);
}

/* The first deletes the session, the second does not wait for that. */
static void rerun_signalled(void *ctx)
{
	struct rerun *r = ctx;

	if (r->client.closing)
		client_finish(&r->client, EXIT_CANCELLED);
	else
		client_close(&r->client, EXIT_CANCELLED);
}

static const struct client_ops rerun_ops = {
	.failed = rerun_failed,
	.opened = rerun_session_opened,
	.update = rerun_update,
	.permit = rerun_permit,
	.message = rerun_message,
	.refused = rerun_refused,
	.stays = tell_rerun_stays,
	.signal = rerun_signalled,
};

/* --- the whole ----------------------------------------------------------------------------------------------- */

static int read_run(struct rerun *r)
{
	_cleanup_(freep) char *calls = bundle_file(r->dir, "model/calls.ndjson");
	struct err e = { 0 };

	if (rerun_plan_read(&r->plan, r->dir, &e) < 0 ||
	    recorded_calls_read(&r->recording, calls, r->plan.cwd, &e) < 0)
		return fail(EXIT_FAILED, "%s: %s", e.reason, e.msg);
	if (list_empty(&r->recording.calls))
		return fail(EXIT_FAILED, "NOT_RECORDED: the recording has no model call%s%s",
			    r->recording.stopped ? ": " : "",
			    r->recording.stopped ? r->recording.stopped : "");
	rerun_taker_init(&r->taker, &r->client, &r->recording, on_call_given_up, r);
	return EXIT_DONE;
}

/* Sets the session up. The daemon asks us for each model call: there is no key, and no address. */
static int make_run(struct rerun *r)
{
	/* The new session has one provider: its API is that of the first call. */
	const char *api = list_first(&r->recording.calls, struct recorded_call, link)->api;
	_cleanup_(buf_done) struct buf capabilities = { 0 };
	struct jw w = JW(&r->client.meta);

	jw_obj(&w, NULL);
	rerun_plan_put(&r->plan, r->cfg->cwd != NULL, &w);
	jw_object(&w, "provider", JW_STR("api", api), JW_STR("via", "tunnel"),
		  JW_STR("model", r->plan.model));
	jw_end_obj(&w);
	buf_printf(&capabilities, "{\"_meta\":{\"acpd\":{\"model\":{\"apis\":[\"%s\"]}}}}", api);
	r->client.capabilities = buf_slice(&capabilities);
	return client_run(&r->client);
}

/* A run that was not made to its end has been explained. */
static int compare_runs(struct rerun *r)
{
	bool same = rerun_result_end(&r->result, &r->plan, &r->taker);

	rerun_result_print(&r->result, &r->plan, &r->taker, same, r->cfg->json);
	return same ? EXIT_DONE : EXIT_FAILED;
}

static void rerun_done(struct rerun *r)
{
	rerun_forget_turn(r);
	client_done(&r->client);
	rerun_taker_done(&r->taker);
	recorded_calls_done(&r->recording);
	rerun_plan_done(&r->plan);
	rerun_result_done(&r->result);
	bundle_files_remove(r->dir);
	buf_done(&r->ended.said);
	free(r->cwd);
}

int cmd_bundle_rerun(const struct config *c)
{
	struct rerun r = { .cfg = c };
	int code;

	r.client = (struct acp_client){ .cfg = c,
					.ops = &rerun_ops,
					.ctx = &r,
					.name = "acpd-rerun",
					.cwd = c->cwd ? c->cwd : "/" };
	r.ended.said.max = r.result.turn_list.max = BUF_MAX_DEFAULT;
	code = bundle_files_open(c, c->args[0], &r.dir);
	if (code == EXIT_DONE)
		code = read_run(&r);
	if (code == EXIT_DONE)
		code = make_run(&r);
	if (code == EXIT_DONE)
		code = compare_runs(&r);
	rerun_done(&r);
	return code;
}
