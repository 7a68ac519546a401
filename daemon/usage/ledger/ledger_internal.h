/* ledger_internal.h - what the files ledger*.c share of a ledger that is written to. */
#pragma once

#include "usage/ledger/ledger.h"

#include "digest/digest.h"
#include "loop/loop.h"
#include "usage/ledger/ledger_file.h"

/* The check of what earlier lives wrote, a piece at a time (ledger_audit.c). */
struct ledger_audit {
	struct ledger_check *check; /* NULL: none, or it has ended */
	struct ledger_lines lines;
	struct ledger_report report;
	struct loop_timer timer;
	uint64_t first; /* of the file that is checked; 0: the one that was written to when the check began */
	int fd; /* of that one; -1: it is to be opened */
	int last_fd;
	uint64_t last_first; /* files from here on have come after the beginning */
	off_t end;	     /* of last_fd */
};

/* What has been read of it, and what is removed (ledger_retention.c). */
struct ledger_retention {
	struct ledger_state state;
	int fd;			/* usage.state; -1: there is none, so nothing is removed */
	bool marked;		/* written, and not yet durable */
	bool held, pressed;	/* nothing may be removed; there is no room */
	uint64_t age_ms, bytes; /* 0: no bound */
	struct ledger_counts counts;
	struct loop_timer mark_timer, timer;
	struct loop_job mark, removal;
	/* of the oldest closed file, which is being removed */
	char *path;
	const char *why;
	struct ledger_anchor end; /* its last record */
	int error;
};

struct ledger {
	struct loop *loop;
	char *path; /* of the file that is written to */
	struct ledger_set set;
	int fd;
	off_t size;	   /* bytes of whole lines in it */
	uint64_t first;	   /* number of its first record, also if that is still to come */
	uint64_t begun_ms; /* when it was begun */
	uint64_t file_max; /* bytes; above: the next one */
	off_t again_at;	   /* the next file could not be begun: tried again at this size */
	bool misnamed;	   /* it no longer has the name that it should have: there is no next one */
	struct ledger_wait closed;

	uint64_t last;
	int error;  /* of the last append, 0 if it was written */
	bool stuck; /* a part of a line could not be taken back: nothing may follow it */
	char *incarnation;
	char digest[SHA256_HEX]; /* of the last line of this incarnation; empty: there is none */
	struct buf line;
	struct syncer *syncer;

	char *problem; /* found at opening */
	void (*on_problem)(void *ctx, const char *text);
	void *problem_ctx;
	struct ledger_audit audit;
	struct ledger_retention retention;
};

/* ledger.c */
/* 0600, never a link. A descriptor, or -errno with e. flags: besides those for reading, appending and creating. */
int ledger_open_file(const char *path, int flags, struct err *e);
int ledger_open_state(const char *path, struct err *e);
int ledger_open_dir(const struct ledger *l);
void ledger_tell(struct ledger *l, const char *text);
/* The name below the ledger's directory; NULL: it is elsewhere. */
const char *ledger_below(const struct ledger *l, const char *path);

/* ledger_damage.c: puts back what a stop of the machine has taken from files that were made durable. 0 or -errno. */
int ledger_restore(struct ledger *l, struct err *e);
/* Checks the end of a file when it is opened. All: 0 or -errno. */
/* Takes up last, digest, size from fd, a file of the ledger, and cuts off or sets aside what follows its last
 * record. 1: there is a record. */
int ledger_take_end(struct ledger *l, int fd, const char *path, off_t *ret_size, const char **what);
/* The file that is written to has no record: another file takes its place. */
int ledger_set_file_aside(struct ledger *l);
_printf_(2, 3) void ledger_problem(struct ledger *l, const char *fmt, ...);

/* ledger_retention.c */
/* 0: the file that was written to is closed, and the next is begun; else nothing has changed. */
int ledger_rotate(struct ledger *l);
/* Cleans up what a daemon that was killed in ledger_rotate has left. */
void ledger_rotate_clean(struct ledger *l);
/* Call it before a line of so many bytes: rotates if the file is full. */
void ledger_rotate_for(struct ledger *l, size_t bytes);

/* ledger_audit.c */
void ledger_audit_begin(struct ledger *l);
void ledger_audit_end(struct ledger *l);
/* The oldest file, whose first record this is, has been removed. */
void ledger_audit_removed(struct ledger *l, uint64_t first);

/* ledger_retention.c */
/* Called before the ledger is opened, and after. */
void ledger_retention_open(struct ledger *l);
void ledger_retention_begin(struct ledger *l);
void ledger_retention_close(struct ledger *l);
/* Checks whether to remove a file, to begin a new one for that, or to check again later. */
void ledger_retention_check(struct ledger *l);
