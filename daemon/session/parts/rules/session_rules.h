/*
 * session_rules.h - the rules of a session, held against what its harness asks, and where each of them is enforced.
 *
 * Owns struct session_rules : what its people have said "from now on" (own_rules.h). Policy
 * and rules of servers are the session's parameters, and are read anew for each question. A question of the harness
 * is judged here once, before anybody is asked.
 */
#pragma once

#include "session/parts/session_parts.h"
#include "session/parts/rules/own_rules.h"
#include "session/parts/rules/rule_judge.h"

struct harness_ask;
struct jw;
struct session;

/* State of the part. */
struct session_rules {
	struct own_rules own;
};

static inline struct session_rules *rules_of(const struct session *s)
{
	return s->parts[PART_RULES];
}

/* What a question needs to become a rule: by which the request is known again, and what is shown of it. */
struct rule_seed {
	char digest[SHA256_HEX]; /* "": it cannot become one */
	char *shown;		 /* raw object */
};

/* Judges a permission that the harness asks, as it asks it. */
void rules_judge_ask(const struct session *s, const struct harness_ask *in,
		     struct rule_verdict *ret);
/* enum harness_rules: what the harness has to ask for the rules of the session. */
unsigned session_rules_need(const struct session *s);
/* Fills what an answer "from now on" to that question makes. params: as clients were shown it, without secrets. */
void rules_make_seed(const struct session *s, const struct harness_ask *in, struct slice params,
		     const struct rule_verdict *v, struct rule_seed *ret);
/* Adds a rule of the session's own. If there is no place for it, the answer counts this once. */
void rules_keep_answer(struct session *s, enum policy_verdict v, const struct rule_seed *seed);
/* Member "policy": where each of its rules is enforced. */
void session_put_rules(struct jw *w, const struct session *s);

/* Every server that the harness was given passes the daemon. */
bool session_is_gated(const struct session *s);
/* The session's policy and rules for servers as they are now; free both. */
struct policy *session_rules_policy(const struct session *s);
struct mcp_policy *session_rules_mcp(const struct session *s);

/* _meta.acpd.policy. */
extern const struct session_parameter policy_parameter;
