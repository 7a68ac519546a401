/*
 * git_patch.h - the change of one file as git writes it, so that `git apply` makes the new file from the old one and
 * `git apply -R` the other way round. No repository is needed for either.
 *
 * Paths: relative, without checks, which the walker of the tree makes. Contents are borrowed. Nothing is kept.
 */
#pragma once

#include "base/buf.h"

#define PATCH_FILE 0100644u
#define PATCH_EXECUTABLE 0100755u
#define PATCH_SYMLINK 0120000u

struct diff_side {
	const void *data;
	size_t n;
	unsigned mode; /* one of the three above; 0: there is no such file */
};

struct patch_options {
	unsigned context; /* unchanged lines around a change: DIFF_CONTEXT_LINES */
};

/* Sums over the files of a patch. Lines of binary files are not counted. */
struct patch_stat {
	uint64_t files, binary, insertions, deletions;
};

/* Appends the change from one side to the other, nothing if there is none, and adds it to stat. 0; -EINVAL for a
 * mode that is none of these or an empty path, -EFBIG for a side of more than DIFF_SIDE_MAX bytes, -E2BIG if out
 * cannot take it, -ENOMEM, -EIO from a library. After an error out and stat are what they were. */
int patch_append(struct buf *out, const char *path, const struct diff_side *from,
		 const struct diff_side *to, const struct patch_options *options,
		 struct patch_stat *stat);

/* The digits of git's base 85, by their value. */
extern const char base85_digits[];
