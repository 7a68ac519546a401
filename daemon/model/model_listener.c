/* model_listener.c - where a harness finds its provider: the address, its key, its connections. */
#include "model/model_internal.h"

#include "base/limits.h"
#include "base/os/file.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/socket.h>

/* Not 127.0.0.0/16, where programs and /etc/hosts have addresses of their own; nothing that ends with 0 or 255. */
static void pick_address(struct sockaddr_in *a)
{
	unsigned char r[3] = { 0 };

	while (getrandom(r, sizeof(r), 0) != sizeof(r))
		;
	*a = (struct sockaddr_in){ .sin_family = AF_INET };
	a->sin_addr.s_addr = htonl(127u << 24 | (16u + r[0] % 224u) << 16 | (unsigned)r[1] << 8 |
				   (1u + r[2] % 254u));
}

static int listen_somewhere(struct sockaddr_in *a)
{
	_cleanup_(closep) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	socklen_t n = sizeof(*a);

	pick_address(a);
	if (fd < 0 || bind(fd, (struct sockaddr *)a, sizeof(*a)) < 0 || listen(fd, SOMAXCONN) < 0 ||
	    getsockname(fd, (struct sockaddr *)a, &n) < 0)
		return -errno;
	return TAKE_FD(fd);
}

/* An idle connection makes room; one with a call stays. */
static bool make_room(struct model_listener *g)
{
	if (g->nconns < MODEL_CONNS_MAX)
		return true;
	list_each(c, &g->conns, struct model_call, link)
		if (c->state == CALL_HEAD || c->state == CALL_LAST) {
			model_conn_drop(c);
			return true;
		}
	return false;
}

static void on_connection(void *ctx, int fd)
{
	struct model_listener *g = ctx;

	if (make_room(g))
		model_conn_accept(g, fd);
	else
		close(fd);
}

struct model_listener *model_listener_new(struct model_listeners *all, enum model_api api,
					  const struct model_listener_ops *ops, void *ctx,
					  struct err *e)
{
	struct model_listener *g = new0(struct model_listener);
	struct sockaddr_in a;
	int fd = listen_somewhere(&a), r = fd;

	*g = (struct model_listener){ .all = all, .api = api, .ops = ops, .ctx = ctx };
	list_init(&g->conns);
	if (fd >= 0)
		r = acceptor_open(&g->acceptor, all->loop, fd, on_connection, g);
	memcpy(g->key, "acpd-", 5);
	random_hex(g->key + 5, 32);
	if (r >= 0)
		r = sha256_of(slice_of(g->key), &g->digest);
	if (r < 0) {
		acceptor_close(&g->acceptor);
		free(g);
		err_set(e, r, RPC_INTERNAL_ERROR, "MODEL_LISTENER_FAILED",
			"no address for the session's model calls: %s", strerror(-r));
		return NULL;
	}
	inet_ntop(AF_INET, &a.sin_addr, g->host, sizeof(g->host));
	snprintf(g->url, sizeof(g->url), "http://%s:%u" MODEL_PREFIX "%s", g->host,
		 ntohs(a.sin_port), model_api_root(api));
	return g;
}

struct model_listener *model_listener_free(struct model_listener *g)
{
	if (!g)
		return NULL;
	acceptor_close(&g->acceptor);
	list_each(c, &g->conns, struct model_call, link)
		model_conn_free(c);
	explicit_bzero(g->key, sizeof(g->key));
	free(g);
	return NULL;
}

const char *model_listener_host(const struct model_listener *g)
{
	return g->host;
}

const char *model_listener_url(const struct model_listener *g)
{
	return g->url;
}

const char *model_listener_key(const struct model_listener *g)
{
	return g->key;
}
