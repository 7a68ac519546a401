/* fsview_mount.c - carries a view out: plain system calls in a child, nothing that allocates. */
#include "proc/spaces/fsview_internal.h"

#include "base/limits.h"
#include "base/util.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define HELD (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV) /* of every mount but devices */

/* --- single calls: a descriptor or 0, or -errno --------------------------------------------------------------- */

/* path is followed through no link. */
static int open_no_links(int at, const char *path, uint64_t resolve)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				.resolve = RESOLVE_NO_SYMLINKS | resolve };
	int fd = (int)syscall(SYS_openat2, at, path, &how, sizeof(how));

	return fd < 0 ? -errno : fd;
}

static int set_attributes(int fd, unsigned flags, uint64_t set, uint64_t propagation)
{
	struct mount_attr a = { .attr_set = set, .propagation = propagation };

	return mount_setattr(fd, "", AT_EMPTY_PATH | flags, &a, sizeof(a)) < 0 ? -errno : 0;
}

/* A copy of what is mounted at the path and below, not attached anywhere yet. */
static int copy_mounts(const char *path, uint64_t set)
{
	_cleanup_(closep) int fd = open_no_links(AT_FDCWD, path, 0);
	int tree, r;

	if (fd < 0)
		return fd;
	tree = open_tree(fd, "",
			 AT_EMPTY_PATH | AT_RECURSIVE | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (tree < 0)
		return -errno;
	r = set_attributes(tree, AT_RECURSIVE, set, 0);
	if (r == 0)
		return tree;
	close(tree);
	return r;
}

/* A new file system, not attached anywhere yet; options: pairs, NULL-terminated. */
static int make_filesystem(const char *type, const char *const *options, uint64_t set)
{
	_cleanup_(closep) int fs = fsopen(type, FSOPEN_CLOEXEC);
	int fd;

	if (fs < 0)
		return -errno;
	for (; options && *options; options += 2)
		if (fsconfig(fs, FSCONFIG_SET_STRING, options[0], options[1], 0) < 0)
			return -errno;
	if (fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -errno;
	fd = fsmount(fs, FSMOUNT_CLOEXEC, (unsigned)set);
	return fd < 0 ? -errno : fd;
}

static int make_void(const char *mode)
{
	const char *const options[] = { "mode", mode, NULL };

	return make_filesystem("tmpfs", options, HELD);
}

static int mount_attach(int mount, int target)
{
	return move_mount(mount, "", target, "",
			  MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0 ?
		       -errno :
		       0;
}

static int attach_at(int mount, int at, const char *path)
{
	_cleanup_(closep) int target = open_no_links(at, path, 0);

	return target < 0 ? target : mount_attach(mount, target);
}

/* --- /proc ----------------------------------------------------------------------------------------------------- */

/* What of /proc and /sys is about the machine. */
static const struct cover {
	enum { READ_ONLY, NO_FILE, NO_DIR } how;
	const char *path;
} covers[] = {
	{ READ_ONLY, "/proc/bus" },
	{ READ_ONLY, "/proc/fs" },
	{ READ_ONLY, "/proc/irq" },
	{ READ_ONLY, "/proc/sys" },
	{ NO_FILE, "/proc/sysrq-trigger" },
	{ NO_FILE, "/proc/kcore" },
	{ NO_FILE, "/proc/key-users" },
	{ NO_FILE, "/proc/keys" },
	{ NO_FILE, "/proc/kmsg" },
	{ NO_FILE, "/proc/kallsyms" },
	{ NO_FILE, "/proc/latency_stats" },
	{ NO_FILE, "/proc/sched_debug" },
	{ NO_FILE, "/proc/timer_list" },
	{ NO_DIR, "/proc/acpi" },
	{ NO_DIR, "/proc/asound" },
	{ NO_DIR, "/proc/scsi" },
	{ NO_DIR, "/sys/devices/virtual/powercap" },
	{ NO_DIR, "/sys/firmware" },
	{ NO_DIR, "/sys/kernel/security" },
};

static int cover_mount(const struct cover *m)
{
	if (m->how == READ_ONLY)
		return copy_mounts(m->path, MOUNT_ATTR_RDONLY);
	return m->how == NO_FILE ? copy_mounts("/dev/null", MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID) :
				   make_void("0555");
}

static int put_cover(const struct cover *c)
{
	_cleanup_(closep) int target = open_no_links(AT_FDCWD, c->path, 0);
	_cleanup_(closep) int mount = target < 0 ? -1 : cover_mount(c);
	int r;

	/* This kernel has no such file, so nothing needs a cover. */
	if (target == -ENOENT)
		return 0;
	r = target < 0 ? target : mount < 0 ? mount : mount_attach(mount, target);
	if (r == 0 && c->how == NO_DIR)
		r = set_attributes(mount, 0, MOUNT_ATTR_RDONLY, 0);
	return r;
}

static int put_covers(void)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(covers); i++)
		r = put_cover(&covers[i]);
	return r;
}

static int shut_files(const struct fsview *v)
{
	int r = 0;

	for (const char *const *path = v->shut; r == 0 && path && *path; path++)
		r = put_cover(&(struct cover){ NO_FILE, *path });
	return r;
}

/* --- /dev ------------------------------------------------------------------------------------------------------ */

static const char *const devices[] = { "full", "null", "random", "tty", "urandom", "zero" };

struct devices {
	int node[ARRAY_SIZE(devices)]; /* -1: there is none */
	int dir, pts, shm;
};

/* Before all becomes read-only, and the machine's own is covered. */
static int devices_open(struct devices *d)
{
	static const char *const dir[] = { "mode", "0755", NULL };
	/* ptmx has mode 0000 unless ptmxmode is given (devpts of the kernel). */
	static const char *const pts[] = { "mode", "0620", "ptmxmode", "0666", NULL };
	static const char *const shm[] = { "mode", "1777", "size", SPACES_SHM_BYTES, NULL };

	for (size_t i = 0; i < ARRAY_SIZE(devices); i++) {
		d->node[i] = copy_mounts(SHORT_TEXT(32, "/dev/%s", devices[i]),
					 MOUNT_ATTR_NOSUID | MOUNT_ATTR_RDONLY);
		if (d->node[i] < 0 && d->node[i] != -ENOENT)
			return d->node[i];
	}
	d->dir = make_filesystem("tmpfs", dir, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
	d->pts = make_filesystem("devpts", pts, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
	d->shm = make_filesystem("tmpfs", shm, HELD);
	return MIN(d->dir, MIN(d->pts, d->shm));
}

static int put_node(const struct devices *d, size_t i)
{
	_cleanup_(closep) int file = -1;

	if (d->node[i] < 0)
		return 0;
	/* A file to mount on: in a user namespace mknod(2) of a device fails. */
	file = openat(d->dir, devices[i], O_CREAT | O_EXCL | O_CLOEXEC | O_RDONLY, 0666);
	return file < 0 ? -errno : mount_attach(d->node[i], file);
}

static int put_devices(const struct devices *d)
{
	static const char *const links[][2] = {
		{ "/proc/self/fd", "fd" },	 { "/proc/self/fd/0", "stdin" },
		{ "/proc/self/fd/1", "stdout" }, { "/proc/self/fd/2", "stderr" },
		{ "pts/ptmx", "ptmx" },
	};
	int r = attach_at(d->dir, AT_FDCWD, "/dev");

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(devices); i++)
		r = put_node(d, i);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(links); i++)
		r = symlinkat(links[i][0], d->dir, links[i][1]) < 0 ? -errno : 0;
	if (r == 0 && (mkdirat(d->dir, "pts", 0755) < 0 || mkdirat(d->dir, "shm", 01777) < 0))
		r = -errno;
	if (r == 0)
		r = attach_at(d->pts, d->dir, "pts");
	if (r == 0)
		r = attach_at(d->shm, d->dir, "shm");
	/* Last: nodes, links and directories were made in it. */
	return r == 0 ? set_attributes(d->dir, 0, MOUNT_ATTR_RDONLY, 0) : r;
}

/* --- places ---------------------------------------------------------------------------------------------------- */

static bool is_writable(enum fsview_kind kind)
{
	return kind == FSVIEW_WRITABLE || kind == FSVIEW_TMP || kind == FSVIEW_DRAFT;
}

static int place_open_source(const struct fsview_place *p)
{
	if (!p->source)
		return make_void(p->kind == FSVIEW_SECRET ? "0711" : "0755");
	return copy_mounts(p->source, is_writable(p->kind) ? HELD : HELD | MOUNT_ATTR_RDONLY);
}

struct stand {
	uid_t uid;
	gid_t gid;
	bool given; /* to them */
};

static int stand_step_into(int at, const char *name, const struct stand *s)
{
	bool made = mkdirat(at, name, 0755) == 0;
	/* O_NOFOLLOW: in a directory that others can write, the name may be a link. */
	int fd = openat(at, name, O_PATH | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0 && made && s->given && fchownat(fd, "", s->uid, s->gid, AT_EMPTY_PATH) < 0) {
		close(fd);
		fd = -1;
	}
	return fd < 0 ? -errno : fd;
}

/* Makes the directories of a relative path, and opens the last. */
static int make_stand(int at, const char *path, const struct stand *s)
{
	_cleanup_(closep) int fd = fcntl(at, F_DUPFD_CLOEXEC, 0);
	int next;

	while (fd >= 0 && *path) {
		size_t n = strcspn(path, "/");
		char name[NAME_MAX + 1];

		if (n > NAME_MAX)
			return -ENAMETOOLONG;
		memcpy(name, path, n);
		name[n] = '\0';
		next = stand_step_into(fd, name, s);
		if (next < 0)
			return next;
		close(fd);
		fd = next;
		path += n + (path[n] == '/');
	}
	return fd < 0 ? -errno : TAKE_FD(fd);
}

static int place_attach(const struct fsview *v, const struct fsview_place *p, struct stand s)
{
	const struct fsview_place *over = p->over == FSVIEW_ROOT ? NULL : &v->place[p->over];
	const char *rest = over ? p->path + strlen(over->path) + 1 : NULL;
	_cleanup_(closep) int target = -1;

	s.given = over && over->kind == FSVIEW_TMP;
	if (!over)
		target = open_no_links(AT_FDCWD, p->path, 0);
	else if (over->source && over->kind != FSVIEW_TMP)
		target = open_no_links(over->fd, rest, RESOLVE_BENEATH);
	else
		target = make_stand(over->fd, rest, &s);
	return target < 0 ? target : mount_attach(p->fd, target);
}

static int put_places(const struct fsview *v, struct stand s, unsigned *number)
{
	int r = 0;

	/* Parents before what lies in them: the places are sorted by path. */
	for (size_t i = 0; r == 0 && i < v->n; i++) {
		*number = (unsigned)i;
		r = place_attach(v, &v->place[i], s);
	}
	for (size_t i = 0; r == 0 && i < v->n; i++)
		if (!v->place[i].source)
			r = set_attributes(v->place[i].fd, 0, MOUNT_ATTR_RDONLY, 0);
	return r;
}

/* --- all of it ------------------------------------------------------------------------------------------------- */

static int fsview_fail(struct fsview_fault *f, enum fsview_step step, int r)
{
	f->step = step;
	f->error = -r;
	return r;
}

static int set_all_mounts(uint64_t set, uint64_t propagation)
{
	_cleanup_(closep) int root = open_no_links(AT_FDCWD, "/", 0);

	return root < 0 ? root : set_attributes(root, AT_RECURSIVE, set, propagation);
}

static int places_open_sources(struct fsview *v, struct fsview_fault *ret)
{
	for (size_t i = 0; i < v->n; i++) {
		ret->number = (unsigned)i;
		v->place[i].fd = place_open_source(&v->place[i]);
		if (v->place[i].fd < 0)
			return fsview_fail(ret, FSVIEW_PLACE, v->place[i].fd);
	}
	return 0;
}

int fsview_mount_places(struct fsview *v, struct fsview_fault *ret)
{
	/* Mounts made outside later still arrive in a slave (mount_namespaces(7)); nothing gets out of either. */
	int r = set_all_mounts(0, v->n ? MS_PRIVATE : MS_SLAVE);

	*ret = (struct fsview_fault){ 0 };
	if (r < 0)
		return fsview_fail(ret, r == -ENOSYS ? FSVIEW_CALLS : FSVIEW_MOUNTS, r);
	r = places_open_sources(v, ret);
	if (r < 0)
		return r;
	r = put_places(v, (struct stand){ 0 }, &ret->number);
	if (r < 0)
		return fsview_fail(ret, FSVIEW_PLACE, r);
	r = shut_files(v);
	return r < 0 ? fsview_fail(ret, FSVIEW_COVERS, r) : 0;
}

int fsview_mount(struct fsview *v, uid_t uid, gid_t gid, struct fsview_fault *ret)
{
	const struct stand stand = { uid, gid, false };
	struct devices dev;
	int r = set_all_mounts(0, MS_PRIVATE), proc;

	*ret = (struct fsview_fault){ 0 };
	/* Directories that mounts stand on get the modes that are named here. */
	umask(0);
	if (r < 0)
		return fsview_fail(ret, r == -ENOSYS ? FSVIEW_CALLS : FSVIEW_MOUNTS, r);
	r = places_open_sources(v, ret);
	if (r < 0)
		return r;
	/* While the machine's own /proc is whole and writable: in a user namespace the kernel lets nobody mount one that
	 * shows more. */
	proc = make_filesystem("proc", NULL, HELD | MOUNT_ATTR_NOEXEC);
	if (proc < 0)
		return fsview_fail(ret, FSVIEW_PROC, proc);
	r = devices_open(&dev);
	if (r < 0)
		return fsview_fail(ret, FSVIEW_DEV, r);
	/* After the sources were opened: the copy of a read-only mount is read-only. */
	r = set_all_mounts(HELD | MOUNT_ATTR_RDONLY, 0);
	if (r < 0)
		return fsview_fail(ret, FSVIEW_MOUNTS, r);
	r = put_devices(&dev);
	if (r < 0)
		return fsview_fail(ret, FSVIEW_DEV, r);
	r = attach_at(proc, AT_FDCWD, "/proc");
	if (r == 0)
		r = put_covers();
	if (r < 0)
		return fsview_fail(ret, FSVIEW_PROC, r);
	r = put_places(v, stand, &ret->number);
	return r < 0 ? fsview_fail(ret, FSVIEW_PLACE, r) : 0;
}
