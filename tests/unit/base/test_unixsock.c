/* UNIX sockets of other processes: in use, busy, stale, or of another kind. */
#include "unit.h"

#include "base/os/local_sock.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define PATIENCE 10 /* seconds: a call that blocks ends the test program */

static int bound(const char *name, int type)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", scratch_path(name));
	assert_true(fd >= 0);
	assert_return_code(bind(fd, (struct sockaddr *)&a, sizeof(a)), errno);
	return fd;
}

static bool exists(const char *name)
{
	return access(scratch_path(name), F_OK) == 0;
}

/* A process listens but does not accept: its backlog is full, and a blocking connect waits for it. */
static void a_full_backlog_is_in_use_and_not_waited_for(void **state _unused_)
{
	int fd = bound("busy", SOCK_STREAM), first;

	assert_return_code(listen(fd, 0), errno);
	first = unixsock_connect(scratch_path("busy"));
	assert_true(first >= 0);
	alarm(PATIENCE);
	assert_int_equal(unixsock_listen(scratch_path("busy")), -EADDRINUSE);
	unixsock_sweep(scratch_dir());
	alarm(0);
	assert_true(exists("busy"));
	close(first);
	close(fd);
}

static void a_socket_in_use_stays(void **state _unused_)
{
	int fd = unixsock_listen(scratch_path("used"));

	assert_true(fd >= 0);
	assert_int_equal(unixsock_listen(scratch_path("used")), -EADDRINUSE);
	unixsock_sweep(scratch_dir());
	assert_true(exists("used"));
	close(fd);
}

static void a_stale_socket_is_replaced(void **state _unused_)
{
	int fd = unixsock_listen(scratch_path("stale")), again;

	assert_true(fd >= 0);
	close(fd);
	again = unixsock_listen(scratch_path("stale"));
	assert_true(again >= 0);
	close(again);
	unixsock_sweep(scratch_dir());
	assert_false(exists("stale"));
}

/* The connection fails, but the socket is not stale: another program receives datagrams there. */
static void a_socket_of_another_type_stays(void **state _unused_)
{
	int fd = bound("datagrams", SOCK_DGRAM);

	assert_int_equal(unixsock_listen(scratch_path("datagrams")), -EPROTOTYPE);
	unixsock_sweep(scratch_dir());
	assert_true(exists("datagrams"));
	close(fd);
}

#define T(test) cmocka_unit_test_setup_teardown(test, scratch_setup, scratch_done)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_full_backlog_is_in_use_and_not_waited_for),
		T(a_socket_in_use_stays),
		T(a_stale_socket_is_replaced),
		T(a_socket_of_another_type_stays),
	};

	return RUN(tests, NULL, NULL);
}
