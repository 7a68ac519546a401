/*
 * relay_proxy.c - what a client of /mcp holds: a backend that finds the real one at each call, because a client's MCP
 * session over HTTP outlives restarts of the harness, and the session whose tools it calls. If the server of a call
 * ends, the call ends with SERVER_GONE.
 */
#include "tools/mcp/msg.h"
#include "tools/relay/relay_internal.h"
#include "session/parts/trace/tool_trace.h"

#define GONE                                                                                       \
	SLICE("{\"code\":-32603,\"message\":\"the MCP server is gone\",\"data\":{\"reason\":\"SERVER_GONE\"}}")

struct proxy {
	struct mcp_backend backend;
	struct list link;
	struct relay *relay;
	char *name, *session; /* as for relay_find; each may be NULL */
};

struct proxy_call {
	struct mcp_call call;
	struct list link; /* of the session's calls, or the relay's; alone when its server is gone */
	struct loop *loop;
	struct mcp_call *inner; /* NULL: its end is reported from the loop */
	struct loop_task gone_task;
	struct outside_call *traced; /* NULL: it is no tool call, or its end was told */
};

static void proxy_call_free(struct proxy_call *c)
{
	loop_task_cancel(&c->gone_task);
	list_del(&c->link);
	outside_call_end(c->traced, SLICE_NONE, SLICE_NONE);
	free(c);
}

static void proxy_call_on_done(void *ctx, struct slice result, struct slice error)
{
	struct proxy_call *c = ctx;
	/* A copy, because the receiver must find the call freed: it may free this backend. */
	struct mcp_call call = c->call;

	c->traced = outside_call_end(c->traced, result, error);
	proxy_call_free(c);
	mcp_call_done(&call, result, error);
}

static const struct mcp_reply_ops reply_ops = { mcp_call_pass, proxy_call_on_done };

static void notify_gone(void *ctx)
{
	proxy_call_on_done(ctx, SLICE_NONE, GONE);
}

/* Its session may be gone when its end is reported. */
static void set_gone(struct proxy_call *c)
{
	c->traced = outside_call_end(c->traced, SLICE_NONE, GONE);
	loop_defer(c->loop, &c->gone_task, notify_gone, c);
}

/* --- what is traced ----------------------------------------------------------------------------------------- */

/* Only an open session has events. */
static struct session *proxy_session(const struct proxy *p)
{
	struct session *s = p->session ? store_find(p->relay->store, p->session) : NULL;

	return session_is_open(s) ? s : NULL;
}

/* Returns the params that the server gets: with the span of the call as the parent, where there is one. */
static struct slice trace(struct proxy_call *c, const struct proxy *p, struct slice params,
			  struct buf *b)
{
	JW_BUF(w, member);
	char parent[56];

	c->traced = outside_call_begin(p->relay->store, proxy_session(p),
				       p->name ? p->name : MCP_OWN_NAME, params);
	if (!*outside_call_parent(c->traced, parent))
		return params;
	jw_str(&w, "traceparent", parent);
	mcp_meta_merge(b, params, buf_slice(&member));
	return b->failed ? params : buf_slice(b);
}

static struct mcp_call *proxy_call(struct mcp_backend *b, const char *method, struct slice params,
				   const struct mcp_reply_ops *ops, void *ctx)
{
	struct proxy *p = (struct proxy *)b;
	struct proxy_call *c = new0(struct proxy_call);
	_cleanup_(buf_done) struct buf traced = { 0 };
	struct mcp_backend *target;
	struct relay_holds holds;
	struct err e;

	c->call = (struct mcp_call){ b, ops, ctx };
	c->loop = p->relay->loop;
	list_init(&c->link);
	/* At each call, since a restart of the harness replaces the backend. */
	target = relay_target(p->relay, p->name, p->session, &holds, &e);
	if (strcmp(method, "tools/call") == 0)
		params = trace(c, p, params, &traced);
	if (target) {
		list_add_tail(holds.calls, &c->link);
		c->inner = mcp_backend_call(target, method, params, &reply_ops, c);
	} else {
		set_gone(c);
	}
	return &c->call;
}

/* Also between the end of the server and its report: then there is no inner call, but a task
 * to cancel. */
static void proxy_cancel(struct mcp_call *call)
{
	struct proxy_call *c = (struct proxy_call *)call;

	if (c->inner)
		mcp_call_cancel(c->inner);
	proxy_call_free(c);
}

/* It is ours: proxies_free. */
static void proxy_free(struct mcp_backend *b _unused_)
{
}

static const struct mcp_backend_ops proxy_ops = { proxy_call, proxy_cancel, proxy_free };

struct mcp_backend *relay_find(struct relay *r, const char *name, const char *session,
			       struct err *e)
{
	struct relay_holds holds;
	struct proxy *p;

	if (!relay_target(r, name, session, &holds, e))
		return NULL;
	list_each(have, holds.proxies, struct proxy, link)
		if (str_equal(have->name, name))
			return &have->backend;
	p = new0(struct proxy);
	p->backend.ops = &proxy_ops;
	p->relay = r;
	p->name = xstrdup(name);
	p->session = xstrdup(session);
	list_add_tail(holds.proxies, &p->link);
	return &p->backend;
}

void proxies_free(struct relay *r, struct list *proxies)
{
	list_drain(p, proxies, struct proxy, link) {
		/* First, while the backend exists: its clients cancel their calls, and forget
		 * it. */
		if (r->gone)
			r->gone(r->gone_ctx, &p->backend);
		list_del(&p->link);
		free_each(p->name, p->session, p);
	}
}

/* The calls leave the list at once, because their session may be freed before the loop reports
 * their end. */
void proxy_calls_end(struct list *calls)
{
	list_drain(c, calls, struct proxy_call, link) {
		list_del(&c->link);
		list_init(&c->link);
		mcp_call_cancel(c->inner);
		c->inner = NULL;
		set_gone(c);
	}
}
