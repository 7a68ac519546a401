/*
 * open_pr.c - openPR: makes the contents of a pull request with git, without the network.
 *
 * A draft changes nothing: the work tree is written as a commit object through an index and an object directory of its
 * own, beside the repository's. Both are removed afterwards, and the answer is the patch from base to that commit. With
 * "draft" false a human is asked first, and the commit gets a branch. HEAD, index and work tree never change. Nothing
 * is pushed: the holder of the credentials does that, and gets the branch as a bundle (pr_git.c).
 *
 * git runs step by step, each a row of the table. Hooks, file monitors, diff programs and every transport are off.
 */
#include "tools/builtin/git/pr_internal.h"

#include "base/os/file.h"
#include "base/limits.h"
#include "base/format/utf8.h"
#include "digest/base64.h"
#include "tools/builtin/core/tool_path.h"
#include "policy/policy.h"
#include "tools/builtin/core/toolbox.h"

#include <ctype.h>

/* --- ends ------------------------------------------------------------------------------------------------ */

static void pr_free(struct pr *p)
{
	if (p->index)
		unlink(p->index);
	free_each(p->git, p->title, p->body, p->base, p->index, p->dir, p->top, p->store,
		  p->bundle_name, p->bundle_path);
	buf_done(&p->bundle);
	if (p->objects)
		file_remove_tree(p->objects);
	free_each(p->objects, p->lender);
	buf_done(&p->patch);
	buf_done(&p->files);
	command_run_free(p->run);
	free(p);
}

void pr_fail(struct pr *p)
{
	struct builtin_call *c = p->call;
	struct err e = p->e;

	bundle_drop(p);
	pr_free(p);
	tool_fail(c, &e, SLICE_NONE);
}

static void pr_put_patch(struct jw *w, const struct pr *p)
{
	_cleanup_(buf_done) struct buf text = { 0 };
	bool plain = utf8_valid(buf_slice(&p->patch)) && !memchr(p->patch.data, 0, p->patch.len);

	if (!plain)
		base64_encode(buf_slice(&p->patch), &text);
	jw_str(w, "patchEncoding", plain ? "utf-8" : "base64");
	jw_slice(w, "patch", plain ? buf_slice(&p->patch) : buf_slice(&text));
}

/* Writes the branch, and the place of its bundle. */
static void put_branch(struct jw *w, const struct pr *p)
{
	jw_str(w, "branch", p->branch);
	jw_str(w, "commit", p->commit);
	jw_str(w, "bundle", p->bundle_name);
	if (p->bundle_path)
		jw_str(w, "bundlePath", tool_path_shown(p->call, p->bundle_path));
	if (p->base)
		jw_str(w, "bundleRequires", p->onto);
}

/* The artifact for the session: the branch, or the patch of a draft. */
static struct tool_artifact pr_artifact(const struct pr *p, const char *name,
					const struct buf *bytes)
{
	if (p->draft)
		return (struct tool_artifact){ "pull-request.patch", "text/x-diff",
					       buf_slice(bytes) };
	return (struct tool_artifact){ name, "application/x-git-bundle", buf_slice(bytes) };
}

void pr_done(struct pr *p)
{
	_cleanup_(buf_done) struct buf out = { 0 }, bytes = { 0 };
	_cleanup_(freep) char *name = NULL;
	struct builtin_call *c = p->call;
	struct tool_artifact left;
	struct jw w = JW(&out);

	jw_str(&w, "status", "draft");
	jw_bool(&w, "pushed", false);
	jw_str(&w, "title", p->title);
	jw_str(&w, "body", p->body ? p->body : "");
	jw_str(&w, "base", p->onto);
	jw_str(&w, "head", p->head);
	if (!p->draft)
		put_branch(&w, p);
	jw_bool(&w, "approvalRequired", p->draft);
	jw_arr(&w, "files");
	jw_raw(&w, NULL, buf_slice(&p->files));
	jw_end_arr(&w);
	pr_put_patch(&w, p);
	bytes = p->draft ? p->patch : p->bundle;
	*(p->draft ? &p->patch : &p->bundle) = (struct buf){ 0 };
	name = TAKE_PTR(p->bundle_name);
	left = pr_artifact(p, name, &bytes);
	pr_free(p);
	tool_done_with(c, buf_slice(&out), &left);
}

/* --- the call -------------------------------------------------------------------------------------------- */

/* acpd/the-title-1a2b3c4d */
static void branch_name(struct pr *p)
{
	size_t n = 5;

	memcpy(p->branch, "acpd/", n);
	for (const char *s = p->title; *s && n < 45; s++) {
		if (isalnum((unsigned char)*s))
			p->branch[n++] = (char)tolower((unsigned char)*s);
		else if (p->branch[n - 1] != '-' && p->branch[n - 1] != '/')
			p->branch[n++] = '-';
	}
	/* Two pull requests may have one title, but a branch must be new. */
	snprintf(p->branch + n, sizeof(p->branch) - n, "%s%s",
		 isalnum((unsigned char)p->branch[n - 1]) ? "-" : "", RANDOM_HEX(4));
}

/* False: the call is ended. */
static bool pr_allowed(struct builtin_call *c, bool draft)
{
	static const char *const git[] = { "git", "commit", NULL };
	_cleanup_(freep) char *title = NULL, *path = NULL;
	_cleanup_(buf_done) struct buf question = { 0 };
	struct err e = { 0 };
	/* The rules for commands decide: openPR does what "git commit" would do. */
	enum policy_verdict v =
		policy_argv(toolbox_policy(c->box), (char *const *)(uintptr_t)git, NULL, &e);

	if (v == POLICY_DENY) {
		tool_fail(c, &e, SLICE_NONE);
		return false;
	}
	/* A branch needs a human's approval even if the policy allows the command. */
	if (draft && v == POLICY_ALLOW)
		return true;
	title = tool_arg_str(c, "title");
	path = tool_arg_str(c, "path");
	buf_printf(&question,
		   "Commit all changes%s%.200s to a new branch for the pull request \"%.200s\"",
		   path ? " of " : "", path ? path : "", title);
	buf_putc(&question, '\0');
	return tool_allowed(c, question.failed ? "Prepare a pull request" : question.data,
			    SLICE_NONE, SLICE_NONE);
}

/* False: the call is ended. */
static bool pr_titled(struct builtin_call *c)
{
	_cleanup_(freep) char *title = tool_arg_str(c, "title");
	struct err e = { 0 };

	if (title && title[strspn(title, " \t\r\n\v\f")])
		return true;
	err_field(&e, "title", "INVALID_ARGUMENT", "title has nothing but blanks");
	tool_fail(c, &e, SLICE_NONE);
	return false;
}

/* Where git runs; NULL: the call is ended. */
static char *pr_dir(struct builtin_call *c)
{
	_cleanup_(tool_path_done) struct tool_path at = TOOL_PATH_NONE;
	_cleanup_(freep) char *path = tool_arg_str(c, "path");
	struct err e = { 0 };
	int r;

	if (!path)
		return xstrdup(toolbox_config(c->box)->cwd);
	r = tool_path_find(c, path, TOOL_PATH_STAT, &at, &e);
	if (r == 0 && S_ISDIR(at.sb.st_mode))
		return TAKE_PTR(at.real);
	if (r == 0)
		err_field(&e, "path", "ENOTDIR", "%.120s is no directory", path);
	tool_fail(c, &e, SLICE_NONE);
	return NULL;
}

static void pr_start(struct builtin_call *c)
{
	bool draft = c->dry_run || tool_arg_bool(c, "draft", true);
	char *dir = pr_titled(c) ? pr_dir(c) : NULL;
	struct pr *p;

	if (!dir || !pr_allowed(c, draft)) {
		free(dir);
		return;
	}
	p = new0(struct pr);
	p->dir = dir;
	c->own = p;
	p->call = c;
	p->draft = draft;
	p->title = tool_arg_str(c, "title");
	p->body = tool_arg_str(c, "body");
	p->base = tool_arg_str(c, "base");
	p->patch.max = PR_PATCH_MAX;
	branch_name(p);
	p->index = xprintf("%s/acpd-index-%s",
			   toolbox_config(c->box)->state_dir ? toolbox_config(c->box)->state_dir :
							       "/tmp",
			   RANDOM_HEX(8));
	p->git = command_run_which("git", environ, p->dir, &p->e);
	if (p->git)
		pr_next(p);
	else
		pr_fail(p);
}

static void pr_cancel(struct builtin_call *c, bool timed_out _unused_)
{
	struct pr *p = c->own;

	p->cancelled = true;
	if (p->run)
		command_run_kill(p->run);
}

/* --- tables ---------------------------------------------------------------------------------------------- */

static const struct tool_field pr_in[] = {
	TF_STRING("title", TOOL_REQUIRED, "also the first line of the commit", .min = 1,
		  .max = 512),
	TF_STRING("path", 0, "a directory of the repository; without it, the working directory"),
	TF_STRING("body", 0, "also the rest of the commit's message", .max = 65536),
	TF_STRING("base", 0, "branch or commit that it is to go into; without it, HEAD",
		  .max = 512),
	TF_BOOL("draft", 0,
		"only the patch; false: a branch with a commit besides, once a human has allowed it",
		.fallback = "true"),
	{ 0 },
};

static const char *const draft_words[] = { "draft", NULL };
static const char *const encodings[] = { "utf-8", "base64", NULL };

static const struct tool_field pr_out[] = {
	TF_STRING("status", TOOL_REQUIRED, "nothing has left this machine", .words = draft_words),
	TF_BOOL("pushed", TOOL_REQUIRED, "false"),
	TF_STRING("title", TOOL_REQUIRED, "as given"),
	TF_STRING("body", TOOL_REQUIRED, "as given"),
	TF_STRING("base", TOOL_REQUIRED, "commit that the patch starts from"),
	TF_STRING("head", TOOL_REQUIRED, "commit that is checked out"),
	TF_STRING("branch", 0, "made here"),
	TF_STRING("commit", 0, "its commit"),
	TF_STRING("bundle", 0,
		  "name of the file with the branch, for git fetch: an artifact of the session"),
	TF_STRING("bundlePath", 0, "where it lies, without a session"),
	TF_STRING(
		"bundleRequires", 0,
		"commit that whoever fetches from it must have; without base none, and it can be cloned"),
	TF_BOOL("approvalRequired", TOOL_REQUIRED, "no branch was made: call with draft false"),
	TF_STRINGS("files", TOOL_REQUIRED, "that change"),
	TF_STRING("patchEncoding", TOOL_REQUIRED, "base64 if it is no UTF-8", .words = encodings),
	TF_STRING("patch", TOOL_REQUIRED, "from base to the work tree, for git apply"),
	{ 0 },
};

const struct builtin_tool pr_tools[] = {
	BUILTIN_TOOL(
		"openPR", "Prepare a pull request",
		"Makes the patch of a pull request from the work tree, with all files that git does not ignore, and, with draft false, a local branch with a commit, once a human has allowed it, which is also left as a git bundle. Nothing is pushed; HEAD, index and work tree stay as they are.",
		CATEGORY_OTHER, 0, pr_in, pr_out, .start = pr_start, .cancel = pr_cancel),
	{ 0 },
};
