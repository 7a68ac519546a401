/*
 * answer_frames.h - where the events of a model's answer end, while its bytes pass, cut anywhere. Pure; keeps no bytes.
 *
 * An answer is an event stream (text/event-stream), or an array whose elements are its events, as google has it; what
 * it is shows its first byte. Anything else is no sequence of events: one object, a page, compressed bytes. All zeros
 * is right to begin with.
 */
#pragma once

#include "base/slice.h"

enum answer_form { ANSWER_UNKNOWN, ANSWER_EVENTS, ANSWER_ARRAY, ANSWER_OTHER };

struct answer_frames {
	enum answer_form form;
	bool after_cr, in_line;	     /* of an event stream */
	bool in_string, after_slash; /* of an array */
	unsigned depth;
};

/* How many of the bytes belong to the event that is open. *ends: the last of them ends it. Of an answer without events,
 * all of them. */
size_t answer_frames_take(struct answer_frames *f, struct slice bytes, bool *ends);
