/*
 * refusals.h - what was refused, each once, with how often: the record that a supervisor fills from its thread and others
 * read. As long as one of them has a reference it is there.
 *
 * A confined process chooses what is in it. So it has REFUSALS_MAX entries; whatever else comes is only counted.
 * Nothing here takes memory after refusals_new.
 */
#pragma once

#include "confine/watch/refusal.h"

struct refusals;

/* One reference. */
struct refusals *refusals_new(void);
/* Both take NULL. */
struct refusals *refusals_ref(struct refusals *r);
struct refusals *refusals_unref(struct refusals *r);
/* Readable when there is an entry that is new since refusals_seen. Owned by r. */
int refusals_fd(const struct refusals *r);
void refusals_seen(struct refusals *r);

/* count is ignored: it happened once. */
void refusals_add(struct refusals *r, const struct refusal *one);
/* The next entry that was not taken yet; again: also those that have happened since they were. false: there is none. */
bool refusals_take(struct refusals *r, bool again, struct refusal *ret);
/* How many found no room since they were asked for. */
uint64_t refusals_take_more(struct refusals *r);
