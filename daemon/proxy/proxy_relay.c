/*
 * proxy_relay.c - forwards bytes between two sockets, one piece for each event.
 *
 * Only bytes that the receiver did not accept are stored. While a direction stores bytes it is not
 * read, which slows its sender and limits memory to one piece. The piece buffer is static and empty
 * between two calls. An end of input is forwarded by shutdown(2) after the stored bytes.
 */
#include "proxy/proxy.h"

#include "base/limits.h"
#include "base/util.h"

#include <sys/epoll.h>
#include <sys/socket.h>

/* A piece on its way; empty between two calls. */
static char piece[EGRESS_PIECE];

static void relay_end(struct proxy_relay *r, int how)
{
	if (r->ended)
		return;
	r->ended = true;
	r->over(r->ctx, how);
}

/* --- one way -------------------------------------------------------------------------------------------------- */

/* What the socket took, 0 included; or -errno. The last goes out with the end: who has read it sees that no more comes. */
static ssize_t send_now(struct relay_way *w, struct slice s)
{
	int more = w->eof ? MSG_MORE : 0;
	ssize_t n;

	n = RETRY(send(w->to->fd, s.p, s.n, MSG_NOSIGNAL | MSG_DONTWAIT | more));
	if (n < 0)
		return errno == EAGAIN ? 0 : -errno;
	w->sent += (uint64_t)n;
	return n;
}

static int relay_flush(struct relay_way *w)
{
	while (buf_len(&w->held)) {
		ssize_t n = send_now(w, buf_slice(&w->held));

		if (n < 0)
			return (int)n;
		if (!n)
			return 0;
		buf_consume(&w->held, (size_t)n);
	}
	buf_done(&w->held);
	if (w->eof && !w->shut) {
		w->shut = true;
		shutdown(w->to->fd, SHUT_WR);
	}
	return 0;
}

/* It is sent without being kept, if it can be. */
static int relay_send_or_hold(struct relay_way *w, struct slice s)
{
	ssize_t n = buf_len(&w->held) ? 0 : send_now(w, s);

	if (n < 0)
		return (int)n;
	return buf_add(&w->held, s.p + n, s.n - (size_t)n);
}

int relay_feed(struct relay_way *w, struct slice s)
{
	w->read += s.n;
	if (!w->pass)
		return relay_send_or_hold(w, s);
	return w->pass(w->relay->ctx, s, &w->held);
}

int relay_put(struct relay_way *w, struct slice s)
{
	return buf_add_slice(&w->held, s);
}

static bool may_read(const struct relay_way *w)
{
	return !w->eof && !w->paused && !buf_len(&w->held);
}

static int relay_read_piece(struct relay_way *w)
{
	ssize_t n = recv(w->from->fd, piece, sizeof(piece), MSG_DONTWAIT);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (n > 0)
		return relay_feed(w, (struct slice){ piece, (size_t)n });
	w->eof = true;
	return w->pass ? w->pass(w->relay->ctx, SLICE_NONE, &w->held) : 0;
}

/* --- both ----------------------------------------------------------------------------------------------------- */

static void relay_wait_for(struct proxy_relay *r, struct loop_io *io,
			   const struct relay_way *from_it, const struct relay_way *to_it)
{
	loop_io_set(r->loop, io,
		    (may_read(from_it) ? EPOLLIN : 0) | (buf_len(&to_it->held) ? EPOLLOUT : 0));
}

void relay_run(struct proxy_relay *r)
{
	int how = relay_flush(&r->up);

	if (how == 0)
		how = relay_flush(&r->down);
	if (how < 0 || (r->up.shut && r->down.shut)) {
		relay_end(r, how);
		return;
	}
	relay_wait_for(r, &r->client, &r->up, &r->down);
	relay_wait_for(r, &r->server, &r->down, &r->up);
}

static void on_relay_event(struct proxy_relay *r, struct relay_way *from_it, uint32_t events)
{
	int how = 0;

	if (r->ended)
		return;
	if ((events & ~(uint32_t)EPOLLOUT) && may_read(from_it))
		how = relay_read_piece(from_it);
	else if (events & EPOLLERR)
		how = -EPIPE;
	if (how < 0)
		relay_end(r, how);
	else
		relay_run(r);
}

static void on_relay_client(void *ctx, uint32_t events)
{
	struct proxy_relay *r = ctx;

	on_relay_event(r, &r->up, events);
}

static void on_server(void *ctx, uint32_t events)
{
	struct proxy_relay *r = ctx;

	on_relay_event(r, &r->down, events);
}

void relay_init(struct proxy_relay *r, struct loop *loop, int client, int server,
		void (*over)(void *ctx, int r), void *ctx)
{
	*r = (struct proxy_relay){ .loop = loop, .over = over, .ctx = ctx };
	r->client = (struct loop_io){ .fd = client, .fn = on_relay_client, .ctx = r };
	r->server = (struct loop_io){ .fd = server, .fn = on_server, .ctx = r };
	r->up = (struct relay_way){ .relay = r, .from = &r->client, .to = &r->server };
	r->down = (struct relay_way){ .relay = r, .from = &r->server, .to = &r->client };
}

void relay_close(struct proxy_relay *r)
{
	if (!r->loop)
		return;
	r->ended = true;
	loop_io_close(r->loop, &r->client);
	loop_io_close(r->loop, &r->server);
	buf_done(&r->up.held);
	buf_done(&r->down.held);
}

int relay_take_client(struct proxy_relay *r)
{
	int fd = r->client.fd;

	loop_io_set(r->loop, &r->client, 0);
	r->client.fd = -1;
	relay_close(r);
	return fd;
}
