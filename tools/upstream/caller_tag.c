#include "tools/upstream/caller_tag.h"

#include "json/jenc.h"
#include "tools/mcp/msg.h"

struct asker {
	struct mcp_backend backend;
	struct mcp_backend *inner;
	struct buf member; /* "session":"..." */
};

static struct mcp_call *asker_call(struct mcp_backend *b, const char *method, struct slice params,
				   const struct mcp_reply_ops *ops, void *ctx)
{
	struct asker *a = container_of(b, struct asker, backend);
	struct jval said = mcp_meta_get(params, "acpd");
	_cleanup_(buf_done) struct buf own = { 0 }, with = { 0 };

	buf_puts(&own, "\"acpd\":");
	mcp_object_merge(&own, said.type == J_OBJECT ? said.raw : SLICE("{}"),
			 buf_slice(&a->member));
	mcp_meta_merge(&with, params, buf_slice(&own));
	return mcp_backend_call(a->inner, method,
				own.failed || with.failed ? params : buf_slice(&with), ops, ctx);
}

static void asker_free(struct mcp_backend *b)
{
	struct asker *a = container_of(b, struct asker, backend);

	buf_done(&a->member);
	free(a);
}

/* A call is inner's own, and cancelled there. */
static const struct mcp_backend_ops asker_ops = { .call = asker_call, .free = asker_free };

struct mcp_backend *mcp_asker_new(struct mcp_backend *inner, const char *session)
{
	struct asker *a = new0(struct asker);
	struct jw w = JW(&a->member);

	a->backend.ops = &asker_ops;
	a->inner = inner;
	jw_str(&w, "session", session);
	return &a->backend;
}
