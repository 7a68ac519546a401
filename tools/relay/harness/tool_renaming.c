/*
 * tool_renaming.c - renames the tools of one server for the harness, and gives them schemas that it
 * accepts.
 *
 * Only tools/list and tools/call are changed. A list is written again only if a tool in it changed.
 * `listing` counts lists and `page` counts pages: a tool is reported once for each list, and one
 * that a page has twice is left out. TOOL_SCHEMA_EFFORT_MAX limits the work on one list, because
 * the server chooses its schemas.
 */
#include "tools/relay/harness/tool_renaming.h"

#include "base/limits.h"
#include "base/util.h"
#include "json/json.h"
#include "tools/mcp/msg.h"
#include "tools/relay/harness/schema_fitting.h"

struct tool_renaming {
	struct mcp_backend base; /* first */
	struct mcp_backend *inner;
	char *server;
	struct tool_names *names;
	const struct tool_renaming_ops *ops;
	void *ctx;
	uint64_t listing; /* the number of the present one */
	uint64_t page;	  /* the same of its pages, and of those of all before it */
	struct buf tools, renamed, omitted; /* of the listing, raw elements */
	unsigned nomitted;
};

/* A call of tools/list; all others are the inner backend's own. */
struct tool_renaming_call {
	struct mcp_call call; /* first */
	struct tool_renaming *g;
	struct mcp_call *inner;
	bool first_page;
};

/* --- lists --------------------------------------------------------------------------------------------- */

static void tool_renaming_note(struct tool_renaming *g, struct tool_name *t)
{
	struct jw tools = { &g->tools, buf_len(&g->tools) > 0 },
		  renamed = { &g->renamed, buf_len(&g->renamed) > 0 };

	/* Pages of one list may repeat a tool, which is reported once. */
	if (t->seen == g->listing)
		return;
	t->seen = g->listing;
	jw_str(&tools, NULL, t->tool);
	if (t->alias == t->tool)
		return;
	jw_object(&renamed, NULL, JW_STR("tool", t->tool), JW_STR("as", t->alias));
}

static void tool_renaming_omit(struct tool_renaming *g, struct jval name, const char *reason,
			       const char *message)
{
	struct jw w = { &g->omitted, buf_len(&g->omitted) > 0 };

	/* The server chooses how many tools are omitted, so the report has a limit. */
	if (g->nomitted++ >= TOOLS_OMITTED_MAX)
		return;
	jw_obj(&w, NULL);
	if (name.type == J_STRING && name.raw.n <= POLICY_NAME_MAX)
		jw_raw(&w, "tool", name.raw);
	else
		jw_str(&w, "tool", "");
	jw_str(&w, "reason", reason);
	jw_str(&w, "message", message);
	jw_end_obj(&w);
}

/* Writes a call with another name. */
static void put_renamed(struct buf *out, struct slice object, const char *name)
{
	JW_BUF(w, b);

	jw_str(&w, NULL, name);
	mcp_text_splice(out, object, jobj_get(object, "name").raw, buf_slice(&b));
}

/* What a member of a tool has to be: a client that checks a list drops all of it for one that is something else. */
static const struct {
	const char *key;
	enum jtype type;
} members[] = {
	{ "title", J_STRING },	      { "description", J_STRING }, { "annotations", J_OBJECT },
	{ "outputSchema", J_OBJECT }, { "icons", J_ARRAY },	   { "execution", J_OBJECT },
	{ "_meta", J_OBJECT },
};

static bool is_odd_member(struct slice key, struct jval v)
{
	if (jkey_is(key, "outputSchema") && v.type == J_OBJECT)
		return !jstr_is(jobj_get(v.raw, "type"), "object");
	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		if (jkey_is(key, members[i].key))
			return v.type != members[i].type;
	return false;
}

static bool has_odd_member(struct slice tool)
{
	jobj_each(key, v, tool)
		if (is_odd_member(key, v))
			return true;
	return false;
}

/* Writes the tool with this name and this schema (empty: its own), without odd members. */
static void tool_renaming_put_changed(struct buf *out, struct slice tool, const char *name,
				      struct slice schema)
{
	struct jw w = JW(out);

	jw_obj(&w, NULL);
	jobj_each(key, v, tool) {
		if (jkey_is(key, "name"))
			jw_str(&w, "name", name);
		else if (!is_odd_member(key, v) && !(schema.n && jkey_is(key, "inputSchema")))
			jw_member_raw(&w, key, v.raw);
	}
	jw_raw(&w, "inputSchema", schema);
	jw_end_obj(&w);
}

/* The entry of a tool that the harness may have; NULL: it is left out. */
static struct tool_name *tool_renaming_take_name(struct tool_renaming *g, struct jval tool)
{
	struct jval name = jobj_get(tool.raw, "name");
	_cleanup_(freep) char *text = NULL;
	struct tool_name *t = NULL;

	if (tool.type != J_OBJECT || jstr_decode(name, POLICY_NAME_MAX, &text) < 0 || !*text) {
		tool_renaming_omit(g, name, "TOOL_NAME_INVALID",
				   "name: must be text of 1 to 1024 bytes");
		return NULL;
	}
	t = tool_names_take(g->names, g->server, text);
	if (!t)
		tool_renaming_omit(g, name, "TOO_MANY_TOOLS", "the session has 16384 tools");
	else if (t->page == g->page)
		tool_renaming_omit(g, name, "TOOL_NAME_TAKEN",
				   "name: the list has this tool twice");
	else
		return t;
	return NULL;
}

/* False: it is unchanged. */
static bool tool_put(struct tool_renaming *g, struct jval tool, size_t *effort, struct buf *out)
{
	_cleanup_(buf_done) struct buf schema = { 0 };
	struct tool_name *t = tool_renaming_take_name(g, tool);
	enum schema_fit fit;
	const char *why;

	if (!t)
		return true;
	fit = input_schema_fit(jobj_get(tool.raw, "inputSchema"), effort, &schema, &why);
	if (fit == SCHEMA_UNFIT) {
		tool_renaming_omit(g, jobj_get(tool.raw, "name"), "TOOL_SCHEMA_UNSUPPORTED", why);
		return true;
	}
	t->page = g->page;
	tool_renaming_note(g, t);
	if (buf_len(out) > 1)
		buf_putc(out, ',');
	if (fit == SCHEMA_FITS && t->alias == t->tool && !has_odd_member(tool.raw)) {
		buf_add_slice(out, tool.raw);
		return false;
	}
	tool_renaming_put_changed(out, tool.raw, t->alias, buf_slice(&schema));
	return true;
}

/* The result as the harness gets it, to out if it differs. */
static void list_put(struct tool_renaming *g, struct slice result, struct buf *out)
{
	_cleanup_(buf_done) struct buf tools = { .max = MCP_LINE_MAX };
	struct jval list = jobj_get(result, "tools");
	size_t effort = TOOL_SCHEMA_EFFORT_MAX;
	bool changed = false;

	if (list.type != J_ARRAY)
		return;
	g->page++;
	buf_putc(&tools, '[');
	jarr_each(v, list)
		changed |= tool_put(g, v, &effort, &tools);
	buf_putc(&tools, ']');
	if (!changed)
		return;
	mcp_text_splice(out, result, list.raw, buf_slice(&tools));
	out->failed |= tools.failed;
}

static void tool_renaming_put_array(struct buf *out, const struct buf *elements)
{
	buf_putc(out, '[');
	buf_add_slice(out, buf_slice(elements));
	buf_putc(out, ']');
}

static void tool_renaming_report(const struct tool_renaming *g)
{
	_cleanup_(buf_done) struct buf tools = { 0 }, renamed = { 0 }, omitted = { 0 };

	tool_renaming_put_array(&tools, &g->tools);
	if (buf_len(&g->renamed))
		tool_renaming_put_array(&renamed, &g->renamed);
	if (buf_len(&g->omitted))
		tool_renaming_put_array(&omitted, &g->omitted);
	if (!g->tools.failed && !g->renamed.failed && !g->omitted.failed)
		g->ops->listed(g->ctx, buf_slice(&tools), buf_slice(&renamed), buf_slice(&omitted));
}

static void tool_renaming_on_done(void *ctx, struct slice result, struct slice error)
{
	_cleanup_(buf_done) struct buf out = { .max = MCP_LINE_MAX };
	_cleanup_(freep) struct tool_renaming_call *c = ctx;
	struct tool_renaming *g = c->g;

	if (result.n) {
		/* Only with a result: a list that failed must not clear what the last one reported. */
		if (c->first_page) {
			g->listing++;
			buf_reset(&g->tools);
			buf_reset(&g->renamed);
			buf_reset(&g->omitted);
			g->nomitted = 0;
		}
		list_put(g, result, &out);
		tool_renaming_report(g);
	}
	if (out.failed)
		mcp_call_done(&c->call, SLICE_NONE,
			      SLICE("{\"code\":-32603,\"message\":\"out of memory\"}"));
	else
		mcp_call_done(&c->call, buf_len(&out) ? buf_slice(&out) : result, error);
}

static const struct mcp_reply_ops list_ops = { .notify = mcp_call_pass,
					       .done = tool_renaming_on_done };

static struct mcp_call *tool_renaming_call_list(struct tool_renaming *g, struct slice params,
						const struct mcp_reply_ops *ops, void *ctx)
{
	struct tool_renaming_call *c = new0(struct tool_renaming_call);

	c->call = (struct mcp_call){ &g->base, ops, ctx };
	c->g = g;
	c->first_page = jobj_get(params, "cursor").type == J_NONE;
	c->inner = mcp_backend_call(g->inner, "tools/list", params, &list_ops, c);
	return &c->call;
}

/* --- calls ------------------------------------------------------------------------------------------------ */

static struct mcp_call *tool_renaming_call_tool(struct tool_renaming *g, struct slice params,
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
		return tool_renaming_call_tool(g, params, ops, ctx);
	if (strcmp(method, "tools/list") == 0)
		return tool_renaming_call_list(g, params, ops, ctx);
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
	buf_done(&g->omitted);
	free_each(g->server, g);
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
