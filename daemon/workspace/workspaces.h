/*
 * workspaces.h - what all work on workspaces and skills shares, and the daemon's records of each tree that it writes
 * into.
 *
 * <state>/trees/<key>/ belongs to one directory, for all sessions; key is made from its normalized path. In it:
 *   manifest      what our last generation wrote, tree/tree_manifest.h
 *   pending       the job that is being carried out. If it is there at the start of a daemon, the job was killed, and
 *                 acpd-unpack brings the tree to its old or its new state before the daemon touches it again
 *   instructions  an empty file: the tree's file of instructions is ours
 *   removal       the job that removes the tree, which belongs to no session any more
 *
 * Ephemeral workspaces are directories with a random name below the root of workspaces.
 */
#pragma once

#include "archive/archive_store.h"
#include "base/err.h"
#include "base/list.h"
#include "loop/loop.h"
#include "proc/users/agent_user.h"
#include "proc/proc.h"

struct workspaces {
	struct loop *loop;
	struct proc_host *procs;
	struct archive_store *archives;
	char *state_dir;	     /* <state>/trees */
	char *root;		     /* of ephemeral workspaces */
	char *builtin_dir;	     /* of baked skills; NULL: none */
	struct agent_user user;	     /* borrowed: of jobs that are on no tree */
	struct list chores;	     /* struct tree_chore */
	struct list claims;	     /* on trees, in the order in which they were made */
	struct derive *derive;	     /* derive.h: what is being made, or NULL */
	struct sha256 derive_failed; /* the last it failed for: not tried again for each session */
	bool closing;		     /* no more jobs in the background are begun */
	void (*idle)(void *ctx);     /* a job in the background has ended */
	void (*removed)(void *ctx, const char *path); /* by workspaces_remove */
	void *ctx;
};

/* One job at a time works on a tree; later ones wait. Embedded in the job. */
struct claim {
	struct list link; /* unlinked: there is no claim */
	char *path;
	void (*granted)(void *ctx); /* from the loop, once */
	void *ctx;
	struct loop_task task;
};

/* Where the records of the tree at path are; the caller frees. make: makes the directory. */
int workspaces_record(const struct workspaces *ws, const char *path, bool make, char **ret);
/* The tree is gone for good: its records too. */
void workspaces_forget(const struct workspaces *ws, const char *path);
/* Makes <root>/<random> for that user. The caller frees. */
int workspaces_make_ephemeral(const struct workspaces *ws, const struct agent_user *user,
			      char **ret, struct err *e);
/* Gives cwd to that user, and makes it if only its last component is missing. Refused unless everything above it is
 * ours and closed to others. */
int workspaces_hand_over(const struct agent_user *user, const char *path, struct err *e);
/* Members uid and gid of a job, where they are needed; the same and target. */
struct jw;
void workspaces_put_owner(const struct agent_user *user, struct jw *w);
void workspaces_put_target(const struct agent_user *user, struct jw *w, const char *path);
/* granted is called when all earlier claims on the tree are released. */
void workspaces_claim(struct workspaces *ws, struct claim *c, const char *path,
		      void (*granted)(void *ctx), void *ctx);
bool workspaces_claimed(const struct workspaces *ws, const char *path);
/* The job is over, or does not need the tree any more. Does nothing if there is no claim. */
void workspaces_release(struct workspaces *ws, struct claim *c);
/* The job that brings a tree to its old or its new state, after one that was killed. */
struct buf;
void workspaces_put_recovery(const struct workspaces *ws, const struct agent_user *user,
			     struct buf *b, const char *path, const char *manifest);
/* Writes down that a job on path begins, with the data to recover from it; and that it has ended. manifest: the file
 * that the job writes anew; NULL: that of the tree's records. */
int workspaces_begin(const struct workspaces *ws, const struct agent_user *user, const char *path,
		     const char *manifest, struct err *e);
void workspaces_end(const struct workspaces *ws, const char *path);
/* A tree was copied with all that is in it: what is ours in the one is ours in the other. */
void workspaces_inherit(const struct workspaces *ws, const char *path, const char *from);
/* The tree's file of instructions was written by an input of instructions, not by an archive or by others. */
bool workspaces_has_instructions(const struct workspaces *ws, const char *path);
void workspaces_note_instructions(const struct workspaces *ws, const char *path, bool ours);
/* Starts acpd-unpack on every tree whose job was killed with an earlier daemon. */
void workspaces_recover(struct workspaces *ws);
/* How many of these are at work, or wait; path NULL: all of them, else those on that tree. */
unsigned workspaces_recovering(const struct workspaces *ws, const char *path);
/* A job that nobody waits for works as that user. */
bool workspaces_work_as(const struct workspaces *ws, uid_t uid);
/* Removes a tree that is ours, as that user, who owns it, in the background. */
void workspaces_remove(struct workspaces *ws, const struct agent_user *user, const char *path);
