/*
 * tree_pack.h - a tree as an archive, written to a descriptor while it is read.
 *
 * A file is stored with the size it had when it was opened: one that shrinks meanwhile is padded with zeros, one
 * that grows is cut, and both are reported. The archive is always whole; only when the reader
 * goes away or the job fails it ends torn, and then the result says so.
 *
 * Names are read as UTF-8 if the caller's LC_CTYPE says so; one that is not is stored as it is.
 */
#pragma once

#include "tree/archive_format.h"
#include "unpack/snapshot/lists.h"
#include "unpack/job/verdict.h"

struct tree_pack_job {
	int root;
	enum archive_format format;
	char **paths; /* only these and what is below them; none: everything */
	size_t npaths;
	bool gitignore;	  /* leave out what .gitignore files leave out, and .git */
	const char *lead; /* a file before all others that is in no tree; NULL: none */
	struct slice lead_text;
	bool files_only; /* no entries for directories */
	uint64_t entries, bytes;
	uint64_t deadline_ms; /* of clock_mono_ms; 0: none */
};

struct tree_pack_report {
	uint64_t files, directories, links;
	uint64_t bytes;		/* of the files */
	uint64_t archive_bytes; /* written */
	struct omitted skipped, changed;
};

/* Changes a path as a person writes it ("./a/b/") into ours ("a/b"; "" is the root), in place; -EINVAL if it leads out
 * or is empty. */
int tree_pack_clean_path(char *path);
/* Checks before the first byte is written that each path is there: PATH_NOT_FOUND. */
int tree_pack_check(const struct tree_pack_job *job, struct verdict *v);
/* 0, or a negative errno with v filled in: READER_GONE, TOO_LARGE, those of the walk and of fail_with. report is the
 * caller's to give to tree_pack_report_done in any case. */
int tree_pack_write(const struct tree_pack_job *job, int out, struct tree_pack_report *report,
		    struct verdict *v);
void tree_pack_report_done(struct tree_pack_report *report);
