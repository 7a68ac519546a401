#include "tools/relay/client/client_backend.h"

#include "base/buf.h"
#include "session/mcp/mcp_servers.h"
#include "session/mcp/upcall.h"
#include "tools/mcp/msg.h"
#include "tools/relay/client/repeatable.h"

#include <stdio.h>

struct acp_backend {
	struct mcp_backend backend;
	struct session *session;
	char *name;
	struct repeat repeat;
};

struct acp_call {
	struct mcp_call call;
	bool lists, first_page; /* of tools/list */
	struct upcall *up;
	const struct mcp_reply_ops *ops;
	void *ctx;
};

static void on_notify(void *ctx, const char *method, struct slice params)
{
	struct acp_call *c = ctx;

	c->ops->notify(c->ctx, method, params);
}

static void on_done(void *ctx, struct slice result, struct slice error)
{
	struct acp_call c = *(struct acp_call *)ctx;
	struct acp_backend *b = (struct acp_backend *)c.call.backend;

	free(ctx);
	if (c.lists && result.n)
		repeat_note(&b->repeat, result, c.first_page);
	c.ops->done(c.ctx, result, error);
}

static const struct upcall_ops upcall_ops = { on_notify, on_done };

/* The caller's trace context goes before the turn's. */
static bool add_trace(const struct acp_backend *b, struct slice params, struct buf *out)
{
	const char *trace = session_traceparent(b->session);
	struct slice meta = jobj_get(params, "_meta").raw;
	char member[96];

	if (!*trace || (meta.n && jobj_get(meta, "traceparent").type != J_NONE))
		return false;
	snprintf(member, sizeof(member), "\"traceparent\":\"%s\"", trace);
	mcp_meta_merge(out, params, slice_of(member));
	return true;
}

static struct mcp_call *acp_call(struct mcp_backend *backend, const char *method,
				 struct slice params, const struct mcp_reply_ops *ops, void *ctx)
{
	_cleanup_(buf_done) struct buf traced = { 0 };
	struct acp_backend *b = (struct acp_backend *)backend;
	struct acp_call *c = new0(struct acp_call);

	if (add_trace(b, params, &traced))
		params = buf_slice(&traced);
	c->call.backend = backend;
	c->ops = ops;
	c->ctx = ctx;
	c->lists = strcmp(method, "tools/list") == 0;
	c->first_page = jobj_get(params, "cursor").type == J_NONE;
	c->up = upcall_new(b->session,
			   &(struct upcall_spec){ b->name, method, params,
						  repeat_allowed(&b->repeat, method, params) },
			   &upcall_ops, c);
	return &c->call;
}

static void acp_cancel(struct mcp_call *call)
{
	struct acp_call *c = (struct acp_call *)call;

	upcall_cancel(c->up);
	free(c);
}

static void acp_free(struct mcp_backend *backend)
{
	struct acp_backend *b = (struct acp_backend *)backend;

	repeat_done(&b->repeat);
	free(b->name);
	free(b);
}

static const struct mcp_backend_ops acp_ops = { acp_call, acp_cancel, acp_free };

struct mcp_backend *acp_backend_new(struct session *s, const char *name)
{
	struct acp_backend *b = new0(struct acp_backend);

	b->backend.ops = &acp_ops;
	b->session = s;
	b->name = xstrdup(name);
	return &b->backend;
}
