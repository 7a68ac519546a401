/*
 * proc_group.c - the cgroups of one session: limits, counters, and membership of its children.
 *
 * The directories exist while a seat is occupied; counters of removed ones are added to past_*. A
 * directory that could not be removed is reused, and its earlier kills are subtracted
 * (kills_before). A child writes "0" into descriptors of cgroup.procs before exec, so its program
 * never runs outside. v1 requires memory <= memory+swap at each step, so memory is set before and
 * after memory+swap.
 */
#include "proc/cgroup/proc_group.h"

#include "base/util.h"
#include "base/log.h"
#include "base/os/file.h"
#include "proc/cgroup/cgroup_place.h"

#include <dirent.h>

struct proc_group {
	unsigned refs, seats;
	struct cgroups *groups;
	unsigned weighs;	      /* what it adds to the weight of all (cgroups_weigh) */
	char *name;		      /* of its directory in each hierarchy */
	char *dirs[CGROUP_TREES_MAX]; /* while it has seats */
	struct group_limits limits;
	int failed[CGROUP_LIMITS];	/* errno of the last change; 0 */
	int oom_fd;			/* where the kernel counts kills; -1: not open */
	uint64_t past_kills, past_peak; /* of directories that were removed */
	uint64_t kills_before; /* in one that was there before, because it could not be removed */
};

/* --- settings ----------------------------------------------------------------------------------------------- */

/* By the kernel: in v1 a limit is a number, in v2 also a word. A file that need not be there is only written if there is
 * a limit. */
struct group_setting {
	enum cgroup_use use;
	enum cgroup_kind kind;
	const char *name;
	bool optional;
};

/* Of v1's two the lower must always be memory's: whichever goes first, one of two rounds sets both. */
static const struct group_setting settings[] = {
	{ CGROUP_MEMORY, CGROUP_V2, "memory.max", false },
	{ CGROUP_MEMORY, CGROUP_V2, "memory.swap.max", true },
	{ CGROUP_MEMORY, CGROUP_V1, "memory.limit_in_bytes", false },
	{ CGROUP_MEMORY, CGROUP_V1, "memory.memsw.limit_in_bytes", true },
	{ CGROUP_MEMORY, CGROUP_V1, "memory.limit_in_bytes", false },
	{ CGROUP_PIDS, CGROUP_V2, "pids.max", false },
	{ CGROUP_PIDS, CGROUP_V1, "pids.max", false },
	{ CGROUP_CPU, CGROUP_V2, "cpu.weight", false },
	{ CGROUP_CPU, CGROUP_V1, "cpu.shares", false },
};

static unsigned weight_of(const struct group_limits *l)
{
	return l->cpu_weight ? l->cpu_weight : CPU_WEIGHT_EVEN;
}

/* Of all of the daemon's. */
static void group_weigh(struct proc_group *g, unsigned weight)
{
	cgroups_weigh(g->groups, (int)weight - (int)g->weighs);
	g->weighs = weight;
}

static void setting_text(const struct group_setting *s, const struct group_limits *l, char *ret,
			 size_t size)
{
	uint64_t n = s->use == CGROUP_MEMORY ? l->memory :
		     s->use == CGROUP_PIDS   ? l->pids :
					       MAX(cpu_number(weight_of(l), s->kind), 2u);

	if (strcmp(s->name, "memory.swap.max") == 0 && n)
		snprintf(ret, size, "0");
	else if (n)
		snprintf(ret, size, "%llu", (unsigned long long)n);
	else
		snprintf(ret, size, "%s",
			 s->use == CGROUP_MEMORY && s->kind == CGROUP_V1 ? "-1" : "max");
}

static const char *dir_of(const struct proc_group *g, enum cgroup_use use)
{
	int i = cgroups_tree_of(g->groups, use);

	return i < 0 ? NULL : g->dirs[i];
}

/* All settings of that limit; the last word of one that is set twice counts. */
static int set_limit(const struct proc_group *g, enum cgroup_use use)
{
	enum cgroup_kind kind = cgroups_kind(g->groups, use);
	const char *dir = dir_of(g, use);
	int failed = 0;

	for (size_t i = 0; i < ARRAY_SIZE(settings) && dir; i++) {
		const struct group_setting *s = &settings[i];
		char text[24];
		int r;

		if (s->use != use || s->kind != kind)
			continue;
		setting_text(s, &g->limits, text, sizeof(text));
		r = cgroup_dir_write(dir, s->name, text);
		if (!s->optional)
			failed = -r;
	}
	return failed;
}

static int group_set_limits(struct proc_group *g)
{
	int failed = 0;

	for (unsigned use = 0; use < CGROUP_LIMITS; use++) {
		g->failed[use] = set_limit(g, use);
		failed = failed ? failed : g->failed[use];
	}
	return -failed;
}

void proc_group_limit(struct proc_group *g, const struct group_limits *limits)
{
	g->limits = *limits;
	if (g->seats)
		group_weigh(g, weight_of(limits));
	if (group_set_limits(g) < 0)
		log_warn("proc", "a limit cannot be set", "group", g->name);
}

const struct group_limits *proc_group_limits(const struct proc_group *g)
{
	return &g->limits;
}

const char *proc_group_why(const struct proc_group *g, enum cgroup_use use)
{
	if (cgroups_kind(g->groups, use) == CGROUP_NONE)
		return cgroups_why(g->groups, use);
	if (g->failed[use] == EBUSY)
		return "more is in use than the kernel could take back";
	return g->failed[use] ? strerror(g->failed[use]) : "";
}

/* --- directories ---------------------------------------------------------------------------------------------- */

static bool counts_by_v2(const struct proc_group *g)
{
	return cgroups_kind(g->groups, CGROUP_MEMORY) == CGROUP_V2;
}

/* While they are there. */
static uint64_t count_kills(struct proc_group *g)
{
	const char *dir = dir_of(g, CGROUP_MEMORY);

	if (dir && g->oom_fd < 0)
		g->oom_fd = cgroup_dir_open(dir, counts_by_v2(g) ? "memory.events" :
								   "memory.oom_control");
	return cgroup_file_number(g->oom_fd, "oom_kill");
}

uint64_t proc_group_kills(struct proc_group *g)
{
	uint64_t n = count_kills(g);

	return n - MIN(n, g->kills_before) + g->past_kills;
}

uint64_t proc_group_peak(const struct proc_group *g)
{
	const char *dir = dir_of(g, CGROUP_MEMORY);
	const char *file = counts_by_v2(g) ? "memory.peak" : "memory.max_usage_in_bytes";
	uint64_t now = dir ? cgroup_dir_number(dir, file, NULL) : 0;

	return MAX(now, g->past_peak);
}

static void remove_dirs(struct proc_group *g)
{
	/* First: the kernel forgets the counters with the directories. */
	g->past_kills = proc_group_kills(g);
	g->past_peak = proc_group_peak(g);
	closep(&g->oom_fd);
	group_weigh(g, 0);
	for (unsigned i = 0; i < CGROUP_TREES_MAX; i++) {
		cgroup_dir_remove(g->dirs[i]);
		free(TAKE_PTR(g->dirs[i]));
	}
}

static int group_make_dirs(struct proc_group *g)
{
	const char *tree;

	for (unsigned i = 0; (tree = cgroups_tree(g->groups, i)); i++) {
		g->dirs[i] = file_join(tree, g->name);
		if (mkdir(g->dirs[i], 0755) < 0 && errno != EEXIST)
			return -errno;
	}
	g->kills_before = count_kills(g);
	group_weigh(g, weight_of(&g->limits));
	return group_set_limits(g);
}

static int group_occupy(struct proc_group *g)
{
	int r = g->seats ? 0 : group_make_dirs(g);

	if (r < 0)
		remove_dirs(g);
	else
		g->seats++;
	return r;
}

static void group_vacate(struct proc_group *g)
{
	if (--g->seats == 0)
		remove_dirs(g);
}

static void add_id(int dir, const char *name, struct cgroup_ids *ids)
{
	struct stat sb;

	if (fstatat(dir, name, &sb, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(sb.st_mode))
		*GROW(ids->v, ids->n) = sb.st_ino;
}

void proc_group_add_ids(const struct proc_group *g, struct cgroup_ids *ids)
{
	const char *path = dir_of(g, CGROUP_KILLING);
	_cleanup_(closedirp) DIR *d =
		path && cgroups_kind(g->groups, CGROUP_KILLING) == CGROUP_V2 ? opendir(path) : NULL;
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (e->d_type == DT_DIR && strcmp(e->d_name, "..") != 0)
			add_id(dirfd(d), e->d_name, ids);
}

/* Its name must not be that of a child: a process is looked for by the end of its cgroup's path. */
struct proc_group *proc_group_new(struct cgroups *c, const char *session,
				  const struct group_limits *limits)
{
	struct proc_group *g = new0(struct proc_group);

	g->refs = 1;
	g->oom_fd = -1;
	g->groups = c;
	g->limits = *limits;
	g->name = xprintf("%s.all", session);
	return g;
}

struct proc_group *proc_group_ref(struct proc_group *g)
{
	if (g)
		g->refs++;
	return g;
}

struct proc_group *proc_group_unref(struct proc_group *g)
{
	if (!g || --g->refs)
		return NULL;
	free_each(g->name, g);
	return NULL;
}

/* --- the place of a child ------------------------------------------------------------------------------------- */

static int open_procs(struct cgroup_join *j, const char *dir)
{
	_cleanup_(freep) char *procs = file_join(dir, "cgroup.procs");
	int fd = open(procs, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	j->fds[j->n++] = fd;
	return 0;
}

void cgroup_join_close(struct cgroup_join *j)
{
	while (j->n)
		closep(&j->fds[--j->n]);
}

static int cgroup_join_open(const struct cgroup_seat *s, struct cgroup_join *j)
{
	int killing = cgroups_tree_of(s->groups, CGROUP_KILLING), r = 0;

	for (int i = 0; i < CGROUP_TREES_MAX && r == 0; i++) {
		if (i == killing)
			r = open_procs(j, s->dir);
		else if (s->group && s->group->dirs[i])
			r = open_procs(j, s->group->dirs[i]);
	}
	return r;
}

/* Below the session's, so that limits there hold for it. */
static int seat_make_dir(struct cgroup_seat *s, const char *name)
{
	int killing = cgroups_tree_of(s->groups, CGROUP_KILLING);
	const char *parent = killing < 0 ? NULL :
			     s->group	 ? s->group->dirs[killing] :
					   cgroups_path(s->groups, CGROUP_KILLING);

	if (!parent)
		return 0;
	s->dir = file_join(parent, name);
	return mkdir(s->dir, 0755) < 0 && errno != EEXIST ? -errno : 0;
}

int cgroup_seat_take(const struct cgroups *c, struct proc_group *group, const char *name,
		     struct cgroup_seat *ret, struct cgroup_join *ret_join)
{
	int r = group ? group_occupy(group) : 0;

	*ret = (struct cgroup_seat){ .groups = c };
	*ret_join = (struct cgroup_join){ .n = 0 };
	if (r < 0)
		return r;
	/* The session may drop its group before this child has ended. */
	ret->group = proc_group_ref(group);
	r = seat_make_dir(ret, name);
	if (r == 0)
		r = cgroup_join_open(ret, ret_join);
	if (r < 0) {
		cgroup_join_close(ret_join);
		cgroup_seat_leave(ret);
	}
	return r;
}

void cgroup_seat_leave(struct cgroup_seat *s)
{
	cgroup_dir_remove(s->dir);
	if (s->group)
		group_vacate(s->group);
	s->group = proc_group_unref(s->group);
	free(TAKE_PTR(s->dir));
}
