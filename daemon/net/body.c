/*
 * body.c - bodies of requests, into the sink of the endpoint that reads them.
 *
 * With Content-Length, lws reads and counts, and the connection stays open. lws passes chunked coding on undecoded, and
 * stops after 100 MB of it. So our own loop reads after the bytes that came with the head, and the connection ends with
 * the answer.
 *
 * An answer before the end of the body would not arrive if we closed with bytes unread, because the kernel then resets
 * the connection. So the rest is read and dropped until the client has seen our end, or for BODY_LINGER_MS.
 */
#include "net/ws.h"

#include "base/http/http_message.h"
#include "base/limits.h"

#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>

enum http_framing body_framing(struct lws *wsi, uint64_t *length)
{
	bool has_length = lws_hdr_total_length(wsi, WSI_TOKEN_HTTP_CONTENT_LENGTH) > 0;
	bool has_coding = lws_hdr_total_length(wsi, WSI_TOKEN_HTTP_TRANSFER_ENCODING) > 0;
	char text[32];
	struct slice v;

	*length = 0;
	/* Both in one request are refused: two parsers may disagree where the body ends (RFC 9112, section
	 * 6.3). */
	if (has_coding) {
		v = header_get(wsi, WSI_TOKEN_HTTP_TRANSFER_ENCODING, text, sizeof(text));
		return !has_length && http_coding_is_chunked(v) ? FRAMING_CHUNKED : FRAMING_INVALID;
	}
	if (!has_length)
		return FRAMING_NONE;
	v = header_get(wsi, WSI_TOKEN_HTTP_CONTENT_LENGTH, text, sizeof(text));
	return http_length_parse(v, length) ? FRAMING_LENGTH : FRAMING_INVALID;
}

/* --- reading what is not for us --------------------------------------------------------------------------- */

static void input_off(struct peer *p)
{
	if (p->input.fn)
		loop_io_set(p->net->loop, &p->input, 0);
	p->input.fn = NULL;
}

static void kill_connection(struct peer *p)
{
	input_off(p);
	loop_timer_cancel(&p->stall);
	socket_set_timeout(p->wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_ASYNC);
}

static void on_kill(void *ctx)
{
	kill_connection(ctx);
}

/* Between request and answer lws polls for input but does not read it: a client that closes, or just sends something,
 * would make lws spin, and its end would not be noticed. So our own set reads while an answer is awaited or a long one
 * is sent. That input is dropped, and the connection ends with the answer. */
static void on_unread_input(void *ctx, uint32_t events _unused_)
{
	struct peer *p = ctx;
	ssize_t n = recv(p->input.fd, p->net->batch, BODY_READ_BYTES, MSG_DONTWAIT);

	p->no_keepalive = true;
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		kill_connection(p);
}

static void input_on(struct peer *p, void (*fn)(void *ctx, uint32_t events))
{
	if (!p->input.fn)
		p->input = (struct loop_io){ .fd = lws_get_socket_fd(p->wsi), .ctx = p };
	p->input.fn = fn;
	loop_io_set(p->net->loop, &p->input, EPOLLIN);
}

void body_watch_input(struct peer *p)
{
	input_on(p, on_unread_input);
}

int body_linger(struct peer *p)
{
	if (lws_partial_buffered(p->wsi))
		return -1; /* lws sends the rest before it closes */
	shutdown(lws_get_socket_fd(p->wsi), SHUT_WR);
	socket_read(p->wsi, 0);
	input_on(p, on_unread_input);
	loop_timer_set(p->net->loop, &p->stall, BODY_LINGER_MS, on_kill, p);
	return 0;
}

/* --- the body ---------------------------------------------------------------------------------------------- */

void body_end(struct peer *p)
{
	if (!p->net)
		return;
	input_off(p);
	loop_timer_cancel(&p->stall);
	p->answer_due = false;
	if (!p->sink)
		return;
	p->sink = http_sink_free(p->sink);
	visitor_busy(p->net, p->wsi, false);
}

/* The sink keeps what came, if it keeps anything. */
static void body_cut(struct peer *p)
{
	body_end(p);
	kill_connection(p);
}

static void on_stall(void *ctx)
{
	body_cut(ctx);
}

/* lws counts the seconds without a byte if it reads itself. */
static void set_stall(struct peer *p, bool on)
{
	if (!p->chunks_in)
		socket_set_timeout(p->wsi, on ? PENDING_TIMEOUT_HTTP_CONTENT : NO_PENDING_TIMEOUT,
				   on ? BODY_STALL_SECS : 0);
	else if (on)
		loop_timer_set(p->net->loop, &p->stall, BODY_STALL_SECS * 1000, on_stall, p);
	else
		loop_timer_cancel(&p->stall);
}

static void on_body_input(void *ctx, uint32_t events);

static void set_reading(struct peer *p, bool on)
{
	if (p->paused == !on)
		return;
	p->paused = !on;
	if (!p->chunks_in)
		socket_read(p->wsi, on);
	else if (on)
		input_on(p, on_body_input);
	else
		input_off(p);
	if (!p->body_over)
		set_stall(p, on);
}

/* lws handles no event of a connection from which it may not read. */
static void body_begin_answer(struct peer *p)
{
	p->answer_due = true;
	p->paused = false;
	input_off(p);
	loop_timer_cancel(&p->stall);
	socket_read(p->wsi, 1);
	socket_set_timeout(p->wsi, NO_PENDING_TIMEOUT, 0);
	http_ask_writeable(p);
}

static void body_follow(struct peer *p, enum http_take take)
{
	if (p->answer_due)
		return;
	if (take == HTTP_TAKE_ANSWER)
		body_begin_answer(p);
	else
		set_reading(p, take == HTTP_TAKE_MORE);
}

static void on_body_wake(void *ctx)
{
	struct peer *p = ctx;

	body_follow(p, p->sink->ops->check(p->sink));
}

static void end_of_body(struct peer *p)
{
	p->body_over = true;
	p->unread = false;
	set_stall(p, false);
	body_follow(p, p->sink->ops->end(p->sink));
	if (!p->answer_due)
		body_watch_input(p);
}

static int take_chunks(struct peer *p, struct slice in)
{
	struct slice data;
	int r;

	while (!p->answer_due && (r = chunked_next(&p->chunks, &in, &data)) != 0) {
		if (r < 0)
			return -1;
		body_follow(p, p->sink->ops->take(p->sink, data));
	}
	if (!p->answer_due && p->chunks.state == CHUNKED_END)
		end_of_body(p);
	return 0;
}

/* Its token ended in this turn of the loop, at the end of which it is cut. */
static bool body_is_over(const struct peer *p)
{
	const struct grant *g = visitor_grant(p->wsi);

	return g && grant_over(g);
}

static void on_body_input(void *ctx, uint32_t events _unused_)
{
	struct peer *p = ctx;
	char *buf = (char *)p->net->batch;
	ssize_t n = recv(p->input.fd, buf, BODY_READ_BYTES, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	socket_set_timeout(p->wsi, NO_PENDING_TIMEOUT, 0); /* set by lws for the bytes it read */
	set_stall(p, true);
	if (n <= 0 || body_is_over(p) || take_chunks(p, (struct slice){ buf, (size_t)n }) < 0)
		body_cut(p);
}

/* lws 4.1 keeps what follows a body for the next request; 4.3 passes it on as if it were part of the body, and then
 * never reports that the body is complete. It is dropped, so the connection ends with the answer. */
static void end_overrun(struct peer *p)
{
	if (p->sink && !p->body_over)
		end_of_body(p);
	p->no_keepalive = p->unread = true;
}

/* A piece may come after the answer is decided, or when the rest of the body is only dropped. */
int body_receive(struct peer *p, const char *data, size_t n)
{
	struct slice piece = { data, n };
	bool overrun = !p->chunks_in && n > p->left;

	if (body_is_over(p))
		return -1;
	if (overrun)
		piece.n = (size_t)p->left;
	p->left -= p->chunks_in ? 0 : piece.n;
	if (p->sink && !p->answer_due && !p->body_over) {
		if (p->chunks_in)
			return take_chunks(p, piece);
		if (piece.n)
			body_follow(p, p->sink->ops->take(p->sink, piece));
	}
	if (overrun)
		end_overrun(p);
	return 0;
}

/* lws calls this again and again until the answer is sent. */
int body_complete(struct peer *p)
{
	if (!p->sink || p->chunks_in || p->body_over)
		return 0;
	if (body_is_over(p))
		return -1;
	p->no_keepalive = false;
	if (p->answer_due)
		p->unread = false;
	else
		end_of_body(p);
	p->body_over = true;
	return 0;
}

int body_answer(struct peer *p)
{
	struct http_reply r;

	p->answer_due = false;
	if (body_is_over(p))
		return -1;
	http_sink_answer(p->sink, &r);
	body_end(p);
	return http_send(p, &r, false);
}

static bool expects_continue(struct lws *wsi)
{
	char text[32];
	struct slice v = header_get(wsi, WSI_TOKEN_HTTP_EXPECT, text, sizeof(text));

	return v.n == 12 && strncasecmp(v.p, "100-continue", 12) == 0;
}

static int write_continue(struct lws *wsi)
{
	static const char text[] = "HTTP/1.1 100 Continue\r\n\r\n";
	unsigned char out[LWS_PRE + sizeof(text)];

	memcpy(out + LWS_PRE, text, sizeof(text));
	return lws_write(wsi, out + LWS_PRE, sizeof(text) - 1, LWS_WRITE_HTTP_HEADERS) < 0 ? -1 : 0;
}

int body_begin(struct peer *p, const struct http_request *rq, struct http_sink *sink)
{
	p->sink = sink;
	sink->wake = on_body_wake;
	sink->ctx = p;
	visitor_busy(p->net, p->wsi, true);
	p->chunks_in = rq->body == FRAMING_CHUNKED;
	p->left = rq->length;
	p->chunks = (struct chunked){ 0 };
	p->body_over = p->answer_due = p->paused = false;
	p->asked = false;
	if (rq->body == FRAMING_NONE || (rq->body == FRAMING_LENGTH && rq->length == 0)) {
		end_of_body(p);
		return 0;
	}
	if (expects_continue(p->wsi) && write_continue(p->wsi) < 0)
		return -1;
	if (p->chunks_in) {
		socket_read(p->wsi, 0); /* it still passes on what it has already read */
		input_on(p, on_body_input);
	}
	set_stall(p, true);
	return 0;
}
