/* pr_git.c - the steps of git for openPR, each a row of a table. */
#include "base/os/file.h"
#include "base/limits.h"
#include "tools/builtin/core/tool_path.h"
#include "tools/builtin/git/pr_internal.h"
#include "tools/builtin/run/command_spec.h"
#include "tools/builtin/core/toolbox.h"
#include "base/util.h"

#define GIT_ARGS_MAX 24

/* One run of git: its arguments, and what is made of its output. */
struct pr_step {
	void (*args)(struct pr *p, const char **argv);
	int (*done)(struct pr *p, struct slice out, int code); /* NULL: id alone */
	const char *reason, *failure; /* of the call if git fails; NULL: done looks at the code */
	size_t id;		      /* what its output is: a member of struct pr; 0: nothing */
};

/* --- steps ----------------------------------------------------------------------------------------------- */

static void pr_push(const char **argv, const char *const *words)
{
	while (*argv)
		argv++;
	while (*words)
		*argv++ = *words++;
}

#define ARGS(...) pr_push(argv, (const char *const[]){ __VA_ARGS__, NULL })

static struct slice git_line(struct slice out)
{
	while (out.n && out.p[out.n - 1] == '\n')
		out.n--;
	return out;
}

static int id_take(struct pr *p, struct slice out, char id[PR_ID_MAX])
{
	out = git_line(out);
	/* 40 hex digits of SHA-1, or 64 of SHA-256. */
	if (out.n < 40 || out.n >= PR_ID_MAX)
		return err_set(&p->e, -EIO, 0, "GIT_FAILED", "git said what nobody understands");
	memcpy(id, out.p, out.n);
	id[out.n] = '\0';
	return 0;
}

static int pr_failed(struct pr *p, const char *reason, const char *what)
{
	_cleanup_(buf_done) struct buf said = { 0 };
	struct slice text;
	const char *at;

	command_output_text(command_run_output(p->run, RUN_STDERR), 0, &said);
	text = git_line(buf_slice(&said));
	at = text.n ? memchr(text.p, '\n', text.n) : NULL;
	return err_set(&p->e, -EINVAL, 0, reason, "%s: %.*s", what,
		       (int)MIN(at ? (size_t)(at - text.p) : text.n, 160u), text.n ? text.p : "");
}

static void top_args(struct pr *p _unused_, const char **argv)
{
	ARGS("rev-parse", "--git-path", "objects", "--show-toplevel");
}

static void store_note(struct pr *p, struct slice path)
{
	_cleanup_(freep) char *name = xstrndup(path.p, path.n);

	p->store = *name == '/' ? xstrdup(name) : file_join(p->dir, name);
}

/* The objects of a draft go to a directory of their own and with it; those of the repository are found through this
 * variable, whose paths end at a colon unless they are quoted. */
static int objects_take(struct pr *p)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	p->objects = xprintf("%s.objects", p->index);
	if (mkdir(p->objects, 0700) < 0)
		return tool_errno(&p->e, -errno, "cannot make", p->objects);
	buf_puts(&b, "GIT_ALTERNATE_OBJECT_DIRECTORIES=\"");
	for (const char *s = p->store; *s; s++) {
		if (*s == '"' || *s == '\\')
			buf_putc(&b, '\\');
		buf_putc(&b, *s);
	}
	buf_puts(&b, "\"");
	p->lender = xstrndup(b.data, b.len);
	return 0;
}

static int top_done(struct pr *p, struct slice out, int code)
{
	struct slice store;
	struct tool_path at;
	int r;

	if (code || !slice_cut(&out, '\n', &store))
		return pr_failed(p, "NOT_A_REPOSITORY", "the directory is in no repository of git");
	/* Two lines, in the order of the options. */
	store_note(p, store);
	r = p->draft ? objects_take(p) : 0;
	if (r < 0)
		return r;
	out = git_line(out);
	p->top = xstrndup(out.p, out.n);
	r = tool_path_find(p->call, p->top, TOOL_PATH_STAT, &at, &p->e);
	if (r == 0)
		tool_path_done(&at);
	return r;
}

static void ident_args(struct pr *p _unused_, const char **argv)
{
	ARGS("var", "GIT_COMMITTER_IDENT");
}

static int ident_done(struct pr *p, struct slice out _unused_, int code)
{
	/* git has no name for the committer, and commit-tree fails without one: step_start then
	 * gives one. */
	p->nameless = code != 0;
	return 0;
}

static void head_args(struct pr *p _unused_, const char **argv)
{
	ARGS("rev-parse", "--verify", "HEAD^{commit}");
}

static void base_args(struct pr *p, const char **argv)
{
	ARGS("merge-base", "--", p->base ? p->base : p->head, p->head);
}

static void read_args(struct pr *p, const char **argv)
{
	/* Into the index of this call (GIT_INDEX_FILE), so the repository's own stays unchanged. */
	ARGS("read-tree", p->head);
}

static void add_args(struct pr *p _unused_, const char **argv)
{
	ARGS("-C", p->top, "add", "-A");
}

static void tree_args(struct pr *p _unused_, const char **argv)
{
	ARGS("write-tree");
}

static void commit_args(struct pr *p, const char **argv)
{
	/* Unlike "git commit", it moves no branch and runs no hook (git-commit-tree(1)). */
	ARGS("commit-tree", p->tree, "-p", p->head, "-m", p->title);
	if (p->body && *p->body)
		ARGS("-m", p->body);
}

static void names_args(struct pr *p, const char **argv)
{
	/* -z: a name may have any byte but NUL. --no-renames: the policy judges both names of a
	 * moved file. */
	ARGS("diff", "--name-only", "-z", "--no-renames", p->onto, p->commit);
}

/* A patch shows contents of files, so the policy's rules for reading apply to it too. */
static int pr_name_take(struct pr *p, const char *name)
{
	_cleanup_(freep) char *real = file_join(p->top, name);
	struct jw w = { &p->files, p->nfiles > 0 };

	p->nfiles++;
	jw_str(&w, NULL, name);
	return tool_path_judge(p->call, real, TOOL_PATH_READ, &p->e);
}

static int names_done(struct pr *p, struct slice out, int code _unused_)
{
	int r = 0;

	while (r == 0 && out.n) {
		size_t n = strnlen(out.p, out.n);
		_cleanup_(freep) char *name = xstrndup(out.p, n);

		r = pr_name_take(p, name);
		n = MIN(n + 1, out.n);
		out = slice_after(out, n);
	}
	if (r == 0 && !p->nfiles)
		return err_set(&p->e, -EINVAL, 0, "NOTHING_TO_PROPOSE",
			       "there is no change between base and the work tree");
	return r;
}

static void diff_args(struct pr *p, const char **argv)
{
	/* The patch must not depend on programs, colors and prefixes of the user's configuration. */
	ARGS("diff", "--binary", "--full-index", "--no-ext-diff", "--no-textconv", "--no-color",
	     "--src-prefix=a/", "--dst-prefix=b/", p->onto, p->commit);
}

static int diff_done(struct pr *p, struct slice out, int code _unused_)
{
	if (command_output_dropped(command_run_output(p->run, RUN_STDOUT)))
		return err_set(&p->e, -EFBIG, 0, "PATCH_TOO_LARGE",
			       "the patch has more than %lu bytes", PR_PATCH_MAX);
	return buf_add_slice(&p->patch, out);
}

/* --- the bundle ------------------------------------------------------------------------------------------ *
 *
 * The branch for programs without access to this repository: git fetches and clones from it. It has what comes after
 * base, or everything if none was given. This code makes it of a header and a pack, without `git bundle`, which needs
 * the branch to exist: so a bundle that is too large is refused before anything is made. In a session the bundle
 * becomes an artifact. Elsewhere it stays beside the repository's objects.
 */

#define SHA1_HEX 40
#define BUNDLE_DIR "acpd-bundles"

static void bundle_args(struct pr *p _unused_, const char **argv)
{
	ARGS("pack-objects", "--revs", "--stdout", "-q", "--delta-base-offset");
}

static struct slice bundle_input(struct pr *p, struct buf *b)
{
	buf_printf(b, "%s\n", p->commit);
	if (p->base)
		buf_printf(b, "^%s\n", p->onto);
	return buf_slice(b);
}

static void header_put(struct pr *p)
{
	struct buf *b = &p->bundle;

	/* Version 2 cannot name an object format, so SHA-256 needs version 3 (gitformat-bundle(5)). */
	buf_puts(b, strlen(p->commit) > SHA1_HEX ? "# v3 git bundle\n@object-format=sha256\n" :
						   "# v2 git bundle\n");
	/* A prerequisite: the receiver must have this commit (gitformat-bundle(5)). */
	if (p->base)
		buf_printf(b, "-%s base\n", p->onto);
	buf_printf(b, "%s refs/heads/%s\n%s HEAD\n\n", p->commit, p->branch, p->commit);
}

/* <objects>/../acpd-bundles, which is no link. */
static int dir_open(const struct pr *p, char **ret)
{
	_cleanup_(freep) char *above = xstrdup(p->store);
	char *slash = strrchr(above, '/');
	int fd;

	if (!slash)
		return -EINVAL;
	*slash = '\0';
	*ret = file_join(above, BUNDLE_DIR);
	if (mkdir(*ret, 0777) < 0 && errno != EEXIST)
		return -errno;
	fd = open(*ret, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int bundle_leave(struct pr *p)
{
	_cleanup_(freep) char *dir = NULL;
	_cleanup_(closep) int at = dir_open(p, &dir), fd = -1;
	int r = at;

	if (r < 0)
		return tool_errno(&p->e, r, "cannot make", dir ? dir : p->store);
	fd = openat(at, p->bundle_name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (fd < 0)
		return tool_errno(&p->e, errno, "cannot write", p->bundle_name);
	p->bundle_path = file_join(dir, p->bundle_name);
	r = file_write_all(fd, p->bundle.data, buf_len(&p->bundle));
	return r < 0 ? tool_errno(&p->e, r, "cannot write", p->bundle_path) : 0;
}

void bundle_drop(struct pr *p)
{
	if (p->bundle_path)
		unlink(p->bundle_path);
}

static int bundle_done(struct pr *p, struct slice out, int code _unused_)
{
	const char *name = strrchr(p->branch, '/');

	if (command_output_dropped(command_run_output(p->run, RUN_STDOUT)) || out.n > PR_BUNDLE_MAX)
		return err_field(&p->e, "base", "BUNDLE_TOO_LARGE",
				 "the bundle of the branch has more than %lu bytes%s",
				 PR_BUNDLE_MAX,
				 p->base ? "" : ": with base, only what comes after it is in it");
	p->bundle.max = PR_BUNDLE_MAX + 4096;
	header_put(p);
	buf_add_slice(&p->bundle, out);
	if (p->bundle.failed)
		return -ENOMEM;
	p->bundle_name = xprintf("%s.bundle", name ? name + 1 : p->branch);
	return toolbox_config(p->call->box)->session ? 0 : bundle_leave(p);
}

static void branch_args(struct pr *p, const char **argv)
{
	static char ref[sizeof("refs/heads/") + sizeof(p->branch)]; /* read before the loop goes on */

	snprintf(ref, sizeof(ref), "refs/heads/%s", p->branch);
	/* An old value of zeros: the branch must not exist yet (git-update-ref(1)). */
	ARGS("update-ref", "--no-deref", ref, p->commit,
	     strlen(p->commit) > 40 ?
		     "0000000000000000000000000000000000000000000000000000000000000000" :
		     "0000000000000000000000000000000000000000");
}

/* clang-format off */
static const struct pr_step steps[] = {
	{ top_args, top_done, NULL, NULL, 0 },
	{ ident_args, ident_done, NULL, NULL, 0 },
	{ head_args, NULL, "NO_COMMIT", "the repository has no commit yet", offsetof(struct pr, head) },
	{ base_args, NULL, "BASE_UNKNOWN", "base is no commit that this work comes from", offsetof(struct pr, onto) },
	{ read_args, NULL, "GIT_FAILED", "git cannot take in the work tree", 0 },
	{ add_args, NULL, "GIT_FAILED", "git cannot take in the work tree", 0 },
	{ tree_args, NULL, "GIT_FAILED", "git cannot write the tree", offsetof(struct pr, tree) },
	{ commit_args, NULL, "GIT_FAILED", "git cannot make the commit", offsetof(struct pr, commit) },
	{ names_args, names_done, "GIT_FAILED", "git cannot compare", 0 },
	{ diff_args, diff_done, "GIT_FAILED", "git cannot compare", 0 },
	{ bundle_args, bundle_done, "GIT_FAILED", "git cannot pack the commit", 0 },
	{ branch_args, NULL, "GIT_FAILED", "git cannot make the branch", 0 },
};
/* clang-format on */

#define STEP_BUNDLE (ARRAY_SIZE(steps) - 2) /* this and the next are not of a draft */

/* --- running --------------------------------------------------------------------------------------------- */

static int pr_step_done(struct pr *p, struct slice out, int code)
{
	const struct pr_step *s = &steps[p->step];

	if (code && s->failure)
		return pr_failed(p, s->reason, s->failure);
	if (s->done)
		return s->done(p, out, code);
	return s->id ? id_take(p, out, (char *)p + s->id) : 0;
}

static void pr_on_exit(void *ctx, const struct command_run_status *st)
{
	_cleanup_(buf_done) struct buf out = { 0 };
	struct pr *p = ctx;
	int code = st->exited ? st->code : 128 + st->code, r;

	command_output_text(command_run_output(p->run, RUN_STDOUT), 0, &out);
	if (p->cancelled || st->timed_out)
		r = err_set(&p->e, -ETIMEDOUT, 0, "TIMEOUT", "git was not done in time");
	else
		r = pr_step_done(p, buf_slice(&out), code);
	p->run = command_run_free(p->run);
	if (r < 0 && !p->e.reason[0])
		tool_errno(&p->e, r, "cannot prepare", "the patch");
	if (r < 0) {
		pr_fail(p);
		return;
	}
	p->step++;
	pr_next(p);
}

static const struct command_run_events events = { NULL, pr_on_exit };

/* The environment without what others told git, and with what keeps it quiet, local and away from the repository's
 * index. */
static char **env_make(const struct pr *p)
{
	/* No prompt, no transport, no fetch of objects that a partial clone lacks, no lock for a
	 * mere refresh (git(1)). */
	static const char *const fixed[] = { "GIT_TERMINAL_PROMPT=0", "GIT_ALLOW_PROTOCOL=none",
					     "GIT_NO_LAZY_FETCH=1",   "GIT_OPTIONAL_LOCKS=0",
					     "GIT_PAGER=cat",	      "LC_ALL=C" };
	char **env = NULL;

	for (char **v = environ; *v; v++)
		if (strncmp(*v, "GIT_", 4) != 0)
			strv_add(&env, xstrdup(*v));
	for (size_t i = 0; i < ARRAY_SIZE(fixed); i++)
		strv_add(&env, xstrdup(fixed[i]));
	strv_add(&env, xprintf("GIT_INDEX_FILE=%s", p->index));
	if (p->objects)
		strv_add(&env, xprintf("GIT_OBJECT_DIRECTORY=%s", p->objects));
	if (p->lender)
		strv_add(&env, xstrdup(p->lender));
	return env;
}

static int step_start(struct pr *p)
{
	/* Hooks and a file system monitor are programs that the repository chooses: they must not
	 * run. */
	const char *argv[GIT_ARGS_MAX] = { p->git, "-c", "core.hooksPath=/dev/null", "-c",
					   "core.fsmonitor=false" };
	struct command_run_spec spec = { .cwd = p->dir,
					 .input = p->step == STEP_BUNDLE,
					 .timeout_ms = PR_STEP_MS,
					 .keep = MAX(PR_PATCH_MAX, PR_BUNDLE_MAX) };
	_cleanup_(buf_done) struct buf input = { 0 };

	if (p->nameless)
		ARGS("-c", "user.name=acpd", "-c", "user.email=acpd@localhost");
	steps[p->step].args(p, argv);
	spec.argv = (char *const *)argv;
	spec.env = env_make(p);
	p->run = command_run_start(background_procs_host(p->call->box), &spec, &events, p, &p->e);
	strv_free((char **)spec.env);
	if (p->run && spec.input) {
		command_run_write(p->run, bundle_input(p, &input));
		command_run_close_input(p->run);
	}
	return p->run ? 0 : -EIO;
}

void pr_next(struct pr *p)
{
	if (p->step >= (p->draft ? STEP_BUNDLE : ARRAY_SIZE(steps)))
		pr_done(p);
	else if (step_start(p) < 0)
		pr_fail(p);
}
