/*
 * journal_trim.h - what a client has acknowledged (_acpd/ack) and what may therefore be given up of a journal.
 *
 * Acknowledged events stay as long as there is room. When the journal reaches its bound, or the disk is full, those of
 * turns that are over are given up, oldest first and all at once. What a later daemon would have found in them (title,
 * prompt keys, ids in use, and the records that are no events) is written anew before, in one record "base". Readers
 * hear of the rest as a gap with the reason "trimmed".
 */
#pragma once

#include "session/core/session_internal.h"

/* What a later life needs of the events up to to, if they are not read. */
void trim_put_base(struct session *s, struct buf *b, uint64_t to);
/* Reads a record "base" or "ack" back. */
void trim_load_base(struct session *s, struct slice value);
void trim_load_ack(struct session *s, struct slice value);
/* There is no room: gives up what may be, first of all if the disk is full. True: something was. */
bool trim_now(struct session *s, bool disk_full);
/* A fork of a session whose head is gone notes that of itself. */
void trim_inherit(struct session *s);
/* struct evlog.full */
void trim_full(void *ctx, int error);
/* The client has all that it could want to keep: everything but how the session was closed. */
bool trim_stored(const struct session *s);
