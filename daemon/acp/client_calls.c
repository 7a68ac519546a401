/*
 * client_calls.c - what sessions ask of the client of this connection besides questions: MCP requests to servers that it
 * serves (mcp/message), and model calls that it makes (_acpd/model/...).
 *
 * Each session that the connection drives has a port for its tools, and a taker if the client announced model calls. Their
 * open requests die with them, and the session passes what is unanswered to its next connection.
 */
#include "acp/acp_internal.h"

#include "base/limits.h"
#include "digest/base64.h"
#include "json/jstr.h"
#include "model/model_api.h"
#include "session/parts/model/tunnel.h"
#include "session/parts/mcp/upcall.h"

struct conn_port {
	struct list link;
	struct acp_conn *conn;
	struct port port;
};

/* Also for the session that closes it. */
static void port_free(void *ctx)
{
	struct conn_port *p = ctx;

	/* Detached first: the session takes its open calls back, and then their requests end without a callback. */
	port_detach(&p->port);
	rpc_calls_drop_ctx(&p->conn->requests, p);
	list_del(&p->link);
	free(p);
}

static void on_tool_reply(void *ctx, uint64_t tag, const struct rpc_msg *m)
{
	struct upcall *c = (struct upcall *)(uintptr_t)tag;
	struct conn_port *p = ctx;

	if (!m) /* it goes to the next connection, when the port is detached */
		return;
	/* The call is valid: one that was cancelled has been withdrawn (on_tool_cancel). */
	session_text_repaired(p->port.session, TEXT_OF_CLIENT, p->conn->repaired);
	upcall_answered(c, m->result, m->error);
}

static bool on_tool_call(void *ctx, struct upcall *c)
{
	_cleanup_(buf_done) struct buf params = { 0 };
	struct conn_port *p = ctx;

	upcall_put(c, &params);
	/* Behind the events of the session: the client sees the tool call before the request. */
	return conn_request(p->conn, view_find(p->conn, session_id(p->port.session)), "mcp/message",
			    buf_slice(&params), on_tool_reply, p, (uintptr_t)c);
}

static void on_tool_cancel(void *ctx, struct upcall *c)
{
	struct conn_port *p = ctx;

	conn_withdraw(p->conn, NULL, p, (uintptr_t)c);
}

static const struct port_ops port_ops = { on_tool_call, on_tool_cancel, port_free };

static void serve_tools(struct acp_conn *c, struct session *s)
{
	struct conn_port *p;

	list_each(have, &c->ports, struct conn_port, link)
		if (have->port.session == s) {
			port_attach(&have->port, s);
			return;
		}
	p = new0(struct conn_port);
	p->conn = c;
	p->port = (struct port){ .ops = &port_ops,
				 .ctx = p,
				 .keeps_answers = c->client & CLIENT_DEDUPS };
	list_init(&p->port.link);
	list_add_tail(&c->ports, &p->link);
	port_attach(&p->port, s);
}

void conn_leave_tools(struct acp_conn *c, const struct session *s)
{
	list_each(p, &c->ports, struct conn_port, link)
		if (p->port.session == s)
			port_free(p);
}

/* --- notifications of the client ------------------------------------------------------------------------- */

struct message_args {
	char *request_id, *method;
	struct slice params;
};

static const struct jfield message_fields[] = {
	JF_STR(struct message_args, request_id, "requestId", JF_REQUIRED, RPC_ID_MAX),
	JF_STR(struct message_args, method, "method", JF_REQUIRED, METHOD_NAME_MAX),
	JF_OBJ(struct message_args, params, "params", 0),
	JF_END,
};

static int mcp_message(struct acp_request *q, struct err *e _unused_)
{
	const struct message_args *a = q->args;
	struct upcall *call = NULL;

	list_each(p, &q->conn->ports, struct conn_port, link)
		if (!call)
			call = port_find(&p->port, a->request_id);
	if (call)
		upcall_notified(call, a->method, a->params.n ? a->params : SLICE("{}"));
	return 0;
}

ACP_HANDLER(on_mcp_message, mcp_message, struct message_args, message_fields);

/* --- model calls ----------------------------------------------------------------------------------------- */

struct conn_taker {
	struct list link;
	struct acp_conn *conn;
	struct model_taker taker;
};

static void conn_taker_free(void *ctx)
{
	struct conn_taker *t = ctx;

	/* In the same order as port_free. */
	taker_detach(&t->taker);
	rpc_calls_drop_ctx(&t->conn->requests, t);
	list_del(&t->link);
	free(t);
}

/* --- to the client ------------------------------------------------------------------------------------------ */

static void on_model_reply(void *ctx _unused_, uint64_t tag, const struct rpc_msg *m)
{
	if (m) /* without an answer it goes to the next connection, when the taker is detached */
		tunnel_answered((struct tunnel_call *)(uintptr_t)tag, m->result, m->error);
}

static bool on_model_ask(void *ctx, struct tunnel_call *call)
{
	_cleanup_(buf_done) struct buf params = { 0 };
	struct conn_taker *t = ctx;

	tunnel_put(call, &params);
	/* Not behind the session's events: a model call has no order with them. */
	return conn_request(t->conn, NULL, "_acpd/model/request", buf_slice(&params),
			    on_model_reply, t, (uintptr_t)call);
}

/* Bodies of many sessions must not fill the queue of a slow reader, which would cost it its connection. */
static bool taker_may_send(void *ctx)
{
	struct acp_conn *c = ((struct conn_taker *)ctx)->conn;

	c->bodies_wait |= c->out_bytes > CONN_BACKLOG_SOFT;
	return !c->bodies_wait;
}

void conn_send_bodies(struct acp_conn *c)
{
	/* Half of the limit: takers are not woken for each frame that leaves. */
	if (!c->bodies_wait || c->out_bytes > CONN_BACKLOG_SOFT / 2)
		return;
	c->bodies_wait = false;
	list_each(t, &c->takers, struct conn_taker, link)
		taker_has_room(&t->taker);
}

static void on_model_notify(void *ctx, const char *method, struct slice params)
{
	struct conn_taker *t = ctx;

	conn_notify(t->conn, NULL, method, params);
}

static void on_model_cancel(void *ctx, struct tunnel_call *call)
{
	struct conn_taker *t = ctx;

	conn_withdraw(t->conn, NULL, t, (uintptr_t)call);
}

static const struct model_taker_ops taker_ops = { on_model_ask, taker_may_send, on_model_notify,
						  on_model_cancel, conn_taker_free };

/* --- which sessions ------------------------------------------------------------------------------------------- */

static struct conn_taker *taker_of(struct acp_conn *c, const struct session *s)
{
	list_each(t, &c->takers, struct conn_taker, link)
		if (t->taker.session == s)
			return t;
	return NULL;
}

static void take_models(struct acp_conn *c, struct session *s)
{
	struct conn_taker *t = taker_of(c, s);

	if (!t) {
		/* A connection that only makes model calls is asked before others (tunnel.h). */
		t = new0(struct conn_taker);
		t->conn = c;
		t->taker = (struct model_taker){
			.ops = &taker_ops, .ctx = t, .apis = c->model_apis, .only = c->model_only
		};
		list_init(&t->taker.link);
		list_add_tail(&c->takers, &t->link);
	}
	taker_attach(&t->taker, s);
}

void conn_serve(struct acp_conn *c, struct session *s)
{
	serve_tools(c, s);
	if (c->model_apis && !c->model_only)
		take_models(c, s);
}

void conn_leave_models(struct acp_conn *c, const char *id)
{
	list_each(t, &c->takers, struct conn_taker, link)
		if (strcmp(session_id(t->taker.session), id) == 0)
			conn_taker_free(t);
}

void conn_drop_served(struct acp_conn *c)
{
	while (!list_empty(&c->ports))
		port_free(list_first(&c->ports, struct conn_port, link));
	while (!list_empty(&c->takers))
		conn_taker_free(list_first(&c->takers, struct conn_taker, link));
}

/* What this connection takes, from clientCapabilities._meta.acpd.model. An API that we do not know is nothing that a
 * session could have. */
void conn_model_caps(struct acp_conn *c, struct slice own)
{
	struct jval model = jobj_get(own, "model");

	if (model.type != J_OBJECT)
		return;
	jarr_each(v, jobj_get(model.raw, "apis")) {
		_cleanup_(freep) char *name = NULL;
		int api = jstr_decode(v, METHOD_NAME_MAX, &name) < 0 ? -1 : model_api_find(name);

		if (api >= 0)
			c->model_apis |= 1u << api;
	}
	c->model_only = c->model_apis && jobj_get(model.raw, "only").type == J_TRUE;
}

struct attach_args {
	struct slice sessions, meta;
};

static const struct jfield attach_fields[] = {
	JF_ARR(struct attach_args, sessions, "sessionIds", JF_REQUIRED),
	JF_OBJ(struct attach_args, meta, "_meta", 0),
	JF_END,
};

/* fn NULL: only checks. */
static int each_session(struct acp_conn *c, struct slice ids,
			void (*fn)(struct acp_conn *c, struct session *s), struct err *e)
{
	unsigned n = 0;

	jarr_each(v, ids) {
		_cleanup_(freep) char *id = NULL;
		struct session *s;

		if (jstr_decode(v, RPC_ID_MAX, &id) < 0)
			return err_field(e, "sessionIds", "FIELD_INVALID",
					 "sessionIds must be strings");
		if (++n > MODEL_ATTACH_MAX)
			return err_field(e, "sessionIds", "TOO_MANY", "more than %d sessions",
					 MODEL_ATTACH_MAX);
		s = store_find(c->srv->store, id);
		/* The same error for both: a token must not learn which sessions exist. */
		if (!s || !grant_sees(c->transport.grant, id))
			return not_found(e, id);
		if (fn)
			fn(c, s);
	}
	return 0;
}

static int attach_models(struct acp_request *q, struct err *e)
{
	const struct attach_args *a = q->args;
	/* Checked in full first: no session is attached unless all of them are. */
	int r = each_session(q->conn, a->sessions, NULL, e);

	if (r == 0 && !q->conn->model_only)
		r = err_set(e, -EPERM, RPC_INVALID_REQUEST, "MODEL_NOT_ANNOUNCED",
			    "only a connection that announced model {only: true} attaches");
	if (r < 0)
		return r;
	each_session(q->conn, a->sessions, take_models, e);
	return REQUEST_ANSWER;
}

ACP_HANDLER(on_model_attach, attach_models, struct attach_args, attach_fields, .unknown_ok = true);

/* --- what the client says about a call -------------------------------------------------------------------------- */

struct piece_args {
	char *call_id;
	int64_t seq, status, bytes;
	struct slice headers;
	struct jval text, base64;
};

static const struct jfield head_fields[] = {
	JF_STR(struct piece_args, call_id, "callId", JF_REQUIRED, METHOD_NAME_MAX),
	JF_INT(struct piece_args, status, "status", JF_REQUIRED, 0, 999),
	JF_OBJ(struct piece_args, headers, "headers", 0),
	JF_END,
};

static const struct jfield chunk_fields[] = {
	JF_STR(struct piece_args, call_id, "callId", JF_REQUIRED, METHOD_NAME_MAX),
	JF_INT(struct piece_args, seq, "seq", JF_REQUIRED, 0, INT64_MAX),
	JF_TEXT(struct piece_args, text, "text", 0),
	JF_TEXT(struct piece_args, base64, "b64", 0),
	JF_END,
};

static const struct jfield credit_fields[] = {
	JF_STR(struct piece_args, call_id, "callId", JF_REQUIRED, METHOD_NAME_MAX),
	JF_INT(struct piece_args, bytes, "bytes", JF_REQUIRED, 0, INT64_MAX),
	JF_END,
};

static struct tunnel_call *model_call_named(struct acp_conn *c, const char *id)
{
	struct tunnel_call *call = NULL;

	list_each(t, &c->takers, struct conn_taker, link)
		if (!call)
			call = taker_find(&t->taker, id);
	return call;
}

static int chunk_bytes(const struct piece_args *a, struct buf *b)
{
	_cleanup_(buf_done) struct buf text = { 0 };

	if (a->text.type == J_STRING)
		return jstr_decode_bytes(a->text, b);
	if (a->base64.type != J_STRING || jstr_decode_bytes(a->base64, &text) < 0)
		return -EINVAL;
	return base64_decode(buf_slice(&text), b);
}

static void take_model_head(struct tunnel_call *call, const struct piece_args *a)
{
	tunnel_head(call, (int)a->status, a->headers);
}

static void take_model_chunk(struct tunnel_call *call, const struct piece_args *a)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	if (chunk_bytes(a, &b) < 0)
		tunnel_chunk(call, UINT64_MAX, SLICE_NONE); /* out of any order */
	else
		tunnel_chunk(call, (uint64_t)a->seq, buf_slice(&b));
}

static void take_model_credit(struct tunnel_call *call, const struct piece_args *a)
{
	tunnel_credit(call, (uint64_t)a->bytes);
}

enum { PIECE_HEAD, PIECE_CHUNK, PIECE_CREDIT };

static const struct {
	const struct jfield *fields;
	void (*take)(struct tunnel_call *call, const struct piece_args *a);
} pieces[] = {
	[PIECE_HEAD] = { head_fields, take_model_head },
	[PIECE_CHUNK] = { chunk_fields, take_model_chunk },
	[PIECE_CREDIT] = { credit_fields, take_model_credit },
};

/* A notification cannot be refused: what fits no call of this connection is dropped, and counted. */
static int take_model_piece(struct acp_request *q, struct err *e _unused_)
{
	const struct jfield *fields = pieces[q->variant].fields;
	struct piece_args a = { 0 };
	struct tunnel_call *call = NULL;

	if (jdec_object(q->msg->params, fields, NULL, &a, NULL) == 0)
		call = model_call_named(q->conn, a.call_id);
	if (call)
		pieces[q->variant].take(call, &a);
	else
		tunnel_stray(q->conn->srv->store);
	jdec_free(fields, &a);
	return 0;
}

const struct acp_handler on_model_head = { .run = take_model_piece, .variant = PIECE_HEAD };
const struct acp_handler on_model_chunk = { .run = take_model_piece, .variant = PIECE_CHUNK };
const struct acp_handler on_model_credit = { .run = take_model_piece, .variant = PIECE_CREDIT };
