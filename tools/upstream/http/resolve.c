/*
 * resolve.c - resolves a host in a detached thread, which returns the addresses through a pipe.
 *
 * getaddrinfo blocks and cannot be cancelled: a cancelled resolve closes its end of the pipe, and
 * the thread frees its own query later. The thread takes the file-system user of the caller for
 * itself alone. Its single write is below PIPE_BUF, so the loop reads all of it at once (pipe(7)).
 */
#include "tools/upstream/http/http_exchange.h"

#include "base/limits.h"
#include "base/net/address_rules.h"
#include "base/os/threads.h"
#include "base/util.h"

#include <fcntl.h>
#include <netdb.h>
#include <sys/epoll.h>

#define RESOLVE_STACK (1 * MIB) /* libraries that look up names have frames of their own size */

struct resolve_result {
	struct sockaddr_storage addresses[MCP_ADDRESSES_MAX];
	size_t n;
	int error; /* of getaddrinfo */
};

/* What the thread owns. */
struct query {
	char *host, *port;
	struct socket_user as;
	int fd; /* its end of the pipe */
};

struct resolve {
	struct loop *loop;
	struct loop_io io;
	struct loop_task task;
	resolve_fn fn;
	void *ctx;
	struct resolve_result found;
};

static void resolve_look_up(const char *host, const char *port, int flags,
			    struct resolve_result *ret)
{
	/* Without a socket type, getaddrinfo(3) returns each address once for each protocol. */
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = flags };
	struct addrinfo *list = NULL;

	ret->n = 0;
	ret->error = getaddrinfo(host, port, &hints, &list);
	for (const struct addrinfo *a = list; a && ret->n < MCP_ADDRESSES_MAX; a = a->ai_next)
		memcpy(&ret->addresses[ret->n++], a->ai_addr, a->ai_addrlen);
	if (list)
		freeaddrinfo(list);
}

static void *resolve_thread(void *arg)
{
	struct query *q = arg;
	struct resolve_result found;
	ssize_t n;

	/* All bytes go through the pipe, also the padding. */
	memset(&found, 0, sizeof(found));
	/* the writer of the name decides which resolver is asked */
	if (socket_user_enter(&q->as))
		resolve_look_up(q->host, q->port, AI_ADDRCONFIG, &found);
	else
		found.error = EAI_FAIL;
	socket_user_leave(&q->as);
	n = write(q->fd, &found, sizeof(found)); /* below PIPE_BUF: whole, or cancelled */
	(void)n;
	close(q->fd);
	free_each(q->host, q->port, q);
	return NULL;
}

/* Frees the resolve before it reports, so the receiver may begin another one. */
static void resolve_report(void *ctx)
{
	struct resolve *r = ctx;
	struct resolve_result found = r->found;
	resolve_fn fn = r->fn;
	void *fn_ctx = r->ctx;

	resolve_cancel(r);
	fn(fn_ctx, found.addresses, found.n,
	   found.n ? NULL : gai_strerror(found.error ? found.error : EAI_NONAME));
}

static void resolve_on_found(void *ctx, uint32_t events _unused_)
{
	struct resolve *r = ctx;

	if (read(r->io.fd, &r->found, sizeof(r->found)) != (ssize_t)sizeof(r->found))
		r->found = (struct resolve_result){ .error = EAI_AGAIN };
	resolve_report(r);
}

static int start_thread(struct resolve *r, const char *host, const char *port,
			const struct socket_user *as)
{
	struct query *q = new0(struct query);
	int fds[2], e;
	pthread_t t;

	if (pipe2(fds, O_CLOEXEC) < 0) {
		e = -errno;
		free(q);
		return e;
	}
	*q = (struct query){ xstrdup(host), xstrdup(port), *as, fds[1] };
	r->io = (struct loop_io){ .fd = fds[0], .fn = resolve_on_found, .ctx = r };
	loop_io_set(r->loop, &r->io, EPOLLIN);
	e = thread_start_sized(&t, RESOLVE_STACK, resolve_thread, q);
	if (e < 0) {
		/* The read end stays with the resolve, and resolve_cancel closes it. */
		close(fds[1]);
		free_each(q->host, q->port, q);
		return e;
	}
	pthread_detach(t);
	return 0;
}

struct resolve *resolve_begin(struct loop *loop, const char *host, const char *port,
			      const struct socket_user *as, resolve_fn fn, void *ctx)
{
	struct resolve *r = new0(struct resolve);

	*r = (struct resolve){ .loop = loop, .fn = fn, .ctx = ctx, .io.fd = -1 };
	/* Both addresses, without a resolver: a file or a name server could send localhost
	 * elsewhere. */
	if (strcmp(host, "localhost") == 0) {
		struct resolve_result v6;

		resolve_look_up("127.0.0.1", port, AI_NUMERICHOST, &r->found);
		resolve_look_up("::1", port, AI_NUMERICHOST, &v6);
		if (r->found.n && v6.n)
			r->found.addresses[r->found.n++] = v6.addresses[0];
	} else {
		resolve_look_up(host, port, AI_NUMERICHOST, &r->found);
	}
	if (r->found.n || start_thread(r, host, port, as) < 0)
		loop_defer(loop, &r->task, resolve_report, r);
	return r;
}

struct resolve *resolve_cancel(struct resolve *r)
{
	if (!r)
		return NULL;
	loop_task_cancel(&r->task);
	loop_io_close(r->loop, &r->io);
	free(r);
	return NULL;
}

bool addresses_are_local(const struct sockaddr_storage *addresses, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!address_is_loopback((const struct sockaddr *)&addresses[i]))
			return false;
	return true;
}
