/*
 * agui_tools.c - the front end's tools as an MCP server of type acp: discovery, list, calls and
 * results.
 *
 * Only revision 2026-07-28 is served. ttlMs is 0, because each run can replace the tools. Schemas,
 * arguments and results are forwarded as raw JSON. The result of a lost call warns the agent that
 * the front end may have executed it.
 */
#include "agui/agui_link.h"

#include "agui/agui_said.h"
#include "base/limits.h"
#include "json/jstr.h"

void agui_tools_declare(struct jw *w)
{
	jw_object(w, NULL, JW_STR("type", "acp"), JW_STR("name", AGUI_SERVER),
		  JW_STR("serverId", AGUI_SERVER));
}

/* --- what is not a call --------------------------------------------------------------------------------------------- */

static void put_discovery(struct jw *w, struct slice tools _unused_)
{
	jw_raw(w, "supportedVersions", SLICE("[\"2026-07-28\"]"));
	jw_raw(w, "capabilities", SLICE("{\"tools\":{}}"));
}

static void put_tool(struct jw *w, struct slice tool)
{
	struct jval schema = jobj_get(tool, "parameters");

	/* MCP requires inputSchema; a tool of AG-UI may have no parameters. */
	jw_object(w, NULL, JW_RAW("name", jobj_get(tool, "name").raw),
		  JW_RAW("description", jobj_get(tool, "description").raw),
		  JW_RAW("inputSchema",
			 schema.type == J_OBJECT ? schema.raw : SLICE("{\"type\":\"object\"}")));
}

static void put_tool_list(struct jw *w, struct slice tools)
{
	jw_arr(w, "tools");
	jarr_each(v, tools)
		put_tool(w, v.raw);
	jw_end_arr(w);
}

static const struct {
	const char *method;
	void (*put)(struct jw *w, struct slice tools);
} methods[] = {
	{ "server/discover", put_discovery },
	{ "tools/list", put_tool_list },
};

static void put_mcp_answer(void (*put)(struct jw *w, struct slice tools), struct slice tools,
			   struct buf *ret)
{
	struct jw w = JW(ret);

	jw_obj(&w, NULL);
	jw_obj(&w, "result");
	jw_str(&w, "resultType", "complete");
	jw_uint(&w, "ttlMs", 0);
	jw_str(&w, "cacheScope", "private");
	put(&w, tools);
	jw_end_obj(&w);
	jw_end_obj(&w);
}

void agui_tools_answer(struct slice method, struct slice tools, struct buf *ret)
{
	struct jval v = { J_STRING, method };

	for (size_t i = 0; i < ARRAY_SIZE(methods); i++)
		if (jstr_is(v, methods[i].method)) {
			put_mcp_answer(methods[i].put, tools, ret);
			return;
		}
	buf_puts(ret, "{\"error\":{\"code\":-32601,\"message\":\"Method not found\"}}");
}

/* --- results -------------------------------------------------------------------------------------------------------- */

static void put_result_text(struct jw *w, struct slice raw)
{
	jw_object(w, NULL, JW_STR("type", "text"), JW_RAW("text", raw));
}

/* Pictures as such, all else as the text that it is. */
static void put_result_part(struct jw *w, struct slice part)
{
	struct slice source = jobj_get(part, "source").raw;
	struct jval text = jobj_get(part, "text"), data = jobj_get(source, "value"),
		    mime = jobj_get(source, "mimeType");

	if (text.type == J_STRING) {
		put_result_text(w, text.raw);
		return;
	}
	jw_obj(w, NULL);
	if (jstr_is(jobj_get(part, "type"), "image") && data.type == J_STRING &&
	    mime.type == J_STRING && jstr_is(jobj_get(source, "type"), "data")) {
		jw_str(w, "type", "image");
		jw_raw(w, "data", data.raw);
		jw_raw(w, "mimeType", mime.raw);
	} else {
		jw_str(w, "type", "text");
		jw_slice(w, "text", part);
	}
	jw_end_obj(w);
}

void agui_tools_result(struct jval content, struct slice error, struct buf *ret)
{
	struct jw w = JW(ret);

	jw_obj(&w, NULL);
	jw_obj(&w, "result");
	jw_str(&w, "resultType", "complete");
	jw_arr(&w, "content");
	if (content.type == J_STRING)
		put_result_text(&w, content.raw);
	jarr_each(v, content)
		put_result_part(&w, v.raw);
	if (error.n)
		put_result_text(&w, error);
	jw_end_arr(&w);
	if (error.n)
		jw_bool(&w, "isError", true);
	jw_end_obj(&w);
	jw_end_obj(&w);
}

void agui_tools_lost(struct buf *ret)
{
	buf_puts(
		ret,
		"{\"result\":{\"resultType\":\"complete\",\"isError\":true,\"content\":[{\"type\":\"text\","
		"\"text\":\"TOOL_CALL_LOST: the front end did not answer in time. The call may have been "
		"carried out: check its effect before it is made again.\"}],\"_meta\":{\"acpd\":{\"error\":"
		"{\"code\":\"TOOL_CALL_LOST\",\"message\":\"the front end did not answer in time\"}}}}}");
}

/* --- calls ---------------------------------------------------------------------------------------------------------- */

struct agui_front_call *agui_front_call_new(uint64_t rpc_id, struct slice params)
{
	struct slice inner = jobj_get(params, "params").raw;
	struct agui_front_call *c;
	struct slice args;

	if (!jstr_is(jobj_get(params, "method"), "tools/call"))
		return NULL;
	c = new0(struct agui_front_call);
	list_init(&c->link);
	c->rpc_id = rpc_id;
	c->id = jobj_str(params, "requestId", RPC_ID_MAX);
	c->tool = jobj_str(inner, "name", RPC_ID_MAX);
	args = jobj_get(inner, "arguments").raw;
	/* Copied: params point into a frame that does not outlive this call. */
	c->text = xstrndup(args.n ? args.p : "", args.n);
	c->args = slice_of(c->text);
	c->digest = agui_args_digest(c->args);
	if (c->id && c->tool)
		return c;
	agui_front_call_free(c);
	return NULL;
}

void agui_front_call_free(struct agui_front_call *c)
{
	list_del(&c->link);
	free_each(c->id, c->tool, c->harness_id, c->text, c);
}
