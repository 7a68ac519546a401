#include "diff/apply_internal.h"

#include "base/limits.h"

#include <ctype.h>
#include <errno.h>

/* --- reading ------------------------------------------------------------------------------------------- */

static int corrupt(size_t line, const char *what, struct err *e)
{
	return err_set(e, -EINVAL, RPC_INVALID_PARAMS, "PATCH_CORRUPT", "patch, line %zu: %s", line,
		       what);
}

static int number(struct slice *s, uint32_t *ret)
{
	uint64_t v = 0;
	size_t i = 0;

	for (; i < s->n && i < 10 && isdigit((unsigned char)s->p[i]); i++)
		v = v * 10 + (uint64_t)(s->p[i] - '0');
	if (!i || v > INT32_MAX)
		return -EINVAL;
	*ret = (uint32_t)v;
	s->p += i;
	s->n -= i;
	return 0;
}

/* "12,3" or "12", which is one line. */
static int range(struct slice *s, uint32_t *at, uint32_t *n)
{
	*n = 1;
	if (number(s, at) < 0)
		return -EINVAL;
	return slice_skip(s, ",") ? number(s, n) : 0;
}

static int header(struct slice s, struct patch_hunk *h)
{
	if (!slice_skip(&s, "@@ -") || range(&s, &h->old_at, &h->old_n) < 0 ||
	    !slice_skip(&s, " +") || range(&s, &h->new_at, &h->new_n) < 0)
		return -EINVAL;
	return slice_starts(s, " @@") ? 0 : -EINVAL;
}

struct tally {
	uint32_t old_left, new_left;
	bool changed; /* a line went or came already */
};

/* One line of a hunk. 1: it is none. */
static int body_line(struct slice line, struct tally *t, struct patch_hunk *h, struct patch_file *f)
{
	switch (line.p[0]) {
	case ' ':
	case '\n': /* some programs leave the blank of an empty line away */
		if (!t->old_left || !t->new_left)
			return 1;
		t->old_left--;
		t->new_left--;
		h->trailing++;
		h->leading += !t->changed;
		return 0;
	case '-':
		if (!t->old_left)
			return 1;
		t->old_left--;
		f->deletions++;
		break;
	case '+':
		if (!t->new_left)
			return 1;
		t->new_left--;
		f->insertions++;
		break;
	default:
		return 1;
	}
	t->changed = true;
	h->trailing = 0;
	return 0;
}

/* "\ No newline at end of file", in any language. */
static bool is_note(struct slice line)
{
	return line.n >= 12 && slice_starts(line, "\\ ");
}

static int hunk_parse(struct patch_reader *r, struct patch_file *f, struct patch_hunk *h,
		      struct err *e)
{
	struct slice line = reader_line(r);
	struct tally t;
	const char *from;

	h->line = r->line;
	if (header(line, h) < 0)
		return corrupt(r->line, "a header of a hunk that cannot be read", e);
	t = (struct tally){ h->old_n, h->new_n, false };
	reader_skip(r, line.n);
	for (from = r->p; r->p < r->end && (t.old_left || t.new_left); reader_skip(r, line.n)) {
		line = reader_line(r);
		if (!is_note(line) && body_line(line, &t, h, f) != 0)
			return corrupt(r->line, "the hunk does not have the lines its header says",
				       e);
	}
	if (t.old_left || t.new_left)
		return corrupt(r->line, "the patch ends within a hunk", e);
	if (is_note(reader_line(r)))
		reader_skip(r, reader_line(r).n);
	h->body = (struct slice){ from, (size_t)(r->p - from) };
	if (!t.changed)
		return corrupt(h->line, "a hunk that changes nothing", e);
	return 0;
}

int hunks_parse(struct patch_reader *r, struct patch_file *f, struct err *e)
{
	while (slice_starts(reader_line(r), "@@ -")) {
		struct patch_hunk *room;
		int k;

		if (f->nhunks >= PATCH_HUNKS_MAX)
			return err_set(e, -EINVAL, RPC_INVALID_PARAMS, "PATCH_TOO_LARGE",
				       "more than %d hunks for one file", PATCH_HUNKS_MAX);
		if ((f->nhunks & (f->nhunks - 1)) == 0) {
			room = realloc(f->hunks, (f->nhunks ? f->nhunks * 2 : 1) * sizeof(*room));
			if (!room)
				return -ENOMEM;
			f->hunks = room;
		}
		f->hunks[f->nhunks] = (struct patch_hunk){ 0 };
		k = hunk_parse(r, f, &f->hunks[f->nhunks++], e);
		if (k < 0)
			return k;
	}
	return 0;
}

/* --- applying ------------------------------------------------------------------------------------------ */

struct line {
	struct slice text;
	bool made; /* by an earlier hunk: no context for a later one */
};

struct image {
	struct line *v;
	size_t n, cap;
};

static int image_room(struct image *m, size_t n)
{
	struct line *room;

	if (n <= m->cap)
		return 0;
	room = realloc(m->v, n * sizeof(*room));
	if (!room)
		return -ENOMEM;
	m->v = room;
	m->cap = n;
	return 0;
}

static size_t lines_count(struct slice s)
{
	size_t n = 0;

	for (const char *p = s.p, *end = s.p + s.n; p < end; n++) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));

		p = nl ? nl + 1 : end;
	}
	return n;
}

static int image_split(struct image *m, struct slice s)
{
	struct patch_reader r = { s.p, s.p + s.n, 1 };

	if (image_room(m, lines_count(s) + 1) < 0)
		return -ENOMEM;
	while (r.p < r.end) {
		struct slice line = reader_line(&r);

		m->v[m->n++] = (struct line){ line, false };
		r.p += line.n;
	}
	return 0;
}

/* A hunk as the lines it wants and those it leaves. */
static int hunk_sides(const struct patch_hunk *h, struct image *pre, struct image *post)
{
	struct patch_reader r = { h->body.p, h->body.p + h->body.n, 1 }, next;

	if (image_room(pre, (size_t)h->old_n + 1) < 0 || image_room(post, (size_t)h->new_n + 1) < 0)
		return -ENOMEM;
	pre->n = post->n = 0;
	for (; r.p < r.end; r = next) {
		struct slice line = reader_line(&r), text = { line.p + 1, line.n - 1 };

		next = r;
		reader_skip(&next, line.n);
		if (is_note(line))
			continue;
		if (line.p[0] == '\n')
			text = line;
		if (is_note(reader_line(&next)) && text.n && text.p[text.n - 1] == '\n')
			text.n--;
		if (line.p[0] != '+')
			pre->v[pre->n++] = (struct line){ text, false };
		if (line.p[0] != '-')
			post->v[post->n++] = (struct line){ text, true };
	}
	return 0;
}

struct search {
	const struct image *img, *pre;
	bool at_start, at_end; /* only there */
};

static bool matches(const struct search *s, size_t at)
{
	if (at + s->pre->n > s->img->n || (s->at_start && at) ||
	    (s->at_end && at + s->pre->n != s->img->n))
		return false;
	for (size_t i = 0; i < s->pre->n; i++)
		if (s->img->v[at + i].made || !slice_eq(s->img->v[at + i].text, s->pre->v[i].text))
			return false;
	return true;
}

/* From where it should be, one line further away in turns; -1: nowhere. */
static ssize_t place_find(const struct search *s, size_t want)
{
	size_t down, up;

	if (s->at_start)
		want = 0;
	else if (s->at_end)
		want = s->img->n - MIN(s->pre->n, s->img->n);
	want = MIN(want, s->img->n);
	if (matches(s, want))
		return (ssize_t)want;
	if (s->at_start || s->at_end)
		return -1;
	for (down = up = want; down < s->img->n || up > 0;) {
		if (down < s->img->n && matches(s, ++down))
			return (ssize_t)down;
		if (up > 0 && matches(s, --up))
			return (ssize_t)up;
	}
	return -1;
}

static int image_replace(struct image *img, size_t at, size_t n, const struct image *with)
{
	if (image_room(img, img->n - n + with->n) < 0)
		return -ENOMEM;
	memmove(img->v + at + with->n, img->v + at + n, (img->n - at - n) * sizeof(*img->v));
	memcpy(img->v + at, with->v, with->n * sizeof(*img->v));
	img->n = img->n - n + with->n;
	return 0;
}

static void image_done(struct image *m)
{
	free(m->v);
}

static int hunk_apply(const struct patch_hunk *h, struct image *img, struct patch_place *ret)
{
	_cleanup_(image_done) struct image pre = { 0 }, post = { 0 };
	size_t want = h->new_at ? h->new_at - 1 : 0;
	struct search s = { img, &pre, h->old_at <= 1, !h->trailing };
	ssize_t at;

	if (hunk_sides(h, &pre, &post) < 0)
		return -ENOMEM;
	at = place_find(&s, want);
	*ret = (struct patch_place){ at < 0 ? 0 : (size_t)at + 1,
				     at < 0 ? 0 : (int64_t)at - (int64_t)want };
	return at < 0 ? 0 : image_replace(img, (size_t)at, pre.n, &post);
}

static int mismatch(const struct patch_file *f, size_t failed, struct err *e)
{
	return err_set(e, -EINVAL, RPC_INVALID_PARAMS, "PATCH_MISMATCH",
		       "%zu of %zu hunks do not fit %.120s", failed, f->nhunks,
		       f->from ? f->from : f->to);
}

int patch_apply(const struct patch_file *f, struct slice old, struct buf *out,
		struct patch_place *places, struct err *e)
{
	_cleanup_(image_done) struct image img = { 0 };
	size_t failed = 0;

	if (f->binary)
		return binary_apply(f, old, out, e);
	if (image_split(&img, old) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < f->nhunks; i++) {
		if (hunk_apply(&f->hunks[i], &img, &places[i]) < 0)
			return -ENOMEM;
		failed += !places[i].at;
	}
	for (size_t i = 0; i < img.n; i++)
		buf_add_slice(out, img.v[i].text);
	if (out->failed)
		return err_set(e, -EFBIG, RPC_INVALID_PARAMS, "PATCH_TOO_LARGE",
			       "the patched file is too large");
	if (failed)
		return mismatch(f, failed, e);
	if (!f->to && img.n)
		return err_set(e, -EINVAL, RPC_INVALID_PARAMS, "PATCH_MISMATCH",
			       "%.120s is to be removed and has more than the patch says", f->from);
	return 0;
}
