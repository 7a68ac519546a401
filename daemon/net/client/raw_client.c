/*
 * raw_client.c - byte streams to one host, plain or by TLS, on the loop, for acpd ui.
 *
 * The addresses of a name are tried in order, RAW_CONNECT_MS each; the last error is reported.
 * getaddrinfo blocks the loop. Callbacks can drop the stream, so a deferred task frees it, and
 * another reports its end. Each turn of the loop reads one chunk. TLS can hold bytes that epoll
 * does not report, so tls_conn_has_more requests another turn.
 */
#include "net/client/raw_client.h"

#include "base/util.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/limits.h"
#include "loop/dial.h"
#include "net/client/tls_client.h"
#include "net/tcp_listen.h"

#include <netdb.h>
#include <sys/epoll.h>
#include <sys/socket.h>

struct raw_client {
	struct loop *loop;
	const char *host;
	char port[8];
	struct tls_client *tls; /* NULL: in the clear */
};

enum raw_state { RAW_DIALING, RAW_HANDSHAKE, RAW_OPEN, RAW_ENDED };

struct raw_stream {
	struct raw_client *client;
	struct loop *loop;
	const struct raw_stream_events *ev; /* NULL: dropped */
	void *ctx;
	enum raw_state state;
	bool opened, paused;
	struct sockaddr_storage *to;
	size_t nto;
	struct dial dial;
	struct loop_io io;
	struct loop_timer timer; /* of TLS that is not set up */
	struct loop_task later;	 /* a report, more to read, or its end */
	struct tls_conn *tls;
	struct buf out;
	char why[160];
};

static void raw_turn(struct raw_stream *s);

/* --- its end --------------------------------------------------------------------------------------------------- */

static void raw_stream_free(void *ctx)
{
	struct raw_stream *s = ctx;

	buf_done(&s->out);
	free(s);
}

static void close_socket(struct raw_stream *s)
{
	loop_timer_cancel(&s->timer);
	if (s->io.fd < 0)
		return;
	loop_io_set(s->loop, &s->io, 0);
	/* Before its descriptor is closed: TLS still refers to it. */
	s->tls = tls_conn_free(s->tls);
	closep(&s->io.fd);
}

static void raw_report_end(void *ctx)
{
	struct raw_stream *s = ctx;

	s->ev->on_closed(s->ctx, s->opened, s->why);
}

/* Told behind all other events of the turn. why NULL: it stands in s->why. */
static void stream_end(struct raw_stream *s, const char *why)
{
	if (s->state == RAW_ENDED)
		return;
	s->state = RAW_ENDED;
	if (why)
		snprintf(s->why, sizeof(s->why), "%s", why);
	err_flatten(s->why);
	close_socket(s);
	dial_stop(&s->dial);
	free(TAKE_PTR(s->to));
	loop_task_cancel(&s->later);
	if (s->ev)
		loop_defer(s->loop, &s->later, raw_report_end, s);
}

void raw_stream_drop(struct raw_stream *s)
{
	if (!s)
		return;
	/* First: stream_end must not schedule a report to an owner that has dropped the stream. */
	s->ev = NULL;
	stream_end(s, "");
	loop_task_cancel(&s->later);
	loop_defer(s->loop, &s->later, raw_stream_free, s);
}

/* --- its bytes ------------------------------------------------------------------------------------------------- */

static ssize_t raw_receive(struct raw_stream *s, char *p, size_t n)
{
	ssize_t r;

	if (s->tls)
		return tls_conn_read(s->tls, p, n);
	r = recv(s->io.fd, p, n, 0);
	return r < 0 ? -errno : r;
}

static ssize_t raw_send(struct raw_stream *s)
{
	struct slice all = buf_slice(&s->out);
	ssize_t r;

	if (s->tls)
		return tls_conn_write(s->tls, all.p, all.n);
	r = send(s->io.fd, all.p, all.n, MSG_NOSIGNAL);
	return r < 0 ? -errno : r;
}

static const char *why_broken(const struct raw_stream *s, ssize_t r)
{
	return s->tls ? tls_conn_why(s->tls) : strerror((int)-r);
}

static void read_again(void *ctx)
{
	raw_turn(ctx);
}

/* One piece a turn, so that nobody waits for a fast stream. TLS may have more at hand than its socket tells of. */
static void raw_read_piece(struct raw_stream *s)
{
	char piece[RAW_PIECE];
	ssize_t n = raw_receive(s, piece, sizeof(piece));

	if (n == -EAGAIN || n == -EINTR)
		return;
	if (n <= 0) {
		stream_end(s, n ? why_broken(s, n) : "the connection was closed");
		return;
	}
	s->ev->on_bytes(s->ctx, (struct slice){ piece, (size_t)n });
	if (s->state == RAW_OPEN && s->tls && tls_conn_has_more(s->tls) && !s->paused)
		loop_defer(s->loop, &s->later, read_again, s);
}

static void raw_write_all(struct raw_stream *s)
{
	ssize_t n = 0;

	if (!buf_len(&s->out))
		return;
	while (buf_len(&s->out) && (n = raw_send(s)) > 0)
		buf_consume(&s->out, (size_t)n);
	if (n < 0 && n != -EAGAIN && n != -EINTR) {
		stream_end(s, why_broken(s, n));
		return;
	}
	buf_trim(&s->out, IO_KEEP_BYTES);
	if (!buf_len(&s->out))
		s->ev->on_drained(s->ctx);
}

static uint32_t raw_events(const struct raw_stream *s)
{
	uint32_t room = buf_len(&s->out) ? EPOLLOUT : 0;

	if (s->tls && tls_conn_wants_room(s->tls))
		room = EPOLLOUT;
	return s->state == RAW_HANDSHAKE && room ? room : room | (s->paused ? 0 : EPOLLIN);
}

static void raw_watch(struct raw_stream *s)
{
	if (s->state == RAW_HANDSHAKE || s->state == RAW_OPEN)
		loop_io_set(s->loop, &s->io, raw_events(s));
}

/* --- how it begins --------------------------------------------------------------------------------------------- */

static void opened(struct raw_stream *s)
{
	s->state = RAW_OPEN;
	s->opened = true;
	loop_timer_cancel(&s->timer);
	s->ev->on_open(s->ctx);
}

static void raw_handshake(struct raw_stream *s)
{
	int r = tls_conn_handshake(s->tls);

	if (r == 1)
		opened(s);
	else if (r != -EAGAIN)
		stream_end(s, tls_conn_why(s->tls));
}

static void raw_turn(struct raw_stream *s)
{
	if (s->state == RAW_HANDSHAKE)
		raw_handshake(s);
	if (s->state == RAW_OPEN)
		raw_write_all(s);
	if (s->state == RAW_OPEN && !s->paused)
		raw_read_piece(s);
	raw_watch(s);
}

static void on_raw_io(void *ctx, uint32_t events _unused_)
{
	raw_turn(ctx);
}

static void on_raw_late(void *ctx)
{
	stream_end(ctx, "TLS was not set up in time");
}

/* What the connection has left of its time is for TLS. */
static void begin_tls(struct raw_stream *s)
{
	uint64_t now = clock_mono_ms(), end = s->dial.tried_ms + RAW_CONNECT_MS;

	s->state = RAW_HANDSHAKE;
	loop_timer_set(s->loop, &s->timer, end > now ? end - now : 1, on_raw_late, s);
	s->tls = tls_conn_new(s->client->tls, s->io.fd, s->client->host);
	if (s->tls)
		raw_handshake(s);
	else
		stream_end(s, "TLS cannot be set up for this host");
}

/* The last failure is the one that is told. */
static void on_raw_dialed(void *ctx, int fd, int error)
{
	struct raw_stream *s = ctx;

	if (fd < 0) {
		if (error == ETIMEDOUT)
			snprintf(s->why, sizeof(s->why), "no connection within %d s",
				 RAW_CONNECT_MS / 1000);
		stream_end(s, error == ETIMEDOUT ? NULL : strerror(error));
		return;
	}
	s->io.fd = fd;
	if (s->client->tls)
		begin_tls(s);
	else
		opened(s);
	raw_turn(s);
}

static int raw_open_socket(void *ctx _unused_, int family)
{
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd >= 0)
		listen_tune(fd);
	return fd;
}

static int raw_look_up(struct raw_stream *s)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV }, *all;
	int r = getaddrinfo(s->client->host, s->client->port, &hints, &all);

	if (r)
		return r;
	for (const struct addrinfo *a = all; a; a = a->ai_next)
		memcpy(GROW(s->to, s->nto), a->ai_addr, a->ai_addrlen);
	freeaddrinfo(all);
	return 0;
}

struct raw_stream *raw_client_dial(struct raw_client *c, const struct raw_stream_events *ev,
				   void *ctx)
{
	static const struct dial_terms terms = { .each_ms = RAW_CONNECT_MS,
						 .open = raw_open_socket };
	struct raw_stream *s = new0(struct raw_stream);
	int r;

	*s = (struct raw_stream){ .client = c, .loop = c->loop, .ev = ev, .ctx = ctx };
	s->io = (struct loop_io){ .fd = -1, .fn = on_raw_io, .ctx = s };
	r = raw_look_up(s);
	if (r)
		stream_end(s, gai_strerror(r));
	else
		dial_start(&s->dial, c->loop, s->to, s->nto, &terms, on_raw_dialed, s);
	return s;
}

struct raw_stream *raw_stream_adopt(struct loop *loop, int fd, const struct raw_stream_events *ev,
				    void *ctx)
{
	struct raw_stream *s = new0(struct raw_stream);

	*s = (struct raw_stream){
		.loop = loop, .ev = ev, .ctx = ctx, .state = RAW_OPEN, .opened = true
	};
	s->io = (struct loop_io){ .fd = fd, .fn = on_raw_io, .ctx = s };
	raw_watch(s);
	return s;
}

void raw_stream_shut(struct raw_stream *s)
{
	shutdown(s->io.fd, SHUT_WR);
}

void raw_stream_send(struct raw_stream *s, struct slice bytes)
{
	if (s->state == RAW_ENDED)
		return;
	buf_add_slice(&s->out, bytes);
	raw_watch(s);
}

size_t raw_stream_pending(const struct raw_stream *s)
{
	return buf_len(&s->out);
}

void raw_stream_pause(struct raw_stream *s, bool pause)
{
	s->paused = pause;
	/* The socket raises no event for bytes that TLS has already received. */
	if (s->state == RAW_OPEN && !pause && s->tls && tls_conn_has_more(s->tls))
		loop_defer(s->loop, &s->later, read_again, s);
	raw_watch(s);
}

/* --- the client ------------------------------------------------------------------------------------------------ */

struct raw_client *raw_client_new(struct loop *loop, const char *host, int port, bool tls,
				  const char *ca_file, struct err *e)
{
	struct raw_client *c = new0(struct raw_client);

	c->loop = loop;
	c->host = host;
	snprintf(c->port, sizeof(c->port), "%d", port);
	if (!tls)
		return c;
	c->tls = tls_client_new(ca_file, e);
	return c->tls ? c : raw_client_free(c);
}

struct raw_client *raw_client_free(struct raw_client *c)
{
	if (c)
		tls_client_free(c->tls);
	free(c);
	return NULL;
}
