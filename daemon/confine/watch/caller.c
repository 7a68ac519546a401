/*
 * caller.c - reads the memory and the paths of a process that waits in a reported system call.
 *
 * Paths are resolved by openat2 below /proc/PID/root without magic links, so symbolic links lead
 * where they lead for the process. Descriptors are O_PATH: no file is opened for its bytes.
 * caller_write_error follows the order of checks in the kernel and returns 0 when in doubt. The
 * result describes a call and never decides about it.
 */
#include "confine/watch/caller.h"

#include "base/os/file.h"
#include "base/util.h"

#include <linux/openat2.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#define PAGE 4096
#define PROC_NAME_MAX 64
#define STATUS_MAX 4096
#define OPEN_TRIES 16

/* --- memory --------------------------------------------------------------------------------------------------- */

static ssize_t caller_read(pid_t pid, uint64_t at, void *ret, size_t n)
{
	struct iovec to = { ret, n }, from = { (void *)(uintptr_t)at, n };
	ssize_t got = process_vm_readv(pid, &to, 1, &from, 1, 0);

	return got < 0 ? -errno : got;
}

int caller_bytes(pid_t pid, uint64_t at, void *ret, size_t n)
{
	ssize_t got = caller_read(pid, at, ret, n);

	return got < 0 ? (int)got : (size_t)got == n ? 0 : -EFAULT;
}

/* Page by page: the one behind the end of the string need not be there. */
int caller_text(pid_t pid, uint64_t at, char *ret, size_t size)
{
	size_t have = 0;

	while (have < size) {
		size_t room = PAGE - (at + have) % PAGE;
		ssize_t n = caller_read(pid, at + have, ret + have, MIN(room, size - have));

		if (n <= 0)
			return n < 0 ? (int)n : -EFAULT;
		if (memchr(ret + have, 0, (size_t)n))
			return 0;
		have += (size_t)n;
	}
	return -ENAMETOOLONG;
}

/* --- paths ---------------------------------------------------------------------------------------------------- */

/* Of a directory of the process, as it sees it. */
static int dir_path(pid_t pid, int dir, char ret[CALLER_PATH_MAX])
{
	const char *name = dir == AT_FDCWD ?
				   SHORT_TEXT(PROC_NAME_MAX, "/proc/%d/cwd", (int)pid) :
				   SHORT_TEXT(PROC_NAME_MAX, "/proc/%d/fd/%d", (int)pid, dir);
	ssize_t n = readlink(name, ret, CALLER_PATH_MAX - 1);

	if (n < 0)
		return -errno;
	ret[n] = '\0';
	return ret[0] == '/' ? 0 : -ENOTDIR;
}

int caller_path(pid_t pid, int dir, uint64_t at, char ret[CALLER_PATH_MAX])
{
	char text[CALLER_PATH_MAX];
	size_t n;
	int r = caller_text(pid, at, text, sizeof(text));

	if (r < 0)
		return r;
	if (text[0] == '/') {
		memcpy(ret, text, strlen(text) + 1);
		return 0;
	}
	r = dir_path(pid, dir, ret);
	if (r < 0 || !text[0]) /* AT_EMPTY_PATH: the descriptor itself */
		return r;
	n = strlen(ret);
	if (n + 1 + strlen(text) >= CALLER_PATH_MAX)
		return -ENAMETOOLONG;
	if (n > 1)
		ret[n++] = '/';
	memcpy(ret + n, text, strlen(text) + 1);
	return 0;
}

/* What the process has at that path. */
static int open_seen(pid_t pid, const char *path, bool no_follow)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC | (no_follow ? O_NOFOLLOW : 0),
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	_cleanup_(closep) int root = -1;
	long fd = -1;
	const char *name = SHORT_TEXT(PROC_NAME_MAX, "/proc/%d/root", (int)pid);

	/* The root of that process, which may be in another mount namespace. */
	root = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	errno = EAGAIN; /* also where somebody renames or mounts while ".." is followed, anywhere */
	for (int i = 0; i < OPEN_TRIES && fd < 0 && errno == EAGAIN; i++)
		fd = syscall(SYS_openat2, root, path, &how, sizeof(how));
	return fd < 0 ? -errno : (int)fd;
}

static int open_seen_parent(pid_t pid, const char *path)
{
	char parent[CALLER_PATH_MAX];
	size_t n = strlen(path);

	while (n > 1 && path[n - 1] == '/')
		n--;
	while (n > 1 && path[n - 1] != '/')
		n--;
	if (n >= sizeof(parent))
		return -ENAMETOOLONG;
	*(char *)mempcpy(parent, path, n) = '\0';
	return open_seen(pid, parent, false);
}

/* --- who may write -------------------------------------------------------------------------------------------- */

/* The user and group that files are asked for. */
static int caller_ids(pid_t pid, unsigned *uid, unsigned *gid)
{
	char text[STATUS_MAX];
	const char *at;
	ssize_t n = file_of_process(pid, "status", text, sizeof(text));

	if (n < 0)
		return (int)n;
	at = strstr(text, "\nUid:");
	if (!at || sscanf(at, "\nUid: %*u %*u %*u %u", uid) != 1)
		return -EIO;
	at = strstr(text, "\nGid:");
	return at && sscanf(at, "\nGid: %*u %*u %*u %u", gid) == 1 ? 0 : -EIO;
}

/* By its mode: confined processes have no capability, and no further groups. */
static bool may_write(pid_t pid, const struct stat *st)
{
	unsigned uid, gid;

	if (caller_ids(pid, &uid, &gid) < 0)
		return true;
	if (st->st_uid == uid)
		return st->st_mode & S_IWUSR;
	return st->st_mode & (st->st_gid == gid ? S_IWGRP : S_IWOTH);
}

static int mount_error(int fd)
{
	struct statvfs fs;

	return fstatvfs(fd, &fs) == 0 && fs.f_flag & ST_RDONLY ? -EROFS : 0;
}

int caller_write_error(pid_t pid, const char *path, const struct caller_write *w)
{
	_cleanup_(closep) int fd = open_seen(pid, path, w->no_follow), parent = -1;
	struct stat st;

	if (fd < 0) {
		parent = w->old || fd != -ENOENT ? -1 : open_seen_parent(pid, path);
		return parent < 0 ? 0 : mount_error(parent);
	}
	if (w->fresh || fstat(fd, &st) < 0)
		return 0;
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode) && !S_ISLNK(st.st_mode))
		return 0; /* what is written there does not go to the file system */
	return w->asks_first && !may_write(pid, &st) ? 0 : mount_error(fd);
}
