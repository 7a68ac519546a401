/* apply_stars.c - "*** Begin Patch": files added, updated, moved and deleted; hunks without numbers. */
#include "diff/apply/apply_internal.h"

#define BEGIN "*** Begin Patch"
#define END "*** End Patch"

bool has_stars(struct slice text)
{
	struct patch_reader r = { text.p, text.p + text.n, 1 };

	for (; r.p < r.end; reader_skip(&r, reader_line(&r).n))
		if (slice_starts(reader_line(&r), BEGIN))
			return true;
	return false;
}

/* The rest of the line is a path as it is, without quotes. */
static int stars_name(struct patch_reader *r, struct slice rest, char **ret, struct err *e)
{
	size_t line = r->line;

	while (rest.n && (unsigned char)rest.p[rest.n - 1] <= ' ')
		rest.n--;
	while (rest.n && *rest.p == ' ')
		rest = slice_after(rest, 1);
	slice_skip(&rest, "./");
	if (!rest.n || memchr(rest.p, 0, rest.n))
		return patch_corrupt(line, "the name of the file is missing", e);
	*ret = xstrndup(rest.p, rest.n);
	reader_skip(r, reader_line(r).n);
	return 0;
}

/* All lines of a new file are one hunk, so that it is applied as any other. */
static int stars_added(struct patch_reader *r, struct slice rest, struct patch_file *f,
		       struct err *e)
{
	struct patch_hunk *h;
	const char *from;
	int k = stars_name(r, rest, &f->to, e);

	if (k < 0 || !slice_starts(reader_line(r), "+"))
		return k;
	k = hunk_add(f, e);
	if (k < 0)
		return k;
	h = &f->hunks[0];
	h->line = r->line;
	for (from = r->p; slice_starts(reader_line(r), "+"); reader_skip(r, reader_line(r).n))
		h->new_n++;
	h->body = (struct slice){ from, (size_t)(r->p - from) };
	f->insertions = h->new_n;
	return 0;
}

static int stars_deleted(struct patch_reader *r, struct slice rest, struct patch_file *f,
			 struct err *e)
{
	f->whole = true;
	return stars_name(r, rest, &f->from, e);
}

static int stars_updated(struct patch_reader *r, struct slice rest, struct patch_file *f,
			 struct err *e)
{
	int k = stars_name(r, rest, &f->from, e);

	if (k < 0)
		return k;
	rest = reader_line(r);
	if (slice_skip(&rest, "*** Move to:"))
		k = stars_name(r, rest, &f->to, e);
	else
		f->to = xstrdup(f->from);
	if (k == 0 && is_labels(r))
		return patch_mixed(r->line, e);
	return k < 0 ? k : hunks_count(r, f, e);
}

static const struct {
	const char *word;
	int (*fn)(struct patch_reader *r, struct slice rest, struct patch_file *f, struct err *e);
} parts[] = {
	{ "*** Add File:", stars_added },
	{ "*** Update File:", stars_updated },
	{ "*** Delete File:", stars_deleted },
};

/* One file; anything else than one is refused. */
static int part_parse(struct patch_reader *r, struct patch_set *set, struct err *e)
{
	struct slice rest = reader_line(r);
	struct patch_file *f;
	size_t i = 0;
	int k;

	while (i < ARRAY_SIZE(parts) && !slice_skip(&rest, parts[i].word))
		i++;
	if (i == ARRAY_SIZE(parts))
		return is_git(r) || is_labels(r) ?
			       patch_mixed(r->line, e) :
			       patch_corrupt(
				       r->line,
				       "*** Add File, Update File, Delete File or End Patch must follow",
				       e);
	k = patch_set_add(set, r->line, e);
	if (k < 0)
		return k;
	f = &set->files[set->n - 1];
	f->stars = f->loose = true;
	k = parts[i].fn(r, rest, f, e);
	return k < 0 ? k : file_check(f, e);
}

/* Skips empty lines between files. */
static void empty_skip(struct patch_reader *r)
{
	while (slice_is(reader_line(r), "\n"))
		reader_skip(r, 1);
}

/* A block without its last line is refused, because what was cut off may have been a file. */
static int block_parse(struct patch_reader *r, struct patch_set *set, struct err *e)
{
	int k = 0;

	reader_skip(r, reader_line(r).n);
	for (empty_skip(r); k == 0; empty_skip(r)) {
		if (slice_starts(reader_line(r), END)) {
			reader_skip(r, reader_line(r).n);
			return 0;
		}
		if (r->p >= r->end)
			return patch_corrupt(r->line,
					     "*** End Patch is missing: is this all of it?", e);
		k = part_parse(r, set, e);
	}
	return k;
}

int stars_parse(struct slice text, struct patch_set *ret, struct err *e)
{
	struct patch_reader r = { text.p, text.p + text.n, 1 };
	int k = 0;

	while (k == 0 && r.p < r.end) {
		if (slice_starts(reader_line(&r), BEGIN))
			k = block_parse(&r, ret, e);
		else if (is_git(&r) || is_labels(&r))
			k = patch_mixed(r.line, e);
		else if (is_stars(reader_line(&r)))
			k = patch_corrupt(r.line, "it stands outside of *** Begin Patch", e);
		else
			reader_skip(&r, reader_line(&r).n);
	}
	if (k == 0 && !ret->n)
		return err_set(e, -EINVAL, RPC_INVALID_PARAMS, "PATCH_EMPTY",
			       "there is no patch in it");
	return k;
}
