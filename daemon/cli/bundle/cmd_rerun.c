/*
 * cmd_rerun.c - `acpd bundle rerun`: makes the run of a bundle again on a daemon, without a provider. The session is a new
 * one, set up as that of the bundle; its prompts are sent one after the other, its model calls are answered from the
 * recording, its questions as they were answered then. At the end the two runs are compared.
 */
#include "base/version.h"
#include "cli/bundle/bundle_files.h"
#include "cli/session/client_words.h"
#include "cli/cmd.h"
#include "cli/control/reach_daemon.h"
#include "cli/bundle/rerun_result.h"

#include "base/limits.h"
#include "json/jenc.h"
#include "json/jstr.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

struct rerun {
	const struct config *cfg;
	struct loop *loop;
	struct daemon_link *link;
	struct rpc_calls calls;
	struct recorded_calls recording;
	struct rerun_plan plan;
	struct rerun_taker taker;
	struct rerun_result result;
	char *dir, *session_id, *cwd;
	struct rerun_turn *turn; /* the one that is made */
	struct rerun_ended ended;
	bool cancelling, cancelled; /* the turn is to be cancelled; it has been */
	struct loop_timer patience;
	int code;
	bool closing, done;
};

static void finish(struct rerun *r, int code)
{
	if (r->done)
		return;
	r->done = true;
	r->code = code;
	loop_quit(r->loop);
}

static void call(struct rerun *r, const char *method, struct slice params, rpc_reply_fn fn)
{
	_cleanup_(buf_done) struct buf b = { .max = MESSAGE_MAX };

	rpc_put_request(&b, rpc_calls_add(&r->calls, fn, r, 0), method, params);
	daemon_link_send(r->link, buf_slice(&b));
}

/* --- the end ------------------------------------------------------------------------------------------------- */

static void on_closed_reply(void *ctx, uint64_t tag _unused_, const struct rpc_msg *m)
{
	struct rerun *r = ctx;

	if (!m)
		return;
	if (m->error.n)
		fprintf(stderr, "acpd: session %s stays\n", r->session_id);
	finish(r, r->code);
}

static void close_session(struct rerun *r, int code)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);

	if (r->closing)
		return;
	r->closing = true;
	r->code = code;
	if (!r->session_id) {
		finish(r, code);
		return;
	}
	jw_obj(&w, NULL);
	jw_str(&w, "sessionId", r->session_id);
	jw_end_obj(&w);
	call(r, r->cfg->keep ? "session/close" : "session/delete", buf_slice(&b), on_closed_reply);
}

static void refused(struct rerun *r, const char *what, struct slice error)
{
	_cleanup_(freep) char *text = NULL, *reason = NULL, *field = NULL;
	struct slice data = jobj_get(error, "data").raw;

	jstr_decode(jobj_get(error, "message"), 4096, &text);
	jstr_decode(jobj_get(data, "reason"), 256, &reason);
	jstr_decode(jobj_get(data, "field"), 256, &field);
	fail(EXIT_FAILED, "%s: %s: %s%s%s%s", what, reason ? reason : "an error", text ? text : "",
	     field ? " (" : "", field ? field : "", field ? ")" : "");
	close_session(r, EXIT_FAILED);
}

/* --- a turn that was cancelled then ------------------------------------------------------------------------- */

static void cancel_turn(void *ctx)
{
	struct rerun *r = ctx;

	loop_timer_cancel(&r->patience);
	if (r->cancelled)
		return;
	r->cancelled = true;
	client_cancel(r->link, r->session_id);
}

static void cancel_if_said(struct rerun *r)
{
	if (r->cancelling && buf_len(&r->ended.said) >= buf_len(&r->turn->said))
		cancel_turn(r);
}

static bool was_cancelled(const struct rerun_turn *turn)
{
	return turn && turn->stop_reason && strcmp(turn->stop_reason, "cancelled") == 0;
}

/* Not every turn was cancelled during a model call: a command or a question may have run, which nothing ends now. */
static void cancel_in_time(struct rerun *r)
{
	if (was_cancelled(r->turn))
		loop_timer_set(r->loop, &r->patience, r->turn->took_ms + RERUN_PATIENCE_MS,
			       cancel_turn, r);
}

/* Where its calls end in the recording, and once the agent has said what it said then; it is not waited for long. */
static bool on_given_up(void *ctx)
{
	struct rerun *r = ctx;

	if (!was_cancelled(r->turn))
		return false;
	if (!r->cancelling)
		loop_timer_set(r->loop, &r->patience, RERUN_PATIENCE_MS, cancel_turn, r);
	r->cancelling = true;
	cancel_if_said(r);
	return true;
}

/* --- its turns ----------------------------------------------------------------------------------------------- */

static void next_turn(struct rerun *r);

/* A prompt that was refused has had no turn. */
static char *error_of(struct slice error)
{
	struct slice data = jobj_get(error, "data").raw;
	char *text = rerun_error_text(jobj_get(data, "turn").raw);

	if (!text)
		jstr_decode(jobj_get(data, "reason"), 64, &text);
	return text ? text : xstrdup("error");
}

static void forget_turn(struct rerun *r)
{
	loop_timer_cancel(&r->patience);
	r->cancelling = r->cancelled = false;
	buf_reset(&r->ended.said);
	free(TAKE_PTR(r->ended.stop_reason));
	free(TAKE_PTR(r->ended.error));
}

static void on_prompted(void *ctx, uint64_t tag _unused_, const struct rpc_msg *m)
{
	struct rerun *r = ctx;

	if (!m)
		return;
	if (m->error.n)
		r->ended.error = error_of(m->error);
	else
		jstr_decode(jobj_get(m->result, "stopReason"), 64, &r->ended.stop_reason);
	rerun_result_turn(&r->result, r->turn, &r->ended);
	forget_turn(r);
	next_turn(r);
}

static void on_compared(void *ctx, uint64_t tag _unused_, const struct rpc_msg *m)
{
	struct rerun *r = ctx;

	if (!m)
		return;
	rerun_result_workspace(&r->result, m->result, m->error);
	close_session(r, EXIT_DONE);
}

/* All turns have been made. */
static void ask_workspace(struct rerun *r)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);

	if (!r->plan.state) {
		close_session(r, EXIT_DONE);
		return;
	}
	jw_obj(&w, NULL);
	jw_str(&w, "sessionId", r->session_id);
	jw_str(&w, "since", "baseline");
	jw_end_obj(&w);
	call(r, "_acpd/workspace/diff", buf_slice(&b), on_compared);
}

static void next_turn(struct rerun *r)
{
	struct list *at = r->turn ? r->turn->link.next : r->plan.turns.next;
	_cleanup_(buf_done) struct buf b = { .max = MESSAGE_MAX };
	struct jw w = JW(&b);

	if (at == &r->plan.turns) {
		ask_workspace(r);
		return;
	}
	r->turn = container_of(at, struct rerun_turn, link);
	jw_obj(&w, NULL);
	jw_str(&w, "sessionId", r->session_id);
	jw_arr(&w, "prompt");
	jw_raw(&w, NULL, buf_slice(&r->turn->prompt));
	jw_end_arr(&w);
	jw_end_obj(&w);
	call(r, "session/prompt", buf_slice(&b), on_prompted);
	cancel_in_time(r);
}

static void on_session(void *ctx, uint64_t tag _unused_, const struct rpc_msg *m)
{
	struct rerun *r = ctx;
	struct slice meta;

	if (!m)
		return;
	if (m->error.n ||
	    jstr_decode(jobj_get(m->result, "sessionId"), RPC_ID_MAX, &r->session_id) < 0) {
		refused(r, "session/new", m->error);
		return;
	}
	meta = jobj_get(jobj_get(m->result, "_meta").raw, "acpd").raw;
	if (jstr_decode(jobj_get(meta, "cwd"), PATH_BYTES_MAX, &r->cwd) == 0)
		r->taker.cwd = r->cwd;
	next_turn(r);
}

/* The daemon asks us for each model call: there is no key, and no address. */
static void put_provider(const struct rerun *r, struct jw *w)
{
	const struct recorded_call *first =
		list_first(&r->recording.calls, struct recorded_call, link);

	jw_obj(w, "provider");
	jw_str(w, "api", first->api);
	jw_str(w, "via", "tunnel");
	jw_str(w, "model", r->plan.model);
	jw_end_obj(w);
}

static void on_initialized(void *ctx, uint64_t tag _unused_, const struct rpc_msg *m)
{
	_cleanup_(buf_done) struct buf b = { .max = MESSAGE_MAX };
	struct rerun *r = ctx;
	struct jw w = JW(&b);

	if (!m)
		return;
	if (m->error.n) {
		refused(r, "initialize", m->error);
		return;
	}
	jw_obj(&w, NULL);
	jw_str(&w, "cwd", r->cfg->cwd ? r->cfg->cwd : "/");
	jw_raw(&w, "mcpServers", SLICE("[]"));
	jw_obj(&w, "_meta");
	jw_obj(&w, "acpd");
	rerun_plan_put(&r->plan, r->cfg->cwd != NULL, &w);
	put_provider(r, &w);
	jw_end_obj(&w);
	jw_end_obj(&w);
	jw_end_obj(&w);
	call(r, "session/new", buf_slice(&b), on_session);
}

static void on_open(void *ctx)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct rerun *r = ctx;
	const struct recorded_call *first =
		list_first(&r->recording.calls, struct recorded_call, link);

	buf_printf(
		&b,
		"{\"protocolVersion\":1,\"clientCapabilities\":{\"_meta\":{\"acpd\":{\"model\":{"
		"\"apis\":[\"%s\"]}}}},\"clientInfo\":{\"name\":\"acpd-rerun\",\"version\":\"%s\"}}",
		first->api, acpd_version);
	call(r, "initialize", buf_slice(&b), on_initialized);
}

/* --- what the agent says and asks ---------------------------------------------------------------------------- */

static void on_update(struct rerun *r, const struct rpc_msg *m)
{
	struct slice update = jobj_get(m->params, "update").raw;
	struct slice meta = jobj_get(jobj_get(m->params, "_meta").raw, "acpd").raw;
	struct jval text = jobj_get(jobj_get(update, "content").raw, "text");

	if (!jstr_is(jobj_get(update, "sessionUpdate"), "agent_message_chunk") ||
	    text.type != J_STRING || jobj_get(meta, "turn").type == J_NONE)
		return;
	jstr_decode_bytes(text, &r->ended.said);
	cancel_if_said(r);
}

/* Its id as it came, if that is offered. */
static struct slice offered(struct jval options, const char *id)
{
	struct jiter it;
	struct jval v;

	if (options.type == J_ARRAY && jiter_init(&it, options))
		while (jiter_next(&it, NULL, &v))
			if (v.type == J_OBJECT && jstr_is(jobj_get(v.raw, "optionId"), id))
				return jobj_get(v.raw, "optionId").raw;
	return SLICE_NONE;
}

static void on_permission(struct rerun *r, const struct rpc_msg *m)
{
	const char *option = rerun_plan_answer(&r->plan);
	bool chosen = option && *option;

	client_permit(r->link, m,
		      chosen ? offered(jobj_get(m->params, "options"), option) : SLICE_NONE);
}

static void on_reply(struct rerun *r, const struct rpc_msg *m)
{
	if (!rpc_calls_reply(&r->calls, m) && slice_is(m->id, "null") && m->error.n && !r->done) {
		r->closing = true; /* nothing can be asked of it any more */
		refused(r, "the daemon refused the connection", m->error);
		finish(r, EXIT_UNREACHABLE);
	}
}

static void on_message(void *ctx, struct slice text)
{
	struct rerun *r = ctx;
	struct rpc_msg m;
	struct err e;

	if (rpc_parse(text, &m, &e) != RPC_PARSED)
		return;
	if (m.kind == RPC_RESPONSE)
		on_reply(r, &m);
	else if (rerun_taker_message(&r->taker, &m))
		return;
	else if (m.kind == RPC_NOTIFICATION && strcmp(m.method, "session/update") == 0)
		on_update(r, &m);
	else if (m.kind == RPC_REQUEST && strcmp(m.method, "session/request_permission") == 0)
		on_permission(r, &m);
	else if (m.kind == RPC_REQUEST)
		client_refuse(r->link, &m);
}

static void on_closed(void *ctx, bool opened _unused_, const char *why)
{
	struct rerun *r = ctx;

	if (!r->done)
		finish(r, fail(r->session_id ? EXIT_FAILED : EXIT_UNREACHABLE, "%s", why));
}

static const struct daemon_link_events events = { on_open, on_message, on_closed };

/* The first deletes the session, the second does not wait for that. */
static void on_signal(void *ctx, int signo _unused_)
{
	struct rerun *r = ctx;

	if (r->closing)
		finish(r, EXIT_CANCELLED);
	else
		close_session(r, EXIT_CANCELLED);
}

/* --- the whole ----------------------------------------------------------------------------------------------- */

static int read_bundle(struct rerun *r)
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
	rerun_taker_init(&r->taker, &r->recording, on_given_up, r);
	return EXIT_DONE;
}

static int run(struct rerun *r)
{
	struct err e = { 0 };
	sigset_t set;

	r->loop = loop_new();
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	loop_signals(r->loop, &set, on_signal, r);
	r->link = reach_daemon(r->loop, r->cfg, &events, r, &e);
	if (!r->link)
		return fail(strncmp(e.reason, "OPTION", 6) == 0 ? EXIT_USAGE : EXIT_UNREACHABLE,
			    "%s", e.msg);
	r->taker.link = r->link;
	daemon_link_run(r->link);
	return r->code;
}

/* A run that was not made to its end has been explained. */
static int compare(struct rerun *r)
{
	bool same = rerun_result_end(&r->result, &r->plan, &r->taker);

	rerun_result_print(&r->result, &r->plan, &r->taker, same, r->cfg->json);
	return same ? EXIT_DONE : EXIT_FAILED;
}

static void rerun_done(struct rerun *r)
{
	forget_turn(r);
	daemon_link_free(r->link);
	rpc_calls_done(&r->calls);
	if (r->taker.from)
		rerun_taker_done(&r->taker);
	if (r->loop)
		loop_free(r->loop);
	recorded_calls_done(&r->recording);
	rerun_plan_done(&r->plan);
	rerun_result_done(&r->result);
	bundle_files_remove(r->dir);
	buf_done(&r->ended.said);
	free(r->session_id);
	free(r->cwd);
}

int cmd_bundle_rerun(const struct config *c)
{
	struct rerun r = { .cfg = c, .code = EXIT_FAILED };
	int code;

	rpc_calls_init(&r.calls);
	r.ended.said.max = r.result.turn_list.max = BUF_MAX_DEFAULT;
	code = bundle_files_open(c, c->args[0], &r.dir);
	if (code == EXIT_DONE)
		code = read_bundle(&r);
	if (code == EXIT_DONE)
		code = run(&r);
	if (code == EXIT_DONE)
		code = compare(&r);
	rerun_done(&r);
	return code;
}
