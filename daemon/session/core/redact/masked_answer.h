/*
 * masked_answer.h - a model's answer, written down without secrets, also those of which each event has a part.
 *
 * The pieces of a text (answer_strings.h) are searched as one. Of a secret in several of them the first becomes "***" and
 * the others lose their part, down to "": order and number of events, and everything else in them, stay. logprobs,
 * which has the same text once more, is emptied in an event that holds a part of what may be a secret. Text of events
 * that are no JSON is joined, too. An answer without events (answer_frames.h) is searched as it stands.
 *
 * An event waits while one of its pieces may end in the beginning of a secret, and all later ones wait behind it. Held
 * is at most ANSWER_HELD_MAX. Beyond it the oldest no longer waits: "***" is put where a secret may begin, and in the
 * place of its rest, should that follow. One event that is longer, or has too many texts or pieces, cannot be masked:
 * `stopped` is set, what is held is dropped, and nothing comes out any more.
 *
 * Pure. The mask may be another at each call, or NULL.
 */
#pragma once

#include "base/list.h"
#include "session/core/redact/answer_frames.h"
#include "session/core/redact/mask.h"

struct masked_answer {
	struct answer_frames frames;
	struct buf open; /* the event that has not ended, or an end that may begin a secret */
	struct list events, texts; /* that wait; and those that they wait for */
	unsigned ntexts;
	size_t held; /* bytes of all of these */
	bool stopped;
};

struct masked_answer *masked_answer_new(void);
struct masked_answer *masked_answer_free(struct masked_answer *a);
/* Appends to ret what no longer waits. */
void masked_answer_add(struct masked_answer *a, const struct mask *m, struct slice bytes,
		       struct buf *ret);
/* It ends here, perhaps in the middle of an event: appends the rest. */
void masked_answer_end(struct masked_answer *a, const struct mask *m, struct buf *ret);
