/*
 * mask.h - finds known secrets in text, in every form that programs give them, and puts "***" in their place.
 *
 * A value is found as it is; JSON-escaped, to any depth (\", \/, \u0041, \\\"); percent-encoded; broken over lines; and
 * in base64 or base64url, wherever in a longer text it begins (three alignments, of each the characters that no
 * neighbour has a part in). Text is looked at as it stands: a JSON string is searched between its quotes without being
 * decoded, which finds the same, since one more level of escapes makes no difference. What is cut out of a JSON string
 * always begins and ends between escapes, and takes the backslashes before it along: JSON that is written in that string
 * stays JSON.
 *
 * Every value has a few patterns. A byte that begins none of them costs one table access; the others are checked
 * with the byte behind them against a bitmap first. So a text costs about a nanosecond a byte, however many values
 * there are. Where it can be read in two ways (\n: a line break or an n) both are tried, a bounded number of times.
 *
 * mask_add copies; masks are wiped when they are freed. Pure: no session, no clock.
 */
#pragma once

#include "base/buf.h"

#define MASK "***"

struct mask;

struct mask *mask_new(void);
/* Another owner, who frees it too. From here on nothing is added: a thread may search with it. */
struct mask *mask_ref(struct mask *m);
/* NULL is a mask that hides nothing; the functions below take it too. Returns NULL. */
struct mask *mask_free(struct mask *m);
/* value: the bytes themselves, of a length that secret_refusal has admitted. One that is there is not added again. */
void mask_add(struct mask *m, struct slice value);

enum mask_found {
	MASK_HIT = 1,  /* a secret, in some form */
	MASK_TAIL = 2, /* the end of a JSON string in it, or its own, may be the beginning of one */
};

/* Bits of enum mask_found; text: plain, or JSON of any kind. Of JSON a hit may turn out to be none when its strings are
 * looked at. */
unsigned mask_find(const struct mask *m, struct slice text);
/* Whether mask_find would report MASK_HIT. */
bool mask_hits(const struct mask *m, struct slice text);

/* What a search of a long text of JSON has found, for the searches of its parts that follow. */
#define MASK_TAILS_MAX 64
struct mask_known {
	const struct mask *mask;
	struct slice text;
	unsigned found; /* bits of enum mask_found */
	const char *tails
		[MASK_TAILS_MAX]; /* where what may be the beginning of a secret stands, in order */
	size_t ntails;		  /* one more than MASK_TAILS_MAX: there are more */
};

/* Searches text, in any thread. It must stay as it is, where it is, for as long as ret is used. */
void mask_know(const struct mask *m, struct slice text, struct mask_known *ret);
/* Makes mask_find and mask_hits of the calling thread use k, which the caller owns, until the next call; NULL: nothing. */
void mask_use(const struct mask_known *k);
/*
 * Appends text with every secret replaced. json: it stands in a JSON string. What may be the beginning of a secret at
 * its end is left out, and is what follows the returned offset; without tail (NULL: an end like any other) nothing is
 * left out.
 */
void mask_put(const struct mask *m, struct slice text, bool json, size_t from, size_t *tail,
	      struct buf *ret);
/* A secret from start to end. */
typedef void mask_on_hit(void *ctx, size_t start, size_t end);
/* Tells of each secret in turn, and returns where what may be the beginning of one at the text's end begins: the length
 * of the text if there is none, or with last, where the text ends for good. json: as above. */
size_t mask_walk(const struct mask *m, struct slice text, bool json, bool last, mask_on_hit *on_hit,
		 void *ctx);
/* A text that may have been cut at its end, in place, NUL-terminated: what is left of a secret there is hidden too. */
void mask_line(const struct mask *m, char *text, size_t size);
