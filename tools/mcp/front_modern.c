/* front_modern.c - a client of 2026-07-28: checks what every request must carry, then passes it unchanged. */
#include "json/json.h"
#include "tools/mcp/mcp_front_internal.h"

#define META_PATH "params._meta."

/* In a stream of several requests a client finds its subscription by the id that it chose. */
static void put_tagged(struct buf *out, const struct front_request *x, struct slice object)
{
	_cleanup_(buf_done) struct buf member = { 0 };

	if (!x->method || !(x->method->flags & MCP_LASTS)) {
		buf_add_slice(out, object);
		return;
	}
	buf_puts(&member, "\"" MCP_META_SUBSCRIPTION "\":");
	buf_puts(&member, x->id);
	mcp_meta_merge(out, object, buf_slice(&member));
}

static void front_modern_on_notify(void *ctx, const char *method, struct slice params)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct front_request *x = ctx;

	if (!front_heartbeat_heard(x, method, params))
		return;
	put_tagged(&b, x, params);
	front_notify(x->front, method, buf_slice(&b), slice_of(x->id));
}

static void front_modern_on_done(void *ctx, struct slice result, struct slice error)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct front_request *x = ctx;

	x->call = NULL;
	if (error.n) {
		front_request_error(x, error);
		return;
	}
	front_request_begin(x, &b, "result", result.n);
	put_tagged(&b, x, result);
	front_request_end(x, &b);
}

static const struct mcp_reply_ops replies = { .notify = front_modern_on_notify,
					      .done = front_modern_on_done };

/* Answers as MCP 2026-07-28 requires it: the client reads `supported`, and retries with one of
 * them. */
static void refuse_revision(struct front_request *x, struct jval requested)
{
	JW_BUF(w, extra);
	struct err e;

	jw_raw(&w, "supported", SLICE("[\"" MCP_MODERN "\"]"));
	jw_raw(&w, "requested", requested.raw);
	err_set(&e, -EINVAL, MCP_VERSION_UNSUPPORTED, "REVISION_UNSUPPORTED",
		"Unsupported protocol version");
	front_request_refuse(x, &e, buf_slice(&extra));
}

static void refuse_meta(struct front_request *x, const char *field, const char *what)
{
	struct err e;

	err_field(&e, field, "META_MISSING", "%s must be %s in every request", field, what);
	front_request_refuse(x, &e, SLICE_NONE);
}

/* False: it is answered. */
static bool front_modern_check_meta(struct front_request *x, const struct rpc_msg *m)
{
	struct jval version = mcp_meta_get(m->params, MCP_META_VERSION);
	struct jval capabilities = mcp_meta_get(m->params, MCP_META_CAPABILITIES);
	bool handshake = version.type == J_NONE && strcmp(m->method, "initialize") == 0;

	if (handshake) /* after modern requests: too late for another era */
		refuse_revision(x, jobj_get(m->params, "protocolVersion"));
	else if (version.type != J_STRING)
		refuse_meta(x, META_PATH MCP_META_VERSION, "a string");
	else if (!jstr_is(version, MCP_MODERN))
		refuse_revision(x, version);
	else if (capabilities.type != J_OBJECT)
		refuse_meta(x, META_PATH MCP_META_CAPABILITIES, "an object");
	else
		return true;
	return false;
}

void front_modern_request(struct front_request *x, const struct rpc_msg *m)
{
	struct mcp_front *f = x->front;
	struct err e;

	if (!front_modern_check_meta(x, m))
		return;
	if (x->method && !(x->method->flags & MCP_IN_MODERN)) {
		err_set(&e, -EINVAL, RPC_METHOD_NOT_FOUND, "METHOD_NOT_FOUND",
			"%s is not a method of " MCP_MODERN, m->method);
		front_request_refuse(x, &e, SLICE_NONE);
		return;
	}
	if (strcmp(m->method, "server/discover") != 0) /* a probe: initialize may follow */
		f->era = ERA_MODERN;
	x->call = mcp_backend_call(f->backend, m->method, m->params, &replies, x);
}
