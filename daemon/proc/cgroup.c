#include "proc/cgroup.h"

#include "base/os/file.h"
#include "base/limits.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>

const char *cgroup_kind_name(enum cgroup_kind kind)
{
	static const char *const names[] = { "none", "v1", "v2" };

	return names[kind];
}

/* Our own path in the hierarchy whose /proc/self/cgroup line has this controller field ("" is v2). */
static char *own_path(const char *controller)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	char *line, *save = NULL;

	if (file_read("/proc/self/cgroup", 64 * 1024, &b) < 0 || buf_putc(&b, '\0') < 0)
		return NULL;
	for (line = strtok_r(b.data, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *field = strchr(line, ':'), *path = field ? strchr(field + 1, ':') : NULL;

		if (!path)
			continue;
		*path++ = '\0';
		if (strcmp(field + 1, controller) == 0)
			return xstrdup(path);
	}
	return NULL;
}

/* Mount point of a file system of that type whose super options hold the controller. */
static char *mount_point(const char *fstype, const char *controller)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	char *line, *save = NULL;

	if (file_read("/proc/self/mountinfo", 1024 * 1024, &b) < 0 || buf_putc(&b, '\0') < 0)
		return NULL;
	for (line = strtok_r(b.data, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char point[1024], type[64], *sep = strstr(line, " - ");

		if (!sep || sscanf(sep, " - %63s", type) != 1 || strcmp(type, fstype) != 0)
			continue;
		if (sscanf(line, "%*s %*s %*s %*s %1023s", point) != 1)
			continue;
		if (!*controller || strstr(sep, controller))
			return xstrdup(point);
	}
	return NULL;
}

#define GROUP_PREFIX "acpd-"

/* A group is locked by its daemon, for as long as that lives. Not empty: some process of a dead one sits in it
 * still. */
static void remove_if_dead(const char *parent, const char *name)
{
	_cleanup_(freep) char *path = file_join(parent, name);
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 ? opendir(path) : NULL;
	struct dirent *e;

	while (d && (e = readdir(d))) {
		_cleanup_(freep) char *sub = file_join(path, e->d_name);

		if (e->d_type == DT_DIR && e->d_name[0] != '.')
			cgroup_remove(sub);
	}
	if (!d)
		return;
	closedir(d);
	cgroup_remove(path);
}

/* What daemons that were killed have left beside our place. */
static void remove_dead(const char *parent)
{
	DIR *d = opendir(parent);
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (e->d_type == DT_DIR &&
		    strncmp(e->d_name, GROUP_PREFIX, strlen(GROUP_PREFIX)) == 0)
			remove_if_dead(parent, e->d_name);
	if (d)
		closedir(d);
}

/* Made and locked; another daemon that starts may have taken it for a dead one's in between. */
static int make_locked(const char *dir)
{
	for (int tries = 0; tries < 10; tries++) {
		_cleanup_(closep) int fd = -1;
		struct stat held, there;

		if (mkdir(dir, 0755) < 0 && errno != EEXIST)
			return -1;
		fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &held) == 0 &&
		    stat(dir, &there) == 0 && held.st_ino == there.st_ino)
			return TAKE_FD(fd);
	}
	return -1;
}

static bool root_try(struct cgroup_root *root, enum cgroup_kind kind, const char *controller,
		     const char *incarnation)
{
	_cleanup_(freep) char *point =
		mount_point(kind == CGROUP_V2 ? "cgroup2" : "cgroup", controller);
	_cleanup_(freep) char *own = point ? own_path(controller) : NULL;
	_cleanup_(freep) char *parent = NULL, *dir = NULL;
	char name[64];

	if (!own)
		return false;
	parent = file_join(point, own + (*own == '/'));
	snprintf(name, sizeof(name), GROUP_PREFIX "%s", incarnation);
	dir = file_join(parent, name);
	root->lock = make_locked(dir);
	if (root->lock < 0)
		return false;
	remove_dead(parent);
	root->kind = kind;
	root->path = TAKE_PTR(dir);
	return true;
}

void cgroup_root_open(struct cgroup_root *root, const char *incarnation)
{
	static const struct {
		enum cgroup_kind kind;
		const char *controller;
	} order[] = { { CGROUP_V2, "" }, { CGROUP_V1, "pids" }, { CGROUP_V1, "freezer" } };

	*root = (struct cgroup_root){ CGROUP_NONE, NULL, -1 };
	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		if (root_try(root, order[i].kind, order[i].controller, incarnation))
			return;
}

void cgroup_root_close(struct cgroup_root *root)
{
	if (root->path)
		rmdir(root->path);
	free(root->path);
	closep(&root->lock);
	*root = (struct cgroup_root){ CGROUP_NONE, NULL, -1 };
}

/* The least that the groups from dir up to its mount point allow; UINT64_MAX: no limit. "max" reads as none. */
static uint64_t least_limit(char *dir, size_t point, const char *file)
{
	uint64_t least = UINT64_MAX;

	for (;;) {
		_cleanup_(freep) char *path = file_join(dir, file);
		_cleanup_(buf_done) struct buf b = { 0 };
		uint64_t n = 0;

		if (file_read(path, 64, &b) == 0 && buf_putc(&b, '\0') == 0)
			n = strtoull(b.data, NULL, 10);
		if (n)
			least = MIN(least, n);
		if (strlen(dir) <= point)
			return least;
		*strrchr(dir, '/') = '\0';
	}
}

static uint64_t group_limit(const char *fstype, const char *controller, const char *file)
{
	_cleanup_(freep) char *point = mount_point(fstype, controller);
	_cleanup_(freep) char *own = point ? own_path(controller) : NULL;
	_cleanup_(freep) char *dir = NULL;

	if (!own)
		return UINT64_MAX;
	if (asprintf(&dir, "%s%s", point, own) < 0)
		abort();
	return least_limit(dir, strlen(point), file);
}

uint64_t memory_limit(void)
{
	uint64_t pages = (uint64_t)sysconf(_SC_PHYS_PAGES), page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t group = MIN(group_limit("cgroup2", "", "memory.max"),
			     group_limit("cgroup", "memory", "memory.limit_in_bytes"));

	return MIN(pages * page, group);
}

char *cgroup_create(const struct cgroup_root *root, const char *name)
{
	_cleanup_(freep) char *path = NULL;

	if (root->kind == CGROUP_NONE)
		return NULL;
	path = file_join(root->path, name);
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		return NULL;
	return TAKE_PTR(path);
}

int cgroup_open_procs(const char *path)
{
	_cleanup_(freep) char *procs = path ? file_join(path, "cgroup.procs") : NULL;

	return procs ? open(procs, O_WRONLY | O_CLOEXEC) : -1;
}

static bool kill_at_once(const char *path)
{
	_cleanup_(freep) char *file = file_join(path, "cgroup.kill");
	_cleanup_(closep) int fd = open(file, O_WRONLY | O_CLOEXEC);

	return fd >= 0 && write(fd, "1", 1) == 1;
}

/* What the beginning of a file in the group says, NUL-terminated: its length, or a negative errno. */
static ssize_t read_some(const char *path, const char *name, char *ret, size_t size)
{
	_cleanup_(freep) char *file = file_join(path, name);
	_cleanup_(closep) int fd = open(file, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -errno : read(fd, ret, size - 1);

	if (n >= 0)
		ret[n] = '\0';
	return fd >= 0 && n < 0 ? -errno : n;
}

/* Members read a moment ago, one by one, as many as fit: v1 has nothing better. */
static bool kill_each(const char *path)
{
	_cleanup_(freep) char *pids = xalloc(CGROUP_READ_BYTES);
	char *pid, *save = NULL, *whole;

	if (read_some(path, "cgroup.procs", pids, CGROUP_READ_BYTES) <= 0)
		return true;
	whole = strrchr(pids, '\n'); /* the last number may be cut */
	if (whole)
		*whole = '\0';
	for (pid = strtok_r(pids, "\n", &save); pid; pid = strtok_r(NULL, "\n", &save))
		if (atoi(pid) > 0)
			kill((pid_t)atoi(pid), SIGKILL);
	return false;
}

bool cgroup_kill(const char *path)
{
	char events[256];

	if (!path)
		return true;
	/* v2 says in a word whether anybody is in it or below, however many */
	if (read_some(path, "cgroup.events", events, sizeof(events)) > 0 &&
	    strstr(events, "populated 0"))
		return true;
	return kill_at_once(path) ? false : kill_each(path);
}

void cgroup_remove(const char *path)
{
	if (path)
		rmdir(path);
}

void cgroup_sweep(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		_cleanup_(freep) char *sub = NULL;

		if (e->d_type != DT_DIR || e->d_name[0] == '.')
			continue;
		sub = file_join(path, e->d_name);
		for (int i = 0; i < 100 && !cgroup_kill(sub); i++)
			usleep(10000);
		cgroup_remove(sub);
	}
	if (d)
		closedir(d);
	rmdir(path);
}
