/*
 * patch_internal.h - what the files of applyDiff share: a plan of every path's new contents, made without changing
 * anything, and its execution, all or nothing.
 */
#pragma once

#include "diff/apply/apply.h"
#include "tools/builtin/files/write_lock.h"
#include "tools/builtin/core/tool_path.h"
#include "tools/builtin/core/tool.h"

/* A path of the patch: what is there, and what will be. */
struct patch_node {
	char *path; /* as the patch has it */
	struct tool_path_entry at;
	struct err e; /* reason not empty: it cannot be patched */
	bool leaving; /* a part of the patch removes it */
	bool made;    /* a part of the patch has made the planned contents */

	bool exists;
	unsigned mode; /* as git has it */
	struct stat sb;
	struct buf old;

	bool planned;
	unsigned planned_mode;
	struct buf next;

	/* while it is carried out */
	char staged[32]; /* name beside it of what is to be; after the exchange, of what was */
	bool swapped, placed, taken;
};

/* One file of the patch, and its result. */
struct patch_item {
	struct patch_file *file;
	struct patch_place *places;
	struct err e; /* reason empty: it fits */
	bool left_out;
};

struct patch_plan {
	struct builtin_call *call;
	struct patch_set set;
	struct patch_item *items;
	struct patch_node *nodes;
	size_t nnodes;
	char **made_dirs; /* real paths of those that were not there, outermost first */
	size_t nmade_dirs;
};

/* Which files are meant (NULL: all), what they would become, and whether each fits: false if one does not. */
bool patch_plan_make(struct patch_plan *p, char *const *only);
/* Paths that change and policy's globs leave out (raw array of strings; empty if none), or an error for those it
 * denies. */
int patch_plan_judge(struct patch_plan *p, struct buf *outside, struct err *e);
/* What is there of a file of the patch; NULL: it was not reached. */
const struct patch_node *patch_plan_node(const struct patch_plan *p, const char *path);
bool node_changes(const struct patch_node *n);
/* Forgets what was planned, for patch_plan_make to be called once more. */
void patch_plan_drop(struct patch_plan *p);
void patch_plan_done(struct patch_plan *p);

/* patch_commit.c */
/* Keeps other writers out. stale: others have written since the plan, so it must be made again. */
int patch_plan_guard(struct patch_plan *p, struct write_lock **ret, bool *stale, struct err *e);
/* 0, or an error after which everything is as it was. */
int patch_plan_commit(struct patch_plan *p, struct err *e);
