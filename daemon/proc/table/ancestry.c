/*
 * ancestry.c - decides whether the peer of a UNIX socket descends from the daemon.
 *
 * Any of three traces suffices, because a process can lack each: descent, cgroup, marker in the
 * environment. The pidfd is polled after the files of the pid were read: a peer that has ended by
 * then could have passed its number to another process, and counts as a descendant. A parent that
 * exits during the walk is looked up again through its child. ANCESTRY_DEPTH_MAX and
 * ANCESTRY_FILE_MAX bound the work.
 */
#include "proc/table/ancestry.h"

#include "base/buf.h"
#include "base/os/file.h"
#include "base/limits.h"
#include "base/util.h"
#include "proc/table/process_tree.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

int ancestry_peer(int socket, struct peer_process *ret)
{
	struct ucred cred;
	socklen_t n = sizeof(cred), m = sizeof(ret->pidfd);

	*ret = (struct peer_process){ .pidfd = -1 };
	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &cred, &n) < 0)
		return -errno;
	ret->pid = cred.pid;
	if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &ret->pidfd, &m) == 0)
		return 0;
	ret->pidfd = -1;
	return errno == ENOPROTOOPT || cred.pid == 0 ? 0 : -errno;
}

/* A file of /proc/PID as a string. */
static int read_proc(pid_t pid, const char *name, struct buf *ret)
{
	int r;

	r = file_read(SHORT_TEXT(64, "/proc/%d/%s", (int)pid, name), ANCESTRY_FILE_MAX, ret);
	return r < 0 ? r : buf_putc(ret, '\0');
}

/* -errno if the process is gone, or is hidden from us. */
static int process_parent(pid_t pid, pid_t *ret)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	int r = read_proc(pid, "stat", &b), ppid;
	const char *after = r < 0 ? NULL : strrchr(b.data, ')');

	if (!after || sscanf(after + 1, " %*c %d", &ppid) != 1)
		return r < 0 ? r : -EINVAL;
	*ret = ppid;
	return 0;
}

/* A parent may end while we climb; its child then has another. Who is hidden (hidepid) is none that we started as
 * our own. */
static bool descends(pid_t pid)
{
	pid_t child = 0, parent;

	for (int i = 0; i < ANCESTRY_DEPTH_MAX; i++) {
		if (pid == getpid())
			return true;
		if (pid <= 1)
			return false;
		if (process_parent(pid, &parent) == 0) {
			child = pid;
			pid = parent;
		} else if (child && process_parent(child, &parent) == 0 && parent != pid) {
			pid = parent;
		} else {
			return !child && kill(pid, 0) < 0 && errno == ESRCH;
		}
	}
	return true;
}

static bool in_cgroup(pid_t pid, const char *cgroup)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	const char *name = cgroup ? strrchr(cgroup, '/') : NULL, *at;

	if (!name || read_proc(pid, "cgroup", &b) < 0)
		return false;
	at = strstr(b.data, name);
	return at && (at[strlen(name)] == '/' || at[strlen(name)] == '\n');
}

static bool carries_marker(pid_t pid)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	size_t n = strlen(TREE_OWNER_ENV);

	if (read_proc(pid, "environ", &b) < 0)
		return false;
	for (const char *p = b.data; p < b.data + b.len; p += strlen(p) + 1)
		if (strncmp(p, TREE_OWNER_ENV, n) == 0 && p[n] == '=' &&
		    strcmp(p + n + 1, tree_owner_mark()) == 0)
			return true;
	return false;
}

/* Its number may be another's by now. */
static bool has_ended(const struct peer_process *peer)
{
	struct pollfd p = { .fd = peer->pidfd, .events = POLLIN };

	return peer->pidfd >= 0 && poll(&p, 1, 0) != 0;
}

bool ancestry_is_ours(const struct peer_process *peer, const char *cgroup)
{
	return peer->pid && (descends(peer->pid) || in_cgroup(peer->pid, cgroup) ||
			     carries_marker(peer->pid) || has_ended(peer));
}
