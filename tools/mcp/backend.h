/*
 * backend.h - one MCP server behind any transport, in the terms of MCP 2026-07-28.
 *
 * The middle of the MCP side. Code that serves clients (mcp/mcp_front.h) calls a backend. Code that reaches servers
 * implements one: the orchestrator over ACP, a child process, an HTTP server, the built-in tools; the policy of a
 * session is a backend in front of another. Only the edges know eras: inside, every request has protocolVersion and
 * clientCapabilities in its params._meta (and clientInfo, if the client sent it), every result has a resultType, and a
 * server asks its client only through "input_required".
 *
 * Payloads are raw JSON text, validated by json/jscan.h, without line breaks, and passed on byte for byte; spans
 * given to functions and callbacks are borrowed for the call. Everything runs on the loop.
 */
#pragma once

#include "base/slice.h"
#include "base/util.h"

struct mcp_backend;
struct mcp_call;

/* The receiver of the answer. Never called from inside mcp_backend_call, nor after mcp_call_cancel. */
struct mcp_reply_ops {
	/* A notification that belongs to this request (notifications/progress, notifications/message, those of a
	 * subscription, whatever subscriptionId they carry: a front puts its client's there). params: raw object,
	 * "{}" if there were none. */
	void (*notify)(void *ctx, const char *method, struct slice params);
	/* Once, last; c is gone after. One of both is empty: result, the raw result object; error, the raw JSON-RPC
	 * error object. */
	void (*done)(void *ctx, struct slice result, struct slice error);
};

struct mcp_backend_ops {
	/* Never fails: an error is passed to done later. method: printable ASCII without quotes,
	 * borrowed like params. */
	struct mcp_call *(*call)(struct mcp_backend *b, const char *method, struct slice params,
				 const struct mcp_reply_ops *ops, void *ctx);
	void (*cancel)(struct mcp_call *c);
	/* No call may be open. */
	void (*free)(struct mcp_backend *b);
};

/* First member of every backend and every call. */
struct mcp_backend {
	const struct mcp_backend_ops *ops;
};

struct mcp_call {
	struct mcp_backend *backend;
	const struct mcp_reply_ops *ops; /* of its caller, who gets ctx */
	void *ctx;
};

static inline void mcp_call_notify(const struct mcp_call *c, const char *method,
				   struct slice params)
{
	c->ops->notify(c->ctx, method, params);
}

static inline void mcp_call_done(const struct mcp_call *c, struct slice result, struct slice error)
{
	c->ops->done(c->ctx, result, error);
}

/* For the notify of a call behind another one, which it begins with: passes it on. */
static inline void mcp_call_pass(void *call, const char *method, struct slice params)
{
	mcp_call_notify(call, method, params);
}

static inline void mcp_call_hear_nothing(void *ctx _unused_, const char *method _unused_,
					 struct slice params _unused_)
{
}

/* params: raw object with _meta as above. The call is the caller's until done is called or it is cancelled. */
static inline struct mcp_call *mcp_backend_call(struct mcp_backend *b, const char *method,
						struct slice params,
						const struct mcp_reply_ops *ops, void *ctx)
{
	return b->ops->call(b, method, params, ops, ctx);
}

/* The answer is not needed any more: the server is notified, and nothing is called back. */
static inline void mcp_call_cancel(struct mcp_call *c)
{
	c->backend->ops->cancel(c);
}

static inline struct mcp_backend *mcp_backend_free(struct mcp_backend *b)
{
	if (b)
		b->ops->free(b);
	return NULL;
}
