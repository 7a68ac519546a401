/*
 * listening.c - TCP listeners that loopback can reach in this network namespace, and the process of each, from /proc.
 *
 * /proc/net/tcp has the inode of a socket, not its process. Therefore all links in /proc/PID/fd are searched for
 * socket:[INODE], up to DOCTOR_OPEN_FILES_MAX of them: with more sockets or descriptors than a machine needs some
 * stay unnamed. Processes of other users may be unreadable; then only the uid is known. The name of a process is
 * untrusted and flattened to one line.
 */
#include "cli/doctor/doctor.h"

#include "base/err.h"
#include "base/os/file.h"
#include "base/util.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>

#define STATE_LISTEN 0x0a

struct socket_list {
	struct listening *at;
	size_t n, max;
};

/* The kernel prints an address as one or four numbers of this machine's byte order. */
static bool listening_address(const char *hex, int family, char *ret)
{
	unsigned words[4] = { 0 };
	struct in6_addr a;
	int n = sscanf(hex, "%8x%8x%8x%8x", &words[0], &words[1], &words[2], &words[3]);

	if (n != (family == AF_INET ? 1 : 4))
		return false;
	memcpy(&a, words, sizeof(a));
	if (!inet_ntop(family, &a, ret, INET6_ADDRSTRLEN))
		return false;
	if (family == AF_INET)
		return words[0] == 0 || *(unsigned char *)&a == 127;
	return IN6_IS_ADDR_UNSPECIFIED(&a) || IN6_IS_ADDR_LOOPBACK(&a) ||
	       (IN6_IS_ADDR_V4MAPPED(&a) && (a.s6_addr[12] == 127 || a.s6_addr32[3] == 0));
}

static void listening_take_line(struct socket_list *l, const char *line, int family)
{
	unsigned port, state, uid;
	struct listening one = { 0 };
	unsigned long long inode;
	char hex[33];

	if (l->n < l->max &&
	    sscanf(line, " %*d: %32[0-9A-Fa-f]:%4x %*s %2x %*s %*s %*s %u %*d %llu", hex, &port,
		   &state, &uid, &inode) == 5 &&
	    state == STATE_LISTEN && listening_address(hex, family, one.address)) {
		one.port = (uint16_t)port;
		one.uid = uid;
		one.inode = inode;
		l->at[l->n++] = one;
	}
}

static void read_list(struct socket_list *l, const char *path, int family)
{
	FILE *f = fopen(path, "re");
	size_t read = 0;
	char line[512];

	while (f && read < DOCTOR_SOCKETS_MAX && fgets(line, sizeof(line), f)) {
		read += strlen(line);
		listening_take_line(l, line, family);
	}
	if (f)
		fclose(f);
}

/* --- whose they are ----------------------------------------------------------------------------------------- */

static void name_process(struct listening *one, pid_t pid)
{
	FILE *f;

	one->pid = pid;
	f = fopen(SHORT_TEXT(48, "/proc/%d/comm", (int)pid), "re");
	if (f && fgets(one->command, sizeof(one->command), f))
		one->command[strcspn(one->command, "\n")] = '\0';
	err_flatten(one->command);
	if (f)
		fclose(f);
}

static void listening_take_link(struct socket_list *l, pid_t pid, const char *target)
{
	unsigned long long inode;

	if (sscanf(target, "socket:[%llu]", &inode) != 1)
		return;
	for (size_t i = 0; i < l->n; i++)
		if (l->at[i].inode == inode && !l->at[i].pid)
			name_process(&l->at[i], pid);
}

static void look_at_process(struct socket_list *l, const char *name, unsigned *left)
{
	char target[64];
	const struct dirent *e;
	_cleanup_(closedirp) DIR *dir = NULL;

	dir = opendir(SHORT_TEXT(300, "/proc/%s/fd", name));
	while (dir && *left && (e = readdir(dir))) {
		ssize_t n = readlinkat(dirfd(dir), e->d_name, target, sizeof(target) - 1);

		--*left;
		target[MAX(n, 0)] = '\0';
		listening_take_link(l, (pid_t)atoi(name), target);
	}
}

static void name_all(struct socket_list *l)
{
	unsigned left = DOCTOR_OPEN_FILES_MAX;
	_cleanup_(closedirp) DIR *dir = opendir("/proc");
	const struct dirent *e;

	while (dir && left && (e = readdir(dir)))
		if (isdigit((unsigned char)*e->d_name))
			look_at_process(l, e->d_name, &left);
}

static int by_port(const void *a, const void *b)
{
	return ((const struct listening *)a)->port - ((const struct listening *)b)->port;
}

size_t listening_find(struct listening *ret, size_t max)
{
	struct socket_list l = { ret, 0, max };

	read_list(&l, "/proc/net/tcp", AF_INET);
	read_list(&l, "/proc/net/tcp6", AF_INET6);
	name_all(&l);
	qsort(ret, l.n, sizeof(*ret), by_port);
	return l.n;
}

const char *listening_owner(const struct listening *l, char *out, size_t size)
{
	if (l->pid)
		snprintf(out, size, "%s (pid %d)", l->command, (int)l->pid);
	else
		snprintf(out, size, "a process of uid %u", (unsigned)l->uid);
	return out;
}
