/*
 * own_rules.h - the rules of one session that its people have made: what was allowed or refused "from now on".
 *
 * Each is as narrow as the request that was answered: this very tool with this command, these paths. A request is known
 * again by a digest (rule_judge.h), so that what stands in the journal need not hold a secret; besides that a rule has
 * members that show it, where secrets are hidden. There are at most SESSION_RULES_MAX: more are refused rather than
 * older ones forgotten, since an old one may refuse something.
 *
 * Pure; owned by the session.
 */
#pragma once

#include "digest/digest.h"
#include "json/jenc.h"
#include "policy/policy.h"

struct own_rule {
	uint64_t no; /* "session.rules[NO]"; none comes twice in a session */
	enum policy_verdict verdict;
	char digest[SHA256_HEX];
	uint64_t made_ms; /* unix */
	char *shown;	  /* raw object: what it is about */
};

struct own_rules {
	struct own_rule *v;
	size_t n;
	uint64_t last;
};

/* The rule about that digest, if there is one, is replaced. NULL: there are as many as there may be. */
const struct own_rule *own_rules_add(struct own_rules *r, enum policy_verdict v, const char *digest,
				     struct slice shown, uint64_t now_ms);
/* -ENOENT: there is none of that number. */
int own_rules_forget(struct own_rules *r, uint64_t no);
const struct own_rule *own_rules_find(const struct own_rules *r, const char *digest);
bool own_rules_deny(const struct own_rules *r);
/* Elements of an array, for clients: {id, policy, made, tool, ...}. */
void own_rules_put(const struct own_rules *r, struct jw *w);
/* A member of the journal's "session" record, and back from there. */
void own_rules_note(const struct own_rules *r, struct jw *w, const char *key);
void own_rules_load(struct own_rules *r, struct jval noted);
void own_rules_copy(struct own_rules *to, const struct own_rules *from);
void own_rules_done(struct own_rules *r);
/* Its id, as answers name it. */
#define OWN_RULE_ID_SIZE 48
const char *own_rule_id(const struct own_rule *r, char ret[OWN_RULE_ID_SIZE]);
