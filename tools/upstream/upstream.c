/*
 * upstream.c - the backend of one server: calls that wait for it, calls in progress, and the end of
 * them all with the connection.
 *
 * Calls wait in order until the handshake is complete. upstream_end first moves all open calls to a
 * list of its own, then reports: a callback may call again, and that call must survive. A call
 * whose own answer is queued keeps it. A notification without a call is delivered only if all
 * candidates have the same caller.
 */
#include "tools/upstream/upstream.h"

#include "base/limits.h"
#include "json/json.h"
#include "tools/upstream/upstream_legacy.h"

/* --- calls ------------------------------------------------------------------------------------------------ */

static void modern_reply(void *ctx, struct slice result, struct slice error)
{
	struct upstream_call *c = ctx;
	struct upstream *u = c->up;

	/* Before the caller gets it, which may call one of the tools at once. */
	if (result.n && u->transport->listed && strcmp(c->method, "tools/list") == 0)
		u->transport->listed(u, result);
	upstream_call_done(c, result, error);
}

static void call_send(struct upstream_call *c, struct slice params)
{
	struct upstream *u = c->up;

	c->waits = false;
	if (u->legacy) {
		legacy_begin(u->legacy, c, params);
		return;
	}
	c->rq = (struct upstream_rpc_request){ .reply = modern_reply,
					       .notify = mcp_call_pass,
					       .ctx = c };
	upstream_rpc_call(&u->rpc, &c->rq, c->method, params);
}

/* Reads what is kept of a request's _meta. */
static void call_read_meta(struct upstream_call *c, struct slice params)
{
	struct jslot session = { .key = "session" };
	struct jslot meta[] = { { .key = MCP_META_LOG_LEVEL },
				{ .key = "acpd", .sub = &session, .nsub = 1 } };
	struct jslot top = { .key = "_meta", .sub = meta, .nsub = ARRAY_SIZE(meta) };

	c->level = SEVERITY_NONE;
	if (jscan_object(params, &top, 1) != JSCAN_OK)
		return;
	c->level = mcp_severity_of(meta[0].v);
	if (session.v.type == J_STRING)
		jstr_decode(session.v, RPC_ID_MAX, &c->who);
}

void upstream_flush(struct upstream *u)
{
	/* a listener of this may have stopped it */
	list_each(c, &u->calls, struct upstream_call, link) {
		_cleanup_(buf_done) struct buf params = { 0 };

		if (!c->waits || u->state != UPSTREAM_UP)
			continue;
		params = c->params;
		c->params = (struct buf){ 0 };
		call_send(c, buf_slice(&params));
	}
}

static struct err upstream_gone(const struct upstream *u)
{
	struct err e;

	err_set(&e, -EPIPE, RPC_INTERNAL_ERROR, "SERVER_GONE",
		"the MCP server \"%s\" is not running", u->name);
	return e;
}

/* False: the request is too large, and the call has been refused. */
static bool call_wait(struct upstream_call *c, struct slice params)
{
	c->params.max = MESSAGE_MAX;
	c->waits = true;
	if (buf_add_slice(&c->params, params) == 0)
		return true;
	upstream_call_refuse(c, &(struct err){ .rpc = RPC_INVALID_PARAMS,
					       .reason = "MESSAGE_TOO_LARGE",
					       .msg = "the request is too large" });
	return false;
}

static struct mcp_call *upstream_on_call(struct mcp_backend *b, const char *method,
					 struct slice params, const struct mcp_reply_ops *ops,
					 void *ctx)
{
	struct upstream *u = container_of(b, struct upstream, backend);
	struct upstream_call *c = new0(struct upstream_call);
	struct err e;

	*c = (struct upstream_call){ .base = { b, ops, ctx }, .up = u };
	c->method = xstrdup(method);
	list_add_tail(&u->calls, &c->link);
	call_read_meta(c, params);
	if (u->state == UPSTREAM_UP) {
		call_send(c, params);
		return &c->base;
	}
	if (call_wait(c, params) && u->state == UPSTREAM_DOWN &&
	    (!u->events->wanted || !u->events->wanted(u->ctx))) {
		e = upstream_gone(u);
		upstream_call_refuse(c, &e);
	}
	return &c->base;
}

static void upstream_on_cancel(struct mcp_call *call)
{
	struct upstream_call *c = container_of(call, struct upstream_call, base);

	/* Notifies the server if it has the call; a call that still waits is only freed. */
	upstream_rpc_cancel(&c->up->rpc, &c->rq);
	if (c->inner || c->listen)
		legacy_cancel(c);
	upstream_call_free(c);
}

static void upstream_on_free(struct mcp_backend *b)
{
	mcp_server_free(container_of(b, struct upstream, backend));
}

static const struct mcp_backend_ops backend_ops = {
	.call = upstream_on_call,
	.cancel = upstream_on_cancel,
	.free = upstream_on_free,
};

/* --- messages that are no answers ------------------------------------------------------------------- */

/* The call that a notification of a modern server belongs to. */
static struct upstream_call *modern_owner(struct upstream *u, uint32_t origin, const char *method,
					  struct slice params)
{
	struct jslot id = { .key = MCP_META_SUBSCRIPTION };
	struct jslot meta = { .key = "_meta", .sub = &id, .nsub = 1 };
	struct upstream_call *found = NULL;
	int64_t n = 0;

	if (!origin && jscan_object(params, &meta, 1) == JSCAN_OK && id.v.type == J_NUMBER &&
	    jdec_int(id.v, &n) == 0 && n > 0 && n <= UINT32_MAX)
		origin = (uint32_t)n;
	if (origin) {
		struct upstream_rpc_request *rq = upstream_rpc_find(&u->rpc, origin);

		return rq && rq->reply == modern_reply ? rq->ctx : NULL;
	}
	/* on a shared stream a log message does not name its call */
	if (strcmp(method, "notifications/message") != 0)
		return NULL;
	list_each(c, &u->calls, struct upstream_call, link) {
		if (!c->rq.id || c->level == SEVERITY_NONE)
			continue;
		if (found && strcmp(found->who ? found->who : "", c->who ? c->who : "") != 0)
			return NULL;
		if (!found)
			found = c;
	}
	return found;
}

static void on_notified(void *ctx, uint32_t origin, const char *method, struct slice params)
{
	struct upstream *u = ctx;
	struct upstream_call *c;

	if (u->legacy) {
		legacy_notified(u->legacy, origin, method, params);
		return;
	}
	c = modern_owner(u, origin, method, params);
	if (c)
		mcp_call_notify(&c->base, method, params);
}

static const struct err no_requests = { .rpc = RPC_METHOD_NOT_FOUND,
					.reason = "METHOD_NOT_FOUND",
					.msg = "a server does not send requests in this revision" };

static void on_asked(void *ctx, uint32_t origin, struct slice id, const char *method,
		     struct slice params)
{
	struct upstream *u = ctx;

	if (u->legacy)
		legacy_asked(u->legacy, origin, id, method, params);
	else if (strcmp(method, "ping") == 0)
		upstream_rpc_answer(&u->rpc, id, SLICE("{}"));
	else
		upstream_rpc_refuse(&u->rpc, id, &no_requests);
}

static const struct upstream_rpc_events upstream_rpc_events = { .notified = on_notified,
								.asked = on_asked };

/* --- beginning and end ------------------------------------------------------------------------------------- */

void upstream_end(struct upstream *u, const struct err *why)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	/* From here on nothing may reach the legacy side, which is freed below. */
	struct legacy *legacy = TAKE_PTR(u->legacy);
	struct list gone_calls;

	if (u->state == UPSTREAM_PROBING) /* its earlier era may be wrong by now */
		u->legacy_first = false;
	u->state = UPSTREAM_DOWN;
	era_probe_over(u);
	mcp_put_error(&b, why, SLICE_NONE);
	list_init(&gone_calls);
	list_each(c, &u->calls, struct upstream_call, link) {
		if (c->task.fn) /* has its answer */
			continue;
		list_del(&c->link);
		list_add_tail(&gone_calls, &c->link);
		if (c->inner || c->listen)
			legacy_detach(c);
	}
	/* After all calls are detached from it, and before a callback can run. */
	legacy_free(legacy);
	/* the callback may call again at once: that is a new call, which waits or is refused */
	list_drain(c, &gone_calls, struct upstream_call, link)
		upstream_call_done(c, SLICE_NONE, buf_slice(&b));
}

void upstream_init(struct upstream *u)
{
	u->backend.ops = &backend_ops;
	list_init(&u->calls);
	u->rpc.loop = u->loop;
	u->rpc.events = &upstream_rpc_events;
	u->rpc.ctx = u;
	upstream_rpc_init(&u->rpc);
	era_probe_init(u);
}

/* No call may be open. */
void upstream_done(struct upstream *u)
{
	era_probe_over(u);
	u->legacy = legacy_free(u->legacy);
	upstream_rpc_done(&u->rpc);
	free(TAKE_PTR(u->revision));
}

/* --- the server, whatever its transport ------------------------------------------------------------------------ */

struct mcp_backend *mcp_server_backend(struct upstream *u)
{
	return &u->backend;
}

int mcp_server_start(struct upstream *u, struct err *e)
{
	return u->transport->start(u, e);
}

void mcp_server_stop(struct upstream *u)
{
	if (u)
		u->transport->stop(u);
}

void mcp_server_kill(struct upstream *u)
{
	(u->transport->kill ? u->transport->kill : u->transport->stop)(u);
}

pid_t mcp_server_pid(const struct upstream *u)
{
	return u && u->transport->pid ? u->transport->pid(u) : 0;
}

struct upstream *mcp_server_free(struct upstream *u)
{
	if (u)
		u->transport->free(u);
	return NULL;
}
