/*
 * git_patch.c - writes the section of one file in git's extended diff format.
 *
 * Covered: content, creation, deletion, the executable bit, symbolic links (their target is the text), empty files,
 * no newline at the end, any path (quoted as git quotes it). Where git's own answer would be another file type, one
 * file is deleted and one created. Renames are not looked for: a deletion and a creation. Blob ids are git's and
 * whole.
 *
 * A file is binary when it holds a NUL byte or is not well-formed UTF-8. Git looks for a NUL in the first 8000 bytes
 * only; with our rule a patch is UTF-8 text without NUL whatever the files hold, and fits into a JSON string. Binary
 * contents go as "GIT binary patch", zlib and base 85, both sides whole.
 *
 * The order of the header lines is git's, and `git apply` depends on it. A change of type (file to
 * link) is written as a deletion and a creation, as git does. The output is transactional: after an
 * error the buffer is cut back to its old length and the counters are unchanged. So the caller can
 * leave out one file and continue.
 *
 * Hunks: both texts are read once from start to end; hunks are in ascending order, so the readers never
 * move back. Ranges whose contexts touch or overlap share a hunk. Context lines are read from the
 * old text only: outside the ranges both texts are equal. The context after a hunk's last range is
 * counted with a copy of the reader.
 */
#include "diff/git_patch.h"

#include "base/limits.h"
#include "base/format/utf8.h"
#include "base/util.h"
#include "diff/diff_lines.h"
#include "digest/digest.h"

#include <zlib.h>

/* --- names ----------------------------------------------------------------------------------------------- */

static bool quote_is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

static void quote_put_escaped(struct buf *out, unsigned char c)
{
	static const char letters[] = "\aa\bb\tt\nn\vv\ff\rr\"\"\\\\";
	const char *row = letters;

	while (*row && (unsigned char)*row != c)
		row += 2;
	buf_putc(out, '\\');
	if (*row)
		buf_putc(out, row[1]);
	else
		buf_printf(out, "%03o", c);
}

/* A directory whose name ends in a space is more than git itself can read from a header that stands alone. */
static bool quote_is_needless(const char *s)
{
	const char *end = s;

	while (quote_is_plain((unsigned char)*end))
		end++;
	return !*end && !strstr(s, " /");
}

static void quote_put_text(struct buf *out, const char *s)
{
	for (; *s; s++) {
		if (quote_is_plain((unsigned char)*s))
			buf_putc(out, *s);
		else
			quote_put_escaped(out, (unsigned char)*s);
	}
}

/* prefix and path, between double quotes with C escapes where git's core.quotePath would: control bytes, '"',
 * '\\', DEL and everything that is not ASCII; and, which git does not do, where a directory ends in a space. */
static void quote_path(struct buf *out, const char *prefix, const char *path)
{
	bool quoted = !quote_is_needless(path);

	if (quoted)
		buf_putc(out, '"');
	buf_puts(out, prefix);
	quote_put_text(out, path);
	if (quoted)
		buf_putc(out, '"');
}

/* --- binary contents ------------------------------------------------------------------------------------- */

#define LINE_BYTES 52
#define ROOM_BYTES (LINE_BYTES * 512)

const char base85_digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
			     "!#$%&()*+-;<=>?@^_`{|}~";

/* Four bytes, big end first, become five digits. */
static void base85_put_group(struct buf *out, const unsigned char *p, size_t n)
{
	uint32_t value = 0;
	char group[5];

	for (size_t i = 0; i < 4; i++)
		value = value << 8 | (i < n ? p[i] : 0);
	for (size_t i = sizeof(group); i-- > 0; value /= 85)
		group[i] = base85_digits[value % 85];
	buf_add(out, group, sizeof(group));
}

/* The first character says how many bytes: A to Z are 1 to 26, a to z are 27 to 52. */
static void base85_put_line(struct buf *out, const unsigned char *p, size_t n)
{
	buf_putc(out, (char)(n <= 26 ? 'A' + n - 1 : 'a' + n - 27));
	for (size_t i = 0; i < n; i += 4)
		base85_put_group(out, p + i, n - i);
	buf_putc(out, '\n');
}

/* Writes whole lines while more comes. At git's own level: binary files are mostly compressed already.
 * The sides are smaller than zlib's 4 GiB. */
static int binary_put_deflated(struct buf *out, struct slice data)
{
	unsigned char room[ROOM_BYTES];
	size_t made;
	z_stream z = { .next_in = (unsigned char *)(uintptr_t)data.p, .avail_in = (uInt)data.n };
	int r;

	if (deflateInit(&z, Z_BEST_SPEED) != Z_OK)
		return -ENOMEM;
	do {
		z.next_out = room;
		z.avail_out = sizeof(room);
		r = deflate(&z, Z_FINISH);
		made = sizeof(room) - z.avail_out;
		for (size_t i = 0; i < made; i += LINE_BYTES)
			base85_put_line(out, room + i, MIN(made - i, (size_t)LINE_BYTES));
	} while (r == Z_OK && !out->failed);
	deflateEnd(&z);
	return out->failed ? -E2BIG : r == Z_STREAM_END ? 0 : -EIO;
}

static int binary_put_literal(struct buf *out, struct slice data)
{
	int r;

	buf_printf(out, "literal %zu\n", data.n);
	r = binary_put_deflated(out, data);
	buf_putc(out, '\n');
	return r;
}

/* The new contents and, for the way back, the old ones. */
static int binary_put(struct buf *out, struct slice from, struct slice to)
{
	int r;

	buf_puts(out, "GIT binary patch\n");
	r = binary_put_literal(out, to);
	return r < 0 ? r : binary_put_literal(out, from);
}

/* --- hunks ----------------------------------------------------------------------------------------------- */

/* A text read from the beginning to the end once. */
struct hunk_reader {
	struct slice rest;
	uint32_t line; /* of the first byte of rest */
};

static struct slice hunk_next_line(struct hunk_reader *r)
{
	struct slice line = { r->rest.p, slice_line(r->rest) };

	r->rest = slice_after(r->rest, line.n);
	r->line++;
	return line;
}

static void hunk_skip_to(struct hunk_reader *r, uint32_t line)
{
	while (r->line < line)
		hunk_next_line(r);
}

static void hunk_put_line(struct buf *out, char mark, struct slice line)
{
	buf_putc(out, mark);
	buf_add_slice(out, line);
	if (!line.n || line.p[line.n - 1] != '\n')
		buf_puts(out, "\n\\ No newline at end of file\n");
}

static void hunk_put_until(struct buf *out, char mark, struct hunk_reader *r, uint32_t end)
{
	while (r->line < end)
		hunk_put_line(out, mark, hunk_next_line(r));
}

/* An empty part is named by the line before it, and 1 is not written. */
static void hunk_put_span(struct buf *out, char mark, uint32_t at, uint32_t n)
{
	buf_printf(out, "%c%u", mark, n ? at + 1 : at);
	if (n != 1)
		buf_printf(out, ",%u", n);
}

static uint32_t hunk_lines_left(struct hunk_reader r, uint32_t most)
{
	uint32_t n = 0;

	while (n < most && r.rest.n) {
		hunk_next_line(&r);
		n++;
	}
	return n;
}

/* Ranges [first, last] with less than two contexts between each. */
static void hunk_put(struct buf *out, struct hunk_reader *from, struct hunk_reader *to,
		     const struct line_range *first, const struct line_range *last,
		     unsigned context)
{
	uint32_t before = MIN(first->old_at, context);
	uint32_t old_end = last->old_at + last->old_n, new_end = last->new_at + last->new_n;
	uint32_t after, old_at = first->old_at - before, new_at = first->new_at - before;
	struct hunk_reader ahead;

	hunk_skip_to(from, old_at);
	hunk_skip_to(to, new_at);
	/* The lines of context below are counted by a copy that reads ahead. */
	ahead = *from;
	hunk_skip_to(&ahead, old_end);
	after = hunk_lines_left(ahead, context);
	buf_puts(out, "@@ ");
	hunk_put_span(out, '-', old_at, old_end + after - old_at);
	buf_putc(out, ' ');
	hunk_put_span(out, '+', new_at, new_end + after - new_at);
	buf_puts(out, " @@\n");
	for (const struct line_range *r = first; r <= last; r++) {
		hunk_put_until(out, ' ', from, r->old_at);
		hunk_skip_to(to, r->new_at);
		hunk_put_until(out, '-', from, r->old_at + r->old_n);
		hunk_put_until(out, '+', to, r->new_at + r->new_n);
	}
	hunk_put_until(out, ' ', from, old_end + after);
}

static void hunks_put(struct buf *out, struct slice from, struct slice to,
		      const struct line_diff *diff, unsigned context)
{
	struct hunk_reader a = { .rest = from }, b = { .rest = to };

	for (size_t i = 0, last; i < diff->n && !out->failed; i = last + 1) {
		/* Contexts that touch or overlap join two ranges. */
		for (last = i; last + 1 < diff->n; last++) {
			const struct line_range *r = &diff->ranges[last];

			if (r[1].old_at - (r->old_at + r->old_n) > 2 * context)
				break;
		}
		hunk_put(out, &a, &b, &diff->ranges[i], &diff->ranges[last], context);
	}
}

/* --- one file -------------------------------------------------------------------------------------------- */

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

static bool side_is_binary(struct slice text)
{
	return (text.n && memchr(text.p, 0, text.n)) || !utf8_valid(text);
}

static void section_put_names(const struct section *s)
{
	buf_puts(s->out, "diff --git ");
	quote_path(s->out, "a/", s->path);
	buf_putc(s->out, ' ');
	quote_path(s->out, "b/", s->path);
	buf_putc(s->out, '\n');
}

static void section_put_modes(const struct section *s)
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

static int section_put_index(const struct section *s)
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
static void section_put_label(const struct section *s, const char *mark, const char *prefix,
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

static int section_put_text(const struct section *s, struct slice from, struct slice to)
{
	_cleanup_(line_diff_donep) struct line_diff diff = { 0 };
	int r = line_diff_make(from, to, &diff);

	if (r < 0)
		return r;
	section_put_label(s, "--- ", "a/", &s->from);
	section_put_label(s, "+++ ", "b/", &s->to);
	hunks_put(s->out, from, to, &diff, s->context);
	for (size_t i = 0; i < diff.n; i++) {
		s->stat->insertions += diff.ranges[i].new_n;
		s->stat->deletions += diff.ranges[i].old_n;
	}
	return 0;
}

static int section_put_contents(const struct section *s)
{
	struct slice from = side_text(&s->from), to = side_text(&s->to);
	int r;

	if (s->from.mode && s->to.mode && slice_eq(from, to))
		return 0;
	r = section_put_index(s);
	if (r < 0 || slice_eq(from, to)) /* an empty file is created or deleted */
		return r;
	if (!side_is_binary(from) && !side_is_binary(to))
		return section_put_text(s, from, to);
	s->stat->binary++;
	return binary_put(s->out, from, to);
}

static int section_put(const struct section *s)
{
	section_put_names(s);
	section_put_modes(s);
	return section_put_contents(s);
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

static int section_put_change(struct section *s)
{
	struct diff_side to = s->to;
	int r;

	if (!changes_type(&s->from, &s->to))
		return section_put(s);
	s->to = (struct diff_side){ 0 };
	r = section_put(s);
	s->from = (struct diff_side){ 0 };
	s->to = to;
	return r < 0 ? r : section_put(s);
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
	r = section_put_change(&s);
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
