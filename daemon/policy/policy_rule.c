/*
 * policy_rule.c - the members that a rule of one tool may have, and maps of names to rules.
 *
 * A member that is absent keeps a value of its own (-1, or ruled false). So rules can be laid over each other member
 * by member: that of a tool over that of its server, and that over "*" (mcp_policy.c). A map keeps the order in which
 * it was written, since the first glob that matches wins.
 */
#include "policy/policy_rule.h"

#include "base/util.h"
#include "base/limits.h"
#include "json/json.h"
#include "tree/glob.h"

struct rule_members {
	struct jval policy, dry_run, tools;
	int64_t timeout_ms, max_calls, max_result_bytes;
};

static const struct jfield fields[] = {
	JF_RAW(struct rule_members, policy, "policy", 0),
	JF_INT(struct rule_members, timeout_ms, "timeoutMs", 0, 0, POLICY_TIMEOUT_MAX),
	JF_INT(struct rule_members, max_calls, "maxCalls", 0, 0, POLICY_CALLS_MAX),
	JF_INT(struct rule_members, max_result_bytes, "maxResultBytes", 0, 0, BUF_MAX_DEFAULT),
	JF_RAW(struct rule_members, dry_run, "dryRun", 0),
	JF_RAW(struct rule_members, tools, "tools", 0),
	JF_END,
};

int policy_verdict_parse(struct jval v, enum policy_verdict *ret)
{
	static const struct {
		const char *word;
		enum policy_verdict verdict;
	} rows[] = { { "allow", POLICY_ALLOW }, { "ask", POLICY_ASK }, { "deny", POLICY_DENY } };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (!jstr_is(v, rows[i].word))
			continue;
		*ret = rows[i].verdict;
		return 0;
	}
	return -EINVAL;
}

static int rule_refuse(const char *path, const char *name, const char *what, struct err *e)
{
	const char *field = SHORT_TEXT(sizeof(e->field), "%s.%s", path, name);

	return err_field(e, field, "FIELD_INVALID", "%s %s", field, what);
}

static int words_check(const struct rule_members *w, const char *path, struct slice *tools,
		       struct policy_rule *r, struct err *e)
{
	if (w->policy.type != J_NONE && policy_verdict_parse(w->policy, &r->verdict) < 0)
		return rule_refuse(path, "policy", "must be \"allow\", \"ask\" or \"deny\"", e);
	r->ruled = w->policy.type != J_NONE;
	if (w->dry_run.type != J_NONE && w->dry_run.type != J_TRUE && w->dry_run.type != J_FALSE)
		return rule_refuse(path, "dryRun", "must be a boolean", e);
	if (w->dry_run.type != J_NONE)
		r->dry_run = w->dry_run.type == J_TRUE;
	if (w->tools.type != J_NONE && !tools)
		return rule_refuse(path, "tools", "has no place here", e);
	if (w->tools.type != J_NONE && w->tools.type != J_OBJECT)
		return rule_refuse(path, "tools", "must be an object", e);
	if (tools)
		*tools = w->tools.raw;
	return 0;
}

int policy_rule_parse(struct jval object, const char *path, struct policy_rule *ret,
		      struct slice *tools, struct err *e)
{
	struct rule_members w = { .timeout_ms = -1, .max_calls = -1, .max_result_bytes = -1 };
	int r;

	/* Before the first check: after an error the rule is one that says nothing. */
	*ret = POLICY_RULE_NONE;
	if (object.type != J_OBJECT)
		return err_field(e, path, "FIELD_INVALID", "%s must be an object", path);
	r = jdec_strict(object.raw, fields, SHORT_TEXT(sizeof(e->field), "%s.", path),
			"a rule has no such member", &w, e);
	if (r < 0)
		return r;
	ret->timeout_ms = w.timeout_ms;
	ret->max_calls = w.max_calls;
	ret->max_result_bytes = w.max_result_bytes;
	return words_check(&w, path, tools, ret, e);
}

bool policy_rule_is_empty(const struct policy_rule *r)
{
	return !r->ruled && r->timeout_ms < 0 && r->max_calls < 0 && r->max_result_bytes < 0 &&
	       r->dry_run < 0;
}

void policy_rule_under(struct policy_rule *r, const struct policy_rule *under)
{
	if (!r->ruled) {
		r->ruled = under->ruled;
		r->verdict = under->verdict;
	}
	if (r->timeout_ms < 0)
		r->timeout_ms = under->timeout_ms;
	if (r->max_calls < 0)
		r->max_calls = under->max_calls;
	if (r->max_result_bytes < 0)
		r->max_result_bytes = under->max_result_bytes;
	if (r->dry_run < 0)
		r->dry_run = under->dry_run;
}

static int named_add(struct policy_rules *rules, struct slice key, struct jval v, const char *path,
		     struct err *e)
{
	struct policy_named *row;
	char field[sizeof(e->field)];

	snprintf(field, sizeof(field), "%s.%.*s", path, (int)MIN(key.n, 40u), key.p);
	err_flatten(field);
	if (rules->n >= POLICY_RULES_MAX)
		return err_field(e, field, "FIELD_INVALID", "%s has more than %d members", path,
				 POLICY_RULES_MAX);
	/* Counted at once, so that policy_rules_done frees it after an error. */
	row = GROW(rules->v, rules->n);
	if (policy_name_decode(key, &row->name) < 0)
		return err_field(e, field, "FIELD_INVALID", "%s is no name", field);
	return policy_rule_parse(v, field, &row->rule, NULL, e);
}

int policy_name_decode(struct slice key, char **ret)
{
	return jstr_decode(jkey_string(key), POLICY_NAME_MAX, ret);
}

int policy_rules_parse(struct slice object, const char *path, struct policy_rules *ret,
		       struct err *e)
{
	jobj_each(key, v, object) {
		int r = named_add(ret, key, v, path, e);

		if (r < 0)
			return r;
	}
	return 0;
}

void policy_rules_done(struct policy_rules *r)
{
	for (size_t i = 0; i < r->n; i++)
		free(r->v[i].name);
	free(r->v);
	*r = (struct policy_rules){ NULL, 0 };
}

const struct policy_named *policy_rules_find(const struct policy_rules *r, const char *name)
{
	/* The exact name first, wherever it stands: it is more specific than any glob. */
	for (size_t i = 0; i < r->n; i++)
		if (strcmp(r->v[i].name, name) == 0)
			return &r->v[i];
	for (size_t i = 0; i < r->n; i++)
		if (glob_match(slice_of(r->v[i].name), slice_of(name), false))
			return &r->v[i];
	return NULL;
}
