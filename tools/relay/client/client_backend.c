/*
 * client_backend.c - forwards calls to an MCP server of the session's client, with a trace context
 * and a span.
 *
 * Every tools/list result updates which tools are safe to repeat, and each call passes that to
 * upcall.h, which decides after a lost connection. on_done frees the call before it calls the
 * caller: backend.h defines the call as ended by then.
 */
#include "tools/relay/client/client_backend.h"

#include "base/buf.h"
#include "session/parts/mcp/mcp_servers.h"
#include "session/parts/mcp/upcall.h"
#include "tools/mcp/msg.h"
#include "tools/relay/client/repeatable.h"

struct client_backend {
	struct mcp_backend backend;
	struct session *session;
	char *name;
	struct repeatable_tools repeat;
};

struct client_backend_call {
	struct mcp_call call;
	bool lists, first_page; /* of tools/list */
	struct relay_span *span;
	struct upcall *up;
};

static void on_done(void *ctx, struct slice result, struct slice error)
{
	struct client_backend_call c = *(struct client_backend_call *)ctx;
	struct client_backend *b = (struct client_backend *)c.call.backend;

	free(ctx);
	relay_span_end(c.span, result, error);
	if (c.lists && result.n)
		repeatable_note(&b->repeat, result, c.first_page);
	mcp_call_done(&c.call, result, error);
}

static const struct upcall_ops upcall_ops = { mcp_call_pass, on_done };

/* The caller's trace context goes before the turn's. */
static bool add_trace(const struct client_backend *b, const struct relay_span *span,
		      struct slice params, struct buf *out)
{
	_cleanup_(buf_done) struct buf members = { 0 };

	session_trace_put(b->session, span, jobj_get(params, "_meta").raw, &members);
	if (!buf_len(&members))
		return false;
	mcp_meta_merge(out, params, buf_slice(&members));
	return true;
}

static struct mcp_call *client_backend_call(struct mcp_backend *backend, const char *method,
					    struct slice params, const struct mcp_reply_ops *ops,
					    void *ctx)
{
	_cleanup_(buf_done) struct buf traced = { 0 };
	struct client_backend *b = (struct client_backend *)backend;
	struct client_backend_call *c = new0(struct client_backend_call);

	c->span = relay_span_begin(b->session, b->name, method, params);
	if (add_trace(b, c->span, params, &traced))
		params = buf_slice(&traced);
	c->call = (struct mcp_call){ backend, ops, ctx };
	c->lists = strcmp(method, "tools/list") == 0;
	c->first_page = jobj_get(params, "cursor").type == J_NONE;
	c->up = upcall_new(b->session,
			   &(struct upcall_spec){ b->name, method, params,
						  repeatable_allowed(&b->repeat, method, params) },
			   &upcall_ops, c);
	return &c->call;
}

static void client_backend_cancel(struct mcp_call *call)
{
	struct client_backend_call *c = (struct client_backend_call *)call;

	upcall_cancel(c->up);
	relay_span_end(c->span, SLICE_NONE, SLICE_NONE);
	free(c);
}

static void client_backend_free(struct mcp_backend *backend)
{
	struct client_backend *b = (struct client_backend *)backend;

	repeatable_done(&b->repeat);
	free(b->name);
	free(b);
}

static const struct mcp_backend_ops acp_ops = { client_backend_call, client_backend_cancel,
						client_backend_free };

struct mcp_backend *client_backend_new(struct session *s, const char *name)
{
	struct client_backend *b = new0(struct client_backend);

	b->backend.ops = &acp_ops;
	b->session = s;
	b->name = xstrdup(name);
	return &b->backend;
}
