/*
 * http_fields.c - splits the head of a request or response into lines and fields, and reads its
 * framing fields.
 *
 * Used on both sides of the daemon: requests of clients and harnesses, responses of providers. All
 * slices point into the head. A second Content-Length or Transfer-Encoding is refused even with the
 * same value (request smuggling). Whether both fields may appear together is the caller's decision,
 * because the answer differs between requests and responses.
 */
#include "base/http/http_fields.h"

#include "base/format/digits.h"
#include "base/util.h"

#include <strings.h>

bool http_length_parse(struct slice value, uint64_t *ret)
{
	return u64_parse(value, ret) && *ret <= INT64_MAX;
}

bool http_words_same(struct slice a, struct slice b)
{
	return a.n == b.n && (!a.n || strncasecmp(a.p, b.p, a.n) == 0);
}

bool http_word_is(struct slice word, const char *want)
{
	return http_words_same(word, slice_of(want));
}

bool http_word_among(struct slice word, const char *words)
{
	struct slice list = slice_of(words), one;

	while (slice_item(&list, ' ', &one))
		if (http_words_same(word, one))
			return true;
	return false;
}

bool http_coding_is_chunked(struct slice value)
{
	return http_word_is(value, "chunked");
}

/* --- names and values -------------------------------------------------------------------------------------- */

bool header_name_ok(struct slice s)
{
	static const char more[] = "!#$%&'*+-.^_`|~";

	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		bool alnum = (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');

		if (!c || (!alnum && !strchr(more, c)))
			return false;
	}
	return s.n > 0;
}

bool header_value_ok(const char *value)
{
	return !slice_has_control(slice_of(value));
}

/* --- lines ------------------------------------------------------------------------------------------------ */

bool http_text_ok(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		if (((unsigned char)s.p[i] < 0x20 && s.p[i] != '\t') || s.p[i] == 0x7f)
			return false;
	return true;
}

ssize_t http_lines_end(struct slice in, size_t max)
{
	size_t n = MIN(in.n, max);
	const char *end = n ? memmem(in.p, n, "\r\n\r\n", 4) : NULL;

	if (!end)
		return n < max ? 0 : -EMSGSIZE;
	return end - in.p + 2;
}

bool http_line_next(struct slice *lines, struct slice *line)
{
	const char *end = lines->n ? memmem(lines->p, lines->n, "\r\n", 2) : NULL;

	if (!end)
		return false;
	*line = (struct slice){ lines->p, (size_t)(end - lines->p) };
	*lines = (struct slice){ end + 2, lines->n - line->n - 2 };
	return true;
}

bool http_field_split(struct slice line, struct slice *name, struct slice *value)
{
	if (!slice_cut(&line, ':', name))
		return false;
	*value = slice_trim(line, " \t");
	return header_name_ok(*name) && http_text_ok(*value);
}

bool http_field_find(struct slice lines, const char *name, struct slice *ret)
{
	struct slice line, own;

	while (http_line_next(&lines, &line))
		if (http_field_split(line, &own, ret) && http_word_is(own, name))
			return true;
	return false;
}

/* --- framing ---------------------------------------------------------------------------------------------- */

static bool take_length(struct http_extent *f, struct slice value)
{
	bool first = !f->has_length;

	f->has_length = true;
	return first && http_length_parse(value, &f->length);
}

static bool take_coding(struct http_extent *f, struct slice value)
{
	bool first = !f->chunked;

	f->chunked = true;
	return first && http_coding_is_chunked(value);
}

static bool take_framing(struct http_extent *f, struct slice name, struct slice value)
{
	if (http_word_is(name, "content-length"))
		return take_length(f, value);
	return !http_word_is(name, "transfer-encoding") || take_coding(f, value);
}

bool http_fields_read(struct slice lines, struct http_extent *ret)
{
	struct slice line, name, value;

	while (http_line_next(&lines, &line))
		if (!http_field_split(line, &name, &value) || !take_framing(ret, name, value))
			return false;
	return true;
}
