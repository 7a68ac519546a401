/*
 * apply_hunks.c - reads hunks: as their headers say, or, where these do not say what is in them, counted by their lines.
 *
 * git's rule comes first. Only where it fails, or would silently skip lines that were meant as part of the hunk, the lines
 * themselves are counted: models write wrong counts, or none.
 */
#include "diff/apply/apply_internal.h"

#include "base/format/digits.h"

#include <ctype.h>

/* --- reading ------------------------------------------------------------------------------------------- */

static int hunk_number(struct slice *s, uint32_t *ret)
{
	uint64_t v;

	if (!u64_take(s, 10, &v) || v > INT32_MAX)
		return -EINVAL;
	*ret = (uint32_t)v;
	return 0;
}

/* Reads "12,3" or "12", which is one line. */
static int hunk_range(struct slice *s, uint32_t *at, uint32_t *n)
{
	*n = 1;
	if (hunk_number(s, at) < 0)
		return -EINVAL;
	return slice_skip(s, ",") ? hunk_number(s, n) : 0;
}

static int hunk_header(struct slice s, struct patch_hunk *h)
{
	if (!slice_skip(&s, "@@ -") || hunk_range(&s, &h->old_at, &h->old_n) < 0 ||
	    !slice_skip(&s, " +") || hunk_range(&s, &h->new_at, &h->new_n) < 0)
		return -EINVAL;
	return slice_starts(s, " @@") ? 0 : -EINVAL;
}

struct hunk_tally {
	uint32_t old_left, new_left;
	bool changed; /* a line was already removed or added */
};

/* Takes one line of a hunk. 1: it is none. */
static int body_line(struct slice line, struct hunk_tally *t, struct patch_hunk *h,
		     struct patch_file *f)
{
	switch (line.p[0]) {
	case ' ':
	case '\n': /* some programs leave the blank of an empty line away */
		if (!t->old_left || !t->new_left)
			return 1;
		t->old_left--;
		t->new_left--;
		h->trailing++;
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

static int hunk_parse(struct patch_reader *r, struct patch_file *f, struct patch_hunk *h,
		      struct err *e)
{
	struct slice line = reader_line(r);
	struct hunk_tally t;
	const char *from;

	h->line = r->line;
	if (hunk_header(line, h) < 0)
		return patch_corrupt(r->line, "a header of a hunk that cannot be read", e);
	t = (struct hunk_tally){ h->old_n, h->new_n, false };
	reader_skip(r, line.n);
	for (from = r->p; r->p < r->end && (t.old_left || t.new_left); reader_skip(r, line.n)) {
		line = reader_line(r);
		if (!is_note(line) && body_line(line, &t, h, f) != 0)
			return patch_corrupt(r->line,
					     "the hunk does not have the lines its header says", e);
	}
	if (t.old_left || t.new_left)
		return patch_corrupt(r->line, "the patch ends within a hunk", e);
	if (is_note(reader_line(r)))
		reader_skip(r, reader_line(r).n);
	h->body = (struct slice){ from, (size_t)(r->p - from) };
	if (!t.changed)
		return patch_corrupt(h->line, "a hunk that changes nothing", e);
	return 0;
}

int hunk_add(struct patch_file *f, struct err *e)
{
	if (f->nhunks >= PATCH_HUNKS_MAX)
		return err_set(e, -EINVAL, RPC_INVALID_PARAMS, "PATCH_TOO_LARGE",
			       "more than %d hunks for one file", PATCH_HUNKS_MAX);
	GROW(f->hunks, f->nhunks);
	return 0;
}

/* The first line that is not a header of a hunk ends the file: the caller decides what it is. */
static int hunks_parse(struct patch_reader *r, struct patch_file *f, struct err *e)
{
	while (slice_starts(reader_line(r), "@@ -")) {
		int k = hunk_add(f, e);

		if (k == 0)
			k = hunk_parse(r, f, &f->hunks[f->nhunks - 1], e);
		if (k < 0)
			return k;
	}
	return 0;
}

/* --- counted ------------------------------------------------------------------------------------------------ */

/* "-- " and a version, which git writes below the last hunk of a mail. Without the version, the line is a removed
 * one. */
static bool is_signature(const struct patch_reader *r)
{
	struct patch_reader next = *r;
	struct slice line = reader_line(r);

	if (!slice_is(line, "-- \n"))
		return false;
	reader_skip(&next, line.n);
	line = reader_line(&next);
	return line.n && isalnum((unsigned char)line.p[0]);
}

static bool is_body(const struct patch_reader *r)
{
	struct slice line = reader_line(r);

	if (!line.n || is_signature(r) || is_labels(r))
		return false;
	return memchr(" +-\n", line.p[0], 4) || is_note(line);
}

/* True if lines are left over after the number that the header has. */
static bool has_more_to_come(struct patch_reader r)
{
	while (slice_is(reader_line(&r), "\n"))
		reader_skip(&r, 1);
	return slice_starts(reader_line(&r), "@@") || is_body(&r);
}

static const char *const ends[] = {
	"@@",	   "diff ",    "--- ",	"-- ",	   "```",
	"Index: ", "Only in ", "From ", "commit ", "GIT binary",
};

/* What may stand below a hunk. Any other text could be a line that lacks its first character, and would be ignored
 * silently. */
static bool is_loose_end(const struct patch_reader *r, bool stars)
{
	struct slice line = reader_line(r);

	if (stars)
		return slice_starts(line, "@@") || slice_starts(line, "*** ") ||
		       slice_is(line, "***\n");
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (slice_starts(line, ends[i]))
			return true;
	return !line.n || is_stars(line);
}

/* Counts a line of a hunk. */
static void line_count(struct slice line, struct patch_hunk *h, struct patch_file *f, bool *changed)
{
	if (is_note(line))
		return;
	h->old_n += line.p[0] != '+';
	h->new_n += line.p[0] != '-';
	f->insertions += line.p[0] == '+';
	f->deletions += line.p[0] == '-';
	if (line.p[0] == '+' || line.p[0] == '-') {
		*changed = true;
		h->trailing = 0;
		return;
	}
	h->trailing++;
}

/* Empty lines below a hunk count as the space between it and the next. */
static struct slice without_empty(struct slice body)
{
	while (body.n >= 2 && body.p[body.n - 1] == '\n' && body.p[body.n - 2] == '\n')
		body.n--;
	return body;
}

/* Counted after the end is known, because empty lines below the hunk are cut off first. */
static int body_count(struct patch_reader *r, struct patch_file *f, struct patch_hunk *h,
		      struct err *e)
{
	struct patch_reader at = { r->p, r->end, r->line };
	bool changed = false;

	while (is_body(r))
		reader_skip(r, reader_line(r).n);
	if (f->stars && is_labels(r))
		return patch_mixed(r->line, e);
	if (!is_loose_end(r, f->stars))
		return patch_corrupt(r->line, "each line of a hunk begins with a blank, + or -", e);
	h->body = without_empty((struct slice){ at.p, (size_t)(r->p - at.p) });
	for (at.end = h->body.p + h->body.n; at.p < at.end; reader_skip(&at, reader_line(&at).n))
		line_count(reader_line(&at), h, f, &changed);
	return changed ? 0 : patch_corrupt(h->line, "a hunk that changes nothing", e);
}

/* A header without numbers may be several lines, each naming a line of the file that is above the hunk. */
static int one_count(struct patch_reader *r, struct patch_file *f, struct err *e)
{
	int k = hunk_add(f, e);
	struct patch_hunk *h;
	const char *from = r->p;

	if (k < 0)
		return k;
	h = &f->hunks[f->nhunks - 1];
	h->line = r->line;
	while (!h->numbered && slice_starts(reader_line(r), "@@")) {
		h->numbered = hunk_header(reader_line(r), h) == 0;
		reader_skip(r, reader_line(r).n);
	}
	h->old_n = h->new_n = 0;
	if (!h->numbered) {
		h->old_at = h->new_at = 0;
		h->anchors = (struct slice){ from, (size_t)(r->p - from) };
	}
	k = body_count(r, f, h, e);
	if (k == 0 && f->stars && slice_starts(reader_line(r), "*** End of File")) {
		h->at_end = true;
		reader_skip(r, reader_line(r).n);
	}
	return k;
}

/* A loose file stays one: its hunks are placed by their lines (apply_place.c). */
int hunks_count(struct patch_reader *r, struct patch_file *f, struct err *e)
{
	bool first = f->stars && is_body(r);
	int k = 0;

	f->loose = true;
	while (k == 0 && (first || slice_starts(reader_line(r), "@@"))) {
		k = one_count(r, f, e);
		first = false;
	}
	return k;
}

/* As git does, unless lines are left over: git skips them silently, but they were meant as part of the hunk. */
int hunks_read(struct patch_reader *r, struct patch_file *f, struct err *e)
{
	struct patch_reader from = *r;
	int k = hunks_parse(r, f, e);

	if ((k == 0 && !has_more_to_come(*r)) || k == -ENOMEM)
		return k;
	*r = from;
	f->nhunks = 0;
	free(TAKE_PTR(f->hunks));
	f->insertions = f->deletions = 0;
	return hunks_count(r, f, e);
}
