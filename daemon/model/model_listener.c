/*
 * model_listener.c - where a harness finds its provider: the address, its key, its connections.
 *
 * The key is random for each listener, and only its digest is compared. A caller that is another user than the harness is
 * refused whatever key it has, if the kernel can be asked whose a socket is; that is tried once, with the listener's own.
 */
#include "model/model_internal.h"

#include "base/limits.h"
#include "base/os/file.h"
#include "base/os/local_sock.h"
#include "base/net/sock_owner.h"

#include <arpa/inet.h>
#include <sys/socket.h>

/* An idle connection makes room; one with a call stays. */
static bool make_conn_room(struct model_listener *g)
{
	if (g->nconns < MODEL_CONNS_MAX)
		return true;
	list_each(c, &g->conns, struct model_call, link)
		/* The oldest of them, as conns is in the order of arrival. It is freed at the end of this turn
		 * of the loop: until then nconns is above its limit. */
		if (c->state == CALL_HEAD || c->state == CALL_LAST) {
			model_conn_drop(c);
			return true;
		}
	return false;
}

/* One whose other end is not to be found has none any more. */
static bool is_other_user(const struct model_listener *g, int fd)
{
	struct sock_pair other = { .peer = g->place.at };
	socklen_t n = sizeof(other.own);
	uid_t uid;

	return !g->inside && g->place.checks_caller &&
	       (getpeername(fd, (struct sockaddr *)&other.own, &n) < 0 ||
		sock_owner_ask(g->all->owners, &other, &uid) < 0 || uid != g->uid);
}

static void on_harness_connection(void *ctx, int fd)
{
	struct model_listener *g = ctx;

	if (make_conn_room(g))
		model_conn_accept(g, fd, is_other_user(g, fd));
	else
		close(fd);
}

/* Not every kernel can be asked whose a socket is: it is tried with the listener, which is ours. */
static bool can_look_up_callers(struct model_listeners *all, const struct sockaddr_in *listening)
{
	struct sock_pair own = { .own = *listening };
	uid_t uid;

	if (!all->owners)
		all->owners = sock_owner_open();
	return all->owners > 0 && sock_owner_ask(all->owners, &own, &uid) == 0 && uid == geteuid();
}

struct model_listener *model_listener_new(struct model_listeners *all,
					  const struct model_reach *reach, enum model_api api,
					  const struct model_listener_ops *ops, void *ctx,
					  struct err *e)
{
	struct model_listener *g = new0(struct model_listener);
	struct model_place *at = &g->place;
	int fd, r;

	*g = (struct model_listener){ .all = all,
				      .api = api,
				      .ops = ops,
				      .ctx = ctx,
				      .uid = reach->uid,
				      .inside = reach->socket >= 0 };
	r = fd = loopback_bind(reach->socket, SOMAXCONN, &at->at);
	list_init(&g->conns);
	if (fd >= 0)
		r = acceptor_open(&g->acceptor, all->loop, fd, on_harness_connection, g);
	memcpy(at->key, "acpd-", 5);
	random_hex(at->key + 5, 32);
	if (r >= 0)
		r = sha256_of(slice_of(at->key), &g->digest);
	if (r < 0) {
		acceptor_close(&g->acceptor);
		free(g);
		err_set(e, r, RPC_INTERNAL_ERROR, "MODEL_LISTENER_FAILED",
			"no address for the session's model calls: %s", strerror(-r));
		return NULL;
	}
	/* In a network namespace of its own only the session's processes can connect. */
	at->checks_caller = g->inside || (reach->one_user && can_look_up_callers(all, &at->at));
	inet_ntop(AF_INET, &at->at.sin_addr, at->host, sizeof(at->host));
	snprintf(at->url, sizeof(at->url), "http://%s:%u" MODEL_PREFIX "%s", at->host,
		 ntohs(at->at.sin_port), model_api_root(api));
	return g;
}

struct model_listener *model_listener_free(struct model_listener *g)
{
	if (!g)
		return NULL;
	acceptor_close(&g->acceptor);
	list_each(c, &g->conns, struct model_call, link)
		model_conn_free(c);
	explicit_bzero(g->place.key, sizeof(g->place.key));
	free_each(g->paths, g);
	return NULL;
}

void model_listener_allow(struct model_listener *g, struct slice paths)
{
	free(g->paths);
	g->paths = paths.n ? xstrndup(paths.p, paths.n) : NULL;
}

const struct model_place *model_listener_place(const struct model_listener *g)
{
	return &g->place;
}

void model_listeners_done(struct model_listeners *all)
{
	if (all->owners > 0)
		close(all->owners);
	all->owners = 0;
}
