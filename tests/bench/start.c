/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start.c - how long a program takes from exec until it is of use, many times over.
 *
 *	start RUNS PATH COMMAND ARG…    until GET PATH answers 200; @PORT@ in an argument is a free port
 *	start RUNS exit COMMAND ARG…    until it has ended
 *
 * Prints one JSON object: milliseconds, median, least and most. Where there are two cores, we ask from one and the command has the
 * others: asked every 100 µs on its own core it would start a quarter slower.
 */
#include "probe.h"
#include "wire.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define GIVE_UP_NS 20000000000u

extern char **environ;

static int free_port(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&at, n) < 0 ||
	    getsockname(fd, (struct sockaddr *)&at, &n) < 0)
		die("start: no free port");
	close(fd);
	return ntohs(at.sin_port);
}

/* The arguments with the port in its place; they live until the next run overwrites them. */
static char **with_port(char **argv, int port)
{
	static char text[32][256], *made[33];
	int i = 0;

	for (; i < 32 && argv[i]; i++) {
		const char *at = strstr(argv[i], "@PORT@");

		made[i] = argv[i];
		if (!at)
			continue;
		snprintf(text[i], sizeof(text[i]), "%.*s%d%s", (int)(at - argv[i]), argv[i], port,
			 at + 6);
		made[i] = text[i];
	}
	made[i] = NULL;
	return made;
}

/* 200 within one connection. */
static int healthy(int port, const char *path)
{
	char text[512];
	int fd = tcp_connect(port), ok;
	ssize_t n;

	if (fd < 0)
		return 0;
	n = snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n", path,
		     port);
	ok = write(fd, text, (size_t)n) == n;
	n = ok ? read(fd, text, sizeof(text) - 1) : 0;
	close(fd);
	return n > 12 && memcmp(text + 9, "200", 3) == 0;
}

static pid_t spawn_quiet(char **argv)
{
	posix_spawn_file_actions_t fa;
	pid_t pid;

	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_addopen(&fa, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&fa, 2, "/dev/null", O_WRONLY, 0);
	if (posix_spawnp(&pid, argv[0], &fa, NULL, argv, environ) != 0)
		die("start: cannot start %s", argv[0]);
	posix_spawn_file_actions_destroy(&fa);
	return pid;
}

/* ours: the first core that we may use; or all others. */
static void use_cores(const cpu_set_t *all, int ours)
{
	cpu_set_t set = *all, one;
	int first = 0;

	if (CPU_COUNT(all) < 2)
		return;
	while (!CPU_ISSET(first, all))
		first++;
	CPU_ZERO(&one);
	CPU_SET(first, &one);
	CPU_CLR(first, &set);
	sched_setaffinity(0, sizeof(set), ours ? &one : &set);
}

static double run(const cpu_set_t *cores, const char *path, char **argv)
{
	static const struct timespec pause = { .tv_nsec = 50000 };
	int port = free_port();
	uint64_t start, end;
	pid_t pid;

	use_cores(cores, 0);
	start = now_ns();
	pid = spawn_quiet(with_port(argv, port));
	use_cores(cores, 1);
	if (strcmp(path, "exit") == 0) {
		waitpid(pid, NULL, 0);
		return (double)(now_ns() - start) / 1e6;
	}
	while (!healthy(port, path)) {
		if (now_ns() - start > GIVE_UP_NS || waitpid(pid, NULL, WNOHANG) == pid)
			die("start: %s does not get healthy", argv[0]);
		nanosleep(&pause, NULL);
	}
	end = now_ns();
	kill(pid, SIGTERM);
	waitpid(pid, NULL, 0);
	return (double)(end - start) / 1e6;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
	int n = argc > 3 ? atoi(argv[1]) : 0;
	cpu_set_t cores;
	double *ms;

	if (n < 1)
		die("start RUNS PATH|exit COMMAND ARG…");
	ms = need(calloc((size_t)n, sizeof(*ms)));
	alarm(300);
	sched_getaffinity(0, sizeof(cores), &cores);
	run(&cores, argv[2], argv + 3); /* warms the page cache */
	for (int i = 0; i < n; i++)
		ms[i] = run(&cores, argv[2], argv + 3);
	qsort(ms, (size_t)n, sizeof(*ms), by_size);
	printf("{\"median\":%.3f,\"min\":%.3f,\"max\":%.3f}\n", ms[n / 2], ms[0], ms[n - 1]);
	free(ms);
	return 0;
}
