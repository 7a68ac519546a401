/*
 * policy.c - the policy object: read, checked, asked about tools, and listed.
 *
 * Parsing is strict. A misspelt member, a wrong type or a rule for a tool that does not exist is an error that names
 * the member, because a rule that silently has no effect would allow what it was written to deny. A policy does not
 * change afterwards, so it needs no lock and its rules can be pointed to.
 *
 * Of a tool the rule of its name decides; without one its category does. Rules for commands replace the category
 * execute, because each command of a call is judged by itself (policy_command.c).
 */
#include "policy/policy_internal.h"

#include "base/strv.h"
#include "base/util.h"
#include "json/json.h"
#include "tree/glob.h"

#include <stdarg.h>

struct policy_members {
	struct slice read, write, deny, commands, categories, tools;
	struct jval dry_run;
};

static const struct jfield fields[] = {
	JF_ARR(struct policy_members, read, "read", 0),
	JF_ARR(struct policy_members, write, "write", 0),
	JF_ARR(struct policy_members, deny, "deny", 0),
	JF_ARR(struct policy_members, commands, "commands", 0),
	JF_OBJ(struct policy_members, categories, "categories", 0),
	JF_OBJ(struct policy_members, tools, "tools", 0),
	JF_RAW(struct policy_members, dry_run, "dryRun", 0),
	JF_END,
};

struct command_words {
	struct slice argv, prefix;
	struct jval policy;
};

static const struct jfield command_fields[] = {
	JF_ARR(struct command_words, argv, "argv", 0),
	JF_ARR(struct command_words, prefix, "prefix", 0),
	JF_RAW(struct command_words, policy, "policy", JF_REQUIRED),
	JF_END,
};

static const char *const category_names[CATEGORIES] = {
	[CATEGORY_READ] = "read", [CATEGORY_EDIT] = "edit",   [CATEGORY_EXECUTE] = "execute",
	[CATEGORY_MCP] = "mcp",	  [CATEGORY_OTHER] = "other",
};

const char *policy_category_name(enum policy_category c)
{
	return category_names[c];
}

/* --- parsing ----------------------------------------------------------------------------------------- */

static int strings_parse(struct slice array, const char *path, char ***v, size_t *n, struct err *e)
{
	char field[sizeof(e->field)];

	jarr_each(item, array) {
		char **slot;

		snprintf(field, sizeof(field), "%.80s[%zu]", path, *n);
		if (*n >= POLICY_RULES_MAX)
			return err_field(e, path, "FIELD_INVALID", "%s has more than %d elements",
					 path, POLICY_RULES_MAX);
		slot = GROW(*v, *n);
		if (jstr_decode(item, POLICY_NAME_MAX, slot) < 0)
			return err_field(e, field, "FIELD_INVALID",
					 "%s must be a string of at most %d bytes", field,
					 POLICY_NAME_MAX);
	}
	return 0;
}

static int globs_parse(struct slice array, const char *path, struct policy_globs *g, struct err *e)
{
	char field[sizeof(e->field)];
	int r;

	/* A list that is given and empty allows nothing; one that is not given restricts nothing. */
	g->given = array.n > 0;
	if (!g->given)
		return 0;
	r = strings_parse(array, path, &g->v, &g->n, e);
	for (size_t i = 0; r == 0 && i < g->n; i++) {
		snprintf(field, sizeof(field), "%s[%zu]", path, i);
		if (!g->v[i][0])
			return err_field(e, field, "FIELD_INVALID", "%s is empty", field);
	}
	return r;
}

static int command_parse(struct jval v, const char *path, struct policy_command *c, struct err *e)
{
	struct command_words w = { 0 };
	char prefix[sizeof(e->field)];
	int r;

	if (v.type != J_OBJECT)
		return err_field(e, path, "FIELD_INVALID", "%s must be an object", path);
	snprintf(prefix, sizeof(prefix), "%.80s.", path);
	r = jdec_strict(v.raw, command_fields, prefix, "a command rule has no such member", &w, e);
	if (r < 0)
		return r;
	/* Exactly one of them. */
	if (!w.argv.n == !w.prefix.n)
		return err_field(e, path, "FIELD_INVALID", "%s needs argv or prefix", path);
	/* argv allows these very words and no others; prefix allows more words behind them. */
	c->exact = w.argv.n > 0;
	snprintf(prefix, sizeof(prefix), "%.80s.policy", path);
	if (policy_verdict_parse(w.policy, &c->verdict) < 0)
		return err_field(e, prefix, "FIELD_INVALID",
				 "%s must be \"allow\", \"ask\" or \"deny\"", prefix);
	snprintf(prefix, sizeof(prefix), "%.80s.%s", path, c->exact ? "argv" : "prefix");
	r = strings_parse(c->exact ? w.argv : w.prefix, prefix, &c->words, &c->n, e);
	/* An empty prefix is the fallback; an empty argv would match nothing. */
	if (r == 0 && c->exact && !c->n)
		return err_field(e, prefix, "FIELD_INVALID", "%s is empty", prefix);
	return r;
}

static int commands_parse(struct slice array, struct policy *p, struct err *e)
{
	char field[sizeof(e->field)];

	jarr_each(item, array) {
		int r;

		snprintf(field, sizeof(field), "commands[%zu]", p->ncommands);
		if (p->ncommands >= POLICY_RULES_MAX)
			return err_field(e, "commands", "FIELD_INVALID",
					 "commands has more than %d elements", POLICY_RULES_MAX);
		r = command_parse(item, field, GROW(p->commands, p->ncommands), e);
		if (r < 0)
			return r;
	}
	return 0;
}

static int category_parse(struct policy *p, struct slice key, struct jval v, struct err *e)
{
	char field[sizeof(e->field)];
	size_t i = 0;

	/* The name may be anything: it is cut, as it becomes part of an error. */
	snprintf(field, sizeof(field), "categories.%.*s", (int)MIN(key.n, 40u), key.p);
	while (i < CATEGORIES && !jkey_is(key, category_names[i]))
		i++;
	if (i == CATEGORIES)
		return err_field(e, field, "PARAM_UNSUPPORTED", "there is no such category");
	p->category_given[i] = true;
	if (policy_verdict_parse(v, &p->category[i]) < 0)
		return err_field(e, field, "FIELD_INVALID",
				 "%s must be \"allow\", \"ask\" or \"deny\"", field);
	return 0;
}

static int categories_parse(struct slice object, struct policy *p, struct err *e)
{
	jobj_each(key, v, object) {
		int r = category_parse(p, key, v, e);

		if (r < 0)
			return r;
	}
	return 0;
}

/* Refuses a name or a glob that no tool has: such a rule would silently have no effect. */
static int names_check(const struct policy_rules *rules, bool (*known)(const char *glob),
		       struct err *e)
{
	char field[sizeof(e->field)];

	for (size_t i = 0; i < rules->n; i++) {
		/* known NULL: the caller has no list of tools. */
		if (!known || known(rules->v[i].name))
			continue;
		snprintf(field, sizeof(field), "tools.%.64s", rules->v[i].name);
		return err_field(e, field, "TOOL_UNKNOWN", "there is no built-in tool '%.64s'",
				 rules->v[i].name);
	}
	return 0;
}

static int members_parse(const struct policy_members *w, bool (*known)(const char *glob),
			 struct policy *p, struct err *e)
{
	int r = globs_parse(w->read, "read", &p->read, e);

	if (r == 0)
		r = globs_parse(w->write, "write", &p->write, e);
	if (r == 0)
		r = globs_parse(w->deny, "deny", &p->deny, e);
	if (r == 0)
		r = commands_parse(w->commands, p, e);
	if (r == 0)
		r = categories_parse(w->categories, p, e);
	if (r == 0 && w->tools.n)
		r = policy_rules_parse(w->tools, "tools", &p->tools, e);
	if (r == 0)
		r = names_check(&p->tools, known, e);
	if (r == 0 && w->dry_run.type != J_NONE && w->dry_run.type != J_TRUE &&
	    w->dry_run.type != J_FALSE)
		return err_field(e, "dryRun", "FIELD_INVALID", "dryRun must be a boolean");
	p->dry_run = w->dry_run.type == J_TRUE;
	return r;
}

int policy_parse(struct slice raw, bool (*known)(const char *glob), struct policy **ret,
		 struct err *e)
{
	_cleanup_(policy_freep) struct policy *p = new0(struct policy);
	struct policy_members w = { 0 };
	enum jscan_error scan = jscan_object(raw, NULL, 0);
	char why[JSCAN_TEXT_SIZE];
	int r;

	if (scan != JSCAN_OK)
		return err_field(e, "policy", "FIELD_INVALID", "policy: %s",
				 jscan_explain(raw, scan, why));
	r = jdec_strict(raw, fields, NULL, "a policy has no such member", &w, e);
	if (r == 0)
		r = members_parse(&w, known, p, e);
	if (r < 0)
		return r;
	/* Only a whole policy leaves; after an error the cleanup frees its part. */
	*ret = TAKE_PTR(p);
	return 0;
}

struct policy *policy_free(struct policy *p)
{
	if (!p)
		return NULL;
	strv_free_n(p->read.v, p->read.n);
	strv_free_n(p->write.v, p->write.n);
	strv_free_n(p->deny.v, p->deny.n);
	for (size_t i = 0; i < p->ncommands; i++)
		strv_free_n(p->commands[i].words, p->commands[i].n);
	free(p->commands);
	policy_rules_done(&p->tools);
	free(p);
	return NULL;
}

/* --- tools ------------------------------------------------------------------------------------------- */

void policy_reason_set(struct policy_reason *why, const char *fmt, ...)
{
	va_list ap;

	if (!why)
		return;
	va_start(ap, fmt);
	vsnprintf(why->rule, sizeof(why->rule), fmt, ap);
	va_end(ap);
	err_flatten(why->rule);
}

/* NULL: no rule says whether it may run. */
static const struct policy_named *find_ruled(const struct policy *p, const char *name)
{
	const struct policy_named *named = p && name ? policy_rules_find(&p->tools, name) : NULL;

	return named && named->rule.ruled ? named : NULL;
}

enum policy_verdict policy_named_tool(const struct policy *p, const char *name,
				      struct policy_reason *why)
{
	const struct policy_named *named = find_ruled(p, name);

	policy_reason_clear(why);
	if (!named)
		return POLICY_ALLOW;
	policy_reason_set(why, "policy.tools.%s", named->name);
	return named->rule.verdict;
}

enum policy_verdict policy_tool(const struct policy *p, enum policy_category c, const char *name,
				struct policy_reason *why, struct err *e)
{
	enum policy_verdict v = policy_named_tool(p, name, why);

	if (p && !find_ruled(p, name) && p->category_given[c] &&
	    !(c == CATEGORY_EXECUTE && p->ncommands)) { /* each of its commands is judged */
		v = p->category[c];
		policy_reason_set(why, "policy.categories.%s", category_names[c]);
	}
	/* For the error: without a name it is about the category. */
	name = name ? name : category_names[c];
	if (v == POLICY_DENY)
		err_set(e, -EACCES, RPC_INVALID_PARAMS, "TOOL_DENIED", "the policy denies %s",
			name);
	else if (v == POLICY_ASK)
		err_set(e, 1, RPC_INVALID_PARAMS, "TOOL_ASK",
			"the policy wants a human to allow %s", name);
	return v;
}

struct policy_limits policy_tool_limits(const struct policy *p, const char *name)
{
	const struct policy_named *named = p ? policy_rules_find(&p->tools, name) : NULL;
	const struct policy_rule *rule = named ? &named->rule : NULL;
	struct policy_limits l = { 0, -1, -1, p && p->dry_run };

	if (!rule)
		return l;
	/* -1, which means that the rule has none, becomes 0: none. */
	l.timeout_ms = MAX(rule->timeout_ms, 0);
	l.max_calls = rule->max_calls;
	l.max_result_bytes = rule->max_result_bytes;
	if (rule->dry_run >= 0)
		l.dry_run = rule->dry_run > 0;
	return l;
}

enum policy_verdict policy_stricter(enum policy_verdict a, enum policy_verdict b)
{
	if (a == POLICY_DENY || b == POLICY_DENY)
		return POLICY_DENY;
	return a == POLICY_ASK ? a : b;
}

/* --- the list ---------------------------------------------------------------------------------------- */

static void policy_tell_rule(policy_rule_fn fn, void *ctx, const struct policy_rule_said *said,
			     const char *fmt, ...) _printf_(4, 5);

static void policy_tell_rule(policy_rule_fn fn, void *ctx, const struct policy_rule_said *said,
			     const char *fmt, ...)
{
	char name[POLICY_RULE_SIZE];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	fn(ctx, name, said);
}

void policy_tell_tool(policy_rule_fn fn, void *ctx, const struct policy_rule *r,
		      enum policy_category category, const char *tool, const char *name)
{
	struct policy_rule_said said = { .kind = r->ruled ? POLICY_RULE_TOOL : POLICY_RULE_LIMIT,
					 .category = category,
					 .verdict = r->verdict,
					 .tool = tool };

	if (!policy_rule_is_empty(r))
		policy_tell_rule(fn, ctx, &said, "%s%s", name, tool ? tool : "");
}

static void paths_tell(const struct policy *p, policy_rule_fn fn, void *ctx)
{
	struct policy_rule_said said = { .kind = POLICY_RULE_DENY, .verdict = POLICY_DENY };

	for (size_t i = 0; i < p->deny.n; i++)
		policy_tell_rule(fn, ctx, &said, "policy.deny[%zu]", i);
	said.kind = POLICY_RULE_READ;
	if (p->read.given)
		fn(ctx, "policy.read", &said);
	said.kind = POLICY_RULE_WRITE;
	if (p->write.given)
		fn(ctx, "policy.write", &said);
}

static void commands_tell(const struct policy *p, policy_rule_fn fn, void *ctx)
{
	struct policy_rule_said said = { .kind = POLICY_RULE_COMMAND,
					 .category = CATEGORY_EXECUTE };

	for (size_t i = 0; i < p->ncommands; i++) {
		said.verdict = p->commands[i].verdict;
		policy_tell_rule(fn, ctx, &said, "policy.commands[%zu]", i);
	}
}

static void categories_tell(const struct policy *p, policy_rule_fn fn, void *ctx)
{
	struct policy_rule_said said = { .kind = POLICY_RULE_CATEGORY };

	for (unsigned c = 0; c < CATEGORIES; c++) {
		if (!p->category_given[c])
			continue;
		said.category = (enum policy_category)c;
		said.verdict = p->category[c];
		policy_tell_rule(fn, ctx, &said, "policy.categories.%s", category_names[c]);
	}
}

void policy_each_rule(const struct policy *p, policy_rule_fn fn, void *ctx)
{
	if (!p)
		return;
	paths_tell(p, fn, ctx);
	commands_tell(p, fn, ctx);
	categories_tell(p, fn, ctx);
	for (size_t i = 0; i < p->tools.n; i++)
		policy_tell_tool(fn, ctx, &p->tools.v[i].rule, CATEGORY_READ, p->tools.v[i].name,
				 "policy.tools.");
	if (p->dry_run)
		fn(ctx, "policy.dryRun", &(struct policy_rule_said){ .kind = POLICY_RULE_DRY_RUN });
}
