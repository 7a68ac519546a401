/*
 * upload_thread.h - the thread of one upload: hashes and writes what it is given, in order; at the end compares the hash, looks at the
 * format, and gives the file its name. For the files of archive/ alone.
 *
 * All functions are called on the loop's thread; so is `event`, after anything that worker_look reports has changed. The file at
 * `part` belongs to the worker from worker_start until it has ended. An order is carried out behind the bytes given before it, except
 * worker_restart and worker_end, which do not wait for bytes that were not yet written or hashed again.
 */
#pragma once

#include "archive/archive_format.h"
#include "digest/digest.h"
#include "loop/loop.h"

struct worker;

struct worker_job {
	const char *part, *whole; /* paths */
	bool resume;		  /* what is in part is hashed first; else it is emptied */
	struct sha256 digest;
};

enum worker_result {
	WORKER_RUNNING,
	WORKER_PLACED,	     /* the archive has its name; it is being synced */
	WORKER_BAD_HASH,     /* these three and FAILED: nothing more will be written */
	WORKER_BAD_FORMAT,   /* none that we take */
	WORKER_OTHER_FORMAT, /* not the declared one */
	WORKER_FAILED,	     /* see error */
};

struct worker_view {
	enum worker_result result;
	int error;     /* negative errno */
	size_t queued; /* bytes given and not yet written */
	uint64_t size; /* of the file; true once it ended */
	enum archive_format found;
	bool ended; /* the thread is gone */
};

/* NULL: no descriptor or no thread; *error says why. */
struct worker *worker_start(struct loop *loop, const struct worker_job *job,
			    void (*event)(void *ctx), void *ctx, int *error);
/* Copies. */
void worker_give(struct worker *w, struct slice piece);
/* declared: what the archive is to be; ARCHIVE_UNKNOWN: any. */
void worker_finish(struct worker *w, enum archive_format declared);
/* From the first byte again. */
void worker_restart(struct worker *w);
/* The thread ends; `event` follows, then worker_free does not wait. */
void worker_end(struct worker *w);
struct worker_view worker_look(struct worker *w);
struct worker *worker_free(struct worker *w);
