/*
 * agent_uids.h - who has which uid of --agent-uids: the daemon's book of them, on disk.
 *
 * A holder is a name, in practice the id of a session. <state>/uids/<uid>.<holder> is a file for each: it is made
 * before anything else of that session and goes after everything else of it, so a uid is never given away while
 * something of its last holder is left, whatever kills the daemon. In it stand the trees that holder worked on, one
 * path a line: they are not removed with what else the uid owns. A uid is free when nobody holds it; the one that has
 * been free for longest is taken first, as far as this daemon knows.
 *
 * Holders outside of the range stay what they are: the range was another one when they came. The book knows no session
 * and starts nothing. Its files are tiny, and no call takes longer than a few system calls.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "proc/users/agent_user.h"
#include "proc/users/uid_range.h"

struct agent_uids;

/* The range can be used here: we are root, user is another than we, and no user or group of the machine is in the way.
 * Reads the machine's users. OPTION_INVALID, AGENT_UIDS_TAKEN. */
int agent_uids_check(const struct uid_range *range, const struct agent_user *user, struct err *e);
/* NULL with e: STATE_NOT_WRITABLE. */
struct agent_uids *agent_uids_open(const char *state_dir, const struct uid_range *range,
				   struct err *e);
struct agent_uids *agent_uids_close(struct agent_uids *u);
const struct uid_range *agent_uids_range(const struct agent_uids *u);
/* tree: the path that holder works on, or NULL. AGENT_UIDS_EXHAUSTED, STATE_NOT_WRITABLE, NO_SPACE. */
int agent_uids_take(struct agent_uids *u, const char *holder, const char *tree, uid_t *ret,
		    struct err *e);
/* That one, along with those who have it. Who holds it already goes on holding it. */
int agent_uids_hold(struct agent_uids *u, uid_t uid, const char *holder, const char *tree,
		    struct err *e);
/* One more tree that holder worked on. */
void agent_uids_keep(struct agent_uids *u, const char *holder, const char *tree);
/* holder has it no more; its trees are remembered by another holder of the uid, if there is one. */
void agent_uids_drop(struct agent_uids *u, const char *holder);
/* Which one holder has; false: none. */
bool agent_uids_of(const struct agent_uids *u, const char *holder, uid_t *ret);
unsigned agent_uids_holders(const struct agent_uids *u, uid_t uid);
/* The trees of all holders of it: paths, each ended by a newline. */
void agent_uids_trees(const struct agent_uids *u, uid_t uid, struct buf *ret);
/* fn may drop what it is shown, and nothing else. */
void agent_uids_each(struct agent_uids *u, void (*fn)(void *ctx, uid_t uid, const char *holder),
		     void *ctx);
/* Of the range: those that nobody holds. */
unsigned agent_uids_free(const struct agent_uids *u);
