/* A network namespace: what is reached from inside and from outside, and that nothing is left of it. Where the machine allows none,
 * that it says why. */
#include "proc/spaces/netns.h"
#include "base/util.h"
#include "unit.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

static bool possible(void)
{
	struct err why = { 0 };

	if (netns_try(&why) == 0) {
		assert_null(netns_missing());
		return true;
	}
	assert_true(why.msg[0]);
	assert_non_null(netns_missing());
	return false;
}

static int connect_to(const struct sockaddr_in *a)
{
	_cleanup_(closep) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return connect(fd, (const struct sockaddr *)a, sizeof(*a)) < 0 ? errno : 0;
}

/* errno of a connection from inside, or 0. */
static int connect_inside(const struct netns *n, const struct sockaddr_in *a)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(netns_enter(n) < 0 ? 255 : connect_to(a));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int listen_on(int fd, const char *host, struct sockaddr_in *ret)
{
	socklen_t n = sizeof(*ret);

	*ret = (struct sockaddr_in){ .sin_family = AF_INET };
	inet_pton(AF_INET, host, &ret->sin_addr);
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)ret, n), 0);
	assert_int_equal(listen(fd, 4), 0);
	getsockname(fd, (struct sockaddr *)ret, &n);
	return fd;
}

static void only_its_own_loopback_is_in_it(void **state _unused_)
{
	struct netns *n = possible() ? netns_new(NULL) : NULL;
	struct sockaddr_in inside, outside, far = { .sin_family = AF_INET, .sin_port = htons(80) };
	int in, out, accepted;

	if (!n)
		skip();
	in = listen_on(netns_socket(n, AF_INET, SOCK_STREAM), "127.33.44.55", &inside);
	out = listen_on(socket(AF_INET, SOCK_STREAM, 0), "127.0.0.1", &outside);
	inet_pton(AF_INET, "192.0.2.1", &far.sin_addr);
	assert_int_equal(connect_to(&inside), ECONNREFUSED);
	assert_int_equal(connect_inside(n, &inside), 0);
	assert_int_equal(connect_inside(n, &outside), ECONNREFUSED);
	assert_int_equal(connect_inside(n, &far), ENETUNREACH);
	assert_int_equal(fcntl(in, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	assert_int_equal(fcntl(in, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
	accepted = accept(in, NULL, NULL);
	assert_true(accepted >= 0);
	close(accepted);
	close(in);
	close(out);
	netns_unref(n);
}

static int count_open(void)
{
	int n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void the_last_reference_closes_it(void **state _unused_)
{
	struct netns *n;
	int before;

	if (!possible())
		skip();
	before = count_open();
	n = netns_new(NULL);
	assert_int_equal(count_open(), before + 1);
	assert_ptr_equal(netns_ref(n), n);
	netns_unref(n);
	assert_int_equal(count_open(), before + 1);
	netns_unref(n);
	assert_int_equal(count_open(), before);
	assert_null(netns_unref(netns_ref(NULL)));
}

/* The limit is raised until there are enough: before that it fails, and leaves none open. */
static void without_descriptors_it_fails(void **state _unused_)
{
	struct rlimit files, few;
	struct netns *n = NULL;
	int before, limit = 0;

	if (!possible())
		skip();
	before = count_open();
	getrlimit(RLIMIT_NOFILE, &files);
	while (!n) {
		struct err e = { 0 };

		few = (struct rlimit){ (rlim_t)limit, files.rlim_max };
		setrlimit(RLIMIT_NOFILE, &few);
		n = netns_new(&e);
		assert_true(n || e.msg[0]);
		assert_int_equal(count_open(), before + (n ? 1 : 0));
		limit += !n;
	}
	setrlimit(RLIMIT_NOFILE, &files);
	assert_true(limit > 2);
	netns_unref(n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_its_own_loopback_is_in_it),
		cmocka_unit_test(the_last_reference_closes_it),
		cmocka_unit_test(without_descriptors_it_fails),
	};

	return RUN(tests, NULL, NULL);
}
