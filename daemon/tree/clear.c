/*
 * clear.c - removes trees that others have made: the functions held_remove_at and held_empty of held_tree.h.
 *
 * It does not use tree_walker.h: a removal has no bound of depth, changes modes to get in, and moves directories up
 * when it is too deep. The maker of the tree may still add to it, so a directory is read again until it is empty.
 */
#include "tree/held_tree.h"

#include "base/util.h"
#include "tree/path_rules.h"

#include <fcntl.h>

/* A directory that is being emptied. */
struct clear_level {
	DIR *d;
	char name[NAME_BYTES_MAX + 1]; /* in the level above */
	bool again; /* something was moved into it, perhaps before the place where it is read */
};

/* At any depth of the tree, at most CLEAR_LEVELS directories are open: at the deepest level, directories are moved up
 * beside the one they are in. */
struct clearing {
	int base; /* the directory that the first level is in; -1: the first level stays */
	struct clear_level levels[CLEAR_LEVELS];
	unsigned n;
	unsigned long moved;
	int first; /* the first failure */
};

static void clear_failed(struct clearing *c, int error)
{
	if (c->first == 0)
		c->first = error;
}

/* chmod without following a link: a directory is removed even if its mode keeps its owner out. */
static int clear_make_passable(int dir, const char *name)
{
	_cleanup_(closep) int fd = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	return fchmodat(AT_FDCWD, SHORT_TEXT(32, "/proc/self/fd/%d", fd), 0700, 0) < 0 ? -errno : 0;
}

static int clear_open_level(int dir, const char *name)
{
	int fd = held_open_dir_at(dir, name);

	return fd == -EACCES && clear_make_passable(dir, name) == 0 ? held_open_dir_at(dir, name) :
								      fd;
}

/* Owns fd. */
static int clear_push_fd(struct clearing *c, int fd, const char *name)
{
	struct clear_level *l = &c->levels[c->n];
	DIR *d;

	/* to remove its entries; if this fails, the removal reports it */
	(void)fchmod(fd, 0700);
	d = fdopendir(fd);
	if (!d) {
		close(fd);
		return -ENOMEM;
	}
	*l = (struct clear_level){ .d = d };
	snprintf(l->name, sizeof(l->name), "%s", name);
	c->n++;
	return 0;
}

/* Missing is success. */
static int clear_push(struct clearing *c, int dir, const char *name)
{
	struct stat above, sb;
	int fd = clear_open_level(dir, name);

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	if (fstat(dir, &above) < 0 || fstat(fd, &sb) < 0 || above.st_dev != sb.st_dev) {
		close(fd); /* mounted there: not ours to empty */
		return -EXDEV;
	}
	return clear_push_fd(c, fd, name);
}

static int clear_move_up(struct clearing *c, const char *name)
{
	int from = dirfd(c->levels[c->n - 1].d), to = dirfd(c->levels[c->n - 2].d), r = -EEXIST;
	char fresh[64];

	for (int i = 0; i < 1000 && (r == -EEXIST || r == -ENOTEMPTY); i++) {
		snprintf(fresh, sizeof(fresh), ".acpd-removed-%lu", c->moved++);
		r = renameat(from, name, to, fresh) < 0 ? -errno : 0;
		if (r == -EACCES && clear_make_passable(from, name) == 0)
			r = renameat(from, name, to, fresh) < 0 ? -errno : 0;
	}
	c->levels[c->n - 2].again |= r == 0;
	return r;
}

/* kind: DT_ of readdir, a hint that saves a call. */
/* unlink first, without a stat: most entries are files, and a directory that took the place of one since is not followed. */
static int clear_entry(struct clearing *c, const char *name, unsigned char kind)
{
	int dir = dirfd(c->levels[c->n - 1].d), error = -EISDIR;

	if (kind != DT_DIR) {
		if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
			return 0;
		error = -errno;
		if (error != -EISDIR && error != -EPERM)
			return error;
	}
	if (unlinkat(dir, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
		return 0;
	if (errno == ENOTDIR)
		return kind == DT_DIR ? clear_entry(c, name, DT_UNKNOWN) : error;
	return c->n < CLEAR_LEVELS ? clear_push(c, dir, name) : clear_move_up(c, name);
}

/* The newest level has been read to its end. */
static void clear_pop(struct clearing *c)
{
	struct clear_level *l = &c->levels[c->n - 1];
	int above = c->n > 1 ? dirfd(c->levels[c->n - 2].d) : c->base;

	if (l->again) {
		l->again = false;
		rewinddir(l->d);
		return;
	}
	closedir(l->d);
	c->n--;
	if (above >= 0 && unlinkat(above, l->name, AT_REMOVEDIR) < 0 && errno != ENOENT)
		clear_failed(c, -errno);
}

static int clear_all(struct clearing *c)
{
	while (c->n) {
		struct clear_level *l = &c->levels[c->n - 1];
		struct dirent *e = readdir(l->d);
		int r;

		if (!e) {
			clear_pop(c);
			continue;
		}
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		r = clear_entry(c, e->d_name, e->d_type);
		if (r < 0)
			clear_failed(c, r);
	}
	return c->first;
}

int held_remove_at(int dir, const char *name)
{
	_cleanup_(freep) struct clearing *c = new0(struct clearing);
	int r;

	if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
		return 0;
	r = errno == EISDIR || errno == EPERM ? 0 : -errno;
	c->base = dir;
	if (r == 0)
		r = clear_push(c, dir, name);
	return r < 0 ? r : clear_all(c);
}

int held_empty(int dir)
{
	_cleanup_(freep) struct clearing *c = new0(struct clearing);
	int fd = held_open_dir_at(dir, "."), r;

	c->base = -1;
	r = fd < 0 ? fd : clear_push_fd(c, fd, "");
	return r < 0 ? r : clear_all(c);
}
