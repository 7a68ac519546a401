/*
 * process_tree.c - reads the process table, decides which session each process belongs to, and
 * kills processes.
 *
 * The table is sorted by pid for the lookup of parents. Direct children of the root get a verdict,
 * which spread() passes down. The table changes while it is read, so walks are limited by its size.
 * kill_one opens a pidfd before it compares the start time, so a reused pid is never hit.
 * Environments are read in chunks, whatever their size.
 */
#include "proc/table/process_tree.h"

#include "base/os/file.h"
#include "base/util.h"
#include "base/limits.h"
#include "base/slice.h"

#include <ctype.h>
#include <dirent.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

enum { UNDECIDED = -2, SPARED = -1 }; /* else: the number of a target */

struct tree_process {
	pid_t pid, ppid, sid;
	uint64_t start;
	int verdict;
};

struct table {
	struct tree_process *e; /* by pid */
	size_t n;
};

static void table_done(struct table *t)
{
	free(t->e);
}

/* Fields 4 (ppid), 6 (session) and 22 (start time) of /proc/pid/stat; false for zombies and the vanished. */
static bool read_stat(pid_t pid, struct tree_process *ret)
{
	char text[1024], state, *after;
	unsigned long long start;
	int ppid, sid;

	if (file_of_process(pid, "stat", text, sizeof(text)) <= 0)
		return false;
	after = strrchr(text, ')');
	if (!after || sscanf(after + 1,
			     " %c %d %*d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d"
			     " %*d %llu",
			     &state, &ppid, &sid, &start) != 4)
		return false;
	*ret = (struct tree_process){
		.pid = pid, .ppid = ppid, .sid = sid, .start = start, .verdict = UNDECIDED
	};
	return state != 'Z' && state != 'X';
}

uint64_t tree_start_time(pid_t pid)
{
	struct tree_process e;

	return read_stat(pid, &e) ? e.start : 0;
}

uint64_t tree_pid_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) < 0 ? 0 : st.st_ino;
}

const char *tree_owner_mark(void)
{
	static char mark[TREE_OWNER_MARK_MAX];

	if (!mark[0])
		snprintf(mark, sizeof(mark), "%d-%llu-%llu", (int)getpid(),
			 (unsigned long long)tree_start_time(getpid()),
			 (unsigned long long)tree_pid_namespace());
	return mark;
}

static int by_pid(const void *a, const void *b)
{
	const struct tree_process *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

static void table_read(struct table *t)
{
	_cleanup_(closedirp) DIR *d = opendir("/proc");
	struct dirent *de;

	while (d && (de = readdir(d))) {
		struct tree_process e;

		if (!isdigit((unsigned char)de->d_name[0]) ||
		    !read_stat((pid_t)atoi(de->d_name), &e))
			continue;
		*GROW(t->e, t->n) = e;
	}
	if (t->n)
		qsort(t->e, t->n, sizeof(*t->e), by_pid);
}

static struct tree_process *table_parent(struct table *t, const struct tree_process *e)
{
	struct tree_process key = { .pid = e->ppid };

	return bsearch(&key, t->e, t->n, sizeof(*t->e), by_pid);
}

/* Whatever is undecided shares the lot of its parent; above everything stands SPARED. */
static void spread(struct table *t)
{
	for (size_t i = 0; i < t->n; i++) {
		struct tree_process *e = &t->e[i];
		size_t steps =
			0; /* a table that was read while it changed may go round in a circle */
		int verdict;

		while (e && e->verdict == UNDECIDED && steps++ < t->n)
			e = table_parent(t, e);
		verdict = e && e->verdict != UNDECIDED ? e->verdict : SPARED;
		for (e = &t->e[i]; e && e->verdict == UNDECIDED; e = table_parent(t, e))
			e->verdict = verdict;
	}
}

static bool kill_one(const struct tree_process *e)
{
	_cleanup_(closep) int fd = (int)syscall(SYS_pidfd_open, e->pid, 0);
	struct tree_process now;

	if ((fd < 0 && errno == ESRCH) || !read_stat(e->pid, &now) || now.start != e->start)
		return false;
	return (fd < 0 ? kill(e->pid, SIGKILL) :
			 syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0)) == 0;
}

/* --- environments ------------------------------------------------------------------------------------------- */

/* A variable as far as it was read: markers are short, the rest of a long one is let go. */
struct variable {
	char text[TREE_MARKER_MAX];
	size_t n;
};

/* The next piece of an environment; fn is called with each value of the variable called name. */
static void environ_feed(struct variable *v, struct slice piece, const char *name,
			 void (*fn)(void *ctx, const char *value), void *ctx)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < piece.n; i++) {
		if (piece.p[i]) {
			if (v->n < sizeof(v->text) - 1)
				v->text[v->n++] = piece.p[i];
			continue;
		}
		v->text[v->n] = '\0';
		if (v->n > len && v->text[len] == '=' && memcmp(v->text, name, len) == 0)
			fn(ctx, v->text + len + 1);
		v->n = 0;
	}
}

static void each_value(pid_t pid, const char *name, void (*fn)(void *ctx, const char *value),
		       void *ctx)
{
	char piece[TREE_READ_BYTES];
	_cleanup_(closep) int fd = -1;
	struct variable v = { .n = 0 };
	ssize_t n;

	fd = open(SHORT_TEXT(40, "/proc/%d/environ", (int)pid), O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && (n = read(fd, piece, sizeof(piece))) > 0)
		environ_feed(&v, (struct slice){ piece, (size_t)n }, name, fn, ctx);
}

/* --- whose is it -------------------------------------------------------------------------------------------- */

struct orphan {
	struct tree_target *targets;
	const struct tree_own *own;
	size_t ntargets, nown;
	int target;  /* that it names; SPARED: none */
	bool others; /* it names a session that lives */
};

static void on_session_value(void *ctx, const char *value)
{
	struct orphan *o = ctx;

	for (size_t i = 0; i < o->ntargets; i++)
		if (strcmp(o->targets[i].session, value) == 0)
			o->target = (int)i;
	for (size_t i = 0; i < o->nown; i++)
		o->others |= strcmp(o->own[i].session, value) == 0;
}

/* Its cgroup is named after the session: an environment may have been cleared. */
static bool in_group(pid_t pid, const char *session)
{
	char text[4096], want[TREE_MARKER_MAX];

	snprintf(want, sizeof(want), "/%s\n", session);
	return file_of_process(pid, "cgroup", text, sizeof(text)) > 0 && strstr(text, want);
}

static bool in_time(const struct tree_process *e, const struct tree_target *w)
{
	return e->start >= w->from && (!w->until || e->start < w->until);
}

/* Whose pid namespace this is the first process of; NULL: of none. */
static const char *session_inside(pid_t pid, const struct orphan *o)
{
	for (size_t i = 0; i < o->nown; i++)
		if (o->own[i].init && o->own[i].pid == pid)
			return o->own[i].session;
	return NULL;
}

/* The one that it was started with; 0: it has gone, or is root's. */
static uid_t real_uid(pid_t pid)
{
	char text[2048], *line;

	if (file_of_process(pid, "status", text, sizeof(text)) <= 0)
		return 0;
	line = strstr(text, "\nUid:");
	return line ? (uid_t)strtoul(line + 5, NULL, 10) : 0;
}

static bool runs_as(const struct tree_process *e, uid_t uid)
{
	return uid && real_uid(e->pid) == uid;
}

static int orphan_target(const struct tree_process *e, struct orphan o)
{
	const char *inside = session_inside(e->ppid, &o);

	for (size_t i = 0; i < o.nown; i++)
		if (o.own[i].pid == e->pid)
			return SPARED;
	for (size_t i = 0; i < o.ntargets; i++)
		if ((o.targets[i].leader > 0 && o.targets[i].leader == e->sid) ||
		    runs_as(e, o.targets[i].uid) ||
		    (o.targets[i].from && in_group(e->pid, o.targets[i].session)))
			return (int)i;
	o.target = SPARED;
	each_value(e->pid, TREE_SESSION_ENV, on_session_value, &o);
	for (size_t i = 0; i < o.ntargets && o.target == SPARED; i++)
		if (inside ? strcmp(inside, o.targets[i].session) == 0 :
			     o.targets[i].strays && !o.others)
			o.target = (int)i;
	return o.target;
}

/* Of what hangs directly on us: a child of ours that lives, or what was orphaned. What is younger than the list of
 * our children may be one of them that is not in it: it is left for the next round. */
static int judge_child(const struct tree_process *e, struct orphan o, uint64_t since)
{
	int target = orphan_target(e, o);

	if (target >= 0 && o.targets[target].from && !in_time(e, &o.targets[target]))
		return SPARED;
	if (target < 0 || e->start < since)
		return target;
	o.targets[target].found++;
	return SPARED;
}

/* --- what a turn left below a leader that lives on ------------------------------------------------------------ */

/* Where its standard input leads to; empty: unknown. */
static void input_of(pid_t pid, char *ret, size_t size)
{
	ssize_t n;

	n = readlink(SHORT_TEXT(40, "/proc/%d/fd/0", (int)pid), ret, size - 1);
	ret[n > 0 ? n : 0] = '\0';
}

/* It is fed by somebody: a server of the harness's, which has nothing to do with one turn. */
static bool is_helper(pid_t pid, pid_t leader)
{
	char own[64], leaders[64];

	input_of(pid, own, sizeof(own));
	input_of(leader, leaders, sizeof(leaders));
	return !*own || (strcmp(own, leaders) != 0 &&
			 (strncmp(own, "pipe:", 5) == 0 || strncmp(own, "socket:", 7) == 0));
}

static bool descends_from(struct table *t, const struct tree_process *e, pid_t leader)
{
	for (size_t steps = 0; e && steps < t->n; steps++, e = table_parent(t, e))
		if (e->ppid == leader)
			return true;
	return false;
}

static void judge_attached(struct table *t, const struct tree_target *w, int target)
{
	for (size_t i = 0; i < t->n; i++) {
		struct tree_process *e = &t->e[i];

		if (e->verdict != UNDECIDED || !in_time(e, w) || !descends_from(t, e, w->leader) ||
		    (e->sid == w->leader && is_helper(e->pid, w->leader)))
			continue;
		e->verdict = target;
	}
}

uint64_t tree_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return (uint64_t)ts.tv_sec * (uint64_t)sysconf(_SC_CLK_TCK) +
	       (uint64_t)ts.tv_nsec * (uint64_t)sysconf(_SC_CLK_TCK) / 1000000000;
}

void tree_kill_sessions(pid_t root, struct tree_target *targets, size_t ntargets,
			const struct tree_own *own, size_t nown, uint64_t since)
{
	_cleanup_(table_done) struct table t = { 0 };
	const struct orphan about = {
		.targets = targets, .own = own, .ntargets = ntargets, .nown = nown
	};

	table_read(&t);
	for (size_t i = 0; i < t.n; i++) {
		struct tree_process *e = &t.e[i];

		if (e->pid == root)
			e->verdict = SPARED;
		else if (e->ppid == root || session_inside(e->ppid, &about))
			e->verdict = judge_child(e, about, since);
	}
	for (size_t i = 0; i < ntargets; i++)
		if (targets[i].from)
			judge_attached(&t, &targets[i], (int)i);
	spread(&t);
	for (size_t i = 0; i < t.n; i++)
		if (t.e[i].verdict >= 0)
			targets[t.e[i].verdict].found += kill_one(&t.e[i]);
}

static int table_kill(struct table *t)
{
	int found = 0;

	spread(t);
	for (size_t i = 0; i < t->n; i++)
		found += t->e[i].verdict >= 0 && kill_one(&t->e[i]);
	return found;
}

/* Then nothing descends from us either: what is orphaned below us becomes our child. */
static bool is_childless(void)
{
	siginfo_t info;

	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) < 0 && errno == ECHILD;
}

int tree_kill_descendants(void)
{
	_cleanup_(table_done) struct table t = { 0 };

	if (is_childless())
		return 0;
	table_read(&t);
	for (size_t i = 0; i < t.n; i++)
		if (t.e[i].ppid == getpid())
			t.e[i].verdict = 0;
		else if (t.e[i].pid == getpid())
			t.e[i].verdict = SPARED;
	return table_kill(&t);
}

struct owned {
	const char *mark;
	bool yes;
};

static void on_owner(void *ctx, const char *value)
{
	struct owned *o = ctx;

	o->yes |= strcmp(value, o->mark) == 0;
}

int tree_kill_owner(const char *mark)
{
	_cleanup_(table_done) struct table t = { 0 };

	table_read(&t);
	for (size_t i = 0; i < t.n; i++) {
		struct owned o = { mark, false };

		if (t.e[i].pid != getpid())
			each_value(t.e[i].pid, TREE_OWNER_ENV, on_owner, &o);
		else
			t.e[i].verdict = SPARED;
		if (o.yes)
			t.e[i].verdict = 0;
	}
	return table_kill(&t);
}
