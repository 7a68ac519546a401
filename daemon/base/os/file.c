/*
 * file.c - system calls on files with the loops and flags that every caller needs: EINTR, short
 * writes, O_CLOEXEC.
 *
 * Nothing here syncs file contents: file_replace is atomic for readers but not durable. Callers
 * that need durability sync the file themselves, then call file_sync_name for its name.
 * file_remove_tree recurses with one open descriptor per level, so it is for the daemon's own
 * trees. Trees that an agent can write need held_remove_at (tree/held_tree.h).
 */
#include "base/os/file.h"

#include "base/format/digits.h"
#include "base/util.h"

#include <limits.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>

int file_read_fd(int fd, size_t max, struct buf *ret)
{
	size_t start = buf_len(ret);
	ssize_t n;

	for (;;) {
		int r = buf_reserve(ret, 4096);

		if (r < 0)
			return r;
		n = RETRY(read(fd, ret->data + ret->len, 4096));
		if (n < 0)
			return -errno;
		if (n == 0)
			return 0;
		ret->len += (size_t)n;
		if (buf_len(ret) - start > max)
			return -E2BIG;
	}
}

int file_read(const char *path, size_t max, struct buf *ret)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : file_read_fd(fd, max, ret);
}

ssize_t file_of_process(pid_t pid, const char *name, char *ret, size_t size)
{
	_cleanup_(closep) int fd = -1;
	ssize_t n;

	fd = open(SHORT_TEXT(NAME_MAX + 64, "/proc/%d/%s", (int)pid, name), O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, ret, size - 1);
	if (n < 0)
		return -errno;
	ret[n] = '\0';
	return n;
}

int file_write_all(int fd, const void *p, size_t n)
{
	const char *at = p;

	while (n) {
		ssize_t w = RETRY(write(fd, at, n));

		if (w < 0)
			return -errno;
		at += w;
		n -= (size_t)w;
	}
	return 0;
}

int file_sealed(const char *name, struct slice s)
{
	_cleanup_(closep) int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int r = fd < 0 ? -errno : file_write_all(fd, s.p, s.n);

	if (r < 0)
		return r;
	/* Sealed against writes and further seals: the receiver cannot be shown other bytes later. A passed
	 * descriptor shares its offset, which therefore is 0. */
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0 ||
	    lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	return TAKE_FD(fd);
}

int file_send_all(int fd, const void *p, size_t n)
{
	const char *at = p;

	while (n) {
		ssize_t sent = RETRY(send(fd, at, n, MSG_NOSIGNAL));

		if (sent < 0)
			return -errno;
		at += sent;
		n -= (size_t)sent;
	}
	return 0;
}

int file_write_at(int fd, const void *p, size_t n, uint64_t offset)
{
	for (size_t done = 0; done < n;) {
		ssize_t put =
			RETRY(pwrite(fd, (const char *)p + done, n - done, (off_t)(offset + done)));

		if (put < 0)
			return -errno;
		done += (size_t)put;
	}
	return 0;
}

int file_read_at(int fd, void *p, size_t n, uint64_t offset)
{
	for (size_t have = 0; have < n;) {
		ssize_t got = RETRY(pread(fd, (char *)p + have, n - have, (off_t)(offset + have)));

		/* End of file: the file is shorter than its owner has recorded. */
		if (got <= 0)
			return got < 0 ? -errno : -EBADMSG;
		have += (size_t)got;
	}
	return 0;
}

int file_replace(const char *path, const void *p, size_t n, mode_t mode)
{
	_cleanup_(freep) char *tmp = xprintf("%s.tmp", path);
	_cleanup_(closep) int fd = -1;
	int r;

	/* A link that was left at that name must not lead the bytes elsewhere. */
	fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode);
	if (fd < 0)
		return -errno;
	r = file_write_all(fd, p, n);
	/* Readers see the old file or the new one, never a part of either. */
	if (r == 0 && rename(tmp, path) < 0)
		r = -errno;
	if (r < 0)
		unlink(tmp);
	return r;
}

int file_sync_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	_cleanup_(freep) char *dir = slash ? xstrndup(path, (size_t)(slash - path)) : xstrdup(".");
	_cleanup_(closep) int fd = open(*dir ? dir : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	/* EINVAL: this file system does not support fsync(2) of a directory. */
	return fd < 0 || (fsync(fd) < 0 && errno != EINVAL) ? -errno : 0;
}

/* 0 if it is there now. */
static int dir_make(const char *path, mode_t mode)
{
	return mkdir(path, mode) < 0 && errno != EEXIST ? -errno : 0;
}

/* Mostly all but the last is there already. */
int file_mkdirs(const char *path, mode_t mode)
{
	_cleanup_(freep) char *p = NULL;
	int r = dir_make(path, mode);

	if (r != -ENOENT || !*path)
		return r;
	p = xstrdup(path);
	for (char *s = p + 1; *s; s++) {
		if (*s != '/')
			continue;
		*s = '\0';
		r = dir_make(p, mode);
		if (r < 0)
			return r;
		*s = '/';
	}
	return dir_make(p, mode);
}

static int remove_below(int dirfd)
{
	DIR *d = fdopendir(dirfd);
	struct dirent *e;
	int r = 0;

	if (!d) {
		r = -errno;
		close(dirfd);
		return r;
	}
	while ((e = readdir(d))) {
		int fd;

		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		/* Tried before a check of the type: for a directory it fails, and most entries are files. */
		if (unlinkat(dirfd, e->d_name, 0) == 0)
			continue;
		fd = openat(dirfd, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0)
			remove_below(fd);
		if (unlinkat(dirfd, e->d_name, AT_REMOVEDIR) < 0)
			r = -errno;
	}
	closedir(d);
	return r;
}

int file_remove_tree(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	remove_below(fd);
	return rmdir(path) < 0 ? -errno : 0;
}

char *file_join(const char *dir, const char *name)
{
	return xprintf("%s/%s", dir, name);
}

char *random_hex(char *out, size_t bytes)
{
	unsigned char raw[64];

	/* These are tokens and ids: without random bytes none may be made. */
	if (bytes > sizeof(raw) || getrandom(raw, bytes, 0) != (ssize_t)bytes)
		abort();
	hex_put(raw, bytes, out);
	return out;
}

char *file_own_program(void)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self));

	return n > 0 && (size_t)n < sizeof(self) ? xstrndup(self, (size_t)n) : NULL;
}

char *file_program(const char *variable, const char *name)
{
	const char *given = getenv(variable);
	_cleanup_(freep) char *path = NULL, *self = NULL;

	/* A variable that names no program is a mistake, and no reason to look elsewhere. */
	if (given && *given)
		return access(given, X_OK) == 0 ? xstrdup(given) : NULL;
	self = file_own_program();
	if (!self)
		return NULL;
	*strrchr(self, '/') = '\0';
	path = file_join(self, name);
	return access(path, X_OK) == 0 ? TAKE_PTR(path) : NULL;
}

const char *path_below(const char *path, const char *dir)
{
	size_t n = strcmp(dir, "/") == 0 ? 0 : strlen(dir);

	if (strncmp(path, dir, n) != 0 || (n && path[n] && path[n] != '/'))
		return NULL;
	return path + n + (path[n] == '/');
}
