#include "base/http/http_head.h"

#include "base/digits.h"
#include "base/http/header.h"
#include "base/limits.h"
#include "base/util.h"

#include <errno.h>
#include <strings.h>

bool http_length_parse(struct slice value, uint64_t *ret)
{
	return u64_parse(value, ret) && *ret <= INT64_MAX;
}

static bool same_name(struct slice name, const char *want)
{
	return name.n == strlen(want) && strncasecmp(name.p, want, name.n) == 0;
}

bool http_coding_is_chunked(struct slice value)
{
	return same_name(value, "chunked");
}

/* --- lines ------------------------------------------------------------------------------------------------ */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static struct slice without_blanks(struct slice s)
{
	while (s.n && is_blank(*s.p))
		s = (struct slice){ s.p + 1, s.n - 1 };
	while (s.n && is_blank(s.p[s.n - 1]))
		s.n--;
	return s;
}

static bool is_text(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		if (((unsigned char)s.p[i] < 0x20 && s.p[i] != '\t') || s.p[i] == 0x7f)
			return false;
	return true;
}

/* Takes a line off the front of lines, each of which ends with CRLF. */
static bool next_line(struct slice *lines, struct slice *line)
{
	const char *end = lines->n ? memmem(lines->p, lines->n, "\r\n", 2) : NULL;

	if (!end)
		return false;
	*line = (struct slice){ lines->p, (size_t)(end - lines->p) };
	*lines = (struct slice){ end + 2, lines->n - line->n - 2 };
	return true;
}

static bool split_field(struct slice line, struct slice *name, struct slice *value)
{
	const char *colon = line.n ? memchr(line.p, ':', line.n) : NULL;

	if (!colon)
		return false;
	*name = (struct slice){ line.p, (size_t)(colon - line.p) };
	*value = without_blanks((struct slice){ colon + 1, line.n - name->n - 1 });
	return header_name_ok(*name) && is_text(*value);
}

/* --- the head --------------------------------------------------------------------------------------------- */

/* "HTTP/1.1 200 OK" */
static bool read_status(struct slice line, int *ret)
{
	uint64_t status;

	if (!slice_skip(&line, "HTTP/1.") || line.n < 5 || line.p[0] < '0' || line.p[0] > '9' ||
	    line.p[1] != ' ' || !u64_parse((struct slice){ line.p + 2, 3 }, &status) ||
	    status < 100 || (line.n > 5 && line.p[5] != ' ') || !is_text(line))
		return false;
	*ret = (int)status;
	return true;
}

static bool take_length(struct http_head *h, struct slice value)
{
	bool first = !h->has_length;

	h->has_length = true;
	return first && http_length_parse(value, &h->length);
}

static bool take_coding(struct http_head *h, struct slice value)
{
	bool first = !h->chunked;

	h->chunked = true;
	return first && http_coding_is_chunked(value);
}

static bool take_framing(struct http_head *h, struct slice name, struct slice value)
{
	static const struct {
		const char *name;
		bool (*take)(struct http_head *h, struct slice value);
	} rows[] = { { "content-length", take_length }, { "transfer-encoding", take_coding } };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (same_name(name, rows[i].name))
			return rows[i].take(h, value);
	return true;
}

static bool read_lines(struct slice lines, struct http_head *h)
{
	struct slice line, name, value;

	if (!next_line(&lines, &line) || !read_status(line, &h->status))
		return false;
	h->fields = lines;
	while (next_line(&lines, &line))
		if (!split_field(line, &name, &value) || !take_framing(h, name, value))
			return false;
	return true;
}

ssize_t http_head_parse(struct slice in, struct http_head *ret)
{
	size_t n = MIN(in.n, (size_t)HTTP_HEADERS_MAX);
	const char *end = n ? memmem(in.p, n, "\r\n\r\n", 4) : NULL;

	*ret = (struct http_head){ 0 };
	if (!end)
		return n < HTTP_HEADERS_MAX ? 0 : -EMSGSIZE;
	n = (size_t)(end - in.p) + 2;
	return read_lines((struct slice){ in.p, n }, ret) ? (ssize_t)n + 2 : -EPROTO;
}

bool http_head_field(const struct http_head *h, const char *name, struct slice *ret)
{
	struct slice lines = h->fields, line, own;

	while (next_line(&lines, &line))
		if (split_field(line, &own, ret) && same_name(own, name))
			return true;
	return false;
}

bool http_head_is_interim(const struct http_head *h)
{
	return h->status < 200 && h->status != 101;
}
