/* read_file.c - readFile: a file, or a range of it by bytes or by lines; and its text for models. */
#include "base/format/image_type.h"
#include "base/limits.h"
#include "base/format/utf8.h"
#include "tools/builtin/files/file_describe.h"
#include "tools/builtin/core/tool.h"
#include "tools/builtin/core/tool_path.h"
#include "digest/base64.h"
#include "tools/builtin/core/model_text.h"

#include <inttypes.h>

/* What has been read. */
struct file_reading {
	struct buf bytes;
	struct stat sb;
	int64_t offset;	      /* of bytes in the file */
	int64_t first, lines; /* by lines: the first there is, and how many */
	bool truncated;	      /* the range did not fit, and the file goes on after it */
	bool ends;	      /* it is the end of the file */
	bool base64;	      /* returned as base64 */
	struct image image;   /* type NULL: none */
};

struct span {
	int64_t offset, length; /* bytes */
	int64_t first, last;	/* lines, 1-based, inclusive; 0: not by lines */
	bool base64, any;	/* any: no encoding was named */
};

int file_read_part(int fd, int64_t offset, size_t n, struct buf *ret)
{
	while (n) {
		size_t piece = MIN(n, 256 * KIB);
		ssize_t got;

		if (buf_reserve(ret, piece) < 0)
			return -ENOMEM;
		got = RETRY(pread(fd, ret->data + ret->len, piece, offset));
		if (got < 0)
			return -errno;
		/* The file is shorter than its size said: that is its end, and not an error. */
		if (!got)
			return 0;
		ret->len += (size_t)got;
		offset += got;
		n -= (size_t)got;
	}
	return 0;
}

static int read_span(int fd, const struct span *s, struct file_reading *r)
{
	int64_t most = s->length >= 0 && s->length < (int64_t)TOOL_READ_MAX ?
			       s->length :
			       (int64_t)TOOL_READ_MAX;
	int code;

	r->offset = s->offset;
	code = file_read_part(fd, s->offset, (size_t)most, &r->bytes);
	r->ends = s->offset + (int64_t)buf_len(&r->bytes) >= r->sb.st_size;
	r->truncated = !r->ends && (s->length < 0 || s->length > most);
	return code;
}

struct line_state {
	int64_t line;	/* of the next byte */
	int64_t offset; /* of it */
};

/* Takes of the piece what belongs to the lines; false: enough. */
static bool read_file_take_lines(struct file_reading *r, const struct span *s,
				 struct line_state *at, struct slice piece)
{
	while (piece.n) {
		const char *nl = memchr(piece.p, '\n', piece.n);
		size_t n = nl ? (size_t)(nl - piece.p) + 1 : piece.n;

		if (at->line > s->last)
			return false;
		if (at->line >= s->first) {
			if (!buf_len(&r->bytes))
				r->offset = at->offset;
			if (buf_len(&r->bytes) + n > TOOL_READ_MAX) {
				r->truncated = true;
				return false;
			}
			buf_add(&r->bytes, piece.p, n);
		}
		at->offset += (int64_t)n;
		at->line += nl != NULL;
		piece.p += n;
		piece.n -= n;
	}
	return true;
}

static int read_file_lines(struct builtin_call *c, int fd, const struct span *s,
			   struct file_reading *r)
{
	_cleanup_(buf_done) struct buf piece = { 0 };
	struct line_state at = { .line = 1 };
	bool more = true;
	int code = 0;

	while (more && code == 0) {
		buf_reset(&piece);
		if (tool_cancelled(c))
			return -ECANCELED;
		code = file_read_part(fd, at.offset, 64 * KIB, &piece);
		if (!buf_len(&piece))
			break;
		more = read_file_take_lines(r, s, &at, buf_slice(&piece));
	}
	r->ends = more;
	r->first = s->first;
	for (size_t i = r->bytes.pos; i < r->bytes.len; i++)
		r->lines += r->bytes.data[i] == '\n' || i + 1 == r->bytes.len;
	return code;
}

/* Removes a character that the end of the range has cut: the next range begins with it. */
static void cut_character(struct file_reading *r)
{
	size_t n = buf_len(&r->bytes), back = 1;
	const unsigned char *end = (const unsigned char *)r->bytes.data + r->bytes.len;

	while (back < 4 && back < n && (end[-(ssize_t)back] & 0xc0) == 0x80)
		back++;
	if (n && !r->ends && end[-(ssize_t)back] >= 0xc0 && !utf8_sequence(end - back, back))
		r->bytes.len -= back;
}

/* --- what a model is shown ------------------------------------------------------------------------------- */

static void show_image(const struct file_reading *r, struct buf *out)
{
	buf_printf(out, "[%s, %u x %u, %zu bytes]\n", r->image.type, r->image.width,
		   r->image.height, buf_len(&r->bytes));
}

/* As it is, or in base64; n: bytes shown. */
static void show_range(const struct file_reading *r, size_t room, struct buf *out)
{
	struct slice bytes = buf_slice(&r->bytes);
	int64_t end;

	if (r->base64)
		/* base64 makes 4 characters of 3 bytes (RFC 4648, 4). */
		bytes.n = MIN(bytes.n, room / 4 * 3);
	else
		bytes.n = model_text_cut(bytes, room);
	if (r->base64)
		base64_encode(bytes, out);
	else
		buf_add_slice(out, bytes);
	end = r->offset + (int64_t)bytes.n;
	if (out->len && out->data[out->len - 1] != '\n')
		buf_putc(out, '\n');
	if (end < r->sb.st_size || r->offset)
		buf_printf(out, "[bytes %" PRId64 "-%" PRId64 " of %lld", r->offset, end,
			   (long long)r->sb.st_size);
	if (end < r->sb.st_size)
		buf_printf(out, "; read on with offset: %" PRId64, end);
	if (end < r->sb.st_size || r->offset)
		buf_puts(out, "]\n");
}

static void show_rest(const struct file_reading *r, int64_t first, int64_t shown, struct buf *out)
{
	int64_t all = model_text_count(buf_slice(&r->bytes));

	if (shown == all && r->ends)
		return;
	buf_printf(out, "[lines %" PRId64 "-%" PRId64, first, first + shown - 1);
	if (r->ends)
		buf_printf(out, " of %" PRId64, first + all - 1);
	else
		buf_printf(out, "; the file goes on, it has %lld bytes", (long long)r->sb.st_size);
	buf_printf(out, "; read on with startLine: %" PRId64 "]\n", first + shown);
}

static void show_numbered(const struct file_reading *r, int64_t line, size_t room, struct buf *out)
{
	struct slice text = buf_slice(&r->bytes);
	struct model_text_lines l = { .first = line ? line : 1,
				      .offset = r->offset,
				      .most = TOOL_SHOW_LINES,
				      .bytes = room };

	if (!text.n) {
		buf_printf(out,
			   line > 1 && r->sb.st_size ? "[the file ends before line %" PRId64 "]\n" :
						       "[the file is empty]\n",
			   line);
		return;
	}
	model_text_lines(out, text, &l);
	show_rest(r, l.first, l.shown, out);
	if (memmem(text.p, MIN(text.n, l.used), "\r\n", 2))
		buf_puts(out, "[lines end in CR LF]\n");
}

/* line: the first that was asked for; 0: not by lines. */
static void file_reading_text(const struct file_reading *r, int64_t line, size_t room,
			      struct buf *out)
{
	if (r->image.type)
		show_image(r, out);
	else if (r->base64 || (r->offset && !line))
		show_range(r, room, out);
	else
		show_numbered(r, line, room, out);
}

/* True for a whole image that was not requested as text. */
static bool is_image(const struct span *s, struct file_reading *r)
{
	bool whole = !r->offset && r->ends && !s->first;

	return whole && s->any && buf_len(&r->bytes) <= TOOL_IMAGE_MAX &&
	       image_type_find(buf_slice(&r->bytes), &r->image) && image_type_fits(&r->image);
}

static int check_text(const struct span *s, struct file_reading *r, const char *path, struct err *e)
{
	if (is_image(s, r)) {
		r->base64 = true;
		return 0;
	}
	r->image.type = NULL;
	r->base64 = s->base64;
	if (r->base64)
		return 0;
	cut_character(r);
	if (utf8_valid(buf_slice(&r->bytes)))
		return 0;
	return err_field(e, "encoding", "NOT_UTF8",
			 "%.120s is no UTF-8 text here: read it with encoding base64", path);
}

static void read_file_answer(struct builtin_call *c, const struct span *s, const char *path,
			     struct file_reading *r)
{
	_cleanup_(buf_done) struct buf out = { 0 }, text = { 0 };
	struct tool_image image = { buf_slice(&r->bytes), r->image.type };
	struct jw w = JW(&out);
	int64_t end = r->offset + (int64_t)buf_len(&r->bytes);

	content_put(&w, "content", buf_slice(&r->bytes), r->base64);
	jw_str(&w, "mimeType", r->image.type);
	jw_str(&w, "path", path);
	jw_int(&w, "size", r->sb.st_size);
	jw_int(&w, "offset", r->offset);
	jw_int(&w, "length", (int64_t)buf_len(&r->bytes));
	jw_bool(&w, "truncated", r->truncated);
	if (s->first && r->lines) {
		jw_int(&w, "startLine", r->first);
		jw_int(&w, "endLine", r->first + r->lines - 1);
	}
	if (end < r->sb.st_size)
		jw_int(&w, "nextOffset", end);
	stat_put_version(&w, &r->sb);
	file_reading_text(r, s->first, tool_room(c), &text);
	tool_answer(c, &(struct tool_result){ .members = buf_slice(&out),
					      .text = buf_slice(&text),
					      .image = image.type ? &image : NULL });
}

static int get_span(const struct builtin_call *c, struct span *s, struct err *e)
{
	bool lines = tool_arg(c, "startLine").type || tool_arg(c, "endLine").type;

	*s = (struct span){ .offset = tool_arg_int(c, "offset", 0),
			    .length = tool_arg_int(c, "length", -1) };
	s->base64 = tool_arg_is(c, "encoding", "base64");
	s->any = jobj_get(c->args, "encoding").type <= J_NULL;
	if (!lines)
		return 0;
	s->first = tool_arg_int(c, "startLine", 1);
	s->last = tool_arg_int(c, "endLine", INT64_MAX);
	if (tool_arg(c, "offset").type || tool_arg(c, "length").type)
		return err_field(e, "startLine", "INVALID_ARGUMENT",
				 "a range is given by bytes or by lines, not by both");
	if (s->last < s->first)
		return err_field(e, "endLine", "INVALID_ARGUMENT", "endLine is before startLine");
	return 0;
}

static int read_file_span(struct builtin_call *c, const char *path, const struct span *s,
			  struct file_reading *r, struct err *e)
{
	struct tool_path p;
	int code = tool_path_find(c, path, TOOL_PATH_READ, &p, e), fd;

	if (code < 0)
		return code;
	fd = tool_path_open_file(&p, path, e);
	r->sb = p.sb;
	tool_path_done(&p);
	if (fd < 0)
		return fd;
	code = s->first ? read_file_lines(c, fd, s, r) : read_span(fd, s, r);
	close(fd);
	if (code < 0)
		return tool_errno(e, code, "cannot read", path);
	return check_text(s, r, path, e);
}

static void read_file_work(struct builtin_call *c)
{
	_cleanup_(freep) char *path = tool_arg_str(c, "path");
	struct file_reading r = { 0 };
	struct span s;
	struct err e;

	if (get_span(c, &s, &e) < 0 || read_file_span(c, path, &s, &r, &e) < 0)
		tool_fail(c, &e, SLICE_NONE);
	else
		read_file_answer(c, &s, path, &r);
	buf_done(&r.bytes);
}

static const struct tool_field in[] = {
	TF_STRING("path", TOOL_REQUIRED, PATH_TEXT),
	TF_STRING(
		"encoding", 0,
		"of content in the result; a file that is neither UTF-8 text nor an image needs base64",
		.fallback = "\"utf-8\"", .words = encoding_words),
	TF_INT("offset", 0, "first byte", .max = SAFE_INT_MAX),
	TF_INT("length", 0, "most bytes", .max = SAFE_INT_MAX),
	TF_INT("startLine", 0, "first line, from 1", .min = 1, .max = SAFE_INT_MAX),
	TF_INT("endLine", 0, "last line, included", .min = 1, .max = SAFE_INT_MAX),
	{ 0 },
};

static const struct tool_field out[] = {
	TF_STRING("content", TOOL_REQUIRED, "lines keep their ends"),
	TF_STRING("path", TOOL_REQUIRED, "as it was given"),
	TF_STRING("encoding", 0, "of content", .words = encoding_words),
	TF_STRING("mimeType", 0, "of an image"),
	TF_INT("size", 0, "bytes of the file"),
	TF_INT("offset", 0, "where content begins"),
	TF_INT("length", 0, "bytes of content"),
	TF_INT("nextOffset", 0, "where to read on, unless content goes to the end"),
	TF_INT("startLine", 0, "by lines: the first in content"),
	TF_INT("endLine", 0, "by lines: the last in content"),
	TF_BOOL("truncated", 0, "less than asked for: it is too much for one result"),
	VERSION_OUT,
	{ 0 },
};

const struct builtin_tool read_tools[] = {
	BUILTIN_TOOL(
		"readFile", "Read a file",
		"Reads a file, or a range of it by bytes or by lines. Text is shown with line numbers, "
		"up to 2000 lines or 50 KB at a time; PNG, JPEG, GIF and WebP are shown as images.",
		CATEGORY_READ, HINT_READ_ONLY | HINT_IDEMPOTENT, in, out, .work = read_file_work),
	{ 0 },
};
