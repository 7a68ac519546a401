/*
 * mcp_policy.c - the rules for tools of MCP servers: their parser and the lookup of one tool.
 *
 * mcp_policy_word merges up to four layers. Each fills only the members that the previous layers
 * left open. Layers 0 and 1 are rules for the tool, of its own server and of "*". Layers 2 and 3
 * are rules for the whole server, in the same order, and limit server_calls. The reason names the
 * first layer that has a verdict.
 */
#include "policy/mcp_policy.h"

#include "base/util.h"
#include "base/limits.h"
#include "json/jscan.h"

#define ANY_SERVER "*"

struct server_rules {
	char *name;
	struct policy_rule own;
	struct policy_rules tools;
};

struct mcp_policy {
	struct server_rules *v;
	size_t n;
};

struct mcp_policy *mcp_policy_free(struct mcp_policy *r)
{
	if (!r)
		return NULL;
	for (size_t i = 0; i < r->n; i++) {
		policy_rules_done(&r->v[i].tools);
		free(r->v[i].name);
	}
	free_each(r->v, r);
	return NULL;
}

static void mcp_policy_cleanup(struct mcp_policy **r)
{
	mcp_policy_free(*r);
}

static int server_add(struct mcp_policy *rules, struct slice key, struct jval v, const char *field,
		      struct err *e)
{
	struct server_rules *s;
	struct slice tools = SLICE_NONE;
	char path[sizeof(e->field)], below[sizeof(e->field)];
	int r;

	snprintf(path, sizeof(path), "%s.%.*s", field, (int)MIN(key.n, 40u), key.p);
	err_flatten(path);
	if (rules->n >= POLICY_RULES_MAX)
		return err_field(e, path, "FIELD_INVALID", "%s has more than %d members", field,
				 POLICY_RULES_MAX);
	/* Counted at once, so that mcp_policy_free frees it after an error. */
	s = GROW(rules->v, rules->n);
	s->own = POLICY_RULE_NONE;
	if (policy_name_decode(key, &s->name) < 0)
		return err_field(e, path, "FIELD_INVALID", "%s is no name of a server", path);
	r = policy_rule_parse(v, path, &s->own, &tools, e);
	if (r < 0 || !tools.n)
		return r;
	snprintf(below, sizeof(below), "%.80s.tools", path);
	return policy_rules_parse(tools, below, &s->tools, e);
}

int mcp_policy_parse(struct slice raw, const char *field, struct mcp_policy **ret, struct err *e)
{
	_cleanup_(mcp_policy_cleanup) struct mcp_policy *rules = new0(struct mcp_policy);
	/* Checked as a whole first: the loop trusts its text. */
	enum jscan_error scan = raw.n ? jscan_object(raw, NULL, 0) : JSCAN_OK;

	if (scan != JSCAN_OK)
		return err_field(e, field, "FIELD_INVALID", "%s: %s", field, jscan_strerror(scan));
	jobj_each(key, v, raw) {
		int r = server_add(rules, key, v, field, e);

		if (r < 0)
			return r;
	}
	*ret = TAKE_PTR(rules);
	return 0;
}

static const struct server_rules *server_find(const struct mcp_policy *r, const char *name)
{
	for (size_t i = 0; r && i < r->n; i++)
		if (strcmp(r->v[i].name, name) == 0)
			return &r->v[i];
	return NULL;
}

static const struct policy_named *tool_rule_find(const struct server_rules *s, const char *tool)
{
	return s ? policy_rules_find(&s->tools, tool) : NULL;
}

static bool named_says(const struct policy_named *named, const struct server_rules *s,
		       struct policy_reason *why)
{
	if (!named || !named->rule.ruled)
		return false;
	snprintf(why->rule, sizeof(why->rule), "mcp.policy.%s.tools.%s", s->name, named->name);
	return true;
}

static bool server_says(const struct server_rules *s, struct policy_reason *why)
{
	if (!s || !s->own.ruled)
		return false;
	snprintf(why->rule, sizeof(why->rule), "mcp.policy.%s", s->name);
	return true;
}

void mcp_policy_word(const struct mcp_policy *r, const char *server, const char *tool,
		     enum policy_verdict fallback, struct mcp_policy_word *ret,
		     struct policy_reason *why)
{
	const struct server_rules *own = server_find(r, server), *any = server_find(r, ANY_SERVER);
	const struct policy_named *named = tool_rule_find(own, tool),
				  *any_named = tool_rule_find(any, tool);
	const struct policy_rule *layers[] = { named ? &named->rule : NULL,
					       any_named ? &any_named->rule : NULL,
					       own ? &own->own : NULL, any ? &any->own : NULL };

	*ret = (struct mcp_policy_word){ POLICY_RULE_NONE, layers[0] ? layers[0] : layers[1], -1 };
	for (size_t i = 0; i < ARRAY_SIZE(layers); i++)
		if (layers[i])
			policy_rule_under(&ret->rule, layers[i]);
	/* maxCalls of a server is a count of its own, beside that of the tool. */
	for (size_t i = 2; i < ARRAY_SIZE(layers); i++)
		if (layers[i] && ret->server_calls < 0)
			ret->server_calls = layers[i]->max_calls;
	/* After the layers, so that ruled still tells that no rule has decided. */
	if (!ret->rule.ruled)
		ret->rule.verdict = fallback;
	if (!why)
		return;
	*why = (struct policy_reason){ 0 };
	if (named_says(named, own, why) || named_says(any_named, any, why) || server_says(own, why))
		return;
	server_says(any, why);
}

void mcp_policy_each_rule(const struct mcp_policy *r, policy_rule_fn fn, void *ctx)
{
	char name[POLICY_RULE_SIZE];

	for (size_t i = 0; r && i < r->n; i++) {
		const struct server_rules *s = &r->v[i];

		snprintf(name, sizeof(name), "mcp.policy.%s", s->name);
		policy_tell_tool(fn, ctx, &s->own, CATEGORY_MCP, NULL, name);
		snprintf(name, sizeof(name), "mcp.policy.%s.tools.", s->name);
		for (size_t k = 0; k < s->tools.n; k++)
			policy_tell_tool(fn, ctx, &s->tools.v[k].rule, CATEGORY_MCP,
					 s->tools.v[k].name, name);
	}
}

static bool allows_any(const struct server_rules *s)
{
	for (size_t i = 0; s && i < s->tools.n; i++)
		if (s->tools.v[i].rule.ruled && s->tools.v[i].rule.verdict != POLICY_DENY)
			return true;
	return false;
}

bool mcp_policy_serve(const struct mcp_policy *r, const char *server, enum policy_verdict fallback)
{
	const struct server_rules *own = server_find(r, server), *any = server_find(r, ANY_SERVER);
	struct policy_rule all = own ? own->own : POLICY_RULE_NONE;

	if (any)
		policy_rule_under(&all, &any->own);
	/* A denied server is still served if a rule of one of its tools allows that tool. */
	return (all.ruled ? all.verdict : fallback) != POLICY_DENY || allows_any(own) ||
	       allows_any(any);
}

int64_t mcp_policy_longest(const struct mcp_policy *r)
{
	int64_t longest = 0;

	for (size_t i = 0; r && i < r->n; i++) {
		const struct server_rules *s = &r->v[i];

		longest = MAX(longest, s->own.timeout_ms);
		for (size_t j = 0; j < s->tools.n; j++)
			longest = MAX(longest, s->tools.v[j].rule.timeout_ms);
	}
	return longest;
}
