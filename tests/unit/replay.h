/*
 * replay.h - recorded conversations of an adapter and a program (tests/fixtures), played again: what the program wrote is fed back line
 * by line, what the client did there is done by the calls of the contract. A record is a line {"dir":">"|"<","m":MESSAGE};
 * ">" went to the program, "#" is a note of the recorder.
 *
 * What comes out to the core is kept in three ways: as a trace of one word for each thing the adapter did, repeats counted ("ready
 * PROMPT notice*2 end_turn "; a failed turn is its class), as the lines sent, in order, and whole, as fakehost.h says it.
 */
#pragma once

#include "unit.h"

#include "fakehost.h"
#include "json/jscan.h"

struct replay_side {
	const char *dir; /* of the recordings, with a slash */
	void (*client)(struct slice m);
	void (*program)(struct slice m); /* NULL: the line is fed */
	void (*sent)(struct slice m);	 /* NULL: what is sent is kept in sent */
};

extern struct fake f;
extern struct buf trace, sent, said;
extern uint64_t asked; /* the newest question */

int replay_setup(void **state);
int replay_teardown(void **state);
/* Plays DIR/NAME.jsonl; all that is sent must have been taken from sent. */
void replay_file(const struct replay_side *side, const char *name);
/* The trace of it is exactly this. */
void replay_trace(const struct replay_side *side, const char *name, const char *want);
/* What the adapter said since goes into trace, sent and said. */
void take_log(void);
void put_word(const char *word);
/* The text stands somewhere in what the adapter said. */
void assert_said(const char *text);
/* Takes the next line of a text off it; false at its end. */
bool next_line(struct slice *rest, struct slice *line);
