/*
 * methods.c - the table of methods: what exists, in which phase it is allowed, who may call it, and who handles it.
 *
 * Everything that can be decided from the row alone is decided here, in one order: phase, number of open calls, scope and
 * sessions of the token, driver, _meta. A handler starts with its parameters decoded and its session found, and is never
 * called for a connection that may not do what it does.
 */
#include "acp/acp_internal.h"

#include "json/jstr.h"
#include "session/parts/users/session_uids.h"

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

/* Which requests need a uid, and so may have to wait for one. */
enum uid_hold {
	HOLD_NONE,
	HOLD_NEW,    /* makes a session */
	HOLD_FILES,  /* needs the files of the session that it names */
	HOLD_REOPEN, /* the same, but an observer does not */
};

struct acp_method {
	const char *name;
	const struct acp_handler *handler;
	enum grant_need need;
	enum need_sessions sessions;
	enum method_access access;
	unsigned phases; /* enum conn_phase; 0: CONN_READY */
	enum rpc_kind kind;
	enum method_meta meta;
	enum uid_hold hold;
};

/* clang-format off */
#define ROW(name_, handler_, need_, sessions_, access_, ...) \
	{ .name = (name_), .handler = &handler_, .need = NEED_##need_, \
	  .sessions = SESSIONS_##sessions_, .access = ACCESS_##access_, __VA_ARGS__ }

static const struct acp_method methods[] = {
	ROW("initialize",                   on_initialize,        ANY,     NONE,  ANY,
	    .phases = CONN_NEW),
	ROW("authenticate",                 on_authenticate,      DRIVE,   NONE,  ANY),
	ROW("session/new",                  on_session_new,       DRIVE,   ALL,   ANY,
	    .meta = META_KEYS, .hold = HOLD_NEW),
	ROW("session/load",                 on_session_load,      OBSERVE, NAMED, ANY,
	    .meta = META_KEYS, .hold = HOLD_REOPEN),
	ROW("session/resume",               on_session_resume,    OBSERVE, NAMED, ANY,
	    .meta = META_KEYS, .hold = HOLD_REOPEN),
	ROW("session/fork",                 on_session_fork,      DRIVE,   ALL,   ANY,
	    .meta = META_KEYS, .hold = HOLD_FILES),
	ROW("session/list",                 on_session_list,      OBSERVE, OWN,   ANY),
	ROW("session/close",                on_session_close,     DRIVE,   NAMED, FREE),
	ROW("session/delete",               on_session_delete,    DRIVE,   NAMED, FREE),
	ROW("session/prompt",               on_prompt,            DRIVE,   NAMED, DRIVER,
	    .meta = META_ACPD),
	ROW("_session/steering",            on_steer,             DRIVE,   NAMED, DRIVER),
	ROW("session/cancel",               on_cancel,            DRIVE,   NAMED, DRIVER,
	    .kind = RPC_NOTIFICATION),
	ROW("session/set_mode",             on_set_mode,          DRIVE,   NAMED, DRIVER),
	ROW("session/set_model",            on_set_model,         DRIVE,   NAMED, DRIVER),
	ROW("session/set_config_option",    on_set_config,        DRIVE,   NAMED, DRIVER),
	ROW("$/cancel_request",             on_cancel_request,    ANY,     NONE,  ANY,
	    .phases = CONN_EITHER, .kind = RPC_NOTIFICATION),
	ROW("mcp/message",                  on_mcp_message,       DRIVE,   NONE,  ANY,
	    .kind = RPC_NOTIFICATION),
	ROW("_acpd/model/attach",           on_model_attach,      MODEL,   OWN,   ANY,
	    .phases = CONN_EITHER),
	ROW("_acpd/model/head",             on_model_head,        MODEL,   NONE,  ANY,
	    .phases = CONN_EITHER, .kind = RPC_NOTIFICATION),
	ROW("_acpd/model/chunk",            on_model_chunk,       MODEL,   NONE,  ANY,
	    .phases = CONN_EITHER, .kind = RPC_NOTIFICATION),
	ROW("_acpd/model/credit",           on_model_credit,      MODEL,   NONE,  ANY,
	    .phases = CONN_EITHER, .kind = RPC_NOTIFICATION),
	ROW("_acpd/network/set",            on_network_set,       DRIVE,   NAMED, DRIVER),
	ROW("_acpd/provider/set",           on_provider_set,      DRIVE,   NAMED, DRIVER,
	    .meta = META_BARE),
	ROW("providers/list",               on_providers_list,    DRIVE,   NONE,  ANY),
	ROW("providers/set",                on_providers_set,     DRIVE,   NONE,  ANY,
	    .meta = META_BARE),
	ROW("providers/disable",            on_providers_disable, DRIVE,   NONE,  ANY),
	ROW("_acpd/approvals/list",         on_approvals_list,    OBSERVE, OWN,   ANY),
	ROW("_acpd/approvals/answer",       on_approvals_answer,  DRIVE,   OWN,   ANY),
	ROW("_acpd/approvals/rules",        on_approvals_rules,   OBSERVE, NAMED, ANY),
	ROW("_acpd/approvals/forget",       on_approvals_forget,  DRIVE,   NAMED, ANY),
	ROW("_acpd/usage",                  on_usage,             USAGE,   OWN,   ANY,
	    .phases = CONN_EITHER),
	ROW("_acpd/workspace/materialize",  on_materialize,       DRIVE,   NAMED, DRIVER),
	ROW("_acpd/workspace/apply",        on_workspace_apply,   DRIVE,   NAMED, DRIVER),
	ROW("_acpd/session/draft",          on_session_draft,     DRIVE,   NAMED, DRIVER),
	ROW("_acpd/workspace/diff",         on_diff,              OBSERVE, NAMED, ANY,
	    .hold = HOLD_FILES),
	ROW("_acpd/check",                  on_check,             DRIVE,   NAMED, DRIVER),
	ROW("_acpd/artifact/put",           on_artifact_put,      DRIVE,   NAMED, FREE,
	    .hold = HOLD_FILES),
	ROW("_acpd/artifact/list",          on_artifact_list,     OBSERVE, NAMED, ANY),
	ROW("_acpd/artifact/get",           on_artifact_get,      OBSERVE, NAMED, ANY),
	ROW("_acpd/skills/install",         on_skills_install,    DRIVE,   NAMED, DRIVER),
	ROW("_acpd/skills/remove",          on_skills_remove,     DRIVE,   NAMED, DRIVER),
	ROW("_acpd/skills/validate",        on_skills_validate,   DRIVE,   NAMED, ANY),
	ROW("_acpd/skills/list",            on_skills_list,       OBSERVE, NAMED, ANY,
	    .hold = HOLD_FILES),
	ROW("_acpd/ack",                    on_ack,               DRIVE,   NAMED, FREE),
	ROW("_acpd/harness/list",           on_harness_list,      OBSERVE, NAMED, ANY,
	    .phases = CONN_EITHER),
	ROW("_acpd/tokens/mint",            on_tokens_mint,       ADMIN,   ALL,   ANY),
	ROW("_acpd/tokens/list",            on_tokens_list,       ADMIN,   ALL,   ANY),
	ROW("_acpd/tokens/revoke",          on_tokens_revoke,     ADMIN,   ALL,   ANY),
	ROW("_acpd/status",                 on_status,            OBSERVE, OWN,   ANY,
	    .phases = CONN_EITHER),
};
/* clang-format on */

static const struct acp_method *find_method(const struct rpc_msg *m)
{
	for (size_t i = 0; i < ARRAY_SIZE(methods); i++)
		if (strcmp(methods[i].name, m->method) == 0 && methods[i].kind == m->kind)
			return &methods[i];
	return NULL;
}

/* Nothing but initialize is understood before initialize: refuse and close, as the SDK does. */
static void refuse_first_message(struct acp_conn *c, const struct rpc_msg *m)
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
	/* JSON-RPC 2.0 (section 4) discourages a null id: an error without a request has it, too. */
	return c->phase == CONN_NEW &&
	       (m->kind != RPC_REQUEST || strcmp(m->method, "initialize") != 0 ||
		slice_is(m->id, "null"));
}

static int check_phase(const struct acp_conn *c, const struct acp_method *row, struct err *e)
{
	if ((row->phases ? row->phases : CONN_READY) & c->phase)
		return 0;
	if (c->phase == CONN_MODELS && row->phases != CONN_NEW)
		return err_set(e, -EPERM, RPC_INVALID_REQUEST, "MODEL_CONNECTION",
			       "this connection has announced that it only makes model calls");
	return err_set(e, -EPROTO, RPC_INVALID_REQUEST, "ALREADY_INITIALIZED",
		       "Initialize not allowed on existing connection");
}

static int check_driver(const struct acp_request *q, bool free, struct err *e)
{
	bool driven = q->session && session_is_open(q->session) && session_is_driven(q->session);

	if (free && (!driven || q->view))
		return 0;
	return view_need(q->conn, q->id, e) ? 0 : -ENOENT;
}

const struct jfield session_fields[] = {
	JF_STR(struct named_session, session_id, "sessionId", JF_REQUIRED, RPC_ID_MAX),
	JF_OBJ(struct named_session, meta, "_meta", 0),
	JF_END,
};

const struct jfield any_session_fields[] = {
	JF_STR(struct named_session, session_id, "sessionId", 0, RPC_ID_MAX),
	JF_OBJ(struct named_session, meta, "_meta", 0),
	JF_END,
};

/* The one place where somebody who does not drive a session is kept from changing it. */
static int check_access(const struct acp_request *q, const struct acp_method *row, struct err *e)
{
	struct named_session a = { 0 };
	int r = 0;

	if (row->access == ACCESS_ANY)
		return 0;
	if (!q->id) /* its error says what is wrong with the parameter */
		r = jdec_object(q->msg->params, session_fields, NULL, &a, e);
	jdec_free(session_fields, &a);
	return r == 0 ? check_driver(q, row->access == ACCESS_FREE, e) : r;
}

/* Members of ours where there are none would be ignored silently. A notification cannot be answered, so it is
 * taken as it is. */
static int check_method_meta(const struct acp_method *row, const struct rpc_msg *m, struct err *e)
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
static int check_named(const struct acp_request *q, const struct acp_method *row, struct err *e)
{
	if (!grant_sees(q->conn->transport.grant, q->id))
		return not_found(e, q->id);
	return q->view && q->view->w.observes && row->need == NEED_DRIVE ?
		       grant_missing(NEED_DRIVE, e) :
		       0;
}

/* Nothing of the session is read before it is clear that the token sees it. */
static int check_method_grant(struct acp_request *q, const struct acp_method *row, struct err *e)
{
	struct acp_conn *c = q->conn;
	int r = grant_check(c->transport.grant, row->need, row->sessions, e);

	/* A missing or malformed id is not reported here: the table of the handler does that. */
	if (r < 0 || row->sessions == SESSIONS_NONE ||
	    jstr_decode(jobj_get(q->msg->params, "sessionId"), RPC_ID_MAX, &q->id) < 0)
		return r;
	q->session = store_find(c->srv->store, q->id);
	q->view = view_find(c, q->id);
	return check_named(q, row, e);
}

/* In this order: a token that does not see a session must not learn from a later check that there is one, or who drives it. */
static int check_method_request(struct acp_request *q, const struct acp_method *row, struct err *e)
{
	int r = check_phase(q->conn, row, e);

	if (r == 0 && q->conn->ncalls >= CONN_CALLS_MAX)
		r = err_set(e, -EBUSY, RPC_INVALID_REQUEST, "TOO_MANY_REQUESTS",
			    "too many unanswered requests");
	if (r == 0)
		r = check_method_grant(q, row, e);
	if (r == 0)
		r = check_access(q, row, e);
	return r == 0 ? check_method_meta(row, q->msg, e) : r;
}

/* --- requests that wait for a uid -------------------------------------------------------------------- */

/* A new session while all uids are taken, and whatever needs the files of a closed session whose uid was given to others.
 * Such requests wait and are read again (session/parts/users/uid_lending.h). */
struct held_request {
	struct method_call *call;
	char *method, *params;
};

static void held_free(struct held_request *h)
{
	/* there may be keys */
	secret_text_wipe(h->params);
	free_each(h->params, h->method, h);
}

static void held_read_again(struct held_request *h)
{
	struct acp_conn *c = h->call->conn;
	_cleanup_(freep) char *id = xstrdup(h->call->id);
	struct rpc_msg m = { .kind = RPC_REQUEST,
			     .id = slice_of(id),
			     .params = slice_of(h->params) };

	snprintf(m.method, sizeof(m.method), "%s", h->method);
	/* Before the dispatch: the request must not count twice against CONN_CALLS_MAX. */
	call_free(h->call);
	if (!c || c->phase == CONN_CLOSING)
		return;
	c->repaired = 0;
	conn_dispatch(c, &m);
}

static void on_uid_ready(void *ctx, const struct err *e)
{
	struct held_request *h = ctx;

	if (e)
		call_error(h->call, e, SLICE_NONE);
	else
		held_read_again(h);
	held_free(h);
}

/* False: it needs nothing, or its handler says what is wrong with it. */
static bool find_uid_need(const struct acp_request *q, enum uid_hold hold, struct uid_need *ret,
			  char **cwd)
{
	struct slice params = q->msg->params;
	struct slice acpd = jobj_get(jobj_get(params, "_meta").raw, "acpd").raw;

	*ret = (struct uid_need){ .fresh = hold == HOLD_NEW };
	if (hold == HOLD_REOPEN && conn_observes(q->conn, jobj_get(acpd, "observe")))
		return false;
	if (hold != HOLD_NEW) {
		ret->session = q->session;
		return ret->session != NULL;
	}
	/* An ephemeral workspace is made for the session: no existing directory decides about the uid. */
	if (jobj_get(jobj_get(acpd, "workspace").raw, "ephemeral").type == J_TRUE)
		return true;
	if (jstr_decode(jobj_get(params, "cwd"), PATH_BYTES_MAX, cwd) < 0 || **cwd != '/')
		return false;
	ret->cwd = *cwd;
	return true;
}

/* Returns 1 if the request waits, 0 if it can be handled now, <0 with e. */
static int hold_for_uid(const struct acp_request *q, enum uid_hold hold, struct err *e)
{
	_cleanup_(freep) char *cwd = NULL;
	const struct rpc_msg *m = q->msg;
	struct held_request *h;
	struct uid_need need;
	int r;

	if (hold == HOLD_NONE || !find_uid_need(q, hold, &need, &cwd))
		return 0;
	/* h is the callback's context, so it exists before it is known whether the request waits. */
	h = new0(struct held_request);
	h->method = xstrdup(m->method);
	h->params = xstrndup(m->params.p, m->params.n);
	r = store_uid_need(q->conn->srv->store, &need, on_uid_ready, h, e);
	if (r > 0)
		h->call = call_new(q->conn, m->id);
	else
		held_free(h);
	return r;
}

/* --- handling ---------------------------------------------------------------------------------------- */

/* A parameter of a method of the daemon's own that it does not have is refused. Those of ACP's methods are ignored, as its
 * schema has it. */
static int decode_request_args(struct acp_request *q, const struct acp_handler *h, struct err *e)
{
	struct slice params = q->msg->params;
	bool own = strncmp(q->msg->method, "_acpd/", strlen("_acpd/")) == 0;
	int r;

	q->args = xalloc(h->args_size);
	r = own ? jdec_strict(params, h->fields, NULL, "this method has no such parameter", q->args,
			      e) :
		  jdec_object(params, h->fields, NULL, q->args, e);
	return r == 0 && !h->unknown_ok && q->id && !q->session ? not_found(e, q->id) : r;
}

struct jw *request_answer(struct acp_request *q)
{
	jw_obj(&q->w, NULL);
	return &q->w;
}

struct method_call *request_call(const struct acp_request *q)
{
	struct method_call *k = call_new(q->conn, q->msg->id);

	k->view = q->view;
	return k;
}

struct method_call *request_work(const struct acp_request *q)
{
	struct method_call *k = call_new(q->conn, q->msg->id);

	k->session_id = xstrdup(q->id);
	return k;
}

static void send_request_answer(struct acp_request *q)
{
	if (buf_len(&q->out))
		jw_end_obj(&q->w);
	conn_result(q->conn, NULL, q->msg->id, buf_len(&q->out) ? buf_slice(&q->out) : SLICE("{}"));
}

static int run_handler(struct acp_request *q, const struct acp_handler *h, struct err *e)
{
	int r = h->fields ? decode_request_args(q, h, e) : 0;

	q->w = JW(&q->out);
	q->variant = h->variant;
	if (r == 0)
		r = h->run(q, e);
	if (r == REQUEST_ANSWER)
		send_request_answer(q);
	if (h->is_secret)
		secret_buf_done(&q->out);
	if (q->args)
		jdec_free(h->fields, q->args);
	free(q->args);
	return r;
}

static int handle_request(struct acp_request *q, struct err *e)
{
	const struct acp_method *row = find_method(q->msg);
	int r;

	if (!row)
		return rpc_no_method(q->msg, e);
	/* Before the checks: a refused message has its keys, too. */
	q->conn->may_have_keys = row->meta == META_KEYS || row->meta == META_BARE;
	r = check_method_request(q, row, e);
	if (r == 0)
		r = hold_for_uid(q, row->hold, e);
	return r == 0 ? run_handler(q, row->handler, e) : r;
}

void conn_dispatch(struct acp_conn *c, const struct rpc_msg *m)
{
	struct acp_request q = { .conn = c, .msg = m };
	struct err e = { 0 };

	if (m->kind == RPC_RESPONSE) {
		/* A client whose token has ended must not answer a question any more. */
		if (!grant_over(c->transport.grant))
			rpc_calls_reply(&c->requests, m); /* an unknown id is dropped */
		return;
	}
	if (first_is_wrong(c, m)) {
		refuse_first_message(c, m);
		return;
	}
	/* A notification gets no answer, not even an error (JSON-RPC 2.0, section 4.1). */
	if (handle_request(&q, &e) < 0 && m->kind == RPC_REQUEST)
		conn_error(c, NULL, m->id, &e, SLICE_NONE);
	buf_done(&q.out);
	free(q.id);
}
