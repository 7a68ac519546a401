#include "base/http/http_head.h"

#include "base/format/digits.h"
#include "base/limits.h"

#include <errno.h>

/* "HTTP/1.1 200 OK" */
static bool read_status(struct slice line, int *ret)
{
	uint64_t status;

	if (!slice_skip(&line, "HTTP/1.") || line.n < 5 || line.p[0] < '0' || line.p[0] > '9' ||
	    line.p[1] != ' ' || !u64_parse((struct slice){ line.p + 2, 3 }, &status) ||
	    status < 100 || (line.n > 5 && line.p[5] != ' ') || !http_text_ok(line))
		return false;
	*ret = (int)status;
	return true;
}

ssize_t http_head_parse(struct slice in, struct http_head *ret)
{
	ssize_t n = http_lines_end(in, HTTP_HEADERS_MAX);
	struct slice lines = { in.p, (size_t)n }, line;

	*ret = (struct http_head){ 0 };
	if (n <= 0)
		return n;
	if (!http_line_next(&lines, &line) || !read_status(line, &ret->status) ||
	    !http_fields_read(lines, &ret->body))
		return -EPROTO;
	ret->fields = lines;
	return n + 2;
}

bool http_head_field(const struct http_head *h, const char *name, struct slice *ret)
{
	return http_field_find(h->fields, name, ret);
}

bool http_head_is_interim(const struct http_head *h)
{
	return h->status < 200 && h->status != 101;
}
