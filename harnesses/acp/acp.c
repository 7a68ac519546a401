/*
 * acp.c - drives a stdio ACP agent: initialize, authenticate if chosen, session/new or session/resume (or load, whose
 * replay is dropped: the core keeps the history), then prompts. Requests of the agent become asks; fs/ and terminal/
 * are refused, since the client's files are not the sandbox's.
 */
#include "harnesses/acp/internal.h"

#include "base/list.h"
#include "harnesses/registry.h"
#include "harnesses/adapter.h"
#include "json/json.h"
#include "rpc/rpc.h"

static int acp_request(struct harness *h, const char *method, struct slice params, rpc_reply_fn fn,
		       uint64_t tag)
{
	return harness_call(&h->host, &h->calls, method, params, fn, h, tag);
}

static void agent_open_failed(struct harness *h, int rpc, const char *reason, const char *text)
{
	struct err e;

	/* The host is notified once; later answers to opening calls are dropped here. */
	if (h->phase == PHASE_FAILED)
		return;
	h->phase = PHASE_FAILED;
	err_set(&e, -EIO, rpc, reason, "%s", text);
	h->host.ops->failed(h->host.ctx, &e);
}

static void agent_open_unread(struct harness *h)
{
	agent_open_failed(h, RPC_INTERNAL_ERROR, "HARNESS_OPEN_FAILED",
			  "the harness does not read");
}

/* An error answer during the opening calls. */
static void agent_open_refused(struct harness *h, const char *what, struct slice error)
{
	struct turn_error te;
	bool auth;

	acp_error_classify(error, &te);
	auth = strcmp(te.cls, "auth") == 0;
	agent_open_failed(h, auth ? RPC_AUTH_REQUIRED : RPC_INTERNAL_ERROR,
			  auth ? "AUTH_REQUIRED" : "HARNESS_OPEN_FAILED",
			  SHORT_TEXT(2 * ERR_MSG_SIZE, "%s: %s", what, te.message));
}

static void put_native_session(struct harness *h, struct jw *w)
{
	jw_str(w, "sessionId", h->native_id);
}

static void send_agent_open(struct harness *h);

static void on_agent_opened(void *ctx, uint64_t restoring, const struct rpc_msg *m)
{
	struct harness *h = ctx;

	if (!m)
		return;
	h->replaying = false;
	if (m->error.n && restoring) {
		/* it no longer knows the session: begins a new one, and the core reports that */
		h->mode = HARNESS_NEW;
		send_agent_open(h);
		return;
	}
	if (m->error.n) {
		agent_open_refused(h, "the harness refused the session", m->error);
		return;
	}
	if (!restoring) {
		xstrset(&h->native_id, NULL);
		if (jstr_decode(jobj_get(m->result, "sessionId"), RPC_ID_MAX, &h->native_id) < 0) {
			agent_open_failed(h, RPC_INTERNAL_ERROR, "HARNESS_PROTOCOL",
					  "the harness opened a session without a sessionId");
			return;
		}
	}
	h->restoring = restoring;
	acp_opened(h, m->result);
}

/* Servers of a type that the agent refuses are in its own configuration (render.c). */
static void put_mcp_servers(const struct harness *h, struct jw *w)
{
	struct slice servers = slice_of(h->mcp_servers);

	if (!h->quirks->no_stdio_mcp) {
		jw_raw(w, "mcpServers", servers);
		return;
	}
	jw_arr(w, "mcpServers");
	jarr_each(v, servers)
		if (jobj_get(v.raw, "type").type == J_STRING)
			jw_raw(w, NULL, v.raw);
	jw_end_arr(w);
}

static void put_agent_system_prompt(const struct harness *h, struct jw *w)
{
	if (!h->system_prompt || h->quirks->system_prompt != ACP_SYSTEM_META)
		return;
	jw_obj(w, "_meta");
	if (h->system_override) {
		jw_str(w, "systemPrompt", h->system_prompt);
	} else {
		jw_object(w, "systemPrompt", JW_STR("append", h->system_prompt));
	}
	jw_end_obj(w);
}

static void send_agent_open(struct harness *h)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	bool restore = h->mode == HARNESS_RESTORE && (h->can_resume || h->can_load);
	/* Resume is preferred: a load replays a history that the core already has. */
	const char *method = !restore	   ? "session/new" :
			     h->can_resume ? "session/resume" :
					     "session/load";
	struct jw w = JW(&b);

	jw_obj(&w, NULL);
	if (restore)
		put_native_session(h, &w);
	jw_str(&w, "cwd", h->cwd);
	put_mcp_servers(h, &w);
	if (h->caps.additional_dirs && h->additional_dirs)
		jw_raw(&w, "additionalDirectories", slice_of(h->additional_dirs));
	put_agent_system_prompt(h, &w);
	jw_end_obj(&w);
	if (!restore)
		xstrset(&h->native_id, NULL); /* what comes from now on is of the new session */
	h->phase = PHASE_OPEN;
	/* session/load sends the whole history before its answer; session/resume sends none. */
	h->replaying = restore && !h->can_resume;
	if (acp_request(h, method, buf_slice(&b), on_agent_opened, restore) < 0)
		agent_open_unread(h);
}

static void on_authenticated(void *ctx, uint64_t tag _unused_, const struct rpc_msg *m)
{
	struct harness *h = ctx;

	if (!m)
		return;
	if (m->error.n)
		agent_open_refused(h, "authentication failed", m->error);
	else
		send_agent_open(h);
}

static void send_authenticate(struct harness *h)
{
	JW_BUF(w, b);

	jw_object(&w, NULL, JW_STR("methodId", h->auth_method));
	h->phase = PHASE_AUTHENTICATE;
	if (acp_request(h, "authenticate", buf_slice(&b), on_authenticated, 0) < 0)
		agent_open_unread(h);
}

static void on_agent_initialized(void *ctx, uint64_t tag _unused_, const struct rpc_msg *m)
{
	struct harness *h = ctx;
	struct slice caps, session;

	if (!m)
		return;
	if (m->error.n) {
		agent_open_refused(h, "the harness refused initialize", m->error);
		return;
	}
	/* An agent answers with the latest version that it supports, so another number means no common
	 * one. */
	if (!slice_is(jobj_get(m->result, "protocolVersion").raw, "1")) {
		agent_open_failed(h, RPC_INTERNAL_ERROR, "HARNESS_PROTOCOL",
				  "the harness does not speak ACP version 1");
		return;
	}
	caps = jobj_get(m->result, "agentCapabilities").raw;
	session = jobj_get(caps, "sessionCapabilities").raw;
	/* Replaces the capabilities of the table: those of the running program count. */
	harness_caps_parse(caps, &h->caps);
	h->caps.steer =
		jobj_get(jobj_get(jobj_get(m->result, "_meta").raw, "steering").raw, "supported")
			.type == J_TRUE;
	h->caps.system_append = h->caps.system_override = h->quirks->system_prompt;
	h->caps.images_alone = h->quirks->images_alone;
	jstr_decode(jobj_get(jobj_get(m->result, "agentInfo").raw, "version"), 64, &h->version);
	h->can_load = jobj_get(caps, "loadSession").type == J_TRUE;
	h->can_resume = jobj_get(session, "resume").type == J_OBJECT;
	if (h->auth_method)
		send_authenticate(h);
	else
		send_agent_open(h);
}

int harness_acp_start(struct harness *h, struct err *e)
{
	JW_BUF(w, b);

	jw_obj(&w, NULL);
	jw_int(&w, "protocolVersion", 1);
	jw_obj(&w, "clientCapabilities");
	jw_raw(&w, "fs", SLICE("{\"readTextFile\":false,\"writeTextFile\":false}"));
	jw_bool(&w, "terminal", false);
	if (h->boolean_config)
		jw_raw(&w, "session", SLICE("{\"configOptions\":{\"boolean\":{}}}"));
	if (h->elicitation)
		jw_raw(&w, "elicitation", SLICE("{\"form\":{}}"));
	jw_end_obj(&w);
	jw_self(&w, "clientInfo", "acpd", "acpd");
	jw_end_obj(&w);
	if (acp_request(h, "initialize", buf_slice(&b), on_agent_initialized, 0) < 0)
		return err_set(e, -EPIPE, RPC_INTERNAL_ERROR, "HARNESS_OPEN_FAILED",
			       "the harness closed its input at once");
	return 0;
}

/* --- what the agent sends ------------------------------------------------------------------------- */

#define UPDATE_SLOTS 3

/* s: sessionId, update, _meta of the params, found while the line was parsed; taken: the update, if it fits. */
static void on_agent_update(struct harness *h, const struct jslot *s,
			    const struct harness_event *taken)
{
	_cleanup_(buf_done) struct buf scratch = { 0 };
	const struct acp_hooks *hooks = h->quirks->hooks;
	struct harness_event ev = *taken;

	if (s[1].v.type != J_OBJECT)
		return;
	/* a child session of the agent itself is not shown; before the open is answered the id is unknown */
	if (h->native_id && !jstr_is(s[0].v, h->native_id))
		return;
	if (!ev.fits && harness_event_kind(s[1].v.raw, &ev) < 0) {
		if (!h->replaying)
			h->host.ops->unknown(h->host.ctx, s[1].v.raw);
		return;
	}
	ev.update = s[1].v.raw;
	if (h->replaying && ev.kind != UPDATE_COMMANDS && ev.kind != UPDATE_USAGE)
		return;
	if (s[2].v.type == J_OBJECT)
		ev.meta = s[2].v.raw;
	/* Before the filters: the cost must be known even if the update is changed or dropped. */
	if (ev.kind == UPDATE_USAGE)
		acp_meter_note(h, ev.update);
	if (ev.kind == UPDATE_CONFIG)
		acp_options_rewrite(h, &ev, &scratch);
	if (!acp_text_filter(h, &ev, &scratch))
		return;
	acp_exit_code(h, &ev, &scratch);
	if (hooks && hooks->on_update && !hooks->on_update(h, &ev, &scratch))
		return;
	/* what was made of it meanwhile is another one */
	ev.fits = taken->fits && ev.kind == taken->kind && ev.update.p == s[1].v.raw.p;
	h->host.ops->event(h->host.ctx, &ev);
}

static bool is_blank_line(struct slice line)
{
	for (size_t i = 0; i < line.n; i++)
		if (line.p[i] != ' ' && line.p[i] != '\t')
			return false;
	return true;
}

int harness_acp_on_line(struct harness *h, struct slice line, struct err *e)
{
	struct harness_event taken = { 0 };
	/* set one by one, and by the parser: wiping them takes longer than to scan a short line */
	struct jslot update[UPDATE_SLOTS] __attribute__((uninitialized));
	struct rpc_msg m __attribute__((uninitialized));
	enum rpc_parse_result parsed;
	int r;

	if (is_blank_line(line))
		return 0;
	update[0] = (struct jslot){ JSLOT("sessionId") };
	update[1] = (struct jslot){ JSLOT("update"), .take = harness_update_take, .ctx = &taken };
	update[2] = (struct jslot){ JSLOT("_meta") };
	parsed = rpc_parse_params(line, &m, update, ARRAY_SIZE(update), e);
	e->field[0] = '\0'; /* which member it is says nothing to the agent */
	r = harness_line_parsed(&h->host, parsed, &m, e);
	if (r != HARNESS_MESSAGE)
		return r;
	if (m.kind == RPC_RESPONSE)
		rpc_calls_reply(&h->calls, &m); /* unknown ids are dropped */
	else if (m.kind == RPC_REQUEST)
		acp_on_request(h, &m);
	else if (strcmp(m.method, "session/update") == 0)
		on_agent_update(h, update, &taken);
	else if (strcmp(m.method, "$/cancel_request") == 0)
		acp_on_cancel_request(h, m.params);
	else if (h->quirks->hooks && h->quirks->hooks->on_notification)
		h->quirks->hooks->on_notification(h, m.method, m.params);
	return 0;
}

/* --- what the core asks --------------------------------------------------------------------------- */

static void on_prompt_reply(void *ctx, uint64_t tag _unused_, const struct rpc_msg *m)
{
	struct harness *h = ctx;
	const struct acp_hooks *hooks = h->quirks->hooks;
	struct harness_turn_end end;
	bool counted = false;

	if (!m)
		return;
	acp_turn_end_from_reply(m, &end);
	acp_text_end(h, m, &end);
	if (hooks && hooks->on_turn_end)
		counted = hooks->on_turn_end(h, &end);
	/* Before turn_end, so that the turn's record has the numbers. */
	acp_meter_report(h, m, counted);
	h->host.ops->turn_end(h->host.ctx, &end);
}

int harness_acp_prompt(struct harness *h, struct slice content, struct slice meta, struct err *e)
{
	JW_BUF(w, b);
	const struct acp_hooks *hooks = h->quirks->hooks;
	bool as_text = hooks && hooks->on_turn_start && !hooks->on_turn_start(h, content);
	int r;

	jw_obj(&w, NULL);
	put_native_session(h, &w);
	if (as_text)
		acp_put_as_text(&w, content);
	else
		jw_raw(&w, "prompt", content);
	jw_raw(&w, "_meta", meta);
	jw_end_obj(&w);
	r = acp_request(h, "session/prompt", buf_slice(&b), on_prompt_reply, 0);
	if (r < 0 && hooks && hooks->on_turn_end) /* there is no turn after all */
		hooks->on_turn_end(h, &(struct harness_turn_end){ .failed = true });
	if (r < 0)
		return harness_gone(r, "the harness", e);
	acp_meter_turn_start(h);
	/* Text held back in an earlier turn does not belong to this one. */
	buf_reset(&h->held);
	return 0;
}

/* A notification in ACP: the answer to session/prompt ends the turn. */
void harness_acp_cancel(struct harness *h)
{
	_cleanup_(buf_done) struct buf p = { 0 }, b = { 0 };
	struct jw w = JW(&p);

	jw_obj(&w, NULL);
	put_native_session(h, &w);
	jw_end_obj(&w);
	rpc_put_notification(&b, "session/cancel", buf_slice(&p));
	harness_send(&h->host, &b);
}

int acp_call_of(struct harness *h, const char *method, const struct jw_member *members,
		rpc_reply_fn fn, uint64_t tag)
{
	JW_BUF(w, b);

	jw_obj(&w, NULL);
	put_native_session(h, &w);
	jw_put(&w, members);
	jw_end_obj(&w);
	return acp_request(h, method, buf_slice(&b), fn, tag);
}

int harness_acp_steer(struct harness *h, uint64_t token, struct slice content, struct err *e)
{
	return acp_call_for(h, "_session/steering", JW_MEMBERS(JW_RAW("prompt", content)), token,
			    e);
}

/* --- life ------------------------------------------------------------------------------------------- */

/* All strings that struct harness owns. harness_acp_free frees these, so a new one belongs here. */
static const size_t owned[] = {
	offsetof(struct harness, cwd),		 offsetof(struct harness, native_id),
	offsetof(struct harness, auth_method),	 offsetof(struct harness, version),
	offsetof(struct harness, system_prompt), offsetof(struct harness, model),
	offsetof(struct harness, mcp_servers),	 offsetof(struct harness, additional_dirs),
	offsetof(struct harness, options),	 offsetof(struct harness, modes),
	offsetof(struct harness, models),	 offsetof(struct harness, chosen),
	offsetof(struct harness, wanted),
};

struct harness *acp_open_with(const struct acp_quirks *q, const struct harness_req *req,
			      const struct harness_host *host)
{
	struct harness *h = new0(struct harness);

	h->host = *host;
	h->quirks = q;
	h->mode = req->mode;
	h->approval = req->approval;
	h->cwd = xstrdup(req->cwd);
	h->native_id = xstrdup(req->native_id);
	h->auth_method = xstrdup(req->auth_method);
	h->mcp_servers = req->mcp_servers.n ? xstrndup(req->mcp_servers.p, req->mcp_servers.n) :
					      xstrdup("[]");
	if (req->additional_dirs.n)
		h->additional_dirs = xstrndup(req->additional_dirs.p, req->additional_dirs.n);
	h->model = xstrdup(req->model);
	h->with_provider = req->provider;
	h->system_prompt = xstrdup(req->system_prompt);
	h->system_override = req->system_override;
	h->boolean_config = req->boolean_config;
	h->elicitation = req->elicitation;
	rpc_calls_init(&h->calls);
	list_init(&h->asks);
	if (q->hooks && q->hooks->state_size)
		h->hook_state = xalloc(q->hooks->state_size);
	if (q->hooks && q->hooks->open)
		q->hooks->open(h, req);
	return h;
}

struct harness *harness_acp_open(const struct harness_def *def, const struct harness_req *req,
				 const struct harness_host *host)
{
	return acp_open_with(def && def->quirks ? def->quirks : &acp_no_quirks, req, host);
}

struct harness *harness_acp_free(struct harness *h)
{
	if (!h)
		return NULL;
	if (h->quirks->hooks && h->quirks->hooks->free)
		h->quirks->hooks->free(h);
	/* before anything is freed: each open call is ended by its function, which reads h */
	rpc_calls_done(&h->calls);
	acp_asks_free(h);
	buf_done(&h->held);
	for (size_t i = 0; i < ARRAY_SIZE(owned); i++)
		free(*(char **)((char *)h + owned[i]));
	free_each(h->hook_state, h);
	return NULL;
}

const struct harness_ops harness_acp = {
	.name = "acp",
	.asks = harness_acp_asks,
	.plan = acp_plan,
	.open = harness_acp_open,
	HARNESS_ACP_PROTOCOL,
};
