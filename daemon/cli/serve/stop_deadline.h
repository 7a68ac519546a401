/*
 * stop_deadline.h - the longest that the daemon takes to stop. A thread of its own that sleeps by the kernel's
 * CLOCK_MONOTONIC keeps it: neither the loop, nor its timers, nor CLOCK_REALTIME has a part in it.
 */
#pragma once

/* Starts the deadline, once: after STOP_KILL_MS every process below the daemon is killed, and STOP_EXIT_MS later the
 * daemon exits with EXIT_FAILED. Either is logged. A program that is executed in place of this one ends it. */
void stop_deadline_start(void);
