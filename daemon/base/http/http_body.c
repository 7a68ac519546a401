#include "base/http/http_body.h"

#include "base/util.h"

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

void http_body_begin_request(struct message_body *b, const struct http_extent *f)
{
	*b = (struct message_body){ .end = f->chunked ? HTTP_BODY_CHUNKED : HTTP_BODY_LENGTH,
				    .left = f->length };
}

static int take(struct slice *in, size_t n, struct slice *data)
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
		return take(in, in->n, data);
	n = (size_t)MIN(b->left, (uint64_t)in->n);
	b->left -= n;
	return take(in, n, data);
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
