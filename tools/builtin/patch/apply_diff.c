/* apply_diff.c - applyDiff. */
#include "tools/builtin/files/file_describe.h"
#include "tools/builtin/patch/patch_internal.h"
#include "tools/builtin/core/model_text.h"

#include "base/limits.h"

/* --- answers --------------------------------------------------------------------------------------------- */

static const char *patch_item_status(const struct patch_item *it)
{
	const struct patch_file *f = it->file;

	if (it->left_out)
		return "leftOut";
	if (!f->from)
		return "created";
	if (!f->to)
		return "deleted";
	if (strcmp(f->from, f->to) == 0)
		return "modified";
	return f->copy ? "copied" : "renamed";
}

/* The places that a hunk without a place is most like. */
static void patch_put_nearest(struct jw *w, const struct patch_item *it, const struct patch_hunk *h,
			      const struct patch_plan *p)
{
	_cleanup_(buf_done) struct buf wanted = { 0 };
	/* A new file has no lines that a hunk could be near to. */
	const struct patch_node *n = it->file->from ? patch_plan_node(p, it->file->from) : NULL;

	if (!n)
		return;
	patch_hunk_wants(h, &wanted);
	nearest_text_put(w, buf_slice(&n->old), buf_slice(&wanted));
}

static void put_miss(struct jw *w, const struct patch_item *it, size_t i,
		     const struct patch_plan *p)
{
	const struct patch_place *at = &it->places[i];

	if (at->nalso) {
		jw_arr(w, "candidates");
		for (size_t k = 0; k < at->nalso; k++)
			jw_uint(w, NULL, at->also[k]);
		jw_end_arr(w);
	}
	if (at->miss == MISS_NOWHERE)
		patch_put_nearest(w, it, &it->file->hunks[i], p);
}

static void patch_put_hunk(struct jw *w, const struct patch_item *it, size_t i,
			   const struct patch_plan *p)
{
	const struct patch_hunk *h = &it->file->hunks[i];
	const struct patch_place *at = &it->places[i];

	jw_obj(w, NULL);
	jw_uint(w, "oldStart", h->old_at);
	jw_uint(w, "oldLines", h->old_n);
	jw_uint(w, "newStart", h->new_at);
	jw_uint(w, "newLines", h->new_n);
	jw_uint(w, "patchLine", h->line);
	jw_bool(w, "fits", at->at > 0);
	if (at->at) {
		jw_uint(w, "line", at->at);
		jw_int(w, "offset", at->offset);
	} else if (it->e.reason[0]) {
		put_miss(w, it, i, p);
	}
	jw_end_obj(w);
}

static void patch_put_file(struct jw *w, const struct patch_item *it, const struct patch_plan *p)
{
	const struct patch_file *f = it->file;

	jw_obj(w, NULL);
	jw_str(w, "path", f->to ? f->to : f->from);
	if (f->from && f->to && strcmp(f->from, f->to) != 0)
		jw_str(w, "oldPath", f->from);
	jw_str(w, "status", patch_item_status(it));
	jw_bool(w, "fits", !it->e.reason[0]);
	if (it->e.reason[0]) {
		jw_str(w, "code", it->e.reason);
		jw_str(w, "message", it->e.msg);
	}
	jw_bool(w, "binary", f->binary);
	jw_uint(w, "insertions", f->insertions);
	jw_uint(w, "deletions", f->deletions);
	if (!it->left_out && !f->binary) {
		jw_arr(w, "hunks");
		for (size_t i = 0; i < f->nhunks; i++)
			patch_put_hunk(w, it, i, p);
		jw_end_arr(w);
	}
	jw_end_obj(w);
}

static void patch_put_files(struct jw *w, const struct patch_plan *p)
{
	jw_arr(w, "files");
	for (size_t i = 0; i < p->set.n; i++)
		patch_put_file(w, &p->items[i], p);
	jw_end_arr(w);
}

static bool changes_any(const struct patch_plan *p)
{
	for (size_t i = 0; i < p->set.n; i++)
		if (!p->items[i].left_out)
			return true;
	return false;
}

static void put_sums(struct jw *w, const struct patch_plan *p)
{
	_cleanup_(buf_done) struct buf stat = { 0 };
	uint64_t files = 0, insertions = 0, deletions = 0;

	for (size_t i = 0; i < p->set.n; i++) {
		const struct patch_file *f = p->items[i].file;

		if (p->items[i].left_out)
			continue;
		files++;
		insertions += f->insertions;
		deletions += f->deletions;
		if (f->binary)
			buf_printf(&stat, "%s | binary\n", f->to ? f->to : f->from);
		else
			buf_printf(&stat, "%s | +%llu -%llu\n", f->to ? f->to : f->from,
				   (unsigned long long)f->insertions,
				   (unsigned long long)f->deletions);
	}
	jw_uint(w, "filesChanged", files);
	jw_uint(w, "insertions", insertions);
	jw_uint(w, "deletions", deletions);
	jw_slice(w, "diffstat", buf_slice(&stat));
}

/* In a session whose tools are all on dry run the patch is left for later. */
static void answer_done(struct builtin_call *c, const struct patch_plan *p, bool dry)
{
	_cleanup_(buf_done) struct buf out = { 0 }, patch = { .max = PATCH_BYTES_MAX };
	struct jw w = JW(&out);

	jw_bool(&w, "applied", !dry && changes_any(p));
	if (dry)
		jw_bool(&w, "dryRun", true);
	patch_put_files(&w, p);
	put_sums(&w, p);
	if (c->dry_run)
		tool_arg_bytes(c, "patch", &patch);
	tool_done_with(c, buf_slice(&out),
		       &(struct tool_artifact){ "dry-run.patch", "text/x-diff",
						buf_slice(&patch) });
}

/* Nothing was changed: each file says whether it would have fitted. */
static void answer_misfit(struct builtin_call *c, const struct patch_plan *p)
{
	JW_BUF(w, out);
	const struct err *first = NULL;

	for (size_t i = 0; i < p->set.n && !first; i++)
		if (p->items[i].e.reason[0])
			first = &p->items[i].e;
	patch_put_files(&w, p);
	tool_fail(c, first, buf_slice(&out));
}

/* --- the call -------------------------------------------------------------------------------------------- */

/* False: the call is ended. */
static bool plan_allowed(struct builtin_call *c, struct patch_plan *p)
{
	_cleanup_(buf_done) struct buf outside = { 0 };
	struct err e = { 0 };

	/* One question for all paths: the human sees the whole patch, and no part is made
	 * before. */
	if (patch_plan_judge(p, &outside, &e) < 0) {
		tool_fail(c, &e, SLICE_NONE);
		return false;
	}
	return !buf_len(&outside) ||
	       tool_allowed(
		       c,
		       "Apply a patch to files outside of the paths that the policy lets be written",
		       buf_slice(&outside), SLICE_NONE);
}

/* False: the call is ended. */
static bool plan_make(struct builtin_call *c, struct patch_plan *p, char *const *only, bool dry)
{
	struct err e = { 0 };

	if (!patch_plan_make(p, only)) {
		answer_misfit(c, p);
		return false;
	}
	/* The plan may be incomplete then. */
	if (tool_cancelled(c)) {
		tool_errno(&e, ECANCELED, "nothing was changed in", "the tree");
		tool_fail(c, &e, SLICE_NONE);
		return false;
	}
	return dry || plan_allowed(c, p);
}

/* The directories to lock are only known after the plan. If another writer came first, the plan is made again under the
 * lock. */
static void plan_run(struct builtin_call *c, struct patch_plan *p, char *const *only)
{
	_cleanup_(write_lock_releasep) struct write_lock *g = NULL;
	bool dry = c->dry_run || tool_arg_bool(c, "dryRun", false), stale = false;
	struct err e = { 0 };
	int r = 0;

	if (!plan_make(c, p, only, dry))
		return;
	if (!dry)
		r = patch_plan_guard(p, &g, &stale, &e);
	/* Now under the lock, so it is the last time. */
	if (r == 0 && stale) {
		patch_plan_drop(p);
		if (!plan_make(c, p, only, dry))
			return;
	}
	if (r == 0 && !dry)
		r = patch_plan_commit(p, &e);
	if (r < 0)
		tool_fail(c, &e, SLICE_NONE);
	else
		answer_done(c, p, dry);
}

static void apply_diff(struct builtin_call *c)
{
	_cleanup_(buf_done) struct buf text = { .max = PATCH_BYTES_MAX };
	struct patch_plan plan = { .call = c };
	char **only = tool_arg_strv(c, "paths");
	struct err e = { 0 };
	int r = 0;

	tool_arg_bytes(c, "patch", &text);
	if (text.failed)
		r = err_field(&e, "patch", "PATCH_TOO_LARGE", "patch has more than %lu bytes",
			      PATCH_BYTES_MAX);
	if (buf_len(&text) && text.data[text.len - 1] != '\n')
		buf_putc(&text, '\n'); /* which models forget */
	if (r == 0)
		r = patch_read(buf_slice(&text), (int)tool_arg_int(c, "strip", -1), &plan.set, &e);
	if (r < 0)
		tool_fail(c, &e, SLICE_NONE);
	else
		plan_run(c, &plan, only);
	patch_plan_done(&plan);
	strv_free(only);
}

/* --- tables ---------------------------------------------------------------------------------------------- */

static const struct tool_field diff_in[] = {
	TF_STRING(
		"patch", TOOL_REQUIRED | TOOL_BYTES,
		"what git diff prints; a unified diff, of which counts, line numbers, a/ and b/ may be missing or wrong; "
		"or *** Begin Patch with *** Add File: / Update File: / Move to: / Delete File:, hunks below @@ lines, *** End Patch"),
	TF_BOOL("dryRun", 0, "change nothing, say what would be changed", .fallback = "false"),
	TF_INT("strip", 0,
	       "leading parts of paths to take off; without it a/ and b/, if they are there",
	       .min = 0, .max = 32),
	TF_STRINGS(
		"paths", 0,
		"Apply only to these files, globs or directories; the others are left out. If none matches, applied is false.",
		.max = PATCH_FILES_MAX),
	{ 0 },
};

static const struct tool_field hunk_out[] = {
	TF_INT("oldStart", TOOL_REQUIRED, "as in its header; 0 without numbers"),
	TF_INT("oldLines", TOOL_REQUIRED, "as counted"),
	TF_INT("newStart", TOOL_REQUIRED, "as in its header"),
	TF_INT("newLines", TOOL_REQUIRED, "as counted"),
	TF_INT("patchLine", TOOL_REQUIRED, "line of the patch"),
	TF_BOOL("fits", TOOL_REQUIRED, "it has a place"),
	TF_INT("line", 0, "where"),
	TF_INT("offset", 0, "lines from where its header says"),
	{ 0 },
};

static const char *const status_words[] = { "created", "deleted", "modified", "renamed",
					    "copied",  "leftOut", NULL };

static const struct tool_field file_out[] = {
	TF_STRING("path", TOOL_REQUIRED, "of the file"),
	TF_STRING("oldPath", 0, "before it was renamed or copied"),
	TF_STRING("status", TOOL_REQUIRED, "what the patch does with it", .words = status_words),
	TF_BOOL("fits", TOOL_REQUIRED, "all of it has a place"),
	TF_STRING("code", 0, "why not"),
	TF_STRING("message", 0, "the same in words"),
	TF_BOOL("binary", TOOL_REQUIRED, "not lines"),
	TF_INT("insertions", TOOL_REQUIRED, "lines"),
	TF_INT("deletions", TOOL_REQUIRED, "lines"),
	TF_OBJECTS("hunks", 0, "in their order", .sub = hunk_out),
	{ 0 },
};

static const struct tool_field diff_out[] = {
	TF_BOOL("applied", TOOL_REQUIRED, "files were changed"),
	TF_BOOL("dryRun", 0, "nothing was changed"),
	TF_OBJECTS("files", TOOL_REQUIRED, "of the patch, in its order", .sub = file_out),
	TF_INT("filesChanged", TOOL_REQUIRED, "without those left out"),
	TF_INT("insertions", TOOL_REQUIRED, "lines of all files"),
	TF_INT("deletions", TOOL_REQUIRED, "lines of all files"),
	TF_STRING("diffstat", TOOL_REQUIRED, "a line for each file"),
	{ 0 },
};

const struct builtin_tool patch_tools[] = {
	BUILTIN_TOOL(
		"applyDiff", "Apply a patch",
		"Applies a patch (git's, a unified diff, or *** Begin Patch) without fuzz, all files or none. Counts and line numbers of hunks need not be right: "
		"the lines are searched for, and what would fit in several places is refused. The error says where each hunk fits, or what is most like it.",
		CATEGORY_EDIT, HINT_DESTRUCTIVE, diff_in, diff_out, .show = list_text_patch,
		.work = apply_diff),
	{ 0 },
};
