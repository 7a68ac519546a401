/*
 * git_tree.h - random small trees for tests that ask git whether our answers are right, and git itself in the scratch
 * directory, without anybody's configuration.
 */
#pragma once

#include "unit.h"

#include "diff/git_patch.h"

#define TREE_FILES_MAX 24

struct tree_file {
	const char *path;
	struct diff_side side; /* mode 0: not there */
	struct buf bytes;
};

/* File i of two trees of one pair has the same path. */
struct tree {
	struct tree_file files[TREE_FILES_MAX];
	size_t n;
};

/* The same numbers for the same seed. */
uint32_t random_below(uint64_t *seed, uint32_t n);
/* A tree, and one that somebody has worked on. */
void tree_pair_make(uint64_t seed, struct tree *from, struct tree *to);
/* A text of a few hundred lines, and the same after some editing. */
void text_pair_make(uint64_t seed, struct buf *from, struct buf *to);
void tree_done(struct tree *t);
/* Below the scratch directory. */
void tree_write(const struct tree *t, const char *dir);
/* Fails the test, with what, unless the directory holds exactly this tree. */
void tree_check(const struct tree *t, const char *dir, const char *what);
/* Runs a shell command in dir of the scratch directory; its output goes to the scratch file "out". Returns the exit status. */
int git_run(const char *dir, const char *command);
