/* SPDX-License-Identifier: Apache-2.0 */
/*
 * levels.c - what a level adds to a start: levels ROUNDS INIT DIR [NAME COMMAND ARG... ,]...
 *
 * Each round starts /bin/true in every form in turn (peers in each fifth) and waits for its end: by posix_spawn alone, by the daemon's own
 * spawn (proc/spawn.h) at each level as another user, at strict also with the session's namespaces made for it, and by
 * each peer COMMAND, to which /bin/true is added. Prints one JSON object: for each form milliseconds, p50 and p99; and
 * as "init" the bytes of acpd-init that are nobody else's. Needs root. DIR: for the session's directories.
 */
#include "base/os/file.h"
#include "probe.h"
#include "proc/spaces/netns.h"
#include "proc/spawn.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define AGENT 65534
#define FORMS_MAX 16
#define PEERS_EACH 5 /* rounds: some take long */

enum { BARE, OPEN, GUARDED, STRICT, FIRST, OURS };

extern char **environ;

static char *const quiet[] = { "/bin/true", NULL };
static const char *names[FORMS_MAX] = { "bare", "open", "guarded", "strict", "first" };
static char **peers[FORMS_MAX];
static double *took[FORMS_MAX];
static int count[FORMS_MAX];
static const char *dir;
static long init_bytes;

static void die(const char *what, const struct err *e)
{
	fprintf(stderr, "levels: %s: %s\n", what, e ? e->msg : strerror(errno));
	exit(1);
}

static void bare(char *const *argv)
{
	posix_spawn_file_actions_t fa;
	int status;
	pid_t pid;

	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_addopen(&fa, 1, "/dev/null", 1, 0);
	if (posix_spawnp(&pid, argv[0], &fa, NULL, argv, environ) != 0)
		die(argv[0], NULL);
	posix_spawn_file_actions_destroy(&fa);
	if (waitpid(pid, &status, 0) != pid || status != 0)
		die(argv[0], &(struct err){ .msg = "it failed" });
}

static struct spaces *make_spaces(void)
{
	struct err e = { 0 };
	struct fsview *v = fsview_new();
	struct spaces *s = NULL;

	if (fsview_add(v, FSVIEW_WRITABLE, dir, &e) == 0 &&
	    fsview_add(v, FSVIEW_HIDDEN, "/home", &e) == 0 && fsview_settle(v, &e) == 0)
		s = spaces_new(v, "a", true, AGENT, AGENT, &e);
	fsview_free(v);
	if (!s)
		die("namespaces", &e);
	return s;
}

static void ours(const struct confinement *c, bool may_gain, struct spaces *s, struct netns *n)
{
	struct proc_spec spec = { .argv = quiet, .env = environ, .cwd = dir, .session = "a" };
	struct cgroup_join none = { 0 };
	struct spawned got;
	struct err e = { 0 };
	int status;

	spec.bounds = (struct proc_bounds){ .switch_user = true,
					    .may_gain = may_gain,
					    .uid = AGENT,
					    .gid = AGENT,
					    .confinement = c,
					    .spaces = s,
					    .netns = n };
	if (spawn_child(&spec, &none, &got, &e) < 0)
		die("spawn", &e);
	if (waitpid(got.pid, &status, 0) != got.pid || status != 0)
		die("spawn", &(struct err){ .msg = "it failed" });
	close(got.pidfd);
	close(got.in);
	close(got.out);
	close(got.errout);
}

static void measure_init(void *ctx, pid_t init, char *session)
{
	char path[64], line[256];
	long kib, sum = 0;
	FILE *f;

	(void)session;
	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)init);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Private_Clean: %ld", &kib) == 1 ||
		    sscanf(line, "Private_Dirty: %ld", &kib) == 1)
			sum += kib;
	if (f)
		fclose(f);
	*(long *)ctx = sum * 1024;
}

static int take_peers(char **argv)
{
	int n = OURS;

	for (; *argv; argv++) {
		names[n] = *argv++;
		peers[n++] = argv;
		while (strcmp(*argv, ",") != 0)
			argv++;
		*argv = (char *)quiet[0];
		/* argv[1] is the next name: its list must end here */
		peers[n - 1] = memcpy(calloc((size_t)(argv - peers[n - 1]) + 2, sizeof(char *)),
				      peers[n - 1],
				      (size_t)(argv - peers[n - 1] + 1) * sizeof(char *));
	}
	return n;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static struct netns *make_network(void)
{
	struct err e = { 0 };
	struct netns *n = netns_new(&e);

	if (!n)
		die("network", &e);
	return n;
}

static void leave(struct spaces *s, struct netns *n)
{
	spaces_unref(s);
	netns_unref(n);
	while (waitpid(-1, NULL, 0) > 0)
		;
}

static void first(const struct confinement *c)
{
	struct spaces *s = make_spaces();
	struct netns *n = make_network();

	ours(c, false, s, n);
	leave(s, n);
}

/* Within a session that is there. */
static void within(int form, const struct confinement *const *levels)
{
	struct spaces *s = make_spaces();
	struct netns *n = make_network();
	uint64_t from = now_ns();

	ours(levels[STRICT], false, s, n);
	took[form][count[form]++] = (double)(now_ns() - from) / 1e6;
	spaces_each(measure_init, &init_bytes);
	leave(s, n);
}

static void one(int form, const struct confinement *const *levels)
{
	uint64_t from = now_ns();

	if (form == STRICT) {
		within(form, levels);
		return;
	}
	if (form == FIRST)
		first(levels[STRICT]);
	else if (form == BARE || form >= OURS)
		bare(form == BARE ? quiet : peers[form]);
	else
		ours(levels[form], form == OPEN, NULL, NULL);
	took[form][count[form]++] = (double)(now_ns() - from) / 1e6;
}

static void print(int forms)
{
	printf("{\"init\":%ld", init_bytes);
	for (int i = 0; i < forms; i++) {
		qsort(took[i], (size_t)count[i], sizeof(double), by_size);
		printf(",\"%s\":{\"p50\":%.3f,\"p99\":%.3f}", names[i], took[i][count[i] / 2],
		       took[i][count[i] * 99 / 100]);
	}
	printf("}\n");
}

int main(int argc, char **argv)
{
	const struct confinement *levels[OURS] = { NULL };
	struct err e = { 0 };
	int rounds, forms;

	if (argc < 4)
		return 2;
	rounds = atoi(argv[1]);
	setenv("ACPD_INIT", argv[2], 1);
	dir = argv[3];
	forms = take_peers(argv + 4);
	levels[GUARDED] = confinement_get(LEVEL_GUARDED, 0, &e);
	levels[STRICT] = confinement_get(LEVEL_STRICT, 0, &e);
	if (!levels[GUARDED] || !levels[STRICT])
		die("confinement", &e);
	for (int i = 0; i < forms; i++)
		took[i] = calloc((size_t)rounds, sizeof(double));
	for (int round = 0; round < rounds; round++)
		for (int form = 0; form < forms; form++)
			if (form < OURS || round % PEERS_EACH == 0)
				one(form, levels);
	print(forms);
	return 0;
}
