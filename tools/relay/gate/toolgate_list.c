/*
 * toolgate_list.c - removes denied tools from tools/list, and stores which tools announce an output
 * schema.
 *
 * A model should not see a tool that it cannot call; the refusal itself is in toolgate.c. Only the
 * array is replaced, so the rest of the result keeps every byte. Pages accumulate until the next
 * first page. A tool above TOOLGATE_TOOLS_MAX is listed, and counts as one without schema.
 */
#include "tools/relay/gate/toolgate_internal.h"

#include "base/util.h"
#include "json/jstr.h"
#include "tools/mcp/msg.h"

void toolgate_list_forget(struct toolgate *g)
{
	for (size_t i = 0; i < g->ntools; i++)
		free(g->tools[i].name);
	free(TAKE_PTR(g->tools));
	g->ntools = 0;
}

static const struct toolgate_tool *tool_listed(const struct toolgate *g, const char *name)
{
	for (size_t i = 0; i < g->ntools; i++)
		if (strcmp(g->tools[i].name, name) == 0)
			return &g->tools[i];
	return NULL;
}

bool toolgate_list_has_schema(const struct toolgate *g, const char *tool)
{
	const struct toolgate_tool *t = tool_listed(g, tool);

	return t && t->has_schema;
}

/* False: the tool is denied, or has no usable name. */
static bool tool_take(struct toolgate *g, struct slice tool)
{
	char *name = NULL;
	struct mcp_policy_word word;
	struct toolgate_tool *t;

	if (jstr_decode(jobj_get(tool, "name"), POLICY_NAME_MAX, &name) < 0)
		return false;
	mcp_policy_word(g->config.rules, g->server, name, g->config.fallback, &word, NULL);
	/* A tool that is listed twice stays: its first row is the one that counts here. */
	if (word.rule.verdict == POLICY_DENY || tool_listed(g, name) ||
	    g->ntools >= TOOLGATE_TOOLS_MAX) {
		free(name);
		return word.rule.verdict != POLICY_DENY;
	}
	t = GROW(g->tools, g->ntools);
	t->name = name;
	t->has_schema = jobj_get(tool, "outputSchema").type == J_OBJECT;
	return true;
}

/* Copies the tools that stay, and the text around the array. */
static size_t array_filter(struct toolgate *g, struct jval tools, struct buf *kept)
{
	size_t dropped = 0;

	jarr_each(tool, tools) {
		if (!tool_take(g, tool.raw)) {
			dropped++;
			continue;
		}
		buf_putc(kept, buf_len(kept) ? ',' : '[');
		buf_add_slice(kept, tool.raw);
	}
	buf_puts(kept, buf_len(kept) ? "]" : "[]");
	return dropped;
}

bool toolgate_list_filter(struct toolgate *g, struct slice result, bool first, struct buf *out)
{
	_cleanup_(buf_done) struct buf kept = { 0 };
	struct jval tools = jobj_get(result, "tools");
	size_t dropped;

	if (tools.type != J_ARRAY)
		return false;
	if (first)
		toolgate_list_forget(g);
	dropped = array_filter(g, tools, &kept);
	/* The server's own bytes pass unchanged. */
	if (!dropped)
		return false;
	mcp_text_splice(out, result, tools.raw, buf_slice(&kept));
	return true;
}
