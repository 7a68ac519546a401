#include "tools/upstream/caller_tag.h"

#include "json/jenc.h"
#include "tools/mcp/msg.h"

struct caller_tag {
	struct mcp_backend backend;
	struct mcp_backend *inner;
	struct buf member; /* "session":"..." */
};

static struct mcp_call *caller_tag_call(struct mcp_backend *b, const char *method,
					struct slice params, const struct mcp_reply_ops *ops,
					void *ctx)
{
	struct caller_tag *a = container_of(b, struct caller_tag, backend);
	struct jval said = mcp_meta_get(params, "acpd");
	_cleanup_(buf_done) struct buf own = { 0 }, with = { 0 };

	buf_puts(&own, "\"acpd\":");
	mcp_object_merge(&own, said.type == J_OBJECT ? said.raw : SLICE("{}"),
			 buf_slice(&a->member));
	mcp_meta_merge(&with, params, buf_slice(&own));
	return mcp_backend_call(a->inner, method,
				own.failed || with.failed ? params : buf_slice(&with), ops, ctx);
}

static void caller_tag_free(struct mcp_backend *b)
{
	struct caller_tag *a = container_of(b, struct caller_tag, backend);

	buf_done(&a->member);
	free(a);
}

/* A call is inner's own, and cancelled there. */
static const struct mcp_backend_ops caller_tag_ops = { .call = caller_tag_call,
						       .free = caller_tag_free };

struct mcp_backend *caller_tag_new(struct mcp_backend *inner, const char *session)
{
	struct caller_tag *a = new0(struct caller_tag);
	struct jw w = JW(&a->member);

	a->backend.ops = &caller_tag_ops;
	a->inner = inner;
	jw_str(&w, "session", session);
	return &a->backend;
}
