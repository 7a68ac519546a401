/*
 * recorded_calls.h - model/calls.ndjson of a bundle, and which of its calls is meant by one that a harness makes now.
 *
 * Requests are not equal when a run is made again: they have dates, ids and directories. A call is the same one if it has
 * method, path, model, tools and the sequence of its messages' roles and types as one that was recorded. Of several the
 * first that was not asked for yet is taken whose texts are equal too, but for words with digits and the directory;
 * else the first.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/list.h"
#include "digest/digest.h"

#include <stdbool.h>

/* How an answer ended. */
enum recorded_end { RECORDED_OPEN, RECORDED_COMPLETE, RECORDED_FAILED, RECORDED_CANCELLED };

struct recorded_call {
	struct list link;
	char *id, *api;
	char *shape;	     /* what a request has to have */
	struct sha256 words; /* and of its text */
	unsigned status;     /* of the answer; 0: it has none */
	char *headers;	     /* raw object; NULL with status 0 */
	struct buf answer;   /* all bytes */
	enum recorded_end end;
	char *reason; /* RECORDED_FAILED: the code that the harness was told; or NULL */
	bool asked;   /* by a call of now */
};

struct recorded_calls {
	struct list calls; /* struct recorded_call, in the order of their requests */
	unsigned n;
	char *stopped; /* why it is not whole; NULL: it is */
};

void recorded_calls_init(struct recorded_calls *r);
/* A line without its end. cwd: where the session worked. -EINVAL: no daemon writes it; -E2BIG: more calls than RERUN_CALLS_MAX. */
int recorded_calls_add(struct recorded_calls *r, struct slice line, const char *cwd);
/* All of a file, into a new one. -EINVAL: the file is no recording (BUNDLE_INVALID); other: it cannot be read
 * (NOT_RECORDED). r is to be given to recorded_calls_done in both cases. */
int recorded_calls_read(struct recorded_calls *r, const char *path, const char *cwd, struct err *e);
void recorded_calls_done(struct recorded_calls *r);

struct recorded_match {
	struct recorded_call *call; /* NULL: none is like it */
	bool exact;
};

/* The call is taken: it is not found again. */
struct recorded_match recorded_calls_take(struct recorded_calls *r, const char *method,
					  const char *path, struct slice body, const char *cwd);
