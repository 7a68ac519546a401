/*
 * cmd_run.c - `acpd run`: an ACP client that runs one prompt and reports with an exit code.
 *
 * Of its options only input that cannot be encoded is refused here; the daemon checks names and values. The provider is read
 * from a file, so its key is in no argument list. Its line breaks are removed, because a message on acp.sock is one line.
 * Numbers of budgets are copied as text, without rounding.
 *
 * The text of the agent goes to standard output as it comes, titles of its tool calls to standard error. With --json all of it
 * is one object at the end.
 */
#include "cli/archive/archive.h"
#include "cli/session/client.h"

#include "archive/archive_store.h"
#include "base/limits.h"
#include "base/os/file.h"
#include "json/jenc.h"
#include "json/jscan.h"
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

/* --- settings of the session ------------------------------------------------------------------------------ */

/* Reads it from a file, so that a key is in no argument list. */
static int settings_put_provider(struct jw *w, const char *path)
{
	_cleanup_(secret_buf_done) struct buf b = { 0 };
	char why[JSCAN_TEXT_SIZE];
	enum jscan_error scan;
	struct jval v;
	int r = file_read(path, MESSAGE_MAX, &b);

	if (r < 0)
		return fail(EXIT_USAGE, "--provider %s: %s", path, strerror(-r));
	scan = jscan_object(buf_slice(&b), NULL, 0);
	if (scan != JSCAN_OK || jscan_value(buf_slice(&b), &v) != JSCAN_OK)
		return fail(EXIT_USAGE, "--provider %s: %s", path,
			    jscan_explain(buf_slice(&b), scan, why));
	jscan_join_lines(&b); /* messages on a UNIX socket are lines */
	jw_raw(w, "provider", v.raw);
	return EXIT_DONE;
}

/* Takes the next part up to the separator; false: there is none. */
static bool next_list_part(const char **at, char separator, char **ret)
{
	const char *end;

	if (!*at || !**at)
		return false;
	end = strchrnul(*at, separator);
	*ret = xstrndup(*at, (size_t)(end - *at));
	*at = *end ? end + 1 : end;
	return true;
}

static int settings_put_env(struct jw *w, const char *list)
{
	char *part;
	int r = EXIT_DONE;

	jw_obj(w, "env");
	while (r == EXIT_DONE && next_list_part(&list, '\n', &part)) {
		char *value = strchr(part, '=');

		if (value)
			*value++ = '\0';
		else
			value = getenv(part);
		if (value) {
			jw_lead_key(w, part);
			jw_str(w, NULL, value);
		} else
			r = fail(EXIT_USAGE,
				 "--env %s: there is no such variable here; use %s=VALUE", part,
				 part);
		free(part);
	}
	jw_end_obj(w);
	return r;
}

/* A number stays the text that was given. */
static int settings_put_budget(struct jw *w, const char *list)
{
	char *part;
	int r = EXIT_DONE;

	jw_obj(w, "budgets");
	jw_obj(w, "turn");
	while (r == EXIT_DONE && next_list_part(&list, ',', &part)) {
		char *value = strchr(part, '=');
		struct jval v = { J_NONE, SLICE_NONE };

		if (value)
			*value++ = '\0';
		if (value && jscan_value(slice_of(value), &v) == JSCAN_OK && v.type == J_NUMBER) {
			jw_lead_key(w, part);
			jw_raw(w, NULL, v.raw);
		} else
			r = fail(EXIT_USAGE,
				 "--budget %s: NAME=NUMBER is needed, for example steps=40", part);
		free(part);
	}
	jw_end_obj(w);
	jw_end_obj(w);
	return r;
}

static bool refuses_links(const struct config *c)
{
	return strcmp(c->links, "refuse") == 0;
}

static int settings_put_archive(struct jw *w, const struct config *c)
{
	char digest[SHA256_TEXT];
	const char *name = c->archive;
	struct sha256 d;
	int r = EXIT_DONE;

	if (sha256_parse(slice_of(name), &d) < 0) {
		r = archive_upload(c, name, digest);
		name = digest;
	}
	jw_obj(w, "workspace");
	jw_str(w, "archive", name);
	if (c->strip == STRIP_AUTO)
		jw_str(w, "strip", "auto");
	else if (c->strip)
		jw_int(w, "strip", c->strip);
	if (!refuses_links(c))
		jw_str(w, "links", c->links);
	jw_end_obj(w);
	return r;
}

/* Builds _meta.acpd of session/new from the options, and uploads --archive if it is a file. EXIT_DONE, or the exit code; the
 * reason has been printed then. ret may hold a key. */
static int run_settings(const struct config *c, struct buf *ret)
{
	struct jw w = JW(ret);
	int r = EXIT_DONE;

	if (c->strip && !c->archive)
		return fail(EXIT_USAGE, "--strip: what of? it goes with --archive");
	if (!refuses_links(c) && !c->archive)
		return fail(EXIT_USAGE, "--links: what of? it goes with --archive");
	jw_obj(&w, NULL);
	jw_str(&w, "harness", c->harness);
	jw_str(&w, "model", c->model);
	if (c->provider)
		r = settings_put_provider(&w, c->provider);
	if (r == EXIT_DONE && c->env)
		r = settings_put_env(&w, c->env);
	if (r == EXIT_DONE && c->budget)
		r = settings_put_budget(&w, c->budget);
	if (r == EXIT_DONE && c->archive)
		r = settings_put_archive(&w, c);
	jw_end_obj(&w);
	return r;
}

/* --- its turn ---------------------------------------------------------------------------------------------- */

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

static void run_session_opened(void *ctx, struct slice result)
{
	struct slice meta = jobj_get(jobj_get(result, "_meta").raw, "acpd").raw;
	JW_BUF(w, b);
	struct prompt_run *r = ctx;

	cli_print_skipped(jobj_get(meta, "workspace").raw);
	jw_object(&w, NULL, JW_STR("type", "text"), JW_STR("text", r->prompt));
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
	JW_BUF(w, b);

	jw_object(&w, NULL, JW_STR("sessionId", r->client.session_id),
		  JW_STR("stopReason", r->stop_reason), JW_SLICE("text", buf_slice(&r->text)),
		  JW_UINT("toolCalls", r->tool_calls), JW_RAW("usage", buf_slice(&r->usage)),
		  JW_RAW("error", buf_slice(&r->error)), JW_INT("exitCode", r->client.code));
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
	free_each(r->prompt, r->stop_reason);
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
