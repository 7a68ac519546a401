/*
 * pr.c - openPR: what a pull request would hold, made here with git and without the network.
 *
 * A draft changes nothing that anybody sees: the work tree is written as a commit object through an index of its own, beside the
 * repository's, and the answer is the patch from base to it. Without "draft" a human is asked first, and the commit gets a branch; HEAD,
 * index and work tree stay as they are in any case. Nothing is pushed: that is for whoever holds the credentials.
 *
 * git runs step by step, each a row of the table. Hooks, file monitors, diff programs and every transport are off.
 */
#include "base/file.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "digest/base64.h"
#include "tools/builtin/place.h"
#include "tools/builtin/policy.h"
#include "tools/builtin/run.h"
#include "tools/builtin/tool.h"
#include "tools/builtin/toolbox.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>

#define GIT_ARGS_MAX 24
#define ID_MAX 65 /* hex of SHA-256, and NUL */

struct pr {
	struct tool_call *call;
	char *git, *title, *body, *base, *index;
	char *top; /* of the repository */
	char head[ID_MAX], onto[ID_MAX], tree[ID_MAX], commit[ID_MAX];
	char branch[64];
	bool draft, nameless, cancelled;
	struct buf patch, files; /* files: members of an array */
	size_t nfiles, step;
	struct run *run;
	struct err e;
};

/* One run of git: its arguments, and what is made of its output. */
struct step {
	void (*args)(struct pr *p, const char **argv);
	int (*done)(struct pr *p, struct slice out, int code);
};

static void next(struct pr *p);

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
	buf_done(&p->patch);
	buf_done(&p->files);
	run_free(p->run);
	free(p);
}

static void pr_fail(struct pr *p)
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

static void pr_done(struct pr *p)
{
	_cleanup_(buf_done) struct buf out = { 0 };
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
	pr_free(p);
	tool_done(c, buf_slice(&out));
}

/* --- steps ----------------------------------------------------------------------------------------------- */

static void push(const char **argv, const char *const *words)
{
	while (*argv)
		argv++;
	while (*words)
		*argv++ = *words++;
}

#define ARGS(...) push(argv, (const char *const[]){ __VA_ARGS__, NULL })

static struct slice line_of(struct slice out)
{
	while (out.n && out.p[out.n - 1] == '\n')
		out.n--;
	return out;
}

static int id_take(struct pr *p, struct slice out, char id[ID_MAX])
{
	out = line_of(out);
	if (out.n < 40 || out.n >= ID_MAX)
		return err_set(&p->e, -EIO, 0, "GIT_FAILED", "git said what nobody understands");
	memcpy(id, out.p, out.n);
	id[out.n] = '\0';
	return 0;
}

static int failed(struct pr *p, const char *reason, const char *what)
{
	_cleanup_(buf_done) struct buf said = { 0 };
	struct slice text;
	const char *at;

	output_text(run_output(p->run, RUN_STDERR), 0, &said);
	text = line_of(buf_slice(&said));
	at = text.n ? memchr(text.p, '\n', text.n) : NULL;
	return err_set(&p->e, -EINVAL, 0, reason, "%s: %.*s", what,
		       (int)MIN(at ? (size_t)(at - text.p) : text.n, 160u), text.n ? text.p : "");
}

static void top_args(struct pr *p _unused_, const char **argv)
{
	ARGS("rev-parse", "--show-toplevel");
}

static int top_done(struct pr *p, struct slice out, int code)
{
	struct place at;
	int r;

	if (code)
		return failed(p, "NOT_A_REPOSITORY",
			      "the working directory is in no repository of git");
	out = line_of(out);
	p->top = xstrndup(out.p, out.n);
	r = place_find(p->call, p->top, PLACE_LOOK, &at, &p->e);
	if (r == 0)
		place_done(&at);
	return r;
}

static void ident_args(struct pr *p _unused_, const char **argv)
{
	ARGS("var", "GIT_COMMITTER_IDENT");
}

static int ident_done(struct pr *p, struct slice out _unused_, int code)
{
	p->nameless = code != 0;
	return 0;
}

static void head_args(struct pr *p _unused_, const char **argv)
{
	ARGS("rev-parse", "--verify", "HEAD^{commit}");
}

static int head_done(struct pr *p, struct slice out, int code)
{
	return code ? failed(p, "NO_COMMIT", "the repository has no commit yet") :
		      id_take(p, out, p->head);
}

static void base_args(struct pr *p, const char **argv)
{
	ARGS("merge-base", "--", p->base ? p->base : p->head, p->head);
}

static int base_done(struct pr *p, struct slice out, int code)
{
	return code ? failed(p, "BASE_UNKNOWN", "base is no commit that this work comes from") :
		      id_take(p, out, p->onto);
}

static void read_args(struct pr *p, const char **argv)
{
	ARGS("read-tree", p->head);
}

static void add_args(struct pr *p _unused_, const char **argv)
{
	ARGS("-C", p->top, "add", "-A");
}

static int plain_done(struct pr *p, struct slice out _unused_, int code)
{
	return code ? failed(p, "GIT_FAILED", "git cannot take in the work tree") : 0;
}

static void tree_args(struct pr *p _unused_, const char **argv)
{
	ARGS("write-tree");
}

static int tree_done(struct pr *p, struct slice out, int code)
{
	return code ? failed(p, "GIT_FAILED", "git cannot write the tree") :
		      id_take(p, out, p->tree);
}

static void commit_args(struct pr *p, const char **argv)
{
	ARGS("commit-tree", p->tree, "-p", p->head, "-m", p->title);
	if (p->body && *p->body)
		ARGS("-m", p->body);
}

static int commit_done(struct pr *p, struct slice out, int code)
{
	return code ? failed(p, "GIT_FAILED", "git cannot make the commit") :
		      id_take(p, out, p->commit);
}

static void names_args(struct pr *p, const char **argv)
{
	ARGS("diff", "--name-only", "-z", "--no-renames", p->onto, p->commit);
}

/* A patch shows what is in files: policy's word on reading holds for it too. */
static int name_take(struct pr *p, const char *name)
{
	_cleanup_(freep) char *real = file_join(p->top, name);
	struct jw w = { &p->files, p->nfiles > 0 };

	p->nfiles++;
	jw_str(&w, NULL, name);
	return place_judge(p->call, real, PLACE_READ, &p->e);
}

static int names_done(struct pr *p, struct slice out, int code)
{
	int r = code ? failed(p, "GIT_FAILED", "git cannot compare") : 0;

	while (r == 0 && out.n) {
		size_t n = strnlen(out.p, out.n);
		_cleanup_(freep) char *name = xstrndup(out.p, n);

		r = name_take(p, name);
		n = MIN(n + 1, out.n);
		out = (struct slice){ out.p + n, out.n - n };
	}
	if (r == 0 && !p->nfiles)
		return err_set(&p->e, -EINVAL, 0, "NOTHING_TO_PROPOSE",
			       "there is no change between base and the work tree");
	return r;
}

static void diff_args(struct pr *p, const char **argv)
{
	ARGS("diff", "--binary", "--full-index", "--no-ext-diff", "--no-textconv", "--no-color",
	     "--src-prefix=a/", "--dst-prefix=b/", p->onto, p->commit);
}

static int diff_done(struct pr *p, struct slice out, int code)
{
	if (code)
		return failed(p, "GIT_FAILED", "git cannot compare");
	if (output_dropped(run_output(p->run, RUN_STDOUT)))
		return err_set(&p->e, -EFBIG, 0, "PATCH_TOO_LARGE",
			       "the patch has more than %lu bytes", PR_PATCH_MAX);
	return buf_add_slice(&p->patch, out);
}

static void branch_args(struct pr *p, const char **argv)
{
	static char ref[sizeof("refs/heads/") + sizeof(p->branch)]; /* read before the loop goes on */

	snprintf(ref, sizeof(ref), "refs/heads/%s", p->branch);
	ARGS("update-ref", "--no-deref", ref, p->commit,
	     strlen(p->commit) > 40 ?
		     "0000000000000000000000000000000000000000000000000000000000000000" :
		     "0000000000000000000000000000000000000000");
}

static int branch_done(struct pr *p, struct slice out _unused_, int code)
{
	return code ? failed(p, "GIT_FAILED", "git cannot make the branch") : 0;
}

static const struct step steps[] = {
	{ top_args, top_done },	  { ident_args, ident_done },	{ head_args, head_done },
	{ base_args, base_done }, { read_args, plain_done },	{ add_args, plain_done },
	{ tree_args, tree_done }, { commit_args, commit_done }, { names_args, names_done },
	{ diff_args, diff_done }, { branch_args, branch_done },
};

#define STEP_BRANCH (ARRAY_SIZE(steps) - 1)

/* --- running --------------------------------------------------------------------------------------------- */

static void on_exit_of(void *ctx, const struct run_status *st)
{
	_cleanup_(buf_done) struct buf out = { 0 };
	struct pr *p = ctx;
	int code = st->exited ? st->code : 128 + st->code, r;

	output_text(run_output(p->run, RUN_STDOUT), 0, &out);
	if (p->cancelled || st->timed_out)
		r = err_set(&p->e, -ETIMEDOUT, 0, "TIMEOUT", "git was not done in time");
	else
		r = steps[p->step].done(p, buf_slice(&out), code);
	p->run = run_free(p->run);
	if (r < 0 && !p->e.reason[0])
		tool_errno(&p->e, r, "cannot prepare", "the patch");
	if (r < 0) {
		pr_fail(p);
		return;
	}
	p->step++;
	next(p);
}

static const struct run_events events = { NULL, on_exit_of };

static struct run_host *host_of(struct toolbox *b)
{
	struct run_host *h = toolbox_kept(b, PART_OTHER);

	if (!h) {
		h = run_host_new(toolbox_loop(b));
		toolbox_keep(b, PART_OTHER, h, (void (*)(void *))(void (*)(void))run_host_free);
	}
	return h;
}

static bool is_gits(const char *variable)
{
	return strncmp(variable, "GIT_", 4) == 0;
}

/* The environment without what others told git, and with what keeps it quiet, local and away from the repository's index. */
static char **env_make(const struct pr *p)
{
	static const char *const fixed[] = { "GIT_TERMINAL_PROMPT=0", "GIT_ALLOW_PROTOCOL=none",
					     "GIT_NO_LAZY_FETCH=1",   "GIT_OPTIONAL_LOCKS=0",
					     "GIT_PAGER=cat",	      "LC_ALL=C" };
	size_t n = 0, k = 0;
	char **env;

	while (environ[n])
		n++;
	env = xalloc((n + ARRAY_SIZE(fixed) + 2) * sizeof(*env));
	for (size_t i = 0; i < n; i++)
		if (!is_gits(environ[i]))
			env[k++] = xstrdup(environ[i]);
	for (size_t i = 0; i < ARRAY_SIZE(fixed); i++)
		env[k++] = xstrdup(fixed[i]);
	if (asprintf(&env[k], "GIT_INDEX_FILE=%s", p->index) < 0)
		abort();
	return env;
}

static int step_start(struct pr *p)
{
	const char *argv[GIT_ARGS_MAX] = { p->git, "-c", "core.hooksPath=/dev/null", "-c",
					   "core.fsmonitor=false" };
	struct run_spec spec = { .cwd = toolbox_config(p->call->box)->cwd,
				 .timeout_ms = PR_STEP_MS,
				 .keep = PR_PATCH_MAX };

	if (p->nameless)
		ARGS("-c", "user.name=acpd", "-c", "user.email=acpd@localhost");
	steps[p->step].args(p, argv);
	spec.argv = (char *const *)argv;
	spec.env = env_make(p);
	p->run = run_start(host_of(p->call->box), &spec, &events, p, &p->e);
	tool_strv_free((char **)spec.env);
	return p->run ? 0 : -EIO;
}

static void next(struct pr *p)
{
	if (p->step > STEP_BRANCH || (p->step == STEP_BRANCH && p->draft))
		pr_done(p);
	else if (step_start(p) < 0)
		pr_fail(p);
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

static void pr_start(struct tool_call *c)
{
	bool draft = c->dry_run || tool_arg_bool(c, "draft", true);
	struct pr *p;
	char hex[17];

	if (!pr_allowed(c, draft))
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
		next(p);
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
