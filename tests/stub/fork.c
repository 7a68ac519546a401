/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "fork HOW": leaves a grandchild behind in the ways that real agents do. Each reports its pid and
 * ends by itself after LINGER_MS, so that a failed test leaves nothing for ever.
 */
#include "stub.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void drop_stdio(void)
{
	int fd = open("/dev/null", O_RDWR);

	for (int i = 0; i < 3; i++)
		dup2(fd, i);
	if (fd > 2)
		close(fd);
}

static void linger(void)
{
	struct timespec left = { LINGER_MS / 1000, 0 };

	while (nanosleep(&left, &left) < 0)
		;
	_exit(0);
}

static void ignore_signals(void)
{
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
}

/* In the last process of the chain. */
static void become(const char *how)
{
	static char *const argv[] = { "sleep", "300", NULL };
	static char *const none[] = { NULL };
	static char *const bogus[] = { "ACPD_SESSION=bogus", NULL };

	if (strcmp(how, "pipes") != 0)
		drop_stdio();
	if (strcmp(how, "setsid") == 0)
		setsid();
	if (strcmp(how, "ignoreterm") == 0)
		ignore_signals();
	if (strcmp(how, "clearenv") == 0)
		execve("/bin/sleep", argv, none);
	if (strcmp(how, "bogusenv") == 0)
		execve("/bin/sleep", argv, bogus);
	linger();
}

/* Twice, with setsid between: the middle process is gone before we answer. */
static pid_t fork_double(const char *how)
{
	pid_t pid, last = -1;
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		setsid();
		last = fork();
		if (last == 0) {
			close(fds[0]);
			close(fds[1]);
			become(how);
		}
		_exit(write(fds[1], &last, sizeof(last)) == sizeof(last) ? 0 : 1);
	}
	close(fds[1]);
	if (pid < 0 || read(fds[0], &last, sizeof(last)) != (ssize_t)sizeof(last))
		last = -1;
	close(fds[0]);
	return last;
}

static void do_fork(struct session *s, struct prompt *p, char *arg)
{
	const char *how = next_word(&arg);
	pid_t pid;

	(void)p;
	signal(SIGCHLD, SIG_IGN); /* no zombies of ours */
	if (strcmp(how, "double") == 0 || strcmp(how, "clearenv") == 0 ||
	    strcmp(how, "bogusenv") == 0) {
		pid = fork_double(how);
	} else {
		pid = fork();
		if (pid == 0)
			become(how);
	}
	say(s, "pid:%d", (int)pid);
}

const struct directive fork_directives[] = {
	{ "fork", true, do_fork },
	{ NULL, false, NULL },
};
