/*
 * uid_lending.h - more sessions than uids: a closed session's uid is given to a session that needs one.
 *
 * Nothing is done while a uid is free. When none is, the uid of the sessions that have been closed for longest is taken:
 * its processes are killed and what it has in /tmp and its like is removed, as when it is given back (leftovers.h), its
 * trees are looked through, their tops are shut (parked_uids.h), and then it is free. Whoever needs a session that is
 * parked - to load or fork it, to read its files, or to open another one on its tree - waits until it has a uid again:
 * its old one if nobody has it, or another one, which then gets its files.
 *
 * One of these jobs runs at a time, in acpd-unpack; the loop pays a few system calls for each tree. What cannot be given
 * back (a tree with too many files, one whose way others may change, a mount, files of the uid in a directory of
 * somebody else's) is left alone while this daemon runs.
 */
#pragma once

#include "session/core/session_internal.h"
#include "session/parts/users/session_uids.h"

struct uid_lending;

struct uid_lending *uid_lending_new(struct session_store *st);
struct uid_lending *uid_lending_free(struct uid_lending *l);
/* 0: it can go on at once; 1: fn follows. -errno with e: AGENT_UIDS_EXHAUSTED, and it cannot. fn NULL: nobody waits. */
int uid_lending_need(struct uid_lending *l, const struct uid_need *n, uid_ready_fn fn, void *ctx,
		     struct err *e);
/* Sessions of that uid are about to lose it: nobody may join them, or use their files. */
bool uid_lending_takes(const struct uid_lending *l, uid_t uid);
/* No job is begun; one that runs is killed, and taken up by the next daemon. */
void uid_lending_stop(struct uid_lending *l);
/* Of a session that is deleted: nothing of it is parked. */
void uid_lending_gone(struct uid_lending *l, const char *id);
