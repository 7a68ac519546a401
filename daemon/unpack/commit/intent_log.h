/*
 * intent_log.h - the intent log of a commit: every step that changes the target, written down before the first is
 * taken.
 *
 *	acpd-merge 1 <time>                       (or acpd-whole: one rename of everything, no steps; or acpd-exact: as a
 *	                                          merge, but a step that finds something else undoes all of them)
 *	x <what was there: 5 numbers> <what will be there: 5 numbers> dir/name
 *	...
 *	end <steps> <CRC-32C of all lines before> P
 *
 * The log lies in the staging directory, which the user of the tree can write: its bytes are not trusted. In any case,
 * paths stay below the directories they are used in (path_ok in intent_log.c, held_tree.h), and COMMIT_OPS_MAX bounds
 * the memory. The log is read line by line, since a commit may have as many steps as an archive has entries.
 *
 * Functions return 0 or a negative errno; -EBADMSG: not a complete log.
 */
#pragma once

#include "base/buf.h"
#include "base/limits.h"

#include <sys/stat.h>

/* Distinguishes an entry of a tree from another, or from itself before a change. ctime cannot be set, but a rename
 * changes it too. It is 0, not known, for a file with other names, because changes of those show in it. */
struct stamp {
	uint64_t ino, size, mtime, ctime, mode; /* times in nanoseconds */
};

enum op_kind {
	OP_ADD = 'a', /* staged -> target, where nothing is; a directory with all that is in it */
	OP_EXCHANGE = 'x', /* staged <-> target */
	OP_REMOVE = 'r',   /* target -> old/<number of the step> */
	OP_RMDIR = 'd',	   /* an empty directory is removed */
	OP_MKDIR = 'm',
	OP_CHMOD = 'c', /* of a directory */
};

struct op {
	enum op_kind kind;
	struct stamp was, will;
	struct slice path;
};

enum log_kind { LOG_MERGE, LOG_WHOLE, LOG_EXACT };

enum log_state {
	LOG_PLANNED = 'P',
	LOG_REDO = 'R',
	LOG_UNDO = 'U',
	LOG_DONE = 'D',
};

void stamp_of(const struct stat *sb, struct stamp *id);

/* --- one line */
int op_put(const struct op *op, struct buf *out);
/* line without its newline; op->path points into it. */
int op_parse(struct slice line, struct op *op);

/* --- writing */

/* Bytes on their way into a file, and the checksum of those that are in it. */
struct summed_writer {
	int fd; /* borrowed */
	struct buf out;
	uint32_t crc;
};

int summed_flush(struct summed_writer *w);

struct intent_log_writer {
	struct summed_writer to;
	uint64_t n;
};

/* Begins a log in fd, which is empty. */
int intent_log_begin(struct intent_log_writer *w, int fd, enum log_kind kind);
int intent_log_add(struct intent_log_writer *w, const struct op *op);
/* Adds a step at path. was and will may be NULL. */
int intent_log_put(struct intent_log_writer *w, enum op_kind kind, const char *path,
		   const struct stamp *was, const struct stamp *will);
/* Writes the last line, state LOG_PLANNED, and syncs the file. */
int intent_log_end(struct intent_log_writer *w);
static inline void intent_log_writer_done(struct intent_log_writer *w)
{
	buf_done(&w->to.out);
}

/* --- reading */
struct intent_log {
	int fd; /* borrowed */
	enum log_kind kind;
	enum log_state state;
	uint64_t since; /* when the log was begun, by the clock of its file system */
	uint64_t *at;	/* where each line begins, and where the last line does */
	size_t n;
	uint64_t letter; /* its offset */
};

/* Room for a line. */
#define INTENT_LOG_LINE_MAX (PATH_BYTES_MAX + 256)

int intent_log_load(struct intent_log *log, int fd);
void intent_log_done(struct intent_log *log);
/* Step i; its path lies in line. */
int intent_log_step(const struct intent_log *log, size_t i, char line[INTENT_LOG_LINE_MAX],
		    struct op *op);
/* Overwrites the letter, and syncs. */
int intent_log_set(struct intent_log *log, enum log_state state);
