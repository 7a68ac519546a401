/*
 * rules_enforced.c - who enforces each rule of a session, for its answers: never silently nobody. A rule speaks of the
 * built-in tools and servers that pass the daemon, which hold it in any case, and of the harness's own tools, which hold
 * it as far as the harness asks.
 */
#include "session/core/session_internal.h"
#include "session/parts/rules/session_rules.h"

/* The calls of a harness that a rule of this kind speaks of; 0: of none. */
static unsigned calls_of(const struct policy_rule_said *said)
{
	static const enum harness_call of[CATEGORIES] = {
		[CATEGORY_READ] = CALL_READ,	   [CATEGORY_EDIT] = CALL_EDIT,
		[CATEGORY_EXECUTE] = CALL_EXECUTE, [CATEGORY_MCP] = CALL_MCP,
		[CATEGORY_OTHER] = CALL_OTHER,
	};

	switch (said->kind) {
	case POLICY_RULE_DENY:
		return 1u << CALL_READ | 1u << CALL_EDIT;
	case POLICY_RULE_READ:
		return 1u << CALL_READ;
	case POLICY_RULE_WRITE:
		return 1u << CALL_EDIT;
	case POLICY_RULE_COMMAND:
	case POLICY_RULE_CATEGORY:
		return 1u << of[said->category];
	case POLICY_RULE_TOOL:
	case POLICY_RULE_LIMIT:
	case POLICY_RULE_DRY_RUN:
		break;
	}
	return 0;
}

static bool is_about_paths(const struct policy_rule_said *said)
{
	return said->kind == POLICY_RULE_DENY || said->kind == POLICY_RULE_READ ||
	       said->kind == POLICY_RULE_WRITE;
}

struct enforcing {
	const struct session *s;
	const struct harness_asking *asks; /* NULL: not known */
	struct jw *w;
};

/* The first of its calls that the harness does not ask about; else what it has to say about one. */
static const char *missing(const struct enforcing *f, unsigned calls, bool *held)
{
	const char *remark = NULL;

	*held = true;
	for (unsigned c = 0; c < CALL_MAX; c++) {
		const struct harness_asking *a = f->asks ? &f->asks[c] : NULL;

		if (!(calls & 1u << c))
			continue;
		if (!a || !a->asked) {
			*held = false;
			return a ? a->why : "it is not known what this harness asks about";
		}
		remark = remark ? remark : a->why;
	}
	return remark;
}

/* Where all servers pass the daemon the gate holds what is said of them. */
static bool is_gated(const struct enforcing *f, const struct policy_rule_said *said)
{
	return said->kind == POLICY_RULE_CATEGORY && said->category == CATEGORY_MCP &&
	       session_is_gated(f->s);
}

static void put_rule(struct jw *w, const char *rule, const char *enforced, const char *why)
{
	jw_object(w, NULL, JW_STR("rule", rule), JW_STR("enforced", enforced), JW_STR("why", why));
}

/* The gate holds it. */
static void enforced_put_mcp(void *ctx, const char *rule,
			     const struct policy_rule_said *said _unused_)
{
	struct enforcing *f = ctx;

	put_rule(f->w, rule, "tool", NULL);
}

/* What has to be known of a rule besides; NULL: nothing. */
static const char *known_besides(const struct policy_rule_said *said)
{
	if (is_about_paths(said))
		return "of commands it is not known which files they touch: commands and the level are for that";
	if (said->kind == POLICY_RULE_TOOL && said->verdict != POLICY_ALLOW)
		return "of the harness's own tools it is for one of that name, where the harness asks about it";
	return NULL;
}

/* Rules that concern no call of the harness are enforced by the daemon: by its tools or its gate. */
static void enforced_put_policy(void *ctx, const char *rule, const struct policy_rule_said *said)
{
	struct enforcing *f = ctx;
	unsigned calls = is_gated(f, said) ? 0 : calls_of(said);
	bool held;
	const char *why = missing(f, calls, &held);

	put_rule(f->w, rule,
		 !calls ? "tool" :
		 held	? "harness" :
			  "none",
		 why ? why : known_besides(said));
}

static void enforced_put_all(struct enforcing *f)
{
	struct policy *p = session_rules_policy(f->s);
	struct mcp_policy *mcp = session_rules_mcp(f->s);

	policy_each_rule(p, enforced_put_policy, f);
	mcp_policy_each_rule(mcp, enforced_put_mcp, f);
	policy_free(p);
	mcp_policy_free(mcp);
}

void session_put_rules(struct jw *w, const struct session *s)
{
	const struct harness_ops *ops = s->def->ops;
	struct enforcing f = { .s = s, .w = w };

	if (!session_policy(s).n && !session_mcp(s).n)
		return;
	if (ops->asks)
		f.asks = ops->asks(s->def, s->setup.approval, harness_nests(s->def, &s->setup));
	jw_obj(w, "policy");
	jw_arr(w, "rules");
	enforced_put_all(&f);
	jw_end_arr(w);
	jw_end_obj(w);
}
