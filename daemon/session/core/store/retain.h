/*
 * retain.h - which closed sessions stay. --keep-sessions bounds their age and what they take on disk all together;
 * without it nothing is deleted but when the disk is full: then those whose client has acknowledged all, the longest
 * closed first, then the others, until there is room; and where no session can go, acknowledged heads of journals
 * (journal_trim.h).
 *
 * Never one that is open, is watched or read, or is just being copied. What goes is put away and removed as by
 * session/delete. Sizes are measured by du(1), one session at a time, each once after it was closed.
 */
#pragma once

#include "session/core/session_internal.h"

/* When it was closed, unix ms. */
uint64_t retain_closed_at(const struct session *s);
void retain_begin(struct session_store *st);
void retain_stop(struct session_store *st);
void retain_done(struct session_store *st);
/* A session has been closed, or more of it acknowledged. */
void retain_check(struct session *s);
/* Something could not be written for want of room. */
void retain_pressure(struct session_store *st);
