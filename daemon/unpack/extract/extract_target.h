/*
 * extract_target.h - where a job's tree goes: the target, the directory it is in, the stage directory beside or in it, and
 * what killed jobs have left there.
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
/* Of an empty stage directory: that of this job, and one beside the target or in it. */
void target_remove_stage(struct extract_target *p);
void target_unlink_stage(const struct extract_target *p, bool beside, const char *name);
/* Replaces the target by the staged tree, and checks that it was that tree. */
int target_rename(struct extract_target *p, struct verdict *v);
void target_close(struct extract_target *p);
/* Calls as the tree's user if the path is not trusted. */
void target_enter(const struct extract_target *p);
void target_leave(const struct extract_target *p);

enum recovered { RECOVERED_OLD, RECOVERED_NEW, RECOVERED_KEEP /* it cannot be finished now */ };

/* Finishes or undoes the log of the stage of a job that ends, in whatever way, and empties it. Unless it is RECOVERED_KEEP, the caller then puts its new
 * manifest in place, and after that removes the stage: the next job removes a new manifest that it finds without one. */
enum recovered recover_own_stage(struct extract_target *p);
/* Handles all stages that killed jobs left for this target. manifest: NULL if none is kept; its ".new" replaces it or
 * is removed. Negative with v filled: a stage can be neither finished nor undone, and the target must not be changed
 * until it is. */
int recover_target(const char *target, const struct user *user, const char *manifest,
		   struct verdict *v);
