/*
 * watched_dirs.c - the table of inotify watches of watchDirectory: the path of each watch
 * descriptor.
 *
 * inotify(7) watches one directory and reports numbers. A directory is watched before its names are
 * read, so a name made meanwhile is seen twice and never missed. `found` removes the second report;
 * it has only names that were reported, so the events of one result limit it. The watch is added
 * through /proc/self/fd, to the inode that the walk has judged. After a rename the paths below it
 * are rewritten.
 */
#include "tools/builtin/search/watched_dirs.h"

#include "base/util.h"
#include "base/limits.h"
#include "base/os/file.h"
#include "base/strv.h"
#include "tools/builtin/core/tool.h"

#include <sys/inotify.h>

/* IN_ONLYDIR: a name that became a file meanwhile is refused. IN_EXCL_UNLINK: no events of files
 * that are deleted and still open (inotify(7)). */
#define MASK                                                                                       \
	(IN_CREATE | IN_DELETE | IN_MODIFY | IN_CLOSE_WRITE | IN_MOVED_FROM | IN_MOVED_TO |        \
	 IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR | IN_EXCL_UNLINK)

struct dir_reading {
	struct watched_dirs *w;
	const char *only; /* a directory: it and what is below; NULL: all */
	watch_found_fn fn;
	void *ctx;
	int error;
};

static int watched_dirs_find(const struct watched_dirs *w, int wd)
{
	for (size_t i = 0; i < w->n; i++)
		if (w->v[i].wd == wd)
			return (int)i;
	return -1;
}

/* The kernel returns the same descriptor for the same inode (inotify_add_watch(2)). */
static void watched_dirs_remember(struct watched_dirs *w, int wd, const char *path)
{
	int at = watched_dirs_find(w, wd);

	if (at >= 0) { /* the same directory again, perhaps under another name */
		xstrset(&w->v[at].path, path);
		return;
	}
	*GROW(w->v, w->n) = (struct watch_dir){ wd, xstrdup(path) };
}

static int watch_fd(struct watched_dirs *w, int dir, const char *path)
{
	int wd;

	/* The kernel's error for its own limit of watches, so both limits become WATCH_LIMIT. */
	if (w->n >= TOOL_WATCH_DIRS_MAX)
		return -ENOSPC;
	wd = inotify_add_watch(w->fd, SHORT_TEXT(40, "/proc/self/fd/%d", dir), MASK);
	if (wd < 0)
		return -errno;
	watched_dirs_remember(w, wd, path);
	return 0;
}

/* Is path a directory on the way to only, or in it? */
static bool is_on_the_way(const char *path, const char *only)
{
	size_t n = strlen(path), m = strlen(only);

	return n <= m ? strncmp(only, path, n) == 0 && (only[n] == '/' || !only[n]) :
			strncmp(path, only, m) == 0 && path[m] == '/';
}

static void watched_dirs_notify(struct dir_reading *r, const char *path)
{
	struct watched_dirs *w = r->w;

	if (r->fn && strlen(path) > strlen(r->only) && r->fn(r->ctx, path))
		*GROW(w->found, w->nfound) = xstrdup(path);
}

static int watched_dirs_visit(void *ctx, const struct tree_entry *e)
{
	struct dir_reading *r = ctx;
	_cleanup_(closep) int fd = -1;
	int code;

	if (r->only && !is_on_the_way(e->path, r->only))
		return 1;
	if (r->only)
		watched_dirs_notify(r, e->path);
	if (!S_ISDIR(e->sb.st_mode))
		return 0;
	if (r->only && strlen(e->path) < strlen(r->only))
		return 0;
	fd = openat(e->dir, e->leaf, O_PATH | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC);
	/* A directory that has been deleted since is not an error: the watch of its parent reports
	 * that. */
	code = fd < 0 ? 0 : watch_fd(r->w, fd, e->path);
	if (code == -ENOSPC) {
		r->error = code;
		return code;
	}
	return 0;
}

static int watched_dirs_read_tree(struct watched_dirs *w, struct dir_reading *r, struct err *e)
{
	struct file_walk_options o = { .gitignore = w->gitignore };

	return file_walk_below(w->call, &w->start, &o, watched_dirs_visit, r, e);
}

int watched_dirs_open(struct watched_dirs *w, struct err *e)
{
	struct dir_reading r = { .w = w };
	int code;

	w->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (w->fd < 0)
		return tool_errno(e, errno, "cannot watch", "");
	code = watch_fd(w, w->start.fd, "");
	if (code == 0 && w->recursive)
		code = watched_dirs_read_tree(w, &r, e);
	if (code == -ENOSPC)
		return err_set(e, code, 0, "WATCH_LIMIT",
			       "there are more directories than can be watched (after %zu)", w->n);
	/* A cancelled call is not an error here: watch_until ends at once. */
	if (code < 0 && code != -ECANCELED)
		return tool_errno(e, code, "cannot watch", tool_path_shown(w->call, w->start.real));
	return 0;
}

void watched_dirs_add(struct watched_dirs *w, const char *path, watch_found_fn fn, void *ctx)
{
	struct dir_reading r = { .w = w, .only = *path ? path : NULL, .fn = fn, .ctx = ctx };
	struct err e;

	if (w->recursive)
		watched_dirs_read_tree(w, &r, &e);
}

static void drop_at(struct watched_dirs *w, size_t i)
{
	free(w->v[i].path);
	w->v[i] = w->v[--w->n];
}

void watched_dirs_move(struct watched_dirs *w, const char *from, const char *to)
{
	/* Backwards, because drop_at moves the last entry into the gap. */
	for (size_t i = w->n; i-- > 0;) {
		char *moved;

		if (!path_below(w->v[i].path, from))
			continue;
		if (!to) {
			/* The kernel then sends IN_IGNORED for a number that is not in the table
			 * any more, and the event is dropped. */
			inotify_rm_watch(w->fd, w->v[i].wd);
			drop_at(w, i);
			continue;
		}
		moved = xprintf("%s%s", to, w->v[i].path + strlen(from));
		free(w->v[i].path);
		w->v[i].path = moved;
	}
}

const char *watched_dirs_path(const struct watched_dirs *w, int wd)
{
	int at = watched_dirs_find(w, wd);

	return at < 0 ? NULL : w->v[at].path;
}

void watched_dirs_drop(struct watched_dirs *w, int wd)
{
	int at = watched_dirs_find(w, wd);

	if (at >= 0)
		drop_at(w, (size_t)at);
}

bool watched_dirs_was_found(struct watched_dirs *w, const char *path)
{
	for (size_t i = 0; i < w->nfound; i++)
		if (strcmp(w->found[i], path) == 0) {
			free(w->found[i]);
			w->found[i] = w->found[--w->nfound];
			return true;
		}
	return false;
}

void watched_dirs_done(struct watched_dirs *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->v[i].path);
	free(w->v);
	strv_free_n(w->found, w->nfound);
	closep(&w->fd);
	tool_path_done(&w->start);
}
