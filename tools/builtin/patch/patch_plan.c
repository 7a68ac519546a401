/*
 * patch_plan.c - computes what every path of a patch will contain, in memory, without changing the
 * tree.
 *
 * There is one node for each path. A part of the patch sees what earlier parts made; a rename or
 * copy starts from the state before the patch, as in git. Sources of renames and deletions are
 * marked first, so another part may take their names. An error stays with its part, so one answer
 * names every part that does not fit.
 */
#include "base/os/file.h"
#include "base/limits.h"
#include "base/strv.h"
#include "diff/git_patch.h"
#include "tools/builtin/patch/patch_internal.h"
#include "policy/policy.h"
#include "tools/builtin/core/model_text.h"
#include "tools/builtin/core/toolbox.h"
#include "tree/glob.h"

#include <limits.h>

/* --- what is there ------------------------------------------------------------------------------------- */

static int patch_node_read_link(struct patch_node *n, struct err *e)
{
	char target[PATH_MAX];
	ssize_t len = readlinkat(n->at.dir, n->at.leaf, target, sizeof(target));

	/* readlinkat(2) cuts a longer target without an error. */
	if (len < 0 || len >= (ssize_t)sizeof(target))
		return tool_errno(e, len < 0 ? errno : ENAMETOOLONG, "cannot read", n->path);
	n->mode = PATCH_SYMLINK;
	return buf_add(&n->old, target, (size_t)len);
}

static int read_regular(struct patch_node *n, struct err *e)
{
	_cleanup_(closep) int fd =
		openat(n->at.dir, n->at.leaf, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	int r;

	/* From the descriptor: the version compared before the rename must be the one that was
	 * read. */
	if (fd < 0 || fstat(fd, &n->sb) < 0)
		return tool_errno(e, errno, "cannot read", n->path);
	/* git looks at the execute bit of the owner alone. */
	n->mode = n->sb.st_mode & S_IXUSR ? PATCH_EXECUTABLE : PATCH_FILE;
	r = file_read_fd(fd, PATCH_SIDE_MAX, &n->old);
	return r < 0 ? tool_errno(e, r, "cannot read", n->path) : 0;
}

static int node_read(struct patch_node *n, struct err *e)
{
	if (fstatat(n->at.dir, n->at.leaf, &n->sb, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : tool_errno(e, errno, "cannot reach", n->path);
	n->exists = true;
	if (S_ISDIR(n->sb.st_mode))
		return tool_errno(e, EISDIR, "cannot patch", n->path);
	if (S_ISLNK(n->sb.st_mode))
		return patch_node_read_link(n, e);
	if (!S_ISREG(n->sb.st_mode))
		return err_field(e, "patch", "NOT_A_FILE", "%.120s is no regular file", n->path);
	return read_regular(n, e);
}

/* Returns the node of a path, which is read at its first use. An error of it is kept, and is
 * that of each part that names it. */
static int node_find(struct patch_plan *p, const char *path, struct patch_node **ret, struct err *e)
{
	struct patch_node *n;
	int r;

	for (size_t i = 0; i < p->nnodes; i++) {
		*ret = &p->nodes[i];
		if (strcmp((*ret)->path, path) != 0)
			continue;
		*e = (*ret)->e;
		return e->reason[0] ? -EINVAL : 0;
	}
	n = *ret = &p->nodes[p->nnodes];
	*n = (struct patch_node){ .at = TOOL_PATH_ENTRY_NONE };
	r = tool_path_entry(p->call, path, TOOL_PATH_STAT, false, &n->at, e);
	if (r == -ENOENT) /* a directory on the way may be made */
		r = tool_path_entry_parents(p->call, path, TOOL_PATH_STAT, true, &n->at, e);
	if (r < 0)
		return r;
	n->path = xstrdup(path);
	p->nnodes++;
	if (n->at.is_root)
		r = tool_errno(&n->e, EISDIR, "cannot patch", path);
	else if (n->at.dir >= 0)
		r = node_read(n, &n->e);
	/* Until a part changes it, the plan is what is there. */
	n->planned = n->exists;
	n->planned_mode = n->mode;
	if (r < 0)
		*e = n->e;
	return r;
}

/* --- one file of the patch ------------------------------------------------------------------------------ */

static bool moves(const struct patch_file *f)
{
	return f->from && f->to && strcmp(f->from, f->to) != 0;
}

static int mode_check(const struct patch_file *f, unsigned mode, struct err *e)
{
	if (mode == PATCH_FILE || mode == PATCH_EXECUTABLE || mode == PATCH_SYMLINK)
		return 0;
	return err_set(e, -EINVAL, 0, "PATCH_MODE", "%.120s: mode %o is no file's",
		       f->to ? f->to : f->from, mode);
}

/* The mode it will have; links stay links. */
static int mode_next(const struct patch_file *f, unsigned have, unsigned *ret, struct err *e)
{
	bool link = have == PATCH_SYMLINK;

	*ret = f->new_mode ? f->new_mode : have ? have : PATCH_FILE;
	if (mode_check(f, *ret, e) < 0)
		return -EINVAL;
	if (have && (link != (*ret == PATCH_SYMLINK) ||
		     (f->old_mode && link != (f->old_mode == PATCH_SYMLINK))))
		return err_set(e, -EINVAL, 0, "PATCH_MISMATCH",
			       "%.120s: a link on one side, a file on the other", f->from);
	return 0;
}

/* A new file must not replace one, unless the patch moves or deletes that one, too. */
static int new_path_check(const struct patch_file *f, const struct patch_node *to, struct err *e)
{
	bool taken = to->made ? to->planned : to->exists && !to->leaving;

	if (!taken || (f->from && !moves(f)))
		return 0;
	return tool_errno(e, EEXIST, "cannot make", to->path);
}

/* What the file is made of: for renames and copies what is there before the patch, else what an earlier part of it
 * left. */
static int source(const struct patch_file *f, struct patch_node *from, struct slice *old,
		  unsigned *mode, struct err *e)
{
	bool earlier = from && from->made && !moves(f);

	*old = SLICE_NONE;
	*mode = 0;
	if (!from)
		return 0;
	if (earlier ? !from->planned : !from->exists)
		return tool_errno(e, ENOENT, "cannot patch", from->path);
	*old = buf_slice(earlier ? &from->next : &from->old);
	*mode = earlier ? from->planned_mode : from->mode;
	return 0;
}

static void node_set(struct patch_node *n, bool planned, unsigned mode, struct buf *bytes)
{
	buf_done(&n->next);
	n->next = *bytes;
	*bytes = (struct buf){ 0 };
	n->planned = planned;
	n->planned_mode = mode;
	n->made = true;
}

static int item_nodes(struct patch_plan *p, const struct patch_file *f, struct patch_node **from,
		      struct patch_node **to, struct err *e)
{
	int r = 0;

	*from = *to = NULL;
	if (f->from)
		r = node_find(p, f->from, from, e);
	if (r == 0 && f->to)
		r = node_find(p, f->to, to, e);
	if (r == 0 && *from && f->maybe_new && !(*from)->planned)
		*from = NULL;
	return r;
}

static int item_plan(struct patch_plan *p, struct patch_item *it, struct err *e)
{
	_cleanup_(buf_done) struct buf next = { .max = PATCH_SIDE_MAX };
	const struct patch_file *f = it->file;
	struct patch_node *from, *to;
	unsigned mode, next_mode = 0;
	struct slice old;
	int r = item_nodes(p, f, &from, &to, e);

	if (r == 0)
		r = source(f, from, &old, &mode, e);
	if (r == 0 && to)
		r = from ? mode_next(f, mode, &next_mode, e) : mode_next(f, 0, &next_mode, e);
	if (r == 0 && to)
		r = new_path_check(f, to, e);
	/* A part that replaces the whole content does not list what it removes. */
	if (r == 0 && f->whole)
		it->file->deletions = (uint64_t)model_text_count(old);
	if (r == 0 && (f->nhunks || f->binary || !to))
		r = patch_apply(f, old, &next, it->places, e);
	else if (r == 0)
		r = buf_add_slice(&next, old);
	if (r < 0)
		return r;
	/* The old name goes, unless another part has made a new file of it. */
	if (from && (!to || (moves(f) && !f->copy)) && !(moves(f) && from->made))
		node_set(from, false, 0, &(struct buf){ 0 });
	if (to)
		node_set(to, true, next_mode, &next);
	return 0;
}

/* --- names that may be meant in two ways ---------------------------------------------------------------- */

static bool is_made(const struct patch_plan *p, const struct patch_file *before, const char *path)
{
	for (const struct patch_file *f = p->set.files; f < before; f++)
		if (f->to && strcmp(f->to, path) == 0)
			return true;
	return false;
}

/* It is there, or an earlier part of the patch makes it. */
static bool patch_path_is_known(const struct patch_plan *p, const struct patch_file *f,
				const char *path)
{
	struct tool_path_entry at = TOOL_PATH_ENTRY_NONE;
	struct stat sb;
	struct err e;
	bool exists;

	if (is_made(p, f, path))
		return true;
	if (tool_path_entry(p->call, path, TOOL_PATH_STAT, false, &at, &e) < 0)
		return false;
	exists = at.is_root || fstatat(at.dir, at.leaf, &sb, AT_SYMLINK_NOFOLLOW) == 0;
	tool_path_entry_done(&at);
	return exists;
}

/* Names without a/ and b/: with all their parts, unless only without the first there is such a file. */
static int names_resolve(struct patch_plan *p, struct patch_file *f, struct err *e)
{
	bool whole, cut;

	if (!f->from || !f->other_from || strcmp(f->from, f->other_from) == 0)
		return 0;
	whole = patch_path_is_known(p, f, f->from);
	cut = patch_path_is_known(p, f, f->other_from);
	if (whole && cut)
		return err_field(
			e, "patch", "PATCH_AMBIGUOUS",
			"patch, line %zu: is it %.80s or %.80s? Both are there: write a/ and b/ before the names, or give strip",
			f->line, f->from, f->other_from);
	if (cut) {
		free_each(f->from, f->to);
		f->from = TAKE_PTR(f->other_from);
		f->to = TAKE_PTR(f->other_to);
	}
	return 0;
}

/* --- all ------------------------------------------------------------------------------------------------ */

static bool is_meant(const char *path, char *const *only)
{
	for (; *only; only++) {
		struct slice glob = slice_of(*only);
		size_t n = glob.n;

		if (glob_match(glob, slice_of(path), true))
			return true;
		/* A directory may be written with a slash at its end. */
		while (n && glob.p[n - 1] == '/')
			n--;
		if (n && strncmp(path, glob.p, n) == 0 && (path[n] == '/' || !path[n]))
			return true;
	}
	return false;
}

static void leaving_mark(struct patch_plan *p, const struct patch_item *it)
{
	const struct patch_file *f = it->file;
	struct patch_node *n;
	struct err e;

	if (!it->left_out && f->from && !f->copy && (!f->to || moves(f)) &&
	    node_find(p, f->from, &n, &e) == 0)
		n->leaving = true;
}

bool patch_plan_make(struct patch_plan *p, char *const *only)
{
	bool fits = true;

	p->items = xalloc(p->set.n * sizeof(*p->items));
	/* Two paths for each part at most. The array never moves: parts hold pointers into it. */
	p->nodes = xalloc((2 * p->set.n + 1) * sizeof(*p->nodes));
	for (size_t i = 0; i < p->set.n; i++) {
		struct patch_item *it = &p->items[i];

		it->file = &p->set.files[i];
		if (names_resolve(p, it->file, &it->e) < 0)
			fits = false;
		it->places = xalloc((it->file->nhunks + 1) * sizeof(*it->places));
		it->left_out = only && !((it->file->from && is_meant(it->file->from, only)) ||
					 (it->file->to && is_meant(it->file->to, only)));
		leaving_mark(p, it);
	}
	for (size_t i = 0; i < p->set.n && !tool_cancelled(p->call); i++) {
		struct patch_item *it = &p->items[i];

		struct err e = { 0 };

		if (it->left_out || it->e.reason[0])
			continue;
		if (item_plan(p, it, &e) < 0) {
			it->e = e;
			if (!it->e.reason[0])
				tool_errno(&it->e, ENOMEM, "cannot patch",
					   it->file->to ? it->file->to : it->file->from);
			fits = false;
		}
	}
	return fits;
}

const struct patch_node *patch_plan_node(const struct patch_plan *p, const char *path)
{
	for (size_t i = 0; i < p->nnodes; i++)
		if (strcmp(p->nodes[i].path, path) == 0)
			return &p->nodes[i];
	return NULL;
}

/* A patch may also undo itself: then there is nothing to write, and nothing to judge. */
bool node_changes(const struct patch_node *n)
{
	if (!n->made)
		return false;
	return n->exists != n->planned ||
	       (n->planned &&
		(n->mode != n->planned_mode || !slice_eq(buf_slice(&n->old), buf_slice(&n->next))));
}

int patch_plan_judge(struct patch_plan *p, struct buf *outside, struct err *e)
{
	const struct policy *policy = toolbox_policy(p->call->box);
	struct jw w = JW(outside);
	size_t n = 0;

	for (size_t i = 0; i < p->nnodes; i++) {
		const struct patch_node *node = &p->nodes[i];
		const char *real = node->at.real + tool_path_root_len(p->call, node->at.real);

		if (!node_changes(node) || policy_path(policy, real + (*real == '/'), POLICY_WRITE,
						       NULL, e) == POLICY_ALLOW)
			continue;
		/* No human is asked for a path that a rule denies by name. */
		if (strcmp(e->reason, "PATH_DENIED") == 0)
			return -EACCES;
		if (!n++)
			jw_arr(&w, NULL);
		jw_str(&w, NULL, tool_path_shown(p->call, node->at.real));
	}
	if (n)
		jw_end_arr(&w);
	return 0;
}

static void node_done(struct patch_node *n)
{
	free(n->path);
	tool_path_entry_done(&n->at);
	buf_done(&n->old);
	buf_done(&n->next);
}

void patch_plan_drop(struct patch_plan *p)
{
	for (size_t i = 0; p->items && i < p->set.n; i++)
		free(p->items[i].places);
	free(p->items);
	for (size_t i = 0; i < p->nnodes; i++)
		node_done(&p->nodes[i]);
	free(p->nodes);
	strv_free_n(p->made_dirs, p->nmade_dirs);
	p->items = NULL;
	p->nodes = NULL;
	p->made_dirs = NULL;
	p->nnodes = p->nmade_dirs = 0;
}

void patch_plan_done(struct patch_plan *p)
{
	patch_plan_drop(p);
	patch_set_done(&p->set);
}
