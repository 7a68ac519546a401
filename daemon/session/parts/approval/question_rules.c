/*
 * question_rules.c - applies the rules of a session to a question before any client sees it, and to the answer after.
 *
 * A denial answers the question at once. A permission does so only if the harness offers "allow_once". An "always"
 * option would store the decision in the harness, where no client can revoke it. So an "always" answer of a user
 * becomes a rule of the session, and the harness receives "once".
 */
#include "session/core/session_internal.h"

#include "json/json.h"
#include "session/parts/approval/approval_internal.h"

static bool is_always(struct jval option)
{
	struct jval kind = jobj_get(option.raw, "kind");

	return jstr_is(kind, "allow_always") || jstr_is(kind, "reject_always");
}

/* Where rules hold, an answer "from now on" that is not ours to keep would go past them: it is not offered, unless nothing
 * else is. */
static void offer_once(struct session_question *a)
{
	JW_BUF(w, b);
	struct slice params = slice_of(a->params);
	size_t left = 0;

	if (!question_has_option(a, "allow_once"))
		return;
	jw_obj(&w, NULL);
	jw_members(&w, params, "options");
	jw_arr(&w, "options");
	jarr_each(v, jobj_get(params, "options")) {
		if (v.type == J_OBJECT && is_always(v))
			continue;
		jw_raw(&w, NULL, v.raw);
		left++;
	}
	jw_end_arr(&w);
	jw_end_obj(&w);
	if (!left || b.failed)
		return;
	free(a->params);
	a->params = xstrndup(b.data, b.len);
}

static bool allow_by(struct session_question *a, enum answered_by by, const char *detail)
{
	if (!question_has_option(a, "allow_once"))
		return false; /* what allows for good would be out of our hands */
	question_settle_as(a, ANSWER_ALLOW, by, detail);
	return true;
}

/* The order: a denial, a permission, the session's approval, and then a human. */
bool question_apply_rules(struct session_question *a, const struct harness_ask *in)
{
	struct rule_verdict v;

	if (a->elicitation)
		return false;
	rules_judge_ask(a->session, in, &v);
	if (v.effect == RULE_DENY) {
		question_settle_as(a, ANSWER_REJECT, BY_RULE, v.rule);
		return true;
	}
	if (v.effect == RULE_ALLOW && allow_by(a, BY_RULE, v.rule))
		return true;
	if (v.effect == RULE_NONE && in->approved && allow_by(a, BY_DEFAULT, "approval"))
		return true;
	if (v.keeps)
		rules_make_seed(a->session, in, slice_of(a->params), &v, &a->seed);
	else if (session_rules_need(a->session))
		offer_once(a);
	return false;
}

/* Refusals too: the rule is stored here, and the harness receives "once". */
struct slice question_narrow_answer(struct session_question *a, struct slice answer, struct buf *b)
{
	_cleanup_(freep) char *word = a->elicitation ? NULL : answer_word(a, answer);
	bool allowed = word && strcmp(word, "allow_always") == 0;
	bool refused = word && strcmp(word, "reject_always") == 0;

	if (!a->seed.digest[0] || (!allowed && !refused))
		return answer;
	rules_keep_answer(a->session, allowed ? POLICY_ALLOW : POLICY_DENY, &a->seed);
	if (!question_has_option(a, allowed ? "allow_once" : "reject_once"))
		return answer;
	return answer_of_kind(a, allowed ? ANSWER_ALLOW : ANSWER_REJECT, b);
}
