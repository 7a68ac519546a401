/*
 * acpd-proxy serve UID GID: the proxy through which sessions reach what their network allows. Descriptor 3 is its socket
 * to the daemon. UID and GID are who to become; of a daemon that is not root they are its own. "probe" instead of
 * "serve" says what it then can do no more.
 */
#include "base/digits.h"
#include "base/os/sock_owner.h"
#include "base/util.h"
#include "base/version.h"
#include "confine/confine_probe.h"
#include "proxy/confine_proxy.h"
#include "proxy/proxy_server.h"

#include <ares.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#define SOCKET 3

static int fail(const char *what)
{
	fprintf(stderr, "acpd-proxy: %s: %s\n", what, strerror(errno));
	return 1;
}

static int serve(const struct confine_proxy *who)
{
	struct loop *loop;
	struct proxy_server *server;
	const char *bad;
	int owners;

	confine_proxy_harden();
	if (fcntl(SOCKET, F_GETFD) < 0)
		return fail("its socket");
	if (ares_library_init(ARES_LIB_INIT_ALL) != ARES_SUCCESS)
		return fail("c-ares");
	owners = sock_owner_open();
	bad = confine_proxy(who);
	if (bad)
		return fail(bad);
	loop = loop_new();
	if (!loop)
		return fail("its loop");
	server = proxy_server_new(loop, SOCKET, owners);
	loop_run(loop);
	proxy_server_free(server);
	loop_free(loop);
	return 0;
}

static int probe(const struct confine_proxy *who)
{
	const char *bad;

	confine_proxy_harden();
	bad = confine_proxy(who);
	return bad ? fail(bad) : confine_probe();
}

static bool number(const char *text, uint32_t *ret)
{
	uint64_t n;

	if (!u64_parse(slice_of(text), &n) || n > UINT32_MAX)
		return false;
	*ret = (uint32_t)n;
	return true;
}

int main(int argc, char **argv)
{
	struct confine_proxy who = { .become = geteuid() == 0 };

	if (argc == 2 && strcmp(argv[1], "--version") == 0)
		return printf("acpd-proxy %s (c-ares %s)\n", acpd_version, ares_version(NULL)) < 0;
	if (argc != 4 || !number(argv[2], &who.uid) || !number(argv[3], &who.gid))
		argc = 0;
	/* nor can leaks be looked for: tracing is not allowed */
	if (argc && strcmp(argv[1], "probe") == 0)
		_exit(probe(&who));
	if (argc && strcmp(argv[1], "serve") == 0)
		_exit(serve(&who));
	fprintf(stderr, "usage: acpd-proxy serve|probe UID GID\n");
	return 2;
}
