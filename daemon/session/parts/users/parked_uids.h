/*
 * parked_uids.h - files of closed sessions that have no uid at present: their uid was given to others (uid_lending.h).
 *
 * A group is what shared a uid: sessions (its holders) and the trees that they worked on. While it is parked its files
 * keep their old owner, but the directory at the top of each tree belongs to root with mode 0700: it is shut, and
 * whoever has the uid now cannot come to what is below. So nothing but these directories changes when a uid is given
 * back, and files change their owner behind the shut door, when the sessions need a uid again.
 *
 * <state>/parked/<number> is a file for each group: the uids that its files may have, the holders, and of each
 * tree the owner and mode that its top had. It is written before a door is shut and goes after all are open again, so
 * the next daemon knows what one that was killed had begun: "moving" in it means that doors may be open. Such a group is
 * shut again at the start, before anybody is given a uid. The book knows no session and starts nothing.
 */
#pragma once

#include "base/err.h"
#include "base/list.h"

struct parked_tree {
	enum {
		PARKED_OURS = 'o', /* below the state directory: homes, drafts */
		PARKED_SHUT = 'c', /* of the client, its top owned by the uid */
		PARKED_FOREIGN =
			'f', /* its top is somebody else's: never shut, nothing of the uid is in it */
	} kind;
	mode_t mode;
	uid_t uid;
	gid_t gid;
	uint64_t ino;
	char *path;
};

struct parked_group {
	struct list link;
	unsigned long long no;
	bool planned; /* nothing of it is parked yet: it is not found */
	bool moving;  /* doors are being shut or opened */
	uid_t *uids;  /* that files of it may have; the last one is the newest */
	size_t nuids;
	char **holders;
	size_t nholders;
	struct parked_tree *trees;
	size_t ntrees;
};

struct parked_uids;

/* Shuts what was left moving. NULL with e: STATE_NOT_WRITABLE. */
struct parked_uids *parked_open(const char *state_dir, struct err *e);
struct parked_uids *parked_close(struct parked_uids *p);
/* In memory alone until parked_write. */
struct parked_group *parked_new(struct parked_uids *p);
void parked_add_uid(struct parked_group *g, uid_t uid);
void parked_add_holder(struct parked_group *g, const char *holder);
/* One that does not exist is left out. -errno: it cannot be shut. */
int parked_add_tree(struct parked_group *g, int kind, const char *path);
/* STATE_NOT_WRITABLE, NO_SPACE. */
int parked_write(const struct parked_uids *p, struct parked_group *g, bool moving, struct err *e);
/* -errno: not all of them. */
int parked_shut(const struct parked_group *g);
/* For uid, in the place of any of its uids. */
int parked_unshut(const struct parked_group *g, uid_t uid);
/* Nothing of it is parked any more. */
void parked_forget(struct parked_uids *p, struct parked_group *g);
struct parked_group *parked_find(const struct parked_uids *p, const char *holder);
struct parked_group *parked_numbered(const struct parked_uids *p, unsigned long long no);
/* Of which path is a tree, or lies in one. NULL: none. */
struct parked_group *parked_at(const struct parked_uids *p, const char *path);
/* That session is deleted. Trees of clients stay parked without it, so that a session on them can have them again. */
void parked_drop(struct parked_uids *p, const char *holder);
/* That tree was removed. Its group goes if nothing else is left of it. */
void parked_tree_removed(struct parked_uids *p, const char *path);
void parked_each(struct parked_uids *p, void (*fn)(void *ctx, const char *holder), void *ctx);
