/* SPDX-License-Identifier: Apache-2.0 */
#include "probe.h"

#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

void sort_ns(uint64_t *list, size_t n)
{
	qsort(list, n, sizeof(*list), by_size);
}

static void each_thread(pid_t pid, void (*fn)(pid_t tid, void *ctx), void *ctx)
{
	char path[64];
	struct dirent *d;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	if (!dir)
		return;
	while ((d = readdir(dir)))
		if (d->d_name[0] != '.')
			fn(atoi(d->d_name), ctx);
	closedir(dir);
}

static void add_cpu(pid_t tid, void *ctx)
{
	unsigned long long ns = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)tid);
	f = fopen(path, "re");
	if (!f)
		return;
	if (fscanf(f, "%llu", &ns) == 1)
		*(uint64_t *)ctx += ns;
	fclose(f);
}

uint64_t cpu_ns(pid_t pid)
{
	uint64_t sum = 0;

	each_thread(pid, add_cpu, &sum);
	return sum;
}

/* The number behind "name:" in a file of /proc/PID. */
static long field(pid_t pid, const char *file, const char *name)
{
	char path[64], line[256];
	size_t n = strlen(name);
	long v = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	f = fopen(path, "re");
	if (!f)
		return -1;
	while (v < 0 && fgets(line, sizeof(line), f))
		if (strncmp(line, name, n) == 0 && line[n] == ':')
			v = strtol(line + n + 1, NULL, 10);
	fclose(f);
	return v;
}

long memory(pid_t pid, const char *name)
{
	return field(pid, "smaps_rollup", name) * 1024;
}

long peak_rss(pid_t pid)
{
	return field(pid, "status", "VmHWM") * 1024;
}

void peak_reset(pid_t pid)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/clear_refs", (int)pid);
	f = fopen(path, "we");
	if (!f)
		return;
	fputs("5\n", f);
	fclose(f);
}

long written_bytes(pid_t pid)
{
	return field(pid, "io", "wchar");
}

static void last_child(pid_t tid, void *ctx)
{
	char path[64];
	int pid = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)tid, (int)tid);
	f = fopen(path, "re");
	if (!f)
		return;
	while (fscanf(f, "%d", &pid) == 1)
		*(pid_t *)ctx = pid;
	fclose(f);
}

pid_t child_of(pid_t pid)
{
	pid_t child = 0;

	each_thread(pid, last_child, &child);
	return child;
}

static void pin_thread(pid_t tid, void *ctx)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(*(int *)ctx, &set);
	sched_setaffinity(tid, sizeof(set), &set);
}

void pin(pid_t pid, int core)
{
	each_thread(pid, pin_thread, &core);
}
