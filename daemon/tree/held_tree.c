/*
 * held_tree.c - opens directories of an untrusted tree by openat2(2), and caches their descriptors.
 *
 * The directories opened last are kept open (HELD_DIRS of them), because archives are sorted by directory. A held
 * directory stays the same directory when it is moved. What is then written into it lands where its mover could have
 * written himself.
 *
 * Another process can rename and replace entries at any time. So every operation starts from a
 * descriptor and uses one name at a time, with O_NOFOLLOW. openat2 has existed since Linux 5.6. On
 * older kernels, or where a seccomp filter answers EPERM, each component is opened in turn and its
 * st_dev compared with the root's. A bind mount of the same file system is visible to openat2 only.
 *
 * The cache is an LRU of HELD_DIRS descriptors. A returned directory descriptor is valid until the
 * next call, which can evict it.
 */
#include "tree/held_tree.h"

#include "base/util.h"
#include "tree/tree_walker.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <time.h>

#define LOCK_PAUSE_MS 10
#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)

void held_init(struct held *h, int root)
{
	*h = (struct held){ .root = root };
}

static void held_drop(struct held_dir *d)
{
	if (!d->path)
		return;
	close(d->fd);
	free(TAKE_PTR(d->path));
}

void held_done(struct held *h)
{
	for (size_t i = 0; i < HELD_DIRS; i++)
		held_drop(&h->dirs[i]);
}

void held_forget(struct held *h, const char *path)
{
	size_t n = strlen(path);

	for (size_t i = 0; i < HELD_DIRS; i++) {
		struct held_dir *d = &h->dirs[i];

		if (d->path && d->n >= n && memcmp(d->path, path, n) == 0 &&
		    (d->path[n] == '/' || d->path[n] == '\0'))
			held_drop(d);
	}
}

int held_open_dir_at(int dir, const char *name)
{
	int fd = openat(dir, name, DIR_FLAGS);

	return fd < 0 ? -errno : fd;
}

/* --- opening a directory ------------------------------------------------------------------------------ */

/* Before Linux 5.8 a mount has no number: then a bind mount of the same file system counts as the same. */
static bool same_mount(int a, int b)
{
	struct statx sa, sb;

	if (statx(a, "", AT_EMPTY_PATH, STATX_MNT_ID, &sa) < 0 ||
	    statx(b, "", AT_EMPTY_PATH, STATX_MNT_ID, &sb) < 0)
		return false;
	if (sa.stx_mask & sb.stx_mask & STATX_MNT_ID)
		return sa.stx_mnt_id == sb.stx_mnt_id;
	return sa.stx_dev_major == sb.stx_dev_major && sa.stx_dev_minor == sb.stx_dev_minor;
}

static int held_open_by_steps(int root, const char *path)
{
	_cleanup_(closep) int fd = fcntl(root, F_DUPFD_CLOEXEC, 0);
	char name[256];

	while (fd >= 0 && *path) {
		size_t n = strcspn(path, "/");
		int next;

		if (n >= sizeof(name))
			return -ENAMETOOLONG;
		memcpy(name, path, n);
		name[n] = '\0';
		next = held_open_dir_at(fd, name);
		if (next < 0)
			return next;
		close(fd);
		fd = next;
		if (!same_mount(root, fd))
			return -EXDEV;
		path += n + (path[n] == '/');
	}
	return fd < 0 ? -errno : TAKE_FD(fd);
}

static int held_open_beneath(int root, const char *path)
{
	struct open_how how = {
		.flags = DIR_FLAGS,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS |
			   RESOLVE_NO_XDEV,
	};
	long fd;

	do
		fd = syscall(SYS_openat2, root, path, &how, sizeof(how));
	while (fd < 0 && errno == EAGAIN); /* another process renames below the root */
	if (fd >= 0)
		return (int)fd;
	/* Older kernels, and filters of containers that do not know it. */
	return errno == ENOSYS || errno == EPERM ? held_open_by_steps(root, path) : -errno;
}

/* A free slot counts as the oldest. */
static struct held_dir *held_oldest(struct held *h)
{
	struct held_dir *found = &h->dirs[0];

	for (size_t i = 1; i < HELD_DIRS && found->path; i++)
		if (!h->dirs[i].path || h->dirs[i].used < found->used)
			found = &h->dirs[i];
	return found;
}

int held_dir(struct held *h, struct slice path)
{
	_cleanup_(freep) char *text = NULL;
	struct held_dir *d;
	int fd;

	if (!path.n)
		return h->root;
	for (size_t i = 0; i < HELD_DIRS; i++) {
		d = &h->dirs[i];
		if (d->path && d->n == path.n && memcmp(d->path, path.p, path.n) == 0) {
			d->used = ++h->clock;
			return d->fd;
		}
	}
	text = xstrndup(path.p, path.n);
	fd = held_open_beneath(h->root, text);
	if (fd < 0)
		return fd;
	d = held_oldest(h);
	held_drop(d);
	*d = (struct held_dir){ TAKE_PTR(text), path.n, fd, ++h->clock };
	return fd;
}

/* No path has a trailing slash (path_rules.h), so the leaf is never empty. */
int held_parent(struct held *h, const char *path, const char **leaf)
{
	const char *slash = strrchr(path, '/');

	*leaf = slash ? slash + 1 : path;
	return held_dir(h, (struct slice){ path, slash ? (size_t)(slash - path) : 0 });
}

/* --- making and opening ------------------------------------------------------------------------------- */

/* Makes a system call, which uses dir and leaf, on the directory that holds path. */
#define HELD_AT(h, path, call)                                                                     \
	({                                                                                         \
		const char *leaf;                                                                  \
		int dir = held_parent(h, path, &leaf);                                             \
		dir < 0 ? dir : (call) < 0 ? -errno : 0;                                           \
	})

int held_mkdir(struct held *h, const char *path, mode_t mode)
{
	return HELD_AT(h, path, mkdirat(dir, leaf, mode));
}

int held_unlink(struct held *h, const char *path, int flags)
{
	return HELD_AT(h, path, unlinkat(dir, leaf, flags));
}

int held_symlink(struct held *h, const char *path, const char *target)
{
	return HELD_AT(h, path, symlinkat(target, dir, leaf));
}

int held_chmod(struct held *h, const char *path, mode_t mode)
{
	int fd = held_dir(h, slice_of(path));

	if (fd < 0)
		return fd;
	return fchmod(fd, mode) < 0 ? -errno : 0;
}

ssize_t held_readlink(struct held *h, const char *path, char *target, size_t size)
{
	const char *leaf;
	int dir = held_parent(h, path, &leaf);
	ssize_t n = dir < 0 ? dir : readlinkat(dir, leaf, target, size);

	return n < 0 && dir >= 0 ? -errno : n;
}

int held_parent_made(struct held *h, const char *path, mode_t mode, const char **leaf)
{
	int dir = held_parent(h, path, leaf);

	for (const char *p = path; dir == -ENOENT && (p = strchr(p, '/')); p++) {
		_cleanup_(freep) char *above = xstrndup(path, (size_t)(p - path));
		int r = held_mkdir(h, above, mode);

		if (r < 0 && r != -EEXIST)
			return r;
	}
	return dir == -ENOENT ? held_parent(h, path, leaf) : dir;
}

int held_create(struct held *h, const char *path, mode_t mode)
{
	const char *leaf;
	int dir = held_parent(h, path, &leaf), fd;

	if (dir < 0)
		return dir;
	fd = openat(dir, leaf, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	return fd < 0 ? -errno : fd;
}

int held_open(struct held *h, const char *path, struct stat *sb)
{
	_cleanup_(closep) int fd = -1;
	struct stat own;
	const char *leaf;
	int dir = held_parent(h, path, &leaf);

	if (dir < 0)
		return dir;
	/* O_NONBLOCK: a FIFO in its place must not block us */
	fd = openat(dir, leaf, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, sb ? sb : &own) < 0)
		return -errno;
	return S_ISREG((sb ? sb : &own)->st_mode) ? TAKE_FD(fd) : -EINVAL;
}

int held_stat(struct held *h, const char *path, struct stat *sb)
{
	return HELD_AT(h, path, fstatat(dir, leaf, sb, AT_SYMLINK_NOFOLLOW));
}

/* --- one directory ------------------------------------------------------------------------------------ */

DIR *held_list(int dir)
{
	int fd = openat(dir, ".", DIR_FLAGS);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (fd >= 0 && !d)
		close(fd);
	return d;
}

int held_lock(int fd, unsigned ms)
{
	struct timespec pause = { .tv_nsec = LOCK_PAUSE_MS * 1000000L };
	int r = flock(fd, LOCK_EX | LOCK_NB);

	for (unsigned i = 0; r < 0 && errno == EWOULDBLOCK && i < ms / LOCK_PAUSE_MS; i++) {
		nanosleep(&pause, NULL);
		r = flock(fd, LOCK_EX | LOCK_NB);
	}
	return r < 0 ? -errno : 0;
}

/* --- everything below it ------------------------------------------------------------------------------ */

struct held_visit {
	held_visit_fn visit;
	void *ctx;
	dev_t device;
};

static int held_on_visit(void *ctx, const struct tree_entry *e)
{
	struct held_visit *v = ctx;
	int r = v->visit(v->ctx, e->path, e->dir, e->leaf, &e->sb);

	return r == 0 ? e->sb.st_dev != v->device : r;
}

static int held_on_trouble(void *ctx _unused_, const struct tree_entry *e _unused_,
			   enum walk_trouble what, int error)
{
	return walk_gone(what, error) ? 0 : error;
}

int held_walk(int dir, held_visit_fn fn, void *ctx)
{
	static const struct walk_calls calls = { .visit = held_on_visit,
						 .trouble = held_on_trouble };
	struct held_visit v = { .visit = fn, .ctx = ctx };
	struct stat sb;

	if (fstat(dir, &sb) < 0)
		return -errno;
	v.device = sb.st_dev;
	return tree_walker_run(dir, "", &calls, &v);
}
