/*
 * How our own programs confine themselves: Landlock by every version of its interface that the kernel can play, and lists
 * of system calls with conditions on their arguments.
 */
#include "confined_child.h"

#include "confine/confine_list.h"
#include "confine/confine_self.h"
#include "confine/landlock.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* --- Landlock ------------------------------------------------------------------------------------------------ */

static char scratch[] = "/tmp/acpd-landlock-XXXXXX";

enum { CANNOT_ENTER = 100, CANNOT_BIND };

struct
try {
	int abi_max, abi_min;
	int (*act)(void);
};

static int enter_and_try(const void *ctx)
{
	const struct try *t = ctx;
	int dir = open(scratch, O_PATH | O_DIRECTORY);
	const int dirs[] = { dir, -1 };
	const char *const paths[] = { "/etc", "/there/is/no/such/place", NULL };
	const struct landlock_grant grants[] = {
		{ .rights = LL_FS_ALL & ~LL_FS_IOCTL_DEV, .dirs = dirs },
		{ .rights = LL_FS_READ_FILE, .paths = paths },
	};
	const struct landlock_spec spec = {
		.fs = LL_FS_ALL,
		.net = LL_NET_BIND_TCP,
		.scoped = LL_SCOPED_ALL,
		.grants = grants,
		.n_grants = ARRAY_SIZE(grants),
		.abi_min = t->abi_min,
		.abi_max = t->abi_max,
	};
	int r;

	if (confine_self_bind(getppid()) < 0)
		return CANNOT_BIND;
	r = landlock_enter(&spec);
	if (!t->act)
		return r < 0 ? CANNOT_ENTER : r;
	return r < 0 ? CANNOT_ENTER : t->act();
}

static int read_kept(void)
{
	return outcome(open("/etc/passwd", O_RDONLY));
}

static int read_other(void)
{
	return outcome(open("/usr/bin/env", O_RDONLY));
}

static int write_kept(void)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/file", scratch);
	return outcome(open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600));
}

static int write_other(void)
{
	return outcome(open("/tmp/acpd-landlock-other", O_WRONLY | O_CREAT, 0600));
}

static int list_read_only(void)
{
	return outcome(open("/etc", O_RDONLY | O_DIRECTORY));
}

static int bind_port(void)
{
	struct sockaddr_in any = { .sin_family = AF_INET };

	return outcome(bind(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&any, sizeof(any)));
}

static int signal_parent(void)
{
	return outcome(kill(getppid(), 0));
}

static int truncate_other(void)
{
	return outcome(truncate("/tmp/acpd-landlock-long", 1));
}

static void test_landlock_versions(void **state _unused_)
{
	static const struct {
		const char *name;
		int (*act)(void);
		int want, since; /* before that version it is not forbidden */
	} acts[] = {
		{ "readKept", read_kept, 0, 1 },
		{ "readOther", read_other, EACCES, 1 },
		{ "writeKept", write_kept, 0, 1 },
		{ "writeOther", write_other, EACCES, 1 },
		{ "listReadOnly", list_read_only, EACCES, 1 },
		{ "truncateOther", truncate_other, EACCES, 3 },
		{ "bindPort", bind_port, EACCES, 4 },
		{ "signalParent", signal_parent, EPERM, 6 },
	};
	int abi = landlock_abi(), file = open("/tmp/acpd-landlock-long", O_WRONLY | O_CREAT, 0600);

	if (abi == 0)
		skip();
	assert_true(file >= 0);
	close(file);
	assert_non_null(mkdtemp(scratch));
	for (int max = 1; max <= abi; max++) {
		struct try t = { .abi_max = max };

		assert_int_equal(child_result(enter_and_try, &t), max);
		for (size_t i = 0; i < ARRAY_SIZE(acts); i++) {
			int want = max >= acts[i].since ? acts[i].want : 0;

			t.act = acts[i].act;
			if (child_result(enter_and_try, &t) != want)
				fail_msg("ABI %d: %s", max, acts[i].name);
		}
	}
	/* less than it takes: as without Landlock */
	assert_int_equal(child_result(enter_and_try, &(struct try){ .abi_max = 1, .abi_min = 2 }),
			 0);
	assert_int_equal(child_result(enter_and_try,
				      &(struct try){ .abi_max = 1, .abi_min = 2, read_other }),
			 0);
	unlink("/tmp/acpd-landlock-long");
	unlink("/tmp/acpd-landlock-other");
}

/* --- lists of calls ------------------------------------------------------------------------------------------ */

static const struct confine_row rows[] = {
	{ "socket", { CONFINE_INT(0, AF_INET) } },
	{ "socket", { CONFINE_INT(0, AF_INET6) } },
	{ "prlimit64", { CONFINE_INT(0, 0), CONFINE_WHOLE(2, 0) } },
};
static const struct confine_list calls = {
	.calls =
		" write  getuid mmap mprotect munmap madvise futex set_robust_list rseq rt_sigprocmask sigaltstack exit exit_group ",
	.rows = rows,
	.n_rows = ARRAY_SIZE(rows),
	.threads = true,
};

static long call_socket(uint64_t family)
{
	return syscall(SYS_socket, family, SOCK_STREAM, 0);
}

_unused_ static void *nothing(void *arg)
{
	return arg;
}

_unused_ static long start_thread(void)
{
	pthread_t t;
	int r = pthread_create(&t, NULL, nothing, NULL);

	errno = r;
	return r ? -1 : 0;
}

/* The number of the first that is not as it should be. */
static int try_list(const void *ctx _unused_)
{
	struct rlimit limit = { 0 };
	int n = 0;

#define MUST(e)                                                                                    \
	do {                                                                                       \
		n++;                                                                               \
		if (!(e))                                                                          \
			return n;                                                                  \
	} while (0)
	MUST(confine_self_bind(getppid()) == 0);
	MUST(confine_list_enter(&calls) == 0);
	MUST(getuid() == syscall(SYS_getuid));
	MUST(syscall(SYS_getppid) < 0 && errno == EPERM);
	MUST(call_socket(AF_INET) >= 0);
	MUST(call_socket(AF_INET6) >= 0);
	MUST(call_socket(AF_UNIX) < 0 && errno == EPERM);
	/* the upper half is not what the kernel reads */
	MUST(call_socket(AF_INET | (uint64_t)1 << 40) >= 0);
	MUST(syscall(SYS_prlimit64, 0, RLIMIT_CORE, NULL, &limit) == 0);
	MUST(syscall(SYS_prlimit64, 0, RLIMIT_CORE, &limit, NULL) < 0 && errno == EPERM);
	MUST(syscall(SYS_prlimit64, 1, RLIMIT_CORE, NULL, &limit) < 0 && errno == EPERM);
	MUST(syscall(SYS_prlimit64, 0, RLIMIT_CORE, (uint64_t)1 << 40, NULL) < 0 && errno == EPERM);
	MUST(syscall(SYS_clone3, NULL, 0) < 0 && errno == ENOSYS);
	MUST(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) < 0 && errno == EPERM);
#if !defined(__SANITIZE_ADDRESS__) /* whose threads call more */
	MUST(start_thread() == 0);
#endif
	MUST(syscall(SYS_tgkill, 1, 1, 0) < 0 && errno == EPERM);
#undef MUST
	return 0;
}

static void test_list(void **state _unused_)
{
	assert_int_equal(child_result(try_list, NULL), 0);
}

static void test_list_wrong(void **state _unused_)
{
	static const struct confine_row no_call[] = { { "sokcet", { CONFINE_INT(0, 1) } } };

	assert_int_equal(confine_list_enter(&(struct confine_list){ .calls = "read raed" }),
			 -EINVAL);
	assert_int_equal(confine_list_enter(&(struct confine_list){
				 .calls = "read", .rows = no_call, .n_rows = 1 }),
			 -EINVAL);
}

static int bind_to_stranger(const void *ctx _unused_)
{
	return -confine_self_bind(getppid() + 1);
}

static int limit_core(const void *ctx _unused_)
{
	struct rlimit r;

	confine_self_limit(RLIMIT_NOFILE, 64);
	confine_self_limit(RLIMIT_NOFILE, 1000);
	return getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_max == 64 && r.rlim_cur == 64 ? 0 : 1;
}

static int bind_self(const void *ctx _unused_)
{
	int r = confine_self_bind(getppid()), signal = 0;

	prctl(PR_GET_PDEATHSIG, &signal);
	return r == 0 && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 &&
			       prctl(PR_GET_DUMPABLE) == 0 && signal == SIGKILL ?
		       0 :
		       1;
}

static void test_self(void **state _unused_)
{
	assert_int_equal(child_result(bind_self, NULL), 0);
	assert_int_equal(child_result(bind_to_stranger, NULL), ESRCH);
	assert_int_equal(child_result(limit_core, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_landlock_versions),
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_list_wrong),
		cmocka_unit_test(test_self),
	};

	return RUN(tests, NULL, NULL);
}
