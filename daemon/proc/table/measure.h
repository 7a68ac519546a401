/*
 * measure.h - what a session's processes have used so far: CPU time and memory.
 *
 * From the session's cgroup where the kernel keeps it there (v2: cpu.stat, memory.peak); else from the process table:
 * the child and its living descendants, each with what its waited-for children used. The second way misses what was
 * orphaned, and its peak is the sum of each living process's own peak; of many processes it looks at the first
 * (MEASURE_FILES_MAX). source says which it was.
 *
 * A turn is measured twice, and to open a file of a cgroup costs six times as much as to read it: both files stay
 * open. Once the cgroup has been removed reading fails, and the process table is asked.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

struct proc_usage {
	uint64_t cpu_us;    /* since the child was started */
	uint64_t peak_rss;  /* bytes; 0: unknown */
	const char *source; /* "cgroup", "procfs", "rusage"; NULL: nothing known */
};

struct measure {
	int cpu, memory; /* -1: there is no such file */
};

/* cgroup: the session's v2 directory or NULL. */
void measure_open(struct measure *m, const char *cgroup);
void measure_close(struct measure *m);
/* peak: the memory is wanted too, also where the cgroup does not keep it and the process table must be read for it. */
void measure_tree(const struct measure *m, pid_t leader, bool peak, struct proc_usage *ret);
/* What the kernel reported of a process that has exited. */
void measure_dead(const struct rusage *used, struct proc_usage *ret);
