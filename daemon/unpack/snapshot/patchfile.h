/*
 * patchfile.h - a patch that is written file by file into a descriptor, and ends between two files when it gets too
 * long. The caller reports what did not fit, and no later file is tried, so that the patch is complete up to there.
 */
#pragma once

#include "diff/git_patch.h"
#include "json/jenc.h"

#include <stdbool.h>

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
