/* hello_text.h - ClientHellos as tests want them. */
#pragma once

#include "base/buf.h"
#include "base/limits.h"

static inline void put_number(struct buf *b, unsigned bytes, size_t n)
{
	while (bytes--)
		buf_putc(b, (char)(n >> (8 * bytes)));
}

static inline void put_vector(struct buf *b, unsigned bytes, struct slice s)
{
	put_number(b, bytes, s.n);
	buf_add_slice(b, s);
}

static inline void put_extension(struct buf *b, unsigned type, struct slice s)
{
	put_number(b, 2, type);
	put_vector(b, 2, s);
}

/* The extension server_name with these names of the type host_name. */
static inline void put_names(struct buf *extensions, const char *const *names, size_t n)
{
	struct buf list = { 0 }, whole = { 0 };

	for (size_t i = 0; i < n; i++) {
		buf_putc(&list, 0);
		put_vector(&list, 2, slice_of(names[i]));
	}
	put_vector(&whole, 2, buf_slice(&list));
	put_extension(extensions, 0, buf_slice(&whole));
	buf_done(&list);
	buf_done(&whole);
}

/* The message, with its head. extensions NULL: it has none. */
static inline void put_hello(struct buf *b, const struct buf *extensions)
{
	struct buf body = { 0 };

	put_number(&body, 2, 0x0303);
	for (int i = 0; i < 32; i++)
		buf_putc(&body, (char)i);
	put_vector(&body, 1, SLICE("0123456789abcdef0123456789abcdef"));
	put_vector(&body, 2, SLICE("\x0a\x0a\x13\x01\x13\x02"));
	put_vector(&body, 1, SLICE("\0"));
	if (extensions)
		put_vector(&body, 2, buf_slice(extensions));
	buf_putc(b, 1);
	put_vector(b, 3, buf_slice(&body));
	buf_done(&body);
}

/* A message in records of so many bytes. */
static inline void put_records(struct buf *b, struct slice message, size_t each)
{
	while (message.n) {
		struct slice part = { message.p, message.n < each ? message.n : each };

		buf_add(b, "\x16\x03\x01", 3);
		put_vector(b, 2, part);
		message = (struct slice){ message.p + part.n, message.n - part.n };
	}
}
