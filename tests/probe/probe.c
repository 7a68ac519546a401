/* SPDX-License-Identifier: Apache-2.0 */
/* probe.c - runs the acts; probe.h. */
#include "probe.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ACT_MS 60000 /* more than a busy machine needs: no act is expected to hang */

static struct {
	const char *name, *value;
} keys[] = {
	{ "daemon", NULL },   /* pid */
	{ "other", NULL },    /* pid of a process of another user */
	{ "setuid", NULL },   /* this program, with the setuid bit of root */
	{ "terminal", NULL }, /* a terminal of somebody else */
	{ "token", NULL },    /* the daemon's, a file */
	{ "state", NULL },    /* the daemon's, a directory */
	{ "home", NULL },     /* of another session */
	{ "control", NULL },  /* a UNIX socket of the daemon */
	{ "abstract", NULL }, /* a name somebody listens at */
	{ "port", NULL },     /* somebody listens at, on 127.0.0.1 */
	{ "sshd", NULL },   /* the port of an sshd there that takes empty passwords, of root too */
	{ "closed", NULL }, /* and of one after images/close-logins.sh */
	{ "only", NULL },   /* the name of an act: no other is tried */
};

const char *given(const char *key)
{
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (strcmp(keys[i].name, key) == 0)
			return keys[i].value;
	abort();
}

pid_t given_pid(const char *key)
{
	return (pid_t)atol(given(key));
}

long fail(int error)
{
	errno = error;
	return -1;
}

static long write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd < 0 ? fd : write(fd, text, strlen(text));
}

long become_root_inside(void)
{
	char users[32], groups[32];

	snprintf(users, sizeof(users), "0 %u 1", (unsigned)geteuid());
	snprintf(groups, sizeof(groups), "0 %u 1", (unsigned)getegid());
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWUTS) < 0)
		return -1;
	write_file("/proc/self/setgroups", "deny");
	if (write_file("/proc/self/gid_map", groups) < 0)
		return -1;
	return write_file("/proc/self/uid_map", users);
}

static long attempt(const struct act *a)
{
	if (a->attempt)
		return a->attempt(a);
	return syscall(a->call, a->args[0], a->args[1], a->args[2], a->args[3], a->args[4],
		       a->args[5]);
}

static void in_child(const struct act *a, int to)
{
	int null = open("/dev/null", O_RDWR), result;

	/* what it starts prints nothing */
	dup2(null, 0);
	dup2(null, 1);
	dup2(null, 2);
	result = attempt(a) < 0 ? errno : 0;
	_exit(write(to, &result, sizeof(result)) == sizeof(result) ? 0 : 1);
}

static void print(const struct act *a, bool told, int result, int status)
{
	if (told && result == 0)
		printf("%s OK\n", a->name);
	else if (told)
		printf("%s %s\n", a->name, strerrorname_np(result));
	else if (WIFSIGNALED(status))
		printf("%s SIG%s\n", a->name, sigabbrev_np(WTERMSIG(status)));
	else
		printf("%s EXIT\n", a->name);
}

static void run(const struct act *a)
{
	int ends[2], result = 0, status = 0;
	struct pollfd p;
	bool in_time, told;
	pid_t pid;

	if (a->key && !given(a->key)) {
		printf("%s -\n", a->name);
		return;
	}
	fflush(stdout);
	if (pipe2(ends, O_CLOEXEC) < 0 || (pid = fork()) < 0) {
		printf("%s CANNOT-TRY\n", a->name);
		return;
	}
	if (pid == 0)
		in_child(a, ends[1]);
	close(ends[1]);
	p = (struct pollfd){ .fd = ends[0], .events = POLLIN };
	in_time = poll(&p, 1, ACT_MS) == 1;
	told = in_time && read(ends[0], &result, sizeof(result)) == sizeof(result);
	close(ends[0]);
	if (!in_time)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (in_time)
		print(a, told, result, status);
	else
		printf("%s TIMEOUT\n", a->name);
}

static void take_key(char *arg)
{
	char *value = strchr(arg, '=');

	if (value)
		*value++ = '\0';
	for (size_t i = 0; value && i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (strcmp(keys[i].name, arg) == 0) {
			keys[i].value = value;
			return;
		}
	}
	fprintf(stderr, "confine-probe: no such key: %s\n", arg);
	exit(2);
}

int main(int argc, char **argv)
{
	const struct act *all[] = { acts_kernel, acts_sockets, acts_spaces, acts_processes,
				    acts_files };

	if (argc == 2 && strcmp(argv[1], "uid") == 0)
		return printf("%u\n", (unsigned)geteuid()) < 0;
	for (int i = 1; i < argc; i++)
		take_key(argv[i]);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		for (const struct act *a = all[i]; a->name; a++)
			if (!given("only") || strcmp(given("only"), a->name) == 0)
				run(a);
	return 0;
}
