/* SPDX-License-Identifier: Apache-2.0 */
/* acts_files.c - files that are somebody else's: the kernel's, the system's, the daemon's, another session's. Nothing is written. */
#include "probe.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/if_tun.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

/* a->text or what was given: how, is a->call. */
static const char *path_of(const struct act *a)
{
	return a->key ? given(a->key) : a->text;
}

static long open_it(const struct act *a)
{
	int fd = open(path_of(a), (int)a->call | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st;

	/* what /dev/null covers is not there */
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3))
		return fail(ENOENT);
	return fd;
}

static long list_it(const struct act *a)
{
	return opendir(path_of(a)) ? 0 : -1;
}

static long may_write(const struct act *a)
{
	return faccessat(AT_FDCWD, path_of(a), W_OK, AT_EACCESS);
}

static long any_block_device(const struct act *a)
{
	char line[256], name[64], path[80];
	FILE *f = fopen("/proc/partitions", "re");
	int last = ENOENT, fd;

	(void)a;
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, " %*u %*u %*u %63s", name) != 1)
			continue;
		snprintf(path, sizeof(path), "/dev/%s", name);
		fd = open(path, O_RDONLY);
		if (fd >= 0)
			return fd;
		if (errno != ENOENT)
			last = errno;
	}
	return fail(last);
}

/* As it is: who may not change it is told so before that matters. */
static long take_over(const struct act *a)
{
	struct stat st;

	if (stat(a->text, &st) < 0)
		return -1;
	return chown(a->text, st.st_uid, st.st_gid);
}

static long change_mode(const struct act *a)
{
	struct stat st;

	if (stat(a->text, &st) < 0)
		return -1;
	return chmod(a->text, st.st_mode & 07777);
}

static long give_away(const struct act *a)
{
	char path[64];
	int fd;
	long r;

	(void)a;
	snprintf(path, sizeof(path), "/tmp/acpd-probe-file-%d", (int)getpid());
	fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
	if (fd < 0)
		return -1;
	r = fchown(fd, geteuid() == 0 ? 1 : 0, (gid_t)-1);
	unlink(path);
	return r;
}

static long connect_to(const struct act *a)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	strncpy(at.sun_path, given(a->key), sizeof(at.sun_path) - 1);
	return connect(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&at, sizeof(at));
}

/* Who may not know them reads zeros. */
static long read_addresses(const struct act *a)
{
	FILE *f = fopen(a->text, "re");
	unsigned long long address;
	char line[512];

	if (!f)
		return -1;
	if (!fgets(line, sizeof(line), f))
		return fail(ENOENT); /* covered */
	do
		if (sscanf(line, "%llx", &address) == 1 && address)
			return 0;
	while (fgets(line, sizeof(line), f));
	return fail(ENODATA);
}

static long make_tunnel(const struct act *a)
{
	int fd = open("/dev/net/tun", O_RDWR);
	char request[40] = "acpdprobe%d"; /* struct ifreq */

	(void)a;
	*(short *)(void *)(request + 16) = 1; /* IFF_TUN */
	return fd < 0 ? fd : ioctl(fd, TUNSETIFF, request);
}

static long tunnel_inside(const struct act *a)
{
	return become_root_inside() < 0 ? -1 : make_tunnel(a);
}

/* By root of namespaces of its own: without what covers it, and where /dev is seen without its mounts. */
static long uncover(const struct act *a)
{
	static const struct act seen = { .call = O_RDWR, .text = "/tmp/fuse" };
	long fd;

	if (become_root_inside() < 0)
		return -1;
	umount2(a->text, MNT_DETACH);
	fd = open_it(a);
	if (fd >= 0)
		return fd;
	mount("/dev", "/tmp", NULL, MS_BIND, NULL);
	return open_it(&seen);
}

#define READ(path)                                                                                 \
	{                                                                                          \
		"read" path, open_it, O_RDONLY, { 0 }, NULL, path                                  \
	}
#define WRITE(path)                                                                                \
	{                                                                                          \
		"write" path, open_it, O_WRONLY, { 0 }, NULL, path                                 \
	}
#define OPEN(path)                                                                                 \
	{                                                                                          \
		"open" path, open_it, O_RDWR, { 0 }, NULL, path                                    \
	}
#define CHANGE(path)                                                                               \
	{                                                                                          \
		"change" path, may_write, 0, { 0 }, NULL, path                                     \
	}
#define GIVEN(name, fn, how, key)                                                                  \
	{                                                                                          \
		name, fn, how, { 0 }, key, NULL                                                    \
	}

const struct act acts_files[] = {
	READ("/dev/mem"),
	READ("/dev/kmem"),
	READ("/dev/port"),
	READ("/dev/kmsg"),
	READ("/dev/console"),
	READ("/dev/tty0"),
	READ("/dev/loop-control"),
	{ "read/dev/block", any_block_device, 0, { 0 }, NULL, NULL },
	OPEN("/dev/fuse"),
	OPEN("/dev/net/tun"),
	OPEN("/dev/userfaultfd"),
	{ "make/tunnel", make_tunnel, 0, { 0 }, NULL, NULL },
	{ "inside/uncover-fuse", uncover, O_RDWR, { 0 }, NULL, "/dev/fuse" },
	{ "inside/tunnel", tunnel_inside, 0, { 0 }, NULL, NULL },
	{ "read/proc/kallsyms-addresses", read_addresses, 0, { 0 }, NULL, "/proc/kallsyms" },
	READ("/proc/kcore"),
	READ("/proc/1/environ"),
	WRITE("/proc/sysrq-trigger"),
	WRITE("/proc/sys/kernel/core_pattern"),
	WRITE("/proc/sys/kernel/hostname"),
	WRITE("/proc/sys/kernel/modprobe"),
	WRITE("/proc/sys/vm/drop_caches"),
	WRITE("/proc/sys/net/ipv4/ip_forward"),
	WRITE("/sys/kernel/uevent_helper"),
	WRITE("/sys/kernel/mm/transparent_hugepage/enabled"),
	READ("/etc/shadow"),
	WRITE("/etc/passwd"),
	WRITE("/etc/ld.so.preload"),
	CHANGE("/etc"),
	CHANGE("/usr/bin"),
	CHANGE("/usr/lib"),
	CHANGE("/root"),
	CHANGE("/boot"),
	CHANGE("/lib/modules"),
	CHANGE("/sys/fs/cgroup"),
	{ "chown/etc/passwd", take_over, 0, { 0 }, NULL, "/etc/passwd" },
	{ "chmod/etc/passwd", change_mode, 0, { 0 }, NULL, "/etc/passwd" },
	{ "chown/own-to-other", give_away, 0, { 0 }, NULL, NULL },
	GIVEN("daemon/token", open_it, O_RDONLY, "token"),
	GIVEN("daemon/state-list", list_it, 0, "state"),
	GIVEN("daemon/state-change", may_write, 0, "state"),
	GIVEN("daemon/control", connect_to, 0, "control"),
	GIVEN("session/home", list_it, 0, "home"),
	GIVEN("session/home-change", may_write, 0, "home"),
	{ 0 },
};
