/* apply_place.c - finds the one place of each hunk of a loose file, or reports in which places it fits. */
#include "diff/apply/apply_internal.h"

#include "diff/ends.h"

#include <inttypes.h>

/* --- lines that "@@" names ------------------------------------------------------------------------------ */

static struct slice anchor_trim(struct slice s)
{
	while (s.n && (unsigned char)s.p[0] <= ' ')
		s = slice_after(s, 1);
	while (s.n && (unsigned char)s.p[s.n - 1] <= ' ')
		s.n--;
	return s;
}

/* "@@ int f(void)", "@@ int f(void) @@", "@@ ... @@ int f(void)"; empty: it names none. */
static struct slice anchor_of(struct slice line)
{
	slice_skip(&line, "@@");
	line = anchor_trim(line);
	if (line.n >= 2 && line.p[line.n - 1] == '@' && line.p[line.n - 2] == '@')
		line = anchor_trim((struct slice){ line.p, line.n - 2 });
	for (size_t i = 0; i + 1 < line.n; i++)
		if (line.p[i] == '@' && line.p[i + 1] == '@') {
			line = anchor_trim((struct slice){ line.p + i + 2, line.n - i - 2 });
			break;
		}
	for (size_t i = 0; i < line.n; i++)
		if (!memchr(".-+, 0123456789", line.p[i], 15))
			return line;
	return SLICE_NONE;
}

struct anchors {
	struct slice v[PATCH_ANCHORS_MAX];
	bool whole[PATCH_ANCHORS_MAX]; /* a line is equal to it; else one begins with it */
	size_t n;
};

static bool is_anchor(const struct anchors *a, size_t k, struct slice line)
{
	line = anchor_trim(line);
	if (a->whole[k])
		return slice_eq(line, a->v[k]);
	return line.n >= a->v[k].n && memcmp(line.p, a->v[k].p, a->v[k].n) == 0;
}

/* A line that is equal is preferred over one that only begins with the text: models leave the rest of a line away. */
static bool is_anchor_known(struct anchors *a, size_t k, const struct patch_image *img)
{
	for (int whole = 1; whole >= 0; whole--) {
		a->whole[k] = whole;
		for (size_t i = 0; i < img->n; i++)
			if (is_anchor(a, k, img->v[i].text))
				return true;
	}
	return false;
}

/* False: the file lacks one of them. */
static bool anchors_read(struct slice lines, const struct patch_image *img, struct anchors *ret)
{
	struct patch_reader r = { lines.p, lines.p + lines.n, 1 };

	ret->n = 0;
	for (; r.p < r.end; reader_skip(&r, reader_line(&r).n)) {
		struct slice text = anchor_of(reader_line(&r));

		if (!text.n)
			continue;
		if (ret->n >= PATCH_ANCHORS_MAX)
			return false;
		ret->v[ret->n] = text;
		if (!is_anchor_known(ret, ret->n++, img))
			return false;
	}
	return true;
}

/* --- places --------------------------------------------------------------------------------------------- */

struct hunt {
	const struct patch_image *img, *pre;
	const struct patch_spot *spot;
	const struct anchors *anchors;
	size_t n, last; /* places found, and the last of them */
	struct patch_place *ret;
};

static bool hunt_fits(const struct hunt *h, size_t at)
{
	return image_fits(h->img, h->pre, at) &&
	       (!h->spot->h->at_end || at + h->pre->n == h->img->n);
}

static void hunt_found(struct hunt *h, size_t at)
{
	if (h->n && h->last == at)
		return;
	h->last = at;
	h->n++;
	if (h->ret->nalso < PATCH_ALSO_MAX)
		h->ret->also[h->ret->nalso++] = h->img->v[at].no;
}

#define NOWHERE SIZE_MAX

/* next[i]: where a search from line i for the anchors and then for the lines ends. Each is the first behind the
 * one before it; the last of them may be the first of the lines. */
static void hunt_chain(const struct hunt *h, size_t *next)
{
	size_t n = h->img->n;

	next[n] = NOWHERE;
	for (size_t i = n; i-- > 0;)
		next[i] = hunt_fits(h, i) ? i : next[i + 1];
	for (size_t k = h->anchors->n; k-- > 1;) {
		size_t below = NOWHERE;

		for (size_t i = n; i-- > 0;) {
			size_t here = k + 1 == h->anchors->n ? next[i] : below;

			below = next[i];
			next[i] = is_anchor(h->anchors, k, h->img->v[i].text) ? here : next[i + 1];
		}
	}
}

/* One pass from the end makes the table, so that the time is the number of lines times that of anchors. */
static int hunt_anchored(struct hunt *h, size_t from)
{
	size_t *next = malloc((h->img->n + 1) * sizeof(*next));
	bool one = h->anchors->n == 1;

	if (!next)
		return -ENOMEM;
	hunt_chain(h, next);
	for (size_t i = from; i < h->img->n; i++) {
		size_t at = one ? next[i] : next[i + 1];

		if (at != NOWHERE && is_anchor(h->anchors, 0, h->img->v[i].text))
			hunt_found(h, at);
	}
	free(next);
	return 0;
}

static int hunt_from(struct hunt *h, size_t from)
{
	h->n = h->ret->nalso = 0;
	if (h->anchors->n)
		return hunt_anchored(h, from);
	for (size_t i = from; i + h->pre->n <= h->img->n; i++)
		if (hunt_fits(h, i))
			hunt_found(h, i);
	return 0;
}

/* For lines that are only added, the file does not show where they go. */
static ssize_t place_added(const struct patch_image *img, const struct patch_spot *spot,
			   const struct anchors *anchors, struct patch_place *ret)
{
	const struct patch_hunk *h = spot->h;

	if (!img->n || h->at_end || (spot->f->stars && !h->numbered && !anchors->n))
		return (ssize_t)img->n;
	ret->miss = MISS_NO_CONTEXT;
	return -1;
}

/* The place that its numbers name, if it fits there. */
static bool numbers_fit(const struct hunt *h, size_t *at)
{
	int64_t want = (int64_t)h->spot->h->old_at - 1 + h->spot->delta;

	*at = want < 0 ? 0 : (size_t)want;
	return h->spot->h->numbered && want >= 0 && hunt_fits(h, *at);
}

/* The numbers first, then what follows the hunk before it, then the whole file: later hunks may be out of order. */
static ssize_t place_search(struct hunt *h)
{
	size_t at;
	int r;

	if (numbers_fit(h, &at))
		return (ssize_t)at;
	r = hunt_from(h, h->spot->behind);
	if (r == 0 && !h->n) /* not in the order of the file */
		r = hunt_from(h, 0);
	if (r < 0)
		return r;
	h->ret->miss = h->n > 1 ? MISS_MANY : MISS_NOWHERE;
	return h->n == 1 ? (ssize_t)h->last : -1;
}

ssize_t place_loose(const struct patch_image *img, const struct patch_image *pre,
		    const struct patch_spot *spot, struct patch_place *ret)
{
	struct anchors anchors;
	struct hunt h = { img, pre, spot, &anchors, .ret = ret };
	ssize_t at;

	*ret = (struct patch_place){ 0 };
	if (!anchors_read(spot->h->anchors, img, &anchors)) {
		ret->miss = MISS_ANCHOR;
		return -1;
	}
	at = pre->n ? place_search(&h) : place_added(img, spot, &anchors, ret);
	if (at < 0)
		return at;
	*ret = (struct patch_place){ .at = (size_t)at + 1 };
	if (spot->h->numbered && spot->h->old_at)
		ret->offset = at + 1 - (int64_t)spot->h->old_at - spot->delta;
	return at;
}

/* --- what is wrong -------------------------------------------------------------------------------------- */

static void many_say(const struct patch_place *at, size_t n, const char *name, size_t line,
		     struct err *e)
{
	_cleanup_(buf_done) struct buf where = { 0 };

	for (size_t i = 0; i < at->nalso; i++)
		buf_printf(&where, "%s%zu", i ? ", " : "", at->also[i]);
	buf_putc(&where, '\0');
	err_set(e, -EINVAL, RPC_INVALID_PARAMS, "PATCH_AMBIGUOUS",
		"hunk %zu of %.80s (line %zu of the patch) fits in more than one place: lines %s%s. Give more of the lines around it",
		n, name, line, where.failed ? "" : where.data,
		at->nalso == PATCH_ALSO_MAX ? " and more" : "");
}

/* The first hunk without a place is described, because those after it may fail for its sake. */
int patch_misfit(const struct patch_file *f, const struct patch_place *places, struct err *e)
{
	static const char *const words[] = {
		[MISS_NOWHERE] = "has no place: its lines do not stand there like this",
		[MISS_NO_CONTEXT] =
			"only adds, and no line of it says where: give one that is there",
		[MISS_ANCHOR] = "has no place: no line of the file is what its @@ line names",
	};
	const char *name = f->from ? f->from : f->to;
	size_t i = 0, failed = 0;

	for (size_t k = f->nhunks; k-- > 0;)
		if (!places[k].at) {
			i = k;
			failed++;
		}
	if (places[i].miss == MISS_MANY)
		many_say(&places[i], i + 1, name, f->hunks[i].line, e);
	else
		err_set(e, -EINVAL, RPC_INVALID_PARAMS,
			places[i].miss == MISS_NO_CONTEXT ? "PATCH_AMBIGUOUS" : "PATCH_MISMATCH",
			"hunk %zu of %.80s (line %zu of the patch) %s%s", i + 1, name,
			f->hunks[i].line, words[places[i].miss],
			failed > 1 ? "; others neither" : "");
	return -EINVAL;
}

/* --- line ends ------------------------------------------------------------------------------------------ */

static bool has_notes(const struct patch_file *f)
{
	for (size_t i = 0; i < f->nhunks; i++)
		if (memmem(f->hunks[i].body.p, f->hunks[i].body.n, "\n\\ ", 3))
			return true;
	return false;
}

static bool has_returns(const struct patch_file *f)
{
	for (size_t i = 0; i < f->nhunks; i++)
		if (memchr(f->hunks[i].body.p, '\r', f->hunks[i].body.n))
			return true;
	return false;
}

struct patch_ends ends_take(const struct patch_file *f, struct slice old, struct buf *out)
{
	struct patch_ends ret = { ends_are_crlf(old) && !has_returns(f),
				  old.n && old.p[old.n - 1] != '\n' && !has_notes(f) };

	if (!ret.crlf && !ret.open)
		return ret;
	if (ret.crlf)
		ends_to_lf(old, out);
	else
		buf_add_slice(out, old);
	if (ret.open)
		buf_putc(out, '\n');
	return ret;
}

void ends_give(const struct patch_ends *ends, struct buf *text)
{
	if (ends->open && buf_len(text) && text->data[text->len - 1] == '\n')
		text->len--;
	if (ends->crlf)
		ends_to_crlf(text);
}
