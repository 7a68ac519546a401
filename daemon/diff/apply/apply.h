/*
 * apply.h - reads patches and makes new files of old ones: unified diffs, and git's with renames, copies, modes, new
 * and deleted files and binary contents, as `git apply` would. All context must be there (no fuzz). A hunk is searched
 * for in both directions from where it should be. A hunk of the beginning (or the end) of a file fits only there. Lines
 * that one hunk made are no context of the next.
 *
 * Pure: these functions read and write no files. patch_set borrows the text. A path that git refuses is refused:
 * absolute ones, "..", empty parts, ".git". Text before, between and after the patches of files is skipped, as in a
 * mail.
 *
 * Errors: PATCH_EMPTY (no patch in it), PATCH_CORRUPT (with the line), PATCH_PATH, PATCH_BINARY (without contents or
 * full ids), PATCH_MISMATCH (the file is not what it was made for), PATCH_AMBIGUOUS (a loose hunk fits in several
 * places), PATCH_MIXED (two ways of writing in one text), PATCH_TOO_LARGE.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

struct patch_hunk {
	uint32_t old_at, old_n, new_at, new_n; /* lines from 1, as in its header */
	uint32_t trailing;		       /* lines of context at its end */
	struct slice body;
	size_t line; /* of its header in the patch, from 1 */
	/* of a loose file; old_n and new_n are then what was counted */
	bool numbered;	      /* its header has numbers */
	bool at_end;	      /* "*** End of File" */
	struct slice anchors; /* without numbers: the lines with "@@" above it */
};

struct patch_file {
	char *from,
		*to; /* stripped; NULL: there is none (a new file, a deleted one). Equal but for renames and copies. */
	char *other_from, *other_to; /* without their first part, if that may be meant; else NULL */
	bool copy;		     /* from stays */
	bool maybe_new; /* an old kind of patch: if there is no such file, it may be a new one */
	unsigned old_mode, new_mode; /* as git writes them; 0: not said */
	bool loose;		     /* see above */
	bool stars;		     /* of a text with "*** Begin Patch" */
	bool whole;		     /* removed with any contents */
	bool binary;
	struct slice payload; /* binary: from "literal" or "delta" on */
	char old_id[41], new_id[41];
	struct patch_hunk *hunks;
	size_t nhunks;
	uint64_t insertions, deletions;
	size_t line; /* of its header in the patch */
};

struct patch_set {
	struct patch_file *files;
	size_t n;
};

/* Reads a patch in any way of writing. strip: leading parts of paths to take off, as -p; -1: a/ and b/ if they are there.
 * 0 or -EINVAL; patch_set_done in any case. */
int patch_read(struct slice text, int strip, struct patch_set *ret, struct err *e);
void patch_set_done(struct patch_set *s);

enum patch_miss {
	MISS_NONE,
	MISS_NOWHERE,
	MISS_MANY,	 /* also: some of the lines, in the file as it was */
	MISS_NO_CONTEXT, /* it only adds, and nothing says where */
	MISS_ANCHOR,	 /* no line is what "@@" names */
};

#define PATCH_ALSO_MAX 6

/* Where a hunk went: the line of the file as it was when the hunk's turn came, from 1; 0: nowhere. */
struct patch_place {
	size_t at;
	int64_t offset; /* against where it should have been; 0 without numbers */
	enum patch_miss miss;
	size_t also[PATCH_ALSO_MAX], nalso;
};

/* Appends the lines that a hunk expects in the file. */
void patch_hunk_wants(const struct patch_hunk *h, struct buf *out);

/* old: contents (empty for a new file). places: nhunks elements. All hunks are tried; 0, or -EINVAL with
 * PATCH_MISMATCH or PATCH_AMBIGUOUS if one or more found no place (out is then what the others made of it). */
int patch_apply(const struct patch_file *f, struct slice old, struct buf *out,
		struct patch_place *places, struct err *e);
