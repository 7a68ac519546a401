#include "harnesses/talk.h"

#include <errno.h>
#include <stdio.h>

int harness_refuse_block(size_t i, struct err *e)
{
	char block[32];

	snprintf(block, sizeof(block), "prompt[%zu]", i);
	return err_field(e, block, "CONTENT_UNSUPPORTED",
			 "%s: cannot pass this block to the harness: its text is not Unicode",
			 block);
}

int harness_send(const struct harness_host *host, const struct buf *b)
{
	return b->failed ? -E2BIG : host->ops->send(host->ctx, buf_slice(b));
}

int harness_call(const struct harness_host *host, struct rpc_calls *calls, const char *method,
		 struct slice params, rpc_reply_fn fn, void *ctx, uint64_t tag)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	uint32_t id = rpc_calls_add(calls, fn, ctx, tag);
	int r;

	if (!id)
		return -EBUSY;
	rpc_put_request(&b, id, method, params);
	r = harness_send(host, &b);
	if (r < 0)
		rpc_calls_drop(calls, id);
	return r;
}
