#include "base/http/http_request.h"

#include "base/http/header.h"

#include <errno.h>

static bool visible(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] <= 0x20 || (unsigned char)s.p[i] >= 0x7f)
			return false;
	return s.n > 0;
}

/* "POST /v1/messages HTTP/1.1" */
static bool read_request_line(struct slice line, struct http_request_head *r)
{
	if (!slice_cut(&line, ' ', &r->method) || !slice_cut(&line, ' ', &r->target))
		return false;
	return header_name_ok(r->method) && visible(r->target) && slice_is(line, "HTTP/1.1");
}

/* "close", also in a list. */
static bool asks_to_close(struct slice fields)
{
	struct slice v;

	if (!http_field_find(fields, "connection", &v))
		return false;
	for (size_t i = 0; i + 5 <= v.n; i++)
		if (http_word_is((struct slice){ v.p + i, 5 }, "close"))
			return true;
	return false;
}

ssize_t http_request_parse(struct slice in, size_t max, struct http_request_head *ret)
{
	ssize_t n = http_lines_end(in, max);
	struct slice lines = { in.p, (size_t)n }, line;

	*ret = (struct http_request_head){ 0 };
	if (n <= 0)
		return n;
	if (!http_line_next(&lines, &line) || !read_request_line(line, ret) ||
	    !http_fields_read(lines, &ret->body) || (ret->body.has_length && ret->body.chunked))
		return -EPROTO;
	ret->fields = lines;
	ret->stays = !asks_to_close(lines);
	return n + 2;
}
