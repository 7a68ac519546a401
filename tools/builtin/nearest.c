#include "tools/builtin/nearest.h"

#include "base/limits.h"
#include "base/util.h"
#include "tools/builtin/show.h"

#include <stdint.h>

struct line {
	struct slice s;
	uint64_t hash; /* without blanks; 0: nothing else is in it */
};

struct lines {
	struct line *v;
	size_t n;
};

struct place {
	size_t at, alike;
};

static uint64_t hash_of(struct slice s)
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

static struct lines split(struct slice s)
{
	struct lines ret = { 0 };
	size_t room = 1;

	for (size_t i = 0; i < s.n; i++)
		room += s.p[i] == '\n';
	ret.v = xalloc(room * sizeof(*ret.v));
	while (s.n) {
		const char *nl = memchr(s.p, '\n', s.n);
		size_t n = nl ? (size_t)(nl - s.p) : s.n;
		struct slice line = { s.p, n };

		ret.v[ret.n++] = (struct line){ line, hash_of(line) };
		n += nl != NULL;
		s = (struct slice){ s.p + n, s.n - n };
	}
	return ret;
}

static size_t alike_at(const struct lines *text, const struct lines *wanted, size_t at)
{
	size_t n = 0;

	for (size_t i = 0; i < wanted->n && at + i < text->n; i++)
		n += wanted->v[i].hash && wanted->v[i].hash == text->v[at + i].hash;
	return n;
}

/* Keeps the best, the first of equals; places that overlap are one. */
static void note(struct place *best, struct place p, size_t length)
{
	for (size_t i = 0; i < NEAREST_MAX; i++) {
		if (best[i].alike && p.at < best[i].at + length) {
			if (p.alike > best[i].alike)
				best[i] = p;
			return;
		}
	}
	for (size_t i = 0; i < NEAREST_MAX; i++)
		if (p.alike > best[i].alike) {
			memmove(best + i + 1, best + i, (NEAREST_MAX - i - 1) * sizeof(*best));
			best[i] = p;
			return;
		}
}

static void put_place(struct jw *w, const struct lines *text, const struct place *p, size_t length)
{
	size_t last = MIN(p->at + length, text->n) - 1;
	const char *from = text->v[p->at].s.p, *to = text->v[last].s.p + text->v[last].s.n;
	struct slice s = { from, (size_t)(to - from) };

	s.n = show_cut(s, TOOL_SHOW_LINE);
	jw_obj(w, NULL);
	jw_uint(w, "line", p->at + 1);
	jw_uint(w, "lines", last - p->at + 1);
	jw_uint(w, "alike", p->alike);
	jw_slice(w, "text", s);
	jw_end_obj(w);
}

void nearest_put(struct jw *w, struct slice text, struct slice wanted)
{
	struct place best[NEAREST_MAX] = { 0 };
	struct lines have, want;
	size_t needed;

	if (!text.n || text.n > NEAREST_FILE_MAX || !wanted.n)
		return;
	have = split(text);
	want = split(wanted);
	needed = MAX((want.n + 1) / 2, 1);
	for (size_t at = 0; want.n <= NEAREST_LINES_MAX && at < have.n; at++) {
		size_t alike = alike_at(&have, &want, at);

		if (alike >= needed)
			note(best, (struct place){ at, alike }, want.n);
	}
	if (best[0].alike) {
		jw_arr(w, "nearest");
		for (size_t i = 0; i < NEAREST_MAX && best[i].alike; i++)
			put_place(w, &have, &best[i], want.n);
		jw_end_arr(w);
	}
	free(have.v);
	free(want.v);
}
