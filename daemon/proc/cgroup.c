#include "proc/cgroup.h"

#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
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

static bool root_try(struct cgroup_root *root, enum cgroup_kind kind, const char *controller,
		     const char *incarnation)
{
	_cleanup_(freep) char *point =
		mount_point(kind == CGROUP_V2 ? "cgroup2" : "cgroup", controller);
	_cleanup_(freep) char *own = point ? own_path(controller) : NULL;
	_cleanup_(freep) char *dir = NULL;
	size_t n;

	if (!own)
		return false;
	n = strlen(point) + strlen(own) + strlen(incarnation) + 16;
	dir = xalloc(n);
	snprintf(dir, n, "%s%s%sacpd-%s", point, own, own[strlen(own) - 1] == '/' ? "" : "/",
		 incarnation);
	if (mkdir(dir, 0755) < 0)
		return false;
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

	*root = (struct cgroup_root){ CGROUP_NONE, NULL };
	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		if (root_try(root, order[i].kind, order[i].controller, incarnation))
			return;
}

void cgroup_root_close(struct cgroup_root *root)
{
	if (root->path)
		rmdir(root->path);
	free(root->path);
	*root = (struct cgroup_root){ CGROUP_NONE, NULL };
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

bool cgroup_kill(const char *path)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	_cleanup_(freep) char *procs = path ? file_join(path, "cgroup.procs") : NULL;
	char *pid, *save = NULL;
	bool each;

	if (!path || file_read(procs, 4 * 1024 * 1024, &b) < 0 || buf_len(&b) == 0)
		return true;
	each = !kill_at_once(path);
	buf_putc(&b, '\0');
	for (pid = strtok_r(b.data, "\n", &save); each && pid; pid = strtok_r(NULL, "\n", &save))
		kill((pid_t)atoi(pid),
		     SIGKILL); /* a member read a moment ago; v1 has nothing better */
	return false;
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
