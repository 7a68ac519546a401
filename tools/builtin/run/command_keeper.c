/*
 * command_keeper.c - the reaper process above one command, and the socket between it and the tools.
 *
 * The process is a fork without exec. Inherited descriptors are closed first, because a pipe held
 * here would hide the end of an output. The socket is SOCK_SEQPACKET, so each message stays whole.
 * The end of the socket reports that no process is left. Killing takes several rounds, because a
 * killed parent may have forked meanwhile.
 */
#include "tools/builtin/run/command_keeper.h"

#include "base/limits.h"
#include "proc/table/process_tree.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define KEEPER_SOCK 3 /* after it has tidied up */
#define KEEPER_FDS 3  /* stdin, stdout, stderr of the command */

/* --- in the keeper ----------------------------------------------------------------------------------- */

struct keeping {
	int signals;
	pid_t leader;	 /* 0: has ended */
	bool ending;	 /* everything is being killed */
	unsigned rounds; /* of killing */
	struct command_keeper_word exit;
};

static void keeper_send(const struct command_keeper_word *word, const int *fds)
{
	union {
		char space[CMSG_SPACE(KEEPER_FDS * sizeof(int))];
		struct cmsghdr align;
	} control = { { 0 } };
	struct iovec iov = { (void *)(uintptr_t)word, sizeof(*word) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (fds) {
		msg.msg_control = control.space;
		msg.msg_controllen = sizeof(control.space);
		*CMSG_FIRSTHDR(&msg) =
			(struct cmsghdr){ .cmsg_level = SOL_SOCKET,
					  .cmsg_type = SCM_RIGHTS,
					  .cmsg_len = CMSG_LEN(KEEPER_FDS * sizeof(int)) };
		memcpy(CMSG_DATA(CMSG_FIRSTHDR(&msg)), fds, KEEPER_FDS * sizeof(int));
	}
	if (sendmsg(KEEPER_SOCK, &msg, MSG_NOSIGNAL) < 0)
		errno = 0; /* the reader is gone: the socket's end is seen next */
}

/* Nothing of ours may stay open in the keeper: a pipe that we hold would keep its reader waiting after we have died. */
static void keeper_tidy(int sock)
{
	int null;

	dup2(sock, KEEPER_SOCK);
	syscall(SYS_close_range, KEEPER_SOCK + 1, ~0u, 0);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; fd < KEEPER_SOCK; fd++)
		dup2(null, fd);
	close(null);
	/* dup2 does not copy this flag (dup(2)), and the command must not inherit the socket. */
	fcntl(KEEPER_SOCK, F_SETFD, FD_CLOEXEC);
}

/* All signals, so that nothing but the loop below ends the keeper, SIGKILL excepted. SIGCHLD
 * is read from the descriptor. */
static int block_signals(void)
{
	sigset_t all, child;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	return signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Returns the pid of the command, or 0. In both cases the first word was sent. */
static pid_t keeper_start(const struct proc_spec *spec)
{
	struct command_keeper_word word = { .kind = KEEPER_STARTED };
	struct spawned s;
	struct err e = { 0 };
	int r = spawn_child(spec, NULL, &s, &e), fds[KEEPER_FDS];

	if (r < 0) {
		word.kind = KEEPER_FAILED;
		word.code = r;
		memcpy(word.reason, e.reason, sizeof(word.reason));
		memcpy(word.msg, e.msg, sizeof(word.msg));
		keeper_send(&word, NULL);
		return 0;
	}
	fds[0] = s.in;
	fds[1] = s.out;
	fds[2] = s.errout;
	word.pid = s.pid;
	keeper_send(&word, fds);
	/* The message carries copies. A pipe that stays open here would hide the end of an output. */
	for (int i = 0; i < KEEPER_FDS; i++)
		close(fds[i]);
	closep(&s.pidfd);
	return s.pid;
}

static uint64_t keeper_micros(struct timeval tv)
{
	return (uint64_t)tv.tv_sec * 1000000 + (uint64_t)tv.tv_usec;
}

/* False when no child is left. */
static bool keeper_reap(struct keeping *k)
{
	struct rusage used;
	int status;
	pid_t pid;

	while ((pid = wait4(-1, &status, WNOHANG, &used)) > 0) {
		/* An orphan that came to the subreaper: it must be reaped, and its status is not
		 * reported. */
		if (pid != k->leader)
			continue;
		k->exit = (struct command_keeper_word){ .kind = KEEPER_EXITED,
							.code = status,
							.pid = pid,
							.cpu_us = keeper_micros(used.ru_utime) +
								  keeper_micros(used.ru_stime) };
		k->leader = 0;
		k->ending = true;
	}
	/* 0: children run. -1 with ECHILD: none is left. */
	return pid == 0;
}

/* One round of killing; the first one after the command's end counts what it left. */
static void kill_round(struct keeping *k)
{
	int found = tree_kill_descendants();

	k->rounds++;
	if (k->exit.kind == KEEPER_EXITED && !k->leader) {
		k->exit.left = found > 0 ? (unsigned)found : 0;
		keeper_send(&k->exit, NULL);
		/* Marks the report as sent: keeper_main sends it only if no round of killing has. */
		k->exit.kind = KEEPER_STARTED;
	}
}

static void listen_once(struct keeping *k)
{
	int signo;
	ssize_t n = recv(KEEPER_SOCK, &signo, sizeof(signo), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	/* The end of the socket, too: the tools have died, and nothing may outlive them. */
	if (n != (ssize_t)sizeof(signo) || signo == SIGKILL)
		k->ending = true;
	else if (k->leader)
		kill(-k->leader, signo); /* its own group: spawn_child made it a session leader */
}

_noreturn_ static void keeper_main(const struct proc_spec *spec, const char *remove, int sock)
{
	struct keeping k = { 0 };
	struct signalfd_siginfo si;
	int left;

	keeper_tidy(sock);
	/* Out of the tools' process group: SIGKILL to that group, which cannot be blocked, must
	 * not end it. */
	setsid();
	prctl(PR_SET_NAME, "acpd-keeper");
	/* Both before keeper_start(): every orphan must come here, and no SIGCHLD may be lost. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	k.signals = block_signals();
	k.leader = keeper_start(spec);
	k.ending = !k.leader;
	/* Rounds are limited, because a process in an uninterruptible sleep does not die. */
	while (keeper_reap(&k) && k.rounds < SWEEP_ROUNDS) {
		struct pollfd p[] = { { k.signals, POLLIN, 0 }, { KEEPER_SOCK, POLLIN, 0 } };

		if (k.ending)
			kill_round(&k);
		/* when ending, nothing more is read from the socket */
		if (poll(p, k.ending ? 1 : 2, k.ending ? SWEEP_ROUND_MS : -1) <= 0)
			continue;
		if (p[0].revents && read(k.signals, &si, sizeof(si)) < 0)
			errno = 0; /* a hint only: reap checks itself */
		if (!k.ending && p[1].revents)
			listen_once(&k);
	}
	if (remove && recv(KEEPER_SOCK, &left, sizeof(left), MSG_DONTWAIT) == 0)
		unlink(remove); /* no other process is left to do it */
	if (k.exit.kind == KEEPER_EXITED)
		keeper_send(&k.exit, NULL);
	_exit(0);
}

/* --- on our side ------------------------------------------------------------------------------------- */

int command_keeper_read(int sock, struct command_keeper_word *ret)
{
	ssize_t n = recv(sock, ret, sizeof(*ret), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return -EAGAIN;
	return n == (ssize_t)sizeof(*ret) ? 0 : 1;
}

void command_keeper_signal(int sock, int signo)
{
	if (send(sock, &signo, sizeof(signo), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		errno = 0; /* it has gone: so has all it kept */
}

/* The first word, and with it the descriptors. */
static int first_word(int sock, struct command_keeper_word *word, int fds[KEEPER_FDS])
{
	union {
		char space[CMSG_SPACE(KEEPER_FDS * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = { word, sizeof(*word) };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control.space,
			      .msg_controllen = sizeof(control.space) };
	ssize_t n;

	/* The flag is set by the call itself, because another thread may fork between two calls. */
	n = RETRY(recvmsg(sock, &msg, MSG_CMSG_CLOEXEC));
	if (n != (ssize_t)sizeof(*word))
		return -EIO;
	if (word->kind != KEEPER_STARTED)
		return 0;
	if (!CMSG_FIRSTHDR(&msg) ||
	    CMSG_FIRSTHDR(&msg)->cmsg_len != CMSG_LEN(KEEPER_FDS * sizeof(int)))
		return -EIO;
	memcpy(fds, CMSG_DATA(CMSG_FIRSTHDR(&msg)), KEEPER_FDS * sizeof(int));
	return 0;
}

/* Waits for the fork and the exec of the command: only then its failure to start is known. */
static int await_start(struct command_keeper *k, struct err *e)
{
	struct command_keeper_word word = { 0 };
	int fds[KEEPER_FDS];
	int r = first_word(k->sock, &word, fds);

	if (r < 0)
		return err_set(e, r, RPC_INTERNAL_ERROR, "EXECUTION_FAILED",
			       "the process that starts commands has died");
	if (word.kind == KEEPER_FAILED) {
		/* spawn_child also starts harnesses and names them in its other reasons. */
		bool cwd = strcmp(word.reason, "CWD_NOT_ACCESSIBLE") == 0;

		return err_set(e, word.code, RPC_INTERNAL_ERROR,
			       cwd ? word.reason : "EXECUTION_FAILED", "%s", word.msg);
	}
	k->command = (struct spawned){
		.pid = word.pid, .pidfd = -1, .in = fds[0], .out = fds[1], .errout = fds[2]
	};
	return 0;
}

int command_keeper_start(const struct proc_spec *spec, const char *remove,
			 struct command_keeper *ret, struct err *e)
{
	int sv[2], r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv) < 0)
		return err_set(e, -errno, RPC_INTERNAL_ERROR, "EXECUTION_FAILED",
			       "cannot open a socket: %s", strerror(errno));
	ret->sock = sv[0];
	ret->pid = fork();
	if (ret->pid == 0)
		keeper_main(spec, remove, sv[1]);
	r = ret->pid < 0 ? -errno : 0;
	/* Before the wait: with this end open, the death of the keeper would not end the socket. */
	close(sv[1]);
	if (r < 0)
		err_set(e, r, RPC_INTERNAL_ERROR, "EXECUTION_FAILED", "fork: %s", strerror(-r));
	else
		r = await_start(ret, e);
	if (r < 0)
		close(ret->sock);
	/* The keeper exits on its own, because it has no child to wait for. */
	if (r < 0 && ret->pid > 0)
		waitpid(ret->pid, NULL, 0);
	return r;
}
