/*
 * git_patch.c - writes the section of one file in git's extended diff format.
 *
 * The order of the header lines is git's, and `git apply` depends on it. A change of type (file to
 * link) is written as a deletion and a creation, as git does. The output is transactional: after an
 * error the buffer is cut back to its old length and the counters are unchanged. So the caller can
 * leave out one file and continue.
 */
#include "diff/git_patch.h"

#include "base/limits.h"
#include "base/format/utf8.h"
#include "base/util.h"
#include "diff/binary.h"
#include "diff/hunks.h"
#include "diff/diff_lines.h"
#include "diff/path_quote.h"
#include "digest/digest.h"

#include <errno.h>

/* One section of a patch: a file of one type is changed, created or deleted. */
struct section {
	struct buf *out;
	const char *path;
	struct diff_side from, to;
	unsigned context;
	struct patch_stat *stat;
};

static struct slice side_text(const struct diff_side *s)
{
	return s->mode ? (struct slice){ s->data, s->n } : SLICE_NONE;
}

static bool is_binary(struct slice text)
{
	return (text.n && memchr(text.p, 0, text.n)) || !utf8_valid(text);
}

static void put_names(const struct section *s)
{
	buf_puts(s->out, "diff --git ");
	quote_path(s->out, "a/", s->path);
	buf_putc(s->out, ' ');
	quote_path(s->out, "b/", s->path);
	buf_putc(s->out, '\n');
}

static void put_modes(const struct section *s)
{
	if (!s->from.mode)
		buf_printf(s->out, "new file mode %o\n", s->to.mode);
	else if (!s->to.mode)
		buf_printf(s->out, "deleted file mode %o\n", s->from.mode);
	else if (s->from.mode != s->to.mode)
		buf_printf(s->out, "old mode %o\nnew mode %o\n", s->from.mode, s->to.mode);
}

static int side_id(const struct diff_side *s, char id[GIT_ID_HEX])
{
	if (s->mode)
		return git_blob_id(side_text(s), id);
	memset(id, '0', GIT_ID_HEX - 1);
	id[GIT_ID_HEX - 1] = '\0';
	return 0;
}

static int put_index(const struct section *s)
{
	char from[GIT_ID_HEX], to[GIT_ID_HEX];

	if (side_id(&s->from, from) < 0 || side_id(&s->to, to) < 0)
		return -EIO;
	buf_printf(s->out, "index %s..%s", from, to);
	if (s->from.mode == s->to.mode)
		buf_printf(s->out, " %o", s->to.mode);
	buf_putc(s->out, '\n');
	return 0;
}

/* A tab follows a name with a space, so that other programs do not take a part of the name for a date. */
static void put_label(const struct section *s, const char *mark, const char *prefix,
		      const struct diff_side *side)
{
	buf_puts(s->out, mark);
	if (side->mode) {
		quote_path(s->out, prefix, s->path);
		if (strchr(s->path, ' '))
			buf_putc(s->out, '\t');
	} else {
		buf_puts(s->out, "/dev/null");
	}
	buf_putc(s->out, '\n');
}

static void line_diff_donep(struct line_diff *d)
{
	line_diff_done(d);
}

static int put_text(const struct section *s, struct slice from, struct slice to)
{
	_cleanup_(line_diff_donep) struct line_diff diff = { 0 };
	int r = line_diff_make(from, to, &diff);

	if (r < 0)
		return r;
	put_label(s, "--- ", "a/", &s->from);
	put_label(s, "+++ ", "b/", &s->to);
	hunks_append(s->out, from, to, &diff, s->context);
	for (size_t i = 0; i < diff.n; i++) {
		s->stat->insertions += diff.ranges[i].new_n;
		s->stat->deletions += diff.ranges[i].old_n;
	}
	return 0;
}

static int put_contents(const struct section *s)
{
	struct slice from = side_text(&s->from), to = side_text(&s->to);
	int r;

	if (s->from.mode && s->to.mode && slice_eq(from, to))
		return 0;
	r = put_index(s);
	if (r < 0 || slice_eq(from, to)) /* an empty file is created or deleted */
		return r;
	if (!is_binary(from) && !is_binary(to))
		return put_text(s, from, to);
	s->stat->binary++;
	return binary_patch_append(s->out, from, to);
}

static int put_section(const struct section *s)
{
	put_names(s);
	put_modes(s);
	return put_contents(s);
}

static bool is_known_mode(unsigned mode)
{
	return !mode || mode == PATCH_FILE || mode == PATCH_EXECUTABLE || mode == PATCH_SYMLINK;
}

static bool changes_type(const struct diff_side *from, const struct diff_side *to)
{
	return from->mode && to->mode &&
	       (from->mode == PATCH_SYMLINK) != (to->mode == PATCH_SYMLINK);
}

static int put_change(struct section *s)
{
	struct diff_side to = s->to;
	int r;

	if (!changes_type(&s->from, &s->to))
		return put_section(s);
	s->to = (struct diff_side){ 0 };
	r = put_section(s);
	s->from = (struct diff_side){ 0 };
	s->to = to;
	return r < 0 ? r : put_section(s);
}

int patch_append(struct buf *out, const char *path, const struct diff_side *from,
		 const struct diff_side *to, const struct patch_options *options,
		 struct patch_stat *stat)
{
	struct patch_stat sum = *stat;
	struct section s = { out, path, *from, *to, options->context, &sum };
	size_t before = buf_len(out);
	int r;

	if (!path[0] || !is_known_mode(from->mode) || !is_known_mode(to->mode))
		return -EINVAL;
	if (MAX(side_text(from).n, side_text(to).n) > DIFF_SIDE_MAX)
		return -EFBIG;
	if (out->failed)
		return -E2BIG;
	if (from->mode == to->mode && slice_eq(side_text(from), side_text(to)))
		return 0;
	sum.files++;
	r = put_change(&s);
	if (r == 0 && out->failed)
		r = -E2BIG;
	if (r < 0) {
		out->len = out->pos + before;
		out->failed = false;
		return r;
	}
	*stat = sum;
	return 0;
}
