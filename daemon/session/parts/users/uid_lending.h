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

#include "base/log.h"
#include "session/core/session_internal.h"
#include "session/parts/users/session_uids.h"

struct uid_lending;

struct uid_lending *uid_lending_new(struct session_store *st);
struct uid_lending *uid_lending_free(struct uid_lending *l);
/* 0: it can go on at once; 1: fn follows. -errno with e: AGENT_UIDS_EXHAUSTED, and it cannot. fn NULL: nobody waits. */
int uid_lending_need(struct uid_lending *l, const struct uid_need *n, uid_ready_fn fn, void *ctx,
		     struct err *e);
/* Sessions of that uid are about to lose it: nobody may join them, or use their files. */
bool uid_lending_is_taking(const struct uid_lending *l, uid_t uid);
/* No job is begun; one that runs is killed, and taken up by the next daemon. */
void uid_lending_stop(struct uid_lending *l);

/* --- shared with uid_taking.c, which takes a uid from closed sessions, and uid_giving.c, which gives parked files one
 * again --- */

enum lending_step {
	LENDING_IDLE,
	LENDING_CLEANING, /* what the uid left is removed */
	LENDING_SCANNING, /* its trees are looked through */
	LENDING_GIVING,	  /* files of a group get a uid again */
};

struct uid_lending {
	struct session_store *st;
	struct list waiting;
	enum lending_step step;
	uid_t uid;	       /* that is taken; LENDING_GIVING: that is given */
	unsigned long long no; /* of the group */
	struct helper_job *helper;
	bool stopping;
};

struct parked_group *lending_group(const struct uid_lending *l);
void lending_log(enum log_level level, const char *what, uid_t uid, const char *why);
/* Those that wait for the group failed are given e. What waits again stands behind them. */
void lending_wake(struct uid_lending *l, unsigned long long failed, const struct err *e);
int lending_start(struct uid_lending *l, const char *verb, const struct buf *job, struct err *e);
/* to: who is given them; 0: nobody, they are only looked through. */
void lending_put_trees(struct jw *w, const struct parked_group *g, uid_t to);

/* uid_taking.c */
/* 0: a uid will be free, or more is known. -ENOENT: nobody's can be taken. */
int lending_take(struct uid_lending *l);
int lending_scan(struct uid_lending *l, struct err *e);
void lending_taken(struct uid_lending *l, struct slice report);
/* It stays as it is while this daemon runs. */
void lending_leave_alone(struct uid_lending *l, const char *why);

/* uid_giving.c */
/* 0: it has one, or will have. */
int lending_give(struct uid_lending *l, struct parked_group *g, struct err *e);
void lending_given(struct uid_lending *l);
/* What was to have one waits no longer. */
void lending_given_none(struct uid_lending *l, const struct err *why);
