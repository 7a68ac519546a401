/*
 * tree_walk.c - the tree walk of snapshots and archives: .gitignore, git's reserved names, limits,
 * reports of omissions.
 *
 * Each snapshot walks the whole tree: a stat call for each name, about 2 us. It is not told by inotify or fanotify what
 * has changed. A file that is written through a shared mapping makes no event until it is unmapped, and nobody tells
 * what happened before the watch or beyond a full queue, so it would not be exact. inotify needs such a walk to begin
 * with and a watch for each directory, fanotify costs each write to the file system by anybody 10 us.
 *
 * The tree is under the agent's control while it is walked. Limits on entries and time are checked
 * for every name. Reserved names are those that some file systems treat as .git, by case or by
 * special forms. git refuses to write them. Ignored paths that an older state tracks are still
 * visited: ignoring them later must not count as a deletion.
 */
#include "unpack/snapshot/tree_walk.h"

#include "base/clock.h"
#include "base/os/file.h"
#include "tree/ignore.h"

#define STAGE_DIRS ".acpd-stage-"

struct walker {
	const struct tree_walk_options *o;
	const struct tree_visitor *visitor;
	struct verdict *v;
	struct ignore *ignore; /* NULL: not asked */
	unsigned ignored; /* depth of an ignored directory that is entered for what is known in it; 0: in none */
	dev_t device;
	uint64_t seen;
};

/* --- names that mean something to git ------------------------------------------------------------------- */

/* Windows drops dots and spaces at the end of a name and reads the part after a colon as a stream. */
static bool ends_there(const char *rest)
{
	while (*rest == '.' || *rest == ' ')
		rest++;
	return !*rest || *rest == ':' || *rest == '\\';
}

bool git_name_reserved(const char *name, bool link)
{
	static const char *const links[] = { ".gitmodules", "gitmod~", "gi7eba~" };

	for (size_t i = 0; link && i < ARRAY_SIZE(links); i++)
		if (strncasecmp(name, links[i], strlen(links[i])) == 0)
			return true;
	return (strncasecmp(name, ".git", 4) == 0 && ends_there(name + 4)) ||
	       (strncasecmp(name, "git~1", 5) == 0 && ends_there(name + 5));
}

bool git_path_reserved(const char *path, bool link)
{
	while (*path) {
		size_t n = strcspn(path, "/");
		_cleanup_(freep) char *name = xstrndup(path, n);

		if (git_name_reserved(name, link && !path[n]))
			return true;
		path += n + (path[n] == '/');
	}
	return false;
}

static bool walk_leaves_out(const struct walker *w, const char *name)
{
	return strncmp(name, STAGE_DIRS, strlen(STAGE_DIRS)) == 0 ||
	       (w->o->without_git && strcmp(name, ".git") == 0);
}

/* --- what the walker asks --------------------------------------------------------------------------------- */

static int walk_want_name(void *ctx, const char *name)
{
	struct walker *w = ctx;

	if (walk_leaves_out(w, name))
		return 0;
	if (++w->seen > w->o->entries)
		return refuse_over(w->v, "TOO_MANY_ENTRIES", NULL, w->o->entries, w->seen,
				   "entries in the tree");
	return 1;
}

/* Reports it, and leaves it out. */
static int walk_omit(struct walker *w, const struct tree_entry *e, enum omit_reason reason)
{
	int r = w->visitor->omit(w->visitor->ctx, e->path, reason);

	return r < 0 ? r : 1;
}

static bool walk_matches(struct walker *w, const struct tree_entry *e)
{
	if (w->ignored && e->depth > w->ignored)
		return true;
	w->ignored = 0;
	return ignore_match(w->ignore, e->path, S_ISDIR(e->sb.st_mode));
}

static bool is_ignored(struct walker *w, const struct tree_entry *e)
{
	if (!w->ignore || !walk_matches(w, e))
		return false;
	if (!w->visitor->known || !w->visitor->known(w->visitor->ctx, e->path))
		return true;
	if (!w->ignored && S_ISDIR(e->sb.st_mode))
		w->ignored = e->depth;
	return false;
}

/* Reports it, if anybody asks, and leaves it out. */
static int ignore(struct walker *w, const struct tree_entry *e)
{
	int r = w->visitor->ignored ? w->visitor->ignored(w->visitor->ctx, e->path) : 0;

	return r < 0 ? r : 1;
}

static int walk_on_visit(void *ctx, const struct tree_entry *e)
{
	struct walker *w = ctx;

	if (w->o->deadline_ms && clock_mono_ms() > w->o->deadline_ms)
		return refuse(w->v, "TIME_LIMIT", e->path,
			      "the tree took too long; this far it came");
	if (is_ignored(w, e))
		return ignore(w, e);
	if (w->o->for_git && git_name_reserved(e->leaf, S_ISLNK(e->sb.st_mode)))
		return walk_omit(w, e, OMIT_NAME_RESERVED);
	return w->visitor->visit(w->visitor->ctx, e);
}

/* The bytes of the .gitignore in dir; empty if it is no readable file, as for git. */
static void read_gitignore(int dir, struct buf *ret)
{
	_cleanup_(closep) int fd =
		openat(dir, ".gitignore", O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct stat sb;

	if (fd < 0 || fstat(fd, &sb) < 0 || !S_ISREG(sb.st_mode) ||
	    file_read_fd(fd, IGNORE_FILE_MAX, ret) < 0)
		buf_reset(ret);
}

static int walk_on_enter(void *ctx, const struct tree_entry *e, int fd)
{
	_cleanup_(buf_done) struct buf text = { 0 };
	struct walker *w = ctx;
	struct stat sb;

	if (fstat(fd, &sb) < 0 || sb.st_dev != w->device)
		return walk_omit(w, e, OMIT_OTHER_FILE_SYSTEM);
	if (!w->ignore)
		return 0;
	read_gitignore(fd, &text);
	/* more rules than the limits count as none */
	if (ignore_push(w->ignore, e->path, buf_slice(&text)) < 0 &&
	    ignore_push(w->ignore, e->path, SLICE_NONE) < 0)
		return fail_with(w->v, -ENOMEM, e->path, "reading rules of .gitignore");
	return 0;
}

static void walk_on_leave(void *ctx)
{
	struct walker *w = ctx;

	if (w->ignore)
		ignore_pop(w->ignore);
}

/* --- what the walker could not do ------------------------------------------------------------------------- */

static int cannot_open(struct walker *w, const struct tree_entry *e, int error)
{
	if (error == -EMFILE || error == -ENFILE || error == -ENOMEM)
		return fail_with(w->v, error, e->path, "opening a directory");
	return walk_omit(w, e, OMIT_UNREADABLE);
}

static int walk_on_obstacle(void *ctx, const struct tree_entry *e, enum walk_trouble what,
			    int error)
{
	struct walker *w = ctx;

	if (walk_gone(what, error))
		return 0;
	switch (what) {
	case WALK_CANNOT_LOOK:
		return walk_omit(w, e, OMIT_UNREADABLE);
	case WALK_PATH_TOO_LONG:
		return is_ignored(w, e) ? 0 : walk_omit(w, e, OMIT_PATH_TOO_LONG);
	case WALK_TOO_DEEP:
		return walk_omit(w, e, OMIT_PATH_TOO_DEEP);
	case WALK_CANNOT_OPEN:
		return cannot_open(w, e, error);
	case WALK_CANNOT_READ:
		break;
	}
	if (error == -E2BIG)
		return refuse(w->v, "TOO_MANY_ENTRIES", e->path,
			      "the names of one directory are more than are read");
	return error == -EACCES && e->depth ?
		       walk_omit(w, e, OMIT_UNREADABLE) :
		       fail_with(w->v, error, e->path, "reading a directory");
}

/* --- the tree --------------------------------------------------------------------------------------------- */

int tree_walk(int root, const struct tree_walk_options *o, const struct tree_visitor *visitor,
	      struct verdict *v)
{
	static const struct walk_calls calls = { walk_want_name, walk_on_visit, walk_on_enter,
						 walk_on_leave, walk_on_obstacle };
	struct walker w = { .o = o, .visitor = visitor, .v = v };
	struct stat sb;
	int r;

	if (fstat(root, &sb) < 0)
		return fail_with(v, -errno, NULL, "looking at the root");
	w.device = sb.st_dev;
	w.ignore = o->gitignore ? ignore_new() : NULL;
	r = tree_walker_run(root, "", &calls, &w);
	ignore_free(w.ignore);
	return r;
}
