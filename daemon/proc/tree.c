#include "proc/tree.h"

#include "base/file.h"
#include "base/util.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>

struct entry {
	pid_t pid, ppid, sid;
	bool mine;   /* descends from the daemon */
	bool wanted; /* belongs to the session asked for */
	bool marked; /* carries some session marker */
};

struct table {
	struct entry *e;
	size_t n, cap;
};

static void table_done(struct table *t)
{
	free(t->e);
}

/* Fields 4 (ppid) and 6 (session) of /proc/pid/stat; false for zombies and the vanished. */
static bool read_stat(pid_t pid, struct entry *ret)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	char path[40], state, *after;
	int ppid, sid;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (file_read(path, 4096, &b) < 0 || buf_putc(&b, '\0') < 0)
		return false;
	after = strrchr(b.data, ')');
	if (!after || sscanf(after + 1, " %c %d %*d %d", &state, &ppid, &sid) != 3)
		return false;
	*ret = (struct entry){ .pid = pid, .ppid = ppid, .sid = sid };
	return state != 'Z' && state != 'X';
}

static void table_read(struct table *t)
{
	DIR *d = opendir("/proc");
	struct dirent *de;

	while (d && (de = readdir(d))) {
		struct entry e;

		if (!isdigit((unsigned char)de->d_name[0]) ||
		    !read_stat((pid_t)atoi(de->d_name), &e))
			continue;
		if (t->n == t->cap) {
			t->cap = t->cap ? 2 * t->cap : 256;
			t->e = realloc(t->e, t->cap * sizeof(*t->e));
			if (!t->e)
				abort();
		}
		t->e[t->n++] = e;
	}
	if (d)
		closedir(d);
}

static struct entry *table_find(struct table *t, pid_t pid)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->e[i].pid == pid)
			return &t->e[i];
	return NULL;
}

/* True if the environment has "NAME=value" (value NULL: NAME with any value). */
static bool env_has(pid_t pid, const char *name, const char *value)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	size_t n = strlen(name);
	char path[40];

	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	if (file_read(path, 4 * 1024 * 1024, &b) < 0 || buf_putc(&b, '\0') < 0)
		return false;
	for (const char *p = b.data; p < b.data + b.len; p += strlen(p) + 1)
		if (strncmp(p, name, n) == 0 && p[n] == '=' &&
		    (!value || strcmp(p + n + 1, value) == 0))
			return true;
	return false;
}

/* By its number where no pidfd is to be had (a filter of system calls, valgrind): better than to leave it alive. */
static bool kill_one(pid_t pid)
{
	_cleanup_(closep) int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct entry now;

	if ((fd < 0 && errno == ESRCH) || !read_stat(pid, &now))
		return false;
	return (fd < 0 ? kill(pid, SIGKILL) :
			 syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0)) == 0;
}

/* Carries a property from parents to children until nothing changes; the table is in no useful order. */
static void spread(struct table *t)
{
	bool changed = true;

	while (changed) {
		changed = false;
		for (size_t i = 0; i < t->n; i++) {
			struct entry *e = &t->e[i], *p = table_find(t, e->ppid);

			if (!p || p->pid == getpid())
				continue;
			if ((p->mine && !e->mine) || (p->wanted && !e->wanted)) {
				e->mine |= p->mine;
				e->wanted |= p->wanted;
				changed = true;
			}
		}
	}
}

static void table_read_descendants(struct table *t)
{
	table_read(t);
	for (size_t i = 0; i < t->n; i++)
		t->e[i].mine = t->e[i].ppid == getpid();
	spread(t);
}

static int kill_wanted(const struct table *t)
{
	int found = 0;

	for (size_t i = 0; i < t->n; i++)
		found += t->e[i].wanted && kill_one(t->e[i].pid);
	return found;
}

int tree_kill_session(const char *session, pid_t leader, bool strays, bool (*is_own)(pid_t pid))
{
	_cleanup_(table_done) struct table t = { 0 };

	table_read_descendants(&t);
	for (size_t i = 0; i < t.n; i++) {
		struct entry *e = &t.e[i];

		if (!e->mine)
			continue;
		e->marked = env_has(e->pid, TREE_SESSION_ENV, NULL);
		e->wanted = (leader > 0 && e->sid == leader) ||
			    (e->marked && env_has(e->pid, TREE_SESSION_ENV, session)) ||
			    (strays && !e->marked && e->ppid == getpid() && !is_own(e->pid));
	}
	spread(&t);
	return kill_wanted(&t);
}

int tree_kill_descendants(void)
{
	_cleanup_(table_done) struct table t = { 0 };

	table_read_descendants(&t);
	for (size_t i = 0; i < t.n; i++)
		t.e[i].wanted = t.e[i].mine;
	return kill_wanted(&t);
}

int tree_kill_owner(const char *incarnation)
{
	_cleanup_(table_done) struct table t = { 0 };

	table_read(&t);
	for (size_t i = 0; i < t.n; i++)
		t.e[i].wanted = t.e[i].pid != getpid() &&
				env_has(t.e[i].pid, TREE_OWNER_ENV, incarnation);
	spread(&t);
	return kill_wanted(&t);
}
