/*
 * session_rules.h - the rules of a session, held against what its harness asks, and where each of them is enforced.
 *
 * Owns struct session_rules : what its people have said "from now on" (own_rules.h). Policy
 * and rules of servers are the session's parameters, and are read anew for each question. A question of the harness
 * comes here once, before anybody is asked (rules_take_question); what a human answers passes here on its way to the
 * harness (rules_take_answer). What can be kept here the harness is not told to keep, "once" is all that it hears: it
 * would keep that where nobody can take it back.
 */
#pragma once

#include "session/parts/session_parts.h"
#include "session/parts/rules/own_rules.h"
#include "session/parts/rules/rule_judge.h"

struct harness_ask;
struct jw;
struct session;
struct session_question;

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

/* True: a rule, or for want of one the session's approval, has answered it, and a is gone. */
bool rules_take_question(struct session_question *a, const struct harness_ask *in);
/* The answer that the harness gets for what a human has chosen; it may borrow from b. */
struct slice rules_take_answer(struct session_question *a, struct slice answer, struct buf *b);
/* Member "policy": where each of its rules is enforced. */
void session_put_rules(struct jw *w, const struct session *s);

/* Every server that the harness was given passes the daemon. */
bool session_rules_gated(const struct session *s);
/* The session's policy and rules for servers as they are now; free both. */
struct policy *session_rules_policy(const struct session *s);
struct mcp_policy *session_rules_mcp(const struct session *s);
