/*
 * home_program.c - writes files of acpd into a session's home, against an agent that controls that
 * home.
 *
 * Every step is relative to a held directory descriptor with O_NOFOLLOW, so a link that the agent
 * plants never leads out of the home. Anything that is not a directory on the way is unlinked. The
 * text is written under a random name and renamed over the old file, so a process with the old file
 * open cannot change it. Runs with the user's rights.
 */
#include "session/core/home_program.h"

#include "base/os/file.h"
#include "base/util.h"

#define NEW_NAME ".acpd-" /* and random digits: for a file that is yet to be renamed */
#define RANDOM_BYTES 8

static int open_dir(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* What is no directory goes. */
static int need_dir(int dir, const char *name)
{
	int fd = open_dir(dir, name);

	if (fd >= 0 || (fd != -ENOTDIR && fd != -ELOOP && fd != -ENOENT))
		return fd;
	if (fd != -ENOENT && unlinkat(dir, name, 0) < 0)
		return -errno;
	/* EEXIST: another process of the user was faster. open_dir decides if it is a directory. */
	if (mkdirat(dir, name, 0700) < 0 && errno != EEXIST)
		return -errno;
	return open_dir(dir, name);
}

static bool is_same(int dir, const char *name, const char *text, size_t n)
{
	_cleanup_(closep) int fd =
		/* O_NONBLOCK: the agent may have put a FIFO there, on which open would wait. */
		openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	_cleanup_(buf_done) struct buf b = { 0 };
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (size_t)st.st_size == n &&
	       file_read_fd(fd, n, &b) == 0 && buf_len(&b) == n && memcmp(b.data, text, n) == 0;
}

static int home_file_replace(int dir, const char *name, const char *text, size_t n)
{
	char tmp[sizeof(NEW_NAME) + 2 * RANDOM_BYTES] = NEW_NAME;
	_cleanup_(closep) int fd = -1;
	int r;

	random_hex(tmp + strlen(NEW_NAME), RANDOM_BYTES);
	fd = openat(dir, tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	r = file_write_all(fd, text, n);
	/* A rename replaces whatever is there, and never follows it. */
	if (r == 0 && renameat(dir, tmp, dir, name) < 0)
		r = -errno;
	if (r < 0)
		unlinkat(dir, tmp, 0);
	return r;
}

/* Returns a descriptor of the directory that path is in, and its last component. */
static int open_parent(int home, const char *path, const char **ret_leaf)
{
	/* A copy: `home` belongs to the caller, and the loop closes each directory that it leaves. */
	_cleanup_(closep) int dir = fcntl(home, F_DUPFD_CLOEXEC, 0);
	const char *slash;

	if (dir < 0)
		return -errno;
	for (; (slash = strchr(path, '/')); path = slash + 1) {
		_cleanup_(freep) char *name = xstrndup(path, (size_t)(slash - path));
		int below = need_dir(dir, name);

		if (below < 0)
			return below;
		close(dir);
		dir = below;
	}
	*ret_leaf = path;
	return TAKE_FD(dir);
}

int home_program_keep(int home, const char *path, const char *text)
{
	const char *leaf = NULL;
	_cleanup_(closep) int dir = open_parent(home, path, &leaf);
	size_t n = strlen(text);

	if (dir < 0)
		return dir;
	return is_same(dir, leaf, text, n) ? 0 : home_file_replace(dir, leaf, text, n);
}

int home_program_dir(int home, const char *path)
{
	const char *leaf = NULL;
	_cleanup_(closep) int dir = open_parent(home, path, &leaf);
	_cleanup_(closep) int made = dir < 0 ? dir : need_dir(dir, leaf);

	return made < 0 ? made : 0;
}
