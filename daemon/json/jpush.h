/*
 * jpush.h - JSON read while its bytes pass, cut anywhere: what stands at a few places of a text that is not kept.
 *
 * A place is a path of member names with dots between, "*" for the elements of an array: "choices.*.finish_reason". The
 * reader asks at each scalar whether it is wanted, and collects only those, up to JPUSH_TEXT_MAX bytes. Everything else
 * is walked over: its nesting and the order of its tokens are checked, the inside of its strings and numbers is not.
 * What is handed on is one valid scalar, as json/jscan.h has it; in a string U+FFFD stands for each byte that was not UTF-8.
 *
 * A value after the first is a fault: jpush_begin comes before each.
 */
#pragma once

#include "base/buf.h"
#include "json/jscan.h"

struct jpush_ops {
	/* The value at this path is wanted: a number that `value` gets; -1: it is not. */
	int (*wants)(void *ctx, const char *path);
	/* v is a string, number, true, false or null; J_NONE: it is longer than JPUSH_TEXT_MAX, and v.raw is the beginning of
	 * a string, as a valid string, or empty. */
	void (*value)(void *ctx, int wanted, struct jval v);
};

struct jpush {
	const struct jpush_ops *ops;
	void *ctx;
	unsigned char state;
	bool escaped; /* the next byte of a string */
	bool keeps;   /* this scalar or name is collected */
	int wanted;
	unsigned depth;
	uint64_t arrays;			    /* bit per open level */
	size_t path_n, level_n[JSON_DEPTH_MAX + 1]; /* of each level: the path of what is open */
	struct buf text; /* the collected scalar or name; failed: longer than JPUSH_TEXT_MAX */
	char path[JPUSH_PATH_MAX + 1];
};

/* Starts to read a value. The reader is all zeros, or was used before: its memory is used again. */
void jpush_begin(struct jpush *j, const struct jpush_ops *ops, void *ctx);
/* Frees what the reader holds. */
void jpush_release(struct jpush *j);
void jpush_feed(struct jpush *j, struct slice bytes);
/* Nothing more comes. True: that was one value, and valid as far as it is looked at. */
bool jpush_end(struct jpush *j);
/* The value that began is whole. */
bool jpush_done(const struct jpush *j);
/* Nothing but white space came. */
bool jpush_empty(const struct jpush *j);
