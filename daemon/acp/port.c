/* port.c - MCP requests of sessions to the client of this connection, and what it says about them ("mcp/message"). */
#include "acp/acp_internal.h"

#include "json/jdec.h"
#include "session/parts/mcp/upcall.h"

struct conn_port {
	struct list link;
	struct acp_conn *conn;
	struct port port;
};

static void port_free(struct conn_port *p)
{
	port_detach(&p->port);
	rpc_calls_drop_ctx(&p->conn->requests, p);
	list_del(&p->link);
	free(p);
}

static void on_reply(void *ctx, uint64_t tag, const struct rpc_msg *m)
{
	struct upcall *c = (struct upcall *)(uintptr_t)tag;
	struct conn_port *p = ctx;

	if (!m) /* it goes to the next connection, when the port is detached */
		return;
	session_text_repaired(p->port.session, TEXT_OF_CLIENT, p->conn->repaired);
	upcall_answered(c, m->result, m->error);
}

static bool on_send(void *ctx, struct upcall *c)
{
	_cleanup_(buf_done) struct buf params = { 0 }, b = { 0 };
	struct conn_port *p = ctx;
	uint32_t id = rpc_calls_add(&p->conn->requests, on_reply, p, (uintptr_t)c);

	if (!id)
		return false;
	upcall_put(c, &params);
	rpc_put_request(&b, id, "mcp/message", buf_slice(&params));
	conn_queue(p->conn, view_find(p->conn, session_id(p->port.session)), buf_slice(&b));
	return true;
}

static void on_cancel_call(void *ctx, struct upcall *c)
{
	struct conn_port *p = ctx;

	conn_withdraw(p->conn, NULL, p, (uintptr_t)c);
}

static void on_port_closed(void *ctx)
{
	port_free(ctx);
}

static const struct port_ops port_ops = { on_send, on_cancel_call, on_port_closed };

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

void conn_serve(struct acp_conn *c, struct session *s)
{
	serve_tools(c, s);
	conn_take_models(c, s);
}

void conn_leave_tools(struct acp_conn *c, const struct session *s)
{
	list_each(p, &c->ports, struct conn_port, link)
		if (p->port.session == s)
			port_free(p);
}

void conn_drop_ports(struct acp_conn *c)
{
	while (!list_empty(&c->ports))
		port_free(list_first(&c->ports, struct conn_port, link));
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

const struct acp_handler on_mcp_message =
	ACP_HANDLER(mcp_message, struct message_args, message_fields);
