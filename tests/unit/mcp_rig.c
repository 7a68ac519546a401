#include "mcp_rig.h"

#include "base/clock.h"

#include <sys/epoll.h>
#include <poll.h>

static void log_slice(struct mcp_rig *r, const char *head, struct slice text)
{
	buf_puts(&r->log, head);
	buf_add_slice(&r->log, text);
}

static void on_send(void *ctx, struct slice message, struct slice request, bool last)
{
	struct mcp_rig *r = ctx;

	log_slice(r, last ? "<! " : "< ", request.n ? request : SLICE("-"));
	log_slice(r, " ", message);
	buf_putc(&r->log, '\n');
}

static void on_cancelled(void *ctx, struct slice request)
{
	struct mcp_rig *r = ctx;

	log_slice(r, "gone ", request);
	buf_putc(&r->log, '\n');
}

static const struct mcp_front_ops front_ops = { .send = on_send, .cancelled = on_cancelled };

static struct mcp_call *backend_call(struct mcp_backend *b, const char *method, struct slice params,
				     const struct mcp_reply_ops *ops, void *ctx)
{
	struct mcp_rig *r = container_of(b, struct mcp_rig, backend);
	struct mcp_rig_call *c = &r->calls[r->ncalls];

	if (r->discard)
		return &r->discarded;
	assert_true(++r->ncalls <= MCP_RIG_CALLS);
	*c = (struct mcp_rig_call){ .base = { .backend = b }, .rig = r, .ops = ops, .ctx = ctx };
	c->method = xstrdup(method);
	c->params = xstrndup(params.p, params.n);
	buf_printf(&r->log, "> %s ", method);
	buf_add_slice(&r->log, params);
	buf_putc(&r->log, '\n');
	return &c->base;
}

static void backend_cancel(struct mcp_call *call)
{
	struct mcp_rig_call *c = container_of(call, struct mcp_rig_call, base);

	if (container_of(call->backend, struct mcp_rig, backend)->discard)
		return;
	assert_non_null(c->ctx);
	c->ctx = NULL;
	buf_printf(&c->rig->log, "x %s\n", c->method);
}

static const struct mcp_backend_ops backend_ops = { .call = backend_call,
						    .cancel = backend_cancel };

struct mcp_rig *mcp_rig_new(void)
{
	struct mcp_rig *r = new0(struct mcp_rig);

	r->backend.ops = &backend_ops;
	r->discarded.backend = &r->backend;
	r->loop = loop_new();
	r->front = mcp_front_new(r->loop, &r->backend, &front_ops, r);
	return r;
}

void mcp_rig_free(struct mcp_rig **rig)
{
	struct mcp_rig *r = *rig;

	if (!r)
		return;
	mcp_front_free(r->front);
	for (unsigned i = 0; i < r->ncalls; i++) {
		assert_null(r->calls[i].ctx); /* answered, or cancelled by the front */
		free(r->calls[i].method);
		free(r->calls[i].params);
	}
	loop_free(r->loop);
	buf_done(&r->log);
	free(r);
}

void mcp_rig_say(struct mcp_rig *r, const char *message)
{
	_cleanup_(slice_freep) struct slice copy = exact_copy(slice_of(message));

	mcp_front_feed(r->front, copy);
}

static struct mcp_rig_call *open_call(struct mcp_rig *r, unsigned n)
{
	assert_true(n < r->ncalls);
	assert_non_null(r->calls[n].ctx);
	return &r->calls[n];
}

static void done(struct mcp_rig_call *c, struct slice result, struct slice error)
{
	_cleanup_(slice_freep) struct slice a = exact_copy(result), b = exact_copy(error);

	c->ops->done(TAKE_PTR(c->ctx), a, b);
}

void mcp_rig_result(struct mcp_rig *r, unsigned n, const char *result)
{
	done(open_call(r, n), slice_of(result), SLICE_NONE);
}

void mcp_rig_error(struct mcp_rig *r, unsigned n, const char *error)
{
	done(open_call(r, n), SLICE_NONE, slice_of(error));
}

void mcp_rig_notify(struct mcp_rig *r, unsigned n, const char *method, const char *params)
{
	_cleanup_(slice_freep) struct slice copy = exact_copy(slice_of(params));
	struct mcp_rig_call *c = open_call(r, n);

	c->ops->notify(c->ctx, method, copy);
}

void mcp_rig_run(struct mcp_rig *r, unsigned ms)
{
	uint64_t end = clock_mono_ms() + ms;
	struct pollfd fd = { .fd = loop_fd(r->loop), .events = POLLIN };

	loop_run_deferred(r->loop);
	while (clock_mono_ms() < end) {
		poll(&fd, 1, 10);
		loop_dispatch(r->loop);
	}
}

void check_mcp_log(struct mcp_rig *r, const char *want, const char *file, int line)
{
	buf_putc(&r->log, '\0');
	r->log.len--;
	check_text(buf_slice(&r->log), want, file, line);
	buf_reset(&r->log);
}

struct mcp_rig *mcp_rig_legacy(const char *client_capabilities, const char *server_capabilities)
{
	struct mcp_rig *r = mcp_rig_new();
	_cleanup_(buf_done) struct buf hello = { 0 }, server = { 0 };

	buf_printf(
		&hello,
		"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
		"\"2025-11-25\",\"capabilities\":%s,\"clientInfo\":" INFO "}}",
		client_capabilities);
	buf_printf(&server, "{\"resultType\":\"complete\",\"capabilities\":%s}",
		   server_capabilities);
	mcp_rig_say(r, hello.data);
	mcp_rig_result(r, 0, server.data);
	buf_reset(&r->log);
	return r;
}
