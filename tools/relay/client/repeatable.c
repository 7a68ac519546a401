/*
 * repeatable.c - the tools that a server declared safe to repeat, learned from its lists.
 *
 * A later entry of the same name replaces the earlier one, so a tool that becomes destructive is
 * removed. The first page clears the list. Above TOOLGATE_TOOLS_MAX a tool is not stored and counts
 * as unsafe. Annotations are claims of the server: they permit a repetition and nothing else.
 */
#include "tools/relay/client/repeatable.h"

#include "base/util.h"
#include "base/limits.h"
#include "json/jstr.h"

static const char *const reads[] = {
	"server/discover",	"tools/list",	"resources/list", "resources/templates/list",
	"resources/read",	"prompts/list", "prompts/get",	  "completion/complete",
	"subscriptions/listen", "tasks/get",	"tasks/list",	  "tasks/result",
};

static size_t find(const struct repeatable_tools *r, const char *name)
{
	size_t i = 0;

	while (i < r->n && strcmp(r->tools[i], name) != 0)
		i++;
	return i;
}

static void drop(struct repeatable_tools *r, const char *name)
{
	size_t i = find(r, name);

	if (i == r->n)
		return;
	free(r->tools[i]);
	r->tools[i] = r->tools[--r->n];
}

static bool is_true(struct slice annotations, const char *key)
{
	return jobj_get(annotations, key).type == J_TRUE;
}

static bool is_harmless(struct slice tool)
{
	struct slice a = jobj_get(tool, "annotations").raw;

	return (is_true(a, "readOnlyHint") || is_true(a, "idempotentHint")) &&
	       !is_true(a, "destructiveHint");
}

static void take(struct repeatable_tools *r, struct slice tool)
{
	char *name = NULL;

	if (jstr_decode(jobj_get(tool, "name"), POLICY_NAME_MAX, &name) < 0)
		return;
	drop(r, name);
	if (!is_harmless(tool) || r->n >= TOOLGATE_TOOLS_MAX) {
		free(name);
		return;
	}
	*GROW(r->tools, r->n) = name;
}

void repeatable_note(struct repeatable_tools *r, struct slice result, bool first)
{
	if (first)
		repeatable_done(r);
	jarr_each(tool, jobj_get(result, "tools"))
		if (tool.type == J_OBJECT)
			take(r, tool.raw);
}

bool repeatable_allowed(const struct repeatable_tools *r, const char *method, struct slice params)
{
	_cleanup_(freep) char *name = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(reads); i++)
		if (strcmp(reads[i], method) == 0)
			return true;
	return strcmp(method, "tools/call") == 0 &&
	       jstr_decode(jobj_get(params, "name"), POLICY_NAME_MAX, &name) == 0 &&
	       find(r, name) < r->n;
}

void repeatable_done(struct repeatable_tools *r)
{
	for (size_t i = 0; i < r->n; i++)
		free(r->tools[i]);
	free(r->tools);
	*r = (struct repeatable_tools){ 0 };
}
