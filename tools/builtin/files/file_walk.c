/*
 * file_walk.c - adapts tree_walker to tools: policy, .gitignore, cursors, depth, pseudo file
 * systems.
 *
 * A cursor is the last path that was returned. `least` is the first name to visit in the directory
 * entered last; names have a fixed order, so a walk resumes without state. Each entered directory
 * has one level of .gitignore rules: enter and leave must stay paired. A directory whose rules do
 * not fit is skipped, because too little is safer than ignored files.
 */
#include "tools/builtin/files/file_walk.h"

#include "base/buf.h"
#include "base/os/file.h"
#include "base/limits.h"
#include "base/util.h"
#include "tools/builtin/core/tool.h"
#include "tools/builtin/core/toolbox.h"
#include "tools/builtin/files/file_describe.h"
#include "tree/ignore.h"

#include <linux/magic.h>
#include <sys/vfs.h>

struct file_walk {
	struct builtin_call *call;
	const struct file_walk_options *o;
	file_walk_fn fn;
	void *ctx;
	struct ignore *ignore; /* NULL: not asked for */
	size_t top;	       /* where in whole the path from the root begins, for ignore */
	struct slice least;    /* in the directory entered last: no name before it */
};

int file_walk_open(int dir, const char *name, struct stat *sb)
{
	/* O_PATH first: a FIFO or device must not be opened to find out what it is. */
	_cleanup_(closep) int held = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat own;
	int fd;

	if (held < 0 || fstat(held, sb ? sb : &own) < 0)
		return -errno;
	if (!S_ISREG((sb ? sb : &own)->st_mode))
		return -EINVAL;
	/* Through the held descriptor, so the opened inode is the one that was checked. */
	fd = open(SHORT_TEXT(40, "/proc/self/fd/%d", held), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

/* path NULL: the start itself. The result can be given to another tool as it is. */
void file_walk_put_path(struct jw *w, const char *start, const char *path)
{
	_cleanup_(buf_done) struct buf full = { 0 };

	if (path && strcmp(start, ".") != 0)
		buf_printf(&full, "%s%s", start, start[strlen(start) - 1] == '/' ? "" : "/");
	buf_puts(&full, path ? path : start);
	buf_putc(&full, '\0');
	if (!full.failed)
		name_put(w, "path", full.data);
}

/* --- what is left out ------------------------------------------------------------------------------------------- */

static int ignore_enter(struct ignore *ig, int dir, const char *path)
{
	_cleanup_(buf_done) struct buf text = { .max = IGNORE_FILE_MAX + 4096 };
	_cleanup_(closep) int fd = file_walk_open(dir, ".gitignore", NULL);

	/* A file without rules, or none, has a level, too. */
	if (fd >= 0 && file_read_fd(fd, IGNORE_FILE_MAX, &text) < 0)
		buf_reset(&text);
	return ignore_push(ig, path, buf_slice(&text));
}

/* Enters the directories from the root down to the start of the walk, whose .gitignore files count too. */
static int ignore_above(struct file_walk *w, const char *real)
{
	size_t root = tool_path_root_len(w->call, real);
	const char *p = real + root;
	_cleanup_(closep) int dir = -1;

	w->top = root + 1;
	if (strlen(real) <= w->top)
		return 0;
	for (;;) {
		_cleanup_(freep) char *here = xstrndup(real, (size_t)(p - real));
		const char *rel = (size_t)(p - real) > w->top ? here + w->top : "";
		int r;

		closep(&dir);
		dir = open(*here ? here : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (!*p) /* the beginning itself is entered by the walk */
			return 0;
		r = dir < 0 ? -errno : ignore_enter(w->ignore, dir, rel);
		if (r < 0)
			return r;
		p++;
		p += strcspn(p, "/");
	}
}

/* Files of the kernel: reading them may block, have effects, or never end. On an error the
 * directory is not entered. */
static bool fs_is_pseudo(int fd)
{
	static const long magics[] = { PROC_SUPER_MAGIC,    SYSFS_MAGIC,     CGROUP_SUPER_MAGIC,
				       CGROUP2_SUPER_MAGIC, DEBUGFS_MAGIC,   TRACEFS_MAGIC,
				       DEVPTS_SUPER_MAGIC,  SECURITYFS_MAGIC };
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(magics); i++)
		if (fs.f_type == magics[i])
			return true;
	return false;
}

static const char *path_from_root(const struct file_walk *w, const char *whole)
{
	return strlen(whole) > w->top ? whole + w->top : "";
}

static bool file_walk_leaves_out(const struct file_walk *w, const struct tree_entry *e)
{
	bool is_dir = S_ISDIR(e->sb.st_mode);

	if (w->ignore &&
	    (strcmp(e->leaf, ".git") == 0 || ignore_match(w->ignore, e->whole + w->top, is_dir)))
		return true;
	/* With `denied` the caller judges every entry itself. */
	return !w->o->denied && tool_path_judge(w->call, e->whole,
						is_dir ? TOOL_PATH_STAT : TOOL_PATH_READ, NULL) < 0;
}

/* --- walking ------------------------------------------------------------------------------------------------------ */

/* The rest of the cursor after path, if it leads through path; else NULL. */
static const char *cursor_behind(const char *cursor, const char *path)
{
	size_t n = strlen(path);

	if (!cursor || strncmp(cursor, path, n) != 0)
		return NULL;
	if (!n || !cursor[n])
		return cursor + n;
	return cursor[n] == '/' ? cursor + n + 1 : NULL;
}

/* Called before anything is opened, so that a page deep in a large directory costs only names. */
static int file_walk_wants_name(void *ctx, const char *name)
{
	const struct file_walk *w = ctx;

	return (name[0] != '.' || !w->o->no_hidden) && strncmp(name, w->least.p, w->least.n) >= 0;
}

/* 1: not entered. A removal must not miss anything, so there too deep a tree is an error. */
static int check_depth(const struct file_walk *w, const struct tree_entry *e)
{
	if (w->o->depth && e->depth >= w->o->depth)
		return 1;
	if (e->depth < PATH_DEPTH_MAX || !S_ISDIR(e->sb.st_mode))
		return 0;
	return w->o->denied ? -ELOOP : 1;
}

static int file_walk_visit(void *ctx, const struct tree_entry *e)
{
	const struct file_walk *w = ctx;
	int r = 0;

	if (tool_cancelled(w->call))
		return -ECANCELED;
	if (file_walk_leaves_out(w, e))
		return 1;
	/* A directory on the way to the cursor was returned by an earlier page. */
	if (!cursor_behind(w->o->after, e->path))
		r = w->fn(w->ctx, e);
	return r == 0 ? check_depth(w, e) : r;
}

static int file_walk_enter(void *ctx, const struct tree_entry *e, int fd)
{
	struct file_walk *w = ctx;
	const char *rest = cursor_behind(w->o->after, e->path);

	/* The start itself is entered: the caller named it. */
	if (e->depth && fs_is_pseudo(fd))
		return 1;
	/* too many rules to keep: shows nothing of it rather than too much */
	if (w->ignore && ignore_enter(w->ignore, fd, path_from_root(w, e->whole)) < 0)
		return 1;
	w->least = rest ? (struct slice){ rest, strcspn(rest, "/") } : SLICE("");
	return 0;
}

static void file_walk_leave(void *ctx)
{
	struct file_walk *w = ctx;

	if (w->ignore)
		ignore_pop(w->ignore);
}

/* What cannot be read is not there. */
static int file_walk_on_trouble(void *ctx, const struct tree_entry *e _unused_,
				enum walk_trouble what, int error)
{
	const struct file_walk *w = ctx;

	if (what == WALK_CANNOT_READ && error == -ENOMEM)
		abort();
	return what == WALK_CANNOT_OPEN && w->o->denied && error != -ENOENT ? error : 0;
}

static void ignore_freep(struct ignore **ig)
{
	if (*ig)
		ignore_free(*ig);
}

int file_walk_below(struct builtin_call *c, const struct tool_path *start,
		    const struct file_walk_options *o, file_walk_fn fn, void *ctx, struct err *e)
{
	static const struct walk_calls calls = { file_walk_wants_name, file_walk_visit,
						 file_walk_enter, file_walk_leave,
						 file_walk_on_trouble };
	_cleanup_(ignore_freep) struct ignore *ig = o->gitignore ? ignore_new() : NULL;
	_cleanup_(closep) int dir = tool_path_open_dir(start, tool_path_shown(c, start->real), e);
	struct file_walk w = { .call = c, .o = o, .fn = fn, .ctx = ctx, .ignore = ig };

	if (dir < 0)
		return dir;
	if (ig && ignore_above(&w, start->real) < 0)
		return err_set(e, -E2BIG, 0, "TOO_LARGE",
			       "the .gitignore files above are too large");
	return tree_walker_run(dir, start->real, &calls, &w);
}
