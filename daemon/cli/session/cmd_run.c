/*
 * cmd_run.c - `acpd run`: an ACP client that runs one prompt and reports with an exit code.
 *
 * The text of the agent goes to standard output as it comes, titles of its tool calls to standard error. With --json all of it
 * is one object at the end.
 */
#include "cli/archive/archive.h"
#include "cli/session/client.h"
#include "cli/session/run_settings.h"

#include "base/limits.h"
#include "base/os/file.h"
#include "json/jenc.h"
#include "json/jstr.h"

#include <stdio.h>

struct prompt_run {
	const struct config *cfg;
	struct acp_client client;
	char *prompt;
	struct buf text, error, usage;
	char *stop_reason;
	unsigned tool_calls;
	bool cancelled;
};

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

static void tell_session_stays(void *ctx)
{
	const struct prompt_run *r = ctx;

	fprintf(stderr, "acpd: session %s stays: session/%s puts it away\n", r->client.session_id,
		r->cfg->keep ? "close" : "delete");
}

static void run_failed(void *ctx, const char *method _unused_, struct slice error)
{
	_cleanup_(freep) char *text = NULL, *field = NULL;
	struct prompt_run *r = ctx;

	jstr_decode(jobj_get(error, "message"), 4096, &text);
	jstr_decode(jobj_get(jobj_get(error, "data").raw, "field"), 256, &field);
	/* For --json, as it came. */
	buf_add_slice(&r->error, error);
	if (!r->cfg->json)
		fail(EXIT_FAILED, "%s%s%s%s", text ? text : "the daemon reported an error",
		     field ? " (" : "", field ? field : "", field ? ")" : "");
	client_close(&r->client, EXIT_FAILED);
}

static void on_run_prompted(void *ctx, uint64_t tag _unused_, const struct rpc_msg *m)
{
	struct acp_client *c = ctx;
	struct prompt_run *r = c->ctx;

	if (!m)
		return;
	if (m->error.n) {
		run_failed(r, "session/prompt", m->error);
		return;
	}
	jstr_decode(jobj_get(m->result, "stopReason"), 64, &r->stop_reason);
	buf_add_slice(&r->usage, jobj_get(m->result, "usage").raw);
	client_close(c, r->stop_reason ?
				code_of_stop(r->stop_reason, jobj_get(m->result, "_meta").raw) :
				EXIT_FAILED);
}

static struct slice written_workspace(struct slice result)
{
	struct slice meta = jobj_get(result, "_meta").raw;

	return jobj_get(jobj_get(meta, "acpd").raw, "workspace").raw;
}

static void run_session_opened(void *ctx, struct slice result)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct prompt_run *r = ctx;
	struct jw w = JW(&b);

	cli_print_skipped(written_workspace(result));
	jw_obj(&w, NULL);
	jw_str(&w, "type", "text");
	jw_str(&w, "text", r->prompt);
	jw_end_obj(&w);
	client_prompt(&r->client, buf_slice(&b), on_run_prompted);
}

/* --- what the agent says ------------------------------------------------------------------------------- */

static void run_update(void *ctx, const struct rpc_msg *m)
{
	struct slice update = jobj_get(m->params, "update").raw;
	struct jval kind = jobj_get(update, "sessionUpdate");
	_cleanup_(freep) char *text = NULL;
	struct prompt_run *r = ctx;

	if (jstr_is(kind, "tool_call")) {
		r->tool_calls++;
		if (!r->cfg->json && jstr_decode(jobj_get(update, "title"), 4096, &text) == 0)
			fprintf(stderr, "[%s]\n", text);
	} else if (jstr_is(kind, "agent_message_chunk") &&
		   jstr_decode(jobj_get(jobj_get(update, "content").raw, "text"), LINE_MAX_BYTES,
			       &text) == 0) {
		buf_puts(&r->text, text);
		if (!r->cfg->json && file_write_all(STDOUT_FILENO, text, strlen(text)) < 0)
			client_finish(&r->client, EXIT_FAILED);
	}
}

/* The option that --permissions asks for. */
static struct slice run_permit(void *ctx, const struct rpc_msg *m)
{
	const struct prompt_run *r = ctx;
	bool allow = strcmp(r->cfg->permissions, "allow") == 0;

	return client_option(m, "kind", allow ? "allow_once" : "reject_once");
}

static void run_refused(void *ctx _unused_, struct slice error)
{
	_cleanup_(freep) char *text = NULL;

	jstr_decode(jobj_get(error, "message"), 4096, &text);
	fail(EXIT_UNREACHABLE, "the daemon refused the connection: %s",
	     text ? text : "it did not say why");
}

/* The first Ctrl-C cancels the turn, the second deletes the session without waiting for its end, the third exits. */
static void run_signalled(void *ctx)
{
	struct prompt_run *r = ctx;

	if (!r->client.session_id) {
		client_finish(&r->client, EXIT_CANCELLED);
	} else if (!r->cancelled) {
		r->cancelled = true;
		client_cancel(&r->client);
	} else if (!r->client.closing) {
		client_close(&r->client, EXIT_CANCELLED);
	} else {
		tell_session_stays(r);
		client_finish(&r->client, EXIT_CANCELLED);
	}
}

static const struct client_ops run_ops = {
	.failed = run_failed,
	.opened = run_session_opened,
	.update = run_update,
	.permit = run_permit,
	.refused = run_refused,
	.stays = tell_session_stays,
	.signal = run_signalled,
};

static void print_run(const struct prompt_run *r)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);

	jw_obj(&w, NULL);
	jw_str(&w, "sessionId", r->client.session_id);
	jw_str(&w, "stopReason", r->stop_reason);
	jw_slice(&w, "text", buf_slice(&r->text));
	jw_uint(&w, "toolCalls", r->tool_calls);
	jw_raw(&w, "usage", buf_slice(&r->usage));
	jw_raw(&w, "error", buf_slice(&r->error));
	jw_int(&w, "exitCode", r->client.code);
	jw_end_obj(&w);
	print_pretty(buf_slice(&b));
}

static int load_prompt(struct prompt_run *r, struct err *e)
{
	_cleanup_(buf_done) struct buf b = { 0 };

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

static void run_done(struct prompt_run *r)
{
	client_done(&r->client);
	free(r->prompt);
	free(r->stop_reason);
	buf_done(&r->text);
	buf_done(&r->error);
	buf_done(&r->usage);
}

int cmd_run(const struct config *c)
{
	struct prompt_run r = { .cfg = c, .text.max = 1024 * MIB, .error.max = 1024 * MIB };
	struct err e = { 0 };
	int code;

	r.client = (struct acp_client){ .cfg = c,
					.ops = &run_ops,
					.ctx = &r,
					.name = "acpd-run",
					.cwd = c->cwd,
					.capabilities = SLICE("{\"_meta\":{\"acpd\":{}}}") };
	code = load_prompt(&r, &e) < 0 ? fail(EXIT_USAGE, "%s", e.msg) :
					 run_settings(c, &r.client.meta);
	if (code == EXIT_DONE) {
		code = client_run(&r.client);
		if (r.client.link && c->json)
			print_run(&r);
		else if (r.client.link && buf_len(&r.text))
			printf("\n");
	}
	run_done(&r);
	return code;
}
