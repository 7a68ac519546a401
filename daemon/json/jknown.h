/*
 * jknown.h - where the long values of a text end, found by one scan in a thread, so that later scans skip them.
 *
 * A message is scanned several times: as a message, as an update, for its members. Of a long one each scan takes as long
 * as the text is. A scan of text that is known skips each value of JKNOWN_MIN bytes or more whose members nobody asks
 * for, and so costs what the short values cost. It returns what a scan without this knowledge returns.
 */
#pragma once

#include "json/jscan.h"

struct jknown_value {
	const unsigned char *start, *end;
	bool half; /* it holds half of a surrogate pair (jstr.h) */
};

struct jknown {
	const unsigned char *start, *end; /* the text */
	struct jknown_value *values;	  /* sorted by start */
	size_t n;
	bool noting; /* its text is being scanned */
};

/* Scans text and keeps where its long values end, in any thread. The text must stay as it is, where it is, for as long as
 * k is used. Returns what jscan_message does with repair; after an error nothing is known. Free with jknown_done. */
enum jscan_error jknown_scan(struct jknown *k, struct slice text, bool *repair);
void jknown_done(struct jknown *k);
/* Makes the scans of the calling thread use k, which the caller owns, until the next call; NULL: none. */
void jknown_use(struct jknown *k);

/* For jscan.c: what the scans of this thread use. */
extern _Thread_local struct jknown *jknown_used;
struct jwalk;
/* The bytes of the value that begins at w; 0: they are not known. */
size_t jknown_size(const struct jwalk *w);
/* At the first byte of a value: passes it if it is known. */
bool jknown_skip(struct jwalk *w);
/* Between the quotes of a string: passes the rest and the closing quote if it is known. */
bool jknown_skip_rest(struct jwalk *w);
/* Behind a value that began at start. */
void jknown_note(const struct jwalk *w, const unsigned char *start);
