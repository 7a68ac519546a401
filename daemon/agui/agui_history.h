/*
 * agui_history.h - what of an input's messages a thread has, and what is new. Pure, but for noting in the thread.
 *
 * A thread has the messages of people in an order. An input repeats all of them, by id and unchanged, and adds to their
 * end; or it has none at all. What the daemon said may be missing, as when a stream was cut; what it has not said may
 * stand before the first message of a person only, as a greeting of the front end does. Everything else is
 * HISTORY_CHANGED.
 */
#pragma once

#include "agui/agui_input.h"
#include "agui/agui_threads.h"

struct agui_news {
	bool *is_new; /* for each message of the input: to be told to the agent */
	size_t n;
	bool people; /* a message of a person is among them */
};

void agui_news_done(struct agui_news *n);
/* -EINVAL with HISTORY_CHANGED, and nothing to free. */
int agui_history_check(const struct agui_thread *t, const struct agui_input *in,
		       struct agui_news *ret, struct err *e);
/* What is new is told. */
void agui_history_note(struct agui_thread *t, const struct agui_input *in,
		       const struct agui_news *n);
/* The last n of what was told are taken back. */
void agui_history_forget(struct agui_thread *t, size_t n);
/* Messages before the first of a person that the agent has never said, for a snapshot: elements of an array. */
void agui_history_lead(const struct agui_input *in, struct buf *b);
/* "acpd-…": the daemon gave that id. */
bool agui_is_own_id(const char *id);
