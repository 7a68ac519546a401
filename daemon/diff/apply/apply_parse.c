/*
 * apply_parse.c - reads the headers of a unified diff, git's or plain, and decides what happens to
 * each file.
 *
 * git's extended headers, the "---" and "+++" lines and the hunks can contradict each other. A
 * patch is refused where they do; but /dev/null alone marks a new or deleted file.
 * PATCH_FILES_MAX and PATCH_HUNKS_MAX bound the memory.
 */
#include "diff/apply/apply_internal.h"

#include "base/util.h"

#include <ctype.h>

/* --- git's extended headers ---------------------------------------------------------------------------- */

struct header {
	struct patch_file *f;
	unsigned strip;
	bool created, deleted, renamed, copied;
};

static int mode_parse(struct slice s, unsigned *ret)
{
	unsigned v = 0;
	size_t i = 0;

	for (; i < s.n && s.p[i] >= '0' && s.p[i] <= '7' && i < 7; i++)
		v = v * 8 + (unsigned)(s.p[i] - '0');
	*ret = v;
	return i == 6 ? 0 : -EINVAL;
}

static int on_old_mode(struct header *h, struct slice s)
{
	return mode_parse(s, &h->f->old_mode);
}

static int on_new_mode(struct header *h, struct slice s)
{
	return mode_parse(s, &h->f->new_mode);
}

static int on_created(struct header *h, struct slice s)
{
	h->created = true;
	return mode_parse(s, &h->f->new_mode);
}

static int on_deleted(struct header *h, struct slice s)
{
	h->deleted = true;
	return mode_parse(s, &h->f->old_mode);
}

/* "rename from" and "copy from": names without a/ and b/. */
static int on_from(struct header *h, struct slice s)
{
	h->renamed = true;
	return patch_name_parse(s, h->strip ? h->strip - 1 : 0, &h->f->from);
}

static int on_to(struct header *h, struct slice s)
{
	h->renamed = true;
	return patch_name_parse(s, h->strip ? h->strip - 1 : 0, &h->f->to);
}

static int on_copy_from(struct header *h, struct slice s)
{
	h->copied = true;
	return on_from(h, s);
}

static int on_copy_to(struct header *h, struct slice s)
{
	h->copied = true;
	return on_to(h, s);
}

static size_t hex_length(struct slice s)
{
	size_t n = 0;

	while (n < s.n && isxdigit((unsigned char)s.p[n]))
		n++;
	return n;
}

/* "index OLD..NEW MODE": whole ids are kept for binary patches. */
static int on_index(struct header *h, struct slice s)
{
	size_t n = hex_length(s);
	struct slice rest = { s.p + n, s.n - n };
	size_t m;

	if (!slice_skip(&rest, ".."))
		return 0;
	m = hex_length(rest);
	if (n == 40 && m == 40) {
		memcpy(h->f->old_id, s.p, 40);
		memcpy(h->f->new_id, rest.p, 40);
	}
	rest = slice_after(rest, m);
	if (slice_skip(&rest, " ") && !h->f->old_mode)
		return mode_parse(rest, &h->f->old_mode);
	return 0;
}

static int on_nothing(struct header *h _unused_, struct slice s _unused_)
{
	return 0;
}

static const struct {
	const char *word;
	int (*fn)(struct header *h, struct slice s);
} headers[] = {
	{ "old mode ", on_old_mode },
	{ "new mode ", on_new_mode },
	{ "deleted file mode ", on_deleted },
	{ "new file mode ", on_created },
	{ "copy from ", on_copy_from },
	{ "copy to ", on_copy_to },
	{ "rename from ", on_from },
	{ "rename to ", on_to },
	{ "similarity index ", on_nothing },
	{ "dissimilarity index ", on_nothing },
	{ "index ", on_index },
};

/* 1: it is no header line. */
static int git_header_line(struct header *h, struct slice line)
{
	for (size_t i = 0; i < ARRAY_SIZE(headers); i++) {
		struct slice s = line;

		if (slice_skip(&s, headers[i].word))
			return headers[i].fn(h, s);
	}
	return 1;
}

/* A line of git alone says nothing: a header must follow. */
bool is_git(const struct patch_reader *r)
{
	struct patch_reader next = *r;
	struct slice line = reader_line(r);

	if (!slice_starts(line, "diff --git "))
		return false;
	reader_skip(&next, line.n);
	line = reader_line(&next);
	for (size_t i = 0; i < ARRAY_SIZE(headers); i++)
		if (slice_starts(line, headers[i].word))
			return true;
	return slice_starts(line, "--- ");
}

/* "--- a/x" and "+++ b/x", which must agree with what was said before. */
static int labels_check(struct patch_reader *r, struct header *h, struct err *e)
{
	const char *const marks[] = { "--- ", "+++ " };

	for (size_t i = 0; i < 2; i++) {
		_cleanup_(freep) char *name = NULL;
		struct slice line = reader_line(r), s = line;
		char **want = i ? &h->f->to : &h->f->from;

		if (!slice_skip(&s, marks[i]))
			return i ? patch_corrupt(r->line, "there is --- and no +++", e) : 0;
		if (patch_name_is_null(s)) {
			*(i ? &h->deleted : &h->created) = true;
		} else if (patch_name_parse_dated(s, h->strip, &name) < 0 ||
			   (*want && strcmp(*want, name) != 0)) {
			return patch_corrupt(r->line, "the names of the file do not agree", e);
		} else if (!*want) {
			*want = TAKE_PTR(name);
		}
		reader_skip(r, line.n);
	}
	return 0;
}

/* After this a name is missing only where the file is new or deleted, whatever lines the header had. */
static int names_settle(struct header *h, const char *both, size_t line, struct err *e)
{
	struct patch_file *f = h->f;

	if (!h->renamed && !f->from && !h->created)
		f->from = xstrdup(f->to ? f->to : both);
	if (!h->renamed && !f->to && !h->deleted)
		f->to = xstrdup(f->from ? f->from : both);
	if (h->created)
		xstrset(&f->from, NULL);
	if (h->deleted)
		xstrset(&f->to, NULL);
	f->copy = h->copied;
	if ((h->created && h->deleted) || (h->renamed && (!f->from || !f->to)) ||
	    (!h->created && !f->from) || (!h->deleted && !f->to) || (!f->from && !f->to) ||
	    (!h->renamed && f->from && f->to && strcmp(f->from, f->to) != 0))
		return patch_corrupt(line, "the headers of git do not say which file", e);
	return 0;
}

static int git_parse(struct patch_reader *r, struct header *h, struct err *e)
{
	_cleanup_(freep) char *both = NULL;
	struct slice line = reader_line(r), s = line;
	size_t at = r->line;
	int k = 0;

	slice_skip(&s, "diff --git ");
	if (patch_name_parse_both(s, h->strip, &both) < 0)
		xstrset(&both, NULL);
	for (reader_skip(r, line.n); r->p < r->end; reader_skip(r, line.n)) {
		line = reader_line(r);
		k = git_header_line(h, line);
		if (k != 0)
			break;
	}
	if (k < 0)
		return patch_corrupt(r->line, "a header of git that cannot be read", e);
	k = slice_starts(reader_line(r), "--- ") ? labels_check(r, h, e) : 0;
	return k < 0 ? k : names_settle(h, both, at, e);
}

/* --- patches without them ------------------------------------------------------------------------------ */

/* Dates of diff -N: the file did not exist. */
static bool is_epoch(struct slice s)
{
	struct slice name;

	return slice_cut(&s, '\t', &name) &&
	       (slice_starts(s, "1970-01-01 ") || slice_starts(s, "1969-12-31 "));
}

/* The new name counts; the old one where the new one is /dev/null or cannot be read. */
static int plain_parse(struct patch_reader *r, struct patch_file *f, unsigned strip, struct err *e)
{
	struct slice first = reader_line(r), second, a = first, b;
	_cleanup_(freep) char *name = NULL;
	bool created, deleted;

	reader_skip(r, first.n);
	second = b = reader_line(r);
	slice_skip(&a, "--- ");
	slice_skip(&b, "+++ ");
	created = patch_name_is_null(a);
	deleted = patch_name_is_null(b);
	if (created && deleted)
		return patch_corrupt(r->line, "both sides are /dev/null", e);
	if ((deleted || patch_name_parse_dated(patch_name_undated(b), strip, &name) < 0) &&
	    (created || patch_name_parse_dated(patch_name_undated(a), strip, &name) < 0))
		return patch_corrupt(r->line, "no name is left when the parts to strip are gone",
				     e);
	f->maybe_new = !created && is_epoch(a);
	if (!created)
		f->from = xstrdup(name);
	if (!deleted)
		f->to = xstrdup(name);
	reader_skip(r, second.n);
	return 0;
}

/* --- the whole ----------------------------------------------------------------------------------------- */

static int contents_parse(struct patch_reader *r, struct patch_file *f, struct err *e)
{
	struct slice line = reader_line(r);

	if (slice_is(line, "GIT binary patch\n"))
		return binary_skip(r, f, e);
	if (slice_starts(line, "Binary files ") || slice_starts(line, "Files "))
		return err_set(e, -EINVAL, RPC_INVALID_PARAMS, "PATCH_BINARY",
			       "patch, line %zu: a binary file without its contents", r->line);
	return hunks_read(r, f, e);
}

/* A header alone that changes neither name nor mode is a sign of a patch that was cut off. */
static bool changes_nothing(const struct patch_file *f)
{
	return !f->nhunks && !f->binary && f->from && f->to && strcmp(f->from, f->to) == 0 &&
	       (!f->old_mode || !f->new_mode || f->old_mode == f->new_mode);
}

/* The names are checked last, when they are final: a rename names them twice. */
int file_check(struct patch_file *f, struct err *e)
{
	const char *names[] = { f->from, f->to };
	uint64_t old_n = 0, new_n = 0;

	for (size_t i = 0; i < 2; i++)
		if (names[i] && !patch_name_valid(names[i]))
			return err_field(e, "patch", "PATCH_PATH",
					 "patch, line %zu: a path that is not taken: %.120s",
					 f->line, names[i]);
	for (size_t i = 0; i < f->nhunks; i++) {
		old_n += f->hunks[i].old_n;
		new_n += f->hunks[i].new_n;
	}
	if (changes_nothing(f))
		return patch_corrupt(f->line, "a header without a change", e);
	if (!f->from && old_n)
		return patch_corrupt(f->line, "a new file with old lines", e);
	if (!f->to && new_n)
		return patch_corrupt(f->line, "a deleted file with new lines", e);
	if (old_n)
		f->maybe_new = false;
	return 0;
}

/* The set owns the file from here on, also if its parsing fails (patch_set_done). */
int patch_set_add(struct patch_set *set, size_t line, struct err *e)
{
	if (set->n >= PATCH_FILES_MAX)
		return err_set(e, -EINVAL, RPC_INVALID_PARAMS, "PATCH_TOO_LARGE",
			       "a patch of more than %d files", PATCH_FILES_MAX);
	GROW(set->files, set->n)->line = line;
	return 0;
}

int file_parse(struct patch_reader *r, unsigned strip, struct patch_file *f, struct err *e)
{
	struct header h = { .f = f, .strip = strip };
	bool git = is_git(r);
	int k;

	f->line = r->line;
	k = git ? git_parse(r, &h, e) : plain_parse(r, f, strip, e);
	if (k == 0)
		k = contents_parse(r, f, e);
	if (k == 0 && !git && f->nhunks == 1 && f->from && f->to && !f->hunks[0].old_n &&
	    !f->hunks[0].old_at)
		f->maybe_new = true;
	return k < 0 ? k : file_check(f, e);
}

void patch_file_done(struct patch_file *f)
{
	free_each(f->from, f->to, f->other_from, f->other_to, f->hunks);
	*f = (struct patch_file){ 0 };
}

void patch_set_done(struct patch_set *s)
{
	for (size_t i = 0; i < s->n; i++)
		patch_file_done(&s->files[i]);
	free(s->files);
	*s = (struct patch_set){ NULL, 0 };
}
