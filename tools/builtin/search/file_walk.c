#include "tools/builtin/search/file_walk.h"

#include "base/buf.h"
#include "base/os/file.h"
#include "base/limits.h"
#include "base/util.h"
#include "tools/builtin/core/tool.h"
#include "tools/builtin/core/toolbox.h"
#include "tree/dir_names.h"
#include "tree/ignore.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/vfs.h>

#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)

struct file_walk {
	struct builtin_call *call;
	const struct file_walk_options *o;
	file_walk_fn fn;
	void *ctx;
	struct ignore *ignore; /* NULL: not asked for */
	struct buf real;       /* of what is being looked at, NUL-terminated behind len */
	size_t start,
		top; /* where in real the path from the beginning begins; the same from the root, for ignore */
};

/* Of the names of a directory. */
struct choice_of_names {
	bool no_hidden;
	const char *least; /* a component of a cursor: none before it */
};

static int want_name(void *ctx, const char *name)
{
	const struct choice_of_names *c = ctx;

	return (name[0] != '.' || !c->no_hidden) && strcmp(name, c->least) >= 0;
}

/* What cannot be read is not there. */
static void names_read(int dir, bool no_hidden, struct slice from, struct dir_names *ret)
{
	_cleanup_(freep) char *least = xstrndup(from.p, from.n);
	struct choice_of_names choice = { no_hidden, least };

	if (dir_names_read(dir, want_name, &choice, ret) == -ENOMEM)
		abort();
}

int file_walk_open(int dir, const char *name, struct stat *sb)
{
	_cleanup_(closep) int held = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	char link[40];
	struct stat own;
	int fd;

	if (held < 0 || fstat(held, sb ? sb : &own) < 0)
		return -errno;
	if (!S_ISREG((sb ? sb : &own)->st_mode))
		return -EINVAL;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", held);
	fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

/* --- what is left out ------------------------------------------------------------------------------------------- */

static int ignore_enter(struct ignore *ig, int dir, const char *path)
{
	_cleanup_(buf_done) struct buf text = { .max = IGNORE_FILE_MAX + 4096 };
	_cleanup_(closep) int fd = file_walk_open(dir, ".gitignore", NULL);

	if (fd >= 0 && file_read_fd(fd, IGNORE_FILE_MAX, &text) < 0)
		buf_reset(&text);
	return ignore_push(ig, path, buf_slice(&text));
}

/* The directories from the root down to where the walk begins, which have a say, too. */
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

static bool pseudo(int fd)
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

static bool left_out(struct file_walk *w, const struct file_walk_entry *e)
{
	bool is_dir = S_ISDIR(e->sb.st_mode);

	if (w->ignore &&
	    (strcmp(e->name, ".git") == 0 || ignore_match(w->ignore, e->real + w->top, is_dir)))
		return true;
	return !w->o->denied && tool_path_judge(w->call, e->real,
						is_dir ? TOOL_PATH_STAT : TOOL_PATH_READ, NULL) < 0;
}

/* --- walking ------------------------------------------------------------------------------------------------------ */

static int walk_dir(struct file_walk *w, int dir, unsigned depth, const char *after);

static int walk_into(struct file_walk *w, const struct file_walk_entry *e, const char *after)
{
	_cleanup_(closep) int fd = -1;

	if (w->o->depth && e->depth >= w->o->depth)
		return 0;
	if (e->depth >= PATH_DEPTH_MAX)
		return w->o->denied ? -ELOOP : 0;
	fd = openat(e->dir, e->name, DIR_FLAGS);
	if (fd < 0 && w->o->denied && errno != ENOENT)
		return -errno;
	if (fd < 0 || pseudo(fd))
		return 0;
	return walk_dir(w, fd, e->depth + 1, after);
}

/* A component that a cursor may go through, and its rest. */
static bool on_the_way(const char *name, const char *after, const char **rest)
{
	size_t n = after ? strcspn(after, "/") : 0;

	if (!after || strlen(name) != n || memcmp(name, after, n) != 0)
		return false;
	*rest = after[n] ? after + n + 1 : NULL;
	return true;
}

static int file_walk_one(struct file_walk *w, int dir, const char *name, unsigned depth,
			 const char *after)
{
	struct file_walk_entry e = { .name = name, .dir = dir, .depth = depth };
	const char *rest = NULL;
	bool seen = on_the_way(name, after, &rest);
	int r = 0;

	if (fstatat(dir, name, &e.sb, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	e.real = w->real.data;
	e.path = w->real.data + w->start;
	if (left_out(w, &e))
		return 0;
	if (!seen)
		r = w->fn(w->ctx, &e);
	if (r == 0 && S_ISDIR(e.sb.st_mode))
		r = walk_into(w, &e, seen ? rest : NULL);
	return r < 0 ? r : 0;
}

static int walk_names(struct file_walk *w, int dir, unsigned depth, const struct dir_names *l,
		      const char *after)
{
	size_t before = w->real.len;
	int r = 0;

	for (size_t i = 0; i < l->n && r == 0; i++) {
		if (tool_cancelled(w->call))
			return -ECANCELED;
		if (before > 1)
			buf_putc(&w->real, '/');
		buf_puts(&w->real, dir_names_at(l, i));
		if (buf_putc(&w->real, '\0') < 0)
			return -ENOMEM;
		w->real.len--;
		if (w->real.len <= PATH_BYTES_MAX)
			r = file_walk_one(w, dir, dir_names_at(l, i), depth, after);
		w->real.len = before;
	}
	w->real.data[before] = '\0';
	return r;
}

static int walk_dir(struct file_walk *w, int dir, unsigned depth, const char *after)
{
	_cleanup_(dir_names_done) struct dir_names l = { .text.max = UINT32_MAX };
	const char *path = w->real.len > w->top ? w->real.data + w->top : "";
	int r;

	if (w->ignore && ignore_enter(w->ignore, dir, path) < 0)
		return 0; /* more rules than anybody keeps: nothing of it is shown rather than too much */
	names_read(dir, w->o->no_hidden, (struct slice){ after, after ? strcspn(after, "/") : 0 },
		   &l);
	r = walk_names(w, dir, depth, &l, after);
	if (w->ignore)
		ignore_pop(w->ignore);
	return r;
}

static void ignore_freep(struct ignore **ig)
{
	if (*ig)
		ignore_free(*ig);
}

int file_walk_below(struct builtin_call *c, const struct tool_path *start,
		    const struct file_walk_options *o, file_walk_fn fn, void *ctx, struct err *e)
{
	_cleanup_(ignore_freep) struct ignore *ig = o->gitignore ? ignore_new() : NULL;
	_cleanup_(closep) int dir = tool_path_open_dir(start, tool_path_shown(c, start->real), e);
	struct file_walk w = { .call = c, .o = o, .fn = fn, .ctx = ctx, .ignore = ig };
	int r;

	if (dir < 0)
		return dir;
	buf_puts(&w.real, start->real);
	buf_putc(&w.real, '\0');
	w.real.len--;
	w.start = w.real.len > 1 ? w.real.len + 1 : 1;
	if (ig && ignore_above(&w, start->real) < 0) {
		buf_done(&w.real);
		return err_set(e, -E2BIG, 0, "TOO_LARGE",
			       "the .gitignore files above are too large");
	}
	r = walk_dir(&w, dir, 1, o->after);
	buf_done(&w.real);
	return r;
}
