/*
 * proxy_conn.c - a connection of a client, from its first byte until bytes pass (proxy_pass.c).
 *
 * The order is: head, user, rules, lookup, address check, connect. The rules judge the name.
 * proxy_conn_choose() then drops the addresses that may not be called, and only the others are dialed: a name
 * cannot lead to a private address unless --upstream-allow permits it. New rules judge every
 * connection again. The memory is freed from a deferred task, because its own callbacks end it.
 */
#include "proxy/proxy.h"

#include "base/os/buf_io.h"
#include "base/util.h"

#include <sys/epoll.h>

#define READ_MAX (16 * KIB)

/* --- its end -------------------------------------------------------------------------------------------------- */

static void proxy_conn_free_later(void *ctx)
{
	struct proxy_conn *c = ctx;

	name_lookup_free(c->lookup);
	free(c);
}

/* All but the client's socket. */
static void stop_work(struct proxy_conn *c)
{
	loop_timer_cancel(&c->timer);
	name_lookup_stop(c->lookup);
	dial_stop(&c->dial);
}

void proxy_conn_end(struct proxy_conn *c)
{
	if (c->state == CONN_ENDED)
		return;
	proxy_conn_count(c);
	c->state = CONN_ENDED;
	stop_work(c);
	loop_io_close(c->door->world->loop, &c->io);
	relay_close(&c->relay);
	tls_hello_done(&c->hello);
	answer_pass_done(&c->answer);
	buf_done(&c->in);
	list_del(&c->link);
	c->door->nconns--;
	c->door->world->nconns--;
	loop_defer(c->door->world->loop, &c->task, proxy_conn_free_later, c);
}

static void on_proxy_conn_end(void *ctx)
{
	proxy_conn_end(ctx);
}

void proxy_conn_count(struct proxy_conn *c)
{
	if (!c->use)
		return;
	c->use->up += c->relay.up.sent - c->counted_up;
	c->use->down += c->relay.down.read - c->counted_down;
	c->counted_up = c->relay.up.sent;
	c->counted_down = c->relay.down.read;
}

bool proxy_conn_is_silent(const struct proxy_conn *c)
{
	return c->state == CONN_HEAD || c->state == CONN_LINGER;
}

/* --- refusing ------------------------------------------------------------------------------------------------- */

static void proxy_conn_send_refusal(int fd, enum egress_reason why)
{
	char text[1024];
	const char *sentence = egress_reasons[why].text;
	int n = snprintf(text, sizeof(text),
			 "HTTP/1.1 %s\r\n"
			 "Content-Type: text/plain; charset=utf-8\r\n"
			 "Content-Length: %zu\r\n"
			 "Connection: close\r\n"
			 "acpd-reason: %s\r\n"
			 "\r\n"
			 "%s: %s\n",
			 egress_reasons[why].status,
			 strlen(egress_reasons[why].name) + strlen(sentence) + 3,
			 egress_reasons[why].name, egress_reasons[why].name, sentence);

	/* a client that has taken nothing so far has room for it */
	send(fd, text, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT);
	shutdown(fd, SHUT_WR);
}

void proxy_conn_turn_away(int fd)
{
	proxy_conn_send_refusal(fd, EGRESS_TOO_MANY_CONNECTIONS);
	close(fd);
}

static void on_proxy_conn_rest(void *ctx, uint32_t events _unused_)
{
	struct proxy_conn *c = ctx;
	char dropped[READ_MAX];
	ssize_t n = recv(c->io.fd, dropped, sizeof(dropped), MSG_DONTWAIT);

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		proxy_conn_end(c);
}

/* The host as the client wrote it, where it is none that we understand. */
static void tell_blocked(struct proxy_conn *c, enum egress_reason why)
{
	const struct proxy_request *r = &c->request;
	char host[EGRESS_HOST_SIZE];

	snprintf(host, sizeof(host), "%.*s", (int)MIN(r->written.n, sizeof(host) - 1),
		 r->written.n ? r->written.p : "");
	proxy_door_blocked(c->door, why == EGRESS_HOST_INVALID ? host : r->host.text, r->port, why);
}

void proxy_conn_refuse(struct proxy_conn *c, enum egress_reason why)
{
	if (egress_reasons[why].blocks)
		tell_blocked(c, why);
	stop_work(c);
	loop_io_set(c->door->world->loop, &c->io, 0);
	proxy_conn_send_refusal(c->io.fd, why);
	c->state = CONN_LINGER;
	c->io.fn = on_proxy_conn_rest;
	loop_io_set(c->door->world->loop, &c->io, EPOLLIN);
	loop_timer_set(c->door->world->loop, &c->timer, EGRESS_LINGER_MS, on_proxy_conn_end, c);
}

/* --- the way to its host -------------------------------------------------------------------------------------- */

static void on_proxy_conn_dialed(void *ctx, int fd, int error _unused_)
{
	struct proxy_conn *c = ctx;

	c->lookup = name_lookup_free(c->lookup);
	if (fd < 0)
		proxy_conn_refuse(c, c->dial.late ? EGRESS_CONNECT_TIMEOUT : EGRESS_CONNECT_FAILED);
	else
		proxy_pass_open(c, fd);
}

/* Only those that may be called are left. */
static enum egress_reason proxy_conn_choose(struct proxy_conn *c)
{
	unsigned n = 0;

	for (unsigned i = 0; i < c->found.n; i++)
		if (call_reach_permits(c->reach, (struct sockaddr *)&c->found.at[i]))
			c->found.at[n++] = c->found.at[i];
	c->found.n = n;
	for (unsigned i = 0; i < n; i++)
		address_set_port(&c->found.at[i], c->request.port);
	return n ? EGRESS_FINE : EGRESS_ADDRESS_NOT_ALLOWED;
}

static void connect_to_it(struct proxy_conn *c)
{
	/* An address that does not answer has less time if there is another. */
	static const struct dial_terms terms = { .each_ms = EGRESS_CONNECT_NEXT_MS,
						 .all_ms = EGRESS_CONNECT_MS };
	enum egress_reason why = proxy_conn_choose(c);

	if (why) {
		proxy_conn_refuse(c, why);
		return;
	}
	c->state = CONN_DIALING;
	dial_start(&c->dial, c->door->world->loop, c->found.at, c->found.n, &terms,
		   on_proxy_conn_dialed, c);
}

static void on_proxy_conn_found(void *ctx, const struct name_answer *a)
{
	struct proxy_conn *c = ctx;

	if (a->why) {
		proxy_conn_refuse(c, a->why);
		return;
	}
	c->found = *a;
	connect_to_it(c);
}

static void proxy_conn_look_up(struct proxy_conn *c)
{
	struct proxy_world *w = c->door->world;
	const struct egress_host *host = &c->request.host;
	struct slice text = { host->text, host->n };

	loop_timer_cancel(&c->timer);
	if (call_reach_of(text, c->request.port, false, false, w->settings.allow, &c->reach)) {
		proxy_conn_refuse(c, EGRESS_ADDRESS_NOT_ALLOWED);
		return;
	}
	if (host->address) {
		c->found.n = address_parse(text, &c->found.at[0]);
		connect_to_it(c);
		return;
	}
	c->state = CONN_LOOKUP;
	c->lookup =
		name_lookup_new(w->loop, host->text, w->settings.resolvers, on_proxy_conn_found, c);
}

/* --- the rules ------------------------------------------------------------------------------------------------ */

static void on_unanswered(void *ctx)
{
	proxy_conn_refuse(ctx, EGRESS_ASK_TIMEOUT);
}

static enum egress_reason proxy_conn_ask(struct proxy_conn *c)
{
	enum egress_reason no;

	if (!egress_rules_ask(c->door->rules))
		return EGRESS_HOST_NOT_ALLOWED;
	no = proxy_door_ask(c->door, c->request.host.text, c->request.port);
	if (!no && c->state != CONN_ASKING) {
		c->state = CONN_ASKING;
		loop_timer_set(c->door->world->loop, &c->timer, EGRESS_ASK_MS, on_unanswered, c);
	}
	return no;
}

/* What the rules say now. A connection that is under way is not asked for. */
static enum egress_answer proxy_conn_match(struct proxy_conn *c)
{
	return egress_rules_match(c->door->rules, c->request.host.text, c->request.port, &c->plain);
}

static void proxy_conn_decide(struct proxy_conn *c)
{
	enum egress_reason no = EGRESS_FINE;

	switch (proxy_conn_match(c)) {
	case EGRESS_ALLOWED:
		proxy_conn_look_up(c);
		return;
	case EGRESS_PORT_UNKNOWN:
		no = EGRESS_PORT_NOT_ALLOWED;
		break;
	case EGRESS_HOST_UNKNOWN:
		no = proxy_conn_ask(c);
		break;
	}
	if (no)
		proxy_conn_refuse(c, no);
}

void proxy_conn_judge(struct proxy_conn *c)
{
	enum egress_answer now;

	if (c->state == CONN_ASKING)
		proxy_conn_decide(c);
	if (c->state != CONN_LOOKUP && c->state != CONN_DIALING && c->state != CONN_OPEN)
		return;
	now = proxy_conn_match(c);
	if (now == EGRESS_ALLOWED && (c->plain || !c->clear))
		return;
	if (c->state == CONN_OPEN)
		proxy_conn_end(c);
	else
		proxy_conn_refuse(c, now == EGRESS_PORT_UNKNOWN ? EGRESS_PORT_NOT_ALLOWED :
								  EGRESS_HOST_NOT_ALLOWED);
}

void proxy_conn_denied(struct proxy_conn *c, const char *host, enum egress_reason why)
{
	if (c->state == CONN_ASKING && strcmp(c->request.host.text, host) == 0)
		proxy_conn_refuse(c, why);
}

/* --- its request ---------------------------------------------------------------------------------------------- */

static void proxy_conn_take_request(struct proxy_conn *c)
{
	enum egress_reason why;
	ssize_t n = proxy_request_parse(buf_slice(&c->in), &c->request, &why);

	if (n == 0)
		return;
	loop_io_set(c->door->world->loop, &c->io, 0);
	if (c->stranger)
		why = EGRESS_CALLER_NOT_ALLOWED;
	if (why) {
		proxy_conn_refuse(c, why);
		return;
	}
	c->head = (size_t)n;
	proxy_conn_decide(c);
}

static void on_proxy_conn_readable(void *ctx, uint32_t events _unused_)
{
	struct proxy_conn *c = ctx;
	size_t before = c->in.len;
	ssize_t n = buf_receive(&c->in, c->io.fd, 2 * KIB);

	if (n == -EAGAIN)
		return;
	if (n <= 0)
		proxy_conn_end(c);
	else if (proxy_head_may_end(buf_slice(&c->in), before, EGRESS_HEAD_MAX))
		proxy_conn_take_request(c);
}

void proxy_conn_new(struct proxy_door *d, int fd, bool stranger)
{
	struct proxy_conn *c = new0(struct proxy_conn);

	c->door = d;
	c->stranger = stranger;
	c->io = (struct loop_io){ .fd = fd, .fn = on_proxy_conn_readable, .ctx = c };
	list_add_tail(&d->conns, &c->link);
	d->nconns++;
	d->world->nconns++;
	loop_timer_set(d->world->loop, &c->timer, EGRESS_HEAD_MS, on_proxy_conn_end, c);
	if (loop_io_set(d->world->loop, &c->io, EPOLLIN) < 0)
		proxy_conn_end(c);
}
