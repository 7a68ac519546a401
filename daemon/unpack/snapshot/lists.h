/*
 * lists.h - the lists of paths in answers: the first ones as the elements of a JSON array, the others only counted. A path
 * that is not UTF-8 is shown with U+FFFD in it.
 */
#pragma once

#include "diff/git_patch.h"
#include "json/jenc.h"
#include "unpack/snapshot/index.h"

/* As two members of an object: a list, and how many there are. */
void list_put(struct jw *w, const char *key, const struct buf *json, const char *total_key,
	      uint64_t total);

/* What a snapshot, a patch or an archive leaves out: SKIPPED_MAX paths, or 512 KiB of them. */
struct omitted {
	struct buf json;
	uint64_t total;
};

const char *omit_word(enum omit_reason reason);
void omitted_add(struct omitted *o, const char *path, const char *reason);
void omitted_done(struct omitted *o);

/*
 * What a diff has found changed: each path with a mark of what is there now, CHANGES_MAX of them or 1 MiB, and one state
 * over all of them. Two diffs from the same beginning have found the same tree if they have the same state; where they
 * differ is where a path has another mark. Something of which the contents are not known (too large, unreadable) is marked
 * by its size and times.
 */
struct changes {
	bool wanted; /* else nothing is added */
	struct buf json;
	uint64_t total;
	struct sha256_stream state;
};

void changes_init(struct changes *c, bool wanted);
void changes_add(struct changes *c, const char *path, const struct index_entry *now);
/* Hex of the state; afterwards nothing can be added. */
void changes_state(struct changes *c, char out[SHA256_HEX]);
/* Members changes, changesTotal and state; afterwards nothing can be added. */
void changes_put(struct changes *c, struct jw *w);
void changes_done(struct changes *c);

/*
 * Which of the changed paths of a diff break rules: one that matches none of allow (if there are any), or
 * one of deny; some KiB of them. Patterns are those of tree/glob.h for whole paths; one without a slash is for names at any
 * depth.
 */
struct offending {
	bool wanted; /* there are rules */
	char **allow, **deny;
	size_t nallow, ndeny;
	bool allows; /* allow was given, even if it is empty */
	struct buf json;
	uint64_t total;
};

/* Raw arrays of strings, or empty. -EINVAL: they are no such. */
int offending_init(struct offending *o, struct slice allow, struct slice deny);
void offending_add(struct offending *o, const char *path);
void offending_done(struct offending *o);

/*
 * A patch that is written file by file into a descriptor, and ends between two files when it gets too
 * long. The caller reports what did not fit, and no later file is tried, so that the patch is complete up to there.
 */
struct patchfile {
	int fd; /* borrowed; -1: no patch */
	uint64_t bytes, max;
	bool full;
	struct buf out;
	struct patch_stat stat;
};

void patchfile_init(struct patchfile *p, int fd, uint64_t max);
/* What stat and bytes say, as the member "patch". */
void patchfile_report(struct jw *w, uint64_t bytes, const struct patch_stat *stat);
void patchfile_done(struct patchfile *p);
/* 0; 1: it does not fit; or a negative errno. */
int patchfile_put(struct patchfile *p, const char *path, const struct diff_side *from,
		  const struct diff_side *to);
