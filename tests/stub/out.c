/* SPDX-License-Identifier: Apache-2.0 */
/* Growable buffers, JSON text and the one non-blocking way to stdout. */
#include "stub.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct buf out;
static size_t out_done; /* bytes of out already written */
static int out_fd = 1;
static int64_t held_until;

void *xcalloc(size_t n, size_t size)
{
	void *p = calloc(n, size);

	if (!p)
		abort();
	return p;
}

char *xstrdup(const char *s)
{
	char *p = strdup(s);

	if (!p)
		abort();
	return p;
}

static void buf_room(struct buf *b, size_t n)
{
	size_t cap = b->cap ? b->cap : 4096;
	char *p;

	if (b->len + n <= b->cap)
		return;
	while (cap < b->len + n)
		cap *= 2;
	p = realloc(b->p, cap);
	if (!p)
		abort();
	b->p = p;
	b->cap = cap;
}

void buf_add(struct buf *b, const void *p, size_t n)
{
	buf_room(b, n);
	memcpy(b->p + b->len, p, n);
	b->len += n;
}

void buf_str(struct buf *b, const char *s)
{
	buf_add(b, s, strlen(s));
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
	size_t room = 256;

	for (;;) {
		va_list ap;
		int n;

		buf_room(b, room);
		va_start(ap, fmt);
		n = vsnprintf(b->p + b->len, room, fmt, ap);
		va_end(ap);
		if (n < 0)
			abort();
		if ((size_t)n < room) {
			b->len += (size_t)n;
			return;
		}
		room = (size_t)n + 1;
	}
}

void buf_json(struct buf *b, const char *s)
{
	const char *run = s;

	buf_add(b, "\"", 1);
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c >= 0x20 && c != '"' && c != '\\')
			continue;
		buf_add(b, run, (size_t)(s - run));
		if (c == '"' || c == '\\')
			buf_printf(b, "\\%c", c);
		else if (c == '\n')
			buf_add(b, "\\n", 2);
		else
			buf_printf(b, "\\u%04x", c);
		run = s + 1;
	}
	buf_add(b, run, (size_t)(s - run));
	buf_add(b, "\"", 1);
}

void buf_free(struct buf *b)
{
	free(b->p);
	*b = (struct buf){ 0 };
}

int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

bool out_full(void)
{
	return out.len - out_done >= OUT_HIGH;
}

bool out_wants_write(void)
{
	return out_fd >= 0 && held_until == 0 && out.len > out_done;
}

void out_line(void)
{
	buf_add(&out, "\n", 1);
}

/* The reader is gone: an agent that cannot speak ends, unless it was told to be stubborn. */
static void out_broken(void)
{
	if (!ignore_term)
		_exit(0);
	out_close();
}

void out_flush(void)
{
	if (out_fd < 0) {
		out.len = out_done = 0;
		return;
	}
	if (held_until != 0)
		return;
	while (out_done < out.len) {
		ssize_t n = write(out_fd, out.p + out_done, out.len - out_done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0) {
			out_broken();
			return;
		}
		out_done += (size_t)n;
	}
	out.len = out_done = 0;
}

void out_drain(void)
{
	held_until = 0;
	out_flush();
	while (out_wants_write()) {
		struct pollfd pfd = { .fd = out_fd, .events = POLLOUT };

		if (poll(&pfd, 1, 5000) <= 0)
			return; /* nobody reads: give up, never hang */
		out_flush();
	}
}

void out_close(void)
{
	if (out_fd >= 0)
		close(out_fd);
	out_fd = -1;
	out.len = out_done = 0;
}

void out_hold(int64_t until_ms)
{
	held_until = until_ms;
}

int64_t out_held_until(void)
{
	return held_until;
}

/* The flood's way: straight from its own block, and only what did not fit is copied. */
ssize_t out_direct(const char *p, size_t n)
{
	ssize_t w;

	if (out_fd < 0)
		return (ssize_t)n;
	do
		w = write(out_fd, p, n);
	while (w < 0 && errno == EINTR);
	if (w < 0 && errno != EAGAIN) {
		out_broken();
		return -1;
	}
	if (w < 0)
		w = 0;
	if ((size_t)w < n)
		buf_add(&out, p + w, n - (size_t)w);
	return w;
}

/* Raw, and without a newline of its own. */
void noise_at(const char *phase)
{
	if (!set.noise || !set.noise_at || strcmp(set.noise_at, phase) != 0)
		return;
	for (const char *p = set.noise; p[0] && p[1]; p += 2) {
		char digits[3] = { p[0], p[1], '\0' }, byte = (char)strtoul(digits, NULL, 16);

		buf_add(&out, &byte, 1);
	}
}

void reply_result(const char *id, const char *result_json)
{
	buf_printf(&out, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":", id);
	buf_str(&out, result_json);
	buf_add(&out, "}", 1);
	out_line();
}

void reply_error(const char *id, int code, const char *message, const char *data_json)
{
	buf_printf(&out, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":%d,\"message\":", id,
		   code);
	buf_json(&out, message);
	if (data_json) {
		buf_str(&out, ",\"data\":");
		buf_str(&out, data_json);
	}
	buf_str(&out, "}}");
	out_line();
}
