/*
 * atomic_write.c - replaces a file by one rename, or creates it by one link, when its content is
 * complete.
 *
 * The content is written to an O_TMPFILE inode, or to a temporary name where the file system has
 * none. Mode, owner and time are set before the inode gets its name. A new file is linked, because
 * link(2) fails if the name exists and rename(2) replaces it. Programs without the lock may write,
 * too, so the old file is compared once more, directly before.
 */
#include "tools/builtin/files/write_lock.h"

#include "base/clock.h"
#include "base/os/file.h"
#include "tools/builtin/core/toolbox.h"

#define STORE_TICK_NS 100000000 /* a clock ticks more often */

int atomic_write_check(const struct tool_path_entry *at, const char *path, struct stat *ret,
		       struct err *e)
{
	*ret = (struct stat){ 0 };
	if (at->is_root)
		return tool_errno(e, EISDIR, "cannot write", path);
	if (at->dir < 0) /* a dry run whose directory is not there yet */
		return 0;
	if (fstatat(at->dir, at->leaf, ret, AT_SYMLINK_NOFOLLOW) < 0) {
		*ret = (struct stat){ 0 };
		return errno == ENOENT ? 0 : tool_errno(e, errno, "cannot write", path);
	}
	if (S_ISDIR(ret->st_mode))
		return tool_errno(e, EISDIR, "cannot write", path);
	if (S_ISLNK(ret->st_mode))
		return tool_errno(e, ELOOP, "cannot write", path);
	if (!S_ISREG(ret->st_mode))
		return err_field(e, "path", "NOT_A_FILE", "%.120s is no regular file", path);
	/* A rename needs no right to the file itself, so that is asked for here. */
	if (faccessat(at->dir, at->leaf, W_OK, AT_EACCESS) < 0)
		return tool_errno(e, errno, "cannot write", path);
	return 0;
}

bool atomic_write_same(const struct stat *a, const struct stat *b)
{
	/* The change time counts too: a program can set the modification time back, but not the
	 * change time (utimensat(2)). */
	return a->st_nlink && b->st_nlink && a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
	       a->st_size == b->st_size && time_ns(&a->st_mtim) == time_ns(&b->st_mtim) &&
	       time_ns(&a->st_ctim) == time_ns(&b->st_ctim);
}

/* A file system stores times by ticks of a clock. A new version within one tick would have the
 * time of the old one, so its time is set one nanosecond later. */
void atomic_write_date(int fd, const struct stat *old)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, old->st_mtim };
	struct stat now;
	int64_t behind;

	if (!old->st_nlink || fstat(fd, &now) < 0)
		return;
	behind = (int64_t)(time_ns(&old->st_mtim) - time_ns(&now.st_mtim));
	/* More than a tick ahead: the old time was set by hand, or the clock was set back. The new
	 * version keeps its real time then. */
	if (behind < 0 || behind > STORE_TICK_NS)
		return;
	if (++times[1].tv_nsec == 1000000000L) {
		times[1].tv_nsec = 0;
		times[1].tv_sec++;
	}
	futimens(fd,
		 times); /* where that is refused the versions differ by inode or size, as a rule */
}

/* An O_TMPFILE inode disappears by itself if this process is killed. */
static int unnamed(int dir)
{
	int fd = openat(dir, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);

	return fd < 0 ? -errno : fd;
}

/* Linked by /proc, because AT_EMPTY_PATH needs CAP_DAC_READ_SEARCH (link(2)). */
static int give_name(int fd, int dir, const char *name)
{
	const char *link = SHORT_TEXT(40, "/proc/self/fd/%d", fd);

	return linkat(AT_FDCWD, link, dir, name, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

/* The file with all its bytes and rights. tmp: its name, or "" while it has none. */
static int write_new(int dir, struct slice bytes, mode_t mode, const struct stat *old, bool sync,
		     char *tmp)
{
	_cleanup_(closep) int fd = unnamed(dir);
	int r;

	if (fd >= 0) {
		*tmp = '\0';
	} else {
		/* 0600 until the content is complete: no other user reads it before fchmod below. */
		fd = openat(dir, tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd < 0)
			return -errno;
	}
	r = file_write_all(fd, bytes.p, bytes.n);
	/* Only root can give a file to another user (chown(2)). For any other writer the new file
	 * is the writer's own. */
	if (r == 0 && old->st_nlink && geteuid() == 0 && fchown(fd, old->st_uid, old->st_gid) < 0)
		r = -errno;
	/* After fchown, which clears set-user-ID and set-group-ID bits (chown(2)). */
	if (r == 0 && fchmod(fd, mode) < 0)
		r = -errno;
	if (r == 0)
		atomic_write_date(fd, old);
	/* Before the rename: after a crash no name may point to missing bytes. */
	if (r == 0 && sync && fsync(fd) < 0)
		r = -errno;
	return r < 0 ? r : TAKE_FD(fd);
}

/* Puts it in its place. */
static int atomic_write_put(int fd, int dir, char *tmp, const char *temporary, const char *leaf,
			    bool exclusive)
{
	int r = 0;

	if (!*tmp && exclusive)
		return give_name(fd, dir, leaf);
	if (!*tmp) {
		/* linkat(2) cannot replace a name, so the inode gets a temporary one, which
		 * rename(2) can move. */
		r = give_name(fd, dir, temporary);
		if (r < 0)
			return r;
		strcpy(tmp, temporary);
	}
	if (exclusive) /* by a second name: a rename would replace */
		r = linkat(dir, tmp, dir, leaf, 0) < 0 ? -errno : 0;
	else
		r = renameat(dir, tmp, dir, leaf) < 0 ? -errno : 0;
	/* A rename has consumed the temporary name. After a link it still exists, and the caller
	 * removes it. */
	if (r == 0 && !exclusive)
		*tmp = '\0';
	return r;
}

static int sync_dir(int dir)
{
	_cleanup_(closep) int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 || fsync(fd) < 0 ? -errno : 0;
}

static int atomic_write_store(const struct tool_path_entry *at, struct slice bytes, mode_t mode,
			      const struct atomic_write_options *s, const struct stat *old,
			      struct stat *ret)
{
	char temporary[sizeof(STORE_PREFIX) + 16] = STORE_PREFIX, tmp[sizeof(temporary)];
	_cleanup_(closep) int fd = -1;
	int r;

	random_hex(temporary + sizeof(STORE_PREFIX) - 1, 8);
	strcpy(tmp, temporary);
	fd = write_new(at->dir, bytes, mode, old, s->sync, tmp);
	r = fd < 0 ? fd :
		     atomic_write_put(fd, at->dir, tmp, temporary, at->leaf,
				      s->exclusive || !old->st_nlink);
	/* Not if the name was taken before: then it is the file of another writer. */
	if (*tmp && (fd >= 0 || r != -EEXIST))
		unlinkat(at->dir, tmp, 0);
	/* A name is durable only when its directory is (fsync(2)). */
	if (r == 0 && s->sync)
		r = sync_dir(at->dir);
	if (r == 0 && fstat(fd, ret) < 0)
		r = -errno;
	return r;
}

int atomic_write(const struct builtin_call *c, const struct tool_path_entry *at, const char *path,
		 struct slice bytes, const struct atomic_write_options *s, const struct stat *old,
		 struct stat *ret, struct err *e)
{
	mode_t mode = s->mode	    ? s->mode :
		      old->st_nlink ? old->st_mode & 07777 :
				      0666 & ~toolbox_umask(c->box);
	struct stat now;
	int r = 0;

	if (s->exclusive && old->st_nlink)
		return tool_errno(e, EEXIST, "cannot write", path);
	if (s->dry) {
		*ret = *old;
		ret->st_size = (off_t)bytes.n;
		return 0;
	}
	/* as late as possible: others may have written meanwhile */
	if (atomic_write_check(at, path, &now, e) < 0)
		return -EIO;
	if (old->st_nlink && !atomic_write_same(&now, old)) {
		err_field(e, "path", "ESTALE", "%.120s changed while it was written", path);
		return -ESTALE;
	}
	r = atomic_write_store(at, bytes, mode, s, old, ret);
	/* The name was free at the check: another program created the file before link(2). */
	if (r == -EEXIST && !s->exclusive) {
		err_field(e, "path", "ESTALE", "%.120s was made while it was written", path);
		return -ESTALE;
	}
	return r < 0 ? tool_errno(e, r, "cannot write", path) : 0;
}
