/*
 * cgroup_dir.c - one cgroup directory: its files, its lock, killing its members, removing it.
 *
 * A daemon owns flock on its directory for life, so an unlocked directory belongs to a dead daemon.
 * v1 has no cgroup.kill: members are read and killed one at a time, and new ones can appear, so
 * callers repeat the call until no member is left. A cgroup with members or children cannot be
 * removed, hence children first.
 */
#include "proc/cgroup/cgroup_dir.h"

#include "base/limits.h"
#include "base/os/file.h"
#include "base/util.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>

#define GROUP_PREFIX "acpd-"

/* --- small files ------------------------------------------------------------------------------------------ */

/* Not to block: a lower limit of memory is set without waiting for what has to be given back, where the kernel can. */
int cgroup_dir_write(const char *path, const char *name, const char *text)
{
	_cleanup_(freep) char *file = file_join(path, name);
	_cleanup_(closep) int fd = open(file, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		return -errno;
	return 0;
}

ssize_t cgroup_dir_read(const char *path, const char *name, char *ret, size_t size)
{
	_cleanup_(freep) char *file = file_join(path, name);
	_cleanup_(closep) int fd = open(file, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -errno : read(fd, ret, size - 1);

	if (n >= 0)
		ret[n] = '\0';
	return fd >= 0 && n < 0 ? -errno : n;
}

int cgroup_dir_open(const char *path, const char *name)
{
	_cleanup_(freep) char *file = file_join(path, name);
	int fd = open(file, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

uint64_t cgroup_file_number(int fd, const char *key)
{
	char text[1024], *at = text;
	ssize_t got = fd < 0 ? -1 : pread(fd, text, sizeof(text) - 1, 0);
	size_t n = key ? strlen(key) : 0;

	if (got <= 0)
		return 0;
	text[got] = '\0';
	while (n && (strncmp(at, key, n) != 0 || at[n] != ' ')) {
		at = strchr(at, '\n');
		if (!at++)
			return 0;
	}
	return strtoull(at + n, NULL, 10);
}

uint64_t cgroup_dir_number(const char *path, const char *name, const char *key)
{
	_cleanup_(closep) int fd = cgroup_dir_open(path, name);

	return cgroup_file_number(fd, key);
}

/* --- what is below ---------------------------------------------------------------------------------------- */

static void each_below(const char *path, void (*fn)(const char *sub))
{
	_cleanup_(closedirp) DIR *d = opendir(path);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		_cleanup_(freep) char *sub = NULL;

		if (e->d_type != DT_DIR || e->d_name[0] == '.')
			continue;
		sub = file_join(path, e->d_name);
		fn(sub);
	}
}

void cgroup_dir_remove(const char *path)
{
	if (path && rmdir(path) < 0 && errno != ENOENT) {
		each_below(path, cgroup_dir_remove);
		rmdir(path);
	}
}

/* A group is locked by its daemon, for as long as that lives. Not empty: some process of a dead one sits in it
 * still. */
static void remove_if_dead(const char *path)
{
	_cleanup_(closep) int fd = -1;

	if (strncmp(strrchr(path, '/') + 1, GROUP_PREFIX, strlen(GROUP_PREFIX)) != 0)
		return;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
		cgroup_dir_remove(path);
}

void cgroup_dir_remove_dead(const char *parent)
{
	each_below(parent, remove_if_dead);
}

/* Another daemon that starts may have taken it for a dead one's in between. */
int cgroup_dir_make(const char *dir)
{
	for (int tries = 0; tries < 10; tries++) {
		_cleanup_(closep) int fd = -1;
		struct stat held, there;

		if (mkdir(dir, 0755) < 0 && errno != EEXIST)
			return -errno;
		fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &held) == 0 &&
		    stat(dir, &there) == 0 && held.st_ino == there.st_ino)
			return TAKE_FD(fd);
	}
	return -EBUSY;
}

/* --- killing ---------------------------------------------------------------------------------------------- */

/* Members read a moment ago, one by one, as many as fit: v1 has nothing better. */
static bool kill_each(const char *path)
{
	_cleanup_(freep) char *pids = xalloc(CGROUP_READ_BYTES);
	char *pid, *save = NULL, *whole;

	if (cgroup_dir_read(path, "cgroup.procs", pids, CGROUP_READ_BYTES) <= 0)
		return true;
	whole = strrchr(pids, '\n'); /* the last number may be cut */
	if (whole)
		*whole = '\0';
	for (pid = strtok_r(pids, "\n", &save); pid; pid = strtok_r(NULL, "\n", &save))
		if (atoi(pid) > 0)
			kill((pid_t)atoi(pid), SIGKILL);
	return false;
}

bool cgroup_dir_kill(const char *path)
{
	char events[256];

	if (!path)
		return true;
	/* v2 says in a word whether anybody is in it or below, however many */
	if (cgroup_dir_read(path, "cgroup.events", events, sizeof(events)) > 0 &&
	    strstr(events, "populated 0"))
		return true;
	return cgroup_dir_write(path, "cgroup.kill", "1") == 0 ? false : kill_each(path);
}

void cgroup_dir_sweep(const char *path)
{
	each_below(path, cgroup_dir_sweep);
	for (int i = 0; i < SWEEP_ROUNDS && !cgroup_dir_kill(path); i++)
		usleep(SWEEP_ROUND_MS * 1000);
	cgroup_dir_remove(path);
}
