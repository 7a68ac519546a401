/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter.c - what a filter of system calls costs who runs under it: filter ROUNDS CALLS
 *
 * Each round puts CALLS calls through a process without filter, one with a filter that allows everything at once (what
 * the kernel takes for any), and one of each level. Prints one JSON object: nanoseconds a call, the best of all rounds,
 * for a call that no row names ("call") and for one whose arguments are looked at ("ioctl"); and microseconds from fork
 * to the end of a child that enters the level and does nothing else ("start").
 */
#include "confine/confinement.h"
#include "probe.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define CHUNK 2000

enum form { NONE, ANY, GUARDED, STRICT, FORMS };

static const char *const names[FORMS] = { "none", "any", "guarded", "strict" };
static const struct confinement *levels[FORMS];
static long calls;

static void enter(enum form form)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = { 1, &allow };

	if (form == ANY) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
		    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
			_exit(1);
		return;
	}
	if (confinement_drop_bounding(levels[form]) < 0 ||
	    confinement_enter(levels[form], NULL) < 0)
		_exit(1);
}

static double least(double have, double new)
{
	return have == 0 || new < have ? new : have;
}

/* The best of many short runs: most of them fit between two switches to something else. */
static double call_cost(long number, long a, long b)
{
	double best = 0;

	for (long left = calls; left > 0; left -= CHUNK) {
		uint64_t start = now_ns();

		for (int i = 0; i < CHUNK; i++)
			syscall(number, a, b, 0);
		best = least(best, (double)(now_ns() - start) / CHUNK);
	}
	return best;
}

struct costs {
	double call, ioctl;
};

static struct costs one(enum form form, double *start)
{
	struct costs c = { 0 };
	uint64_t since = now_ns();
	int ends[2], status;
	pid_t pid;

	if (pipe(ends) < 0)
		exit(1);
	pid = fork();
	if (pid == 0) {
		enter(form);
		if (start)
			_exit(0);
		c.call = call_cost(SYS_getppid, 0, 0);
		c.ioctl = call_cost(SYS_ioctl, -1, FIONREAD);
		_exit(write(ends[1], &c, sizeof(c)) == sizeof(c) ? 0 : 1);
	}
	close(ends[1]);
	if (!start && read(ends[0], &c, sizeof(c)) != sizeof(c))
		exit(1);
	waitpid(pid, &status, 0);
	if (start)
		*start = (double)(now_ns() - since) / 1e3;
	close(ends[0]);
	if (status != 0)
		exit(1);
	return c;
}

static void print(const char *what, const double *of, const char *end)
{
	printf("\"%s\":{", what);
	for (int i = 0; i < FORMS; i++)
		printf("%s\"%s\":%.1f", i ? "," : "", names[i], of[i]);
	printf("}%s", end);
}

int main(int argc, char **argv)
{
	double call[FORMS] = { 0 }, ioctls[FORMS] = { 0 }, start[FORMS] = { 0 }, s;
	struct err e = { 0 };
	uint64_t since = now_ns();

	if (argc != 3)
		return 2;
	calls = atol(argv[2]);
	levels[GUARDED] = confinement_get(LEVEL_GUARDED, 0, &e);
	printf("{\"make_ms\":%.2f,", (double)(now_ns() - since) / 1e6);
	levels[STRICT] = confinement_get(LEVEL_STRICT, 0, &e);
	fflush(stdout);
	for (long round = atol(argv[1]); round > 0; round--) {
		for (int form = 0; form < FORMS; form++) {
			struct costs c = one((enum form)form, NULL);

			call[form] = least(call[form], c.call);
			ioctls[form] = least(ioctls[form], c.ioctl);
			for (int i = 0; i < 5; i++) {
				one((enum form)form, &s);
				start[form] = least(start[form], s);
			}
		}
	}
	print("call", call, ",");
	print("ioctl", ioctls, ",");
	print("start", start, "}\n");
	return e.msg[0] != '\0';
}
