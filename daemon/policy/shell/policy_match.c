/*
 * policy_match.c - finds the rule of a command. Rules that allow are matched narrowly: these very words. Rules
 * that ask or deny are matched widely: their words anywhere, in any order.
 */
#include "policy/policy_internal.h"

#include <ctype.h>

static const char *base_name(const char *s)
{
	const char *slash = strrchr(s, '/');

	return slash ? slash + 1 : s;
}

/* --- narrow: what allows ----------------------------------------------------------------------------- */

/* A rule without a path allows the program in root's directories only: elsewhere an agent could have written
 * it. */
static bool is_program_narrow(const char *rule, const char *word)
{
	static const char *const trusted[] = { "/bin/", "/usr/bin/" };

	if (strcmp(rule, word) == 0)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(trusted) && !strchr(rule, '/'); i++) {
		size_t n = strlen(trusted[i]);

		if (strncmp(word, trusted[i], n) == 0 && strcmp(word + n, rule) == 0)
			return true;
	}
	return false;
}

static bool matches_narrow(const struct policy_command *r, const struct word *v, size_t n)
{
	/* Extra arguments matter only to what allows: a rule that denies must not be evaded by adding one. */
	if (n < r->n || (r->exact && n != r->n && r->verdict == POLICY_ALLOW))
		return false;
	for (size_t i = 0; i < r->n; i++) {
		if (v[i].kind != WORD_PLAIN)
			return false;
		if (i == 0 ? !is_program_narrow(r->words[0], v[0].text) :
			     strcmp(r->words[i], v[i].text) != 0)
			return false;
	}
	return true;
}

/* --- wide: what asks or denies ------------------------------------------------------------------------ */

/* Compares two paths as if //a/./ were /a */
static bool path_equal(const char *a, const char *b)
{
	for (;;) {
		bool a_slash = *a == '/', b_slash = *b == '/';

		while (*a == '/' || (a_slash && a[0] == '.' && (!a[1] || a[1] == '/')))
			a++;
		while (*b == '/' || (b_slash && b[0] == '.' && (!b[1] || b[1] == '/')))
			b++;
		if (!*a || !*b)
			return !*a && !*b;
		if (a_slash != b_slash || *a++ != *b++)
			return false;
	}
}

static bool climbs(const char *path)
{
	for (const char *p = strstr(path, ".."); p; p = strstr(p + 1, ".."))
		if ((p == path || p[-1] == '/') && (!p[2] || p[2] == '/'))
			return true;
	return false;
}

static bool is_short(const char *word)
{
	return word[0] == '-' && word[1] && word[1] != '-';
}

static bool has_letter(const char *word, char letter)
{
	int lower = tolower((unsigned char)letter);

	if (is_short(word))
		return strchr(word + 1, lower) || strchr(word + 1, toupper(lower));
	return word[0] == '-' && word[1] == '-' && tolower((unsigned char)word[2]) == lower;
}

/* Options: each letter of the rule's in some option, long ones by their first letter and abbreviated ones included. */
static bool option_present(const char *rule, const struct word *v, size_t n)
{
	if (!is_short(rule))
		return false;
	for (const char *c = rule + 1; *c; c++) {
		bool found = false;

		for (size_t i = 1; i < n && !found; i++)
			found = has_letter(v[i].text, *c);
		if (!found)
			return false;
	}
	return true;
}

static bool covers(const struct word *w, const char *rule)
{
	const char *s = w->text;

	if (w->kind == WORD_UNKNOWN)
		return true;
	if (w->kind == WORD_GLOB)
		return strncmp(rule, s, strlen(s)) == 0;
	if (strncmp(s, "--", 2) == 0 && strncmp(rule, "--", 2) == 0)
		return s[2] && (strncmp(rule, s, strcspn(s, "=")) == 0);
	/* A path from home, or one with "..", can lead to any absolute path. */
	if (rule[0] == '/' && (s[0] == '~' || climbs(s)))
		return true;
	return path_equal(rule, s);
}

static bool word_present(const char *rule, const struct word *v, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (covers(&v[i], rule))
			return true;
	return option_present(rule, v, n);
}

static bool matches_wide(const struct policy_command *r, const struct word *v, size_t n)
{
	/* By base name: the program is meant at any path. */
	if (!n || v[0].kind != WORD_PLAIN ||
	    strcmp(base_name(r->words[0]), base_name(v[0].text)) != 0)
		return false;
	for (size_t i = 1; i < r->n; i++)
		if (!word_present(r->words[i], v, n))
			return false;
	return true;
}

/* --- which rule wins --------------------------------------------------------------------------------- */

/* "git commit" and "git push": a rule that allows one does not allow the other's word among its arguments. */
static bool is_other_subcommand(const struct policy_command *a, const struct policy_command *b)
{
	return a->n > 1 && b->n > 1 && a->words[1][0] != '-' && b->words[1][0] != '-' &&
	       strcmp(a->words[1], b->words[1]) != 0;
}

static bool beats(const struct command_match *a, const struct command_match *b)
{
	/* The longer rule is the more specific one. */
	if (!b->rule || a->rule->n != b->rule->n)
		return !b->rule || a->rule->n > b->rule->n;
	if (a->narrow != b->narrow && is_other_subcommand(a->rule, b->rule))
		return a->narrow;
	return a->rule->verdict != b->rule->verdict &&
	       policy_stricter(a->rule->verdict, b->rule->verdict) == a->rule->verdict;
}

struct command_match policy_match(const struct policy *p, const struct word *v, size_t n)
{
	struct command_match best = { NULL, false };

	for (size_t i = 0; i < p->ncommands; i++) {
		const struct policy_command *r = &p->commands[i];
		struct command_match m = { r, false };

		if (!r->n)
			continue; /* the fallback */
		m.narrow = matches_narrow(r, v, n);
		/* What allows must match narrowly; what asks or denies may match widely, too. */
		if (!m.narrow && (r->verdict == POLICY_ALLOW || !matches_wide(r, v, n)))
			continue;
		if (beats(&m, &best))
			best = m;
	}
	return best;
}
