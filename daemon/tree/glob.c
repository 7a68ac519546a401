/*
 * glob.c - matches gitignore patterns byte by byte, with two saved positions instead of recursion.
 *
 * No recursion: only the last '*' and the last "**" are ever tried again. That is enough, because a '*' ends at a
 * slash, and an earlier star need not match what a later one matches. Time is at most the product of the lengths times
 * the number of slashes.
 *
 * Patterns come from files of the workspace and from clients, so the run time must be bounded. A
 * failed match continues from the last '*', and when that reaches a slash, from the last "**". A
 * new "**" discards the saved '*': what precedes it can stay as it is. Sets and classes follow
 * git's wildmatch, in ASCII and without the locale.
 */
#include "tree/glob.h"

#include "base/util.h"

#include <ctype.h>

/* --- [classes] ------------------------------------------------------------------------------------------- */

/* Git's own: without vertical tab and form feed. */
static int glob_is_space(int c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Asked for ASCII only, where they are the same in every locale. */
static const struct {
	const char *name;
	int (*has)(int c);
} classes[] = {
	{ "alnum", isalnum },	    { "alpha", isalpha }, { "blank", isblank },
	{ "cntrl", iscntrl },	    { "digit", isdigit }, { "graph", isgraph },
	{ "lower", islower },	    { "print", isprint }, { "punct", ispunct },
	{ "space", glob_is_space }, { "upper", isupper }, { "xdigit", isxdigit },
};

/* What a set between brackets says about one character. */
struct set {
	const unsigned char *p, *end;
	unsigned char c;
	int before; /* character that a '-' would make the beginning of a range; -1: none */
	bool matched, malformed;
};

/* The next character, after a backslash if there is one. */
static unsigned char set_char(struct set *s)
{
	if (s->p < s->end && *s->p == '\\')
		s->p++;
	if (s->p < s->end)
		return *s->p++;
	s->malformed = true;
	return 0;
}

/* At "[:" of "[:name:]". False if it is none, and "[" an ordinary member. */
static bool set_class(struct set *s)
{
	const unsigned char *name = s->p + 2;
	const unsigned char *close = name < s->end ? memchr(name, ']', (size_t)(s->end - name)) :
						     NULL;
	struct slice word;
	size_t i = 0;

	if (!close) {
		s->malformed = true;
		return true;
	}
	if (close - name < 1 || close[-1] != ':')
		return false;
	word = (struct slice){ (const char *)name, (size_t)(close - 1 - name) };
	while (i < ARRAY_SIZE(classes) && !slice_is(word, classes[i].name))
		i++;
	s->malformed = i == ARRAY_SIZE(classes);
	if (!s->malformed && isascii(s->c) && classes[i].has(s->c))
		s->matched = true;
	s->p = close + 1;
	s->before = -1;
	return true;
}

static bool set_has_next(const struct set *s, size_t ahead, char c)
{
	return (size_t)(s->end - s->p) > ahead && s->p[ahead] == (unsigned char)c;
}

static void set_member(struct set *s)
{
	unsigned char c;

	if (set_has_next(s, 0, '[') && set_has_next(s, 1, ':') && set_class(s))
		return;
	if (set_has_next(s, 0, '-') && s->before >= 0 && s->end - s->p > 1 && s->p[1] != ']') {
		s->p++;
		c = set_char(s);
		s->matched |= s->c >= s->before && s->c <= c;
		s->before = -1;
		return;
	}
	c = set_char(s);
	s->matched |= s->c == c;
	s->before = c;
}

/* *p points after '[' before the call, and after ']' when it returns. 1 or 0: has c or not; -1: malformed. The first
 * member may be ']'. */
static int match_set(const unsigned char **p, const unsigned char *end, unsigned char c)
{
	struct set s = { .p = *p, .end = end, .c = c, .before = -1 };
	bool negated = s.p < end && (*s.p == '!' || *s.p == '^');

	if (negated)
		s.p++;
	do
		set_member(&s);
	while (!s.malformed && !set_has_next(&s, 0, ']'));
	*p = s.p + 1;
	return s.malformed ? -1 : s.matched != negated;
}

/* --- patterns -------------------------------------------------------------------------------------------- */

struct matcher {
	const unsigned char *start, *p, *end;
	const unsigned char *t, *t_end;
	bool in_path, malformed;
	const unsigned char *star_p,
		*star_t; /* after the last '*', and the end of what it matches */
	const unsigned char *deep_p,
		*deep_t; /* the same for the last "**" and the slash after it */
};

size_t glob_literal(struct slice pattern)
{
	size_t i = 0;

	while (i < pattern.n && pattern.p[i] && !strchr("*?[\\", pattern.p[i]))
		i++;
	return i;
}

/* A run of stars: any number of directories if it has at least two and stands alone between slashes. */
static bool glob_take_stars(struct matcher *m)
{
	const unsigned char *first = m->p;
	bool alone = first == m->start || first[-1] == '/';
	bool slash, escaped;

	while (m->p < m->end && *m->p == '*')
		m->p++;
	slash = m->p < m->end && *m->p == '/';
	escaped = m->end - m->p > 1 && m->p[0] == '\\' && m->p[1] == '/';
	if (!m->in_path || m->p - first < 2 || !alone || (m->p < m->end && !slash && !escaped)) {
		m->star_p = m->p;
		m->star_t = m->t;
		return true;
	}
	if (m->p == m->end) {
		m->t = m->t_end;
		return true;
	}
	m->p += escaped ? 2 : 1;
	m->deep_p = m->p;
	m->deep_t = m->t;
	m->star_p = NULL;
	/* with a slash it may also match no directory at all */
	return slash;
}

/* Matches one member of the pattern that is no star against one character. */
static bool glob_take_one(struct matcher *m)
{
	unsigned char c = *m->p++;
	int has;

	switch (c) {
	case '?':
		return !m->in_path || *m->t != '/';
	case '[':
		has = match_set(&m->p, m->end, *m->t);
		m->malformed = has < 0;
		return has > 0 && !(m->in_path && *m->t == '/');
	case '\\':
		m->malformed = m->p == m->end;
		return !m->malformed && *m->p++ == *m->t;
	default:
		return c == *m->t;
	}
}

/* Tries one character more for the last '*', else one directory more for the last "**". */
static bool glob_try_again(struct matcher *m)
{
	const unsigned char *slash;

	if (m->star_p && m->star_t < m->t_end && !(m->in_path && *m->star_t == '/')) {
		m->t = ++m->star_t;
		m->p = m->star_p;
		return true;
	}
	slash = m->deep_p ? memchr(m->deep_t, '/', (size_t)(m->t_end - m->deep_t)) : NULL;
	if (!slash)
		return false;
	m->t = m->deep_t = slash + 1;
	m->p = m->deep_p;
	m->star_p = NULL;
	return true;
}

static bool glob_step(struct matcher *m)
{
	if (m->p < m->end && *m->p == '*')
		return glob_take_stars(m);
	if (m->p == m->end || m->t == m->t_end || !glob_take_one(m))
		return false;
	m->t++;
	return true;
}

bool glob_match(struct slice pattern, struct slice text, bool in_path)
{
	struct matcher m = { .p = (const unsigned char *)pattern.p,
			     .t = (const unsigned char *)text.p,
			     .in_path = in_path };

	m.start = m.p;
	m.end = m.p + pattern.n;
	m.t_end = m.t + text.n;
	while (m.p < m.end || m.t < m.t_end)
		if (!glob_step(&m) && (m.malformed || !glob_try_again(&m)))
			return false;
	return true;
}
