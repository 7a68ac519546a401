/*
 * name_lookup.c - one name lookup by c-ares, with its sockets and its timeout on the loop.
 *
 * on_state mirrors the sockets of c-ares as sources of the loop, and set_timer its next timeout, at
 * most EGRESS_LOOKUP_MS. The answer is delivered from a deferred task, because the channel must not
 * be destroyed inside a callback of c-ares. ARES_FLAG_NOSEARCH keeps the name that the rules have
 * allowed.
 */
#include "proxy/proxy.h"

#include "base/clock.h"
#include "base/util.h"

#include <ares.h>
#include <sys/epoll.h>

#define TRY_MS 2000
#define TRIES 3

struct lookup_socket {
	struct loop_io io; /* fd -1: the place is free */
	struct name_lookup *of;
};

struct name_lookup {
	struct loop *loop;
	ares_channel channel;
	bool has_channel;
	struct lookup_socket sockets[ARES_GETSOCK_MAXNUM];
	struct loop_timer timer;
	struct loop_task task;
	uint64_t until;
	struct name_answer answer;
	void (*done)(void *ctx, const struct name_answer *a);
	void *ctx;
};

/* --- the answer ----------------------------------------------------------------------------------------------- */

static void on_lookup_done(void *ctx)
{
	struct name_lookup *l = ctx;

	name_lookup_stop(l);
	l->done(l->ctx, &l->answer);
}

/* From the loop, and not from within c-ares. */
static void lookup_finish(struct name_lookup *l, enum egress_reason why)
{
	l->answer.why = why;
	loop_defer(l->loop, &l->task, on_lookup_done, l);
}

static void take_family(struct name_answer *a, const struct ares_addrinfo *found, int family,
			size_t size)
{
	for (const struct ares_addrinfo_node *n = found->nodes; n; n = n->ai_next)
		if (n->ai_family == family && n->ai_addrlen >= size && a->n < EGRESS_ADDRESSES_MAX)
			memcpy(&a->at[a->n++], n->ai_addr, size);
}

static enum egress_reason lookup_reason_of(int status)
{
	switch (status) {
	case ARES_ENOTFOUND:
	case ARES_ENODATA:
	case ARES_EBADNAME:
		return EGRESS_NAME_NOT_FOUND;
	case ARES_ETIMEOUT:
		return EGRESS_LOOKUP_TIMEOUT;
	default:
		return EGRESS_LOOKUP_FAILED;
	}
}

static void on_lookup_found(void *ctx, int status, int timeouts _unused_,
			    struct ares_addrinfo *found)
{
	struct name_lookup *l = ctx;

	if (status == ARES_EDESTRUCTION || status == ARES_ECANCELLED)
		return;
	if (status == ARES_SUCCESS && found) {
		take_family(&l->answer, found, AF_INET, sizeof(struct sockaddr_in));
		take_family(&l->answer, found, AF_INET6, sizeof(struct sockaddr_in6));
	}
	if (found)
		ares_freeaddrinfo(found);
	if (l->answer.n)
		lookup_finish(l, EGRESS_FINE);
	else
		lookup_finish(l, status == ARES_SUCCESS ? EGRESS_NAME_NOT_FOUND :
							  lookup_reason_of(status));
}

/* --- its sockets and its time --------------------------------------------------------------------------------- */

static void lookup_set_timer(struct name_lookup *l);

static void on_lookup_time(void *ctx)
{
	struct name_lookup *l = ctx;

	if (clock_mono_ms() >= l->until) {
		lookup_finish(l, EGRESS_LOOKUP_TIMEOUT);
		return;
	}
	ares_process_fd(l->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
	lookup_set_timer(l);
}

static void lookup_set_timer(struct name_lookup *l)
{
	uint64_t now = clock_mono_ms(), ms = l->until > now ? l->until - now : 1;
	struct timeval next;

	if (l->task.fn)
		return; /* it is over */
	if (ares_timeout(l->channel, NULL, &next))
		ms = MIN(ms, (uint64_t)next.tv_sec * 1000 + (uint64_t)next.tv_usec / 1000 + 1);
	loop_timer_set(l->loop, &l->timer, ms, on_lookup_time, l);
}

static void on_lookup_socket(void *ctx, uint32_t events)
{
	struct lookup_socket *s = ctx;
	struct name_lookup *l = s->of;
	int fd = s->io.fd;

	ares_process_fd(l->channel, events & ~(uint32_t)EPOLLOUT ? fd : ARES_SOCKET_BAD,
			events & EPOLLOUT ? fd : ARES_SOCKET_BAD);
	lookup_set_timer(l);
}

/* c-ares has opened it, wants to know other things of it, or is about to close it (neither). */
static void on_lookup_state(void *ctx, ares_socket_t fd, int reads, int writes)
{
	struct name_lookup *l = ctx;
	struct lookup_socket *place = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(l->sockets); i++) {
		if (l->sockets[i].io.fd == fd)
			place = &l->sockets[i];
		else if (l->sockets[i].io.fd < 0 && !place)
			place = &l->sockets[i];
	}
	if (!place)
		return; /* without it the look-up takes too long */
	if (place->io.fd != fd)
		place->io = (struct loop_io){ .fd = fd, .fn = on_lookup_socket, .ctx = place };
	loop_io_set(l->loop, &place->io, (reads ? EPOLLIN : 0) | (writes ? EPOLLOUT : 0));
	if (!reads && !writes)
		place->io.fd = -1;
}

/* --- life ----------------------------------------------------------------------------------------------------- */

static bool open_channel(struct name_lookup *l, const char *resolvers)
{
	struct ares_options o = { .flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES,
				  .timeout = TRY_MS,
				  .tries = TRIES,
				  .sock_state_cb = on_lookup_state,
				  .sock_state_cb_data = l };
	int mask = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_DOMAINS |
		   ARES_OPT_SOCK_STATE_CB;

	l->has_channel = ares_init_options(&l->channel, &o, mask) == ARES_SUCCESS;
	return l->has_channel &&
	       (!resolvers || ares_set_servers_ports_csv(l->channel, resolvers) == ARES_SUCCESS);
}

struct name_lookup *name_lookup_new(struct loop *loop, const char *name, const char *resolvers,
				    void (*done)(void *ctx, const struct name_answer *a), void *ctx)
{
	struct name_lookup *l = new0(struct name_lookup);
	struct ares_addrinfo_hints hints = { .ai_family = AF_UNSPEC,
					     .ai_socktype = SOCK_STREAM,
					     .ai_flags = ARES_AI_NOSORT };

	l->loop = loop;
	l->done = done;
	l->ctx = ctx;
	l->until = clock_mono_ms() + EGRESS_LOOKUP_MS;
	for (size_t i = 0; i < ARRAY_SIZE(l->sockets); i++)
		l->sockets[i] = (struct lookup_socket){ { .fd = -1 }, l };
	if (!open_channel(l, resolvers)) {
		lookup_finish(l, EGRESS_LOOKUP_FAILED);
		return l;
	}
	ares_getaddrinfo(l->channel, name, NULL, &hints, on_lookup_found, l);
	lookup_set_timer(l);
	return l;
}

void name_lookup_stop(struct name_lookup *l)
{
	if (!l)
		return;
	loop_task_cancel(&l->task);
	loop_timer_cancel(&l->timer);
	if (l->has_channel)
		ares_destroy(l->channel);
	l->has_channel = false;
}

struct name_lookup *name_lookup_free(struct name_lookup *l)
{
	name_lookup_stop(l);
	free(l);
	return NULL;
}
