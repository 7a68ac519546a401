/*
 * patch_commit.c - carries out a patch plan: stages all new contents, then exchanges names, and
 * undoes all on an error.
 *
 * Staging does what may fail for lack of space. Each exchange is one rename, directly after a check
 * that the path is unchanged. The staged name then holds the old content, so a rename back undoes
 * it. Missing directories are recorded before they are made, to be removed after a failure. The
 * caller holds the write lock (patch_plan_guard).
 */
#include "base/os/file.h"

#include "base/util.h"
#include "tools/builtin/patch/patch_internal.h"
#include "tools/builtin/files/write_lock.h"
#include "tools/builtin/core/toolbox.h"
#include "diff/git_patch.h"

#define STAGE_PREFIX ".acpd-patch-" /* and 16 hex digits: a kill may leave one */

/* --- directories ---------------------------------------------------------------------------------------- */

static bool patch_dir_exists(const struct patch_plan *p, const char *dir)
{
	struct tool_path at;
	struct err e;
	int r = tool_path_find(p->call, dir, TOOL_PATH_STAT, &at, &e);

	if (r == 0)
		tool_path_done(&at);
	return r == 0;
}

/* Those above real, a path without links, that will have to be made, outermost first: known before, to be taken away
 * again. */
static void dirs_note(struct patch_plan *p, const char *real)
{
	const char *slash = real + tool_path_root_len(p->call, real);

	while ((slash = strchr(slash + 1, '/'))) {
		char *dir = xstrndup(real, (size_t)(slash - real));

		if (patch_dir_exists(p, dir))
			free(dir);
		else
			*GROW(p->made_dirs, p->nmade_dirs) = dir;
	}
}

/* real: where it was. If a directory above became a link since, dir is another one, which stays. */
static bool dir_remove(const struct patch_plan *p, const char *dir, const char *real)
{
	struct tool_path_entry at;
	struct err e;
	bool gone;

	if (tool_path_entry(p->call, dir, TOOL_PATH_STAT, false, &at, &e) < 0)
		return false;
	gone = !at.is_root && strcmp(at.real, real) == 0 &&
	       unlinkat(at.dir, at.leaf, AT_REMOVEDIR) == 0;
	tool_path_entry_done(&at);
	return gone;
}

/* Removes directories that the patch has emptied, as git does. */
static void dirs_tidy(const struct patch_plan *p, const struct patch_node *n)
{
	_cleanup_(freep) char *dir = xstrdup(n->path), *real = xstrdup(n->at.real);
	char *slash;

	while ((slash = strrchr(dir, '/'))) {
		*slash = '\0';
		*strrchr(real, '/') = '\0';
		/* Not empty, a root, or replaced since: the directories above stay, too. */
		if (!dir_remove(p, dir, real))
			return;
	}
}

/* --- staging: everything that may fail for lack of space -------------------------------------------------- */

/* git records only whether a file is executable. All other bits come from the old file, or from the
 * umask. */
static mode_t mode_wanted(const struct patch_plan *p, const struct patch_node *n)
{
	mode_t bits = n->exists && S_ISREG(n->sb.st_mode) ? n->sb.st_mode & 07777 :
							    0666 & ~toolbox_umask(p->call->box);

	if (n->planned_mode == PATCH_EXECUTABLE)
		return bits | (0111 & ~toolbox_umask(p->call->box)) | S_IXUSR;
	return n->mode == PATCH_EXECUTABLE || !n->exists ? bits & ~0111u : bits;
}

static int stage_link(struct patch_node *n)
{
	buf_putc(&n->next, '\0');
	/* symlink(2) takes a C string: a NUL byte in the target would cut it silently. */
	if (n->next.failed || strlen(n->next.data) != buf_len(&n->next) - 1)
		return -EINVAL;
	n->next.len--;
	return symlinkat(n->next.data, n->at.dir, n->staged) < 0 ? -errno : 0;
}

static int stage_file(const struct patch_plan *p, struct patch_node *n)
{
	_cleanup_(closep) int fd = openat(
		n->at.dir, n->staged, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int r;

	if (fd < 0)
		return -errno;
	r = file_write_all(fd, n->next.data, buf_len(&n->next));
	if (r < 0)
		return r;
	/* Root must keep the owner of the old file. Other users cannot give files away, so their
	 * refusal is ignored. */
	if (n->exists && (n->sb.st_uid != geteuid() || n->sb.st_gid != getegid()) &&
	    fchown(fd, n->sb.st_uid, n->sb.st_gid) < 0 && geteuid() == 0)
		return -errno;
	atomic_write_date(fd, &n->sb);
	/* After fchown, which clears the set-user-ID and set-group-ID bits (chown(2)). */
	return fchmod(fd, mode_wanted(p, n)) < 0 ? -errno : 0;
}

/* The directory that was missing when the patch was planned and judged. It has to come where it would have been then:
 * what was missing may be a link to elsewhere by now. */
static int node_make_dir(struct patch_plan *p, struct patch_node *n, struct err *e)
{
	_cleanup_(freep) char *planned = TAKE_PTR(n->at.real);
	int r = 0;

	dirs_note(p, planned);
	/* First a dry run: the place is compared with the plan before any directory is created in
	 * it. */
	for (int dry = 1; r == 0 && dry >= 0; dry--) {
		tool_path_entry_done(&n->at);
		r = tool_path_entry_parents(p->call, n->path, TOOL_PATH_STAT, dry, &n->at, e);
		if (r == 0 && strcmp(n->at.real, planned) != 0)
			r = tool_errno(e, ESTALE, "a directory was exchanged above", n->path);
	}
	return r;
}

static int node_stage(struct patch_plan *p, struct patch_node *n, struct err *e)
{
	int r;

	r = n->at.dir < 0 ? node_make_dir(p, n, e) : 0;
	if (r < 0)
		return r;
	snprintf(n->staged, sizeof(n->staged), STAGE_PREFIX "%s", RANDOM_HEX(8));
	/* A removal needs only the name: the exchange moves the old file to it. */
	if (!n->planned)
		return 0;
	r = n->planned_mode == PATCH_SYMLINK ? stage_link(n) : stage_file(p, n);
	return r < 0 ? tool_errno(e, r, "cannot write", n->path) : 0;
}

/* --- exchanging: each by one rename, undone by another ---------------------------------------------------- */

/* Returns 0 if what was read is still there. */
static int node_unchanged(const struct patch_node *n, struct err *e)
{
	struct stat now;
	int r = fstatat(n->at.dir, n->at.leaf, &now, AT_SYMLINK_NOFOLLOW);

	if (!n->exists ? r < 0 && errno == ENOENT : r == 0 && atomic_write_same(&now, &n->sb))
		return 0;
	return !n->exists && r == 0 ? tool_errno(e, EEXIST, "cannot make", n->path) :
				      tool_errno(e, ESTALE, "somebody changed", n->path);
}

/* If the file system cannot exchange two names, the file is missing for a moment. */
static int patch_node_swap(struct patch_node *n)
{
	char aside[sizeof(n->staged) + 2];

	if (renameat2(n->at.dir, n->staged, n->at.dir, n->at.leaf, RENAME_EXCHANGE) == 0)
		return 0;
	/* rename(2): EINVAL if the file system does not support the flag, ENOSYS if the kernel does
	 * not. */
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	snprintf(aside, sizeof(aside), "%s.o", n->staged);
	if (renameat(n->at.dir, n->at.leaf, n->at.dir, aside) < 0)
		return -errno;
	if (renameat(n->at.dir, n->staged, n->at.dir, n->at.leaf) < 0) {
		int r = -errno;

		renameat(n->at.dir, aside, n->at.dir, n->at.leaf);
		return r;
	}
	if (renameat(n->at.dir, aside, n->at.dir, n->staged) < 0) {
		int r = -errno;

		renameat(n->at.dir, aside, n->at.dir, n->at.leaf);
		return r;
	}
	return 0;
}

static int node_exchange(struct patch_node *n, struct err *e)
{
	int r = node_unchanged(n, e);

	if (r < 0)
		return r;
	if (n->exists && n->planned) {
		r = patch_node_swap(n);
		n->swapped = r == 0;
	} else if (n->planned) {
		/* The flag closes the gap after the check above. Without it a file that was created
		 * since then is replaced. */
		r = renameat2(n->at.dir, n->staged, n->at.dir, n->at.leaf, RENAME_NOREPLACE) < 0 ?
			    -errno :
			    0;
		if (r == -EINVAL || r == -ENOSYS)
			r = renameat(n->at.dir, n->staged, n->at.dir, n->at.leaf) < 0 ? -errno : 0;
		n->placed = r == 0;
	} else {
		r = renameat(n->at.dir, n->at.leaf, n->at.dir, n->staged) < 0 ? -errno : 0;
		n->taken = r == 0;
	}
	return r < 0 ? tool_errno(e, r, "cannot change", n->path) : 0;
}

static void node_undo(struct patch_node *n)
{
	if (n->placed)
		unlinkat(n->at.dir, n->at.leaf, 0);
	else if (n->swapped || n->taken)
		renameat(n->at.dir, n->staged, n->at.dir, n->at.leaf);
	n->swapped = n->placed = n->taken = false;
}

/* --- all ------------------------------------------------------------------------------------------------- */

static int each(struct patch_plan *p, struct err *e)
{
	int r = 0;

	for (size_t i = 0; i < p->nnodes && r == 0; i++)
		if (node_changes(&p->nodes[i]))
			r = node_stage(p, &p->nodes[i], e);
	/* The last point where a cancelled call has changed nothing. */
	if (r == 0 && tool_cancelled(p->call))
		return tool_errno(e, ECANCELED, "nothing was changed in", "the tree");
	/* In the order of the patch: a file where a directory was, or the reverse, is not made by one patch. */
	for (size_t i = 0; i < p->nnodes && r == 0; i++)
		if (node_changes(&p->nodes[i]))
			r = node_exchange(&p->nodes[i], e);
	return r;
}

int patch_plan_guard(struct patch_plan *p, struct write_lock **ret, bool *stale, struct err *e)
{
	_cleanup_(freep) int *dirs = xalloc((p->nnodes + 1) * sizeof(*dirs));
	struct err why;
	int r;

	for (size_t i = 0; i < p->nnodes; i++)
		/* Below 0 if the directory does not exist yet: the lock skips it. */
		dirs[i] = p->nodes[i].at.dir;
	r = write_lock_take(p->call, dirs, p->nnodes, ret, e);
	*stale = false;
	for (size_t i = 0; i < p->nnodes && r == 0; i++)
		*stale |= p->nodes[i].at.dir >= 0 && node_unchanged(&p->nodes[i], &why) < 0;
	return r;
}

int patch_plan_commit(struct patch_plan *p, struct err *e)
{
	/* Everything is staged before the first exchange. After an error the exchanges are undone
	 * in reverse order, so each undo finds the tree as its exchange left it. */
	int r = each(p, e);

	for (size_t i = p->nnodes; r < 0 && i-- > 0;)
		node_undo(&p->nodes[i]);
	for (size_t i = 0; i < p->nnodes; i++) {
		struct patch_node *n = &p->nodes[i];

		if (n->staged[0])
			unlinkat(n->at.dir, n->staged, 0); /* never exchanged, or what was */
		if (r == 0 && n->taken)
			dirs_tidy(p, n);
	}
	/* Innermost first, because a directory must be empty to be removed. */
	for (size_t i = p->nmade_dirs; r < 0 && i-- > 0;)
		dir_remove(p, p->made_dirs[i], p->made_dirs[i]);
	return r;
}
