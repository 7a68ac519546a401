/*
 * server_reach.c - checks a command or URL that only the harness will use.
 *
 * The check runs on the loop, so it tries only loopback addresses, without a resolver, and waits at
 * most REACH_MS for each. localhost is reachable if 127.0.0.1 or ::1 is. If no socket can be made,
 * the server counts as reachable: the harness will find out.
 */
#include "tools/relay/relay_internal.h"

#include "base/http/authority.h"
#include "base/util.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <strings.h>
#include <sys/socket.h>

#define REACH_MS 250 /* for a connection on this machine */

/* A directory's, or NULL. */
static char *executable_in(struct slice dir, const char *name)
{
	char *path = xprintf("%.*s/%s", (int)dir.n, dir.p, name);

	if (access(path, X_OK) == 0)
		return path;
	free(path);
	return NULL;
}

/* Searches as execvp does, but skips empty entries of PATH: they mean the current directory,
 * which is another one for the harness. */
static char *server_reach_find(const char *command, const char *path)
{
	char *found = NULL;

	if (strchr(command, '/'))
		return access(command, X_OK) == 0 ? xstrdup(command) : NULL;
	while (*command && path && *path && !found) {
		size_t n = strcspn(path, ":");

		if (n)
			found = executable_in((struct slice){ path, n }, command);
		path += n + (path[n] == ':');
	}
	return found;
}

char *server_reach_command(const char *command, const char *path, const char *field, struct err *e)
{
	char *found = server_reach_find(command, path);

	if (!found)
		err_field(e, field, "MCP_COMMAND_NOT_FOUND",
			  "%s: no executable '%s' in the sandbox", field, command);
	return found;
}

struct url_target {
	char host[256]; /* without brackets */
	unsigned port;
};

static bool split_url(const char *url, struct url_target *ret)
{
	bool tls = strncasecmp(url, "https://", 8) == 0;
	const char *p = url + (tls ? 8 : 7), *end, *user;
	struct authority a;

	if (!tls && strncasecmp(url, "http://", 7) != 0)
		return false;
	end = p + strcspn(p, "/?#");
	user = memchr(p, '@', (size_t)(end - p));
	if (user)
		p = user + 1;
	if (!authority_parse((struct slice){ p, (size_t)(end - p) }, 1, &a) ||
	    a.host.n >= sizeof(ret->host))
		return false;
	memcpy(ret->host, a.host.p, a.host.n);
	ret->host[a.host.n] = '\0';
	ret->port = a.port < 0 ? (tls ? 443 : 80) : (unsigned)a.port;
	return true;
}

/* This machine by name or address; names that need a look-up do not count. */
static bool local_address(const struct url_target *t, struct sockaddr_storage *ret, socklen_t *len)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)ret;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret;

	*ret = (struct sockaddr_storage){ 0 };
	if (strcasecmp(t->host, "::1") == 0) {
		*v6 = (struct sockaddr_in6){ .sin6_family = AF_INET6,
					     .sin6_port = htons((uint16_t)t->port),
					     .sin6_addr = IN6ADDR_LOOPBACK_INIT };
		*len = sizeof(*v6);
		return true;
	}
	*v4 = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons((uint16_t)t->port) };
	*len = sizeof(*v4);
	if (strcasecmp(t->host, "localhost") == 0)
		v4->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	else if (inet_pton(AF_INET, t->host, &v4->sin_addr) != 1)
		return false;
	return (ntohl(v4->sin_addr.s_addr) >> 24) == 127 || v4->sin_addr.s_addr == INADDR_ANY;
}

/* True if a server listens there. On this machine the answer comes at once. */
static bool listening(const struct sockaddr_storage *a, socklen_t len)
{
	_cleanup_(closep) int fd =
		socket(a->ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	int error = 0;
	socklen_t n = sizeof(error);

	if (fd < 0)
		return true; /* not known */
	if (connect(fd, (const struct sockaddr *)a, len) == 0)
		return true;
	/* Loopback refuses at once if no socket listens there. */
	if (errno != EINPROGRESS)
		return false;
	return poll(&p, 1, REACH_MS) == 1 &&
	       getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &n) == 0 && !error;
}

int server_reach_url(const char *url, const char *field, struct err *e)
{
	struct sockaddr_storage a;
	struct url_target t;
	socklen_t len;

	if (!split_url(url, &t))
		return err_field(e, field, "MCP_URL_INVALID", "%s must be an http or https URL",
				 field);
	/* localhost may be either */
	if (local_address(&t, &a, &len) && !listening(&a, len)) {
		struct url_target six = { "::1", t.port };

		if (strcasecmp(t.host, "localhost") != 0 || !local_address(&six, &a, &len) ||
		    !listening(&a, len))
			return err_field(
				e, field, "MCP_SERVER_UNREACHABLE",
				"%s: nobody listens on port %u of the sandbox, which is what '%s' means to the harness",
				field, t.port, t.host);
	}
	return 0;
}
