/*
 * apply_lines.c - applies the hunks of a file that is split into an array of lines.
 *
 * Hunks are applied in order to one image. Lines that a hunk inserts are marked, and a later hunk
 * may not use them as context: that is git's rule, and it prevents overlapping hunks from matching
 * their own output. The strict search of this file finds the place nearest to the header's line
 * number. Loose files use apply_place.c instead.
 *
 * All hunks are tried even after one fails, so that the caller gets the place of each. The line
 * arrays borrow the text of file and patch; only the pointers move.
 */
#include "diff/apply/apply_internal.h"

#include "base/limits.h"

static int image_room(struct patch_image *m, size_t n)
{
	struct patch_line *room;

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

	for (; s.n; n++)
		s = slice_after(s, slice_line(s));
	return n;
}

static int image_split(struct patch_image *m, struct slice s)
{
	struct patch_reader r = { s.p, s.p + s.n, 1 };

	if (image_room(m, lines_count(s) + 1) < 0)
		return -ENOMEM;
	while (r.p < r.end) {
		struct slice line = reader_line(&r);

		m->v[m->n] = (struct patch_line){ line, (uint32_t)m->n + 1, false };
		m->n++;
		r.p += line.n;
	}
	return 0;
}

/* Splits a hunk into the lines it expects and those it leaves. */
static int hunk_sides(const struct patch_hunk *h, struct patch_image *pre, struct patch_image *post)
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
			pre->v[pre->n++] = (struct patch_line){ text, 0, false };
		if (line.p[0] != '-')
			post->v[post->n++] =
				(struct patch_line){ text, line.p[0] == '+' ? 0 : (uint32_t)pre->n,
						     true };
	}
	return 0;
}

struct hunk_search {
	const struct patch_image *img, *pre;
	bool at_start, at_end; /* only there */
};

static bool hunk_search_fits(const struct hunk_search *s, size_t at)
{
	if (at + s->pre->n > s->img->n || (s->at_start && at) ||
	    (s->at_end && at + s->pre->n != s->img->n))
		return false;
	return image_fits(s->img, s->pre, at);
}

/* Searches from where it should be, in turns one line further up and down; -1: nowhere. */
static ssize_t place_find(const struct hunk_search *s, size_t want)
{
	size_t down, up;

	if (s->at_start)
		want = 0;
	else if (s->at_end)
		want = s->img->n - MIN(s->pre->n, s->img->n);
	want = MIN(want, s->img->n);
	if (hunk_search_fits(s, want))
		return (ssize_t)want;
	if (s->at_start || s->at_end)
		return -1;
	for (down = up = want; down < s->img->n || up > 0;) {
		if (down < s->img->n && hunk_search_fits(s, ++down))
			return (ssize_t)down;
		if (up > 0 && hunk_search_fits(s, --up))
			return (ssize_t)up;
	}
	return -1;
}

/* Only pointers to lines move, never their text. */
static int image_replace(struct patch_image *img, size_t at, size_t n,
			 const struct patch_image *with)
{
	if (image_room(img, img->n - n + with->n) < 0)
		return -ENOMEM;
	memmove(img->v + at + with->n, img->v + at + n, (img->n - at - n) * sizeof(*img->v));
	memcpy(img->v + at, with->v, with->n * sizeof(*img->v));
	img->n = img->n - n + with->n;
	return 0;
}

static void image_done(struct patch_image *m)
{
	free(m->v);
}

/* Finds the place where git would put it. */
/* As git does: without context below it a hunk belongs at the end, and one of line 1 at the beginning. */
static void place_strict(const struct patch_hunk *h, const struct patch_image *img,
			 const struct patch_image *pre, struct patch_place *ret)
{
	size_t want = h->new_at ? h->new_at - 1 : 0;
	struct hunk_search s = { img, pre, h->old_at <= 1, !h->trailing };
	ssize_t at = place_find(&s, want);

	if (at < 0)
		*ret = (struct patch_place){ .miss = MISS_NOWHERE };
	else
		*ret = (struct patch_place){ (size_t)at + 1, (int64_t)at - (int64_t)want,
					     .miss = MISS_NONE };
}

/* Context of a loose file stays as it is in the file, and may be that of the next hunk. */
static void keep_context(const struct patch_image *img, size_t at, struct patch_image *post)
{
	for (size_t i = 0; i < post->n; i++)
		if (post->v[i].no)
			post->v[i] = img->v[at + post->v[i].no - 1];
}

static int hunk_apply(struct patch_spot *spot, struct patch_image *img, struct patch_place *ret)
{
	_cleanup_(image_done) struct patch_image pre = { 0 }, post = { 0 };
	const struct patch_hunk *h = spot->h;
	size_t at;

	if (hunk_sides(h, &pre, &post) < 0)
		return -ENOMEM;
	if (!spot->f->loose)
		place_strict(h, img, &pre, ret);
	else if (place_loose(img, &pre, spot, ret) == -ENOMEM)
		return -ENOMEM;
	if (!ret->at)
		return 0;
	at = ret->at - 1;
	if (spot->f->loose)
		keep_context(img, at, &post);
	spot->behind = at + post.n - h->trailing;
	spot->delta += (int64_t)post.n - (int64_t)pre.n;
	return image_replace(img, at, pre.n, &post);
}

/* A file that is to be removed must be empty by now: its hunks name all of its lines. */
static int result_check(const struct patch_file *f, const struct patch_image *img,
			const struct buf *out, struct err *e)
{
	if (out->failed)
		return err_set(e, -EFBIG, RPC_INVALID_PARAMS, "PATCH_TOO_LARGE",
			       "the patched file is too large");
	if (!f->to && img->n)
		return err_set(e, -EINVAL, RPC_INVALID_PARAMS, "PATCH_MISMATCH",
			       "%.120s is to be removed and has more than the patch says", f->from);
	return 0;
}

/* Each hunk is tried in the image that those before it have left, also after one that found no place. */
static int lines_apply(const struct patch_file *f, struct slice old, struct buf *out,
		       struct patch_place *places, struct err *e)
{
	_cleanup_(image_done) struct patch_image img = { 0 };
	struct patch_spot spot = { .f = f };
	size_t failed = 0;

	if (image_split(&img, old) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < f->nhunks; i++) {
		spot.h = &f->hunks[i];
		if (hunk_apply(&spot, &img, &places[i]) < 0)
			return -ENOMEM;
		failed += !places[i].at;
	}
	for (size_t i = 0; i < img.n; i++)
		buf_add_slice(out, img.v[i].text);
	if (failed && !out->failed)
		return patch_misfit(f, places, e);
	return result_check(f, &img, out, e);
}

int patch_apply(const struct patch_file *f, struct slice old, struct buf *out,
		struct patch_place *places, struct err *e)
{
	_cleanup_(buf_done) struct buf plain = { .max = PATCH_SIDE_MAX + 1 };
	struct patch_ends ends;
	int r;

	if (f->binary)
		return binary_apply(f, old, out, e);
	if (f->whole)
		return 0;
	if (!f->loose)
		return lines_apply(f, old, out, places, e);
	ends = ends_take(f, old, &plain);
	if (plain.failed)
		return -ENOMEM;
	r = lines_apply(f, buf_len(&plain) ? buf_slice(&plain) : old, out, places, e);
	ends_give(&ends, out);
	return r == 0 && out->failed ? result_check(f, &(struct patch_image){ 0 }, out, e) : r;
}

void patch_hunk_wants(const struct patch_hunk *h, struct buf *out)
{
	_cleanup_(image_done) struct patch_image pre = { 0 }, post = { 0 };

	if (hunk_sides(h, &pre, &post) < 0)
		return;
	for (size_t i = 0; i < pre.n; i++)
		buf_add_slice(out, pre.v[i].text);
}
