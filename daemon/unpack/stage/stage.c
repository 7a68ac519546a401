/*
 * stage.c - writes the planned tree below the stage directory, by descriptor and single name.
 *
 * The stage belongs to the tree's user, who could change it during the job. So files are created
 * with O_EXCL and never through a link, and a hard link is checked after it was made. Parents are
 * created on demand, since archives need not list them. A descriptor of held_tree.h can be evicted
 * by the next call; an operation with two directories duplicates the first one.
 */
#include "unpack/stage/stage.h"

#include "base/os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/statvfs.h>

void stage_init(struct stage *s, int tree)
{
	held_init(&s->h, tree);
	s->file = -1;
}

void stage_done(struct stage *s)
{
	closep(&s->file);
	held_done(&s->h);
}

/* --- directories --------------------------------------------------------------------------------------- */

static int make_one(struct stage *s, const char *path, mode_t mode)
{
	const char *leaf;
	int dir = held_parent(&s->h, path, &leaf);

	if (dir < 0)
		return dir;
	return mkdirat(dir, leaf, mode) < 0 ? -errno : 0;
}

/* The directories above path. */
static int make_above(struct stage *s, const char *path)
{
	int r = 0;

	for (const char *p = strchr(path, '/'); p && r == 0; p = strchr(p + 1, '/')) {
		_cleanup_(freep) char *part = xstrndup(path, (size_t)(p - path));

		r = make_one(s, part, 0755);
		if (r == -EEXIST)
			r = 0;
	}
	return r;
}

static int on_dir(void *ctx, const char *path, mode_t mode)
{
	struct stage *s = ctx;
	int r, fd;

	if (*path) {
		r = make_one(s, path, mode);
		if (r == -ENOENT && make_above(s, path) == 0)
			r = make_one(s, path, mode);
		if (r != -EEXIST)
			return r;
	}
	fd = held_dir(&s->h, slice_of(path));
	if (fd < 0)
		return fd;
	return fchmod(fd, mode) < 0 ? -errno : 0;
}

static int set_times(int fd, int64_t mtime)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = mtime } };

	return futimens(fd, times) < 0 ? -errno : 0;
}

static int on_touch(void *ctx, const char *path, int64_t mtime)
{
	struct stage *s = ctx;
	int fd = held_dir(&s->h, slice_of(path));

	return fd < 0 ? fd : set_times(fd, mtime);
}

/* --- files ----------------------------------------------------------------------------------------------- */

static int on_create(void *ctx, const char *path, mode_t mode)
{
	struct stage *s = ctx;
	int fd = held_create(&s->h, path, mode);

	if (fd == -ENOENT) {
		fd = make_above(s, path);
		if (fd == 0)
			fd = held_create(&s->h, path, mode);
	}
	if (fd < 0)
		return fd;
	s->file = fd;
	s->hole = false;
	return 0;
}

static int on_write(void *ctx, const void *p, size_t n)
{
	struct stage *s = ctx;

	s->hole = false;
	return file_write_all(s->file, p, n);
}

static int on_hole(void *ctx, uint64_t n)
{
	struct stage *s = ctx;

	s->hole = s->hole || n > 0;
	return lseek(s->file, (off_t)n, SEEK_CUR) < 0 ? -errno : 0;
}

static int on_finish(void *ctx, uint64_t size, int64_t mtime, struct stat *sb)
{
	struct stage *s = ctx;
	_cleanup_(closep) int fd = TAKE_FD(s->file);

	/* The time last: writes and ftruncate would change it. */
	int r = s->hole && ftruncate(fd, (off_t)size) < 0 ? -errno : set_times(fd, mtime);

	return r == 0 && sb && fstat(fd, sb) < 0 ? -errno : r;
}

static int on_remove(void *ctx, const char *path)
{
	struct stage *s = ctx;
	const char *leaf;
	int dir = held_parent(&s->h, path, &leaf);

	if (dir < 0)
		return dir;
	return unlinkat(dir, leaf, 0) < 0 ? -errno : 0;
}

static int on_rmdir(void *ctx, const char *path)
{
	struct stage *s = ctx;
	const char *leaf;
	int dir = held_parent(&s->h, path, &leaf);

	held_forget(&s->h, path);
	if (dir < 0)
		return dir;
	return unlinkat(dir, leaf, AT_REMOVEDIR) < 0 ? -errno : 0;
}

/* The directory that holds path, for as long as the caller likes: the next call of held_parent may give its slot
 * away. */
static int own_parent(struct stage *s, const char *path, const char **leaf)
{
	int dir = held_parent(&s->h, path, leaf), fd;

	if (dir < 0)
		return dir;
	fd = fcntl(dir, F_DUPFD_CLOEXEC, 0);
	return fd < 0 ? -errno : fd;
}

static int on_move(void *ctx, const char *from, const char *path)
{
	struct stage *s = ctx;
	const char *leaf, *from_leaf;
	_cleanup_(closep) int there = own_parent(s, from, &from_leaf);
	int dir;

	if (there < 0)
		return there;
	held_forget(&s->h, from);
	dir = held_parent(&s->h, path, &leaf);
	if (dir < 0)
		return dir;
	return renameat2(there, from_leaf, dir, leaf, RENAME_NOREPLACE) < 0 ? -errno : 0;
}

/* --- links ------------------------------------------------------------------------------------------------ */

/* Makes the directories above path if they are missing, and returns the one that holds it. */
static int parent_of(struct stage *s, const char *path, const char **leaf)
{
	int dir = held_parent(&s->h, path, leaf);

	if (dir != -ENOENT)
		return dir;
	dir = make_above(s, path);
	return dir < 0 ? dir : held_parent(&s->h, path, leaf);
}

static int on_hard(void *ctx, const char *from, const char *path)
{
	struct stage *s = ctx;
	const char *leaf, *from_leaf;
	_cleanup_(closep) int to = -1;
	struct stat sb;
	int dir = parent_of(s, path, &leaf);

	if (dir < 0)
		return dir;
	to = fcntl(dir, F_DUPFD_CLOEXEC, 0); /* the next call may give the slot away */
	if (to < 0)
		return -errno;
	dir = held_parent(&s->h, from, &from_leaf);
	if (dir < 0)
		return dir;
	if (linkat(dir, from_leaf, to, leaf, 0) < 0 ||
	    fstatat(to, leaf, &sb, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	return S_ISREG(sb.st_mode) ? 0 : -ELOOP; /* something else was put in its place */
}

static int on_symlink(void *ctx, const char *path, const char *target)
{
	struct stage *s = ctx;
	const char *leaf;
	int dir = parent_of(s, path, &leaf);

	if (dir < 0)
		return dir;
	return symlinkat(target, dir, leaf) < 0 ? -errno : 0;
}

static int on_room(void *ctx, uint64_t bytes)
{
	struct stage *s = ctx;
	struct statvfs fs;

	if (fstatvfs(s->h.root, &fs) < 0)
		return 0;
	return fs.f_bavail * fs.f_frsize < bytes ? -ENOSPC : 0;
}

struct stage_sink stage_writer(struct stage *s)
{
	static const struct stage_writer_ops ops = {
		.reserve = on_room,
		.dir = on_dir,
		.create = on_create,
		.write = on_write,
		.hole = on_hole,
		.finish = on_finish,
		.hard = on_hard,
		.symlink = on_symlink,
		.remove = on_remove,
		.touch = on_touch,
		.move = on_move,
		.rmdir = on_rmdir,
	};

	return (struct stage_sink){ &ops, s };
}
