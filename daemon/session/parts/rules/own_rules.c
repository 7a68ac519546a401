/*
 * own_rules.c - the permanent answers that users gave in one session, as a bounded array. Pure.
 *
 * A rule is found by the digest of its request. A new answer to the same request replaces the old
 * rule under a new number. Numbers are never reused, so an id that a client has seen cannot name
 * another rule. At SESSION_RULES_MAX a new rule is refused: dropping an old one could drop a
 * denial. A record that cannot be read is skipped, and the user is asked again.
 */
#include "session/parts/rules/own_rules.h"

#include "base/util.h"
#include "base/clock.h"
#include "base/limits.h"
#include "json/json.h"

const char *own_rule_id(const struct own_rule *r, char ret[OWN_RULE_ID_SIZE])
{
	snprintf(ret, OWN_RULE_ID_SIZE, "session.rules[%llu]", (unsigned long long)r->no);
	return ret;
}

/* Keeps the order of the others. */
static void own_rule_drop(struct own_rules *r, size_t at)
{
	free(r->v[at].shown);
	r->n--;
	memmove(&r->v[at], &r->v[at + 1], (r->n - at) * sizeof(*r->v));
}

static ssize_t own_rule_index(const struct own_rules *r, const char *digest)
{
	for (size_t i = 0; i < r->n; i++)
		if (strcmp(r->v[i].digest, digest) == 0)
			return (ssize_t)i;
	return -1;
}

const struct own_rule *own_rules_add(struct own_rules *r, enum policy_verdict v, const char *digest,
				     struct slice shown, uint64_t now_ms)
{
	ssize_t at = own_rule_index(r, digest);
	struct own_rule *rule;

	/* First, so that a new answer to an old request finds a place even at the maximum. */
	if (at >= 0)
		own_rule_drop(r, (size_t)at);
	if (r->n >= SESSION_RULES_MAX)
		return NULL;
	rule = GROW(r->v, r->n);
	*rule = (struct own_rule){ .no = ++r->last,
				   .verdict = v,
				   .made_ms = now_ms,
				   .shown = xstrndup(shown.p, shown.n) };
	snprintf(rule->digest, sizeof(rule->digest), "%s", digest);
	return rule;
}

int own_rules_forget(struct own_rules *r, uint64_t no)
{
	for (size_t i = 0; i < r->n; i++) {
		if (r->v[i].no != no)
			continue;
		own_rule_drop(r, i);
		return 0;
	}
	return -ENOENT;
}

const struct own_rule *own_rules_find(const struct own_rules *r, const char *digest)
{
	ssize_t at = own_rule_index(r, digest);

	return at < 0 ? NULL : &r->v[at];
}

bool own_rules_deny(const struct own_rules *r)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].verdict == POLICY_DENY)
			return true;
	return false;
}

static void put_common(struct jw *w, const struct own_rule *r)
{
	jw_str(w, "policy", r->verdict == POLICY_DENY ? "deny" : "allow");
	jw_str(w, "made", CLOCK_ISO(r->made_ms));
}

void own_rules_put(const struct own_rules *r, struct jw *w)
{
	for (size_t i = 0; i < r->n; i++) {
		char id[OWN_RULE_ID_SIZE];

		jw_obj(w, NULL);
		jw_str(w, "id", own_rule_id(&r->v[i], id));
		put_common(w, &r->v[i]);
		jw_members(w, slice_of(r->v[i].shown), NULL);
		jw_end_obj(w);
	}
}

void own_rules_note(const struct own_rules *r, struct jw *w, const char *key)
{
	if (!r->last)
		return;
	jw_obj(w, key);
	jw_uint(w, "last", r->last);
	jw_arr(w, "list");
	for (size_t i = 0; i < r->n; i++)
		jw_object(w, NULL, JW_UINT("no", r->v[i].no),
			  JW_STR("policy", r->v[i].verdict == POLICY_DENY ? "deny" : "allow"),
			  JW_STR("digest", r->v[i].digest), JW_UINT("madeMs", r->v[i].made_ms),
			  JW_RAW("shown", slice_of(r->v[i].shown)));
	jw_end_arr(w);
	jw_end_obj(w);
}

/* One that cannot be read is left out: then somebody is asked again. */
static void own_rule_load(struct own_rules *r, struct slice rule)
{
	struct jval shown = jobj_get(rule, "shown");
	_cleanup_(freep) char *digest = NULL;
	bool deny = jstr_is(jobj_get(rule, "policy"), "deny");
	const struct own_rule *made;

	if (jstr_decode(jobj_get(rule, "digest"), SHA256_HEX, &digest) < 0 ||
	    strlen(digest) != SHA256_HEX - 1 || shown.type != J_OBJECT)
		return;
	made = own_rules_add(r, deny ? POLICY_DENY : POLICY_ALLOW, digest, shown.raw,
			     jobj_uint(rule, "madeMs"));
	if (made)
		/* Ids that clients have seen stay valid. */
		r->v[r->n - 1].no = jobj_uint(rule, "no");
}

void own_rules_load(struct own_rules *r, struct jval noted)
{
	own_rules_done(r);
	if (noted.type != J_OBJECT)
		return;
	jarr_each(v, jobj_get(noted.raw, "list"))
		if (v.type == J_OBJECT)
			own_rule_load(r, v.raw);
	/* It can be higher than all rules: those after them were forgotten. */
	r->last = MAX(r->last, jobj_uint(noted.raw, "last"));
}

void own_rules_copy(struct own_rules *to, const struct own_rules *from)
{
	own_rules_done(to);
	for (size_t i = 0; i < from->n; i++) {
		struct own_rule *rule = GROW(to->v, to->n);

		*rule = from->v[i];
		rule->shown = xstrdup(from->v[i].shown);
	}
	/* A new rule of the fork gets no id that a client knows from the original. */
	to->last = from->last;
}

void own_rules_done(struct own_rules *r)
{
	while (r->n)
		own_rule_drop(r, r->n - 1);
	free(r->v);
	*r = (struct own_rules){ 0 };
}
