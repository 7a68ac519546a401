/* delete_file.c - deleteFile and createDirectory. */
#include "base/limits.h"
#include "base/os/file.h"
#include "tools/builtin/files/file_describe.h"
#include "tools/builtin/core/tool.h"
#include "tools/builtin/files/write_lock.h"
#include "tools/builtin/core/toolbox.h"
#include "tools/builtin/files/file_walk.h"
#include "tree/held_tree.h"

/* --- deleteFile -------------------------------------------------------------------------------------------------- */

struct tree_removal {
	struct builtin_call *call;
	struct err *e;
	int64_t entries;
};

static int removal_judge(void *ctx, const struct tree_entry *entry)
{
	struct tree_removal *r = ctx;

	r->entries++;
	return tool_path_judge(r->call, entry->whole, TOOL_PATH_WRITE, r->e);
}

/* All or nothing as to policy: everything in it is judged before anything is removed. */
static int removal_check_tree(struct builtin_call *c, const struct tool_path_entry *at,
			      const char *path, bool recursive, struct err *e)
{
	struct tool_path p = { .real = at->real };
	struct file_walk_options o = { .depth = recursive ? 0 : 1, .denied = true };
	struct tree_removal removal = { .call = c, .e = e };
	int r;

	if (recursive && !toolbox_policy(c->box)) /* nothing to judge */
		return 0;
	/* It tells an error of the walk from a verdict below. */
	*e->reason = '\0';
	p.fd = openat(at->dir, at->leaf, O_PATH | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC);
	if (p.fd < 0 || fstat(p.fd, &p.sb) < 0) {
		r = tool_errno(e, errno, "cannot delete", path);
		closep(&p.fd);
		return r;
	}
	r = file_walk_below(c, &p, &o, removal_judge, &removal, e);
	close(p.fd);
	if (r == -ECANCELED)
		return err_set(e, r, 0, "TIMEOUT",
			       "nothing was deleted: there was no time to look at it all");
	if (r == 0 && !recursive && removal.entries)
		return tool_errno(e, ENOTEMPTY, "cannot delete", path);
	return r < 0 && !*e->reason ? tool_errno(e, r, "cannot look at all of", path) : r;
}

static int delete_at(struct builtin_call *c, const struct tool_path_entry *at, const char *path,
		     struct err *e)
{
	_cleanup_(write_lock_releasep) struct write_lock *g = NULL;
	bool recursive = tool_arg_bool(c, "recursive", true);
	struct stat sb;
	int r = 0;

	if (at->is_root)
		return err_field(e, "path", "IS_ROOT", "%.120s is a root of this sandbox: it stays",
				 path);
	r = c->dry_run ? 0 : write_lock_take(c, &at->dir, 1, &g, e);
	if (r < 0)
		return r;
	if (fstatat(at->dir, at->leaf, &sb, AT_SYMLINK_NOFOLLOW) < 0)
		return tool_errno(e, errno, "cannot delete", path);
	/* of a link, the link itself, wherever it leads */
	if (S_ISDIR(sb.st_mode))
		r = removal_check_tree(c, at, path, recursive, e);
	if (r < 0 || c->dry_run)
		return r;
	if (S_ISDIR(sb.st_mode) && recursive)
		/* By descriptors, so a directory that becomes a link meanwhile leads nowhere. */
		r = held_remove_at(at->dir, at->leaf);
	else if (unlinkat(at->dir, at->leaf, S_ISDIR(sb.st_mode) ? AT_REMOVEDIR : 0) < 0)
		r = -errno;
	return r < 0 ? tool_errno(e, r, "cannot delete", path) : 0;
}

/* No root may be below what is removed. */
static int check_roots(const struct builtin_call *c, const struct tool_path_entry *at,
		       struct err *e)
{
	char **roots = toolbox_config(c->box)->roots;

	for (; *roots; roots++) {
		const char *rest = path_below(*roots, at->real);

		if (rest && *rest)
			return err_field(e, "path", "IS_ROOT",
					 "%.120s is a root of this sandbox: it stays", *roots);
	}
	return 0;
}

static int delete_file(struct builtin_call *c, struct jw *w, struct err *e)
{
	_cleanup_(freep) char *path = tool_arg_str(c, "path");
	_cleanup_(tool_path_entry_done) struct tool_path_entry at = TOOL_PATH_ENTRY_NONE;
	int r = tool_path_entry(c, path, TOOL_PATH_WRITE, false, &at, e);

	if (r == 0)
		r = check_roots(c, &at, e);
	if (r == 0)
		r = delete_at(c, &at, path, e);
	jw_bool(w, "success", true);
	jw_str(w, "path", path);
	if (c->dry_run)
		jw_bool(w, "dryRun", true);
	return r;
}

/* --- createDirectory ----------------------------------------------------------------- */

/* 0: made; 1: it was there. */
static int directory_make(struct builtin_call *c, const char *path, struct err *e)
{
	_cleanup_(tool_path_entry_done) struct tool_path_entry at = TOOL_PATH_ENTRY_NONE;
	mode_t mode = (mode_t)tool_arg_int(c, "mode", 0);
	struct tool_path there;
	bool recursive = tool_arg_bool(c, "recursive", true);
	int r = tool_path_find(c, path, TOOL_PATH_STAT, &there, e);

	if (r == 0) {
		bool is_dir = S_ISDIR(there.sb.st_mode);

		tool_path_done(&there);
		if (is_dir && recursive)
			return 1;
		return tool_errno(e, EEXIST, "cannot make", path);
	}
	if (r != -ENOENT)
		return r;
	if (recursive)
		r = tool_path_entry_parents(c, path, TOOL_PATH_WRITE, c->dry_run, &at, e);
	else
		r = tool_path_entry(c, path, TOOL_PATH_WRITE, false, &at, e);
	if (r < 0 || c->dry_run)
		return r;
	if (mkdirat(at.dir, at.leaf, mode ? mode : 0777) < 0)
		/* Another call made it since the look-up above. */
		return errno == EEXIST && recursive ? 1 : tool_errno(e, errno, "cannot make", path);
	/* exactly these, without the umask */
	if (mode && fchmodat(at.dir, at.leaf, mode, AT_SYMLINK_NOFOLLOW) < 0 && errno != ENOTSUP)
		return tool_errno(e, errno, "cannot give its mode to", path);
	return 0;
}

static int create_directory(struct builtin_call *c, struct jw *w, struct err *e)
{
	_cleanup_(freep) char *path = tool_arg_str(c, "path");
	int r = directory_make(c, path, e);

	jw_bool(w, "success", true);
	jw_str(w, "path", path);
	jw_bool(w, "created", r == 0);
	if (c->dry_run)
		jw_bool(w, "dryRun", true);
	return r;
}

#define DRY_RUN TF_BOOL("dryRun", 0, "true: nothing was changed")

static const struct tool_field delete_in[] = {
	TF_STRING("path", TOOL_REQUIRED, PATH_TEXT "; of a link, the link itself"),
	TF_BOOL("recursive", 0,
		"Whether a directory goes with all that is in it; with false it must be empty.",
		.fallback = "true"),
	{ 0 },
};

static const struct tool_field delete_out[] = {
	TF_BOOL("success", TOOL_REQUIRED, "true"),
	TF_STRING("path", TOOL_REQUIRED, "as it was given"),
	DRY_RUN,
	{ 0 },
};

static const struct tool_field create_in[] = {
	TF_STRING("path", TOOL_REQUIRED, PATH_TEXT),
	TF_BOOL("recursive", 0,
		"make those above, too, and do not mind if it is there; false: EEXIST, ENOENT",
		.fallback = "true"),
	TF_INT("mode", 0, "permission bits as a number (493 is 0755)", .min = 1, .max = 0777),
	{ 0 },
};

static const struct tool_field create_out[] = {
	TF_BOOL("success", TOOL_REQUIRED, "true"),
	TF_STRING("path", TOOL_REQUIRED, "as it was given"),
	TF_BOOL("created", 0, "false: it was there"),
	DRY_RUN,
	{ 0 },
};

const struct builtin_tool remove_tools[] = {
	BUILTIN_TOOL(
		"deleteFile", "Delete a file",
		"Deletes a file, a link, or a directory. Roots are never deleted, nor links that lead out of them.",
		CATEGORY_EDIT, HINT_DESTRUCTIVE, delete_in, delete_out, .result = delete_file),
	BUILTIN_TOOL("createDirectory", "Make a directory", "Makes a directory and those above it.",
		     CATEGORY_EDIT, HINT_IDEMPOTENT, create_in, create_out,
		     .result = create_directory),
	{ 0 },
};
