/*
 * ledger.h - the usage ledger, <state>/usage.jsonl: append-only JSON lines, one record per turn and one per model
 * call that the harness reported. Format and fields: daemon/protocol/usage.md. A file that is full gets another name
 * (usage/ledger/ledger_file.h) and the next is begun; numbers and chain run over all of them. Closed files whose
 * records were read may be removed.
 *
 * Each line begins {"v":1,"n":N,"incarnation":"...","prevDigest":...,: n goes on over restarts of the daemon.
 * prevDigest is the SHA-256 (hex) of the previous line's bytes without its newline, null on the first line of an
 * incarnation: one chain per incarnation. At opening, a torn end that a stopped machine left is cut off; any other end
 * that is no record is set aside, into a file beside it, and reported; a ledger of a later version is refused and left
 * alone (STATE_VERSION). A record that cannot be written fails its turn with class "resource", because an unrecorded
 * turn must not look like a recorded one. A line that was written in part is removed again, so the file stays whole and
 * goes on when there is room again. An error of syncing is sticky: it is unknown what the kernel has dropped, so no
 * later record is taken.
 *
 * Appending writes at once (survives the process). ledger_sync makes durable what was appended so far (survives the
 * machine) in a worker thread (usage/ledger/syncer.h), with many waiters for one flush, and calls back on the loop. Journals of sessions are made durable with it
 * (ledger_sync_also), so that the events of a turn outlast what its record does. What a stop of the machine takes from
 * all of these is put back at opening (usage/ledger/usage_ahead.h).
 * On file systems in memory it calls back without a thread. The start scans nothing: opening reads the names of the
 * files and the last lines; reading finds its place by the names and by bisection (usage/ledger/ledger_file.h).
 */
#pragma once

#include "base/err.h"
#include "base/slice.h"
#include "loop/loop.h"
#include "usage/ledger/syncer.h"

#define INCARNATION_MAX 64 /* bytes of its id */

struct ledger;

/* NULL with e filled if the file cannot be opened or read, or is no ledger. incarnation: printable ASCII, at most
 * 64. Or empty: there is none yet, and nothing can be
 * appended until ledger_begin. */
struct ledger *ledger_open(struct loop *loop, const char *path, const char *incarnation,
			   struct err *e);
/* What is appended from now on is of another incarnation: its chain begins. -EINVAL with e: it is none, or the present one.
 */
int ledger_begin(struct ledger *l, const char *incarnation, struct err *e);
/* Waits for a running sync, makes the rest durable; waiters are called with -ECANCELED and may not wait again. */
struct ledger *ledger_free(struct ledger *l);
/* record: a raw JSON object, redacted, whose members follow ours. Returns its n, or 0 if it could not be written
 * (ledger_error says why) or is no record: not one line of JSON, above LEDGER_LINE_MAX, or with members of our
 * names (ledger_error stays 0). */
uint64_t ledger_append(struct ledger *l, struct slice record);
/* Number of the last record, 0: none. */
uint64_t ledger_last(const struct ledger *l);
/* -errno of syncing, which is sticky, or of the last append. */
int ledger_error(const struct ledger *l);

struct ledger_wait {
	struct syncer_wait sync;
};

/* False: it is on a file system in memory, where nothing has to be made durable. */
bool ledger_syncs(const struct ledger *l);
/* What was written to this file is durable too when the next to wait is told; name: its path. 0, or -errno: it is not. */
int ledger_sync_also(struct ledger *l, const struct sync_also *f);
/* w is the caller's and must live until done or ledger_wait_cancel. done is never called from within. error: 0,
 * the sticky error of syncing, or -ECANCELED. */
void ledger_sync(struct ledger *l, struct ledger_wait *w, void (*done)(void *ctx, int error),
		 void *ctx);
/* May be called at any time, also if w is all zeros or was answered. */
void ledger_wait_cancel(struct ledger_wait *w);

/* Lines with n > since, in order, without newline, until fn returns false. 0 or -errno. fn may append; what comes
 * after the call began is not handed out. Damaged lines are left out: n shows the gap. Every line handed out is
 * valid JSON. */
int ledger_read(struct ledger *l, uint64_t since,
		bool (*fn)(void *ctx, uint64_t n, struct slice line), void *ctx);

/* Reports problems found at opening, and by the check of the whole chain in the background afterwards. Calls fn for
 * each, from the loop, with first_bad in the text; at most once for the check. What was no record has been set aside
 * beside the ledger, so that the ledger goes on. */
void ledger_on_problem(struct ledger *l, void (*fn)(void *ctx, const char *text), void *ctx);

/* --- files that come and go ---------------------------------------------------------------------------------- */

struct ledger_limits {
	uint64_t file_max; /* bytes of a file; 0: LEDGER_FILE_MAX */
	uint64_t keep_secs,
		keep_bytes; /* closed files beyond that, whose records were read, are removed; 0: no bound */
};
void ledger_limit(struct ledger *l, const struct ledger_limits *limits);
/* A client asks for the records after since: it has those up to since, if they were sent to it. */
void ledger_asked(struct ledger *l, uint64_t since);
/* All records after since, up to to, were sent to a client. */
void ledger_handed(struct ledger *l, uint64_t since, uint64_t to);
/* Prevents removals while hold is true. */
void ledger_hold(struct ledger *l, bool hold);
/* A write failed for lack of room: records that were read may have to be removed. */
void ledger_pressed(struct ledger *l);
/* Number of the oldest record that is still there; if there is none, that of the next one. */
uint64_t ledger_first(const struct ledger *l);

struct ledger_counts {
	uint64_t first, last, read; /* read: up to it, as ledger_asked says */
	uint64_t files, bytes;
	uint64_t removed_files, removed_records; /* by this daemon */
};
void ledger_count(const struct ledger *l, struct ledger_counts *ret);

/* What a check of a ledger on disk found (ledger_file.h). */
struct ledger_report {
	uint64_t records, incarnations, first_bad; /* first_bad: line number from 1, 0: all good */
	size_t file;				   /* which one that is in, from 1 */
	uint64_t first, last;			   /* numbers of records; 0: there is none */
	bool anchored;	 /* older ones were removed, and it begins as it should without them */
	char digest[65]; /* of the last good one */
	char reason[96];
};
