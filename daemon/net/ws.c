/*
 * ws.c - one WebSocket: messages in, batches of frames out, closing.
 *
 * Out: frames of many messages are laid out in one buffer (server frames are unmasked, so the header is 2, 4 or 10
 * bytes) and passed to lws in one raw write; it keeps their order with pongs and the close frame. One write per
 * WRITEABLE callback, never outside it: lws queues what the socket refuses, without bound.
 */
#include "net/ws.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#define WIPED_WHOLE                                                                                \
	(64 * KIB) /* a frame does not move in memory up to there: keys in it leave no copy */
#define CLOSE_GRACE_SECS 30 /* a reader that stalls may still come back and see why it was closed */

static int ws_write(struct peer *p, bool whole);

static void ask_writeable(struct peer *p)
{
	if (p->asked)
		return;
	p->asked = true;
	list_add_tail(&p->net->dirty, &p->dirty);
}

/* Called after every turn of the loop. Writes at once what fits, which saves a pass. If lws still holds
 * an earlier batch, the connection is ending, or the next frame is larger than a batch, the WRITEABLE callback does it: so
 * the turn that made a large frame does not write it, too. */
void ws_flush_dirty(struct net_server *n)
{
	list_drain(p, &n->dirty, struct peer, dirty) {
		list_del(&p->dirty);
		if (p->close_code || p->choked)
			socket_ask_writeable(p->wsi);
		else if (ws_write(p, false) < 0)
			socket_set_timeout(p->wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_ASYNC);
	}
}

static void on_ws_dirty(void *ctx)
{
	ask_writeable(ctx);
}

static void on_ws_close(void *ctx, int code, const char *reason)
{
	struct peer *p = ctx;

	/* A later reason does not replace the first. */
	if (p->close_code)
		return;
	p->close_code = code;
	p->close_reason = reason;
	log_info("net", "closing a connection", "connection", visitor_of(p->wsi)->id, "reason",
		 reason);
	socket_set_timeout(p->wsi, PENDING_TIMEOUT_USER_OK, CLOSE_GRACE_SECS);
	ask_writeable(p);
}

static void on_silence(void *ctx);

static void wait_for_word(struct peer *p, uint64_t ms)
{
	loop_timer_set(p->net->loop, &p->silence, ms, on_silence, p);
}

/* Bytes that its kernel has taken. */
static uint64_t ws_bytes_acked(const struct peer *p)
{
	struct tcp_info info = { 0 };
	socklen_t n = sizeof(info);

	getsockopt(lws_get_socket_fd(p->wsi), IPPROTO_TCP, TCP_INFO, &info, &n);
	return info.tcpi_bytes_acked;
}

/* Its ping waits behind a large message, of which it has taken a part since it was asked last. */
static bool still_reads(struct peer *p)
{
	uint64_t before = p->taken;

	p->taken = ws_bytes_acked(p);
	return p->ping_due && p->taken != before;
}

/* It is asked once, and then has the time-out. */
static void on_silence(void *ctx)
{
	struct peer *p = ctx;
	uint64_t silent = clock_mono_ms() - p->heard;

	if (p->pinged && still_reads(p)) {
		wait_for_word(p, p->net->pong_ms);
		return;
	}
	if (p->pinged) {
		if (!p->close_reason)
			p->close_reason = "silent";
		socket_set_timeout(p->wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_ASYNC);
		return;
	}
	if (silent < p->net->ping_ms) {
		wait_for_word(p, p->net->ping_ms - silent);
		return;
	}
	p->pinged = p->ping_due = true;
	p->taken = ws_bytes_acked(p);
	ask_writeable(p);
	wait_for_word(p, p->net->pong_ms);
}

void ws_heard(struct peer *p)
{
	p->heard = clock_mono_ms();
	if (p->pinged)
		wait_for_word(p, p->net->ping_ms);
	p->pinged = false;
}

int ws_established(struct net_server *n, struct peer *p, struct lws *wsi)
{
	struct acp_transport t = { on_ws_dirty, on_ws_close, p, visitor_of(wsi)->id,
				   visitor_grant(wsi) };
	char harness[80];
	struct slice id = query_get(wsi, "harness=", harness, sizeof(harness));

	p->wsi = wsi;
	p->net = n;
	list_init(&p->dirty);
	p->in = (struct buf){ .max = MESSAGE_MAX };
	visitor_busy(n, wsi, true);
	ws_heard(p);
	wait_for_word(p, n->ping_ms);
	p->conn = acp_conn_new(n->acp, &t, id.n ? id.p : NULL);
	visitor_accepted(n, wsi, DOOR_WEBSOCKET);
	socket_watch_rest(&visitor_of(wsi)->watch, true);
	return 0;
}

void ws_closed(struct peer *p)
{
	if (!p->conn)
		return;
	list_del(&p->dirty);
	loop_timer_cancel(&p->silence);
	p->conn = acp_conn_free(p->conn);
	log_info("net", "connection closed", "connection", visitor_of(p->wsi)->id, "reason",
		 p->close_reason ? p->close_reason : "by the client");
	visitor_busy(p->net, p->wsi, false);
	buf_done(&p->in);
}

/* --- in ------------------------------------------------------------------------------------------------ */

static int ws_refuse(struct peer *p, enum lws_close_status code, const char *reason)
{
	p->close_reason = reason;
	lws_close_reason(p->wsi, code, (unsigned char *)reason, strlen(reason));
	return -1;
}

int ws_receive(struct peer *p, char *data, size_t n)
{
	size_t rest;
	bool last = lws_is_final_fragment(p->wsi) && !lws_remaining_packet_payload(p->wsi);

	ws_heard(p);
	if (p->close_code)
		return 0; /* we are closing: nothing new is begun */
	if (p->skip || (lws_frame_is_binary(p->wsi) && !buf_len(&p->in))) {
		p->skip = !last; /* binary messages are ignored, by the transport's rules */
		return 0;
	}
	if (last && !buf_len(&p->in) && n <= MESSAGE_MAX) {
		acp_conn_feed(p->conn, data, n);
		return 0;
	}
	rest = lws_remaining_packet_payload(p->wsi);
	if (n + buf_len(&p->in) + rest > MESSAGE_MAX ||
	    buf_reserve(&p->in, n + MIN(rest, WIPED_WHOLE)) < 0 || buf_add(&p->in, data, n) < 0)
		return ws_refuse(p, LWS_CLOSE_STATUS_MESSAGE_TOO_LARGE, "Message too large");
	explicit_bzero(data, n); /* whose keys are in it is not known yet */
	if (last) {
		acp_conn_feed(p->conn, p->in.data + p->in.pos, buf_len(&p->in));
		buf_reset(&p->in);
		buf_trim(&p->in, 64 * KIB);
	}
	return 0;
}

/* --- out ----------------------------------------------------------------------------------------------- */

struct batch {
	struct peer *peer;
	unsigned char *at; /* after LWS_PRE */
	size_t n, cap;
	bool whole;  /* a frame larger than the buffer may be written, alone in its batch */
	bool giant;  /* such a frame has been written */
	bool failed; /* or could not be */
};

/* lws tells of a pong only if there is something in it. */
static void put_ping(struct peer *p, struct batch *b)
{
	static const unsigned char ping[] = { 0x89, 1, '.' };

	if (!p->ping_due || p->close_code)
		return;
	p->ping_due = false;
	wait_for_word(p, p->net->pong_ms);
	memcpy(b->at, ping, sizeof(ping));
	b->n = sizeof(ping);
}

/* Lengths are in network byte order, in the shortest of three forms (RFC 6455, section 5.2). */
static size_t ws_put_header(unsigned char *p, size_t n)
{
	p[0] = 0x81; /* FIN, text */
	if (n < 126) {
		p[1] = (unsigned char)n;
		return 2;
	}
	if (n < 65536) {
		p[1] = 126;
		p[2] = (unsigned char)(n >> 8);
		p[3] = (unsigned char)n;
		return 4;
	}
	p[1] = 127;
	for (int i = 0; i < 8; i++)
		p[2 + i] = (unsigned char)((uint64_t)n >> (56 - 8 * i));
	return 10;
}

/* Written from where the frame is: lws copies what the socket does not take. */
static bool write_giant(struct batch *b, struct slice text)
{
	struct lws *wsi = b->peer->wsi;

	if (b->n || !b->whole)
		return false;
	b->giant = true;
	b->failed = lws_write(wsi, b->at, ws_put_header(b->at, text.n), LWS_WRITE_RAW) < 0 ||
		    lws_write(wsi, (unsigned char *)text.p, text.n, LWS_WRITE_RAW) < 0;
	return true;
}

static bool batch_add(void *ctx, struct slice text)
{
	struct batch *b = ctx;

	if (b->giant)
		return false;
	/* 10 bytes: the longest header. */
	if (b->n + text.n + 10 > b->cap)
		return write_giant(b, text);
	b->n += ws_put_header(b->at + b->n, text.n);
	memcpy(b->at + b->n, text.p, text.n);
	b->n += text.n;
	return true;
}

static int batch_write(struct peer *p, struct batch *b)
{
	if (b->n && lws_write(p->wsi, b->at, b->n, LWS_WRITE_RAW) < 0)
		b->failed = true;
	return b->failed ? -1 : 0;
}

/* One batch. whole: a frame larger than a batch is written, too, and not put off. -1: the connection is to be closed now. */
static int ws_write(struct peer *p, bool whole)
{
	struct batch b = {
		.peer = p, .at = p->net->batch + LWS_PRE, .cap = CONN_BATCH_BYTES, .whole = whole
	};
	bool more = false;

	p->asked = false;
	put_ping(p, &b);
	if (p->close_code != 1008 &&
	    p->close_code != 1011) /* those end at once, with what is queued */
		more = acp_conn_pump(p->conn, batch_add, &b);
	if (batch_write(p, &b) < 0)
		return -1;
	/* lws refuses another write until its own callback has run */
	p->choked = lws_partial_buffered(p->wsi);
	more |= p->choked;
	if (more || (p->close_code && (b.n || b.giant))) {
		p->asked = true;
		socket_ask_writeable(p->wsi);
		socket_watch_rest(&visitor_of(p->wsi)->watch, false);
		return 0;
	}
	socket_watch_rest(&visitor_of(p->wsi)->watch, !p->close_code);
	return p->close_code ? ws_refuse(p, (enum lws_close_status)p->close_code, p->close_reason) :
			       0;
}

int ws_writeable(struct peer *p)
{
	list_del(&p->dirty);
	p->choked = false;
	return ws_write(p, true);
}
