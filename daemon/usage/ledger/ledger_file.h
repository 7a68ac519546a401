/*
 * ledger_file.h - a usage ledger as it lies on disk: its lines, what they must begin with, finding a number, checking
 * the chain. Reads with pread only, so it works on a file that a daemon is appending to, and without one.
 *
 * Numbers rise with the offset, so a number is found by bisecting the file: no index to keep in memory, nothing to scan
 * at the start, for files of any size. Damaged lines have no number: reading skips them (the gap shows), and
 * ledger_check.h names them.
 */
#pragma once

#include "base/buf.h"
#include "usage/ledger/ledger.h"

#include <sys/types.h>

/* {"v":1,"n":N,"incarnation":"...","prevDigest":"..." - slices into the line, without quotes. */
struct ledger_head {
	uint64_t n;
	struct slice incarnation, prev_digest; /* prev_digest.n 0: null */
	size_t size; /* bytes of the line up to the comma or brace after it */
};

enum ledger_line_kind {
	LEDGER_LINE_OK,
	LEDGER_LINE_FOREIGN, /* valid JSON, but no record of this version */
	LEDGER_LINE_DAMAGED, /* no JSON object */
};

/* Parses only the beginning: false if it is not that of a record. */
bool ledger_head_parse(struct slice line, struct ledger_head *ret);
/* Checks the whole line; what (may be NULL) says why it is no record. */
enum ledger_line_kind ledger_line_check(struct slice line, struct ledger_head *ret,
					const char **what);
/* True if text may be an incarnation in a head. */
bool ledger_incarnation_valid(struct slice text);

/* Walks lines from offset at. */
struct ledger_lines {
	int fd;
	off_t at; /* of the next line */
	size_t chunk;
	struct buf b;
	size_t used; /* bytes of the line handed out before */
};

void ledger_lines_init(struct ledger_lines *l, int fd, off_t at, size_t chunk);
void ledger_lines_done(struct ledger_lines *l);
/* 1: a line, without newline, valid until the next call; 2: the same, but it is too long and empty; 0: no whole
 * line is left; -errno. */
int ledger_lines_next(struct ledger_lines *l, struct slice *line);

/* See ledger_read. end: where to stop, 0: the end of the file. skipped (may be NULL): how many lines met
 * on the way were no records. */
int ledgerfile_read(int fd, off_t end, uint64_t since,
		    bool (*fn)(void *ctx, uint64_t n, struct slice line), void *ctx,
		    uint64_t *skipped);
/* Number of the first record; 0: there is none before LEDGER_LINE_MAX bytes of something else, or it cannot be read. */
uint64_t ledgerfile_first(int fd);
/* The last line that is a record, appended to line without its newline; what follows it, from *ret_end on,
 * is none. 1: found; 0: the file is empty, or nothing but the beginning of a torn record; -EBADMSG with what:
 * there is no record in it, or none before LEDGER_TAIL_MAX bytes of damage; -EPROTONOSUPPORT: a later version
 * wrote it; -errno. */
int ledgerfile_last(int fd, struct buf *line, off_t *ret_end, const char **what);
/* What follows the last record is what a stopped machine leaves: part of a record without its end, or blocks that
 * never got their bytes. */
bool ledger_tail_is_torn(struct slice text);
