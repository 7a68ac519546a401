/*
 * incarnations.h - which incarnations a session's journal went through, and with which event each of them began.
 *
 * Each incarnation numbers the events that follow on its own. Where a state directory or a whole sandbox is copied, two of
 * them go on from the same event: their numbers are the same up to the first event of the second, and mean different
 * events from there on. So what a client has read of a predecessor holds here up to the first event of its successor.
 *
 * In the journal stands a record "incarnation" {id, from} before the first event of each, and the whole list in the record
 * "base" that stands for what was trimmed away. Which of them damage may have taken is not known: an entry without an id
 * takes the place of those, and ends the one before. At most INCARNATIONS_MAX are kept; numbers of those that are
 * forgotten mean nothing, as those of any unknown one.
 *
 * Knows no session. Embedded in its owner, zeroed at first, freed by incarnations_done; nothing fails but for want of
 * memory, which aborts.
 */
#pragma once

#include "base/slice.h"
#include "json/jenc.h"

#include <stdbool.h>
#include <stdint.h>

#define INCARNATIONS_MAX 32

struct incarnation {
	uint64_t from;
	char *id; /* "": unknown ones */
};

struct incarnations {
	struct incarnation *list;
	size_t n;
};

void incarnations_done(struct incarnations *l);
/* Events from this one on are numbered by id; "" if it is not known by whom. */
void incarnations_begin(struct incarnations *l, const char *id, uint64_t from);
/* id is the one that numbers what comes. */
bool incarnations_now(const struct incarnations *l, const char *id);
/* The first event that id may have numbered otherwise than it is here: that of its successor, or next, if there is
 * none. 0: it is not known. */
uint64_t incarnations_end(const struct incarnations *l, const char *id, uint64_t next);
/* Who numbered that event; NULL: not known. */
const char *incarnations_at(const struct incarnations *l, uint64_t seq);

/* The value of a record "incarnation". */
void incarnations_put_one(struct buf *b, const char *id, uint64_t from);
/* And read back; next: the number of the event that comes next, by what precedes the record. One that is not as it was
 * written counts as unknown. */
void incarnations_load_one(struct incarnations *l, struct slice value, uint64_t next);
/* All of them, as an array; nothing if there are none. */
void incarnations_put(const struct incarnations *l, struct jw *w, const char *key);
/* They take the place of what is known, if it is such an array. */
void incarnations_load(struct incarnations *l, struct jval array);
