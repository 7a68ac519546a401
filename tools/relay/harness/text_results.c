#include "tools/relay/harness/text_results.h"

#include "base/buf.h"
#include "base/limits.h"
#include "base/util.h"
#include "tools/mcp/msg.h"

#include <stdio.h>

struct text_results {
	struct mcp_backend base;
	struct mcp_backend *inner;
	char marks[64]; /* member of _meta */
};

/* The call is the inner backend's: its answer needs nothing from here. */
static struct mcp_call *text_results_call(struct mcp_backend *b, const char *method,
					  struct slice params, const struct mcp_reply_ops *ops,
					  void *ctx)
{
	const struct text_results *p = container_of(b, struct text_results, base);
	_cleanup_(buf_done) struct buf marked = { .max = MCP_LINE_MAX };

	if (strcmp(method, "tools/list") == 0 || strcmp(method, "tools/call") == 0)
		mcp_meta_merge(&marked, params, slice_of(p->marks));
	return mcp_backend_call(p->inner, method,
				buf_len(&marked) && !marked.failed ? buf_slice(&marked) : params,
				ops, ctx);
}

static void text_results_free(struct mcp_backend *b)
{
	free(container_of(b, struct text_results, base));
}

static const struct mcp_backend_ops plain_ops = { .call = text_results_call,
						  .free = text_results_free };

struct mcp_backend *text_results_new(struct mcp_backend *inner, unsigned text_max)
{
	struct text_results *p = new0(struct text_results);

	p->base.ops = &plain_ops;
	p->inner = inner;
	snprintf(p->marks, sizeof(p->marks), "\"acpd\":{\"textOnly\":true,\"textMax\":%u}",
		 text_max ? text_max - TOOL_SHOW_MORE : TOOL_SHOW_BYTES);
	return &p->base;
}
