/* SPDX-License-Identifier: Apache-2.0 */
#include "wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define READ_SIZE ((size_t)1 << 18)
#define SEND_MAX 16384

void die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

void *need(void *p)
{
	if (!p)
		die("out of memory");
	return p;
}

int tcp_connect(int port)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0) {
		int e = errno;

		close(fd);
		return -e;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return fd;
}

struct wire *wire_new(enum wire_kind kind, int rfd, int wfd)
{
	struct wire *w = need(calloc(1, sizeof(*w)));

	w->kind = kind;
	w->rfd = rfd;
	w->wfd = wfd;
	return w;
}

struct wire *wire_free(struct wire *w)
{
	if (!w)
		return NULL;
	close(w->rfd);
	if (w->wfd != w->rfd)
		close(w->wfd);
	if (w->child > 0)
		waitpid(w->child, NULL, 0);
	sse_free(w->sse);
	free(w->buf);
	free(w);
	return NULL;
}

char *wire_room(struct wire *w, size_t n)
{
	if (w->at) {
		memmove(w->buf, w->buf + w->at, w->len - w->at);
		w->len -= w->at;
		w->at = 0;
	}
	if (w->cap - w->len < n) {
		w->cap = w->cap * 2 + n;
		w->buf = need(realloc(w->buf, w->cap));
	}
	return w->buf + w->len;
}

void send_all(int fd, const struct iovec *iov, int n)
{
	struct iovec left[3], *at = left;

	memcpy(left, iov, sizeof(*iov) * (size_t)n);
	while (n) {
		ssize_t w = writev(fd, at, n);

		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0)
			die("send: %s", strerror(errno));
		for (; n && (size_t)w >= at->iov_len; at++, n--)
			w -= (ssize_t)at->iov_len;
		if (n) {
			at->iov_base = (char *)at->iov_base + w;
			at->iov_len -= (size_t)w;
		}
	}
}

void send_text(int fd, const char *text)
{
	send_all(fd, &(struct iovec){ (char *)text, strlen(text) }, 1);
}

int read_headers(int fd, char head[4096], char **body, size_t *extra)
{
	size_t n = 0;
	char *end = NULL;

	while (!end) {
		ssize_t r = n < 4095 ? read(fd, head + n, 4095 - n) : 0;

		if (r <= 0)
			die("no answer to the request");
		n += (size_t)r;
		head[n] = '\0';
		end = strstr(head, "\r\n\r\n");
	}
	*body = end + 4;
	*extra = n - (size_t)(*body - head);
	return atoi(head + sizeof("HTTP/1.1"));
}

/* --- opening ------------------------------------------------------------------------------------------- */

struct wire *wire_ws(int port, const char *path, const char *token)
{
	int fd = tcp_connect(port), status;
	char head[4096], *rest;
	struct wire *w;
	size_t extra;

	if (fd < 0)
		die("cannot connect to port %d: %s", port, strerror(-fd));
	snprintf(head, sizeof(head),
		 "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUpgrade: websocket\r\n"
		 "Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
		 "Sec-WebSocket-Version: 13\r\n%s%s\r\n\r\n",
		 path, port, token ? "Authorization: Bearer " : "X-None: ", token ? token : "");
	send_text(fd, head);
	status = read_headers(fd, head, &rest, &extra);
	if (status != 101)
		die("upgrade refused: %d", status);
	w = wire_new(WIRE_WS, fd, fd);
	memcpy(wire_room(w, extra + 1), rest, extra);
	w->len = extra;
	return w;
}

struct wire *wire_pipe(char **argv)
{
	int in[2], out[2];
	struct wire *w;
	pid_t pid;

	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0 || (pid = fork()) < 0)
		die("cannot start %s: %s", argv[0], strerror(errno));
	if (pid == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		execvp(argv[0], argv);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	w = wire_new(WIRE_PIPE, out[0], in[1]);
	w->child = pid;
	return w;
}

/* --- out ----------------------------------------------------------------------------------------------- */

/* A masked text frame, as a client must send it. The key is fixed: nobody reads this wire but us. */
static void ws_send(struct wire *w, const char *text, size_t n)
{
	static const unsigned char key[4] = { 0x37, 0xfa, 0x21, 0x3d };
	unsigned char frame[8 + SEND_MAX] = { 0x81 };
	size_t h = 2;

	if (n > SEND_MAX)
		die("message too long");
	frame[1] = (unsigned char)(0x80 | (n < 126 ? n : 126));
	if (n >= 126) {
		frame[h++] = (unsigned char)(n >> 8);
		frame[h++] = (unsigned char)n;
	}
	memcpy(frame + h, key, 4);
	h += 4;
	for (size_t i = 0; i < n; i++)
		frame[h + i] = (unsigned char)text[i] ^ key[i & 3];
	send_all(w->wfd, &(struct iovec){ frame, h + n }, 1);
}

void wire_send(struct wire *w, const char *text, size_t n)
{
	if (w->kind == WIRE_WS)
		ws_send(w, text, n);
	else if (w->kind == WIRE_SSE)
		sse_send(w, text, n);
	else
		send_all(w->wfd, (struct iovec[]){ { (char *)text, n }, { (char *)"\n", 1 } }, 2);
}

/* --- in ------------------------------------------------------------------------------------------------ */

static void ws_control(struct wire *w, int opcode, const unsigned char *p, size_t n)
{
	unsigned char pong[6] = { 0x8a, (unsigned char)(0x80 | n) }; /* the mask is zero */

	if (opcode == 8)
		w->close_code = n >= 2 ? p[0] << 8 | p[1] : 1005;
	else if (opcode == 9)
		send_all(w->wfd,
			 (struct iovec[]){ { pong, sizeof(pong) }, { (unsigned char *)p, n } }, 2);
}

/* Header size of the frame at p, 0 while it is incomplete. */
static size_t ws_header(const unsigned char *p, size_t have, size_t *ret_len)
{
	size_t h = 2, len;

	if (have < h)
		return 0;
	len = p[1] & 0x7f;
	h += len == 126 ? 2 : len == 127 ? 8 : 0;
	if (have < h)
		return 0;
	if (h > 2)
		len = 0;
	for (size_t i = 2; i < h; i++)
		len = len << 8 | p[i];
	*ret_len = len;
	return h;
}

/* One whole frame from the buffer; control frames are dealt with on the way. */
static bool ws_next(struct wire *w, char **text, size_t *n)
{
	for (;;) {
		unsigned char *p = (unsigned char *)w->buf + w->at;
		size_t len, h = ws_header(p, w->len - w->at, &len);

		if (!h || w->len - w->at - h < len)
			return false;
		w->at += h + len;
		if ((p[0] & 0x0f) >= 8) {
			ws_control(w, p[0] & 0x0f, p + h, len);
			continue;
		}
		if (p[0] != 0x81 || p[1] & 0x80)
			die("a frame that is no whole unmasked text message");
		*text = (char *)p + h;
		*n = len;
		return true;
	}
}

bool wire_line(struct wire *w, char **text, size_t *n)
{
	char *from = w->buf + w->at;
	char *nl = w->len > w->at ? memchr(from, '\n', w->len - w->at) : NULL;

	if (!nl)
		return false;
	*text = from;
	*n = (size_t)(nl - from);
	w->at += *n + 1;
	return true;
}

bool wire_recv(struct wire *w, char **text, size_t *n, int timeout_ms)
{
	struct pollfd pfd = { .fd = w->rfd, .events = POLLIN };
	ssize_t r;

	if (w->kind == WIRE_SSE)
		return sse_recv(w, text, n, timeout_ms);
	while (!(w->kind == WIRE_WS ? ws_next(w, text, n) : wire_line(w, text, n))) {
		if (timeout_ms >= 0 && poll(&pfd, 1, timeout_ms) <= 0)
			return false;
		r = read(w->rfd, wire_room(w, READ_SIZE), READ_SIZE);
		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			return false;
		w->len += (size_t)r;
	}
	return true;
}
