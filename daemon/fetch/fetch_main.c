/*
 * acpd-fetch serve UID GID [CA-FILE]: makes the daemon's requests to other machines. Descriptor 3 is its socket to the
 * daemon. UID and GID are who to become; of a daemon that is not root they are its own. "probe" instead of "serve" says
 * what it then can do no more.
 */
#include "base/digits.h"
#include "base/os/file.h"
#include "base/limits.h"
#include "base/util.h"
#include "base/version.h"
#include "confine/confine_probe.h"
#include "fetch/confine_fetch.h"
#include "fetch/fetch_server.h"
#include "fetch/wiping_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <sys/mman.h>

#define SOCKET 3

static int fail(const char *what)
{
	fprintf(stderr, "acpd-fetch: %s: %s\n", what, strerror(errno));
	return 1;
}

/* What is loaded at its first use is loaded now: libraries that look up names, and those that threads need to end. */
static void preload(void)
{
	struct addrinfo *found = NULL;

	if (getaddrinfo("localhost", NULL, NULL, &found) == 0)
		freeaddrinfo(found);
}

/* Its certificates, in a file of our own: whoever we become need not be able to read that one. NULL: there are none. */
static const char *take_certificates(const char *path)
{
	static char own[32];
	_cleanup_(buf_done) struct buf pem = { 0 };
	int fd = memfd_create("certificates", MFD_CLOEXEC);

	if (file_read(path, FETCH_CA_MAX, &pem) < 0 || fd < 0 ||
	    file_write_all(fd, pem.data, pem.len) < 0)
		return NULL;
	snprintf(own, sizeof(own), "/proc/self/fd/%d", fd);
	return own;
}

static int serve(const struct confine_fetch *who, const char *ca_file)
{
	struct loop *loop;
	struct fetch_server *server;
	const char *bad;

	confine_fetch_harden();
	if (fcntl(SOCKET, F_GETFD) < 0)
		return fail("its socket");
	if (wiping_memory_init() != CURLE_OK)
		return fail("libcurl");
	if (ca_file && !(ca_file = take_certificates(ca_file)))
		return fail("the file of trusted certificates");
	preload();
	bad = confine_fetch(who);
	if (bad)
		return fail(bad);
	loop = loop_new();
	if (!loop)
		return fail("its loop");
	server = fetch_server_new(loop, SOCKET, ca_file);
	loop_run(loop);
	fetch_server_free(server);
	loop_free(loop);
	return 0;
}

static int probe(const struct confine_fetch *who)
{
	const char *bad;

	confine_fetch_harden();
	bad = confine_fetch(who);
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
	struct confine_fetch who = { .become = geteuid() == 0 };

	if (argc == 2 && strcmp(argv[1], "--version") == 0)
		return printf("acpd-fetch %s (%s)\n", acpd_version, curl_version()) < 0;
	if (argc < 4 || argc > 5 || !number(argv[2], &who.uid) || !number(argv[3], &who.gid))
		argc = 0;
	if (argc && strcmp(argv[1], "probe") == 0)
		_exit(probe(&who));
	if (!argc || strcmp(argv[1], "serve") != 0) {
		fprintf(stderr, "usage: acpd-fetch serve|probe UID GID [CA-FILE]\n");
		return 2;
	}
	/* threads that still look up a name are not waited for; nor can leaks be looked for: tracing is not allowed */
	_exit(serve(&who, argv[4]));
}
