/*
 * thread.c - opens the session: initialize, model/list, thread/start or thread/resume, thread/settings/update, ready.
 *
 * The thread is opened read-only and freed from its sandbox by the settings that follow: a thread that is opened with
 * full access makes Codex trust the directory, and then a repository's own .codex/config.toml would start servers and
 * hooks. AGENTS.md and skills are still read.
 */
#include "harnesses/codex/internal.h"
#include "json/jenc.h"

/* --- ACP's McpServer[] as Codex's mcp_servers table ------------------------------------------------- */

#define MCP_NAME_MAX 64

/* Codex refuses a server whose name has other characters. */
static void put_server_name(char *ret, size_t n, struct jval name, unsigned index)
{
	_cleanup_(freep) char *text = NULL;

	if (jstr_decode(name, 4096, &text) < 0 || !*text) {
		snprintf(ret, n, "server-%u", index);
		return;
	}
	snprintf(ret, n, "%s", text);
	for (char *p = ret; *p; p++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-", *p))
			*p = '_';
}

/* [{name, value}] as an object. */
static void put_pairs(struct jw *w, const char *key, struct jval list)
{
	if (list.type != J_ARRAY)
		return;
	jw_obj(w, key);
	jarr_each(v, list) {
		_cleanup_(freep) char *name = codex_str(v.raw, "name");
		struct jval value = jobj_get(v.raw, "value");

		if (!name || value.type != J_STRING)
			continue;
		jw_lead_key(w, name);
		jw_raw(w, NULL, value.raw);
	}
	jw_end_obj(w);
}

static void put_server(struct jw *w, struct slice server, int64_t call_ms)
{
	struct jval url = jobj_get(server, "url");

	if (url.type == J_STRING) {
		jw_raw(w, "url", url.raw);
		put_pairs(w, "http_headers", jobj_get(server, "headers"));
	} else {
		jw_raw(w, "command", jobj_get(server, "command").raw);
		jw_raw(w, "args", jobj_get(server, "args").raw);
		put_pairs(w, "env", jobj_get(server, "env"));
	}
	/* after Codex's own 10 s the model is called without the tools of a server that starts slowly */
	jw_int(w, "startup_timeout_sec", HARNESS_START_SECS);
	/* progress does not make it wait any longer */
	if (call_ms)
		jw_int(w, "tool_timeout_sec", (call_ms + 999) / 1000);
	/* every call is asked, read-only ones too; under approval never and full access Codex asks
	 * for none */
	jw_str(w, "default_tools_approval_mode", "prompt");
}

static void codex_mcp_put(struct jw *w, const char *key, struct slice servers, int64_t call_ms)
{
	char name[MCP_NAME_MAX + 1];
	unsigned n = 0;

	jw_obj(w, key);
	jarr_each(v, servers) {
		put_server_name(name, sizeof(name), jobj_get(v.raw, "name"), n++);
		jw_lead_key(w, name);
		jw_obj(w, NULL);
		put_server(w, v.raw, call_ms);
		jw_end_obj(w);
	}
	jw_end_obj(w);
}

static void thread_open_failed(struct harness *h, const char *reason, const char *text)
{
	struct err e;

	/* The host is notified once; answers to calls that were still open can follow. */
	if (h->phase != PHASE_OPENING)
		return;
	h->phase = PHASE_FAILED;
	err_set(&e, -EIO, RPC_INTERNAL_ERROR, reason, "%s", text);
	h->host.ops->failed(h->host.ctx, &e);
}

static void thread_open_unread(struct harness *h)
{
	thread_open_failed(h, "HARNESS_OPEN_FAILED", "Codex does not read");
}

static void thread_open_refused(struct harness *h, const char *what, struct slice error)
{
	char said[ERR_MSG_SIZE], text[2 * ERR_MSG_SIZE];

	codex_error_text(error, said, sizeof(said));
	snprintf(text, sizeof(text), "%s: %s", what, said);
	thread_open_failed(h, "HARNESS_OPEN_FAILED", text);
}

static void on_thread_configured(void *ctx, uint64_t tag _unused_, const struct rpc_msg *m)
{
	struct harness *h = ctx;
	JW_BUF(w, b);
	struct harness_ready ready = { .native_id = h->thread_id,
				       .version = h->version,
				       .caps = h->caps,
				       .restored = h->restored };

	if (!m)
		return;
	if (m->error.n) {
		thread_open_refused(h, "Codex refused the session's settings", m->error);
		return;
	}
	codex_options_put(h, &w, NULL);
	ready.config_options = buf_slice(&b);
	h->phase = PHASE_READY;
	h->host.ops->ready(h->host.ctx, &ready);
}

static void send_settings(struct harness *h)
{
	JW_BUF(w, b);

	codex_settings_put(h, &h->now, &w);
	if (codex_call(h, "thread/settings/update", buf_slice(&b), on_thread_configured, 0) < 0)
		thread_open_unread(h);
}

/* A provider it does not understand makes Codex fall back to its own, silently. */
static bool provider_is_used(const struct harness *h, struct slice result)
{
	return !h->has_provider || jstr_is(jobj_get(result, "modelProvider"), PROVIDER_ID);
}

static void send_thread_open(struct harness *h);

static void on_thread_opened(void *ctx, uint64_t restoring, const struct rpc_msg *m)
{
	struct harness *h = ctx;

	if (!m)
		return;
	if (m->error.n && restoring) {
		/* it does not know the thread any more: begins a new one, and the core reports that */
		h->restoring = false;
		send_thread_open(h);
		return;
	}
	if (m->error.n) {
		thread_open_refused(h, "Codex refused the session", m->error);
		return;
	}
	free(h->thread_id);
	h->thread_id = codex_str(jobj_get(m->result, "thread").raw, "id");
	free(h->now.model);
	/* The model in force, which can differ from the wanted one: the core compares them. */
	h->now.model = codex_str(m->result, "model");
	free(h->now.effort);
	h->now.effort = codex_str(m->result, "reasoningEffort");
	h->restored = restoring;
	if (!h->thread_id || !h->now.model)
		thread_open_failed(h, "HARNESS_PROTOCOL",
				   "Codex opened a thread without an id or a model");
	else if (!provider_is_used(h, m->result))
		thread_open_failed(h, "PROVIDER_NOT_USED",
				   "Codex did not take the provider it was given");
	else
		send_settings(h);
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

static void send_thread_open(struct harness *h)
{
	JW_BUF(w, b);

	jw_obj(&w, NULL);
	if (h->restoring) {
		jw_str(&w, "threadId", h->thread_id);
		jw_bool(&w, "excludeTurns", true); /* the core keeps the history */
	}
	jw_str(&w, "cwd", h->cwd);
	jw_str(&w, "model", h->wanted_model);
	jw_str(&w, "modelProvider", h->has_provider ? PROVIDER_ID : NULL);
	/* Full access here would make Codex trust the directory; thread/settings/update follows with
	 * the real policy. */
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
	if (codex_call(h, h->restoring ? "thread/resume" : "thread/start", buf_slice(&b),
		       on_thread_opened, h->restoring) < 0)
		thread_open_unread(h);
}

static void on_model_list(void *ctx, uint64_t tag _unused_, const struct rpc_msg *m)
{
	struct harness *h = ctx;

	if (!m)
		return;
	if (!m->error.n)
		/* Without the list only choices and their details are missing. */
		codex_models_load(h, m->result);
	send_thread_open(h);
}

/* "acpd/0.171.0 (Debian …)": the client's name as we gave it, and Codex's version. */
static void note_version(struct harness *h, struct slice result)
{
	_cleanup_(freep) char *agent = codex_str(result, "userAgent");
	char *slash = agent ? strchr(agent, '/') : NULL;

	if (slash)
		h->version = xstrndup(slash + 1, strcspn(slash + 1, " "));
}

static void on_codex_initialized(void *ctx, uint64_t tag _unused_, const struct rpc_msg *m)
{
	struct harness *h = ctx;
	_cleanup_(buf_done) struct buf b = { 0 };

	if (!m)
		return;
	if (m->error.n) {
		thread_open_refused(h, "Codex refused initialize", m->error);
		return;
	}
	note_version(h, m->result);
	rpc_put_notification(&b, "initialized", SLICE("{}"));
	if (harness_send(&h->host, &b) < 0 ||
	    codex_call(h, "model/list", SLICE("{\"limit\":100}"), on_model_list, 0) < 0)
		thread_open_unread(h);
}

int codex_thread_open(struct harness *h, struct err *e)
{
	JW_BUF(w, b);

	jw_obj(&w, NULL);
	jw_self(&w, "clientInfo", "acpd", "acpd");
	/* experimentalApi: collaboration modes, background terminals, additional directories */
	jw_raw(&w, "capabilities",
	       SLICE("{\"experimentalApi\":true,\"requestAttestation\":false,"
		     "\"optOutNotificationMethods\":[\"account/rateLimits/updated\","
		     "\"thread/readState/changed\",\"thread/status/changed\",\"turn/diff/updated\","
		     "\"remoteControl/status/changed\",\"thread/started\"]}"));
	jw_end_obj(&w);
	if (codex_call(h, "initialize", buf_slice(&b), on_codex_initialized, 0) < 0)
		return err_set(e, -EPIPE, RPC_INTERNAL_ERROR, "HARNESS_OPEN_FAILED",
			       "Codex closed its input at once");
	return 0;
}
