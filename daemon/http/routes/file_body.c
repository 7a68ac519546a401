/*
 * file_body.c - streams a file, or the range of a Range header, as the body of a reply.
 *
 * The length is in the head of the reply, so a file that becomes shorter breaks the stream off.
 * Reads are synchronous on the loop, with at most `room` bytes for each fill; POSIX_FADV_SEQUENTIAL
 * makes the kernel read ahead.
 */
#include "http/routes/handlers.h"

#include "http/request_parts.h"

#include <fcntl.h>

struct file_stream {
	struct http_stream base;
	int fd;
	uint64_t at, left;
};

static enum http_fill file_body_fill(struct http_stream *base, struct buf *out, size_t room)
{
	struct file_stream *f = container_of(base, struct file_stream, base);
	size_t want = (size_t)MIN((uint64_t)room, f->left);
	ssize_t n;

	if (!want)
		return HTTP_FILL_END;
	if (buf_reserve(out, want) < 0)
		return HTTP_FILL_ERROR;
	n = pread(f->fd, out->data + out->len, want, (off_t)f->at);
	if (n <= 0)
		return n < 0 && errno == EINTR ? HTTP_FILL_MORE : HTTP_FILL_ERROR;
	out->len += (size_t)n;
	f->at += (uint64_t)n;
	f->left -= (uint64_t)n;
	return f->left ? HTTP_FILL_MORE : HTTP_FILL_END;
}

static void file_stream_free(struct http_stream *base)
{
	struct file_stream *f = container_of(base, struct file_stream, base);

	closep(&f->fd);
	free(f);
}

static const struct http_stream_ops file_ops = { .fill = file_body_fill, .free = file_stream_free };

static void reply_range(struct http_reply *ret, uint64_t first, uint64_t count, uint64_t size)
{
	char text[64];

	snprintf(text, sizeof(text), "bytes %llu-%llu/%llu", (unsigned long long)first,
		 (unsigned long long)(first + count - 1), (unsigned long long)size);
	http_reply_header(ret, "Content-Range:", text);
	ret->status = 206;
}

static void reply_behind(struct http_reply *ret, uint64_t size)
{
	const char *text = SHORT_TEXT(64, "bytes */%llu", (unsigned long long)size);

	http_reply_error(ret, 416, "RANGE_NOT_SATISFIABLE", "the range begins behind the end");
	http_reply_header(ret, "Content-Range:", text);
}

void http_reply_file(const struct http_call *c, struct http_reply *ret, int fd, uint64_t size,
		     const char *type)
{
	struct file_stream *f;
	uint64_t first, count;
	int r = range_parse(c->rq->range, size, &first, &count);

	if (r < 0) {
		close(fd);
		reply_behind(ret, size);
		return;
	}
	if (r > 0)
		reply_range(ret, first, count, size);
	(void)posix_fadvise(fd, (off_t)first, 0, POSIX_FADV_SEQUENTIAL);
	f = new0(struct file_stream);
	f->base.ops = &file_ops;
	f->fd = fd;
	f->at = first;
	f->left = ret->length = count;
	ret->sized = true;
	ret->content_type = type;
	http_reply_header(ret, "Accept-Ranges:", "bytes");
	ret->stream = &f->base;
}
