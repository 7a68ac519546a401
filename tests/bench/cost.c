/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cost.c - what a command costs, with everything it starts and waits for, as one JSON object.
 *
 *	cost [-n] [-p] PROGRAM ARG…
 *
 * "ms" is the time until it ends, "cpu_ms" its user and system time, "rss" the peak of the largest of its processes. -n: it runs as
 * acpd-unpack's worker does (SCHED_BATCH, nice 10), so that on a busy machine neither side is favoured. -p: its processes are looked at
 * every few milliseconds, and "peak" is the sum of all their own peaks; to be had from a run whose time does not count. Its standard output
 * is dropped. Exits with 1 if it fails.
 */
#include "probe.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define SEEN_MAX 64
#define LOOK_MS 3

struct seen {
	pid_t pid;
	long peak;
};

static struct seen seen[SEEN_MAX];
static size_t nseen;

static void note(pid_t pid)
{
	long peak = peak_rss(pid);
	size_t i = 0;

	while (i < nseen && seen[i].pid != pid)
		i++;
	if (i == SEEN_MAX || peak <= 0)
		return;
	if (i == nseen)
		seen[nseen++] = (struct seen){ pid, 0 };
	if (peak > seen[i].peak)
		seen[i].peak = peak;
}

static void note_tree(pid_t pid)
{
	char path[64];
	FILE *f;
	int child;

	note(pid);
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
	f = fopen(path, "re");
	while (f && fscanf(f, "%d", &child) == 1)
		note_tree(child);
	if (f)
		fclose(f);
}

static long peaks(void)
{
	long sum = 0;

	for (size_t i = 0; i < nseen; i++)
		sum += seen[i].peak;
	return sum;
}

static void run(char **argv, bool as_worker)
{
	struct sched_param param = { 0 };
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	dup2(null, STDOUT_FILENO);
	if (as_worker) {
		sched_setscheduler(0, SCHED_BATCH, &param);
		setpriority(PRIO_PROCESS, 0, 10);
	}
	execvp(argv[0], argv);
	perror(argv[0]);
	_exit(127);
}

static double ms_of(struct timeval t)
{
	return (double)t.tv_sec * 1e3 + (double)t.tv_usec / 1e3;
}

int main(int argc, char **argv)
{
	bool as_worker = false, look = false;
	struct rusage use;
	uint64_t start;
	int opt, status;
	pid_t pid;

	while ((opt = getopt(argc, argv, "+np")) != -1) {
		as_worker |= opt == 'n';
		look |= opt == 'p';
	}
	if (optind == argc) {
		fprintf(stderr, "usage: cost [-n] [-p] PROGRAM ARG...\n");
		return 2;
	}
	start = now_ns();
	pid = fork();
	if (pid == 0)
		run(argv + optind, as_worker);
	while (wait4(pid, &status, look ? WNOHANG : 0, &use) == 0) {
		note_tree(pid);
		poll(NULL, 0, LOOK_MS);
	}
	printf("{\"ms\":%.3f,\"cpu_ms\":%.3f,\"rss\":%ld,\"peak\":%ld}\n",
	       (double)(now_ns() - start) / 1e6, ms_of(use.ru_utime) + ms_of(use.ru_stime),
	       use.ru_maxrss * 1024, peaks());
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : 1;
}
