/*
 * measure.h - what a session's processes have used so far: CPU time and memory.
 *
 * From the session's cgroup where the kernel keeps it there (v2: cpu.stat, memory.peak); else from the process table: the child and its
 * living descendants, each with what its waited-for children used. The second way misses what was orphaned, and its peak is the sum
 * of each living process's own peak. source says which it was.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

struct proc_usage {
	uint64_t cpu_us;    /* since the child was started */
	uint64_t peak_rss;  /* bytes; 0: unknown */
	const char *source; /* "cgroup", "procfs", "rusage"; NULL: nothing known */
};

/* cgroup: the session's v2 directory or NULL. */
void measure_tree(const char *cgroup, pid_t leader, struct proc_usage *ret);
