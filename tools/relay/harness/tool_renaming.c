#include "tools/relay/harness/tool_renaming.h"

#include "base/buf.h"
#include "base/limits.h"
#include "base/util.h"
#include "json/jenc.h"
#include "json/jstr.h"
#include "tools/mcp/msg.h"

struct tool_renaming {
	struct mcp_backend base; /* first */
	struct mcp_backend *inner;
	char *server;
	struct tool_names *names;
	const struct tool_renaming_ops *ops;
	void *ctx;
	uint64_t listing;	   /* the number of the present one */
	struct buf tools, renamed; /* of the listing, raw elements */
};

/* A call of tools/list; all others are the inner backend's own. */
struct tool_renaming_call {
	struct mcp_call call; /* first */
	struct tool_renaming *g;
	const struct mcp_reply_ops *ops;
	void *ctx;
	struct mcp_call *inner;
	bool first_page;
};

/* --- lists --------------------------------------------------------------------------------------------- */

static void note(struct tool_renaming *g, struct tool_name *t)
{
	struct jw tools = { &g->tools, buf_len(&g->tools) > 0 },
		  renamed = { &g->renamed, buf_len(&g->renamed) > 0 };

	if (t->seen == g->listing)
		return;
	t->seen = g->listing;
	jw_str(&tools, NULL, t->tool);
	if (t->alias == t->tool)
		return;
	jw_obj(&renamed, NULL);
	jw_str(&renamed, "tool", t->tool);
	jw_str(&renamed, "as", t->alias);
	jw_end_obj(&renamed);
}

/* Writes the object, a tool or a call of one, with another name. */
static void put_renamed(struct buf *out, struct slice object, const char *name)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);

	jw_str(&w, NULL, name);
	mcp_text_splice(out, object, jobj_get(object, "name").raw, buf_slice(&b));
}

/* False: it is unchanged. A tool without a possible name is left out. */
static bool tool_put(struct tool_renaming *g, struct slice tool, struct buf *out)
{
	_cleanup_(freep) char *name = NULL;
	struct tool_name *t = NULL;

	if (jstr_decode(jobj_get(tool, "name"), POLICY_NAME_MAX, &name) == 0)
		t = tool_names_take(g->names, g->server, name);
	if (!t)
		return true;
	note(g, t);
	if (buf_len(out) > 1)
		buf_putc(out, ',');
	if (t->alias == t->tool)
		buf_add_slice(out, tool);
	else
		put_renamed(out, tool, t->alias);
	return t->alias != t->tool;
}

/* The result as the harness gets it, to out if it differs. */
static void list_put(struct tool_renaming *g, struct slice result, struct buf *out)
{
	_cleanup_(buf_done) struct buf tools = { .max = MCP_LINE_MAX };
	struct jval list = jobj_get(result, "tools");
	bool changed = false;
	struct jiter it;
	struct jval v;

	if (list.type != J_ARRAY)
		return;
	buf_putc(&tools, '[');
	jiter_init(&it, list);
	while (jiter_next(&it, NULL, &v))
		changed |= tool_put(g, v.raw, &tools);
	buf_putc(&tools, ']');
	if (!changed)
		return;
	mcp_text_splice(out, result, list.raw, buf_slice(&tools));
	out->failed |= tools.failed;
}

static void report(const struct tool_renaming *g)
{
	_cleanup_(buf_done) struct buf tools = { 0 }, renamed = { 0 };

	buf_putc(&tools, '[');
	buf_add_slice(&tools, buf_slice(&g->tools));
	buf_putc(&tools, ']');
	if (buf_len(&g->renamed)) {
		buf_putc(&renamed, '[');
		buf_add_slice(&renamed, buf_slice(&g->renamed));
		buf_putc(&renamed, ']');
	}
	if (!g->tools.failed && !g->renamed.failed)
		g->ops->listed(g->ctx, buf_slice(&tools), buf_slice(&renamed));
}

static void on_notify(void *ctx, const char *method, struct slice params)
{
	struct tool_renaming_call *c = ctx;

	c->ops->notify(c->ctx, method, params);
}

static void on_done(void *ctx, struct slice result, struct slice error)
{
	_cleanup_(buf_done) struct buf out = { .max = MCP_LINE_MAX };
	_cleanup_(freep) struct tool_renaming_call *c = ctx;
	struct tool_renaming *g = c->g;

	if (result.n) {
		if (c->first_page) {
			g->listing++;
			buf_reset(&g->tools);
			buf_reset(&g->renamed);
		}
		list_put(g, result, &out);
		report(g);
	}
	if (out.failed)
		c->ops->done(c->ctx, SLICE_NONE,
			     SLICE("{\"code\":-32603,\"message\":\"out of memory\"}"));
	else
		c->ops->done(c->ctx, buf_len(&out) ? buf_slice(&out) : result, error);
}

static const struct mcp_reply_ops list_ops = { .notify = on_notify, .done = on_done };

static struct mcp_call *call_list(struct tool_renaming *g, struct slice params,
				  const struct mcp_reply_ops *ops, void *ctx)
{
	struct tool_renaming_call *c = new0(struct tool_renaming_call);

	c->call.backend = &g->base;
	c->g = g;
	c->ops = ops;
	c->ctx = ctx;
	c->first_page = jobj_get(params, "cursor").type == J_NONE;
	c->inner = mcp_backend_call(g->inner, "tools/list", params, &list_ops, c);
	return &c->call;
}

/* --- calls ------------------------------------------------------------------------------------------------ */

static struct mcp_call *call_tool(struct tool_renaming *g, struct slice params,
				  const struct mcp_reply_ops *ops, void *ctx)
{
	_cleanup_(buf_done) struct buf back = { .max = MCP_LINE_MAX };
	_cleanup_(freep) char *name = NULL;
	const struct tool_name *t = NULL;

	if (jstr_decode(jobj_get(params, "name"), POLICY_NAME_MAX, &name) == 0)
		t = tool_names_find(g->names, g->server, name);
	if (t && t->alias != t->tool)
		put_renamed(&back, params, t->tool);
	return mcp_backend_call(g->inner, "tools/call",
				buf_len(&back) && !back.failed ? buf_slice(&back) : params, ops,
				ctx);
}

static struct mcp_call *tool_renaming_call(struct mcp_backend *b, const char *method,
					   struct slice params, const struct mcp_reply_ops *ops,
					   void *ctx)
{
	struct tool_renaming *g = container_of(b, struct tool_renaming, base);

	if (strcmp(method, "tools/call") == 0)
		return call_tool(g, params, ops, ctx);
	if (strcmp(method, "tools/list") == 0)
		return call_list(g, params, ops, ctx);
	return mcp_backend_call(g->inner, method, params, ops, ctx);
}

static void tool_renaming_cancel(struct mcp_call *call)
{
	struct tool_renaming_call *c = container_of(call, struct tool_renaming_call, call);

	mcp_call_cancel(c->inner);
	free(c);
}

static void tool_renaming_free(struct mcp_backend *b)
{
	struct tool_renaming *g = container_of(b, struct tool_renaming, base);

	buf_done(&g->tools);
	buf_done(&g->renamed);
	free(g->server);
	free(g);
}

static const struct mcp_backend_ops given_ops = { .call = tool_renaming_call,
						  .cancel = tool_renaming_cancel,
						  .free = tool_renaming_free };

struct mcp_backend *tool_renaming_new(struct mcp_backend *inner, const char *server,
				      struct tool_names *names, const struct tool_renaming_ops *ops,
				      void *ctx)
{
	struct tool_renaming *g = new0(struct tool_renaming);

	g->base.ops = &given_ops;
	g->inner = inner;
	g->server = xstrdup(server);
	g->names = names;
	g->ops = ops;
	g->ctx = ctx;
	return &g->base;
}
