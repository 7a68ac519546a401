/* pr_internal.h - openPR between its two files: the call and its answer, and the steps of git. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "tools/builtin/run/command_run.h"
#include "tools/builtin/core/tool.h"

#define PR_ID_MAX 65 /* hex of SHA-256, and NUL */

struct pr {
	struct builtin_call *call;
	char *git, *title, *body, *base, *index;
	char *dir;   /* where git runs */
	char *top;   /* of the repository */
	char *store; /* its objects */
	char *objects,
		*lender; /* of a draft: its directory of objects, and where git finds the others */
	char head[PR_ID_MAX], onto[PR_ID_MAX], tree[PR_ID_MAX], commit[PR_ID_MAX];
	char branch[64];
	bool draft, nameless, cancelled;
	struct buf patch, files; /* files: members of an array */
	struct buf bundle;
	char *bundle_name, *bundle_path; /* path: where it lies, if no session takes it */
	size_t nfiles, step;
	struct command_run *run;
	struct err e;
};

/* pr_git.c: does the next step, and all after it; then pr_done or pr_fail. */
void pr_next(struct pr *p);

/* Removes the bundle that lies beside the repository's objects, if it is there. */
void bundle_drop(struct pr *p);

/* open_pr.c: both end the call and free p. */
void pr_done(struct pr *p);
void pr_fail(struct pr *p);
