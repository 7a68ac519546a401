/* SPDX-License-Identifier: Apache-2.0 */
/* probe.h - what /proc says about the process under test, and on which cores it may run. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

uint64_t now_ns(void);
/* Smallest first. */
void sort_ns(uint64_t *list, size_t n);
/* CPU time of all living threads, user and system, in nanoseconds. */
uint64_t cpu_ns(pid_t pid);
/* Bytes of a field of /proc/PID/smaps_rollup: "Rss", "Pss", "Private_Dirty". */
long memory(pid_t pid, const char *field);
long peak_rss(pid_t pid);
void peak_reset(pid_t pid);
/* Bytes that a process has written so far, to whatever. */
long written_bytes(pid_t pid);
/* The newest child of pid, 0: none. */
pid_t child_of(pid_t pid);
/* All threads of a process to one core. */
void pin(pid_t pid, int core);
