/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sse.c - the transport of the peer: each message is the body of a POST; an answer comes back as its body, and all that
 * the agent says by itself arrives as Server-Sent Events on a second connection, in HTTP chunks.
 */
#include "wire.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RAW_SIZE ((size_t)1 << 18)

struct sse {
	int port;
	char server[64];
	char post[200];	      /* request line and Host of a POST */
	char raw[RAW_SIZE];   /* as it came, HTTP chunks and all */
	size_t raw_len;	      /* of it not yet understood: a size line that is cut in two */
	size_t chunk;	      /* bytes left of the current chunk */
	char answer[1 << 16]; /* of the last POST */
	size_t answer_len;
	bool posted; /* an answer is on its way */
};

void sse_free(struct sse *s)
{
	free(s);
}

struct wire *wire_sse(int port, const char *server, const char *agent)
{
	int fd = tcp_connect(port);
	struct wire *w;

	if (fd < 0)
		die("cannot connect to port %d: %s", port, strerror(-fd));
	w = wire_new(WIRE_SSE, -1, fd);
	w->sse = need(calloc(1, sizeof(*w->sse)));
	w->sse->port = port;
	snprintf(w->sse->server, sizeof(w->sse->server), "%s", server);
	snprintf(w->sse->post, sizeof(w->sse->post),
		 "POST /v1/acp/%s?agent=%s HTTP/1.1\r\nHost: 127.0.0.1\r\n", server, agent);
	return w;
}

/* Takes the chunk framing out of what has come, into the wire's buffer. */
static void dechunk(struct wire *w)
{
	struct sse *s = w->sse;
	char *out = wire_room(w, s->raw_len);
	size_t at = 0;

	while (at < s->raw_len) {
		size_t n = s->raw_len - at;
		char *nl;

		if (s->chunk) {
			n = n < s->chunk ? n : s->chunk;
			memcpy(out, s->raw + at, n);
			out += n;
			at += n;
			s->chunk -= n;
			continue;
		}
		if (s->raw[at] == '\r' || s->raw[at] == '\n') { /* the end of the chunk before */
			at++;
			continue;
		}
		nl = memchr(s->raw + at, '\n', n);
		if (!nl)
			break;
		s->chunk = strtoul(s->raw + at, NULL, 16);
		at = (size_t)(nl - s->raw) + 1;
	}
	w->len = (size_t)(out - w->buf);
	memmove(s->raw, s->raw + at, s->raw_len - at);
	s->raw_len -= at;
}

/* The stream exists once the first POST has been answered. */
static void listen_for_events(struct wire *w)
{
	char head[4096], *rest;
	struct sse *s = w->sse;

	w->rfd = tcp_connect(s->port);
	if (w->rfd < 0)
		die("cannot connect for the events: %s", strerror(-w->rfd));
	snprintf(head, sizeof(head),
		 "GET /v1/acp/%s HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n",
		 s->server);
	send_text(w->rfd, head);
	if (read_headers(w->rfd, head, &rest, &s->raw_len) != 200)
		die("no event stream");
	memcpy(s->raw, rest, s->raw_len);
	dechunk(w);
}

void sse_send(struct wire *w, const char *text, size_t n)
{
	char head[400];
	int h = snprintf(head, sizeof(head),
			 "%sContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
			 w->sse->post, n);

	send_all(w->wfd, (struct iovec[]){ { head, (size_t)h }, { (char *)text, n } }, 2);
	w->sse->posted = true;
}

static void read_answer(struct wire *w)
{
	char head[4096], *body, *length;
	struct sse *s = w->sse;
	size_t have, want;
	int status = read_headers(w->wfd, head, &body, &have);

	s->posted = false;
	length = strcasestr(head, "content-length:");
	want = length ? strtoul(length + 15, NULL, 10) : 0;
	if (status >= 300 || want > sizeof(s->answer) || have > want)
		die("POST answered with %d: %.200s", status, body);
	memcpy(s->answer, body, have);
	while (have < want) {
		ssize_t r = read(w->wfd, s->answer + have, want - have);

		if (r <= 0)
			die("POST answered in part");
		have += (size_t)r;
	}
	s->answer_len = want;
	if (w->rfd < 0)
		listen_for_events(w);
}

/* Answers are seen here a second time: only what has a method counts. */
static bool event_next(struct wire *w, char **text, size_t *n)
{
	while (wire_line(w, text, n)) {
		if (*n < 6 || memcmp(*text, "data: ", 6) != 0)
			continue;
		*text += 6;
		*n -= 6;
		if (memmem(*text, *n < 64 ? *n : 64, "\"method\":", 9))
			return true;
	}
	return false;
}

static bool read_events(struct wire *w)
{
	struct sse *s = w->sse;
	ssize_t r = read(w->rfd, s->raw + s->raw_len, RAW_SIZE - s->raw_len);

	if (r <= 0)
		return false;
	s->raw_len += (size_t)r;
	dechunk(w);
	return true;
}

bool sse_recv(struct wire *w, char **text, size_t *n, int timeout_ms)
{
	struct sse *s = w->sse;

	for (;;) {
		struct pollfd pfd[2] = { { .fd = w->rfd, .events = POLLIN },
					 { .fd = s->posted ? w->wfd : -1, .events = POLLIN } };

		if (s->answer_len) {
			*text = s->answer;
			*n = s->answer_len;
			s->answer_len = 0;
			return true;
		}
		if (event_next(w, text, n))
			return true;
		if (poll(pfd, 2, timeout_ms) <= 0)
			return false;
		if (pfd[0].revents && !read_events(w))
			return false;
		if (pfd[1].revents)
			read_answer(w);
	}
}
