/*
 * tcp_listen.c - binds the TCP listener, and sets options of its connections.
 *
 * The daemon binds the port itself, so that an error names address and option. AI_NUMERICHOST is
 * tried first, because the resolver would load its modules into the daemon. SO_REUSEADDR lets a
 * daemon start while connections of the previous one are in TIME_WAIT.
 */
#include "net/tcp_listen.h"

#include "base/limits.h"
#include "base/util.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

/* An address needs no resolver, which would load its modules. */
static int listen_resolve(const char *host, int port, struct addrinfo **ret)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
				  .ai_flags = AI_PASSIVE | AI_NUMERICSERV | AI_NUMERICHOST };
	int r;
	const char *service = NUMBER_TEXT(port);

	r = getaddrinfo(host, service, &hints, ret);
	if (r != EAI_NONAME)
		return r;
	hints.ai_flags &= ~AI_NUMERICHOST;
	return getaddrinfo(host, service, &hints, ret);
}

static int listen_open_one(const struct addrinfo *a)
{
	_cleanup_(closep) int fd =
		socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int on = 1;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    bind(fd, a->ai_addr, a->ai_addrlen) < 0 || listen(fd, SOMAXCONN) < 0)
		return -errno;
	return TAKE_FD(fd);
}

int listen_tcp(const char *host, int port, struct err *e)
{
	struct addrinfo *list = NULL;
	int r = listen_resolve(host, port, &list);
	const char *why = r ? gai_strerror(r) : NULL;
	int fd = -EINVAL;

	for (const struct addrinfo *a = list; a && fd < 0; a = a->ai_next)
		fd = listen_open_one(a);
	if (list)
		freeaddrinfo(list);
	if (fd >= 0)
		return fd;
	return err_set(e, -EADDRINUSE, 0, "LISTEN_FAILED", "cannot listen on %s:%d: %s (--listen)",
		       host, port, why ? why : strerror(-fd));
}

int listen_port(int fd)
{
	struct sockaddr_storage a;
	socklen_t n = sizeof(a);

	if (fd < 0 || getsockname(fd, (struct sockaddr *)&a, &n) < 0)
		return 0;
	if (a.ss_family == AF_INET)
		return ntohs(((struct sockaddr_in *)&a)->sin_port);
	return a.ss_family == AF_INET6 ? ntohs(((struct sockaddr_in6 *)&a)->sin6_port) : 0;
}

/* Nothing is sent on an idle stream of events, so its reader's end would not be noticed. */
void listen_tune(int fd)
{
	static const struct {
		int level, name, value;
	} options[] = {
		{ IPPROTO_TCP, TCP_NODELAY, 1 },
		{ SOL_SOCKET, SO_KEEPALIVE, 1 },
		{ IPPROTO_TCP, TCP_KEEPIDLE, TCP_KEEPALIVE_SECS },
		{ IPPROTO_TCP, TCP_KEEPINTVL, TCP_KEEPALIVE_SECS / 3 },
		{ IPPROTO_TCP, TCP_KEEPCNT, 3 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		setsockopt(fd, options[i].level, options[i].name, &options[i].value,
			   sizeof(options[i].value));
}
