/*
 * harness_pool.h - which sessions have a harness, and which sessions there are at all.
 *
 * A harness costs hundreds of megabytes, a session without one a few kilobytes. So at most harness_max harnesses live
 * at a time; without that setting another one starts where HARNESS_MEMORY is left for it and for each that is starting,
 * or where none lives. One that nobody has needed for harness_idle seconds (no turn, no question, no driver) is stopped.
 * Nothing is lost by that: the session stays open and its next turn starts the harness again, which takes its context
 * up. A harness that cannot do so is left alone.
 *
 * A session that needs a harness while all places are taken stands in one queue, in order of arrival, once, whatever it
 * has waiting. While somebody stands there, harnesses that do nothing are stopped, the one longest unused first, driver
 * or not. The first of the queue may launch as soon as there is a place. Whatever frees a place, or makes
 * somebody leave the queue, calls the next ones (session_advance), which check whether it is their turn; so
 * nobody holds a place without using it, and no call can be lost. A prompt, or a client's wait for the session, that
 * has stood there for harness_wait seconds fails with TOO_MANY_HARNESSES.
 *
 * A session of this daemon that has no driver, no reader and never had a turn is removed after harness_idle seconds as
 * well.
 *
 * All lists are in order of time, so one timer each does for any number of sessions.
 */
#pragma once

#include "session/core/session_internal.h"

void harness_pool_init(struct session_store *st);
void harness_pool_done(struct session_store *st);
/* Launches the harness, or puts the session into the queue. <0: it could not be launched; e says why. */
int harness_pool_launch(struct session *s, struct err *e);
/* A place has been taken; it is given back. */
void harness_pool_began(struct session *s);
void harness_pool_ended(struct session *s);
/* Its state may have changed: is it still waiting, does anybody need it? From session_advance, for any session at any
 * time. */
void harness_pool_update(struct session *s);
/* The session goes. */
void harness_pool_forget(struct session *s);
bool harness_pool_waits(const struct session *s);
/* Something is under way in it, or somebody waits for it. */
bool harness_pool_busy(const struct session *s);
/* Nobody needs it, so it was stopped: it is started again when it is needed. */
bool harness_pool_rests(const struct session *s);
/* As many may live as things are: --harness-max, or those that do and those that memory is left for. */
unsigned harness_pool_max(struct session_store *st);
/* When the first of those who wait fails with TOO_MANY_HARNESSES; monotonic ms. Of a session that waits. */
uint64_t harness_pool_wait_due(const struct session *s);
/* -ENOSPC with TOO_MANY_SESSIONS: one more cannot be open, or be made. */
int harness_pool_admit(const struct session_store *st, bool is_new, struct err *e);
