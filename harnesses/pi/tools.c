/* tools.c - tool executions as tool calls. One table has the form of each tool for clients; MCP tools are named by
 * their server. */
#include "harnesses/pi/internal.h"

#include "base/os/file.h"
#include "json/json.h"

#include <ctype.h>

#define TITLE_MAX 160

struct pi_tool {
	const char *name, *kind;
	const char *verb; /* put before the argument in the title */
	const char *title_arg, *path_arg;
};

static const struct pi_tool tools[] = {
	{ "bash", "execute", "", "command", NULL },
	{ "powershell", "execute", "", "command", NULL },
	{ "read", "read", "Read ", "path", "path" },
	{ "edit", "edit", "Edit ", "path", "path" },
	{ "write", "edit", "Write ", "path", "path" },
	{ "grep", "search", "Search ", "pattern", "path" },
	{ "find", "search", "Find ", "pattern", "path" },
	{ "ls", "search", "List ", "path", "path" },
	{ "tool_search", "search", "Search tools ", "query", NULL },
	{ "codemode", "execute", "Run script", NULL, NULL },
	{ "ask_user", "other", "Ask: ", "question", NULL },
};

/* Tools of servers and extensions: their arguments have no known meaning. */
static const struct pi_tool other_tool = { NULL, "other", "", NULL, NULL };

static const struct pi_tool *find_tool_row(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(tools); i++)
		if (strcmp(tools[i].name, name) == 0)
			return &tools[i];
	return &other_tool;
}

/* --- names of MCP tools: mcp__<server>__<tool>, odd characters replaced ------------------------------------ */

static bool same_but_odd(const char *name, const char *plain, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char c = isalnum((unsigned char)name[i]) ? name[i] : '_';

		if (c != plain[i])
			return false;
	}
	return true;
}

/* The server of this session whose name the tool's name holds; NULL: none. ret_tool: what follows. */
static char *mcp_server(const struct harness *h, const char *name, const char **ret_tool)
{
	const char *rest = strncmp(name, "mcp__", 5) == 0 ? name + 5 : NULL;

	if (!rest)
		return NULL;
	jarr_each(v, slice_of(h->mcp_servers)) {
		char *server = NULL;
		size_t n;

		if (jstr_decode(jobj_get(v.raw, "name"), 1024, &server) < 0)
			continue;
		n = strlen(server);
		/* Names of servers can contain "__" themselves, so the known servers are compared
		 * instead of splitting the name. */
		if (strlen(rest) > n + 2 && same_but_odd(server, rest, n) &&
		    strncmp(rest + n, "__", 2) == 0) {
			*ret_tool = rest + n + 2;
			return server;
		}
		free(server);
	}
	return NULL;
}

static bool describe_mcp(const struct harness *h, struct jw *w, const char *name)
{
	const char *tool = NULL;
	_cleanup_(freep) char *server = mcp_server(h, name, &tool);
	char text[TITLE_MAX];

	if (!server)
		return false;
	snprintf(text, sizeof(text), "%s/%s", server, tool);
	jw_str(w, "name", text);
	snprintf(text, sizeof(text), "%s.%s", server, tool);
	jw_str(w, "title", text);
	return true;
}

/* --- members ------------------------------------------------------------------------------------------------ */

static void put_call_title(struct jw *w, const struct pi_tool *tool, const char *name,
			   struct slice args)
{
	_cleanup_(freep) char *arg = NULL;
	char title[TITLE_MAX];

	if (!tool->title_arg || jstr_decode(jobj_get(args, tool->title_arg), PI_TEXT_MAX, &arg) < 0)
		xstrset(&arg, "");
	snprintf(title, sizeof(title), "%s%s", tool->verb, arg);
	err_flatten(title);
	/* not known yet, or not given: the bare verb */
	for (size_t n = strlen(title); !*arg && n && strchr(": ", title[n - 1]);)
		title[--n] = '\0';
	jw_str(w, "title", *title ? title : name);
}

static void put_locations(const struct harness *h, struct jw *w, const struct pi_tool *tool,
			  struct slice args)
{
	_cleanup_(freep) char *path = NULL, *full = NULL;
	struct jval line = jobj_get(args, "offset");
	int64_t n;

	if (!tool->path_arg || jstr_decode(jobj_get(args, tool->path_arg), 64 * KIB, &path) < 0)
		return;
	/* ACP requires absolute paths in locations. */
	full = *path == '/' ? xstrdup(path) : file_join(h->cwd, path);
	jw_arr(w, "locations");
	jw_obj(w, NULL);
	jw_str(w, "path", full);
	if (jdec_int(line, &n) == 0 && n > 0 && n < UINT32_MAX)
		jw_int(w, "line", n);
	jw_end_obj(w);
	jw_end_arr(w);
}

void pi_tool_describe(const struct harness *h, struct jw *w, struct jval name, struct jval args)
{
	_cleanup_(freep) char *text = NULL;
	const struct pi_tool *tool;

	if (jstr_decode(name, 1024, &text) < 0 || !*text)
		xstrset(&text, "tool");
	tool = find_tool_row(text);
	if (!describe_mcp(h, w, text)) {
		jw_str(w, "name", text);
		put_call_title(w, tool, text, args.raw);
	}
	jw_str(w, "kind", tool->kind);
	/* toolcall_start has no arguments yet; toolcall_end brings them. */
	if (args.type != J_OBJECT)
		return;
	put_locations(h, w, tool, args.raw);
	jw_raw(w, "rawInput", args.raw);
}

static void put_parent_call(struct jw *w, struct jval parent)
{
	if (parent.type != J_STRING)
		return;
	jw_object(w, "_meta", JW_OBJ("pi", JW_RAW("parentToolCallId", parent.raw)));
}

void pi_put_diff(struct jw *w, struct slice diff)
{
	struct jslot s[] = { { .key = "path" }, { .key = "oldText" }, { .key = "newText" } };

	if (jscan_object(diff, s, ARRAY_SIZE(s)) != JSCAN_OK || s[0].v.type != J_STRING ||
	    s[2].v.type != J_STRING)
		return;
	jw_object(w, NULL, JW_STR("type", "diff"), JW_RAW("path", s[0].v.raw),
		  JW_RAW("oldText", s[1].v.type == J_STRING ? s[1].v.raw : SLICE("null")),
		  JW_RAW("newText", s[2].v.raw));
}

/* Blocks that are ACP's as they stand: text and image. */
static bool block_ok(struct slice block)
{
	if (jstr_is(jobj_get(block, "type"), "text"))
		return jobj_get(block, "text").type == J_STRING;
	return jstr_is(jobj_get(block, "type"), "image") &&
	       jobj_get(block, "data").type == J_STRING &&
	       jobj_get(block, "mimeType").type == J_STRING;
}

static void put_result_content(struct jw *w, const struct pi_call *call, struct slice result)
{
	jw_arr(w, "content");
	if (call && call->diff)
		pi_put_diff(w, slice_of(call->diff));
	jarr_each(v, jobj_get(result, "content"))
		if (v.type == J_OBJECT && block_ok(v.raw))
			jw_object(w, NULL, JW_STR("type", "content"), JW_RAW("content", v.raw));
	jw_end_arr(w);
}

/* --- open calls ------------------------------------------------------------------------------------------- */

static struct pi_call *find_open_call(struct harness *h, struct jval id)
{
	list_each(c, &h->tool_calls, struct pi_call, link)
		if (jstr_is(id, c->id))
			return c;
	return NULL;
}

static struct pi_call *add_call(struct harness *h, struct jval id)
{
	struct pi_call *c = new0(struct pi_call);

	/* The id and the number of calls are Pi's choice, so both are limited. */
	if (jstr_decode(id, 4096, &c->id) < 0 || h->ntool_calls >= PI_CALLS_MAX) {
		free_each(c->id, c);
		return NULL;
	}
	h->ntool_calls++;
	list_add_tail(&h->tool_calls, &c->link);
	return c;
}

static void pi_call_free(struct harness *h, struct pi_call *c)
{
	h->ntool_calls--;
	list_del(&c->link);
	free_each(c->id, c->diff, c);
}

void pi_calls_free(struct harness *h)
{
	while (!list_empty(&h->tool_calls))
		pi_call_free(h, list_first(&h->tool_calls, struct pi_call, link));
}

static void open_tool_update(struct jw *w, enum harness_update kind, const char *id)
{
	harness_update_open(w, kind);
	jw_str(w, "toolCallId", id);
}

/* --- events ----------------------------------------------------------------------------------------------- */

void pi_tool_emit(struct harness *h, struct jval id, struct jval name, struct jval args,
		  struct jval parent, const char *status)
{
	JW_BUF(w, b);
	struct pi_call *c = find_open_call(h, id);
	enum harness_update kind = c ? UPDATE_TOOL_CALL_UPDATE : UPDATE_TOOL_CALL;

	if (!c)
		c = add_call(h, id);
	if (!c)
		return;
	open_tool_update(&w, kind, c->id);
	jw_str(&w, "status", status);
	pi_tool_describe(h, &w, name, args);
	put_parent_call(&w, parent);
	jw_end_obj(&w);
	harness_send_update(&h->host, kind, &b);
}

void pi_on_tool_start(struct harness *h, const struct pi_record *r)
{
	pi_tool_emit(h, r->m[M_CALL].v, r->m[M_TOOL].v, r->m[M_ARGS].v, r->m[M_PARENT].v,
		     "in_progress");
}

/* partialResult is the output so far, so it replaces what was shown. */
void pi_on_tool_update(struct harness *h, const struct pi_record *r)
{
	JW_BUF(w, b);
	struct pi_call *c = find_open_call(h, r->m[M_CALL].v);
	struct slice partial = r->m[M_PARTIAL].v.raw;

	/* Nothing to show yet: no content, or "[]". */
	if (!c || jobj_get(partial, "content").raw.n <= 2)
		return;
	open_tool_update(&w, UPDATE_TOOL_CALL_UPDATE, c->id);
	jw_str(&w, "status", "in_progress");
	put_result_content(&w, c, partial);
	jw_end_obj(&w);
	harness_send_update(&h->host, UPDATE_TOOL_CALL_UPDATE, &b);
}

/* A command that ends with another exit code than 0 is a success to Pi, and a failed call to clients. */
static bool result_failed(const struct pi_record *r)
{
	struct slice structured = jobj_get(r->m[M_RESULT].v.raw, "structuredContent").raw;
	struct jval code = jobj_get(structured, "exit_code");

	return r->m[M_IS_ERROR].v.type == J_TRUE ||
	       (code.type == J_NUMBER && !slice_is(code.raw, "0"));
}

void pi_on_tool_end(struct harness *h, const struct pi_record *r)
{
	JW_BUF(w, b);
	struct pi_call *c = find_open_call(h, r->m[M_CALL].v);
	struct slice result = r->m[M_RESULT].v.raw;

	if (!c)
		return;
	open_tool_update(&w, UPDATE_TOOL_CALL_UPDATE, c->id);
	jw_str(&w, "status", result_failed(r) ? "failed" : "completed");
	put_result_content(&w, c, result);
	if (r->m[M_RESULT].v.type == J_OBJECT) {
		/* its content is ours above */
		jw_obj(&w, "rawOutput");
		jw_members(&w, result, "content");
		jw_end_obj(&w);
	}
	put_parent_call(&w, r->m[M_PARENT].v);
	jw_end_obj(&w);
	harness_send_update(&h->host, UPDATE_TOOL_CALL_UPDATE, &b);
	pi_call_free(h, c);
}

/* The bridge sends the diff before the tool's end; it is part of each content until then. */
void pi_tool_diff(struct harness *h, struct slice message)
{
	struct pi_call *c = find_open_call(h, jobj_get(message, "toolCallId"));

	if (!c)
		return;
	jraw_set(&c->diff, (struct jval){ J_OBJECT, message }, J_OBJECT);
}
