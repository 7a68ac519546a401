#include "tools/mcp/tag_backend.h"

#include "base/limits.h"
#include "json/jenc.h"
#include "tools/mcp/msg.h"

struct tag_backend {
	struct mcp_backend backend;
	struct mcp_backend *inner;
	bool for_session;   /* else for a harness */
	struct buf members; /* of _meta.acpd */
};

static struct mcp_call *tag_call(struct mcp_backend *b, const char *method, struct slice params,
				 const struct mcp_reply_ops *ops, void *ctx)
{
	struct tag_backend *t = container_of(b, struct tag_backend, backend);
	/* In front of a gate, nothing that a harness itself wrote under the key stays. */
	struct jval said = t->for_session ? mcp_meta_get(params, "acpd") : (struct jval){ 0 };
	_cleanup_(buf_done) struct buf own = { 0 }, with = { 0 };

	if (t->for_session || strcmp(method, "tools/list") == 0 ||
	    strcmp(method, "tools/call") == 0) {
		buf_puts(&own, "\"acpd\":");
		mcp_object_merge(&own, said.type == J_OBJECT ? said.raw : SLICE("{}"),
				 buf_slice(&t->members));
		mcp_meta_merge(&with, params, buf_slice(&own));
		/* Out of memory: the call passes unmarked, and fails further on if memory
		 * stays short. */
		if (!own.failed && !with.failed)
			params = buf_slice(&with);
	}
	return mcp_backend_call(t->inner, method, params, ops, ctx);
}

static void tag_free(struct mcp_backend *b)
{
	struct tag_backend *t = container_of(b, struct tag_backend, backend);

	buf_done(&t->members);
	free(t);
}

static const struct mcp_backend_ops tag_ops = { .call = tag_call, .free = tag_free };

static struct tag_backend *tag_new(struct mcp_backend *inner, bool for_session)
{
	struct tag_backend *t = new0(struct tag_backend);

	t->backend.ops = &tag_ops;
	t->inner = inner;
	t->for_session = for_session;
	return t;
}

struct mcp_backend *caller_tag_new(struct mcp_backend *inner, const char *session)
{
	struct tag_backend *t = tag_new(inner, true);
	struct jw w = JW(&t->members);

	jw_str(&w, "session", session);
	return &t->backend;
}

struct mcp_backend *text_results_new(struct mcp_backend *inner, unsigned text_max)
{
	struct tag_backend *t = tag_new(inner, false);
	struct jw w = JW(&t->members);

	jw_bool(&w, "textOnly", true);
	/* model_text_limit allows TOOL_SHOW_MORE bytes above the limit, but the harness does not. */
	jw_uint(&w, "textMax", text_max ? text_max - TOOL_SHOW_MORE : TOOL_SHOW_BYTES);
	return &t->backend;
}
