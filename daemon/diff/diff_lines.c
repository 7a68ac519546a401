/*
 * diff_lines.c - computes line ranges: trims the common ends, numbers the lines, runs Myers, then
 * slides ranges down.
 *
 * A line ends after its newline. The last one may have none, and then differs from the same line with one. The common
 * beginning and end of both texts are taken off first. The lines between become numbers: equal lines have equal
 * numbers, by a hash and then memcmp, and the seed of the hash differs in each process so that prepared lines cannot
 * collide. Lines that the other side does not have are changed without further search. The rest goes to myers.h. An
 * insertion or deletion that could stand in several places is moved down as far as possible, as git does.
 *
 * Between their first and last difference the texts may have DIFF_LINES_MAX lines each; with more, that part is one
 * range. Texts are borrowed. Memory is about 60 bytes for each line between.
 *
 * Each distinct line becomes a class number by an open-addressing hash table of at least twice as
 * many slots as lines. So Myers compares integers. Lines without a counterpart in the other text
 * are marked as changed before the search, which makes the search smaller. The slide at the end
 * needs ranges in ascending order, and merges a range that reaches the next one.
 */
#include "diff/diff_lines.h"

#include "base/limits.h"
#include "base/util.h"
#include "diff/myers.h"

#include <sys/auxv.h>

/* The part of one text between the first and the last difference. */
struct line_side {
	struct slice text;
	uint32_t before; /* lines of the text before it */
	uint32_t n;	 /* lines in it */
	uint32_t *id;	 /* one number per line */
	bool *changed;
};

/* One of the different lines that occur. */
struct class
{
	const char *p;
	uint32_t n, hash;
	uint32_t count[2]; /* in each side */
};

struct classes {
	struct class *row;
	uint32_t n;
	uint32_t *slot; /* hash table: number of the row plus 1 */
	uint32_t mask;
	uint64_t seed[2];
};

/* --- the parts that are the same ------------------------------------------------------------------------- */

static size_t common_prefix(struct slice a, struct slice b)
{
	size_t n = MIN(a.n, b.n), i = 0;

	while (n - i >= 64 && memcmp(a.p + i, b.p + i, 64) == 0)
		i += 64;
	while (i < n && a.p[i] == b.p[i])
		i++;
	return i;
}

static size_t common_suffix(struct slice a, struct slice b)
{
	size_t n = MIN(a.n, b.n), i = 0;

	while (n - i >= 64 && memcmp(a.p + a.n - i - 64, b.p + b.n - i - 64, 64) == 0)
		i += 64;
	while (i < n && a.p[a.n - i - 1] == b.p[b.n - i - 1])
		i++;
	return i;
}

static uint32_t count_newlines(const char *p, size_t n)
{
	const char *end = p + n;
	uint32_t lines = 0;

	while (p < end && (p = memchr(p, '\n', (size_t)(end - p)))) {
		lines++;
		p++;
	}
	return lines;
}

/* Takes whole lines off: the prefix ends after a newline, and so does what is before the suffix. */
static void trim_common(struct line_side *a, struct line_side *b)
{
	size_t n = common_prefix(a->text, b->text);
	const char *newline;

	while (n && a->text.p[n - 1] != '\n')
		n--;
	if (n) {
		a->before = b->before = count_newlines(a->text.p, n);
		a->text = slice_after(a->text, n);
		b->text = slice_after(b->text, n);
	}
	n = common_suffix(a->text, b->text);
	newline = n ? memchr(a->text.p + a->text.n - n, '\n', n) : NULL;
	if (newline) {
		n = a->text.n - (size_t)(newline + 1 - a->text.p);
		a->text.n -= n;
		b->text.n -= n;
	}
}

static uint32_t lines_count_in(struct slice text)
{
	if (!text.n)
		return 0;
	return count_newlines(text.p, text.n) + (text.p[text.n - 1] != '\n');
}

/* --- lines become numbers -------------------------------------------------------------------------------- */

static uint64_t hash_mix(uint64_t a, uint64_t b)
{
	unsigned __int128 m = (unsigned __int128)a * b;

	return (uint64_t)m ^ (uint64_t)(m >> 64);
}

static uint32_t hash_line(const struct classes *c, const char *p, size_t n)
{
	uint64_t h = c->seed[0] ^ n, word;

	for (; n >= sizeof(word); p += sizeof(word), n -= sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		h = hash_mix(h ^ word, c->seed[1]);
	}
	if (n) {
		word = 0;
		memcpy(&word, p, n);
		h = hash_mix(h ^ word, c->seed[1]);
	}
	return (uint32_t)(h ^ h >> 32);
}

static uint32_t class_of(struct classes *c, const char *p, uint32_t n)
{
	uint32_t hash = hash_line(c, p, n);
	uint32_t at = hash & c->mask;

	for (; c->slot[at]; at = (at + 1) & c->mask) {
		const struct class *row = &c->row[c->slot[at] - 1];

		if (row->hash == hash && row->n == n && memcmp(row->p, p, n) == 0)
			return c->slot[at] - 1;
	}
	c->row[c->n] = (struct class){ .p = p, .n = n, .hash = hash };
	c->slot[at] = ++c->n;
	return c->n - 1;
}

static void number_lines(struct classes *c, struct line_side *s, int which)
{
	struct slice rest = s->text;

	for (uint32_t i = 0; i < s->n; i++) {
		size_t n = slice_line(rest);

		s->id[i] = class_of(c, rest.p, (uint32_t)n);
		c->row[s->id[i]].count[which]++;
		rest = slice_after(rest, n);
	}
}

static void classes_done(struct classes *c)
{
	free_each(c->row, c->slot);
}

/* The seed: the 16 random bytes that the kernel gives every process. */
static int classes_start(struct classes *c, uint32_t lines)
{
	const void *random = (const void *)getauxval(AT_RANDOM);
	size_t slots = 16;

	while (slots < 2 * (size_t)lines)
		slots *= 2;
	c->row = calloc(lines + 1, sizeof(*c->row));
	c->slot = calloc(slots, sizeof(*c->slot));
	c->mask = (uint32_t)slots - 1;
	if (random)
		memcpy(c->seed, random, sizeof(c->seed));
	c->seed[1] |= 1;
	return c->row && c->slot ? 0 : -ENOMEM;
}

/* --- the search ------------------------------------------------------------------------------------------ */

/* The lines that the other side has too; all others are changed. id and line have room for n. */
static struct myers_side lines_candidates(const struct line_side *s, const struct classes *c,
					  int other, uint32_t *id, uint32_t *line)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->n; i++) {
		s->changed[i] = !c->row[s->id[i]].count[other];
		if (s->changed[i])
			continue;
		id[n] = s->id[i];
		line[n++] = i;
	}
	return (struct myers_side){ .id = id, .line = line, .n = n, .changed = s->changed };
}

static int find_changed(struct line_side *a, struct line_side *b)
{
	_cleanup_(classes_done) struct classes c = { 0 };
	size_t lines = (size_t)a->n + b->n;
	_cleanup_(freep) uint32_t *room = calloc(2 * lines + 1, sizeof(*room));
	struct myers_side x, y;
	int r = classes_start(&c, (uint32_t)lines);

	if (r < 0 || !room)
		return -ENOMEM;
	number_lines(&c, a, 0);
	number_lines(&c, b, 1);
	x = lines_candidates(a, &c, 1, room, room + a->n);
	y = lines_candidates(b, &c, 0, room + 2 * (size_t)a->n, room + 2 * (size_t)a->n + b->n);
	return myers_compare(&x, &y);
}

/* --- ranges ---------------------------------------------------------------------------------------------- */

static uint32_t run_of_changed(const struct line_side *s, uint32_t at)
{
	uint32_t n = 0;

	while (at + n < s->n && s->changed[at + n])
		n++;
	return n;
}

/* Fills out, which may be NULL, with the lines counted from the part's beginning; returns how many. */
static size_t ranges_collect(const struct line_side *a, const struct line_side *b,
			     struct line_range *out)
{
	uint32_t x = 0, y = 0;
	size_t n = 0;

	while (x < a->n || y < b->n) {
		struct line_range r = { x, run_of_changed(a, x), y, run_of_changed(b, y) };

		if (r.old_n || r.new_n) {
			if (out)
				out[n] = r;
			n++;
		}
		x += r.old_n + 1;
		y += r.new_n + 1;
	}
	return n;
}

/* Moves one line down if that is the same change: its first line equals the one after it. */
static bool slide_one(const struct line_side *a, const struct line_side *b, struct line_range *r)
{
	const struct line_side *s = r->old_n ? a : b;
	uint32_t at = r->old_n ? r->old_at : r->new_at, n = r->old_n + r->new_n;

	if ((r->old_n && r->new_n) || at + n >= s->n || s->id[at] != s->id[at + n])
		return false;
	r->old_at++;
	r->new_at++;
	return true;
}

/* Moves down until it meets the next range, and then joins it. */
static void slide_all(const struct line_side *a, const struct line_side *b, struct line_diff *d)
{
	size_t n = 0;

	for (size_t i = 0; i < d->n; i++) {
		struct line_range r = d->ranges[i];
		const struct line_range *next = i + 1 < d->n ? &d->ranges[i + 1] : NULL;

		while ((!next || r.old_at + r.old_n < next->old_at) && slide_one(a, b, &r))
			;
		if (next && r.old_at + r.old_n == next->old_at)
			d->ranges[i + 1] = (struct line_range){ r.old_at, r.old_n + next->old_n,
								r.new_at, r.new_n + next->new_n };
		else
			d->ranges[n++] = r;
	}
	d->n = n;
}

static int lines_search(struct line_side *a, struct line_side *b, struct line_diff *ret)
{
	size_t lines = (size_t)a->n + b->n;
	_cleanup_(freep) uint32_t *ids = calloc(lines, sizeof(*ids));
	_cleanup_(freep) bool *changed = calloc(lines, sizeof(*changed));
	int r;

	if (!ids || !changed)
		return -ENOMEM;
	a->id = ids;
	a->changed = changed;
	b->id = ids + a->n;
	b->changed = changed + a->n;
	r = find_changed(a, b);
	if (r < 0)
		return r;
	ret->ranges = calloc(ranges_collect(a, b, NULL) + 1, sizeof(*ret->ranges));
	if (!ret->ranges)
		return -ENOMEM;
	ret->n = ranges_collect(a, b, ret->ranges);
	slide_all(a, b, ret);
	return 0;
}

/* Nothing in common, or too much to look for it. */
static int replace_all(const struct line_side *a, const struct line_side *b, struct line_diff *ret)
{
	ret->ranges = calloc(1, sizeof(*ret->ranges));
	if (!ret->ranges)
		return -ENOMEM;
	ret->ranges[0] = (struct line_range){ .old_n = a->n, .new_n = b->n };
	ret->n = 1;
	return 0;
}

int line_diff_make(struct slice from, struct slice to, struct line_diff *ret)
{
	struct line_side a = { .text = from }, b = { .text = to };
	int r;

	*ret = (struct line_diff){ 0 };
	if (from.n > DIFF_SIDE_MAX || to.n > DIFF_SIDE_MAX)
		return -EFBIG;
	trim_common(&a, &b);
	a.n = lines_count_in(a.text);
	b.n = lines_count_in(b.text);
	if (!a.n && !b.n)
		return 0;
	if (!a.n || !b.n || MAX(a.n, b.n) > DIFF_LINES_MAX)
		r = replace_all(&a, &b, ret);
	else
		r = lines_search(&a, &b, ret);
	for (size_t i = 0; i < ret->n; i++) {
		ret->ranges[i].old_at += a.before;
		ret->ranges[i].new_at += b.before;
	}
	return r;
}

void line_diff_done(struct line_diff *d)
{
	free(d->ranges);
	*d = (struct line_diff){ 0 };
}
