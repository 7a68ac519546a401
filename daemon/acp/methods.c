/* methods.c - the table of methods: what exists, in which phase it is allowed, and who handles it. */
#include "acp/acp_internal.h"

#include "json/jdec.h"
#include "json/jstr.h"

#include <errno.h>
#include <stdio.h>

/* What a method may do to the session that it names, and so who may call it. daemon/protocol/sessions.md */
enum method_access {
	ACCESS_ANY, /* it names none, or only reads; or it is how a connection becomes the driver */
	ACCESS_DRIVER, /* changes it: the connection that drives it */
	ACCESS_FREE,   /* that one, or anybody while it is closed or nobody drives it */
};

/* What a method's _meta.acpd may hold. */
enum method_meta {
	META_NONE, /* nothing */
	META_ACPD, /* its handler sees to it */
	META_KEYS, /* the same; there may be keys, so the text of the message is wiped afterwards */
	META_BARE, /* nothing; but there may be keys beside it */
};

struct acp_method {
	const char *name;
	unsigned phases;
	enum rpc_kind kind;
	enum method_access access;
	enum grant_need need;
	enum need_sessions sessions;
	acp_handler fn;
	enum method_meta meta;
};

static const struct acp_method methods[] = {
	{ "initialize", CONN_NEW, RPC_REQUEST, ACCESS_ANY, NEED_ANY, SESSIONS_NONE, on_initialize,
	  META_NONE },
	{ "authenticate", CONN_READY, RPC_REQUEST, ACCESS_ANY, NEED_DRIVE, SESSIONS_NONE,
	  on_authenticate, META_NONE },
	{ "session/new", CONN_READY, RPC_REQUEST, ACCESS_ANY, NEED_DRIVE, SESSIONS_ALL,
	  on_session_new, META_KEYS },
	{ "session/load", CONN_READY, RPC_REQUEST, ACCESS_ANY, NEED_OBSERVE, SESSIONS_NAMED,
	  on_session_load, META_KEYS },
	{ "session/resume", CONN_READY, RPC_REQUEST, ACCESS_ANY, NEED_OBSERVE, SESSIONS_NAMED,
	  on_session_resume, META_KEYS },
	{ "session/fork", CONN_READY, RPC_REQUEST, ACCESS_ANY, NEED_DRIVE, SESSIONS_ALL,
	  on_session_fork, META_KEYS },
	{ "session/list", CONN_READY, RPC_REQUEST, ACCESS_ANY, NEED_OBSERVE, SESSIONS_OWN,
	  on_session_list, META_NONE },
	{ "session/close", CONN_READY, RPC_REQUEST, ACCESS_FREE, NEED_DRIVE, SESSIONS_NAMED,
	  on_session_close, META_NONE },
	{ "session/delete", CONN_READY, RPC_REQUEST, ACCESS_FREE, NEED_DRIVE, SESSIONS_NAMED,
	  on_session_delete, META_NONE },
	{ "session/prompt", CONN_READY, RPC_REQUEST, ACCESS_DRIVER, NEED_DRIVE, SESSIONS_NAMED,
	  on_prompt, META_ACPD },
	{ "_session/steering", CONN_READY, RPC_REQUEST, ACCESS_DRIVER, NEED_DRIVE, SESSIONS_NAMED,
	  on_steer, META_NONE },
	{ "session/cancel", CONN_READY, RPC_NOTIFICATION, ACCESS_DRIVER, NEED_DRIVE, SESSIONS_NAMED,
	  on_cancel, META_NONE },
	{ "session/set_mode", CONN_READY, RPC_REQUEST, ACCESS_DRIVER, NEED_DRIVE, SESSIONS_NAMED,
	  on_set_mode, META_NONE },
	{ "session/set_model", CONN_READY, RPC_REQUEST, ACCESS_DRIVER, NEED_DRIVE, SESSIONS_NAMED,
	  on_set_model, META_NONE },
	{ "session/set_config_option", CONN_READY, RPC_REQUEST, ACCESS_DRIVER, NEED_DRIVE,
	  SESSIONS_NAMED, on_set_config, META_NONE },
	{ "$/cancel_request", CONN_EITHER, RPC_NOTIFICATION, ACCESS_ANY, NEED_ANY, SESSIONS_NONE,
	  on_cancel_request, META_NONE },
	{ "mcp/message", CONN_READY, RPC_NOTIFICATION, ACCESS_ANY, NEED_DRIVE, SESSIONS_NONE,
	  on_mcp_message, META_NONE },
	{ "_acpd/model/attach", CONN_EITHER, RPC_REQUEST, ACCESS_ANY, NEED_MODEL, SESSIONS_OWN,
	  on_model_attach, META_NONE },
	{ "_acpd/model/head", CONN_EITHER, RPC_NOTIFICATION, ACCESS_ANY, NEED_MODEL, SESSIONS_NONE,
	  on_model_head, META_NONE },
	{ "_acpd/model/chunk", CONN_EITHER, RPC_NOTIFICATION, ACCESS_ANY, NEED_MODEL, SESSIONS_NONE,
	  on_model_chunk, META_NONE },
	{ "_acpd/model/credit", CONN_EITHER, RPC_NOTIFICATION, ACCESS_ANY, NEED_MODEL,
	  SESSIONS_NONE, on_model_credit, META_NONE },
	{ "_acpd/network/set", CONN_READY, RPC_REQUEST, ACCESS_DRIVER, NEED_DRIVE, SESSIONS_NAMED,
	  on_network_set, META_NONE },
	{ "_acpd/provider/set", CONN_READY, RPC_REQUEST, ACCESS_DRIVER, NEED_DRIVE, SESSIONS_NAMED,
	  on_provider_set, META_BARE },
	{ "providers/list", CONN_READY, RPC_REQUEST, ACCESS_ANY, NEED_DRIVE, SESSIONS_NONE,
	  on_providers_list, META_NONE },
	{ "providers/set", CONN_READY, RPC_REQUEST, ACCESS_ANY, NEED_DRIVE, SESSIONS_NONE,
	  on_providers_set, META_BARE },
	{ "providers/disable", CONN_READY, RPC_REQUEST, ACCESS_ANY, NEED_DRIVE, SESSIONS_NONE,
	  on_providers_disable, META_NONE },
	{ "_acpd/approvals/list", CONN_READY, RPC_REQUEST, ACCESS_ANY, NEED_OBSERVE, SESSIONS_OWN,
	  on_approvals_list, META_NONE },
	{ "_acpd/approvals/answer", CONN_READY, RPC_REQUEST, ACCESS_ANY, NEED_DRIVE, SESSIONS_OWN,
	  on_approvals_answer, META_NONE },
	{ "_acpd/approvals/rules", CONN_READY, RPC_REQUEST, ACCESS_ANY, NEED_OBSERVE,
	  SESSIONS_NAMED, on_approvals_rules, META_NONE },
	{ "_acpd/approvals/forget", CONN_READY, RPC_REQUEST, ACCESS_ANY, NEED_DRIVE, SESSIONS_NAMED,
	  on_approvals_forget, META_NONE },
	{ "_acpd/usage", CONN_EITHER, RPC_REQUEST, ACCESS_ANY, NEED_USAGE, SESSIONS_OWN, on_usage,
	  META_NONE },
	{ "_acpd/workspace/materialize", CONN_READY, RPC_REQUEST, ACCESS_DRIVER, NEED_DRIVE,
	  SESSIONS_NAMED, on_materialize, META_NONE },
	{ "_acpd/workspace/apply", CONN_READY, RPC_REQUEST, ACCESS_DRIVER, NEED_DRIVE,
	  SESSIONS_NAMED, on_workspace_apply, META_NONE },
	{ "_acpd/session/draft", CONN_READY, RPC_REQUEST, ACCESS_DRIVER, NEED_DRIVE, SESSIONS_NAMED,
	  on_session_draft, META_NONE },
	{ "_acpd/workspace/diff", CONN_READY, RPC_REQUEST, ACCESS_ANY, NEED_OBSERVE, SESSIONS_NAMED,
	  on_diff, META_NONE },
	{ "_acpd/check", CONN_READY, RPC_REQUEST, ACCESS_DRIVER, NEED_DRIVE, SESSIONS_NAMED,
	  on_check, META_NONE },
	{ "_acpd/artifact/put", CONN_READY, RPC_REQUEST, ACCESS_FREE, NEED_DRIVE, SESSIONS_NAMED,
	  on_artifact_put, META_NONE },
	{ "_acpd/artifact/list", CONN_READY, RPC_REQUEST, ACCESS_ANY, NEED_OBSERVE, SESSIONS_NAMED,
	  on_artifact_list, META_NONE },
	{ "_acpd/artifact/get", CONN_READY, RPC_REQUEST, ACCESS_ANY, NEED_OBSERVE, SESSIONS_NAMED,
	  on_artifact_get, META_NONE },
	{ "_acpd/skills/install", CONN_READY, RPC_REQUEST, ACCESS_DRIVER, NEED_DRIVE,
	  SESSIONS_NAMED, on_skills_install, META_NONE },
	{ "_acpd/skills/remove", CONN_READY, RPC_REQUEST, ACCESS_DRIVER, NEED_DRIVE, SESSIONS_NAMED,
	  on_skills_remove, META_NONE },
	{ "_acpd/skills/validate", CONN_READY, RPC_REQUEST, ACCESS_ANY, NEED_DRIVE, SESSIONS_NAMED,
	  on_skills_validate, META_NONE },
	{ "_acpd/skills/list", CONN_READY, RPC_REQUEST, ACCESS_ANY, NEED_OBSERVE, SESSIONS_NAMED,
	  on_skills_list, META_NONE },
	{ "_acpd/ack", CONN_READY, RPC_REQUEST, ACCESS_FREE, NEED_DRIVE, SESSIONS_NAMED, on_ack,
	  META_NONE },
	{ "_acpd/harness/list", CONN_EITHER, RPC_REQUEST, ACCESS_ANY, NEED_OBSERVE, SESSIONS_NAMED,
	  on_harness_list, META_NONE },
	{ "_acpd/tokens/mint", CONN_READY, RPC_REQUEST, ACCESS_ANY, NEED_ADMIN, SESSIONS_ALL,
	  on_tokens_mint, META_NONE },
	{ "_acpd/tokens/list", CONN_READY, RPC_REQUEST, ACCESS_ANY, NEED_ADMIN, SESSIONS_ALL,
	  on_tokens_list, META_NONE },
	{ "_acpd/tokens/revoke", CONN_READY, RPC_REQUEST, ACCESS_ANY, NEED_ADMIN, SESSIONS_ALL,
	  on_tokens_revoke, META_NONE },
	{ "_acpd/status", CONN_EITHER, RPC_REQUEST, ACCESS_ANY, NEED_OBSERVE, SESSIONS_OWN,
	  on_status, META_NONE },
};

static const struct acp_method *find_method(const struct rpc_msg *m)
{
	for (size_t i = 0; i < ARRAY_SIZE(methods); i++)
		if (strcmp(methods[i].name, m->method) == 0 && methods[i].kind == m->kind)
			return &methods[i];
	return NULL;
}

/* Nothing but initialize is understood before initialize: refuse and close, as the SDK does. */
static void refuse_first(struct acp_conn *c, const struct rpc_msg *m)
{
	bool initialize = strcmp(m->method, "initialize") == 0;
	struct err e;

	if (m->kind == RPC_REQUEST && !initialize) {
		err_set(&e, -EPROTO, RPC_INVALID_REQUEST, "NOT_INITIALIZED",
			"Invalid request: the first message must be initialize");
		conn_error(c, NULL, m->id, &e, SLICE_NONE);
	}
	conn_close(c, 1002,
		   initialize ? "Initialize request must include an ID" :
				"First message must be initialize");
}

static bool first_is_wrong(const struct acp_conn *c, const struct rpc_msg *m)
{
	return c->phase == CONN_NEW &&
	       (m->kind != RPC_REQUEST || strcmp(m->method, "initialize") != 0 ||
		slice_is(m->id, "null"));
}

static int check_phase(const struct acp_conn *c, const struct acp_method *row, struct err *e)
{
	if (row->phases & c->phase)
		return 0;
	if (c->phase == CONN_MODELS && row->phases != CONN_NEW)
		return err_set(e, -EPERM, RPC_INVALID_REQUEST, "MODEL_CONNECTION",
			       "this connection has announced that it only makes model calls");
	return err_set(e, -EPROTO, RPC_INVALID_REQUEST, "ALREADY_INITIALIZED",
		       "Initialize not allowed on existing connection");
}

static int check_driver(struct acp_conn *c, const char *id, bool free, struct err *e)
{
	struct session *s = store_find(c->srv->store, id);

	if (!free)
		return view_need(c, id, e) ? 0 : -ENOENT;
	if (!s || !session_is_open(s) || !session_is_driven(s) || view_find(c, id))
		return 0;
	view_need(c, id, e);
	return -ENOENT;
}

struct named_session {
	char *session_id;
};

static const struct jfield named_fields[] = {
	JF_STR(struct named_session, session_id, "sessionId", JF_REQUIRED, RPC_ID_MAX),
	JF_END,
};

/* The one place where somebody who does not drive a session is kept from changing it. */
static int check_access(struct acp_conn *c, const struct acp_method *row, const struct rpc_msg *m,
			struct err *e)
{
	struct named_session a = { 0 };
	int r;

	if (row->access == ACCESS_ANY)
		return 0;
	r = jdec_object(m->params, named_fields, NULL, &a, e);
	if (r == 0)
		r = check_driver(c, a.session_id, row->access == ACCESS_FREE, e);
	jdec_free(named_fields, &a);
	return r;
}

/* Members of ours where there are none would be ignored silently. A notification cannot be answered, so it is
 * taken as it is. */
static int check_meta(const struct acp_method *row, const struct rpc_msg *m, struct err *e)
{
	static const struct jfield none[] = { JF_END };
	struct jval v = jobj_get(jobj_get(m->params, "_meta").raw, "acpd");

	if (row->meta == META_ACPD || row->meta == META_KEYS || row->kind != RPC_REQUEST ||
	    v.type == J_NONE || v.type == J_NULL)
		return 0;
	if (v.type != J_OBJECT)
		return err_field(e, "_meta.acpd", "FIELD_INVALID", "_meta.acpd must be an object");
	return jdec_refuse_unknown(v.raw, none, "_meta.acpd.", "this method has no such parameter",
				   e);
}

/* A session that it does not see is none for it. One that it observes on this connection it cannot change on it. */
static int check_named(struct acp_conn *c, const struct acp_method *row, const char *id,
		       struct err *e)
{
	const struct view *v = view_find(c, id);

	if (!grant_sees(c->transport.grant, id))
		return not_found(e, id);
	return v && v->w.observes && row->need == NEED_DRIVE ? grant_missing(NEED_DRIVE, e) : 0;
}

static int check_grant(struct acp_conn *c, const struct acp_method *row, const struct rpc_msg *m,
		       struct err *e)
{
	_cleanup_(freep) char *id = NULL;
	int r = grant_check(c->transport.grant, row->need, row->sessions, e);

	if (r < 0 || row->sessions == SESSIONS_NONE ||
	    jstr_decode(jobj_get(m->params, "sessionId"), RPC_ID_MAX, &id) < 0)
		return r;
	return check_named(c, row, id, e);
}

static int call_handler(struct acp_conn *c, const struct rpc_msg *m, struct err *e)
{
	const struct acp_method *row = find_method(m);
	int r;

	if (!row)
		return rpc_no_method(m, e);
	c->wipe = row->meta == META_KEYS || row->meta == META_BARE;
	r = check_phase(c, row, e);
	if (r == 0 && c->ncalls >= CONN_CALLS_MAX)
		r = err_set(e, -EBUSY, RPC_INVALID_REQUEST, "TOO_MANY_REQUESTS",
			    "too many unanswered requests");
	if (r == 0)
		r = check_grant(c, row, m, e);
	if (r == 0)
		r = check_access(c, row, m, e);
	if (r == 0)
		r = check_meta(row, m, e);
	if (r == 0)
		r = conn_hold(c, m, e);
	return r < 0 ? r : r > 0 ? 0 : row->fn(c, m, e);
}

void conn_dispatch(struct acp_conn *c, const struct rpc_msg *m)
{
	struct err e = { 0 };

	if (m->kind == RPC_RESPONSE) {
		if (!grant_over(c->transport.grant))
			rpc_calls_reply(&c->requests, m); /* an unknown id is dropped */
		return;
	}
	if (first_is_wrong(c, m)) {
		refuse_first(c, m);
		return;
	}
	if (call_handler(c, m, &e) < 0 && m->kind == RPC_REQUEST)
		conn_error(c, NULL, m->id, &e, SLICE_NONE);
}
