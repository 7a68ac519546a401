/*
 * nearest_text.c - compares a text with every place of a file and reports the few most similar
 * places.
 *
 * Several lines: counts equal lines, by hashes without blanks. A single line: the Dice coefficient
 * of pairs of characters, with counters that each line resets on first use. Places arrive in
 * ascending order, which nearest_note() needs to merge overlapping ones. The limits NEAREST_* keep a failed
 * edit fast.
 */
#include "tools/builtin/files/file_describe.h"

#include "base/limits.h"
#include "base/util.h"
#include "tools/builtin/core/model_text.h"

struct line {
	struct slice s;
	uint64_t hash; /* without blanks; 0: nothing else is in it */
};

struct text_lines {
	struct line *v;
	size_t n;
};

struct nearest_place {
	size_t at, alike; /* lines; of one line: hundredths */
	bool blanks;	  /* nothing but blanks differs */
};

/* FNV-1a of 64 bits. The lowest bit is set, so that 0 can stand for an empty line. */
static uint64_t line_hash(struct slice s)
{
	uint64_t h = 14695981039346656037u;
	bool any = false;

	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == ' ' || s.p[i] == '\t' || s.p[i] == '\r')
			continue;
		h = (h ^ (unsigned char)s.p[i]) * 1099511628211u;
		any = true;
	}
	return any ? h | 1 : 0;
}

static struct text_lines nearest_split(struct slice s)
{
	struct text_lines ret = { 0 };
	struct slice line;
	size_t room = 1;

	for (size_t i = 0; i < s.n; i++)
		room += s.p[i] == '\n';
	ret.v = xalloc(room * sizeof(*ret.v));
	while (s.n && slice_item(&s, '\n', &line))
		ret.v[ret.n++] = (struct line){ line, line_hash(line) };
	return ret;
}

/* --- several lines: how many of them are there ------------------------------------------------------------ */

static struct nearest_place alike_at(const struct text_lines *text, const struct text_lines *wanted,
				     size_t at)
{
	struct nearest_place ret = { at, 0, at + wanted->n <= text->n };

	for (size_t i = 0; i < wanted->n && at + i < text->n; i++) {
		bool same = wanted->v[i].hash == text->v[at + i].hash;

		/* Empty lines agree anywhere, so they do not count. */
		ret.alike += same && wanted->v[i].hash;
		ret.blanks &= same;
	}
	return ret;
}

/* --- one line: how many of its pairs of characters are there, and of no others ----------------------------- */

#define PAIRS 65536

/* What a line is compared with, without its blanks. */
struct pairs {
	struct slice wanted;
	uint16_t want[PAIRS], left[PAIRS];
	uint32_t seen[PAIRS]; /* the line that left is of */
	char line[NEAREST_LINE_MAX];
};

static struct slice dense(struct slice s, char *out)
{
	size_t n = 0;

	for (size_t i = 0; i < s.n && n < NEAREST_LINE_MAX; i++)
		if (s.p[i] != ' ' && s.p[i] != '\t' && s.p[i] != '\r')
			out[n++] = s.p[i];
	return (struct slice){ out, n };
}

static unsigned pair_at(struct slice s, size_t i)
{
	return (unsigned char)s.p[i] << 8 | (unsigned char)s.p[i + 1];
}

static size_t common(struct pairs *p, struct slice line, uint32_t number)
{
	size_t n = 0;

	for (size_t i = 0; i + 1 < line.n; i++) {
		unsigned k = pair_at(line, i);

		/* Reset at first use: clearing all counters for each line of the file would be
		 * slow. */
		if (p->seen[k] != number)
			p->left[k] = p->want[k];
		p->seen[k] = number;
		if (p->left[k]) {
			p->left[k]--;
			n++;
		}
	}
	return n;
}

/* Further text of a line counts only up to the length of the wanted text, which may be a part of the line. */
static struct nearest_place line_alike(struct pairs *p, const struct text_lines *text, size_t at)
{
	struct slice line = dense(text->v[at].s, p->line);
	size_t have, want = p->wanted.n - 1;

	if (memmem(line.p, line.n, p->wanted.p, p->wanted.n))
		return (struct nearest_place){ at, 100, true };
	have = line.n ? MIN(line.n - 1, 2 * want) : 0;
	/* The Dice coefficient in hundredths. Lines count from 1 here, because 0 marks a counter
	 * that was never used. */
	return (struct nearest_place){ at, 200 * common(p, line, (uint32_t)at + 1) / (want + have),
				       false };
}

/* Keeps the best in order, the first of equals; places that overlap are one, the better of them. */
static void nearest_note(struct nearest_place *best, struct nearest_place p, size_t length)
{
	size_t from = NEAREST_MAX - 1, to = 0; /* the last one goes, unless p replaces another */

	for (size_t i = 0; i < NEAREST_MAX; i++)
		if (best[i].alike && p.at < best[i].at + length)
			from = i;
	if (p.alike <= best[from].alike)
		return;
	while (best[to].alike >= p.alike)
		to++;
	memmove(best + to + 1, best + to, (from - to) * sizeof(*best));
	best[to] = p;
}

static void nearest_put(struct jw *w, const struct text_lines *text, const struct nearest_place *p,
			size_t length)
{
	size_t last = MIN(p->at + length, text->n) - 1;
	const char *from = text->v[p->at].s.p, *to = text->v[last].s.p + text->v[last].s.n;
	struct slice s = { from, (size_t)(to - from) };
	bool one = length == 1;

	s.n = model_text_cut(s, TOOL_SHOW_LINE);
	jw_obj(w, NULL);
	jw_uint(w, "line", p->at + 1);
	jw_uint(w, "lines", last - p->at + 1);
	jw_uint(w, "alike", one ? p->blanks : p->alike);
	if (p->blanks)
		jw_str(w, "differs", "blanks");
	else if (one)
		jw_uint(w, "percent", p->alike);
	jw_slice(w, "text", s);
	jw_end_obj(w);
}

static void find_lines(const struct text_lines *have, const struct text_lines *want,
		       struct nearest_place *best)
{
	size_t needed = (want->n + 1) / 2;

	for (size_t at = 0; want->n <= NEAREST_LINES_MAX && at < have->n; at++) {
		struct nearest_place p = alike_at(have, want, at);

		if (p.alike >= needed)
			nearest_note(best, p, want->n);
	}
}

static void find_line(const struct text_lines *have, struct slice wanted,
		      struct nearest_place *best)
{
	_cleanup_(freep) struct pairs *p = new0(struct pairs);
	char line[NEAREST_LINE_MAX];

	/* In a buffer of its own, since p->line is used again for each line of the file. */
	p->wanted = dense(wanted, line);
	/* At the maximum, dense() may have cut the line, and a part of it would match too well. */
	if (p->wanted.n < NEAREST_LINE_MIN || p->wanted.n == NEAREST_LINE_MAX)
		return;
	for (size_t i = 0; i + 1 < p->wanted.n; i++)
		p->want[pair_at(p->wanted, i)]++;
	for (size_t at = 0; at < have->n; at++) {
		struct nearest_place found = line_alike(p, have, at);

		if (found.alike >= NEAREST_PERCENT)
			nearest_note(best, found, 1);
	}
}

void nearest_text_put(struct jw *w, struct slice text, struct slice wanted)
{
	struct nearest_place best[NEAREST_MAX] = { 0 };
	struct text_lines have, want;

	if (!text.n || text.n > NEAREST_FILE_MAX || !wanted.n)
		return;
	have = nearest_split(text);
	want = nearest_split(wanted);
	if (want.n == 1)
		find_line(&have, want.v[0].s, best);
	else
		find_lines(&have, &want, best);
	if (best[0].alike) {
		jw_arr(w, "nearest");
		for (size_t i = 0; i < NEAREST_MAX && best[i].alike; i++)
			nearest_put(w, &have, &best[i], want.n);
		jw_end_arr(w);
	}
	free_each(have.v, want.v);
}
