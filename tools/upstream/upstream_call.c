/* upstream_call.c - how one call of a caller ends, in either era. */
#include "tools/upstream/upstream.h"

void upstream_call_free(struct upstream_call *c)
{
	list_del(&c->link);
	upstream_rpc_forget(&c->rq);
	loop_task_cancel(&c->task);
	buf_done(&c->params);
	buf_done(&c->result);
	buf_done(&c->error);
	free_each(c->method, c->who, c);
}

void upstream_call_done(struct upstream_call *c, struct slice result, struct slice error)
{
	/* A copy: the receiver is called after the call is freed, and may free the backend. */
	struct mcp_call call = c->base;

	upstream_call_free(c);
	mcp_call_done(&call, result, error);
}

/* Takes both buffers out of the call, because it is freed before its receiver has read them. */
static void answer_now(void *ctx)
{
	struct upstream_call *c = ctx;
	_cleanup_(buf_done) struct buf result = c->result, error = c->error;

	c->result = c->error = (struct buf){ 0 };
	upstream_call_done(c, buf_slice(&result), buf_slice(&error));
}

/* Reports from the loop: no answer may come inside mcp_backend_call. */
void upstream_call_later(struct upstream_call *c)
{
	c->waits = false;
	loop_defer(c->up->loop, &c->task, answer_now, c);
}

void upstream_call_refuse(struct upstream_call *c, const struct err *e)
{
	mcp_put_error(&c->error, e, SLICE_NONE);
	upstream_call_later(c);
}
