/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire.h - one connection of the load client, whatever carries it: a WebSocket (RFC 6455 by hand, no library), the
 * two pipes of a child process (the bare reference), or HTTP POST with Server-Sent Events (a peer). All of them move
 * whole JSON messages. Everything blocks; an alarm of the caller bounds it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

enum wire_kind { WIRE_WS, WIRE_PIPE, WIRE_SSE };

struct sse; /* sse.c: what only that transport needs */

struct wire {
	enum wire_kind kind;
	int rfd, wfd;
	pid_t child; /* pipe: who is at the other end */
	char *buf;   /* received, at..len not yet taken */
	size_t at, len, cap;
	int close_code; /* WebSocket: as the server gave it */
	struct sse *sse;
};

/* The path carries its query; token NULL: no Authorization header. Each returns a ready wire or ends the program. */
struct wire *wire_ws(int port, const char *path, const char *token);
struct wire *wire_pipe(char **argv);
struct wire *wire_sse(int port, const char *server, const char *agent);
struct wire *wire_free(struct wire *w);

void wire_send(struct wire *w, const char *text, size_t n);
/* The next message, valid until the next call. False: closed, or nothing came for timeout_ms (-1: wait). */
bool wire_recv(struct wire *w, char **text, size_t *n, int timeout_ms);

/* --- between wire.c and sse.c ---------------------------------------------------------------------------- */
struct wire *wire_new(enum wire_kind kind, int rfd, int wfd);
/* At least n free bytes behind len. */
char *wire_room(struct wire *w, size_t n);
bool wire_line(struct wire *w, char **text, size_t *n);
void send_all(int fd, const struct iovec *iov, int n);
void send_text(int fd, const char *text);
/* Status of the answer; the first *extra bytes of its body are at *body, inside head. */
int read_headers(int fd, char head[4096], char **body, size_t *extra);
void sse_send(struct wire *w, const char *text, size_t n);
bool sse_recv(struct wire *w, char **text, size_t *n, int timeout_ms);
void sse_free(struct sse *s);

/* --- for all programs here --------------------------------------------------------------------------------- */
int tcp_connect(int port); /* -errno when refused */
void *need(void *p);	   /* p, or the end for lack of memory */
__attribute__((noreturn, format(printf, 1, 2))) void die(const char *fmt, ...);
