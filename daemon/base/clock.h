/*
 * clock.h - time. Deadlines and durations are milliseconds of CLOCK_MONOTONIC, without those in which the process was
 * not running; wall time appears only in records and logs, as ISO 8601 UTC with milliseconds.
 *
 * A process that is stopped (SIGSTOP, a frozen cgroup, a paused container) finds all its deadlines past when it goes
 * on, and its own silence looks like that of the others. The loop notices such a time (loop.h) and takes it out of the
 * clock: every deadline is then as far away as it was before. A machine that is suspended, or restored from a
 * snapshot, needs none of it: its CLOCK_MONOTONIC stood still. Any thread may read the clock; the loop's alone skips.
 */
#pragma once

#include "base/slice.h"

#include <stdint.h>
#include <time.h>

#define CLOCK_ISO_SIZE 32
#define NS_PER_MS 1000000L

uint64_t clock_mono_ms(void);
/* That many have passed unused: the clock goes back by them. */
void clock_skip(uint64_t ms);
/* All that have been skipped: what the kernel's clock is ahead. */
uint64_t clock_skipped_ms(void);
uint64_t clock_real_ms(void);
/* Nanoseconds: so fine that two readings differ. */
uint64_t clock_real_ns(void);
/* A time of the kernel's, e.g. of a file, in nanoseconds. */
static inline uint64_t time_ns(const struct timespec *t)
{
	return (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_nsec;
}
/* Writes "2026-11-21T08:00:00.123Z"; returns out. */
char *clock_iso(uint64_t real_ms, char out[CLOCK_ISO_SIZE]);
/* The same, in memory of the block around it. */
#define CLOCK_ISO(real_ms) clock_iso(real_ms, (char[CLOCK_ISO_SIZE]){ 0 })
/* Reads that, with or without a fraction of a second; false: it is no such time, or before 1970. */
bool clock_iso_read(struct slice text, uint64_t *ret);

/* Returns how long to wait before a retry, in milliseconds: a random time from base to three times the last wait, at most
 * max ("decorrelated jitter"), so that clients that failed together do not retry together. last: 0, or the previous
 * result. base is less than max. */
uint64_t jitter_next(uint64_t last, uint64_t base, uint64_t max);
