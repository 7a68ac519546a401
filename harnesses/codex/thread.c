/*
 * thread.c - opens the session: initialize, model/list, thread/start or thread/resume, thread/settings/update, ready.
 *
 * The thread is opened read-only and freed from its sandbox by the settings that follow: a thread that is opened with
 * full access makes Codex trust the directory, and then a repository's own .codex/config.toml would start servers and
 * hooks. AGENTS.md and skills are still read.
 */
#include "harnesses/codex/internal.h"
#include "json/jself.h"

#include <errno.h>
#include <stdio.h>

static void open_failed(struct harness *h, struct err *e)
{
	if (h->phase != PHASE_OPENING)
		return;
	h->phase = PHASE_FAILED;
	h->host.ops->failed(h->host.ctx, e);
}

static void open_unread(struct harness *h)
{
	struct err e;

	err_set(&e, -EPIPE, RPC_INTERNAL_ERROR, "HARNESS_OPEN_FAILED", "Codex does not read");
	open_failed(h, &e);
}

static void open_refused(struct harness *h, const char *what, struct slice error)
{
	char text[ERR_MSG_SIZE];
	struct err e;

	codex_error_text(error, text, sizeof(text));
	err_set(&e, -EIO, RPC_INTERNAL_ERROR, "HARNESS_OPEN_FAILED", "%s: %s", what, text);
	open_failed(h, &e);
}

static void on_configured(void *ctx, uint64_t tag _unused_, const struct rpc_msg *m)
{
	struct harness *h = ctx;
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);
	struct harness_ready ready = { .native_id = h->thread_id,
				       .version = h->version,
				       .caps = h->caps,
				       .restored = h->restored };

	if (!m)
		return;
	if (m->error.n) {
		open_refused(h, "Codex refused the session's settings", m->error);
		return;
	}
	codex_options_put(h, &w, NULL);
	ready.config_options = buf_slice(&b);
	h->phase = PHASE_READY;
	h->host.ops->ready(h->host.ctx, &ready);
}

static void send_settings(struct harness *h)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);

	codex_settings_put(h, &h->now, &w);
	if (codex_call(h, "thread/settings/update", buf_slice(&b), on_configured, 0) < 0)
		open_unread(h);
}

/* A provider it does not understand makes Codex fall back to its own, silently. */
static int check_provider(const struct harness *h, struct slice result, struct err *e)
{
	if (!h->has_provider || jstr_is(jobj_get(result, "modelProvider"), PROVIDER_ID))
		return 0;
	return err_set(e, -EIO, RPC_INTERNAL_ERROR, "PROVIDER_NOT_USED",
		       "Codex did not take the provider it was given");
}

static void send_open(struct harness *h);

static void on_opened(void *ctx, uint64_t restoring, const struct rpc_msg *m)
{
	struct harness *h = ctx;
	struct err e;

	if (!m)
		return;
	if (m->error.n && restoring) {
		/* it does not know the thread any more: begins a new one, and the core reports that */
		h->restoring = false;
		send_open(h);
		return;
	}
	if (m->error.n) {
		open_refused(h, "Codex refused the session", m->error);
		return;
	}
	free(h->thread_id);
	h->thread_id = codex_str(jobj_get(m->result, "thread").raw, "id");
	free(h->now.model);
	h->now.model = codex_str(m->result, "model");
	free(h->now.effort);
	h->now.effort = codex_str(m->result, "reasoningEffort");
	h->restored = restoring;
	if (!h->thread_id || !h->now.model) {
		err_set(&e, -EPROTO, RPC_INTERNAL_ERROR, "HARNESS_PROTOCOL",
			"Codex opened a thread without an id or a model");
		open_failed(h, &e);
	} else if (check_provider(h, m->result, &e) < 0) {
		open_failed(h, &e);
	} else {
		send_settings(h);
	}
}

static void put_roots(const struct harness *h, struct jw *w)
{
	if (!h->additional_dirs)
		return;
	jw_arr(w, "runtimeWorkspaceRoots");
	jw_str(w, NULL, h->cwd);
	jarr_each(v, slice_of(h->additional_dirs))
		jw_raw(w, NULL, v.raw);
	jw_end_arr(w);
}

static void send_open(struct harness *h)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);

	jw_obj(&w, NULL);
	if (h->restoring) {
		jw_str(&w, "threadId", h->thread_id);
		jw_bool(&w, "excludeTurns", true); /* the core keeps the history */
	}
	jw_str(&w, "cwd", h->cwd);
	jw_str(&w, "model", h->wanted_model);
	jw_str(&w, "modelProvider", h->has_provider ? PROVIDER_ID : NULL);
	jw_str(&w, "sandbox", "read-only");
	jw_str(&w, "approvalPolicy", "untrusted");
	jw_str(&w, "approvalsReviewer", "user"); /* the other reviewer spends model calls */
	jw_str(&w, h->system_override ? "baseInstructions" : "developerInstructions",
	       h->system_prompt);
	put_roots(h, &w);
	jw_obj(&w, "config");
	codex_mcp_put(&w, "mcp_servers", slice_of(h->mcp_servers), h->mcp_call_ms);
	jw_end_obj(&w);
	jw_end_obj(&w);
	if (codex_call(h, h->restoring ? "thread/resume" : "thread/start", buf_slice(&b), on_opened,
		       h->restoring) < 0)
		open_unread(h);
}

static void on_models(void *ctx, uint64_t tag _unused_, const struct rpc_msg *m)
{
	struct harness *h = ctx;

	if (!m)
		return;
	if (!m->error.n)
		codex_models_load(h, m->result);
	send_open(h);
}

/* "acpd/0.171.0 (Debian …)": the client's name as we gave it, and Codex's version. */
static void note_version(struct harness *h, struct slice result)
{
	_cleanup_(freep) char *agent = codex_str(result, "userAgent");
	char *slash = agent ? strchr(agent, '/') : NULL;

	if (slash)
		h->version = xstrndup(slash + 1, strcspn(slash + 1, " "));
}

static void on_initialized(void *ctx, uint64_t tag _unused_, const struct rpc_msg *m)
{
	struct harness *h = ctx;
	_cleanup_(buf_done) struct buf b = { 0 };

	if (!m)
		return;
	if (m->error.n) {
		open_refused(h, "Codex refused initialize", m->error);
		return;
	}
	note_version(h, m->result);
	rpc_put_notification(&b, "initialized", SLICE("{}"));
	if (harness_send(&h->host, &b) < 0 ||
	    codex_call(h, "model/list", SLICE("{\"limit\":100}"), on_models, 0) < 0)
		open_unread(h);
}

int codex_thread_open(struct harness *h, struct err *e)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);

	jw_obj(&w, NULL);
	jw_self(&w, "clientInfo", "acpd", "acpd");
	/* experimentalApi: collaboration modes, background terminals, additional directories */
	jw_raw(&w, "capabilities",
	       SLICE("{\"experimentalApi\":true,\"requestAttestation\":false,"
		     "\"optOutNotificationMethods\":[\"account/rateLimits/updated\","
		     "\"thread/readState/changed\",\"thread/status/changed\",\"turn/diff/updated\","
		     "\"remoteControl/status/changed\",\"thread/started\"]}"));
	jw_end_obj(&w);
	if (codex_call(h, "initialize", buf_slice(&b), on_initialized, 0) < 0)
		return err_set(e, -EPIPE, RPC_INTERNAL_ERROR, "HARNESS_OPEN_FAILED",
			       "Codex closed its input at once");
	return 0;
}
