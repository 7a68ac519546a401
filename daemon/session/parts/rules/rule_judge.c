/*
 * rule_judge.c - the verdict of a session's rules on one permission request.
 *
 * Each rule that applies contributes a rank, and the highest rank decides (enum rank). RANK_OWN_ALLOW
 * lies between RANK_UNLISTED and RANK_ASK: a permanent answer satisfies a request that no rule
 * allows, but not a rule that demands a question. Paths are judged twice, as named and as resolved,
 * because either can match a glob. The digest covers everything that the request can do. A request
 * with unread parts has no digest, and gets no permanent rule.
 */
#include "session/parts/rules/rule_judge.h"

#include "base/os/file.h"
#include "harnesses/harness.h"
#include "harnesses/inside.h"

#include <limits.h>

/* The session's directory as the harness names it, where its draft is mounted, the real tree of a copy. */
#define GLOB_ROOTS 3
#define NAMED_SIZE (2 * PATH_MAX)

/* The higher one decides; of two that are as high the first. */
enum rank { RANK_NONE, RANK_ALLOW, RANK_UNLISTED, RANK_OWN_ALLOW, RANK_ASK, RANK_DENY };

static const enum rule_effect words[] = {
	[RANK_NONE] = RULE_NONE,       [RANK_ALLOW] = RULE_ALLOW, [RANK_UNLISTED] = RULE_ASK,
	[RANK_OWN_ALLOW] = RULE_ALLOW, [RANK_ASK] = RULE_ASK,	  [RANK_DENY] = RULE_DENY,
};

struct weighing {
	const struct rule_sources *from;
	const struct rule_request *r;
	enum rank rank;
	char rule[POLICY_RULE_SIZE];
	struct buf key; /* what the request is known by */
};

static void weigh(struct weighing *w, enum rank rank, const char *rule)
{
	if (rank <= w->rank)
		return;
	w->rank = rank;
	snprintf(w->rule, sizeof(w->rule), "%s", rule);
}

static void weigh_policy(struct weighing *w, enum policy_verdict v, const struct policy_reason *why)
{
	enum rank rank = why->rule[0] ? RANK_ALLOW : RANK_NONE;

	if (v == POLICY_DENY)
		rank = RANK_DENY;
	else if (v == POLICY_ASK)
		rank = why->unspoken ? RANK_UNLISTED : RANK_ASK;
	weigh(w, rank, why->rule);
}

/* --- paths ----------------------------------------------------------------------------------------------------- */

static const char *glob_rule(enum policy_access access)
{
	return access == POLICY_READ ? "policy.read" : "policy.write";
}

/* full: absolute; roots: as many as the globs have, NULL for none. */
static void weigh_place(struct weighing *w, const char *full, const char *const roots[GLOB_ROOTS],
			enum policy_access access)
{
	const struct policy *p = w->from->policy;
	struct policy_reason why = { 0 };
	const char *inside = NULL;
	enum policy_verdict v;

	for (size_t i = 0; i < GLOB_ROOTS && !inside; i++)
		inside = roots[i] ? path_below(full, roots[i]) : NULL;
	v = inside ? policy_path(p, inside, access, &why, NULL) :
		     policy_path_outside(p, full, access, &why, NULL);
	weigh_policy(w, v, &why);
}

/* path, absolute, without links resolved. */
static void name_path(const struct rule_sources *from, const char *path, char ret[NAMED_SIZE])
{
	bool absolute = *path == '/';

	snprintf(ret, NAMED_SIZE, "%s%s%s", absolute ? "" : from->cwd, absolute ? "" : "/", path);
}

/* What it really is, where we find it. False: that cannot be determined. From where a draft is mounted ".." leads
 * elsewhere than it leads the harness. */
static bool find_path(const struct rule_sources *from, const char *path, char real[PATH_MAX])
{
	char named[NAMED_SIZE], here[NAMED_SIZE + PATH_MAX];
	const char *inside;

	name_path(from, path, named);
	inside = from->tree ? path_below(named, from->cwd) : NULL;
	if (!inside)
		return harness_place(path, from->cwd, real);
	if (strstr(inside, ".."))
		return false;
	snprintf(here, sizeof(here), "%s/%s", from->tree, inside);
	return harness_place(here, "/", real);
}

/* The roots as they really are: false if that of the session cannot be determined. */
static bool find_roots(const struct rule_sources *from, char place[GLOB_ROOTS][PATH_MAX],
		       const char *ret[GLOB_ROOTS])
{
	const char *const named[GLOB_ROOTS] = { from->cwd, from->tree, from->real };

	for (size_t i = 0; i < GLOB_ROOTS; i++)
		ret[i] = named[i] && harness_place(named[i], "/", place[i]) ? place[i] : NULL;
	return ret[0];
}

static bool is_directory(const char *path)
{
	struct stat sb;

	return stat(path, &sb) == 0 && S_ISDIR(sb.st_mode);
}

static void weigh_path(struct weighing *w, const char *path, enum policy_access access)
{
	const char *const named_roots[GLOB_ROOTS] = { w->from->cwd, w->from->real };
	char real[PATH_MAX], place[GLOB_ROOTS][PATH_MAX], named[NAMED_SIZE];
	const char *roots[GLOB_ROOTS];

	if (!policy_has_globs(w->from->policy, access))
		return;
	if (!find_path(w->from, path, real) || !find_roots(w->from, place, roots)) {
		weigh(w, RANK_UNLISTED, glob_rule(access));
		return;
	}
	weigh_place(w, real, roots, access);
	name_path(w->from, path, named);
	if (!strstr(named, ".."))
		weigh_place(w, named, named_roots, access);
	/* all below it, of which some may be denied */
	if (w->r->category != CATEGORY_EXECUTE && (w->r->below || is_directory(real)))
		weigh(w, RANK_UNLISTED, glob_rule(access));
}

static void weigh_access(struct weighing *w, enum policy_access access)
{
	const struct rule_request *r = w->r;

	for (size_t i = 0; i < r->npaths; i++)
		weigh_path(w, r->paths[i], access);
	/* commands are judged as such: what files they touch they do not say */
	if ((r->unread || !r->npaths) && r->category != CATEGORY_EXECUTE &&
	    policy_has_globs(w->from->policy, access))
		weigh(w, RANK_UNLISTED, glob_rule(access));
}

/* --- commands and tools ------------------------------------------------------------------------------------------ */

static void weigh_commands(struct weighing *w)
{
	const struct policy *p = w->from->policy;
	const struct rule_request *r = w->r;
	struct policy_reason why = { 0 };

	for (size_t i = 0; i < r->ncommands; i++) {
		enum policy_verdict v = policy_shell(p, r->commands[i], &why, NULL);

		weigh_policy(w, v, &why);
	}
	if (r->argv && r->argv[0])
		weigh_policy(w, policy_argv(p, r->argv, &why, NULL), &why);
	if (r->unread)
		weigh_policy(w, policy_unread_command(p, &why, NULL), &why);
}

/* There are rules for files or commands, which a tool of any kind may touch or run. */
static bool speaks_of_others(const struct policy *p)
{
	return policy_has_globs(p, POLICY_READ) || policy_has_globs(p, POLICY_WRITE) ||
	       policy_unread_command(p, NULL, NULL) != POLICY_ALLOW;
}

static void weigh_own_tool(struct weighing *w)
{
	const struct policy *p = w->from->policy;
	const struct rule_request *r = w->r;
	struct policy_reason why = { 0 };

	weigh_policy(w, policy_tool(p, r->category, r->name, &why, NULL), &why);
	if (r->category == CATEGORY_EXECUTE)
		weigh_commands(w);
	if (r->category == CATEGORY_OTHER && !r->npaths) {
		if (r->unread ? rules_need(p, NULL) :
				strcmp(r->kind, "other") == 0 && speaks_of_others(p))
			weigh(w, RANK_UNLISTED, "policy");
		return;
	}
	if (r->reads)
		weigh_access(w, POLICY_READ);
	if (r->writes)
		weigh_access(w, POLICY_WRITE);
}

/* Where the gate stands in front of the tool it asks by itself: nobody is asked twice. */
static void weigh_held(struct weighing *w, enum policy_verdict v, const struct policy_reason *why)
{
	if (v != POLICY_ASK || !w->from->gated)
		weigh_policy(w, v, why);
}

static void weigh_server(struct weighing *w)
{
	const struct rule_request *r = w->r;
	bool builtin = strcmp(r->server, RULES_OWN_SERVER) == 0;
	struct mcp_policy_word word;
	struct policy_reason why = { 0 };
	enum policy_verdict v;

	mcp_policy_word(w->from->mcp, r->server, r->tool, POLICY_ALLOW, &word, &why);
	v = word.rule.verdict;
	if (!word.rule.ruled && !builtin)
		v = policy_tool(w->from->policy, CATEGORY_MCP, NULL, &why, NULL);
	weigh_held(w, v, &why);
	if (!builtin)
		return;
	v = policy_named_tool(w->from->policy, r->tool, &why);
	weigh_held(w, v, &why);
}

/* --- own rules ---------------------------------------------------------------------------------------------------- */

static void key_add(struct weighing *w, const char *what, const char *text)
{
	buf_puts(&w->key, what);
	if (text)
		buf_add(&w->key, text, strlen(text) + 1);
}

/* A path by its real place, which is what it will act on. */
static void key_add_path(struct weighing *w, const char *path)
{
	char real[PATH_MAX];

	key_add(w, "path", find_path(w->from, path, real) ? real : path);
}

/* It says enough to be told from any other. */
static bool request_is_known(const struct rule_request *r)
{
	return !r->unread &&
	       (r->server || r->ncommands || r->argv || r->npaths || (r->name && r->input));
}

/* False: it cannot be known again. */
static bool key_make(struct weighing *w, char digest[SHA256_HEX])
{
	const struct rule_request *r = w->r;
	struct sha256 sum;

	/* A request for more than its call shows cannot be recognized again. */
	if (w->from->wide || !request_is_known(r))
		return false;
	key_add(w, "cwd", w->from->cwd);
	key_add(w, "category", policy_category_name(r->category));
	key_add(w, "name", r->name ? r->name : r->kind);
	key_add(w, "server", r->server);
	for (size_t i = 0; i < r->ncommands; i++)
		key_add(w, "command", r->commands[i]);
	for (char **word = r->argv; word && *word; word++)
		key_add(w, "word", *word);
	for (size_t i = 0; i < r->npaths && r->category != CATEGORY_EXECUTE; i++)
		key_add_path(w, r->paths[i]);
	key_add(w, "input", r->input);
	if (w->key.failed || sha256_of(buf_slice(&w->key), &sum) < 0)
		return false;
	sha256_hex(&sum, digest);
	return true;
}

static void weigh_own(struct weighing *w, const char *digest)
{
	const struct own_rule *rule = w->from->own ? own_rules_find(w->from->own, digest) : NULL;
	char id[OWN_RULE_ID_SIZE];

	if (rule)
		weigh(w, rule->verdict == POLICY_DENY ? RANK_DENY : RANK_OWN_ALLOW,
		      own_rule_id(rule, id));
}

void rule_judge(const struct rule_sources *from, const struct rule_request *r,
		struct rule_verdict *ret)
{
	struct weighing w = { .from = from, .r = r };

	*ret = (struct rule_verdict){ RULE_NONE };
	if (r->server)
		weigh_server(&w);
	else
		weigh_own_tool(&w);
	if (from->wide && rules_need(from->policy, from->own))
		weigh(&w, RANK_UNLISTED, "policy");
	ret->keeps = key_make(&w, ret->digest);
	if (ret->keeps)
		weigh_own(&w, ret->digest);
	/* A rule that demands a question each time: no stored answer could satisfy it. */
	ret->keeps = ret->keeps && w.rank != RANK_ASK;
	ret->effect = words[w.rank];
	snprintf(ret->rule, sizeof(ret->rule), "%s", w.rule);
	buf_done(&w.key);
}

/* --- what the harness is to ask ----------------------------------------------------------------------------------- */

static void need_of(void *ctx, const char *rule _unused_, const struct policy_rule_said *said)
{
	unsigned *need = ctx;

	switch (said->kind) {
	case POLICY_RULE_DENY:
	case POLICY_RULE_READ:
		*need |= HARNESS_RULES | HARNESS_RULES_READS;
		break;
	case POLICY_RULE_WRITE:
	case POLICY_RULE_COMMAND:
		*need |= HARNESS_RULES;
		break;
	case POLICY_RULE_CATEGORY:
		if (said->verdict != POLICY_ALLOW)
			*need |= HARNESS_RULES |
				 (said->category == CATEGORY_READ ? HARNESS_RULES_READS : 0);
		break;
	case POLICY_RULE_TOOL: /* its name may be that of any tool */
		if (said->verdict != POLICY_ALLOW)
			*need |= HARNESS_RULES | HARNESS_RULES_READS;
		break;
	case POLICY_RULE_LIMIT:
	case POLICY_RULE_DRY_RUN:
		break;
	}
}

unsigned rules_need(const struct policy *p, const struct own_rules *own)
{
	unsigned need = own && own_rules_deny(own) ? HARNESS_RULES : 0;

	policy_each_rule(p, need_of, &need);
	return need;
}
