/*
 * mask_match.c - compares one pattern with text at one position, through every encoding that
 * programs apply.
 *
 * Each step reads one character in one of its spellings: plain, behind backslashes, \uXXXX, %XX. A
 * spelling with two meanings ("\n" is a line break or an n) is tried both ways, by recursion. The
 * text is untrusted, so READINGS_MAX, RUN_MAX and BREAK_MAX bound the work of one comparison. After
 * STEP_CUT more text could still complete the secret.
 */
#include "session/core/redact/mask_match.h"

#include "base/format/digits.h"
#include "base/util.h"

#define RUN_MAX 64	/* backslashes before a character: six levels of escapes */
#define BREAK_MAX 16	/* line-break characters between two characters */
#define READINGS_MAX 16 /* ambiguous places of one comparison that are tried both ways */

uint8_t mask_match_fold(uint8_t c)
{
	return c == '-' ? '+' : c == '_' ? '/' : c;
}

struct match_reading {
	const struct mask_pattern *pattern;
	const uint8_t *text;
	size_t n;
	bool quotes;	/* a quote ends the text */
	unsigned tried; /* ambiguous places so far */
};

/* Where it has got to: in the text, in the pattern, and how many line breaks were passed just before. */
struct match_position {
	size_t i, k;
	unsigned breaks;
};

/* STEP_CUT: the text did. */
enum match_step { STEP_MATCHED, STEP_DIFFERENT, STEP_CUT };

static bool ends_at(const struct match_reading *r, size_t i)
{
	/* In JSON as a whole a quote ends the string that is read, wherever the text goes on. */
	return i >= r->n || (r->quotes && r->text[i] == '"');
}

/* The number that so many hex digits at i make. */
static enum match_step hex_value(const struct match_reading *r, size_t i, size_t digits,
				 uint32_t *ret)
{
	*ret = 0;
	for (size_t end = i + digits; i < end; i++) {
		if (ends_at(r, i))
			return STEP_CUT;
		if (hex_digit(r->text[i]) < 0)
			return STEP_DIFFERENT;
		*ret = *ret * 16 + (uint32_t)hex_digit(r->text[i]);
	}
	return STEP_MATCHED;
}

static bool is_byte(const struct mask_pattern *p, size_t k, uint8_t c)
{
	return (uint8_t)p->p[k] == (p->base64 ? mask_match_fold(c) : c);
}

static size_t utf8_put(uint32_t u, uint8_t out[4])
{
	size_t n = u < 0x80 ? 1 : u < 0x800 ? 2 : u < 0x10000 ? 3 : 4;
	static const uint8_t lead[] = { 0, 0, 0xc0, 0xe0, 0xf0 };

	for (size_t i = n; i-- > 1; u >>= 6)
		out[i] = (uint8_t)(0x80 | (u & 63));
	out[0] = (uint8_t)(lead[n] | u);
	return n;
}

/* Longer runs are of no interest. */
static size_t run_at(const struct match_reading *r, size_t i)
{
	size_t n = 0;

	while (n <= RUN_MAX && i + n < r->n && r->text[i + n] == '\\')
		n++;
	return n;
}

/* A unit of UTF-16, at its u; i is moved behind it. */
static enum match_step take_unit(const struct match_reading *r, size_t *i, uint32_t *ret)
{
	enum match_step s = ends_at(r, *i)     ? STEP_CUT :
			    r->text[*i] != 'u' ? STEP_DIFFERENT :
						 hex_value(r, *i + 1, 4, ret);

	*i += s == STEP_MATCHED ? 5 : 0;
	return s;
}

/* A character of UTF-16, perhaps of two units, each with its backslashes; i: at the first u. */
static enum match_step take_utf16(const struct match_reading *r, size_t *i, uint32_t *ret)
{
	enum match_step s = take_unit(r, i, ret);
	uint32_t low;
	size_t run;

	if (s != STEP_MATCHED || *ret < 0xd800 || *ret > 0xdbff)
		return s;
	run = run_at(r, *i);
	/* A high half without its low half is not a character. */
	if (!run || run > RUN_MAX)
		return ends_at(r, *i) ? STEP_CUT : STEP_DIFFERENT;
	*i += run;
	s = take_unit(r, i, &low);
	if (s != STEP_MATCHED)
		return s;
	*ret = 0x10000 + ((*ret - 0xd800) << 10) + (low - 0xdc00);
	return low < 0xdc00 || low > 0xdfff ? STEP_DIFFERENT : STEP_MATCHED;
}

static enum match_step step_unicode(const struct match_reading *r, struct match_position *at)
{
	struct match_position to = *at;
	uint8_t bytes[4];
	uint32_t u = 0;
	enum match_step s = take_utf16(r, &to.i, &u);
	size_t n = utf8_put(u, bytes);

	if (s != STEP_MATCHED)
		return s;
	for (size_t j = 0; j < n; j++, to.k++)
		if (to.k >= r->pattern->n || !is_byte(r->pattern, to.k, bytes[j]))
			return STEP_DIFFERENT;
	to.breaks = 0;
	*at = to;
	return STEP_MATCHED;
}

static enum match_step step_char(const struct match_reading *r, struct match_position *at,
				 size_t length, uint8_t c)
{
	if (!is_byte(r->pattern, at->k, c))
		return STEP_DIFFERENT;
	*at = (struct match_position){ at->i + length, at->k + 1, 0 };
	return STEP_MATCHED;
}

/* Passes something that is no part of the pattern; nothing begins with it. */
static enum match_step step_over(struct match_position *at, size_t length)
{
	if (!at->k || at->breaks >= BREAK_MAX)
		return STEP_DIFFERENT;
	*at = (struct match_position){ at->i + length, at->k, at->breaks + 1 };
	return STEP_MATCHED;
}

static uint8_t short_escape(uint8_t c)
{
	return c == 't' ? '\t' : c == 'b' ? '\b' : c == 'f' ? '\f' : c;
}

/* At a run of backslashes. other: the second way to read it, if there is one. */
static enum match_step step_escaped(const struct match_reading *r, struct match_position *at,
				    struct match_position *other)
{
	size_t run = run_at(r, at->i), to = at->i + run;
	enum match_step s = STEP_DIFFERENT;
	uint8_t c;

	if (run > RUN_MAX)
		return STEP_DIFFERENT;
	if (to >= r->n)
		return STEP_CUT;
	c = r->text[to];
	if (c == 'u') {
		struct match_position u = { to, at->k, 0 };

		s = step_unicode(r, &u);
		if (s != STEP_DIFFERENT && is_byte(r->pattern, at->k, 'u'))
			*other = (struct match_position){ to + 1, at->k + 1, 0 };
		if (s == STEP_MATCHED)
			*at = u;
		if (s != STEP_DIFFERENT)
			return s;
	}
	if (c == 'n' || c == 'r') {
		*other = *at;
		if (step_over(other, run + 1) != STEP_MATCHED)
			other->i = 0;
	}
	s = step_char(r, at, run + 1, c);
	return s == STEP_DIFFERENT ? step_char(r, at, run + 1, short_escape(c)) : s;
}

/* At a percent sign that stands for another byte. */
static enum match_step step_percent(const struct match_reading *r, struct match_position *at)
{
	uint32_t v;
	enum match_step s = hex_value(r, at->i + 1, 2, &v);

	if (s != STEP_MATCHED)
		return s;
	s = step_char(r, at, 3, (uint8_t)v);
	return s == STEP_DIFFERENT && (v == '\n' || v == '\r' || v == '\\') ? step_over(at, 3) : s;
}

static enum match_step step_any(const struct match_reading *r, struct match_position *at,
				struct match_position *other)
{
	uint8_t c = r->text[at->i];
	enum match_step s;

	if (c == '\\')
		return step_escaped(r, at, other);
	if (c == '%') {
		/* "%41" is an A, or the three characters of a value that contains a percent sign. */
		*other = *at;
		if (step_percent(r, other) != STEP_MATCHED)
			other->i = 0;
		s = step_char(r, at, 1, c);
		return s == STEP_DIFFERENT ? step_percent(r, at) : s;
	}
	s = step_char(r, at, 1, c);
	return s == STEP_DIFFERENT && (c == '\n' || c == '\r') ? step_over(at, 1) : s;
}

/* The pattern from a place on. *end: behind what matches. Calls itself only where a text can be read in two ways. */
static enum match_outcome pattern_compare(struct match_reading *r, struct match_position at,
					  size_t *end)
{
	enum match_outcome best = FAILS, o;

	while (at.k < r->pattern->n) {
		struct match_position other = { 0 };
		bool quote = at.i < r->n && r->text[at.i] == '"' && is_byte(r->pattern, at.k, '"');
		enum match_step s = !quote && ends_at(r, at.i) ? STEP_CUT :
								 step_any(r, &at, &other);

		if (quote && r->quotes) /* or the end of a string, which goes on in another */
			best = MATCH_PARTIAL;
		if (other.i && s == STEP_MATCHED && other.i == at.i && other.k == at.k)
			other.i = 0;
		/* Without the limit a text of ambiguous characters would take exponential time. */
		if (other.i && r->tried++ < READINGS_MAX) {
			o = pattern_compare(r, other, end);
			best = MAX(best, o);
		}
		if (best == MATCH_FULL || s == STEP_DIFFERENT)
			return best;
		if (s == STEP_CUT)
			return MATCH_PARTIAL;
	}
	*end = at.i;
	return MATCH_FULL;
}

enum match_outcome mask_match_compare(const struct mask_pattern *p, struct slice text, bool quotes,
				      size_t i, size_t *end)
{
	struct match_reading r = { p, (const uint8_t *)text.p, text.n, quotes, 0 };

	return pattern_compare(&r, (struct match_position){ i, 0, 0 }, end);
}

enum match_outcome mask_match_first(struct slice text, bool quotes, size_t i, uint8_t *ret)
{
	const struct match_reading r = { NULL, (const uint8_t *)text.p, text.n, quotes, 0 };
	size_t to = i + run_at(&r, i);
	uint8_t bytes[4] = { 0 };
	enum match_step s = STEP_DIFFERENT;
	uint32_t v = 0;

	if (text.p[i] == '%') {
		s = hex_value(&r, i + 1, 2, &v);
		bytes[0] = (uint8_t)v;
	} else if (to >= text.n) {
		s = STEP_CUT;
	} else if (text.p[to] == 'u') {
		s = take_utf16(&r, &to, &v);
		utf8_put(v, bytes);
	} else if (short_escape(r.text[to]) != r.text[to]) {
		s = STEP_MATCHED;
		bytes[0] = short_escape(r.text[to]);
	}
	*ret = bytes[0];
	return s == STEP_MATCHED ? MATCH_FULL : s == STEP_CUT ? MATCH_PARTIAL : FAILS;
}
