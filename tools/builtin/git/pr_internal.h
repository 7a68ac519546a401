/* pr_internal.h - openPR between its two files: the call and its answer, and the steps of git. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "tools/builtin/run/command_run.h"
#include "tools/builtin/core/tool.h"

#include <stdbool.h>

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

/* pr_bundle.c: the branch as a file for git fetch, made before the branch is: what comes after base, or everything if
 * none was given. */
void bundle_args(struct pr *p, const char **argv);
/* What pack-objects reads; empty for any other step. */
struct slice bundle_input(struct pr *p, struct buf *b);
int bundle_done(struct pr *p, struct slice out, int code);
void bundle_drop(struct pr *p);

/* pr_git.c */
int pr_failed(struct pr *p, const char *reason, const char *what);
void pr_push(const char **argv, const char *const *words);

/* open_pr.c: both end the call and free p. */
void pr_done(struct pr *p);
void pr_fail(struct pr *p);
