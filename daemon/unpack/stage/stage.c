/*
 * stage.c - writes the planned tree below the stage directory, by descriptor and single name.
 *
 * The writer that makes a plan's tree below a held directory (tree/held_tree.h). Nothing is named by a path
 * that leads through a link; files are made exclusively, with their final mode; directories that no entry names get
 * 0755. The process's umask is 0.
 *
 * The stage belongs to the tree's user, who could change it during the job. So files are created
 * with O_EXCL and never through a link, and a hard link is checked after it was made. Parents are
 * created on demand, since archives need not list them. A descriptor of held_tree.h can be evicted
 * by the next call; an operation with two directories duplicates the first one.
 */
#include "unpack/stage/stage_plan.h"

#include "base/os/file.h"

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

static int stage_make_above(struct stage *s, const char *path)
{
	const char *leaf;

	return MIN(held_parent_made(&s->h, path, 0755, &leaf), 0);
}

static int stage_on_dir(void *ctx, const char *path, mode_t mode)
{
	struct stage *s = ctx;
	int r = -EEXIST;

	if (*path)
		r = stage_make_above(s, path);
	if (r == 0)
		r = held_mkdir(&s->h, path, mode);
	return r == -EEXIST ? held_chmod(&s->h, path, mode) : r;
}

static int stage_set_times(int fd, int64_t mtime)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = mtime } };

	return futimens(fd, times) < 0 ? -errno : 0;
}

static int stage_on_touch(void *ctx, const char *path, int64_t mtime)
{
	struct stage *s = ctx;
	int fd = held_dir(&s->h, slice_of(path));

	return fd < 0 ? fd : stage_set_times(fd, mtime);
}

/* --- files ----------------------------------------------------------------------------------------------- */

static int stage_on_create(void *ctx, const char *path, mode_t mode)
{
	struct stage *s = ctx;
	int fd = stage_make_above(s, path);

	if (fd == 0)
		fd = held_create(&s->h, path, mode);
	if (fd < 0)
		return fd;
	s->file = fd;
	s->hole = false;
	return 0;
}

static int stage_on_write(void *ctx, const void *p, size_t n)
{
	struct stage *s = ctx;

	s->hole = false;
	return file_write_all(s->file, p, n);
}

static int stage_on_hole(void *ctx, uint64_t n)
{
	struct stage *s = ctx;

	s->hole = s->hole || n > 0;
	return lseek(s->file, (off_t)n, SEEK_CUR) < 0 ? -errno : 0;
}

static int stage_on_finish(void *ctx, uint64_t size, int64_t mtime, struct stat *sb)
{
	struct stage *s = ctx;
	_cleanup_(closep) int fd = TAKE_FD(s->file);

	/* The time last: writes and ftruncate would change it. */
	int r = s->hole && ftruncate(fd, (off_t)size) < 0 ? -errno : stage_set_times(fd, mtime);

	return r == 0 && sb && fstat(fd, sb) < 0 ? -errno : r;
}

static int stage_on_remove(void *ctx, const char *path)
{
	struct stage *s = ctx;

	return held_unlink(&s->h, path, 0);
}

static int stage_on_rmdir(void *ctx, const char *path)
{
	struct stage *s = ctx;

	held_forget(&s->h, path);
	return held_unlink(&s->h, path, AT_REMOVEDIR);
}

/* The directory that holds path, for as long as the caller likes: the next call of held_parent may give its slot
 * away. */
static int stage_own_parent(struct stage *s, const char *path, const char **leaf)
{
	int dir = held_parent(&s->h, path, leaf), fd;

	if (dir < 0)
		return dir;
	fd = fcntl(dir, F_DUPFD_CLOEXEC, 0);
	return fd < 0 ? -errno : fd;
}

static int stage_on_move(void *ctx, const char *from, const char *path)
{
	struct stage *s = ctx;
	const char *leaf, *from_leaf;
	_cleanup_(closep) int there = stage_own_parent(s, from, &from_leaf);
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

static int stage_on_hard(void *ctx, const char *from, const char *path)
{
	struct stage *s = ctx;
	const char *leaf, *from_leaf;
	_cleanup_(closep) int there = stage_own_parent(s, from, &from_leaf);
	struct stat sb;
	int dir = there < 0 ? there : held_parent_made(&s->h, path, 0755, &leaf);

	if (dir < 0)
		return dir;
	if (linkat(there, from_leaf, dir, leaf, 0) < 0 ||
	    fstatat(dir, leaf, &sb, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	return S_ISREG(sb.st_mode) ? 0 : -ELOOP; /* something else was put in its place */
}

static int stage_on_symlink(void *ctx, const char *path, const char *target)
{
	struct stage *s = ctx;
	int r = stage_make_above(s, path);

	return r < 0 ? r : held_symlink(&s->h, path, target);
}

static int stage_on_room(void *ctx, uint64_t bytes)
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
		.reserve = stage_on_room,
		.dir = stage_on_dir,
		.create = stage_on_create,
		.write = stage_on_write,
		.hole = stage_on_hole,
		.finish = stage_on_finish,
		.hard = stage_on_hard,
		.symlink = stage_on_symlink,
		.remove = stage_on_remove,
		.touch = stage_on_touch,
		.move = stage_on_move,
		.rmdir = stage_on_rmdir,
	};

	return (struct stage_sink){ &ops, s };
}
