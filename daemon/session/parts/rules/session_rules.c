/*
 * session_rules.c - judges what a harness asks by the rules of its session, and keeps the session's own rules.
 *
 * The policy is parsed again for each question, as it can change. The part approval acts on the verdict
 * (approval/question_rules.c).
 */
#include "session/core/session_internal.h"

#include "base/clock.h"
#include "base/log.h"
#include "harnesses/adapter.h"
#include "json/jstr.h"
#include "session/parts/rules/session_rules.h"
#include "session/parts/mcp/session_mcp_internal.h"

static void mcp_policy_freep(struct mcp_policy **p)
{
	mcp_policy_free(*p);
}

/* --- the parameter --------------------------------------------------------------------------------------------- */

/* The approval that a policy names: enum harness_approval; -1 with e: there is no such word; APPROVAL_MAX: none. */
static int policy_approval(struct slice policy, struct err *e)
{
	struct jval v = jobj_get(policy, "approval");
	_cleanup_(freep) char *word = NULL;
	int found = -1;

	if (v.type <= J_NULL)
		return APPROVAL_MAX;
	if (jstr_decode(v, 32, &word) == 0)
		found = harness_approval_find(word);
	if (found < 0)
		err_field(e, "_meta.acpd.policy.approval", "FIELD_INVALID",
			  "approval must be ask, accept-edits or never");
	return found;
}

/* The rules themselves are checked in acp/meta.c, which sees those of the MCP servers. */
static int check_approval(struct jval v, const struct parameter_check *c _unused_, struct err *e)
{
	return policy_approval(v.raw, e) < 0 ? -EINVAL : 0;
}

/* The approval is the harness's own affair: a later policy without the member leaves it. */
static unsigned apply_policy(struct setup *s, const struct setup_params *p)
{
	struct slice policy = setup_given_text(p, &policy_parameter);
	int approval = policy_approval(policy, NULL);
	unsigned changed = 0;

	if (policy.n)
		changed = setup_change(s, &policy_parameter, (struct jval){ J_OBJECT, policy });
	if (approval < 0 || approval == APPROVAL_MAX ||
	    s->approval == (enum harness_approval)approval)
		return changed;
	s->approval = (enum harness_approval)approval;
	return changed | policy_parameter.change | SETUP_CHANGED;
}

const struct session_parameter policy_parameter = {
	PARAMETER("policy", OBJ, "what is asked and what is allowed"),
	.order = { .checked = 60, .stored = 150 },
	.change = SETUP_RESTARTS(3),
	.check = check_approval,
	.apply = apply_policy,
};

struct slice session_policy(const struct session *s)
{
	return slice_of(setup_text(&s->setup, &policy_parameter));
}

/* --- what holds ------------------------------------------------------------------------------------------------ */

/* Without approval, which is the harness's. It was checked when it was given. */
struct policy *session_rules_policy(const struct session *s)
{
	JW_BUF(w, b);
	struct policy *p = NULL;
	struct err e = { 0 };

	if (!session_policy(s).n)
		return NULL;
	jw_obj(&w, NULL);
	jw_members(&w, session_policy(s), "approval");
	jw_end_obj(&w);
	if (policy_parse(buf_slice(&b), NULL, &p, &e) < 0)
		log_warn("session", "a policy cannot be read", "session", s->id, "text", e.msg);
	return p;
}

struct mcp_policy *session_rules_mcp(const struct session *s)
{
	struct jval v = jobj_get(session_mcp(s), "policy");
	struct mcp_policy *p = NULL;

	if (v.type == J_OBJECT)
		mcp_policy_parse(v.raw, "policy", &p, NULL);
	return p;
}

/* enum harness_rules, for the harness. */
unsigned session_rules_need(const struct session *s)
{
	_cleanup_(policy_freep) struct policy *p = session_rules_policy(s);

	return rules_need(p, &rules_of(s)->own);
}

/* --- a question ---------------------------------------------------------------------------------------------------- */

/* What the harness was given names our socket: the server is reached through the daemon. */
static bool server_passes_daemon(struct slice server)
{
	jarr_each(v, jobj_get(server, "env"))
		if (v.type == J_OBJECT && jstr_is(jobj_get(v.raw, "name"), "ACPD_MCP_SOCKET"))
			return true;
	return false;
}

/* name NULL: every one of them. */
static bool passes_daemon(const struct session *s, const char *name)
{
	struct slice given = slice_of(mcp_of(s)->given);
	bool all = true;

	jarr_each(v, given) {
		if (v.type != J_OBJECT)
			continue;
		if (name && jstr_is(jobj_get(v.raw, "name"), name))
			return server_passes_daemon(v.raw);
		all = all && server_passes_daemon(v.raw);
	}
	return !name && all;
}

bool session_is_gated(const struct session *s)
{
	return passes_daemon(s, NULL);
}

/* What the harness has said of the call of that id. */
static void call_said(const struct session *s, struct slice id, struct rule_call *ret)
{
	const struct turn_tool_call *c = tool_call_find(s, id);

	if (c)
		*ret = (struct rule_call){ c->named ? c->name : NULL, c->kind, c->locations,
					   c->input };
}

static struct rule_call call_before(const struct session *s, struct slice params)
{
	struct slice id = jobj_get(jobj_get(params, "toolCall").raw, "toolCallId").raw;
	struct rule_call before = { 0 };

	call_said(s, id, &before);
	return before;
}

void rules_judge_ask(const struct session *s, const struct harness_ask *in,
		     struct rule_verdict *ret)
{
	_cleanup_(policy_freep) struct policy *p = session_rules_policy(s);
	_cleanup_(mcp_policy_freep) struct mcp_policy *mcp = session_rules_mcp(s);
	struct rule_call before = call_before(s, in->params);
	struct rule_sources from = { .policy = p,
				     .mcp = mcp,
				     .own = &rules_of(s)->own,
				     .cwd = session_workdir(s),
				     .tree = s->overlay,
				     .real = s->workdir ? s->cwd : NULL,
				     .wide = in->wide };
	struct rule_request r;

	rule_request_read(in->params, &before, slice_of(mcp_of(s)->given), &r);
	from.gated = r.server && passes_daemon(s, r.server);
	rule_judge(&from, &r, ret);
	rule_request_done(&r);
}

void rules_make_seed(const struct session *s, const struct harness_ask *in, struct slice params,
		     const struct rule_verdict *v, struct rule_seed *ret)
{
	struct rule_call before = call_before(s, in->params);
	JW_BUF(w, b);
	struct rule_request r;

	rule_request_read(params, &before, slice_of(mcp_of(s)->given), &r);
	jw_obj(&w, NULL);
	rule_request_put(&r, &w);
	jw_end_obj(&w);
	rule_request_done(&r);
	if (b.failed)
		return;
	snprintf(ret->digest, sizeof(ret->digest), "%s", v->digest);
	ret->shown = xstrndup(b.data, b.len);
}

/* --- own rules ------------------------------------------------------------------------------------------------------ */

static void note_rule(struct session *s, const char *event, const char *id, const char *policy,
		      const char *reason)
{
	JW_BUF(w, b);

	jw_str(&w, "kind", "lifecycle");
	jw_str(&w, "event", event);
	jw_str(&w, "rule", id);
	jw_str(&w, "policy", policy);
	jw_str(&w, "reason", reason);
	event_note(s, EVENT_LIFECYCLE, buf_slice(&b));
}

void rules_keep_answer(struct session *s, enum policy_verdict v, const struct rule_seed *seed)
{
	const char *policy = v == POLICY_DENY ? "deny" : "allow";
	const struct own_rule *r = own_rules_add(&rules_of(s)->own, v, seed->digest,
						 slice_of(seed->shown), clock_real_ms());
	char id[OWN_RULE_ID_SIZE];

	if (!r) {
		note_rule(s, "rule_refused", NULL, policy, "TOO_MANY_RULES");
		return;
	}
	session_note_head(s);
	note_rule(s, "rule_added", own_rule_id(r, id), policy, NULL);
}

/* --- for clients ------------------------------------------------------------------------------------------------------ */

void session_rules_put(const struct session *s, struct jw *w)
{
	own_rules_put(&rules_of(s)->own, w);
}

/* 0: it is no name of one. */
static uint64_t number_of(const char *id)
{
	static const char begin[] = "session.rules[";
	const char *p = id + strlen(begin);
	unsigned long long no;
	char *end;

	/* Exactly as own_rule_id writes it: without sign or leading zero. */
	if (strncmp(id, begin, strlen(begin)) != 0 || *p < '1' || *p > '9')
		return 0;
	errno = 0;
	no = strtoull(p, &end, 10);
	return errno || strcmp(end, "]") != 0 ? 0 : no;
}

int session_rules_forget(struct session *s, const char *id, struct err *e)
{
	uint64_t no = number_of(id);

	if (!no || own_rules_forget(&rules_of(s)->own, no) < 0)
		return err_field(e, "id", "RULE_UNKNOWN", "the session has no rule of that id");
	session_note_head(s);
	note_rule(s, "rule_forgotten", id, NULL, NULL);
	return 0;
}

/* A fork continues the work of its original: what was decided there applies here. */
static void inherit_rules(struct session *s, const struct session *from)
{
	own_rules_copy(&rules_of(s)->own, &rules_of(from)->own);
}

static void free_rules(struct session *s)
{
	own_rules_done(&rules_of(s)->own);
}

static void put_rules_record(struct jw *w, const struct session *s, enum record_place at)
{
	if (at == RECORD_END)
		own_rules_note(&rules_of(s)->own, w, "rules");
}

static void load_rules_record(struct session *s, struct slice record)
{
	own_rules_load(&rules_of(s)->own, jobj_get(record, "rules"));
}

const struct session_part rules_part = {
	.name = "rules",
	.size = sizeof(struct session_rules),
	.parameters = PARAMETERS(&policy_parameter),
	.inherit = inherit_rules,
	.put_opened = session_put_rules,
	.free = free_rules,
	.put_record = put_rules_record,
	.load_record = load_rules_record,
	.rules_need = session_rules_need,
};
