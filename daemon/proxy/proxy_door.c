/*
 * proxy_door.c - the listener of one session in acpd-proxy: admission, questions, reports to the
 * daemon.
 *
 * An agent can make as many of these as it likes, so all are limited: connections, questions,
 * hosts, and bytes that wait on the channel. Above WAITING_MAX usage is summed up and reported
 * later. A port of the loopback is open to every user: sock_owner finds the user of each
 * connection.
 */
#include "proxy/proxy.h"

#include "base/net/sock_owner.h"
#include "base/util.h"

#include <fcntl.h>

#define WAITING_MAX (1 * MIB) /* on the channel: then what was used is reported later */

/* --- what is told --------------------------------------------------------------------------------------------- */

static void proxy_door_send(struct proxy_door *d, enum egress_frame_type type,
			    const struct egress_notice *n)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	egress_notice_put(&b, n);
	frame_channel_send(d->world->channel, type, d->number, buf_slice(&b), -1);
}

void proxy_door_blocked(struct proxy_door *d, const char *host, int port, enum egress_reason why)
{
	struct egress_notice n = { .port = port, .reason = why };

	if (!*host || !host_set_add(&d->told, host))
		return;
	snprintf(n.host, sizeof(n.host), "%s", host);
	proxy_door_send(d, EGRESS_BLOCKED, &n);
}

static void tell_use(struct proxy_door *d, struct host_use *u)
{
	struct egress_notice n = { .up = (int64_t)u->up, .down = (int64_t)u->down };

	if (!u->up && !u->down)
		return;
	snprintf(n.host, sizeof(n.host), "%s", u->host ? u->host : EGRESS_OTHERS);
	u->up = u->down = 0;
	proxy_door_send(d, EGRESS_USED, &n);
}

/* The daemon does not take what it is told. */
static bool is_behind(const struct proxy_door *d)
{
	return frame_channel_waiting(d->world->channel) > WAITING_MAX;
}

static void on_proxy_door_time(void *ctx);

static void proxy_door_set_timer(struct proxy_door *d)
{
	if (!d->timer.due)
		loop_timer_set(d->world->loop, &d->timer, EGRESS_USED_MS, on_proxy_door_time, d);
}

static void on_proxy_door_time(void *ctx)
{
	struct proxy_door *d = ctx;

	list_each(c, &d->conns, struct proxy_conn, link)
		proxy_conn_count(c);
	for (unsigned i = 0; i <= EGRESS_HOSTS_TOLD && !is_behind(d); i++)
		tell_use(d, &d->uses[i]);
	if (d->nconns || is_behind(d))
		proxy_door_set_timer(d);
}

struct host_use *proxy_door_use(struct proxy_door *d, const char *host)
{
	proxy_door_set_timer(d);
	for (unsigned i = 0; i < d->nuses; i++)
		if (strcmp(d->uses[i].host, host) == 0)
			return &d->uses[i];
	if (d->nuses == EGRESS_HOSTS_TOLD)
		return &d->uses[EGRESS_HOSTS_TOLD];
	d->uses[d->nuses].host = xstrdup(host);
	return &d->uses[d->nuses++];
}

/* --- questions ------------------------------------------------------------------------------------------------ */

/* The oldest that has its answer is forgotten: it would only be asked again. */
static void proxy_door_make_room(struct proxy_door *d)
{
	if (d->questions.n < EGRESS_HOSTS_TOLD)
		return;
	list_each(q, &d->questions.all, struct host_question, link)
		if (q->no) {
			host_questions_drop(&d->questions, q);
			return;
		}
}

enum egress_reason proxy_door_ask(struct proxy_door *d, const char *host, int port)
{
	struct host_question *q = host_questions_find(&d->questions, host);
	struct egress_notice n = { .port = port };

	if (q)
		return q->no;
	if (d->questions.nopen == EGRESS_ASKS_MAX)
		return EGRESS_ASK_TOO_MANY;
	proxy_door_make_room(d);
	host_questions_add(&d->questions, host, port);
	snprintf(n.host, sizeof(n.host), "%s", host);
	proxy_door_send(d, EGRESS_ASK, &n);
	return EGRESS_FINE;
}

void proxy_door_deny(struct proxy_door *d, const char *host, enum egress_reason why)
{
	struct host_question *q = host_questions_find(&d->questions, host);

	if (!q || q->no)
		return;
	host_questions_deny(&d->questions, q, why);
	list_each(c, &d->conns, struct proxy_conn, link)
		proxy_conn_denied(c, host, why);
	/* one that there was no room for may be asked for again */
	if (why == EGRESS_ASK_TOO_MANY)
		host_questions_drop(&d->questions, q);
}

/* --- who comes ------------------------------------------------------------------------------------------------ */

/* One whose other end is not to be found has none any more. */
static bool proxy_door_is_stranger(const struct proxy_door *d, int fd)
{
	struct sock_pair other = { .peer = d->at };
	socklen_t n = sizeof(other.own);
	uid_t uid;

	return d->uid >= 0 &&
	       (getpeername(fd, (struct sockaddr *)&other.own, &n) < 0 ||
		sock_owner_ask(d->world->owners, &other, &uid) < 0 || uid != (uid_t)d->uid);
}

/* One that has asked for nothing yet goes before a new one is turned away. */
static bool proxy_door_has_room(struct proxy_door *d)
{
	if (d->nconns < EGRESS_CONNS_MAX && d->world->nconns < EGRESS_CONNS_ALL)
		return true;
	list_each(c, &d->conns, struct proxy_conn, link)
		if (proxy_conn_is_silent(c)) {
			proxy_conn_end(c);
			return true;
		}
	return false;
}

static void on_proxy_door_connection(void *ctx, int fd)
{
	struct proxy_door *d = ctx;

	if (proxy_door_has_room(d))
		proxy_conn_new(d, fd, proxy_door_is_stranger(d, fd));
	else
		proxy_conn_turn_away(fd);
}

/* --- life ----------------------------------------------------------------------------------------------------- */

void proxy_door_set_rules(struct proxy_door *d, struct egress_rules *rules)
{
	egress_rules_free(d->rules);
	d->rules = rules;
	/* Before judging: a connection that still needs an answer asks again. */
	host_questions_clear(&d->questions);
	list_each(c, &d->conns, struct proxy_conn, link)
		proxy_conn_judge(c);
}

struct proxy_door *proxy_door_open(struct proxy_world *w, uint32_t number, int fd,
				   struct egress_order *order)
{
	struct proxy_door *d = new0(struct proxy_door);
	socklen_t n = sizeof(d->at);

	d->world = w;
	d->number = number;
	d->uid = order->uid;
	d->rules = TAKE_PTR(order->rules);
	list_init(&d->link);
	list_init(&d->conns);
	host_questions_init(&d->questions);
	fcntl(fd, F_SETFL, O_NONBLOCK);
	if (getsockname(fd, (struct sockaddr *)&d->at, &n) < 0 ||
	    acceptor_open(&d->acceptor, w->loop, fd, on_proxy_door_connection, d) < 0) {
		egress_rules_free(d->rules);
		free(d);
		return NULL;
	}
	return d;
}

static void proxy_door_free_later(void *ctx)
{
	struct proxy_door *d = ctx;

	egress_rules_free(d->rules);
	host_set_done(&d->told);
	for (unsigned i = 0; i < d->nuses; i++)
		free(d->uses[i].host);
	free(d);
}

void proxy_door_shut(struct proxy_door *d)
{
	acceptor_close(&d->acceptor);
	loop_timer_cancel(&d->timer);
	list_each(c, &d->conns, struct proxy_conn, link)
		proxy_conn_end(c);
	host_questions_clear(&d->questions);
	list_del(&d->link);
	loop_defer(d->world->loop, &d->task, proxy_door_free_later, d);
}
