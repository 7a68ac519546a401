/*
 * upload_thread.h - the thread of one upload: it hashes and writes its bytes in order. At the end it compares the hash,
 * checks the format, and gives the file its name. Only for the files of archive/.
 *
 * All functions are called on the loop's thread; so is `event`, after anything that upload_thread_progress reports has
 * changed. The file at `part` belongs to the worker from upload_thread_start until it has ended. A command is carried
 * out after the bytes given before it, so an ended upload has written all of them and can be resumed. Only
 * upload_thread_restart drops the bytes that are not yet written. Both stop the hashing of an existing part.
 */
#pragma once

#include "tree/archive_format.h"
#include "digest/digest.h"
#include "loop/loop.h"

struct upload_thread;

struct upload_thread_job {
	const char *part, *whole; /* paths */
	bool resume;		  /* what is in part is hashed first; else it is emptied */
	struct sha256 digest;
};

enum upload_result {
	UPLOAD_RUNNING,
	UPLOAD_PLACED,	     /* the archive has its name; it is being synced */
	UPLOAD_BAD_HASH,     /* these three and FAILED: nothing more will be written */
	UPLOAD_BAD_FORMAT,   /* not one that we accept */
	UPLOAD_OTHER_FORMAT, /* not the declared one */
	UPLOAD_FAILED,	     /* see error */
};

struct upload_progress {
	enum upload_result result;
	int error;     /* negative errno */
	size_t queued; /* bytes given and not yet written */
	uint64_t size; /* of the file; true once it ended */
	enum archive_format found;
	bool ended; /* the thread is gone */
};

/* NULL: no descriptor or no thread; *error says why. */
struct upload_thread *upload_thread_start(struct loop *loop, const struct upload_thread_job *job,
					  void (*event)(void *ctx), void *ctx, int *error);
/* Copies piece. */
void upload_thread_give(struct upload_thread *w, struct slice piece);
/* declared: the expected format; ARCHIVE_UNKNOWN: any. */
void upload_thread_finish(struct upload_thread *w, enum archive_format declared);
/* Begins again at the first byte. */
void upload_thread_restart(struct upload_thread *w);
/* The thread ends; `event` follows, then upload_thread_free does not wait. */
void upload_thread_end(struct upload_thread *w);
struct upload_progress upload_thread_progress(struct upload_thread *w);
struct upload_thread *upload_thread_free(struct upload_thread *w);
