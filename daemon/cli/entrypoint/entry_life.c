/*
 * entry_life.c - what the first process of a container owes to the others: `acpd entrypoint` while its command
 * runs. It forwards signals, reaps orphans, and ends command and daemon.
 *
 * Signals are blocked before the first fork and read synchronously, so none is lost and no handler runs; one that
 * comes before there is a command reaches it. The command has a process group of its own, the foreground one where
 * there is a terminal. Every signal that can be passed on goes to that group, whatever it means to the command;
 * SIGTERM goes to the daemon beside it, too. Terminal signals do not reach the daemon's group.
 *
 * Either end ends both. Once the command has ended, the daemon drains. A daemon that ends though nobody has told it
 * to takes the command along (SIGTERM). What does not end within stop_ms of its SIGTERM is killed, and so is what
 * is left of both in the end; only that deadline gives the wait a timeout. The exit code is that of the first of
 * both that ends, and always the command's where SIGTERM was the cause.
 *
 * It works in any process: one that is not the first becomes a subreaper.
 */
#include "cli/entrypoint/entry_life.h"
#include "cli/cmd.h"

#include "base/clock.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define SIGNALLED 128 /* exit codes of a shell for a command that a signal has ended */
#define NOT_FOUND 127
#define NOT_EXECUTABLE 126

struct entry_life {
	const struct entry_plan *plan;
	pid_t command, daemon; /* 0: it has ended, or there is none */
	int code;	       /* what we shall end with; -1: neither has ended */
	uint64_t told_at;      /* when the daemon was first told to end; 0: it was not */
	uint64_t kill_at;      /* 0: nobody has been told to end by us */
};

/* Stops and faults are our own; SIGCHLD is news, not a message. */
static void fill_passed_on(sigset_t *set)
{
	static const int kept[] = { SIGKILL, SIGSTOP, SIGCHLD, SIGSEGV, SIGBUS,	 SIGFPE,
				    SIGILL,  SIGTRAP, SIGABRT, SIGSYS,	SIGTTIN, SIGTTOU };

	sigfillset(set);
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		sigdelset(set, kept[i]);
}

/* With SIGTTOU held, a group in the background may take the terminal. */
void entry_hold_signals(struct entry_plan *p)
{
	sigset_t held;

	fill_passed_on(&held);
	sigaddset(&held, SIGCHLD);
	sigaddset(&held, SIGTTOU);
	sigprocmask(SIG_BLOCK, &held, &p->mask);
}

/* --- starting both -------------------------------------------------------------------------------------------- */

/* In the child. */
static _noreturn_ void entry_exec(const struct entry_plan *p, const char *program, char **argv)
{
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	sigprocmask(SIG_SETMASK, &p->mask, NULL);
	execv(program, argv);
	_exit(errno == ENOENT ? NOT_FOUND : NOT_EXECUTABLE);
}

static int start_command(struct entry_life *n)
{
	n->command = fork();
	if (n->command == 0) {
		setpgid(0, 0);
		tcsetpgrp(STDIN_FILENO, getpid()); /* fails without a terminal of ours */
		entry_exec(n->plan, n->plan->program, n->plan->argv);
	}
	if (n->command > 0)
		setpgid(n->command, n->command); /* whoever is first */
	return n->command < 0 ? -errno : 0;
}

/* Standard output is the command's alone: the line with the daemon's address goes where its log goes. */
static int start_daemon(struct entry_life *n)
{
	if (!n->plan->daemon)
		return 0;
	n->daemon = fork();
	if (n->daemon == 0) {
		int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

		setpgid(0, 0);
		dup2(null, STDIN_FILENO);
		dup2(STDERR_FILENO, STDOUT_FILENO);
		entry_exec(n->plan, n->plan->daemon[0], n->plan->daemon);
	}
	return n->daemon < 0 ? -errno : 0;
}

/* --- ending both ---------------------------------------------------------------------------------------------- */

static int code_of(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : SIGNALLED + WTERMSIG(status);
}

static void signal_command(const struct entry_life *n, int signo)
{
	if (n->command > 0)
		kill(-n->command, signo);
}

static void signal_daemon(struct entry_life *n, int signo)
{
	if (n->daemon > 0)
		kill(n->daemon, signo);
	if (!n->told_at)
		n->told_at = clock_mono_ms();
}

static void command_ended(struct entry_life *n, int status)
{
	n->command = 0;
	if (n->code < 0)
		n->code = code_of(status);
	if (n->daemon <= 0)
		return;
	if (!n->told_at) /* once more would hurry it */
		signal_daemon(n, SIGTERM);
	n->kill_at = n->told_at + n->plan->stop_ms;
}

static void daemon_ended(struct entry_life *n, int status)
{
	n->daemon = 0;
	if (n->told_at || n->command <= 0)
		return;
	n->code = code_of(status);
	signal_command(n, SIGTERM);
	signal_command(n, SIGCONT); /* a stopped one would not hear of it */
	n->kill_at = clock_mono_ms() + n->plan->stop_ms;
}

static void entry_reap(struct entry_life *n)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		if (pid == n->command)
			command_ended(n, status);
		else if (pid == n->daemon)
			daemon_ended(n, status);
}

static void entry_pass_on(struct entry_life *n, int signo)
{
	signal_command(n, signo);
	if (signo == SIGTERM)
		signal_daemon(n, signo);
}

static void kill_late(struct entry_life *n)
{
	if (!n->kill_at || clock_mono_ms() < n->kill_at)
		return;
	signal_command(n, SIGKILL);
	signal_daemon(n, SIGKILL);
}

static void serve_signals(struct entry_life *n)
{
	static const struct timespec second = { .tv_sec = 1 };
	sigset_t set;

	fill_passed_on(&set);
	sigaddset(&set, SIGCHLD);
	while (n->command > 0 || n->daemon > 0) {
		int signo = n->kill_at ? sigtimedwait(&set, NULL, &second) :
					 sigwaitinfo(&set, NULL);

		if (signo == SIGCHLD)
			entry_reap(n);
		else if (signo > 0)
			entry_pass_on(n, signo);
		kill_late(n);
	}
}

int entry_run(const struct entry_plan *p, struct err *e)
{
	struct entry_life n = { .plan = p, .code = -1 };
	int r;

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	r = start_daemon(&n);
	if (r == 0)
		r = start_command(&n);
	if (r == 0)
		serve_signals(&n);
	/* As the kernel does when the first process of a namespace ends. */
	kill_descendants();
	return r == 0 ? n.code : err_set(e, r, 0, "START_FAILED", "no process: %s", strerror(-r));
}
