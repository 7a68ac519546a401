/*
 * http_message.c - the head of an HTTP/1.1 request or answer, and where its body ends.
 *
 * Heads are parsed as a whole once their empty line has come, so nothing of a message is kept between two reads but its
 * bytes and, in struct message_body, how much of the body is still to come.
 */
#include "base/http/http_message.h"

#include "base/format/digits.h"
#include "base/limits.h"
#include "base/util.h"

/* --- answers -------------------------------------------------------------------------------------------------- */

/* "HTTP/1.1 200 OK" */
static bool http_read_status(struct slice line, int *ret)
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
	if (!http_line_next(&lines, &line) || !http_read_status(line, &ret->status) ||
	    !http_fields_read(lines, &ret->body))
		return -EPROTO;
	ret->fields = lines;
	return n + 2;
}

/* A status 1xx: the final answer follows (RFC 9110, 15.2). */
static bool http_head_is_interim(const struct http_head *h)
{
	return h->status < 200 && h->status != 101;
}

/* --- requests ------------------------------------------------------------------------------------------------- */

/* "POST /v1/messages HTTP/1.1" */
static bool read_request_line(struct slice line, struct http_request_head *r)
{
	if (!slice_cut(&line, ' ', &r->method) || !slice_cut(&line, ' ', &r->target))
		return false;
	return header_name_ok(r->method) && r->target.n && slice_is_visible(r->target, "") &&
	       slice_is(line, "HTTP/1.1");
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

/* --- bodies --------------------------------------------------------------------------------------------------- */

/* Transfer-Encoding takes precedence over Content-Length. That is safe: each answer has a connection of its own, so
 * nothing is read after it. */
void http_body_begin(struct message_body *b, const struct http_head *h, bool to_head)
{
	bool none = to_head || h->status == 204 || h->status == 304;

	*b = (struct message_body){ .end = HTTP_BODY_CLOSE };
	if (none)
		b->end = HTTP_BODY_LENGTH;
	else if (h->body.chunked)
		b->end = HTTP_BODY_CHUNKED;
	else if (h->body.has_length)
		*b = (struct message_body){ .end = HTTP_BODY_LENGTH, .left = h->body.length };
}

ssize_t http_answer_begin(struct buf *in, bool to_head, struct http_head *h, struct message_body *b)
{
	ssize_t n;

	while ((n = http_head_parse(buf_slice(in), h)) > 0 && http_head_is_interim(h))
		buf_consume(in, (size_t)n);
	if (n > 0)
		http_body_begin(b, h, to_head);
	return n;
}

void http_body_begin_request(struct message_body *b, const struct http_extent *f)
{
	*b = (struct message_body){ .end = f->chunked ? HTTP_BODY_CHUNKED : HTTP_BODY_LENGTH,
				    .left = f->length };
}

static int http_message_take(struct slice *in, size_t n, struct slice *data)
{
	*data = (struct slice){ in->p, n };
	*in = slice_after(*in, n);
	return n > 0;
}

int http_body_next(struct message_body *b, struct slice *in, struct slice *data)
{
	size_t n;

	if (b->end == HTTP_BODY_CHUNKED)
		return chunked_next(&b->chunked, in, data);
	if (!in->n)
		return 0;
	if (b->end == HTTP_BODY_CLOSE)
		return http_message_take(in, in->n, data);
	n = (size_t)MIN(b->left, (uint64_t)in->n);
	b->left -= n;
	return http_message_take(in, n, data);
}

int http_body_take(struct message_body *b, struct buf *in, struct slice *data)
{
	struct slice rest = buf_slice(in);
	int r = http_body_next(b, &rest, data);

	buf_consume(in, buf_len(in) - rest.n);
	return r;
}

int http_body_part(struct message_body *b, struct slice in, struct slice *ret)
{
	struct slice rest = in, data;
	int r = 1;

	while (r > 0)
		r = http_body_next(b, &rest, &data);
	*ret = (struct slice){ in.p, in.n - rest.n };
	return r;
}

bool http_body_has_ended(const struct message_body *b)
{
	if (b->end == HTTP_BODY_CHUNKED)
		return b->chunked.state == CHUNKED_END;
	return b->end == HTTP_BODY_LENGTH && !b->left;
}

bool http_body_is_whole(const struct message_body *b)
{
	return b->end == HTTP_BODY_CLOSE || http_body_has_ended(b);
}
