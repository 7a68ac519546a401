/*
 * ledger.h - the usage ledger, <state>/usage.jsonl: append-only JSON lines, one record per turn and one per model call that the
 * harness told of. Format and fields: daemon/PROTOCOL.md.
 *
 * Each line begins {"v":1,"n":N,"incarnation":"...","prevDigest":...,: n counts on over the daemon's lives; prevDigest is the SHA-256
 * (hex) of the previous line's bytes without its newline, null on the first line of an incarnation: one chain per incarnation. A torn last
 * line is cut off when the file is opened. A write error is sticky: ledger_append returns 0 from then on and turns fail with
 * class "resource", because an unrecorded turn must not look like a recorded one.
 *
 * Appending writes at once (survives the process); ledger_sync makes durable what was appended so far (survives the machine) in a worker
 * thread, many waiters to one fdatasync, and calls back on the loop. On file systems in memory it calls back without a thread.
 */
#pragma once

#include "base/err.h"
#include "base/list.h"
#include "base/slice.h"
#include "loop/loop.h"

#include <stdbool.h>
#include <stdint.h>

struct ledger;

/* NULL with e filled if the file cannot be opened or read. */
struct ledger *ledger_open(struct loop *loop, const char *path, const char *incarnation,
			   struct err *e);
/* Waits for a running sync; waiters are called with -ECANCELED. */
struct ledger *ledger_free(struct ledger *l);
/* record: a raw JSON object, redacted, whose members follow ours. Returns its n, or 0 if it could not be written. */
uint64_t ledger_append(struct ledger *l, struct slice record);
/* Number of the last record, 0: none. */
uint64_t ledger_last(const struct ledger *l);
int ledger_error(const struct ledger *l);

struct ledger_wait {
	struct list link;
	void (*done)(void *ctx, int error);
	void *ctx;
};

/* w is the caller's and must live until done or ledger_wait_cancel. */
void ledger_sync(struct ledger *l, struct ledger_wait *w, void (*done)(void *ctx, int error),
		 void *ctx);
void ledger_wait_cancel(struct ledger_wait *w);

/* Lines with n > since, in order, without newline, until fn returns false. 0 or -errno. Works while the daemon appends. */
int ledger_read(struct ledger *l, uint64_t since,
		bool (*fn)(void *ctx, uint64_t n, struct slice line), void *ctx);

/* Checks a ledger file as it lies on disk; for "acpd usage verify". */
struct ledger_report {
	uint64_t records, incarnations, first_bad; /* first_bad: line number from 1, 0: all good */
	char reason[96];
};
int ledger_verify(const char *path, struct ledger_report *ret, struct err *e);
