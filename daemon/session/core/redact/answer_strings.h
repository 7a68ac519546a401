/*
 * answer_strings.h - the strings in an event of a model's answer, and which of them are pieces of one text.
 *
 * What a model says comes in pieces, each in an event of its own: choices[].delta.content, delta, delta.partial_json,
 * candidates[].content.parts[].text. Pieces of the same text stand below the same names (the number of an element
 * counts for nothing) in objects with the same index, output_index and so on; 0 is like none. That is all that is asked
 * of an API: a member nobody has heard of is a piece as well if it is below "delta", "choices", "parts" or
 * "content_block", but for words of the API. All other strings, and names of members, are whole by themselves.
 *
 * The text need not be valid; nothing but its strings, brackets and commas is looked at. Pure.
 */
#pragma once

#include "base/slice.h"
#include "base/limits.h"

#include <stdint.h>

/* Between its quotes, as an offset in the event. */
struct answer_string {
	size_t at, n;
	uint64_t stream; /* the same for pieces of one text */
};

struct answer_strings_ops {
	/* A string that is no piece, or a name; at, n: between its quotes. */
	void (*whole)(void *ctx, size_t at, size_t n);
	/* What stands between two strings. */
	void (*between)(void *ctx, size_t at, size_t n);
	/* The value of logprobs, which has all text once more, as tokens and as numbers: an object or array that is not empty. */
	void (*tokens)(void *ctx, size_t at, size_t n);
};

struct answer_level {
	bool object, streams; /* streams: strings in it are pieces */
	uint64_t path, index;
	size_t first; /* of the pieces inside it */
};

struct answer_strings {
	const struct answer_strings_ops *ops;
	void *ctx;
	struct answer_string *list; /* pieces; the caller's to free */
	size_t n;
	struct answer_level levels[JSON_DEPTH_MAX + 2];
	unsigned depth, beyond;	  /* beyond: levels that are not kept */
	bool key;		  /* a string here is a name */
	struct answer_level next; /* what the value that comes has of its name */
	bool is_word, is_index, is_tokens;
	uint64_t name;
	size_t last, end; /* of the last string, and of all */
	unsigned tokens_depth;
	size_t tokens_at; /* with tokens_depth */
};

void answer_strings_begin(struct answer_strings *x, const struct answer_strings_ops *ops,
			  void *ctx);
/* event[at..end): the event's JSON, or a line of it. */
void answer_strings_take(struct answer_strings *x, const char *event, size_t at, size_t end);
/* Then the list is right. */
void answer_strings_end(struct answer_strings *x);
