/*
 * proxy_pass.c - what passes between a client and its server: tunnels, requests and answers.
 *
 * In a tunnel nothing goes to the server before a ClientHello has named the host that the rules allowed, unless a rule writes
 * that port and so permits other protocols. Of a plain request the body ends where its head says, and what follows it is
 * dropped: it was not judged. A refusal inside a tunnel is a TLS alert, where the client speaks TLS:
 * it would not read an answer of HTTP.
 */
#include "base/util.h"
#include "proxy/proxy.h"

#include <netinet/tcp.h>

#define QUIET_CHECKS 2 /* in EGRESS_IDLE_MS */

static int proxy_pass_fail(struct proxy_conn *c, enum egress_reason why)
{
	c->why = why;
	return -EACCES;
}

/* --- idle ----------------------------------------------------------------------------------------------------- */

static void on_proxy_pass_time(void *ctx);

static void watch_idle(struct proxy_conn *c)
{
	loop_timer_set(c->door->world->loop, &c->timer, EGRESS_IDLE_MS / QUIET_CHECKS,
		       on_proxy_pass_time, c);
}

static void on_proxy_pass_time(void *ctx)
{
	struct proxy_conn *c = ctx;
	uint64_t seen = c->relay.up.read + c->relay.down.read + c->relay.down.sent;

	c->quiet = seen == c->seen ? c->quiet + 1 : 0;
	c->seen = seen;
	if (c->quiet > QUIET_CHECKS)
		proxy_conn_end(c);
	else
		watch_idle(c);
}

static void on_no_hello(void *ctx)
{
	proxy_conn_end(ctx);
}

/* --- tunnels -------------------------------------------------------------------------------------------------- */

/* All that was held back goes on, and the rest passes without being looked at. */
static int let_through(struct proxy_conn *c, struct buf *to)
{
	int r = buf_add_slice(to, buf_slice(&c->in));

	buf_done(&c->in);
	c->relay.up.pass = NULL;
	c->relay.down.paused = false;
	watch_idle(c);
	return r;
}

/* TLS has to name the host of the tunnel. To an address it need not: clients name none there. */
static enum egress_reason proxy_pass_check_name(const struct proxy_conn *c)
{
	const struct egress_host *host = &c->request.host;
	struct egress_host named;

	if (!c->hello.named)
		return host->address ? EGRESS_FINE : EGRESS_SNI_MISSING;
	if (egress_host_parse(slice_of(c->hello.name), &named) ||
	    strcmp(named.text, host->text) != 0)
		return EGRESS_SNI_MISMATCH;
	return EGRESS_FINE;
}

static int pass_hello(void *ctx, struct slice in, struct buf *to)
{
	struct proxy_conn *c = container_of(ctx, struct proxy_conn, relay);
	enum egress_reason why;

	if (!in.p)
		return c->plain ? let_through(c, to) : -EPIPE;
	if (buf_add_slice(&c->in, in) < 0)
		return -ENOMEM;
	switch (tls_hello_feed(&c->hello, in)) {
	case TLS_HELLO_MORE:
		return 0;
	case TLS_HELLO_WHOLE:
		why = proxy_pass_check_name(c);
		return why ? proxy_pass_fail(c, why) : let_through(c, to);
	case TLS_HELLO_NOT_TLS:
		c->clear = true;
		return c->plain ? let_through(c, to) : proxy_pass_fail(c, EGRESS_NOT_TLS);
	case TLS_HELLO_BROKEN:
		break;
	}
	return proxy_pass_fail(c, EGRESS_HELLO_INVALID);
}

static int open_tunnel(struct proxy_conn *c, struct slice early)
{
	static const char ok[] = "HTTP/1.1 200 Connection established\r\n\r\n";
	_cleanup_(buf_done) struct buf first = { 0 };
	int r = buf_add_slice(&first, early);

	c->relay.up.pass = pass_hello;
	/* where the server may have to speak first it is not kept waiting */
	c->relay.down.paused = !c->plain;
	if (r == 0)
		r = relay_put(&c->relay.down, (struct slice){ ok, strlen(ok) });
	buf_done(&c->in);
	if (c->plain)
		watch_idle(c);
	else
		loop_timer_set(c->door->world->loop, &c->timer, EGRESS_HEAD_MS, on_no_hello, c);
	return r < 0 || !first.len ? r : relay_feed(&c->relay.up, buf_slice(&first));
}

/* --- requests ------------------------------------------------------------------------------------------------- */

/* What comes behind the request is dropped: the answer says that the connection ends with it. */
static int proxy_pass_request_body(void *ctx, struct slice in, struct buf *to)
{
	struct proxy_conn *c = container_of(ctx, struct proxy_conn, relay);
	struct slice part;
	int r = http_body_part(&c->body, in, &part);

	return r < 0 ? r : buf_add_slice(to, part);
}

static int pass_answer(void *ctx, struct slice in, struct buf *to)
{
	struct proxy_conn *c = container_of(ctx, struct proxy_conn, relay);

	if (!in.p)
		return c->answer.over ? 0 : proxy_pass_fail(c, EGRESS_ANSWER_INVALID);
	if (answer_pass_feed(&c->answer, in, to) < 0)
		return proxy_pass_fail(c, EGRESS_ANSWER_INVALID);
	if (!c->answer.over)
		return 0;
	c->relay.down.eof = c->answer.whole;
	if (answer_pass_is_open(&c->answer))
		c->relay.down.pass = NULL;
	c->relay.up.paused = false;
	if (c->answer.switched)
		c->relay.up.pass = NULL;
	return 0;
}

static int proxy_pass_open_request(struct proxy_conn *c, struct slice early)
{
	_cleanup_(buf_done) struct buf first = { 0 }, head = { 0 };
	int r = buf_add_slice(&first, early);

	/* what came too early for another protocol is dropped, and so the other protocol is not asked for */
	c->request.upgrade = c->request.upgrade && !early.n;
	c->answer.to_head = slice_is(c->request.method, "HEAD");
	c->answer.may_switch = c->relay.up.paused = c->request.upgrade;
	http_body_begin_request(&c->body, &c->request.body);
	c->relay.up.pass = proxy_pass_request_body;
	c->relay.down.pass = pass_answer;
	proxy_request_put(&c->request, &head);
	if (r == 0)
		r = head.failed ? -ENOMEM : relay_put(&c->relay.up, buf_slice(&head));
	buf_done(&c->in);
	watch_idle(c);
	return r < 0 || !first.len ? r : relay_feed(&c->relay.up, buf_slice(&first));
}

/* --- both ----------------------------------------------------------------------------------------------------- */

/* The alert access_denied (RFC 8446, 6.2), fatal. */
static void send_tls_alert(int fd)
{
	static const unsigned char record[] = { 21, 3, 3, 0, 2, 2, 49 };

	send(fd, record, sizeof(record), MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void on_proxy_pass_over(void *ctx, int r _unused_)
{
	struct proxy_conn *c = container_of(ctx, struct proxy_conn, relay);

	if (c->why && egress_reasons[c->why].status) {
		proxy_conn_count(c);
		c->use = NULL;
		c->io.fd = relay_take_client(&c->relay);
		proxy_conn_refuse(c, c->why);
		return;
	}
	if (c->why) {
		proxy_door_blocked(c->door, c->request.host.text, c->request.port, c->why);
		if (c->why != EGRESS_NOT_TLS)
			send_tls_alert(c->relay.client.fd);
	}
	proxy_conn_end(c);
}

static void set_options(int fd)
{
	int on = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
}

void proxy_pass_open(struct proxy_conn *c, int server)
{
	struct slice in = buf_slice(&c->in);
	struct slice early = { in.p + c->head, in.n - c->head };
	int r;

	set_options(c->io.fd);
	set_options(server);
	c->state = CONN_OPEN;
	relay_init(&c->relay, c->door->world->loop, TAKE_FD(c->io.fd), server, on_proxy_pass_over,
		   &c->relay);
	c->use = proxy_door_use(c->door, c->request.host.text);
	r = c->request.tunnel ? open_tunnel(c, early) : proxy_pass_open_request(c, early);
	if (r < 0)
		on_proxy_pass_over(&c->relay, r);
	else
		relay_run(&c->relay);
}
