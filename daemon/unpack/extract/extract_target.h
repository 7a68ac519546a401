/*
 * extract_target.h - where a job's tree goes: the target, the directory it is in, and the stage directory beside or in
 * it.
 *
 * The target's path is resolved once; from then on only descriptors are used, of directories that were opened
 * one after the other without following links. Its path is trusted if each directory in it belongs to root or to
 * us and nobody else may write there, or only add (sticky). On a trusted path the keeper may act with its own
 * privileges; on any other it acts as the user of the tree, who can then do no more than he could without us.
 *
 * The stage directory STAGE_PREFIX-<8 hex digits of the target's name><8 random ones> (0700, of the tree's user) is
 * made beside the target when that is absent or an empty directory that one rename can replace, and in it otherwise.
 * It is locked (flock) as long as a process of the job lives.
 */
#pragma once

#include "unpack/job/confine.h"

struct extract_target {
	struct user user;
	char *path;	  /* resolved */
	const char *name; /* its last component, in path */
	int parent;	  /* -1 for the root directory */
	int target;	  /* -1: absent */
	bool trusted;
	bool whole;	    /* the stage is in parent, one rename commits */
	mode_t target_mode; /* of an empty target that will be replaced */
	int stage;
	char stage_name[64]; /* "": none was made */
};

int target_open(struct extract_target *p, const char *target, const struct user *user,
		struct verdict *v);
int target_make_stage(struct extract_target *p, struct verdict *v);
/* The name of a stage that was made for this target. */
bool target_is_stage(const struct extract_target *p, const char *name);
/* Of an empty stage directory. */
void target_remove_stage(struct extract_target *p);
/* Replaces the target by the staged tree, and checks that it was that tree. */
int target_rename(struct extract_target *p, struct verdict *v);
void target_close(struct extract_target *p);
/* Calls as the tree's user if the path is not trusted. */
void target_enter(const struct extract_target *p);
void target_leave(const struct extract_target *p);
