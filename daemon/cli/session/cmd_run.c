/* cmd_run.c - `acpd run`: an ACP client that runs one prompt and reports with an exit code. */
#include "cli/session/client_words.h"
#include "cli/cmd.h"
#include "cli/control/reach_daemon.h"
#include "cli/archive/run_unpack.h"
#include "cli/session/run_settings.h"

#include "base/os/file.h"
#include "base/limits.h"
#include "digest/digest.h"
#include "json/jenc.h"
#include "json/jpretty.h"
#include "json/jself.h"
#include "json/jstr.h"
#include "rpc/rpc.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>

struct prompt_run {
	const struct config *cfg;
	struct loop *loop;
	struct daemon_link *link;
	struct rpc_calls calls;
	char *session_id, *prompt;
	struct buf meta; /* what session/new says of it under _meta.acpd */
	struct buf text, error, usage;
	char *stop_reason;
	unsigned tool_calls;
	int code;
	bool cancelled, closing, done;
};

static void finish(struct prompt_run *r, int code)
{
	if (r->done)
		return;
	r->done = true;
	r->code = code;
	loop_quit(r->loop);
}

static void call(struct prompt_run *r, const char *method, struct slice params, rpc_reply_fn fn)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	rpc_put_request(&b, rpc_calls_add(&r->calls, fn, r, 0), method, params);
	daemon_link_send(r->link, buf_slice(&b));
}

/* The code of cmd.h for the end of the turn. The agent and its model have limits of their own: a budget is what
 * stopDetail names. */
static int code_of_stop(const char *reason, struct slice meta)
{
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

/* Prints what we could not remove ourselves. */
static void tell_left(const struct prompt_run *r)
{
	fprintf(stderr, "acpd: session %s stays: session/%s puts it away\n", r->session_id,
		r->cfg->keep ? "close" : "delete");
}

static void on_closed_reply(void *ctx, uint64_t tag _unused_, const struct rpc_msg *m)
{
	struct prompt_run *r = ctx;

	if (!m)
		return;
	if (m->error.n)
		tell_left(r);
	finish(r, r->code);
}

/* Deletes the session unless it is to be kept. A kept one needs no harness. */
static void close_session(struct prompt_run *r, int code)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);

	if (r->closing)
		return;
	r->code = code;
	if (!r->session_id) {
		finish(r, code);
		return;
	}
	r->closing = true;
	jw_obj(&w, NULL);
	jw_str(&w, "sessionId", r->session_id);
	jw_end_obj(&w);
	call(r, r->cfg->keep ? "session/close" : "session/delete", buf_slice(&b), on_closed_reply);
}

static void failed(struct prompt_run *r, struct slice error)
{
	_cleanup_(freep) char *text = NULL, *field = NULL;

	jstr_decode(jobj_get(error, "message"), 4096, &text);
	jstr_decode(jobj_get(jobj_get(error, "data").raw, "field"), 256, &field);
	buf_add_slice(&r->error, error);
	if (!r->cfg->json)
		fail(EXIT_FAILED, "%s%s%s%s", text ? text : "the daemon reported an error",
		     field ? " (" : "", field ? field : "", field ? ")" : "");
	close_session(r, EXIT_FAILED);
}

static void on_prompted(void *ctx, uint64_t tag _unused_, const struct rpc_msg *m)
{
	struct prompt_run *r = ctx;

	if (!m)
		return;
	if (m->error.n) {
		failed(r, m->error);
		return;
	}
	jstr_decode(jobj_get(m->result, "stopReason"), 64, &r->stop_reason);
	buf_add_slice(&r->usage, jobj_get(m->result, "usage").raw);
	close_session(r, r->stop_reason ?
				 code_of_stop(r->stop_reason, jobj_get(m->result, "_meta").raw) :
				 EXIT_FAILED);
}

static struct slice written_workspace(struct slice result)
{
	struct slice meta = jobj_get(result, "_meta").raw;

	return jobj_get(jobj_get(meta, "acpd").raw, "workspace").raw;
}

static void on_session(void *ctx, uint64_t tag _unused_, const struct rpc_msg *m)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct prompt_run *r = ctx;
	struct jw w = JW(&b);

	if (!m)
		return;
	if (m->error.n ||
	    jstr_decode(jobj_get(m->result, "sessionId"), RPC_ID_MAX, &r->session_id) < 0) {
		failed(r, m->error);
		return;
	}
	cli_print_skipped(written_workspace(m->result));
	jw_obj(&w, NULL);
	jw_str(&w, "sessionId", r->session_id);
	jw_arr(&w, "prompt");
	jw_obj(&w, NULL);
	jw_str(&w, "type", "text");
	jw_str(&w, "text", r->prompt);
	jw_end_obj(&w);
	jw_end_arr(&w);
	jw_end_obj(&w);
	call(r, "session/prompt", buf_slice(&b), on_prompted);
}

static void on_initialized(void *ctx, uint64_t tag _unused_, const struct rpc_msg *m)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct prompt_run *r = ctx;
	struct jw w = JW(&b);

	if (!m)
		return;
	if (m->error.n) {
		failed(r, m->error);
		return;
	}
	jw_obj(&w, NULL);
	jw_str(&w, "cwd", r->cfg->cwd);
	jw_raw(&w, "mcpServers", SLICE("[]"));
	jw_obj(&w, "_meta");
	jw_raw(&w, "acpd", buf_slice(&r->meta));
	jw_end_obj(&w);
	jw_end_obj(&w);
	call(r, "session/new", buf_slice(&b), on_session);
}

static void on_open(void *ctx)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);

	jw_obj(&w, NULL);
	jw_int(&w, "protocolVersion", 1);
	jw_raw(&w, "clientCapabilities", SLICE("{\"_meta\":{\"acpd\":{}}}"));
	jw_self(&w, "clientInfo", "acpd-run", NULL);
	jw_end_obj(&w);
	call(ctx, "initialize", buf_slice(&b), on_initialized);
}

/* --- what the agent says ------------------------------------------------------------------------------- */

static void on_update(struct prompt_run *r, struct slice update)
{
	_cleanup_(freep) char *text = NULL;
	struct jval kind = jobj_get(update, "sessionUpdate");

	if (jstr_is(kind, "tool_call")) {
		r->tool_calls++;
		if (!r->cfg->json && jstr_decode(jobj_get(update, "title"), 4096, &text) == 0)
			fprintf(stderr, "[%s]\n", text);
	} else if (jstr_is(kind, "agent_message_chunk") &&
		   jstr_decode(jobj_get(jobj_get(update, "content").raw, "text"), LINE_MAX_BYTES,
			       &text) == 0) {
		buf_puts(&r->text, text);
		if (!r->cfg->json && file_write_all(STDOUT_FILENO, text, strlen(text)) < 0)
			finish(r, EXIT_FAILED);
	}
}

/* The option that --permissions asks for; "cancelled" if none is offered. */
static void answer_permission(struct prompt_run *r, const struct rpc_msg *m)
{
	const char *kind = strcmp(r->cfg->permissions, "allow") == 0 ? "allow_once" : "reject_once";
	struct jval options = jobj_get(m->params, "options"), v;
	struct slice chosen = SLICE_NONE;
	struct jiter it;

	if (jiter_init(&it, options))
		while (jiter_next(&it, NULL, &v))
			if (v.type == J_OBJECT && jstr_is(jobj_get(v.raw, "kind"), kind))
				chosen = jobj_get(v.raw, "optionId").raw;
	client_permit(r->link, m, chosen);
}

/* An error that answers no request of ours: the daemon is not claimed yet, or could not read our message. */
static void refused(struct prompt_run *r, struct slice error)
{
	_cleanup_(freep) char *text = NULL;

	if (r->done)
		return;
	jstr_decode(jobj_get(error, "message"), 4096, &text);
	finish(r, fail(EXIT_UNREACHABLE, "the daemon refused the connection: %s",
		       text ? text : "it did not say why"));
}

static void on_message(void *ctx, struct slice text)
{
	struct prompt_run *r = ctx;
	struct rpc_msg m;
	struct err e;

	if (rpc_parse(text, &m, &e) != RPC_PARSED)
		return;
	if (m.kind == RPC_RESPONSE) {
		if (!rpc_calls_reply(&r->calls, &m) && slice_is(m.id, "null") && m.error.n)
			refused(r, m.error);
	} else if (m.kind == RPC_NOTIFICATION) {
		if (strcmp(m.method, "session/update") == 0)
			on_update(r, jobj_get(m.params, "update").raw);
	} else if (strcmp(m.method, "session/request_permission") == 0) {
		answer_permission(r, &m);
	} else {
		client_refuse(r->link, &m);
	}
}

static void on_closed(void *ctx, bool opened, const char *why)
{
	struct prompt_run *r = ctx;

	if (!r->done)
		finish(r,
		       fail(opened && r->session_id ? EXIT_FAILED : EXIT_UNREACHABLE, "%s", why));
}

static const struct daemon_link_events events = { on_open, on_message, on_closed };

static void cancel_turn(struct prompt_run *r)
{
	r->cancelled = true;
	client_cancel(r->link, r->session_id);
}

/* The first Ctrl-C cancels the turn, the second deletes the session without waiting for its end, the third exits. */
static void on_signal(void *ctx, int signo _unused_)
{
	struct prompt_run *r = ctx;

	if (!r->session_id) {
		finish(r, EXIT_CANCELLED);
	} else if (!r->cancelled) {
		cancel_turn(r);
	} else if (!r->closing) {
		close_session(r, EXIT_CANCELLED);
	} else {
		tell_left(r);
		finish(r, EXIT_CANCELLED);
	}
}

static void print_json(const struct prompt_run *r)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	_cleanup_(freep) char *pretty = NULL;
	struct jw w = JW(&b);

	jw_obj(&w, NULL);
	jw_str(&w, "sessionId", r->session_id);
	jw_str(&w, "stopReason", r->stop_reason);
	jw_slice(&w, "text", buf_slice(&r->text));
	jw_uint(&w, "toolCalls", r->tool_calls);
	jw_raw(&w, "usage", buf_slice(&r->usage));
	jw_raw(&w, "error", buf_slice(&r->error));
	jw_int(&w, "exitCode", r->code);
	jw_end_obj(&w);
	pretty = jpretty(buf_slice(&b));
	printf("%s\n", pretty ? pretty : "{}");
}

static int load_prompt(struct prompt_run *r, struct err *e)
{
	_cleanup_(buf_done) struct buf b = { .max = MESSAGE_MAX };

	if (!r->cfg->prompt)
		return err_field(e, "prompt", "OPTION_INVALID", "-p TEXT is needed");
	if (strcmp(r->cfg->prompt, "-") != 0) {
		r->prompt = xstrdup(r->cfg->prompt);
		return 0;
	}
	if (file_read_fd(STDIN_FILENO, MESSAGE_MAX, &b) < 0)
		return err_field(e, "prompt", "OPTION_INVALID", "the prompt could not be read");
	r->prompt = xstrndup(b.data ? b.data : "", b.len);
	return 0;
}

static int run_link(struct prompt_run *r, struct err *e)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	loop_signals(r->loop, &set, on_signal, r);
	r->link = reach_daemon(r->loop, r->cfg, &events, r, e);
	if (!r->link)
		return strncmp(e->reason, "OPTION", 6) == 0 ? EXIT_USAGE : EXIT_UNREACHABLE;
	daemon_link_run(r->link);
	return r->code;
}

static void run_done(struct prompt_run *r)
{
	daemon_link_free(r->link);
	rpc_calls_done(&r->calls);
	loop_free(r->loop);
	free(r->session_id);
	free(r->prompt);
	free(r->stop_reason);
	if (r->meta.data) /* a provider's key */
		secret_wipe(r->meta.data, r->meta.cap);
	buf_done(&r->meta);
	buf_done(&r->text);
	buf_done(&r->error);
	buf_done(&r->usage);
}

int cmd_run(const struct config *c)
{
	struct prompt_run r = { .cfg = c, .code = EXIT_FAILED };
	struct err e = { 0 };
	int code;

	rpc_calls_init(&r.calls);
	r.text.max = r.error.max = 1024 * MIB;
	code = load_prompt(&r, &e) < 0 ? fail(EXIT_USAGE, "%s", e.msg) : run_settings(c, &r.meta);
	if (code == EXIT_DONE) {
		r.loop = loop_new();
		code = run_link(&r, &e);
		if (!r.link)
			fail(code, "%s", e.msg);
		else if (c->json)
			print_json(&r);
		else if (buf_len(&r.text))
			printf("\n");
	}
	run_done(&r);
	return code;
}
