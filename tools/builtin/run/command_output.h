/*
 * command_output.h - the output of a process: the newest bytes of a stream, and how many were dropped.
 *
 * A command may write gigabytes. Kept are the newest keep bytes, in a ring that grows up to that size only when needed,
 * and the first OUTPUT_HEAD_BYTES, because builds print important lines at their beginning. The functions return text:
 * it starts at a character, and so does every piece of a stream that is passed on while it is written
 * (command_output_whole returns how much of it is whole). The JSON writer replaces bytes that are not UTF-8 by U+FFFD.
 *
 * Neither locks nor allocates beyond keep; if memory is gone, output is dropped, never as a failure of
 * the command.
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

struct command_output {
	char *data, *head;
	size_t head_len;
	size_t keep;	/* most bytes kept */
	size_t cap;	/* bytes that data has room for */
	size_t at, len; /* the oldest byte, and how many there are */
	uint64_t total; /* bytes ever written */
};

void command_output_init(struct command_output *o, size_t keep);
void command_output_done(struct command_output *o);
void command_output_add(struct command_output *o, struct slice bytes);
/* Bytes that were written and are not kept. */
uint64_t command_output_dropped(const struct command_output *o);
/* Appends what is kept, from the first whole character on; of it the last lines only, if lines is not 0. */
void command_output_text(const struct command_output *o, size_t lines, struct buf *ret);
/* Appends at most n bytes from this place of the stream on, whole characters, as far as they are kept in one piece.
 * Returns where it begins: later than requested, if that part is not kept. */
uint64_t command_output_piece(const struct command_output *o, uint64_t from, size_t n,
			      struct buf *ret);
/* How many bytes of a piece of a stream end with a whole character; the rest (at most 3) may be completed by what
 * follows. */
size_t command_output_whole(struct slice piece);
