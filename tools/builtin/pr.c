/*
 * pr.c - openPR: what a pull request would hold, made here with git and without the network.
 *
 * A draft changes nothing: the work tree is written as a commit object through an index and a directory of objects of its own, beside
 * the repository's, both gone afterwards, and the answer is the patch from base to it. Without "draft" a human is asked first, and the commit gets a branch; HEAD,
 * index and work tree stay as they are in any case. Nothing is pushed: that is for whoever holds the credentials.
 *
 * git runs step by step, each a row of the table. Hooks, file monitors, diff programs and every transport are off.
 */
#include "tools/builtin/pr_internal.h"

#include "base/file.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "digest/base64.h"
#include "tools/builtin/policy.h"
#include "tools/builtin/toolbox.h"

#include <ctype.h>
#include <stdio.h>

/* --- ends ------------------------------------------------------------------------------------------------ */

static void pr_free(struct pr *p)
{
	if (p->index)
		unlink(p->index);
	free(p->git);
	free(p->title);
	free(p->body);
	free(p->base);
	free(p->index);
	free(p->top);
	if (p->objects)
		file_remove_tree(p->objects);
	free(p->objects);
	free(p->lender);
	buf_done(&p->patch);
	buf_done(&p->files);
	run_free(p->run);
	free(p);
}

void pr_fail(struct pr *p)
{
	struct tool_call *c = p->call;
	struct err e = p->e;

	pr_free(p);
	tool_fail(c, &e, SLICE_NONE);
}

static void put_patch(struct jw *w, const struct pr *p)
{
	_cleanup_(buf_done) struct buf text = { 0 };
	bool plain = utf8_valid(buf_slice(&p->patch)) && !memchr(p->patch.data, 0, p->patch.len);

	if (!plain)
		base64_encode(buf_slice(&p->patch), &text);
	jw_str(w, "patchEncoding", plain ? "utf-8" : "base64");
	jw_slice(w, "patch", plain ? buf_slice(&p->patch) : buf_slice(&text));
}

void pr_done(struct pr *p)
{
	_cleanup_(buf_done) struct buf out = { 0 }, patch = { 0 };
	struct tool_call *c = p->call;
	struct jw w = JW(&out);

	jw_str(&w, "status", "draft");
	jw_bool(&w, "pushed", false);
	jw_str(&w, "title", p->title);
	jw_str(&w, "body", p->body ? p->body : "");
	jw_str(&w, "base", p->onto);
	jw_str(&w, "head", p->head);
	if (!p->draft) {
		jw_str(&w, "branch", p->branch);
		jw_str(&w, "commit", p->commit);
	}
	jw_bool(&w, "approvalRequired", p->draft);
	jw_arr(&w, "files");
	jw_raw(&w, NULL, buf_slice(&p->files));
	jw_end_arr(&w);
	put_patch(&w, p);
	patch = p->patch;
	p->patch = (struct buf){ 0 };
	pr_free(p);
	tool_done_with(c, buf_slice(&out),
		       &(struct tool_artifact){ "pull-request.patch", "text/x-diff",
						buf_slice(&patch) });
}

/* --- the call -------------------------------------------------------------------------------------------- */

/* acpd/the-title-1a2b3c4d */
static void branch_name(struct pr *p)
{
	char hex[9];
	size_t n = 5;

	memcpy(p->branch, "acpd/", n);
	for (const char *s = p->title; *s && n < 45; s++) {
		if (isalnum((unsigned char)*s))
			p->branch[n++] = (char)tolower((unsigned char)*s);
		else if (p->branch[n - 1] != '-' && p->branch[n - 1] != '/')
			p->branch[n++] = '-';
	}
	random_hex(hex, 4);
	snprintf(p->branch + n, sizeof(p->branch) - n, "%s%s",
		 isalnum((unsigned char)p->branch[n - 1]) ? "-" : "", hex);
}

/* False: the call is ended. */
static bool pr_allowed(struct tool_call *c, bool draft)
{
	static const char *const git[] = { "git", "commit", NULL };
	_cleanup_(freep) char *title = NULL;
	_cleanup_(buf_done) struct buf question = { 0 };
	struct err e = { 0 };
	enum policy_verdict v =
		policy_argv(toolbox_policy(c->box), (char *const *)(uintptr_t)git, &e);

	if (v == POLICY_DENY) {
		tool_fail(c, &e, SLICE_NONE);
		return false;
	}
	if (draft && v == POLICY_ALLOW)
		return true;
	title = tool_arg_str(c, "title");
	buf_printf(&question, "Commit all changes to a new branch for the pull request \"%.200s\"",
		   title);
	buf_putc(&question, '\0');
	return tool_allowed(c, question.failed ? "Prepare a pull request" : question.data,
			    SLICE_NONE, SLICE_NONE);
}

/* False: the call is ended. */
static bool pr_titled(struct tool_call *c)
{
	_cleanup_(freep) char *title = tool_arg_str(c, "title");
	struct err e = { 0 };

	if (title && title[strspn(title, " \t\r\n\v\f")])
		return true;
	err_field(&e, "title", "INVALID_ARGUMENT", "title has nothing but blanks");
	tool_fail(c, &e, SLICE_NONE);
	return false;
}

static void pr_start(struct tool_call *c)
{
	bool draft = c->dry_run || tool_arg_bool(c, "draft", true);
	struct pr *p;
	char hex[17];

	if (!pr_titled(c) || !pr_allowed(c, draft))
		return;
	p = new0(struct pr);
	c->own = p;
	p->call = c;
	p->draft = draft;
	p->title = tool_arg_str(c, "title");
	p->body = tool_arg_str(c, "body");
	p->base = tool_arg_str(c, "base");
	p->patch.max = PR_PATCH_MAX;
	branch_name(p);
	random_hex(hex, 8);
	if (asprintf(&p->index, "%s/acpd-index-%s",
		     toolbox_config(c->box)->state_dir ? toolbox_config(c->box)->state_dir : "/tmp",
		     hex) < 0)
		abort();
	p->git = run_which("git", environ, toolbox_config(c->box)->cwd, &p->e);
	if (p->git)
		pr_next(p);
	else
		pr_fail(p);
}

static void pr_cancel(struct tool_call *c, bool timed_out _unused_)
{
	struct pr *p = c->own;

	p->cancelled = true;
	if (p->run)
		run_kill(p->run);
}

/* --- tables ---------------------------------------------------------------------------------------------- */

static const struct tool_field pr_in[] = {
	{ .name = "title",
	  .type = TOOL_STRING,
	  .flags = TOOL_REQUIRED,
	  .min = 1,
	  .max = 512,
	  .text = "also the first line of the commit" },
	{ .name = "body",
	  .type = TOOL_STRING,
	  .max = 65536,
	  .text = "also the rest of the commit's message" },
	{ .name = "base",
	  .type = TOOL_STRING,
	  .max = 512,
	  .text = "branch or commit that it is to go into; without it, HEAD" },
	{ .name = "draft",
	  .type = TOOL_BOOL,
	  .fallback = "true",
	  .text = "only the patch; false: a branch with a commit besides, once a human has allowed it" },
	{ 0 },
};

static const char *const draft_words[] = { "draft", NULL };
static const char *const encodings[] = { "utf-8", "base64", NULL };

static const struct tool_field pr_out[] = {
	{ .name = "status",
	  .type = TOOL_STRING,
	  .flags = TOOL_REQUIRED,
	  .words = draft_words,
	  .text = "nothing has left this machine" },
	{ .name = "pushed", .type = TOOL_BOOL, .flags = TOOL_REQUIRED, .text = "false" },
	{ .name = "title", .type = TOOL_STRING, .flags = TOOL_REQUIRED, .text = "as given" },
	{ .name = "body", .type = TOOL_STRING, .flags = TOOL_REQUIRED, .text = "as given" },
	{ .name = "base",
	  .type = TOOL_STRING,
	  .flags = TOOL_REQUIRED,
	  .text = "commit that the patch starts from" },
	{ .name = "head",
	  .type = TOOL_STRING,
	  .flags = TOOL_REQUIRED,
	  .text = "commit that is checked out" },
	{ .name = "branch", .type = TOOL_STRING, .text = "made here" },
	{ .name = "commit", .type = TOOL_STRING, .text = "its commit" },
	{ .name = "approvalRequired",
	  .type = TOOL_BOOL,
	  .flags = TOOL_REQUIRED,
	  .text = "no branch was made: call with draft false" },
	{ .name = "files", .type = TOOL_STRINGS, .flags = TOOL_REQUIRED, .text = "that change" },
	{ .name = "patchEncoding",
	  .type = TOOL_STRING,
	  .flags = TOOL_REQUIRED,
	  .words = encodings,
	  .text = "base64 if it is no UTF-8" },
	{ .name = "patch",
	  .type = TOOL_STRING,
	  .flags = TOOL_REQUIRED,
	  .text = "from base to the work tree, for git apply" },
	{ 0 },
};

const struct tool pr_tools[] = {
	{
		.name = "openPR",
		.title = "Prepare a pull request",
		.text = "Makes the patch of a pull request from the work tree, with all files that git does not ignore, and, with draft false, a local branch with a commit, once a human has allowed it. Nothing is pushed; HEAD, index and work tree stay as they are.",
		.category = TOOL_OTHER,
		.in = pr_in,
		.out = pr_out,
		.start = pr_start,
		.cancel = pr_cancel,
	},
	{ 0 },
};
