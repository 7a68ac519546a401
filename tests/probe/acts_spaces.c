/* SPDX-License-Identifier: Apache-2.0 */
/* acts_spaces.c - namespaces of each kind by each call, mounts, roots, device nodes; and what root of its own namespaces may. */
#include "probe.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#define TEXT(s) (uintptr_t)(s)

static long child_ended(long pid)
{
	if (pid == 0)
		_exit(0);
	if (pid > 0)
		waitpid((pid_t)pid, NULL, 0);
	return pid;
}

static long by_clone(const struct act *a)
{
	return child_ended(syscall(SYS_clone, a->args[0] | SIGCHLD, 0, 0, 0, 0));
}

static long by_clone3(const struct act *a)
{
	struct clone_args args = { .flags = a->args[0], .exit_signal = SIGCHLD };

	return child_ended(syscall(SYS_clone3, &args, sizeof(args)));
}

static long enter(const struct act *a)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%s/ns/%s", a->key ? given(a->key) : "self", a->text);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? fd : setns(fd, 0);
}

/* Of a directory that is no mount, if that is asked. */
static long set_mount(const struct act *a)
{
	struct mount_attr read_only = { .attr_set = 1 };

	(void)a;
	return syscall(SYS_mount_setattr, AT_FDCWD, "/tmp", 0, &read_only, sizeof(read_only));
}

static long make_node(const struct act *a)
{
	char path[64];
	long r;

	snprintf(path, sizeof(path), "/tmp/acpd-probe-node-%d", (int)getpid());
	r = mknod(path, (mode_t)a->args[0] | 0600, makedev(1, 3)); /* as /dev/null */
	if (r == 0)
		unlink(path);
	return r;
}

static long mount_inside(const struct act *a)
{
	(void)a;
	if (become_root_inside() < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return -1;
	return mount("probe", "/tmp", "tmpfs", 0, NULL);
}

static long node_inside(const struct act *a)
{
	return become_root_inside() < 0 ? -1 : make_node(a);
}

static long call_inside(const struct act *a)
{
	if (become_root_inside() < 0)
		return -1;
	return syscall(a->call, a->args[0], a->args[1], a->args[2], a->args[3], a->args[4],
		       a->args[5]);
}

#define CALL(name, call, ...)                                                                      \
	{                                                                                          \
		name, NULL, call, { __VA_ARGS__ }, NULL, NULL                                      \
	}
#define INSIDE(name, call, ...)                                                                    \
	{                                                                                          \
		"inside/" name, call_inside, call, { __VA_ARGS__ }, NULL, NULL                     \
	}
#define OWN CLONE_NEWUSER
/* A kind alone, and beside a user namespace, which makes anybody root in it. */
#define KIND(name, flag)                                                                           \
	CALL("unshare/" name, SYS_unshare, flag),                                                  \
		CALL("unshare/user+" name, SYS_unshare, OWN | flag),                               \
		{ "clone/user+" name, by_clone, 0, { OWN | flag }, NULL, NULL },                   \
	{                                                                                          \
		"clone3/user+" name, by_clone3, 0, { OWN | flag }, NULL, NULL                      \
	}
#define ENTER(name)                                                                                \
	{ "setns/" name, enter, 0, { 0 }, NULL, name },                                            \
	{                                                                                          \
		"setns/daemon-" name, enter, 0, { 0 }, "daemon", name                              \
	}

const struct act acts_spaces[] = {
	CALL("unshare/user", SYS_unshare, CLONE_NEWUSER),
	{ "clone/user", by_clone, 0, { CLONE_NEWUSER }, NULL, NULL },
	{ "clone3/user", by_clone3, 0, { CLONE_NEWUSER }, NULL, NULL },
	KIND("mount", CLONE_NEWNS),
	KIND("pid", CLONE_NEWPID),
	KIND("net", CLONE_NEWNET),
	KIND("ipc", CLONE_NEWIPC),
	KIND("uts", CLONE_NEWUTS),
	KIND("cgroup", CLONE_NEWCGROUP),
	CALL("unshare/time", SYS_unshare, CLONE_NEWTIME),
	CALL("unshare/user+time", SYS_unshare, OWN | CLONE_NEWTIME),
	{ "clone3/user+time", by_clone3, 0, { OWN | CLONE_NEWTIME }, NULL, NULL },
	ENTER("user"),
	ENTER("mnt"),
	ENTER("net"),
	ENTER("pid"),

	CALL("mount/tmpfs", SYS_mount, TEXT("probe"), TEXT("/tmp"), TEXT("tmpfs"), MS_RDONLY, 0),
	CALL("mount/bind", SYS_mount, TEXT("/etc"), TEXT("/tmp"), 0, MS_BIND, 0),
	CALL("mount/remount", SYS_mount, 0, TEXT("/proc"), 0, MS_REMOUNT, 0),
	CALL("umount2", SYS_umount2, TEXT("/tmp"), MNT_DETACH), /* no mount, if it is asked */
	CALL("pivot_root", SYS_pivot_root, TEXT("/no/such/place"), TEXT("/no/such/place")),
	CALL("chroot", SYS_chroot, TEXT("/")),
	CALL("move_mount", SYS_move_mount, -1, TEXT(""), -1, TEXT(""), 0),
	CALL("open_tree", SYS_open_tree, AT_FDCWD, TEXT("/tmp"), 1 /* OPEN_TREE_CLONE */),
	CALL("fsopen", SYS_fsopen, TEXT("tmpfs"), 0),
	CALL("fspick", SYS_fspick, AT_FDCWD, TEXT("/proc"), 0),
	CALL("fsmount", SYS_fsmount, -1, 0, 0),
	CALL("fsconfig", SYS_fsconfig, -1, 0, 0, 0, 0),
	{ "mount_setattr", set_mount, 0, { 0 }, NULL, NULL },
	CALL("sethostname", SYS_sethostname, TEXT(""), -1),
	CALL("setdomainname", SYS_setdomainname, TEXT(""), -1),
	{ "mknod/character", make_node, 0, { S_IFCHR }, NULL, NULL },
	{ "mknod/block", make_node, 0, { S_IFBLK }, NULL, NULL },

	{ "inside/mount", mount_inside, 0, { 0 }, NULL, NULL },
	{ "inside/mknod", node_inside, 0, { S_IFCHR }, NULL, NULL },
	INSIDE("chroot", SYS_chroot, TEXT("/")),
	INSIDE("sethostname", SYS_sethostname, TEXT("probe"), 5),
	INSIDE("bpf", SYS_bpf, 0, 0, 0),
	INSIDE("reboot", SYS_reboot, 0, 0, 0, 0),
	INSIDE("settimeofday", SYS_settimeofday, 0, 0),
	INSIDE("init_module", SYS_init_module, 0, 0, TEXT("")),
	INSIDE("swapoff", SYS_swapoff, TEXT("/no/such/file")),
	{ 0 },
};
