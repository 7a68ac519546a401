/*
 * egress_door.c - the listener of one session on the side of the daemon: its rules, its questions,
 * the reports about it.
 *
 * acpd-proxy reads bytes of the sandbox, so an unknown frame, reason or form of host ends its run
 * with -EPROTO. A question is stored by host. A denied one stays, to deny it again to a restarted
 * program. An allowed host becomes an entry of the rules, which every run gets. New rules drop all
 * questions. EGRESS_ASKS_MAX and EGRESS_HOSTS_TOLD limit them.
 */
#include "egress/egress_internal.h"

#include "base/net/sock_owner.h"
#include "egress/wire/egress_host.h"
#include "json/jenc.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

/* --- what the program is told --------------------------------------------------------------------------------- */

static void send_rules(struct egress_door *d)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct standing_run *run = d->egress->proxy.run;

	if (!run)
		return; /* the next one gets them */
	egress_rules_put(d->rules, &JW(&b), NULL);
	frame_channel_send(&run->channel, EGRESS_RULES, d->number, buf_slice(&b), -1);
}

static void send_deny(struct egress_door *d, const char *host, enum egress_reason why)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct standing_run *run = d->egress->proxy.run;
	struct egress_notice n = { .reason = why };

	if (!run)
		return; /* it will ask again */
	snprintf(n.host, sizeof(n.host), "%s", host);
	egress_notice_put(&b, &n);
	frame_channel_send(&run->channel, EGRESS_DENY, d->number, buf_slice(&b), -1);
}

void egress_door_give(struct egress_door *d, struct standing_run *run)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	int fd = fcntl(d->fd, F_DUPFD_CLOEXEC, 0);

	/* without a descriptor for it, it is as a program that has died */
	egress_order_put(&b, d->uid, d->rules);
	frame_channel_send(&run->channel, EGRESS_DOOR, d->number, buf_slice(&b), fd);
}

/* --- questions ------------------------------------------------------------------------------------------------ */

/* One host is asked for once. The program asks again when it was started anew, and after other rules. */
static void egress_door_ask(struct egress_door *d, const char *host, int port)
{
	struct host_question *q = host_questions_find(&d->questions, host);

	if (q && q->no)
		send_deny(d, host, q->no);
	if (q)
		return;
	if (d->questions.nopen == EGRESS_ASKS_MAX || d->questions.n == EGRESS_HOSTS_TOLD) {
		send_deny(d, host, EGRESS_ASK_TOO_MANY);
		return;
	}
	host_questions_add(&d->questions, host, port);
	d->ops->ask(d->ctx, host, port);
}

/* The yes is an entry of the rules from now on. */
static void open_host(struct egress_door *d, const char *host, int port)
{
	struct egress_rules *more = egress_rules_with(d->rules, host, port, NULL);

	if (!more) { /* there is no room for it */
		send_deny(d, host, EGRESS_ASK_TOO_MANY);
		return;
	}
	egress_rules_free(d->rules);
	d->rules = more;
	send_rules(d);
}

void egress_answer(struct egress_door *d, const char *host, bool allow)
{
	struct host_question *q = host_questions_find(&d->questions, host);
	struct host_question answered;

	if (!q || q->no)
		return;
	/* A copy, because the question is freed. */
	answered = *q;
	if (allow) {
		host_questions_drop(&d->questions, q);
		open_host(d, answered.host, answered.port);
	} else {
		host_questions_deny(&d->questions, q, EGRESS_ASK_DENIED);
		send_deny(d, answered.host, EGRESS_ASK_DENIED);
	}
}

/* --- what the program says ------------------------------------------------------------------------------------ */

static int on_egress_door_blocked(struct egress_door *d, const struct egress_notice *n)
{
	if (!egress_reasons[n->reason].blocks)
		return -EPROTO;
	if (host_set_add(&d->told, n->host))
		d->ops->blocked(d->ctx, n->host, n->port, n->reason);
	return 0;
}

static int on_egress_door_ask(struct egress_door *d, const struct egress_notice *n)
{
	struct egress_host host;

	if (!n->port || egress_host_parse(slice_of(n->host), &host) ||
	    strcmp(host.text, n->host) != 0)
		return -EPROTO;
	/* rules that do not ask may have come in between */
	if (egress_rules_ask(d->rules))
		egress_door_ask(d, n->host, n->port);
	return 0;
}

static int on_egress_door_used(struct egress_door *d, const struct egress_notice *n)
{
	d->ops->used(d->ctx, n->host, (uint64_t)n->up, (uint64_t)n->down);
	return 0;
}

static struct egress_door *find_door(struct egress *x, uint32_t number)
{
	list_each(d, &x->doors, struct egress_door, link)
		if (d->number == number)
			return d;
	return NULL;
}

int egress_take_frame(void *egress, struct standing_run *run _unused_, const struct frame *f)
{
	static int (*const takes[EGRESS_FRAME_MAX])(
		struct egress_door * d,
		const struct egress_notice *n) = { [EGRESS_BLOCKED] = on_egress_door_blocked,
						   [EGRESS_ASK] = on_egress_door_ask,
						   [EGRESS_USED] = on_egress_door_used };
	struct egress_door *d = find_door(egress, f->number);
	struct egress_notice n;

	if (!takes[f->type] || egress_notice_parse(f->payload, &n) < 0)
		return -EPROTO;
	/* a door that was closed meanwhile may still be spoken of */
	return d ? takes[f->type](d, &n) : 0;
}

/* --- life ----------------------------------------------------------------------------------------------------- */

/* Not every kernel can be asked whose a socket is: it is tried with the listener, which is ours. */
static bool can_find_callers(int fd)
{
	_cleanup_(closep) int owners = sock_owner_open();
	struct sock_pair own = { 0 };
	socklen_t n = sizeof(own.own);
	uid_t uid;

	return owners >= 0 && getsockname(fd, (struct sockaddr *)&own.own, &n) == 0 &&
	       sock_owner_ask(owners, &own, &uid) == 0 && uid == geteuid();
}

static const char *egress_door_unsupported(const struct egress *x,
					   const struct egress_door_config *c)
{
	if (egress_missing(x))
		return egress_missing(x);
	if (x->ndoors == EGRESS_DOORS_MAX)
		return "too many sessions have a network of their own";
	if (c->one_user && !can_find_callers(c->fd))
		return "this kernel does not say whose a connection is";
	return NULL;
}

static struct egress_door *door_new(struct egress *x, const struct egress_door_config *c,
				    const struct egress_ops *ops, void *ctx)
{
	struct egress_door *d = new0(struct egress_door);

	*d = (struct egress_door){ .egress = x,
				   .number = ++x->last_door,
				   .fd = c->fd,
				   .uid = c->one_user ? (int64_t)c->uid : -1,
				   .rules = egress_rules_copy(c->rules),
				   .ops = ops,
				   .ctx = ctx };
	list_init(&d->link);
	host_questions_init(&d->questions);
	list_add_tail(&x->doors, &d->link);
	x->ndoors++;
	return d;
}

struct egress_door *egress_open(struct egress *x, const struct egress_door_config *c,
				const struct egress_ops *ops, void *ctx, struct err *e)
{
	const char *why = egress_door_unsupported(x, c);
	struct standing_run *run = x->proxy.run;
	struct egress_door *d;

	if (why) {
		close(c->fd);
		err_field(e, "_meta.acpd.network", "NETWORK_POLICY_UNSUPPORTED", "%s", why);
		return NULL;
	}
	d = door_new(x, c, ops, ctx);
	if (run)
		egress_door_give(d, run);
	else
		egress_start(x);
	return d;
}

void egress_set_rules(struct egress_door *d, const struct egress_rules *rules)
{
	struct egress_rules *copy = egress_rules_copy(rules);

	egress_rules_free(d->rules);
	d->rules = copy;
	host_questions_clear(&d->questions);
	send_rules(d);
}

struct egress_door *egress_close(struct egress_door *d)
{
	struct standing_run *run;

	if (!d)
		return NULL;
	run = d->egress->proxy.run;
	if (run)
		frame_channel_send(&run->channel, EGRESS_SHUT, d->number, SLICE_NONE, -1);
	d->egress->ndoors--;
	list_del(&d->link);
	host_questions_clear(&d->questions);
	host_set_done(&d->told);
	egress_rules_free(d->rules);
	close(d->fd);
	free(d);
	return NULL;
}
