/*
 * ledger_file.h - a usage ledger on disk: its lines, finding a number, checking the chain, and its files. Reads with pread
 * only, so it works on a file that a daemon is appending to, and without one.
 *
 * Numbers rise with the offset, so a number is found by bisecting the file: no index to keep in memory, nothing to scan
 * at the start, for files of any size. Damaged lines have no number: reading skips them (the gap shows), and
 * ledger_check_line names them.
 */
#pragma once

#include "base/buf.h"
#include "usage/ledger/ledger.h"

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

/* --- checking -------------------------------------------------------------------------------------------- */

/*
 * Checks that a usage ledger is as it was written: every line is a record, n rises by one, each names
 * the digest of the one before, no turn is recorded twice, and sums are sums. Lines come one after the other, from one
 * file or from several.
 *
 * A chain does not show a change of its last line, or a cut end. For that a reader keeps an anchor, number and digest
 * of a record that it has seen. A ledger whose older files are gone may also begin at an anchor.
 *
 * Memory grows with the turns and sessions of one incarnation, unless only the chain is checked.
 */

/* A record that was seen: n 0 is none. */
struct ledger_anchor {
	uint64_t n;
	char digest[65];
};

struct ledger_check;

/* "N:DIGEST" */
bool ledger_anchor_parse(const char *text, struct ledger_anchor *ret);
/* rep is filled in as lines come. */
struct ledger_check *ledger_check_new(const struct ledger_anchor *anchor, bool chain_only,
				      struct ledger_report *rep);
/* The daemon itself has removed the records up to that one, so the ledger may begin after it, or at any before. */
void ledger_check_removed(struct ledger_check *c, const struct ledger_anchor *removed);
struct ledger_check *ledger_check_free(struct ledger_check *c);
/* Call it before the lines of each file, also of the first. */
void ledger_check_next_file(struct ledger_check *c);
/* False: it is bad, rep says why, and no more lines may come. kind: as ledger_lines_next has it. */
bool ledger_check_line(struct ledger_check *c, struct slice line, int kind);
/* All lines have come. */
bool ledger_check_end(struct ledger_check *c);
/* Checks all lines of a file on disk. A daemon may be in the middle of a write: the end of an incomplete last line is
 * awaited for so many milliseconds. 0: see the report; -errno. */
int ledger_check_fd(struct ledger_check *c, int fd, unsigned patience_ms);

/* --- the files of a ledger ------------------------------------------------------------------------------- */

/*
 * The files of one usage ledger: <dir>/usage.jsonl, which is written to; beside it the closed ones,
 * usage-<N>.jsonl, where N (19 digits, so that names sort) is the number of the first record in it; and usage.state,
 * further data on them: how far clients have read, and the last record that was removed.
 *
 * The state is a line of JSON of a fixed size, written in place: that needs no room on a disk that is full, and 256
 * bytes are written whole or not.
 */
struct ledger_closed {
	uint64_t first; /* number of its first record */
	off_t size;
	uint64_t ended_ms; /* when its last record was written */
};

struct ledger_set {
	char *dir, *stem; /* <dir>/<stem>.jsonl */
	struct ledger_closed *closed;
	size_t n; /* oldest first */
};

/* path: of the file that is written to. */
void ledger_set_init(struct ledger_set *s, const char *path);
void ledger_set_done(struct ledger_set *s);
/* Reads the directory: what is closed. 0 or -errno. */
int ledger_set_list(struct ledger_set *s);
void ledger_set_add(struct ledger_set *s, const struct ledger_closed *c);
/* Removes the oldest from the list. */
void ledger_set_shift(struct ledger_set *s);
/* The path of the file whose first record this is; 0: the one that is written to. The caller frees. */
char *ledger_set_path(const struct ledger_set *s, uint64_t first);
/* <stem><suffix> in the directory; the caller frees. */
char *ledger_set_beside(const struct ledger_set *s, const char *suffix);

struct ledger_state {
	uint64_t read; /* records up to it were handed to a client, which has asked for what follows */
	uint64_t handed;	      /* up to it they were handed out */
	struct ledger_anchor removed; /* the last record that was removed; n 0: none was */
};

#define LEDGER_STATE_SIZE 256
/* -errno; -EBADMSG: it is no such line. A file of 0 bytes is a state of zeros. */
int ledger_state_load(int fd, struct ledger_state *ret);
int ledger_state_store(int fd, const struct ledger_state *s);

/* A usage ledger of several files, read without a daemon, or next to one that closes and removes files: all are opened
 * before the first is read. */
struct ledger_files {
	struct ledger_part {
		int fd;
		char *path;
	} * part;
	size_t n;
	struct ledger_anchor removed; /* by the daemon, as a directory's usage.state says */
};

/* paths: a line each, in the order of their records: files, or directories with all files of a ledger. 0, or
 * -errno with e. */
int ledger_files_open(struct ledger_files *ret, const char *paths, struct err *e);
void ledger_files_done(struct ledger_files *f);
/* As ledgerfile_read; -errno with e. */
int ledger_files_read(const struct ledger_files *f, uint64_t since,
		      bool (*fn)(void *ctx, uint64_t n, struct slice line), void *ctx,
		      uint64_t *skipped, struct err *e);
/* Checks all of them: 0: see the report; -errno with e: one could not be read. anchor: may be NULL. */
int ledger_files_verify(const struct ledger_files *f, const struct ledger_anchor *anchor,
			struct ledger_report *ret, struct err *e);
