/*
 * apply_read.c - reads a patch in any way of writing: decides which way it is, and what its names may mean.
 *
 * patch_read also takes what models write. Such a file is "loose", and has one meaning or none:
 *   - hunks whose counts are wrong, or with "@@", "@@ @@", "@@ ... @@" for a header: they are counted anew, and placed
 *     where their lines are. Text after "@@" (no numbers) is a line of the file that stands above. With numbers, the
 *     place that they name is taken if it fits; else a hunk must fit exactly once after the one before it.
 *   - "*** Begin Patch", "*** Add File: ", "*** Update File: ", "*** Move to: ", "*** Delete File: ",
 *     "*** End of File", "*** End Patch": the same hunks without numbers; one that only adds, with nothing above it,
 *     adds at the end.
 *   - names without a/ and b/: if there are two readings, the caller gets both.
 * A loose file keeps its line ends, unless the patch changes them: CR LF if all lines have it, and none after the last
 * line if there is none.
 */
#include "diff/apply/apply_internal.h"

/* --- names ---------------------------------------------------------------------------------------------- */

enum patch_side { SIDE_OLD, SIDE_NEW };

/* What "--- " and "+++ " begin with, as git writes it: in pairs, which say that the first part of the name is none. */
static const char *const pairs[] = { "ab", "ba", "iw", "ci", "cw", "ow" };

static char prefix_of(struct slice name)
{
	slice_skip(&name, "\"");
	return name.n > 2 && name.p[1] == '/' && name.p[0] != '.' ? name.p[0] : '\0';
}

static bool is_pair(char old, char new)
{
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++)
		if (old == pairs[i][0] && new == pairs[i][1])
			return true;
	return false;
}

/* "/dev/null" on one side: the other must be a/ or b/. */
static bool are_labels_prefixed(const struct slice names[2])
{
	bool none[2] = { patch_name_is_null(names[SIDE_OLD]), patch_name_is_null(names[SIDE_NEW]) };
	char old = prefix_of(names[SIDE_OLD]), new = prefix_of(names[SIDE_NEW]);

	if (none[SIDE_OLD])
		return new == 'b' || new == 'a';
	if (none[SIDE_NEW])
		return old == 'a' || old == 'b';
	return is_pair(old, new);
}

/* "diff --git a/x b/x" */
/* Names may hold blanks, so each blank may be the one between the two. */
static bool is_git_prefixed(struct slice names)
{
	char old = prefix_of(names);

	for (size_t i = 1; i + 2 < names.n; i++)
		if (names.p[i] == ' ' &&
		    is_pair(old, prefix_of((struct slice){ names.p + i + 1, names.n - i - 1 })))
			return true;
	return false;
}

/* The names of the file that begins at r; false: it has none of these lines. */
static bool labels_find(struct patch_reader r, struct slice names[2])
{
	for (; r.p < r.end && !slice_starts(reader_line(&r), "@@");
	     reader_skip(&r, reader_line(&r).n)) {
		names[SIDE_OLD] = reader_line(&r);
		if (!slice_skip(&names[SIDE_OLD], "--- "))
			continue;
		reader_skip(&r, reader_line(&r).n);
		names[SIDE_NEW] = reader_line(&r);
		return slice_skip(&names[SIDE_NEW], "+++ ");
	}
	return false;
}

static bool is_prefixed(const struct patch_reader *r)
{
	struct slice line = reader_line(r), names[2];

	if (slice_skip(&line, "diff --git "))
		return is_git_prefixed(line);
	return labels_find(*r, names) && are_labels_prefixed(names);
}

static bool is_dotted(const struct patch_reader *r)
{
	struct slice names[2];

	return labels_find(*r, names) &&
	       (slice_starts(names[SIDE_OLD], "./") || slice_starts(names[SIDE_NEW], "./"));
}

/* --- one file ------------------------------------------------------------------------------------------- */

/* Both readings of the names are parsed: only the caller, who knows the files, can say whether the first part is
 * one. */
static int both_parse(struct patch_reader *r, struct patch_file *f, struct err *e)
{
	struct patch_reader again = *r;
	bool dotted = is_dotted(r);
	struct patch_file other = { .line = r->line };
	struct err why = { 0 };
	int k = file_parse(r, 0, f, e);
	int k2 = file_parse(&again, 1, &other, &why);

	if (k == 0 && k2 == 0) {
		f->other_from = TAKE_PTR(other.from);
		f->other_to = TAKE_PTR(other.to);
	} else if (k < 0 && k2 == 0 && (dotted || strcmp(e->reason, "PATCH_PATH") != 0)) {
		patch_file_done(f);
		*f = other;
		*r = again;
		*e = (struct err){ 0 };
		return 0;
	}
	patch_file_done(&other);
	return k;
}

/* strip given: only that reading. Else a/ and b/ are taken off if both lines have them, and any other name has two readings. */
static int one_read(struct patch_reader *r, int strip, struct patch_set *set, struct err *e)
{
	int k = patch_set_add(set, r->line, e);
	struct patch_file *f;

	if (k < 0)
		return k;
	f = &set->files[set->n - 1];
	if (strip < 0 && !is_prefixed(r))
		return both_parse(r, f, e);
	return file_parse(r, strip < 0 ? 1 : (unsigned)strip, f, e);
}

/* --- the whole ------------------------------------------------------------------------------------------ */

/* A line outside of all files: mail, prose, a fence. */
static int patch_check_outside(const struct patch_reader *r, const struct patch_set *set,
			       struct err *e)
{
	struct slice line = reader_line(r);

	if (slice_starts(line, "@@"))
		return patch_corrupt(r->line, "a hunk without the name of its file", e);
	if (is_labels(r))
		return patch_corrupt(r->line, "no hunk follows", e);
	if (is_stars(line))
		return set->n ? patch_mixed(r->line, e) :
				patch_corrupt(r->line, "*** Begin Patch is missing above it", e);
	return 0;
}

int patch_read(struct slice text, int strip, struct patch_set *ret, struct err *e)
{
	struct patch_reader r = { text.p, text.p + text.n, 1 };
	int k = 0;

	*ret = (struct patch_set){ NULL, 0 };
	if (has_stars(text))
		return stars_parse(text, ret, e);
	while (r.p < r.end && k == 0) {
		if (is_git(&r) || is_plain(&r)) {
			k = one_read(&r, strip, ret, e);
			continue;
		}
		k = patch_check_outside(&r, ret, e);
		reader_skip(&r, reader_line(&r).n);
	}
	if (k == 0 && !ret->n)
		return err_set(e, -EINVAL, RPC_INVALID_PARAMS, "PATCH_EMPTY",
			       "there is no patch in it");
	return k;
}
