/*
 * client.c - initialize, session/new, and the end of the session, for commands that are ACP clients.
 *
 * Each step is sent from the answer to the one before it. A command that ends early closes its session first: the daemon
 * would keep it, with its harness. Only a second signal, or a connection that breaks off, leaves it behind.
 */
#include "cli/session/client.h"

#include "base/limits.h"
#include "cli/control/reach_daemon.h"
#include "json/jenc.h"
#include "json/jenc.h"
#include "json/jstr.h"

#include <signal.h>

void client_finish(struct acp_client *c, int code)
{
	if (c->done)
		return;
	c->done = true;
	c->code = code;
	loop_quit(c->loop);
}

void client_call(struct acp_client *c, const char *method, struct slice params, rpc_reply_fn fn)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	rpc_put_request(&b, rpc_calls_add(&c->calls, fn, c, 0), method, params);
	daemon_link_send(c->link, buf_slice(&b));
}

/* --- the end of the session ----------------------------------------------------------------------------------------- */

static void put_session_id(const struct acp_client *c, struct buf *params)
{
	struct jw w = JW(params);

	jw_object(&w, NULL, JW_STR("sessionId", c->session_id));
}

static void on_client_session_closed(void *ctx, uint64_t tag _unused_, const struct rpc_msg *m)
{
	struct acp_client *c = ctx;

	if (!m)
		return;
	if (m->error.n)
		c->ops->stays(c->ctx);
	client_finish(c, c->code);
}

void client_close(struct acp_client *c, int code)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	if (c->closing)
		return;
	c->closing = true;
	c->code = code;
	/* There is nothing to close: session/new has failed, or was not sent. */
	if (!c->session_id) {
		client_finish(c, code);
		return;
	}
	put_session_id(c, &b);
	client_call(c, c->cfg->keep ? "session/close" : "session/delete", buf_slice(&b),
		    on_client_session_closed);
}

void client_cancel(struct acp_client *c)
{
	_cleanup_(buf_done) struct buf b = { 0 }, params = { 0 };

	put_session_id(c, &params);
	rpc_put_notification(&b, "session/cancel", buf_slice(&params));
	daemon_link_send(c->link, buf_slice(&b));
}

/* --- its beginning -------------------------------------------------------------------------------------------------- */

void client_prompt(struct acp_client *c, struct slice blocks, rpc_reply_fn fn)
{
	JW_BUF(w, b);

	jw_obj(&w, NULL);
	jw_str(&w, "sessionId", c->session_id);
	jw_arr(&w, "prompt");
	jw_raw(&w, NULL, blocks);
	jw_end_arr(&w);
	jw_end_obj(&w);
	client_call(c, "session/prompt", buf_slice(&b), fn);
}

static void on_client_session(void *ctx, uint64_t tag _unused_, const struct rpc_msg *m)
{
	struct acp_client *c = ctx;

	if (!m)
		return;
	if (m->error.n ||
	    jstr_decode(jobj_get(m->result, "sessionId"), RPC_ID_MAX, &c->session_id) < 0)
		c->ops->failed(c->ctx, "session/new", m->error);
	else
		c->ops->opened(c->ctx, m->result);
}

static void on_client_initialized(void *ctx, uint64_t tag _unused_, const struct rpc_msg *m)
{
	_cleanup_(secret_buf_done) struct buf b = { 0 };
	struct acp_client *c = ctx;
	struct jw w = JW(&b);

	if (!m)
		return;
	if (m->error.n) {
		c->ops->failed(c->ctx, "initialize", m->error);
		return;
	}
	jw_object(&w, NULL, JW_STR("cwd", c->cwd), JW_RAW("mcpServers", SLICE("[]")),
		  JW_OBJ("_meta", JW_RAW("acpd", buf_slice(&c->meta))));
	client_call(c, "session/new", buf_slice(&b), on_client_session);
}

static void on_link_open(void *ctx)
{
	JW_BUF(w, b);
	struct acp_client *c = ctx;

	jw_obj(&w, NULL);
	jw_int(&w, "protocolVersion", 1);
	jw_raw(&w, "clientCapabilities", c->capabilities);
	jw_self(&w, "clientInfo", c->name, NULL);
	jw_end_obj(&w);
	client_call(c, "initialize", buf_slice(&b), on_client_initialized);
}

/* --- what the daemon sends ------------------------------------------------------------------------------------------ */

struct slice client_option(const struct rpc_msg *m, const char *member, const char *text)
{
	struct slice chosen = SLICE_NONE;

	jarr_each(v, jobj_get(m->params, "options"))
		if (v.type == J_OBJECT && jstr_is(jobj_get(v.raw, member), text))
			chosen = jobj_get(v.raw, "optionId").raw;
	return chosen;
}

static void answer_permission(struct acp_client *c, const struct rpc_msg *m)
{
	_cleanup_(buf_done) struct buf b = { 0 }, line = { 0 };
	struct slice chosen = c->ops->permit(c->ctx, m);
	struct jw w = JW(&b);

	jw_object(&w, NULL,
		  JW_OBJ("outcome", JW_STR("outcome", chosen.n ? "selected" : "cancelled"),
			 JW_RAW("optionId", chosen)));
	rpc_put_result(&line, m->id, buf_slice(&b));
	daemon_link_send(c->link, buf_slice(&line));
}

static void refuse_request(struct acp_client *c, const struct rpc_msg *m)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct err e;

	rpc_no_method(m, &e);
	rpc_put_error(&b, m->id, &e, SLICE_NONE);
	daemon_link_send(c->link, buf_slice(&b));
}

static void take_response(struct acp_client *c, const struct rpc_msg *m)
{
	/* An answer to one of our requests went to its function. */
	if (rpc_calls_reply(&c->calls, m) || !slice_is(m->id, "null") || !m->error.n || c->done)
		return;
	c->closing = true; /* nothing can be asked of it any more */
	c->ops->refused(c->ctx, m->error);
	client_finish(c, EXIT_UNREACHABLE);
}

static void on_link_message(void *ctx, struct slice text)
{
	struct acp_client *c = ctx;
	struct rpc_msg m;
	struct err e;

	/* What is not a valid message is skipped: a client has no way to answer it. */
	if (rpc_parse(text, &m, &e) != RPC_PARSED)
		return;
	if (m.kind == RPC_RESPONSE)
		take_response(c, &m);
	else if (c->ops->message && c->ops->message(c->ctx, &m))
		return;
	else if (m.kind == RPC_NOTIFICATION && strcmp(m.method, "session/update") == 0)
		c->ops->update(c->ctx, &m);
	else if (m.kind == RPC_REQUEST && strcmp(m.method, "session/request_permission") == 0)
		answer_permission(c, &m);
	else if (m.kind == RPC_REQUEST)
		refuse_request(c, &m);
}

static void on_link_closed(void *ctx, bool opened _unused_, const char *why)
{
	struct acp_client *c = ctx;

	if (!c->done)
		client_finish(c, fail(c->session_id ? EXIT_FAILED : EXIT_UNREACHABLE, "%s", why));
}

static void on_client_signal(void *ctx, int signo _unused_)
{
	struct acp_client *c = ctx;

	c->ops->signal(c->ctx);
}

/* --- the whole ------------------------------------------------------------------------------------------------------ */

int client_run(struct acp_client *c)
{
	static const struct daemon_link_events events = { on_link_open, on_link_message,
							  on_link_closed };
	struct err e = { 0 };

	rpc_calls_init(&c->calls);
	c->code = EXIT_FAILED;
	c->loop = loop_new();
	/* Before the connection: from then on a signal has a session to close. */
	cli_signals(c->loop, (const int[]){ SIGINT, SIGTERM, 0 }, on_client_signal, c);
	c->link = reach_daemon(c->loop, c->cfg, &events, c, &e);
	if (!c->link)
		return fail_option(&e, EXIT_UNREACHABLE);
	daemon_link_run(c->link);
	return c->code;
}

void client_done(struct acp_client *c)
{
	daemon_link_free(c->link);
	/* Its callbacks get NULL, and do nothing then. */
	if (c->loop) {
		rpc_calls_done(&c->calls);
		loop_free(c->loop);
	}
	/* It has the key of a provider. */
	secret_buf_done(&c->meta);
	free(c->session_id);
}
