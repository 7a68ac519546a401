/*
 * lease.h - until when the platform should let the sandbox live. Pure.
 *
 * A platform lends a sandbox for a time and takes it back without a word, whatever runs in it. The daemon says how long
 * it should hold: while there is work for LEASE_HORIZON_SECS from now on, again and again; after the last work for
 * LEASE_GRACE_SECS, so that a client can read the end and ask more; a draining daemon until its time is over. Nothing
 * is held beyond the end of --max-life.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define LEASE_HORIZON_SECS 300 /* while there is work, from now on */
#define LEASE_GRACE_SECS 60    /* after the last work */
#define LEASE_EXIT_SECS 10     /* after the end of draining: children, records, last messages */
#define STATUS_PUSH_MS 250     /* between two pushed statuses, at least */
#define DRAIN_MAX_SECS 86400
#define SHUTDOWN_BODY_MAX 4096 /* bytes of what POST /v1/shutdown is told */
#define DEADLINE_SLACK_MS 1000 /* a deadline that moves by less is not told anew */

/* Monotonic milliseconds; 0: there is none. */
struct lease_facts {
	uint64_t now;
	bool busy;
	uint64_t idle_since; /* if it is not busy */
	uint64_t drain_due;  /* when a draining daemon ends whatever runs */
	uint64_t life_due;   /* when it ends by --max-life and --drain at the latest */
};

uint64_t lease_until(const struct lease_facts *f);
