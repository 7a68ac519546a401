/*
 * cmd_run.c - `acpd run`: an ACP client that runs one prompt and reports with an exit code.
 *
 * Each step is sent from the answer to the one before it: initialize, session/new, session/prompt, and the end of the session.
 * A command that ends early closes its session first: the daemon would keep it, with its harness. Only a third signal, or a
 * connection that breaks off, leaves it behind.
 *
 * The text of the agent goes to standard output as it comes, titles of its tool calls to standard error. With --json all of it
 * is one object at the end.
 */
#include "cli/archive/archive.h"
#include "cli/cmd.h"
#include "cli/control/reach_daemon.h"
#include "cli/session/run_settings.h"

#include "base/limits.h"
#include "base/os/file.h"
#include "json/json.h"
#include "rpc/rpc.h"

#include <signal.h>

struct prompt_run {
	const struct config *cfg;
	struct loop *loop;
	struct daemon_link *link;
	struct rpc_calls calls;
	char *prompt, *session_id; /* no session_id: there is no session yet */
	struct buf settings;	   /* _meta.acpd of session/new; may hold a key */
	struct buf text, error, usage;
	char *stop_reason;
	unsigned tool_calls;
	int code;
	bool is_cancelled, is_closing, is_done;
};

/* Ends the loop with this code, once: a later one changes nothing. */
static void run_finish(struct prompt_run *r, int code)
{
	if (r->is_done)
		return;
	r->is_done = true;
	r->code = code;
	loop_quit(r->loop);
}

static void run_call(struct prompt_run *r, const char *method, struct slice params, rpc_reply_fn fn)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	rpc_put_request(&b, rpc_calls_add(&r->calls, fn, r, 0), method, params);
	daemon_link_send(r->link, buf_slice(&b));
}

/* --- the end of the session ----------------------------------------------------------------------------------------- */

static void tell_session_stays(const struct prompt_run *r)
{
	fprintf(stderr, "acpd: session %s stays: session/%s puts it away\n", r->session_id,
		r->cfg->keep ? "close" : "delete");
}

static void put_session_id(const struct prompt_run *r, struct buf *params)
{
	struct jw w = JW(params);

	jw_object(&w, NULL, JW_STR("sessionId", r->session_id));
}

static void on_run_session_closed(void *ctx, uint64_t tag _unused_, const struct rpc_msg *m)
{
	struct prompt_run *r = ctx;

	if (!m)
		return;
	if (m->error.n)
		tell_session_stays(r);
	run_finish(r, r->code);
}

/* Deletes the session, with --keep only closes it, and ends then. */
static void close_run_session(struct prompt_run *r, int code)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	if (r->is_closing)
		return;
	r->is_closing = true;
	r->code = code;
	/* There is nothing to close: session/new has failed, or was not sent. */
	if (!r->session_id) {
		run_finish(r, code);
		return;
	}
	put_session_id(r, &b);
	run_call(r, r->cfg->keep ? "session/close" : "session/delete", buf_slice(&b),
		 on_run_session_closed);
}

static void run_failed(struct prompt_run *r, struct slice error)
{
	_cleanup_(freep) char *text = jobj_str(error, "message", 4096),
			      *field = jobj_str(jobj_get(error, "data").raw, "field", 256);

	/* For --json, as it came. */
	buf_add_slice(&r->error, error);
	if (!r->cfg->json)
		fail(EXIT_FAILED, "%s%s%s%s", text ? text : "the daemon reported an error",
		     field ? " (" : "", field ? field : "", field ? ")" : "");
	close_run_session(r, EXIT_FAILED);
}

/* --- its turn ------------------------------------------------------------------------------------------------------- */

/* The code of cmd.h for the end of the turn. The agent and its model have limits of their own: a budget is what
 * stopDetail names. */
static int code_of_stop(const char *reason, struct slice meta)
{
	/* A turn that a budget ended has a stop reason of the protocol, too: the detail is more exact. */
	bool budget = jobj_get(jobj_get(meta, "acpd").raw, "stopDetail").type == J_OBJECT;
	static const struct {
		const char *reason;
		int code;
	} codes[] = {
		{ "end_turn", EXIT_DONE },
		{ "refusal", EXIT_REFUSED },
		{ "cancelled", EXIT_CANCELLED },
	};

	if (budget)
		return EXIT_BUDGET;
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
		if (strcmp(codes[i].reason, reason) == 0)
			return codes[i].code;
	return fail(EXIT_FAILED, "the agent ended the turn early: %s", reason);
}

static void on_run_prompted(void *ctx, uint64_t tag _unused_, const struct rpc_msg *m)
{
	struct prompt_run *r = ctx;

	if (!m)
		return;
	if (m->error.n) {
		run_failed(r, m->error);
		return;
	}
	r->stop_reason = jobj_str(m->result, "stopReason", 64);
	buf_add_slice(&r->usage, jobj_get(m->result, "usage").raw);
	close_run_session(r, r->stop_reason ? code_of_stop(r->stop_reason,
							   jobj_get(m->result, "_meta").raw) :
					      EXIT_FAILED);
}

static void on_run_session(void *ctx, uint64_t tag _unused_, const struct rpc_msg *m)
{
	struct prompt_run *r = ctx;
	struct slice meta;
	JW_BUF(w, b);

	if (!m)
		return;
	if (m->error.n ||
	    jstr_decode(jobj_get(m->result, "sessionId"), RPC_ID_MAX, &r->session_id) < 0) {
		run_failed(r, m->error);
		return;
	}
	meta = jobj_get(jobj_get(m->result, "_meta").raw, "acpd").raw;
	cli_print_skipped(jobj_get(meta, "workspace").raw);
	jw_object(&w, NULL, JW_STR("sessionId", r->session_id),
		  JW_ARR("prompt", JW_STR("type", "text"), JW_STR("text", r->prompt)));
	run_call(r, "session/prompt", buf_slice(&b), on_run_prompted);
}

static void on_run_initialized(void *ctx, uint64_t tag _unused_, const struct rpc_msg *m)
{
	_cleanup_(secret_buf_done) struct buf b = { 0 };
	struct prompt_run *r = ctx;
	struct jw w = JW(&b);

	if (!m)
		return;
	if (m->error.n) {
		run_failed(r, m->error);
		return;
	}
	jw_object(&w, NULL, JW_STR("cwd", r->cfg->cwd), JW_RAW("mcpServers", SLICE("[]")),
		  JW_OBJ("_meta", JW_RAW("acpd", buf_slice(&r->settings))));
	run_call(r, "session/new", buf_slice(&b), on_run_session);
}

static void on_run_link_open(void *ctx)
{
	JW_BUF(w, b);

	jw_obj(&w, NULL);
	jw_int(&w, "protocolVersion", 1);
	jw_raw(&w, "clientCapabilities", SLICE("{\"_meta\":{\"acpd\":{}}}"));
	jw_self(&w, "clientInfo", "acpd-run", NULL);
	jw_end_obj(&w);
	run_call(ctx, "initialize", buf_slice(&b), on_run_initialized);
}

/* --- what the daemon sends ------------------------------------------------------------------------------------------ */

static void run_update(struct prompt_run *r, const struct rpc_msg *m)
{
	struct slice update = jobj_get(m->params, "update").raw;
	struct jval kind = jobj_get(update, "sessionUpdate");
	_cleanup_(freep) char *text = NULL;

	if (jstr_is(kind, "tool_call")) {
		r->tool_calls++;
		if (!r->cfg->json && jstr_decode(jobj_get(update, "title"), 4096, &text) == 0)
			fprintf(stderr, "[%s]\n", text);
	} else if (jstr_is(kind, "agent_message_chunk") &&
		   jstr_decode(jobj_get(jobj_get(update, "content").raw, "text"), LINE_MAX_BYTES,
			       &text) == 0) {
		buf_puts(&r->text, text);
		if (!r->cfg->json && file_write_all(STDOUT_FILENO, text, strlen(text)) < 0)
			run_finish(r, EXIT_FAILED);
	}
}

/* The optionId, as JSON, of the option that --permissions asks for; empty: it is not offered. */
static struct slice permitted_option(const struct prompt_run *r, const struct rpc_msg *m)
{
	bool allow = strcmp(r->cfg->permissions, "allow") == 0;
	struct slice chosen = SLICE_NONE;

	jarr_each(v, jobj_get(m->params, "options"))
		if (v.type == J_OBJECT &&
		    jstr_is(jobj_get(v.raw, "kind"), allow ? "allow_once" : "reject_once"))
			chosen = jobj_get(v.raw, "optionId").raw;
	return chosen;
}

static void run_take_request(struct prompt_run *r, const struct rpc_msg *m)
{
	_cleanup_(buf_done) struct buf b = { 0 }, line = { 0 };
	struct jw w = JW(&b);
	struct slice chosen;
	struct err e;

	if (strcmp(m->method, "session/request_permission") == 0) {
		chosen = permitted_option(r, m);
		jw_object(&w, NULL,
			  JW_OBJ("outcome", JW_STR("outcome", chosen.n ? "selected" : "cancelled"),
				 JW_RAW("optionId", chosen)));
		rpc_put_result(&line, m->id, buf_slice(&b));
	} else {
		rpc_no_method(m, &e);
		rpc_put_error(&line, m->id, &e, SLICE_NONE);
	}
	daemon_link_send(r->link, buf_slice(&line));
}

static void run_take_response(struct prompt_run *r, const struct rpc_msg *m)
{
	_cleanup_(freep) char *text = NULL;

	/* An answer to one of our requests went to its function. */
	if (rpc_calls_reply(&r->calls, m) || !slice_is(m->id, "null") || !m->error.n || r->is_done)
		return;
	/* The daemon is not claimed yet, or could not read a message: nothing can be asked of it any more. */
	r->is_closing = true;
	jstr_decode(jobj_get(m->error, "message"), 4096, &text);
	run_finish(r, fail(EXIT_UNREACHABLE, "the daemon refused the connection: %s",
			   text ? text : "it did not say why"));
}

static void on_run_link_message(void *ctx, struct slice text)
{
	struct prompt_run *r = ctx;
	struct rpc_msg m;
	struct err e;

	/* What is not a valid message is skipped: a client has no way to answer it. */
	if (rpc_parse(text, &m, &e) != RPC_PARSED)
		return;
	if (m.kind == RPC_RESPONSE)
		run_take_response(r, &m);
	else if (m.kind == RPC_REQUEST)
		run_take_request(r, &m);
	else if (strcmp(m.method, "session/update") == 0)
		run_update(r, &m);
}

static void on_run_link_closed(void *ctx, bool opened _unused_, const char *why)
{
	struct prompt_run *r = ctx;

	if (!r->is_done)
		run_finish(r, fail(r->session_id ? EXIT_FAILED : EXIT_UNREACHABLE, "%s", why));
}

/* The first Ctrl-C cancels the turn, the second deletes the session without waiting for its end, the third exits. */
static void on_run_signal(void *ctx, int signo _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 }, params = { 0 };
	struct prompt_run *r = ctx;

	if (!r->session_id) {
		run_finish(r, EXIT_CANCELLED);
	} else if (!r->is_cancelled) {
		r->is_cancelled = true;
		put_session_id(r, &params);
		rpc_put_notification(&b, "session/cancel", buf_slice(&params));
		daemon_link_send(r->link, buf_slice(&b));
	} else if (!r->is_closing) {
		close_run_session(r, EXIT_CANCELLED);
	} else {
		tell_session_stays(r);
		run_finish(r, EXIT_CANCELLED);
	}
}

/* --- the whole ------------------------------------------------------------------------------------------------------ */

static void print_run(const struct prompt_run *r)
{
	JW_BUF(w, b);

	jw_object(&w, NULL, JW_STR("sessionId", r->session_id),
		  JW_STR("stopReason", r->stop_reason), JW_SLICE("text", buf_slice(&r->text)),
		  JW_UINT("toolCalls", r->tool_calls), JW_RAW("usage", buf_slice(&r->usage)),
		  JW_RAW("error", buf_slice(&r->error)), JW_INT("exitCode", r->code));
	print_pretty(buf_slice(&b));
}

static int load_prompt(struct prompt_run *r)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	if (!r->cfg->prompt)
		return fail(EXIT_USAGE, "-p TEXT is needed");
	if (strcmp(r->cfg->prompt, "-") != 0) {
		r->prompt = xstrdup(r->cfg->prompt);
		return EXIT_DONE;
	}
	if (file_read_fd(STDIN_FILENO, MESSAGE_MAX, &b) < 0)
		return fail(EXIT_USAGE, "the prompt could not be read");
	r->prompt = xstrndup(b.data ? b.data : "", b.len);
	return EXIT_DONE;
}

static int run_on_daemon(struct prompt_run *r)
{
	static const struct daemon_link_events events = { on_run_link_open, on_run_link_message,
							  on_run_link_closed };
	struct err e = { 0 };

	rpc_calls_init(&r->calls);
	r->code = EXIT_FAILED;
	r->loop = loop_new();
	/* Before the connection: from then on a signal has a session to close. */
	cli_signals(r->loop, (const int[]){ SIGINT, SIGTERM, 0 }, on_run_signal, r);
	r->link = reach_daemon(r->loop, r->cfg, &events, r, &e);
	if (!r->link)
		return fail_option(&e, EXIT_UNREACHABLE);
	daemon_link_run(r->link);
	if (r->cfg->json)
		print_run(r);
	else if (buf_len(&r->text))
		printf("\n");
	return r->code;
}

static void run_done(struct prompt_run *r)
{
	daemon_link_free(r->link);
	/* Its callbacks get NULL, and do nothing then. */
	if (r->loop) {
		rpc_calls_done(&r->calls);
		loop_free(r->loop);
	}
	secret_buf_done(&r->settings);
	free_each(r->prompt, r->session_id, r->stop_reason);
	buf_done(&r->text);
	buf_done(&r->error);
	buf_done(&r->usage);
}

int cmd_run(const struct config *c)
{
	struct prompt_run r = { .cfg = c, .text.max = 1024 * MIB, .error.max = 1024 * MIB };
	int code = load_prompt(&r);

	if (code == EXIT_DONE)
		code = run_settings(c, &r.settings);
	if (code == EXIT_DONE)
		code = run_on_daemon(&r);
	run_done(&r);
	return code;
}
