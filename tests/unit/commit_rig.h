/*
 * commit_rig.h - trees written as text, for the tests of commits: words separated by spaces, each
 *
 *	a=text	a:755=text	a file (mode 644)
 *	d/	d/:700		a directory (mode 755); those above a path need not be said, and are implied then
 *	l->where		a symbolic link
 *	p|			a FIFO
 *
 * In what is staged "!" before a word is MARK_OVERWRITE, "?" MARK_KEEP_EXISTING.
 */
#pragma once

#include "unit.h"

#include "unpack/commit/commit.h"

#define RIG_STAGE ".acpd-stage-0123456789abcdef"

/* Makes the tree below dir. */
void rig_build(int dir, const char *words);
/* The same as a manifest. */
void rig_manifest(struct manifest *m, const char *words);
/* What is below dir, as words in the order of their names, without the stage; the caller frees. */
char *rig_dump(int dir);
/* What a manifest has, as words without content. */
char *rig_lines(const struct manifest *m);
/* Reports as "path:REASON path:REASON"; the caller frees. */
char *rig_skipped(const struct outcome *out);
/* Writes m and reads it back, as the next generation will find it. */
void rig_reread(struct manifest *m);

/* A target with its stage. */
struct rig {
	int target, stage;
	struct manifest old, new;
	struct commit c;
	struct outcome out;
	struct err e;
};

/* In the scratch directory's target, which is made anew: tree is there, new is staged. */
void rig_open(struct rig *r, const char *old, const char *tree, const char *new, bool merge);
/* With the manifest old instead, which it takes over. */
void rig_open_after(struct rig *r, struct manifest *old, const char *new, bool merge);
/* Removes the stage and closes. */
void rig_close(struct rig *r);
