/*
 * model_text.c - writes results as bounded text for a model; programs get the exact JSON.
 *
 * A cut always falls between two characters, and a marker tells how to read the rest. A first line
 * above the limit is shown cut, so the text is never empty. tool_result.c applies model_text_limit
 * to every text last, whichever function wrote it. A name with control characters is quoted, so no
 * name looks like two lines.
 */
#include "tools/builtin/core/model_text.h"

#include "base/limits.h"
#include "json/json.h"

#include <inttypes.h>

#define NUMBERED 8 /* bytes before a line: its number and a tab, as cat -n */

/* --- parts ------------------------------------------------------------------------------------------------------ */

void model_text_member(struct slice object, const char *key, struct buf *ret)
{
	struct jval v = jobj_get(object, key);

	if (v.type == J_STRING)
		jstr_decode_bytes(v, ret);
}

void model_text_name(struct buf *out, struct slice name)
{
	for (size_t i = 0; i < name.n; i++)
		if ((unsigned char)name.p[i] < 0x20 || name.p[i] == 0x7f) {
			jstr_encode(out, name);
			return;
		}
	buf_add_slice(out, name);
}

size_t model_text_cut(struct slice text, size_t n)
{
	if (n >= text.n)
		return text.n;
	/* Bytes 10xxxxxx continue a character (RFC 3629, 3), so the cut moves before its first
	 * byte. */
	while (n && ((unsigned char)text.p[n] & 0xc0) == 0x80)
		n--;
	return n;
}

int64_t model_text_count(struct slice s)
{
	int64_t n = s.n && s.p[s.n - 1] != '\n';

	for (size_t i = 0; i < s.n; i++)
		n += s.p[i] == '\n';
	return n;
}

/* --- lines ------------------------------------------------------------------------------------------------------ */

static void model_put_number(struct buf *out, int64_t n)
{
	if (n > 0)
		buf_printf(out, "%6" PRId64 "\t", n);
}

static void model_put_line(struct buf *out, struct slice line, int64_t number, int64_t offset)
{
	size_t n = model_text_cut(line, TOOL_SHOW_LINE);

	model_put_number(out, number);
	buf_add(out, line.p, n);
	if (n < line.n)
		buf_printf(out,
			   " [cut: %zu more bytes of this line; read them with offset: %" PRId64
			   ", length: %zu]",
			   line.n - n, offset + (int64_t)n,
			   MIN(line.n - n, (size_t)TOOL_SHOW_BYTES));
	buf_putc(out, '\n');
}

void model_text_lines(struct buf *out, struct slice text, struct model_text_lines *l)
{
	size_t begin = buf_len(out);

	l->shown = 0;
	l->used = 0;
	while (l->used < text.n && l->shown < l->most) {
		struct slice line = { text.p + l->used, text.n - l->used };
		const char *nl = memchr(line.p, '\n', line.n);
		size_t whole = nl ? (size_t)(nl - line.p) + 1 : line.n;
		size_t room = MIN(whole, (size_t)TOOL_SHOW_LINE) + NUMBERED;

		/* The first line is always shown: a text without any line would not tell where
		 * to read on. */
		if (l->shown && buf_len(out) - begin + room > l->bytes)
			return;
		line.n = nl ? whole - 1 : whole;
		if (nl && line.n && line.p[line.n - 1] == '\r')
			line.n--;
		model_put_line(out, line, l->first ? l->first + l->shown : 0,
			       l->offset + (int64_t)l->used);
		l->used += whole;
		l->shown++;
	}
}

/* --- any object ----------------------------------------------------------------------------------------------- */

static void model_put_value(struct buf *out, struct jval v, bool in_line);

static void model_put_members(struct buf *out, struct slice object, const char *between)
{
	bool any = false;

	jobj_each(key, v, object) {
		/* Models need not read that something is not there. */
		if (v.type == J_NULL)
			continue;
		if (any)
			buf_puts(out, between);
		any = true;
		buf_add_slice(out, key);
		buf_puts(out, ": ");
		model_put_value(out, v, true);
	}
}

static void model_put_list(struct buf *out, struct jval list, bool in_line)
{
	bool any = false;

	jarr_each(v, list) {
		if (in_line)
			buf_puts(out, any ? "; " : "");
		else
			buf_puts(out, "\n- ");
		any = true;
		model_put_value(out, v, true);
	}
	if (!any)
		buf_puts(out, "none");
}

static void put_string(struct buf *out, struct jval v, bool in_line)
{
	_cleanup_(buf_done) struct buf text = { 0 };
	struct slice s;

	jstr_decode_bytes(v, &text);
	s = buf_slice(&text);
	if (in_line)
		model_text_name(out, s);
	else
		buf_add_slice(out, s);
}

static void model_put_value(struct buf *out, struct jval v, bool in_line)
{
	if (v.type == J_STRING)
		put_string(out, v, in_line);
	else if (v.type == J_ARRAY)
		model_put_list(out, v, in_line);
	else if (v.type == J_OBJECT)
		model_put_members(out, v.raw, ", ");
	else
		buf_add_slice(out, v.raw);
}

static bool has_lines(struct jval v)
{
	_cleanup_(buf_done) struct buf text = { 0 };

	if (v.type != J_STRING)
		return false;
	jstr_decode_bytes(v, &text);
	return buf_len(&text) && memchr(text.data, '\n', text.len);
}

/* Without the members named. */
static void model_put_object(struct buf *out, struct slice object, const char *const *skip)
{
	jobj_each(key, v, object) {
		const char *const *s = skip;

		while (*s && !slice_is(key, *s))
			s++;
		if (*s || v.type == J_NULL)
			continue;
		buf_add_slice(out, key);
		buf_puts(out, has_lines(v) ? ":\n" : ": ");
		model_put_value(out, v, false);
		if (out->len && out->data[out->len - 1] != '\n')
			buf_putc(out, '\n');
	}
}

void model_text_plain(struct buf *out, struct slice object)
{
	static const char *const none[] = { NULL };

	model_put_object(out, object, none);
}

void model_text_nearest(struct buf *out, struct jval list)
{
	jarr_each(v, list) {
		_cleanup_(buf_done) struct buf text = { 0 };
		struct model_text_lines l = { .first = jobj_int(v.raw, "line"),
					      .most = TOOL_SHOW_LINES,
					      .bytes = TOOL_SHOW_BYTES / 8 };

		model_text_member(v.raw, "text", &text);
		if (jobj_get(v.raw, "differs").type == J_STRING)
			buf_puts(out, "the same but for blanks:\n");
		else if (jobj_get(v.raw, "percent").type == J_NUMBER)
			buf_printf(out, "most like it, %" PRId64 " %%:\n",
				   jobj_int(v.raw, "percent"));
		else
			buf_printf(out, "most like it, %" PRId64 " of its lines:\n",
				   jobj_int(v.raw, "alike"));
		model_text_lines(out, buf_slice(&text), &l);
	}
}

/* --- a patch that does not fit --------------------------------------------------------------------------------- */

static void put_fitting(struct buf *out, struct jval files)
{
	int64_t fit = 0, n = 0;

	jarr_each(v, files) {
		n += !slice_is(jobj_get(v.raw, "status").raw, "\"leftOut\"");
		fit += jobj_is_true(v.raw, "fits") &&
		       !slice_is(jobj_get(v.raw, "status").raw, "\"leftOut\"");
	}
	buf_printf(out, "[nothing was changed; %" PRId64 " of %" PRId64 " files would fit]\n", fit,
		   n);
}

/* first: its message is that of the error. */
static void put_misfit(struct buf *out, struct slice file, bool first)
{
	int64_t n = 0;

	if (!first) {
		model_text_member(file, "code", out);
		buf_puts(out, ": ");
		model_text_member(file, "message", out);
		buf_putc(out, '\n');
	}
	jarr_each(v, jobj_get(file, "hunks")) {
		n++;
		if (jobj_is_true(v.raw, "fits"))
			buf_printf(out, "hunk %" PRId64 " fits at line %" PRId64 "\n", n,
				   jobj_int(v.raw, "line"));
		if (jobj_get(v.raw, "nearest").type == J_ARRAY)
			buf_printf(out, "hunk %" PRId64 ":\n", n);
		model_text_nearest(out, jobj_get(v.raw, "nearest"));
	}
}

/* Which files do not fit, and what is most like their hunks. files: a member; any other value says nothing. */
static void put_misfits(struct buf *out, struct jval files)
{
	bool first = true;

	if (files.type != J_ARRAY)
		return;
	put_fitting(out, files);
	jarr_each(v, files)
		if (jobj_get(v.raw, "fits").type == J_FALSE) {
			put_misfit(out, v.raw, first);
			first = false;
		}
}

/* --- errors --------------------------------------------------------------------------------------------------- */

void model_text_error(struct buf *out, struct slice error)
{
	static const char *const said[] = { "code", "message", "field", "nearest", "files", NULL };

	model_text_member(error, "code", out);
	buf_puts(out, ": ");
	model_text_member(error, "message", out);
	buf_putc(out, '\n');
	if (jobj_get(error, "field").type == J_STRING) {
		buf_puts(out, "field: ");
		model_text_member(error, "field", out);
		buf_putc(out, '\n');
	}
	model_put_object(out, error, said);
	put_misfits(out, jobj_get(error, "files"));
	model_text_nearest(out, jobj_get(error, "nearest"));
}

/* --- the limit -------------------------------------------------------------------------------------------------- */

void model_text_limit(struct buf *out, size_t room)
{
	struct slice text = buf_slice(out);
	size_t n = model_text_cut(text, room + TOOL_SHOW_MORE), at = 0;
	const char *nl;

	for (int lines = 0; lines < TOOL_SHOW_LINES_MAX && at < n; lines++) {
		nl = memchr(text.p + at, '\n', n - at);
		at = nl ? (size_t)(nl - text.p) + 1 : n;
	}
	n = MIN(n, at);
	if (n == text.n)
		return;
	nl = memrchr(text.p, '\n', n);
	/* Back to the end of a line, unless a very long line would cost more than half of the text. */
	if (nl && nl > text.p + n / 2)
		n = (size_t)(nl - text.p) + 1;
	out->len = out->pos + n;
	buf_printf(out, "%s[%zu more bytes of this result are not shown]\n",
		   out->data[out->len - 1] == '\n' ? "" : "\n", text.n - n);
}
