/*
 * frames.h - finds the messages in a line that a program did not write as one JSON object alone.
 *
 * Programs and their libraries print to the stream that carries messages: banners, log lines, progress, terminal
 * escapes, a byte order mark. A message is an object whose first member is one that messages have ("jsonrpc", "id",
 * "method", "params", "result", "error", "type"). Text behind which a label ends ("received: ", "<- ") shows a message,
 * and does not send one. Called only for lines that are not a message as they are.
 */
#pragma once

#include "base/slice.h"

/* Takes a message that was found. 0: it was one; > 0: it was none; < 0: no more is wanted. */
typedef int (*frame_take_fn)(void *ctx, struct slice frame);

enum frames_result {
	FRAMES_NONE,   /* no message in it */
	FRAMES_TAKEN,  /* one or more were taken */
	FRAMES_BROKEN, /* it begins as a message does, and is none */
};

/* Passes each message of a line to take, bytes that are not UTF-8 as U+FFFD. */
enum frames_result frames_take(struct slice line, frame_take_fn take, void *ctx);
