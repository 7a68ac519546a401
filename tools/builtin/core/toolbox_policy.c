/* toolbox_policy.c - applies the policy to a call before it runs: whether the tool is listed, and its limits of time,
 * number and size. */
#include "tools/builtin/core/toolbox_internal.h"
#include "policy/policy.h"

#include <errno.h>

bool toolbox_has_tool(const struct toolbox *b, const struct builtin_tool *t)
{
	char **name = b->config.tools;

	while (name && *name && strcmp(*name, t->name) != 0)
		name++;
	return (!name || *name) &&
	       policy_tool(b->policy, t->category, t->name, NULL, NULL) != POLICY_DENY;
}

/* The text for a human: the tool, and the path or command of its arguments. */
static void title_put(struct buf *out, const struct toolbox_call *c, struct slice *paths,
		      struct slice *command)
{
	struct jval path = jobj_get(c->tool.args, "path"), text = jobj_get(c->tool.args, "command");
	struct jval shown = text.type == J_STRING ? text : path;

	buf_puts(out, c->tool.tool->title);
	if (shown.type == J_STRING)
		buf_printf(out, ": %.*s", (int)MIN(shown.raw.n, 400), shown.raw.p);
	buf_putc(out, '\0');
	if (text.type == J_STRING)
		*command = text.raw;
	if (path.type == J_STRING)
		*paths = path.raw;
}

static bool ask_first(struct toolbox_call *c)
{
	_cleanup_(buf_done) struct buf title = { 0 }, list = { 0 };
	struct slice path = SLICE_NONE, command = SLICE_NONE;

	title_put(&title, c, &path, &command);
	if (path.n)
		buf_printf(&list, "[%.*s]", (int)path.n, path.p);
	return title.failed || list.failed ?
		       false :
		       tool_allowed(&c->tool, title.data, buf_slice(&list), command);
}

static bool count_call(struct toolbox *b, const struct builtin_tool *t, int64_t most)
{
	size_t i = 0;

	while (tool_at(i) != t)
		i++;
	if (most >= 0 && b->called[i] >= most)
		return false;
	b->called[i]++;
	return true;
}

bool toolbox_policy_pass(struct toolbox_call *c)
{
	struct toolbox *b = c->tool.box;
	const struct builtin_tool *t = c->tool.tool;
	struct policy_limits limits = policy_tool_limits(b->policy, t->name);
	struct err e = { 0 };

	c->tool.dry_run = b->config.dry_run || limits.dry_run;
	c->time_ms = limits.timeout_ms;
	c->result_max = limits.max_result_bytes;
	if (policy_tool(b->policy, t->category, t->name, NULL, &e) == POLICY_ASK && !ask_first(c))
		return false;
	if (!count_call(b, t, limits.max_calls)) {
		err_set(&e, -EDQUOT, 0, "MAX_CALLS",
			"%s was called %lld times, as often as it may be", t->name,
			(long long)limits.max_calls);
		tool_fail(&c->tool, &e, SLICE_NONE);
		return false;
	}
	return true;
}

int toolbox_policy_open(struct toolbox *b, struct err *e)
{
	size_t n = 0;

	while (tool_at(n))
		n++;
	b->called = xalloc(n * sizeof(*b->called));
	return b->config.policy ?
		       policy_parse(slice_of(b->config.policy), tool_known, &b->policy, e) :
		       0;
}

void toolbox_policy_close(struct toolbox *b)
{
	policy_free(b->policy);
	free(b->called);
}
