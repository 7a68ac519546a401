/*
 * What the levels take away: each form of the filter is entered by a child that then tries calls, and every row is asked as a
 * listener asks it. What comes of all of it in a real session is in tests/integration/confine.
 */
#include "confined_child.h"

#include "confine/confinement.h"
#include "confine/landlock.h"
#include "confine/confine_machine.h"

#include <linux/capability.h>
#include <linux/if_tun.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#define BIT40 ((uint64_t)1 << 40)

static const struct confinement *get(enum confine_level level, unsigned flags)
{
	struct err e = { 0 };
	const struct confinement *c = confinement_get(level, flags, &e);

	assert_string_equal(e.msg, "");
	return c;
}

/* --- what a filter refuses ----------------------------------------------------------------------------------- */

struct attempt {
	const char *name;
	long number;
	uint64_t args[CONFINE_CALL_ARGS];
	int guarded, strict; /* errno; 0: the kernel decides */
};

/* Calls that do nothing if they are let through: null pointers, bad descriptors. */
static const struct attempt attempts[] = {
	{ "bpf", SYS_bpf, { 99 }, EPERM, EPERM },
	{ "io_uring", SYS_io_uring_setup, { 0 }, ENOSYS, ENOSYS },
	{ "keyctl", SYS_keyctl, { 99 }, EPERM, EPERM },
	{ "pidfd_getfd", SYS_pidfd_getfd, { -1 }, EPERM, EPERM },
	{ "create_module", SYS_create_module, { 0 }, ENOSYS, ENOSYS },
	{ "name_to_handle_at", SYS_name_to_handle_at, { -1, 0 }, 0, 0 },
	{ "process_vm_readv", SYS_process_vm_readv, { -1 }, 0, 0 },
	{ "personality", SYS_personality, { PER_LINUX }, 0, 0 },
	{ "personality", SYS_personality, { ADDR_NO_RANDOMIZE }, 0, 0 },
	{ "personality?", SYS_personality, { UINT32_MAX }, 0, 0 },
	{ "personality rwx", SYS_personality, { READ_IMPLIES_EXEC }, EPERM, EPERM },
	{ "personality rwx+", SYS_personality, { READ_IMPLIES_EXEC | BIT40 }, EPERM, EPERM },
	{ "personality both",
	  SYS_personality,
	  { READ_IMPLIES_EXEC | ADDR_NO_RANDOMIZE },
	  EPERM,
	  EPERM },
	{ "personality high", SYS_personality, { 0x80000000 }, EPERM, EPERM },
	{ "TIOCSTI", SYS_ioctl, { -1, TIOCSTI }, EPERM, EPERM },
	{ "TIOCSTI+", SYS_ioctl, { -1, TIOCSTI | BIT40 }, EPERM, EPERM },
	{ "TIOCLINUX", SYS_ioctl, { -1, TIOCLINUX }, EPERM, EPERM },
	{ "TUNSETIFF", SYS_ioctl, { -1, TUNSETIFF }, EPERM, EPERM },
	{ "TUNSETIFF+", SYS_ioctl, { -1, TUNSETIFF | BIT40 }, EPERM, EPERM },
	{ "TUNGETFEATURES", SYS_ioctl, { -1, TUNGETFEATURES }, 0, 0 },
	{ "TCGETS", SYS_ioctl, { -1, TCGETS }, 0, 0 },
	{ "netlink route", SYS_socket, { AF_NETLINK, SOCK_RAW, NETLINK_ROUTE }, 0, 0 },
	{ "netlink filter",
	  SYS_socket,
	  { AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER },
	  EPROTONOSUPPORT,
	  EPROTONOSUPPORT },
	{ "tcp", SYS_socket, { AF_INET, SOCK_STREAM }, 0, 0 },
	{ "tcp flags", SYS_socket, { AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK }, 0, 0 },
	{ "udp+", SYS_socket, { AF_INET | BIT40, SOCK_DGRAM }, 0, 0 },
	{ "sctp",
	  SYS_socket,
	  { AF_INET, SOCK_STREAM, IPPROTO_SCTP },
	  EPROTONOSUPPORT,
	  EPROTONOSUPPORT },
	{ "raw", SYS_socket, { AF_INET, SOCK_RAW, 1 }, EPERM, EPERM },
	{ "raw flags", SYS_socket, { AF_INET6, SOCK_RAW | SOCK_CLOEXEC, 58 }, EPERM, EPERM },
	{ "raw+", SYS_socket, { AF_INET | BIT40, SOCK_RAW | BIT40, 1 }, EPERM, EPERM },
	{ "packet of old", SYS_socket, { AF_INET, 10 }, EPERM, EPERM },
	{ "unix pair", SYS_socketpair, { AF_UNIX, SOCK_STREAM, 0, 0 }, 0, 0 },
	{ "tipc pair", SYS_socketpair, { AF_TIPC, SOCK_STREAM, 0, 0 }, EAFNOSUPPORT, EAFNOSUPPORT },
	{ "unshare nothing", SYS_unshare, { CLONE_FILES }, 0, 0 },
	{ "unshare user", SYS_unshare, { CLONE_NEWUSER | CLONE_NEWNS }, 0, EPERM },
	{ "unshare time", SYS_unshare, { CLONE_NEWTIME }, 0, EPERM },
	{ "setns", SYS_setns, { -1 }, 0, EPERM },
	{ "clone3", SYS_clone3, { 0, 0 }, 0, ENOSYS },
	{ "clone net", SYS_clone, { CLONE_NEWNET | CLONE_NEWUSER | CLONE_THREAD }, 0, EPERM },
	{ "mount", SYS_mount, { 0, 0, 0, 0, 0 }, 0, EPERM },
	{ "fsopen", SYS_fsopen, { 0, 0 }, 0, EPERM },
	{ "chroot", SYS_chroot, { 0 }, 0, EPERM },
	{ "sethostname", SYS_sethostname, { 0, 1 << 20 }, 0, EPERM },
};

struct entered {
	const struct confinement *c; /* NULL: no filter, only as little privilege */
	const struct attempt *a;
};

static long make_call(long number, const uint64_t *a)
{
	return syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static int enter_and_call(const void *ctx)
{
	const struct entered *x = ctx;
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };

	if (confinement_drop_bounding(x->c) < 0 || confinement_enter(x->c, NULL) < 0 ||
	    syscall(SYS_capset, &head, none) < 0)
		return 127;
	return outcome(make_call(x->a->number, x->a->args));
}

/* A call that is let through answers as it does without a filter. */
static void check(const struct attempt *a, enum confine_level level, unsigned flags, int want)
{
	struct entered x = { get(level, flags), a };
	int got = child_result(enter_and_call, &x);

	if (!want)
		want = child_result(enter_and_call, &(struct entered){ NULL, a });
	if (got != want)
		fail_msg("%s under %s (flags %u): %s", a->name, level_name(level), flags,
			 strerror(got));
}

static void test_attempts(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(attempts); i++) {
		check(&attempts[i], LEVEL_GUARDED, 0, attempts[i].guarded);
		check(&attempts[i], LEVEL_STRICT, CONFINE_NESTS, attempts[i].guarded);
		check(&attempts[i], LEVEL_STRICT, 0, attempts[i].strict);
	}
}

/* Every family, with every bit pattern above that a rule could stumble over. */
static int try_families(const void *ctx)
{
	if (confinement_enter(ctx, NULL) < 0)
		return 1;
	for (uint64_t family = 0; family < 4096; family++) {
		bool kept = family == AF_UNIX || family == AF_INET || family == AF_INET6 ||
			    family == AF_NETLINK;
		/* a type that no family has: what is let through fails with another errno */
		long r = syscall(SYS_socket, family, 9, 0);

		if (r >= 0 || (errno == EAFNOSUPPORT) == kept)
			return 2;
	}
	for (unsigned bit = 12; bit < 32; bit++)
		if (syscall(SYS_socket, AF_INET | (uint64_t)1 << bit, 9, 0) >= 0 ||
		    errno != EAFNOSUPPORT)
			return 3;
	return 0;
}

static void test_families(void **state _unused_)
{
	assert_int_equal(child_result(try_families, get(LEVEL_GUARDED, 0)), 0);
}

static int call_other_architecture(const void *ctx)
{
	long r;

	if (confinement_enter(ctx, NULL) < 0)
		return 1;
#if defined(__x86_64__)
	signal(SIGSEGV, SIG_DFL); /* the handler of a sanitizer would exit instead */
	__asm__ volatile("int $0x80" : "=a"(r) : "0"(20L) : "memory");
	return r > 0 ? 2 : 3;
#else
	raise(SIGSYS);
	return 2;
#endif
}

static int call_x32(const void *ctx)
{
	if (confinement_enter(ctx, NULL) < 0)
		return 1;
#if defined(__x86_64__)
	syscall(0x40000000 | SYS_getpid);
#else
	raise(SIGSYS);
#endif
	return 2;
}

static void test_other_architectures(void **state _unused_)
{
	/* some machines have no i386 calls: a process that makes one ends by SIGSEGV there */
	bool has_i386 = child_result(call_other_architecture, NULL) != 128 + SIGSEGV;

	assert_int_equal(child_result(call_other_architecture, get(LEVEL_GUARDED, 0)),
			 128 + (has_i386 ? SIGSYS : SIGSEGV));
	assert_int_equal(child_result(call_x32, get(LEVEL_GUARDED, 0)), 128 + SIGSYS);
	assert_int_equal(child_result(call_x32, get(LEVEL_STRICT, CONFINE_NESTS)), 128 + SIGSYS);
}

/* --- capabilities -------------------------------------------------------------------------------------------- */

static int count_capabilities(const void *ctx)
{
	struct {
		struct __user_cap_header_struct head;
		struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
	} caps = { .head = { .version = _LINUX_CAPABILITY_VERSION_3 } };
	bool may = prctl(PR_CAPBSET_READ, CAP_SYS_BOOT) == 1 && geteuid() == 0;

	if (confinement_drop_bounding(ctx) < 0 || confinement_enter(ctx, NULL) < 0)
		return 1;
	syscall(SYS_capget, &caps.head, caps.sets);
	for (size_t i = 0; i < ARRAY_SIZE(caps.sets); i++)
		if (caps.sets[i].effective || caps.sets[i].permitted || caps.sets[i].inheritable)
			return 2;
	for (unsigned long cap = 0; may && prctl(PR_CAPBSET_READ, cap) >= 0; cap++)
		if (prctl(PR_CAPBSET_READ, cap) == 1)
			return 3;
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? 0 : 4;
}

static void test_capabilities(void **state _unused_)
{
	assert_int_equal(child_result(count_capabilities, get(LEVEL_GUARDED, 0)), 0);
	assert_int_equal(child_result(count_capabilities, get(LEVEL_STRICT, 0)), 0);
}

static int count_of_open(const void *ctx _unused_)
{
	int listener = 5;

	return confinement_drop_bounding(NULL) == 0 && confinement_enter(NULL, &listener) == 0 &&
			       listener == -1 && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0 &&
			       prctl(PR_GET_SECCOMP) == 0 ?
		       0 :
		       1;
}

static void test_open(void **state _unused_)
{
	assert_null(get(LEVEL_OPEN, 0));
	assert_null(get(LEVEL_OPEN, CONFINE_LOG));
	assert_int_equal(child_result(count_of_open, NULL), 0);
}

static void test_once(void **state _unused_)
{
	assert_ptr_equal(get(LEVEL_GUARDED, 0), get(LEVEL_GUARDED, 0));
	assert_ptr_not_equal(get(LEVEL_GUARDED, 0), get(LEVEL_GUARDED, CONFINE_LOG));
	assert_ptr_not_equal(get(LEVEL_STRICT, 0), get(LEVEL_STRICT, CONFINE_NESTS));
}

/* --- the listener -------------------------------------------------------------------------------------------- */

/* In the child: hands the listener to the parent, then makes a refused call and an allowed one. */
static int call_and_be_heard(const void *ctx)
{
	int to = *(const int *)ctx, listener;
	union {
		struct cmsghdr h;
		char room[CMSG_SPACE(sizeof(int))];
	} c = { .h = { CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
	struct iovec byte = { (void *)"x", 1 };
	struct msghdr m = {
		.msg_iov = &byte, .msg_iovlen = 1, .msg_control = &c, .msg_controllen = sizeof(c)
	};
	const struct confinement *log = get(LEVEL_STRICT, CONFINE_LOG);

	if (confinement_enter(log, NULL) != -EINVAL || confinement_enter(log, &listener) < 0)
		return 1;
	memcpy(CMSG_DATA(&c.h), &listener, sizeof(listener));
	if (sendmsg(to, &m, 0) != 1)
		return 2;
	close(listener);
	if (outcome(syscall(SYS_bpf, 99, 0, 0)) != EPERM)
		return 3;
	if (outcome(syscall(SYS_clone3, 0, 0)) != ENOSYS)
		return 4;
	return outcome(socket(AF_VSOCK, SOCK_STREAM, 0)) == EAFNOSUPPORT ? 0 : 5;
}

static int receive_listener(int from)
{
	union {
		struct cmsghdr h;
		char room[CMSG_SPACE(sizeof(int))];
	} c = { 0 };
	char byte;
	struct iovec data = { &byte, 1 };
	struct msghdr m = {
		.msg_iov = &data, .msg_iovlen = 1, .msg_control = &c, .msg_controllen = sizeof(c)
	};
	int fd;

	assert_int_equal(recvmsg(from, &m, MSG_CMSG_CLOEXEC), 1);
	memcpy(&fd, CMSG_DATA(&c.h), sizeof(fd));
	return fd;
}

static const struct denial *answer_one(int listener)
{
	struct seccomp_notif call = { 0 };
	struct seccomp_notif_resp answer = { 0 };
	struct pollfd p = { listener, POLLIN, 0 };
	const struct denial *d;
	uint64_t args[CONFINE_CALL_ARGS];

	assert_int_equal(poll(&p, 1, 60000), 1);
	assert_int_equal(ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call), 0);
	for (size_t i = 0; i < ARRAY_SIZE(args); i++)
		args[i] = call.data.args[i];
	d = confinement_denial(get(LEVEL_STRICT, CONFINE_LOG), call.data.nr, args);
	assert_non_null(d);
	answer.id = call.id;
	answer.error = -d->error;
	assert_int_equal(ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer), 0);
	return d;
}

static void test_listener(void **state _unused_)
{
	_cleanup_(closep) int listener = -1;
	int ends[2], status;
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	pid = fork();
	if (pid == 0)
		_exit(call_and_be_heard(&ends[1]));
	close(ends[1]);
	listener = receive_listener(ends[0]);
	close(ends[0]);
	assert_string_equal(answer_one(listener)->call, "bpf");
	assert_string_equal(answer_one(listener)->call, "clone3");
	assert_string_equal(answer_one(listener)->call, "socket");
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* The rows say the same as the filter that was made of them. */
static void test_denial(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(attempts); i++) {
		const struct attempt *a = &attempts[i];
		const struct denial *d =
			confinement_denial(get(LEVEL_GUARDED, 0), (int)a->number, a->args);
		const struct denial *s =
			confinement_denial(get(LEVEL_STRICT, 0), (int)a->number, a->args);

		if ((d ? d->error : 0) != a->guarded || (s ? s->error : 0) != a->strict)
			fail_row(i, a->name);
	}
}

/* --- the machine --------------------------------------------------------------------------------------------- */

static void test_machine(void **state _unused_)
{
	/* these are there wherever the tests run; the other two are not for everybody */
	assert_null(confine_machine_missing(MACHINE_NO_NEW_PRIVS));
	assert_null(confine_machine_missing(MACHINE_FILTER));
	assert_null(confine_machine_missing(MACHINE_LISTENER));
	assert_int_equal(confine_machine_missing(MACHINE_LANDLOCK) == NULL, landlock_abi() > 0);
	if (geteuid() != 0)
		assert_non_null(strstr(confine_machine_missing(MACHINE_BOUNDING), "CAP_SETPCAP"));
	/* nothing of it is left with us */
	assert_int_equal(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), 0);
	assert_int_equal(prctl(PR_GET_SECCOMP), 0);
}

static void test_level(void **state _unused_)
{
	enum confine_level level = LEVEL_MAX;

	for (unsigned i = 0; i < LEVEL_MAX; i++) {
		assert_int_equal(level_parse(level_name((enum confine_level)i), &level), 0);
		assert_int_equal(level, i);
		assert_non_null(strstr(LEVEL_NAMES, level_name((enum confine_level)i)));
	}
	assert_int_equal(level_parse("Guarded", &level), -EINVAL);
	assert_int_equal(level_parse("", &level), -EINVAL);
}

static int enter_result(const void *c)
{
	return -confinement_enter(c, NULL);
}

/* A machine that has run out of descriptors when the filter is needed for the first time. */
static void test_not_made(void **state _unused_)
{
	struct rlimit was, none;
	const struct confinement *c;

	getrlimit(RLIMIT_NOFILE, &was);
	none = (struct rlimit){ 3, was.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	c = confinement_get(LEVEL_GUARDED, CONFINE_NESTS, NULL);
	assert_null(confinement_get(LEVEL_GUARDED, CONFINE_NESTS, &(struct err){ 0 }));
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
	assert_int_equal(child_result(enter_result, c), EAGAIN);
	assert_ptr_equal(confinement_get(LEVEL_GUARDED, CONFINE_NESTS, NULL), c);
	assert_int_equal(child_result(enter_result, c), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_not_made),     cmocka_unit_test(test_attempts),
		cmocka_unit_test(test_families),     cmocka_unit_test(test_other_architectures),
		cmocka_unit_test(test_capabilities), cmocka_unit_test(test_open),
		cmocka_unit_test(test_once),	     cmocka_unit_test(test_listener),
		cmocka_unit_test(test_denial),	     cmocka_unit_test(test_machine),
		cmocka_unit_test(test_level),
	};

	return RUN(tests, NULL, NULL);
}
