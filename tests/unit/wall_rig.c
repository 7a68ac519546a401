#include "wall_rig.h"

#include "base/clock.h"
#include "proc/spaces/netns.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define PATIENCE_MS 20000
#define CONNS_MAX 256

struct loop *near_loop;
struct proc_host *near_procs;
static struct netns *far;
static pid_t far_pid, lo_pid;

/* --- processes --------------------------------------------------------------------------------------------- */

static void become(uid_t uid, unsigned flags)
{
	if (flags & BY_SOCKET_ONLY) {
		setfsuid(uid);
		return;
	}
	if (uid && (setgroups(0, NULL) < 0 || setresgid(uid, uid, uid) < 0 ||
		    setresuid(uid, uid, uid) < 0))
		_exit(254);
	if ((flags & IN_USERNS) && unshare(CLONE_NEWUSER) < 0)
		_exit(253);
}

pid_t start_as_user(uid_t uid, unsigned flags, int (*fn)(const void *arg), const void *arg)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		become(uid, flags);
		_exit(fn(arg));
	}
	assert_true(pid > 0);
	return pid;
}

int finish(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int as_user(uid_t uid, unsigned flags, int (*fn)(const void *arg), const void *arg)
{
	return finish(start_as_user(uid, flags, fn, arg));
}

static const char *shell_in(struct netns *n, const char *command)
{
	static char text[16384];
	int out[2];
	size_t have = 0;
	ssize_t got;
	pid_t pid;

	assert_int_equal(pipe(out), 0);
	pid = fork();
	if (pid == 0) {
		if (n && netns_enter(n) < 0)
			_exit(126);
		dup2(out[1], 1);
		dup2(out[1], 2);
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	close(out[1]);
	while (have < sizeof(text) - 1 &&
	       (got = read(out[0], text + have, sizeof(text) - 1 - have)) > 0)
		have += (size_t)got;
	text[have] = '\0';
	close(out[0]);
	if (finish(pid) != 0)
		print_message("%s: %s\n", command, text);
	return text;
}

const char *near_shell(const char *command)
{
	return shell_in(NULL, command);
}

/* --- servers ----------------------------------------------------------------------------------------------- */

static int serve_on(int type, uint16_t port)
{
	struct sockaddr_in6 a = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	int fd = socket(AF_INET6, type | SOCK_NONBLOCK, 0), off = 0, on = 1;

	setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 ||
	    (type == SOCK_STREAM && listen(fd, 64) < 0))
		_exit(1);
	return fd;
}

struct server {
	struct pollfd fds[CONNS_MAX];
	bool pushes[CONNS_MAX], listens[CONNS_MAX], datagrams[CONNS_MAX];
	size_t n;
};

static void echo(struct server *s, size_t i)
{
	struct sockaddr_storage from;
	socklen_t size = sizeof(from);
	char byte[64];
	ssize_t n;

	if (s->datagrams[i]) {
		n = recvfrom(s->fds[i].fd, byte, sizeof(byte), 0, (struct sockaddr *)&from, &size);
		if (n > 0)
			sendto(s->fds[i].fd, byte, (size_t)n, 0, (struct sockaddr *)&from, size);
		return;
	}
	n = read(s->fds[i].fd, byte, sizeof(byte));
	if (n > 0 && write(s->fds[i].fd, byte, (size_t)n) == n)
		return;
	close(s->fds[i].fd);
	s->fds[i].fd = -1;
}

static void add(struct server *s, int fd, bool listens, bool datagrams, bool pushes)
{
	size_t i = 0;

	while (i < s->n && s->fds[i].fd >= 0)
		i++;
	if (fd < 0)
		return;
	if (i == CONNS_MAX) {
		close(fd);
		return;
	}
	s->fds[i] = (struct pollfd){ .fd = fd, .events = POLLIN };
	s->listens[i] = listens;
	s->datagrams[i] = datagrams;
	s->pushes[i] = pushes;
	s->n = MAX(s->n, i + 1);
}

_noreturn_ static void serve(struct server *s)
{
	signal(SIGPIPE, SIG_IGN);
	for (;;) {
		poll(s->fds, s->n, 10);
		for (size_t i = 0; i < s->n; i++) {
			bool ready = s->fds[i].fd >= 0 && s->fds[i].revents;

			if (ready && s->listens[i])
				add(s, accept4(s->fds[i].fd, NULL, NULL, SOCK_NONBLOCK), false,
				    false, s->pushes[i]);
			else if (ready)
				echo(s, i);
			else if (s->fds[i].fd >= 0 && s->pushes[i] && !s->listens[i] &&
				 write(s->fds[i].fd, "p", 1) < 0)
				s->fds[i].revents = 0;
		}
	}
}

static pid_t start_server(struct netns *n, const uint16_t *tcp, const uint16_t *udp, uint16_t push)
{
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		struct server s = { 0 };

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (n && netns_enter(n) < 0)
			_exit(1);
		for (; *tcp; tcp++)
			add(&s, serve_on(SOCK_STREAM, *tcp), true, false, *tcp == push);
		for (; *udp; udp++)
			add(&s, serve_on(SOCK_DGRAM, *udp), false, true, false);
		close(ready[1]);
		serve(&s);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 0);
	close(ready[0]);
	return pid;
}

static int serve_one(const void *arg)
{
	int c = accept(*(const int *)arg, NULL, NULL);
	char bytes[64];
	ssize_t n;

	while ((n = read(c, bytes, sizeof(bytes))) > 0)
		if (send(c, bytes, (size_t)n, MSG_NOSIGNAL) != n)
			return errno;
	return n < 0 ? errno : 0;
}

static int make_and_serve(const void *arg)
{
	int fd = serve_on(SOCK_STREAM, *(const uint16_t *)arg);

	fcntl(fd, F_SETFL, 0);
	return serve_one(&fd);
}

pid_t serve_as_user(uid_t uid, uint16_t port)
{
	pid_t pid = start_as_user(uid, 0, make_and_serve, &port);
	char probe[64];

	snprintf(probe, sizeof(probe), "ss -Hltn sport = :%u", port);
	for (int i = 0; i < 6000 && !strstr(near_shell(probe), "LISTEN"); i++)
		usleep(10000);
	return pid;
}

/* --- tries ------------------------------------------------------------------------------------------------- */

int aim_open(const struct aim *a)
{
	struct sockaddr_in6 to6 = { .sin6_family = AF_INET6, .sin6_port = htons(a->port) };
	struct sockaddr_in to4 = { .sin_family = AF_INET, .sin_port = htons(a->port) };
	bool six = inet_pton(AF_INET6, a->host, &to6.sin6_addr) == 1;
	struct timeval patience = { .tv_usec = 500000 };
	int fd = socket(six ? AF_INET6 : AF_INET, a->type, a->protocol), r;

	if (fd < 0)
		return -errno;
	inet_pton(AF_INET, a->host, &to4.sin_addr);
	if (a->type == SOCK_RAW) {
		to4.sin_port = 0;
		to6.sin6_port = 0;
	}
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	r = six ? connect(fd, (struct sockaddr *)&to6, sizeof(to6)) :
		  connect(fd, (struct sockaddr *)&to4, sizeof(to4));
	if (r < 0) {
		r = -errno;
		close(fd);
		return r;
	}
	return fd;
}

int try_aim(const void *arg)
{
	const struct aim *a = arg;
	/* an ICMP echo request, which is as good as any other byte for the rest */
	unsigned char message[8] = { 8, 0, 0xf7, 0xff, 0, 0, 0, 0 };
	int fd = aim_open(a);

	if (fd < 0)
		return -fd;
	if (send(fd, message, sizeof(message), MSG_NOSIGNAL) < 0)
		return errno;
	if (a->type == SOCK_RAW) /* sent is what counts */
		return 0;
	return recv(fd, message, sizeof(message), 0) > 0 ? 0 : errno ? errno : EPIPE;
}

int try_from_far(const struct aim *a)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(netns_enter(far) < 0 ? 255 : try_aim(a));
	return finish(pid);
}

unsigned far_packets(void)
{
	const char *text = shell_in(far, "nft list counter inet seen arrived"),
		   *at = strstr(text, "packets ");
	unsigned n = 0;

	assert_non_null(at);
	assert_int_equal(sscanf(at, "packets %u", &n), 1);
	return n;
}

/* --- the two sides ----------------------------------------------------------------------------------------- */

static void on_signal(void *ctx _unused_, int signo _unused_)
{
	proc_host_reap(near_procs);
}

void near_again(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	near_loop = loop_new();
	near_procs = proc_host_new(near_loop, NULL);
	loop_signals(near_loop, &set, on_signal, NULL);
}

static const char far_up[] =
	"ip addr add " FAR4 "/24 dev far0 && ip addr add " FAR6
	"/64 dev far0 nodad && ip link set far0 up && "
	"nft -f - <<'END'\n"
	"table inet seen {\n"
	"	counter arrived { }\n"
	"	chain in {\n"
	"		type filter hook prerouting priority raw;\n"
	"		iifname != \"far0\" return\n"
	"		icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert, nd-router-solicit, mld2-listener-report, "
	"mld-listener-report } return\n"
	"		counter name arrived\n"
	"	}\n"
	"}\n"
	"END\n";

/* A process in it is what the command finds it by. */
static bool make_cable(void)
{
	static const uint16_t none[] = { 0 };
	char command[512];
	pid_t there = start_server(far, none, none, 0);

	snprintf(
		command, sizeof(command),
		"ip link set lo up && ip link add near0 type veth peer name far0 && ip link set far0 netns %d && "
		"ip addr add " NEAR4 "/24 dev near0 && ip addr add " NEAR6
		"/64 dev near0 nodad && ip link set near0 up && echo made",
		there);
	if (!strstr(near_shell(command), "made"))
		return false;
	shell_in(far, far_up);
	kill(there, SIGKILL);
	finish(there);
	return true;
}

bool near_possible(void)
{
	return far;
}

int near_begin(void **state _unused_)
{
	static const uint16_t far_tcp[] = { FAR_ECHO, 53, 443, FAR_PUSH, 0 },
			      far_udp[] = { 53, 443, 0 },
			      lo_tcp[] = { NEAR_PLAIN, NEAR_DAEMON, 22, 53, 1023, 0 },
			      lo_udp[] = { 53, 5353, 0 };

	near_again();
	if (geteuid() != 0 || access("/usr/sbin/nft", X_OK) < 0 || unshare(CLONE_NEWNET) < 0)
		return 0;
	far = netns_new(NULL);
	if (far && !make_cable())
		far = netns_unref(far);
	if (!far)
		return 0;
	far_pid = start_server(far, far_tcp, far_udp, FAR_PUSH);
	lo_pid = start_server(NULL, lo_tcp, lo_udp, 0);
	return 0;
}

int near_end(void **state _unused_)
{
	if (far_pid) {
		kill(far_pid, SIGKILL);
		kill(lo_pid, SIGKILL);
		finish(far_pid);
		finish(lo_pid);
	}
	far = netns_unref(far);
	near_procs = proc_host_free(near_procs);
	near_loop = loop_free(near_loop);
	return 0;
}

static void turn(unsigned ms)
{
	struct pollfd p = { .fd = loop_fd(near_loop), .events = POLLIN };

	poll(&p, 1, (int)ms);
	loop_dispatch(near_loop);
}

void near_until(const bool *flag)
{
	uint64_t end = clock_mono_ms() + PATIENCE_MS;

	while (!*flag && clock_mono_ms() < end)
		turn(50);
	assert_true(*flag);
}

void near_run(unsigned ms)
{
	uint64_t end = clock_mono_ms() + ms;

	while (clock_mono_ms() < end)
		turn(5);
}
