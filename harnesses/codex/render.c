/*
 * render.c - each type of Codex's items as an ACP tool call.
 *
 * A row says how an item's head and content are written and when it has failed beyond its status. A tool call is rendered at
 * its start, and its content again at its end. Members of an item that ACP has no place for are in rawInput and rawOutput.
 */
#include "harnesses/codex/internal.h"

#include "json/jdec.h"

#define TITLE_MAX 300

static void put_raw_members(struct jw *w, const char *key, struct slice item,
			    const char *const *names)
{
	jw_obj(w, key);
	for (; *names; names++) {
		struct jval v = jobj_get(item, *names);

		if (v.type != J_NONE && v.type != J_NULL)
			jw_raw(w, *names, v.raw);
	}
	jw_end_obj(w);
}

static void put_location(struct jw *w, const char *dir, const char *path)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	if (!path)
		return;
	/* ACP requires absolute paths in locations. */
	if (path[0] != '/')
		buf_printf(&b, "%s/", dir ? dir : "");
	buf_puts(&b, path);
	jw_object(w, NULL, JW_SLICE("path", buf_slice(&b)));
}

static void put_shown_text(struct jw *w, struct jval text)
{
	if (text.type == J_STRING && text.raw.n > 2)
		harness_put_text_part(w, text.raw);
}

static void put_item_title(struct jw *w, const char *text)
{
	/* not cut inside a character: the writer replaces what is not UTF-8 */
	jw_slice(w, "title", (struct slice){ text, strnlen(text, 4096) });
}

/* --- commands as a user wrote them: `/bin/bash -lc 'echo hi'` is how Codex runs `echo hi` ----------- */

static const char *const wrappers[] = { "/bin/bash -lc ",   "/usr/bin/bash -lc ", "bash -lc ",
					"/bin/sh -c ",	    "/usr/bin/zsh -lc ",  "/bin/zsh -lc ",
					"/bin/bash -c ",    "/usr/bin/bash -c ",  "bash -c ",
					"/usr/bin/zsh -c ", "/bin/zsh -c " };

/* One word as a shell reads it; NULL if there is more than one. */
static char *unquote_shell_word(const char *p)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	char quote = '\0';

	for (; *p; p++) {
		if (quote == '\'' ? *p == '\'' : *p == '"' && quote == '"') {
			quote = '\0';
		} else if (!quote && (*p == '\'' || *p == '"')) {
			quote = *p;
		} else if (*p == '\\' && quote != '\'' && p[1] &&
			   (!quote || strchr("\\\"$`", p[1]))) {
			buf_putc(&b, *++p);
		} else if (!quote && *p == ' ') {
			return NULL;
		} else {
			buf_putc(&b, *p);
		}
	}
	return quote || b.failed ? NULL : xstrndup(b.data ? b.data : "", b.len);
}

char *codex_command_text(const char *command)
{
	char *text = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(wrappers) && !text; i++)
		if (slice_starts(slice_of(command), wrappers[i]))
			text = unquote_shell_word(command + strlen(wrappers[i]));
	/* An empty command would hide what runs, so the wrapper is shown. */
	return text && *text ? text : (free(text), xstrdup(command));
}

/* --- commands ---------------------------------------------------------------------------------------- */

static const struct {
	const char *action, *kind;
} actions[] = { { "read", "read" }, { "search", "search" }, { "listFiles", "search" } };

static const char *kind_of_action(struct jval type)
{
	for (size_t i = 0; i < ARRAY_SIZE(actions); i++)
		if (jstr_is(type, actions[i].action))
			return actions[i].kind;
	return "execute";
}

/* What all its parts are; a command of many kinds is just a command. */
static const char *command_kind(struct jval list)
{
	const char *kind = NULL;

	jarr_each(v, list) {
		const char *k = kind_of_action(jobj_get(v.raw, "type"));

		if (kind && strcmp(kind, k) != 0)
			return "execute";
		kind = k;
	}
	return kind ? kind : "execute";
}

static void command_head(struct jw *w, struct slice item, const struct tool_row *row _unused_)
{
	static const char *const input[] = { "command", "cwd", NULL };
	_cleanup_(freep) char *command = codex_str(item, "command"), *cwd = codex_str(item, "cwd");
	_cleanup_(freep) char *text = codex_command_text(command ? command : "");
	struct jval list = jobj_get(item, "commandActions");

	put_item_title(w, text);
	jw_str(w, "name", "exec_command");
	jw_str(w, "kind", command_kind(list));
	jw_arr(w, "locations");
	jarr_each(v, list) {
		_cleanup_(freep) char *path = codex_str(v.raw, "path");

		put_location(w, cwd, path);
	}
	jw_end_arr(w);
	put_raw_members(w, "rawInput", item, input);
}

static void command_content(struct jw *w, struct slice item)
{
	put_shown_text(w, jobj_get(item, "aggregatedOutput"));
}

static bool command_failed(struct slice item)
{
	int64_t code;

	return jdec_int(jobj_get(item, "exitCode"), &code) == 0 && code != 0;
}

/* --- patches ----------------------------------------------------------------------------------------- */

static const struct {
	const char *change, *kind, *verb;
} changes_rows[] = {
	{ "add", "edit", "Add" },
	{ "update", "edit", "Edit" },
	{ "delete", "delete", "Delete" },
};

static void change_title(struct jw *w, struct slice first, size_t n)
{
	struct slice native = jobj_get(first, "kind").raw;
	_cleanup_(freep) char *path = codex_str(first, "path"),
			      *to = codex_str(native, "move_path");
	_cleanup_(buf_done) struct buf b = { 0 };
	const char *kind = "edit", *verb = "Edit";

	for (size_t i = 0; i < ARRAY_SIZE(changes_rows); i++) {
		if (jstr_is(jobj_get(native, "type"), changes_rows[i].change)) {
			kind = changes_rows[i].kind;
			verb = changes_rows[i].verb;
		}
	}
	if (n == 1 && to) {
		kind = "move";
		verb = "Move";
	}
	if (n == 1)
		buf_printf(&b, "%s %s", verb, path ? path : "a file");
	else
		buf_printf(&b, "Edit %zu files", n);
	buf_putc(&b, '\0');
	put_item_title(w, b.data ? b.data : "Edit");
	jw_str(w, "kind", n == 1 ? kind : "edit");
}

static void patch_head(struct jw *w, struct slice item, const struct tool_row *row _unused_)
{
	static const char *const input[] = { "changes", NULL };
	struct slice first = SLICE_NONE;
	size_t n = 0;

	jw_arr(w, "locations");
	jarr_each(v, jobj_get(item, "changes")) {
		_cleanup_(freep) char *path = codex_str(v.raw, "path");
		_cleanup_(freep) char *to = codex_str(jobj_get(v.raw, "kind").raw, "move_path");

		if (!n++)
			first = v.raw;
		put_location(w, NULL, path);
		put_location(w, NULL, to);
	}
	jw_end_arr(w);
	change_title(w, first, n);
	jw_str(w, "name", "apply_patch");
	put_raw_members(w, "rawInput", item, input);
}

static void patch_content(struct jw *w, struct slice item)
{
	codex_diff_put(w, jobj_get(item, "changes").raw);
}

/* --- MCP and other tools ------------------------------------------------------------------------------ */

static void mcp_head(struct jw *w, struct slice item, const struct tool_row *row)
{
	_cleanup_(freep) char *server = codex_str(item, "server"), *tool = codex_str(item, "tool");
	_cleanup_(buf_done) struct buf title = { 0 }, name = { 0 };

	buf_printf(&title, "%s.%s", server ? server : "?", tool ? tool : "?");
	buf_printf(&name, "%s/%s", server ? server : "?", tool ? tool : "?");
	jw_slice(w, "title", buf_slice(&title));
	jw_slice(w, "name", buf_slice(&name));
	jw_str(w, "kind", row->kind);
	jw_raw(w, "rawInput", jobj_get(item, "arguments").raw);
}

/* MCP's content blocks are ACP's; one of a type ACP does not have stays in rawOutput. */
static void put_mcp_block(struct jw *w, struct jval block)
{
	static const char *const types[] = { "text", "image", "audio", "resource_link",
					     "resource" };
	struct jval type;

	if (block.type != J_OBJECT)
		return;
	type = jobj_get(block.raw, "type");
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		if (!jstr_is(type, types[i]))
			continue;
		jw_object(w, NULL, JW_STR("type", "content"), JW_RAW("content", block.raw));
	}
}

static void mcp_content(struct jw *w, struct slice item)
{
	struct jval content = jobj_get(jobj_get(item, "result").raw, "content");

	jarr_each(v, content)
		put_mcp_block(w, v);
	put_shown_text(w, jobj_get(jobj_get(item, "error").raw, "message"));
}

static bool mcp_failed(struct slice item)
{
	return jobj_get(item, "error").type == J_OBJECT ||
	       jobj_get(jobj_get(item, "result").raw, "isError").type == J_TRUE;
}

static void dynamic_head(struct jw *w, struct slice item, const struct tool_row *row)
{
	jw_raw(w, "title", jobj_get(item, "tool").raw);
	jw_raw(w, "name", jobj_get(item, "tool").raw);
	jw_str(w, "kind", row->kind);
	jw_raw(w, "rawInput", jobj_get(item, "arguments").raw);
}

static void dynamic_content(struct jw *w, struct slice item)
{
	struct jval list = jobj_get(item, "contentItems");

	jarr_each(v, list)
		put_shown_text(w, jobj_get(v.raw, "text"));
}

static bool dynamic_failed(struct slice item)
{
	return jobj_get(item, "success").type == J_FALSE;
}

/* The first of these members that is a text describes the action. */
static void plain_head(struct jw *w, struct slice item, const struct tool_row *row)
{
	static const char *const titles[] = { "query",	       "path",	    "prompt",
					      "revisedPrompt", "agentPath", NULL };
	static const char *const input[] = { "query",	   "action", "path",
					     "tool",	   "prompt", "model",
					     "durationMs", "kind",   "receiverThreadIds",
					     "agentPath",  NULL };
	_cleanup_(freep) char *text = NULL, *path = codex_str(item, "path");
	_cleanup_(buf_done) struct buf title = { 0 };

	for (const char *const *t = titles; *t && (!text || !*text); t++) {
		free(text);
		text = codex_str(item, *t);
	}
	buf_printf(&title, "%s%s", row->label, text && *text ? ": " : "");
	buf_add(&title, text ? text : "", text ? strnlen(text, TITLE_MAX) : 0);
	jw_slice(w, "title", buf_slice(&title));
	jw_str(w, "name", row->name);
	jw_str(w, "kind", row->kind);
	jw_arr(w, "locations");
	put_location(w, NULL, path);
	jw_end_arr(w);
	put_raw_members(w, "rawInput", item, input);
}

static bool generation_failed(struct slice item)
{
	return jobj_get(item, "failure").type == J_OBJECT;
}

static const struct tool_row rows[] = {
	{ "commandExecution", "exec_command", NULL, "execute", command_head, command_content,
	  command_failed },
	{ "fileChange", "apply_patch", NULL, "edit", patch_head, patch_content, NULL },
	{ "mcpToolCall", NULL, NULL, "other", mcp_head, mcp_content, mcp_failed },
	{ "dynamicToolCall", NULL, NULL, "other", dynamic_head, dynamic_content, dynamic_failed },
	{ "webSearch", "web_search", "Web search", "fetch", plain_head, NULL, NULL },
	{ "imageView", "view_image", "View image", "read", plain_head, NULL, NULL },
	{ "imageGeneration", "image_generation", "Generate image", "other", plain_head, NULL,
	  generation_failed },
	{ "collabAgentToolCall", "collab_agent", "Subagent", "think", plain_head, NULL, NULL },
	{ "subAgentActivity", "collab_agent", "Subagent", "think", plain_head, NULL, NULL },
	{ "sleep", "sleep", "Sleep", "other", plain_head, NULL, NULL },
};

const struct tool_row *codex_tool_row(struct jval type)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (jstr_is(type, rows[i].type))
			return &rows[i];
	return NULL;
}

void codex_output_put(struct jw *w, const char *key, struct slice item)
{
	static const char *const output[] = {
		"status",  "aggregatedOutput", "exitCode", "durationMs",   "result",  "error",
		"success", "contentItems",     "results",  "agentsStates", "failure", "savedPath",
		NULL
	};

	put_raw_members(w, key, item, output);
}

/* A command without a process has not been started: it waits for its approval. */
const char *codex_tool_status(const struct tool_row *row, struct slice item, bool completed)
{
	struct jval status = jobj_get(item, "status"), process = jobj_get(item, "processId");

	if (!completed)
		/* command_failed identifies the row of commands. */
		return row->failed == command_failed && process.type == J_NULL ? "pending" :
										 "in_progress";
	if (jstr_is(status, "failed") || jstr_is(status, "declined") ||
	    (row->failed && row->failed(item)))
		return "failed";
	return "completed";
}
