/*
 * cgroups.c - selects a hierarchy for each use, and enables controllers of v2 for the groups of
 * sessions.
 *
 * v2 is tried first; v1 supplies what it lacks. A v2 group with processes cannot enable controllers
 * for its children (cgroups(7), no internal processes): after EBUSY the daemon moves into a leaf
 * and retries. cgroups_close disables only controllers that needed the move, since other processes
 * can rely on the rest. The reason of each failure is stored for /ready and doctor.
 */
#include "proc/cgroup/cgroups.h"

#include "base/os/file.h"
#include "base/util.h"
#include "proc/cgroup/group_limits.h"

#define OWN_LEAF "daemon"

struct cgroup_tree {
	enum cgroup_kind kind;
	char *parent, *path; /* our own group as we found it, and the daemon's directory in it */
	int lock;	     /* its directory, locked */
	unsigned delegated;  /* of v2: uses whose controllers we have turned on in parent */
	bool moved;	     /* of v2: we sit in the leaf */
};

struct cgroups {
	struct cgroup_tree trees[CGROUP_TREES_MAX];
	unsigned ntrees;
	int of[CGROUP_USES]; /* index of trees, or -1 */
	int weight;	     /* of all sessions' groups */
	char why[CGROUP_USES][192];
};

static const char *const controllers[CGROUP_LIMITS] = {
	[CGROUP_MEMORY] = "memory",
	[CGROUP_PIDS] = "pids",
	[CGROUP_CPU] = "cpu",
};

/* --- a hierarchy ------------------------------------------------------------------------------------------ */

static void cgroup_tree_done(struct cgroup_tree *t)
{
	free_each(t->parent, t->path);
	closep(&t->lock);
}

/* The hierarchy where our group is parent; a negative errno if it lets us make no group. */
static int tree_add(struct cgroups *c, enum cgroup_kind kind, const char *parent, const char *mark)
{
	struct cgroup_tree *t = &c->trees[c->ntrees];
	_cleanup_(freep) char *dir = NULL;

	for (unsigned i = 0; i < c->ntrees; i++)
		if (strcmp(c->trees[i].parent, parent) == 0)
			return (int)i;
	dir = xprintf("%s/acpd-%s", parent, mark);
	*t = (struct cgroup_tree){ .kind = kind, .lock = cgroup_dir_make(dir) };
	if (t->lock < 0)
		return t->lock;
	cgroup_dir_remove_dead(parent);
	t->parent = xstrdup(parent);
	t->path = TAKE_PTR(dir);
	return (int)c->ntrees++;
}

static int tree_find(struct cgroups *c, const struct cgroup_view *v, enum cgroup_kind kind,
		     const char *controller, const char *mark)
{
	_cleanup_(freep) char *parent = cgroup_place_find(v, kind, controller, NULL);

	return parent ? tree_add(c, kind, parent, mark) : -ENOENT;
}

/* --- v2: controllers for our groups ------------------------------------------------------------------------- */

static int switch_controller(const char *dir, const char *sign, enum cgroup_use use)
{
	return cgroup_dir_write(dir, "cgroup.subtree_control",
				SHORT_TEXT(16, "%s%s", sign, controllers[use]));
}

/* The uses whose controllers the file names, as bits. */
static unsigned controllers_listed(const char *dir, const char *file)
{
	char text[512], *rest = text, *word;
	unsigned found = 0;

	if (cgroup_dir_read(dir, file, text, sizeof(text)) <= 0)
		return 0;
	while ((word = strsep(&rest, " \n")))
		for (unsigned use = 0; use < CGROUP_LIMITS; use++)
			if (strcmp(word, controllers[use]) == 0)
				found |= 1u << use;
	return found;
}

static int move_to(const char *dir)
{
	return cgroup_dir_write(dir, "cgroup.procs", "0");
}

static void leave_leaf(struct cgroup_tree *t)
{
	_cleanup_(freep) char *leaf = file_join(t->path, OWN_LEAF);

	if (t->moved && move_to(t->parent) == 0)
		rmdir(leaf);
	t->moved = false;
}

static bool enter_leaf(struct cgroup_tree *t)
{
	_cleanup_(freep) char *leaf = file_join(t->path, OWN_LEAF);

	if (t->moved || (mkdir(leaf, 0755) < 0 && errno != EEXIST))
		return false;
	t->moved = move_to(leaf) == 0;
	if (!t->moved)
		rmdir(leaf);
	return t->moved;
}

/* On for the children of our own group: 0 or a negative errno. */
static int delegate(struct cgroup_tree *t, enum cgroup_use use)
{
	int r;

	if (controllers_listed(t->parent, "cgroup.subtree_control") & 1u << use)
		return 0;
	r = switch_controller(t->parent, "+", use);
	if (r == -EBUSY && enter_leaf(t))
		r = switch_controller(t->parent, "+", use);
	if (r == 0)
		t->delegated |= 1u << use;
	return r;
}

/* True if the groups below ours have the controller. */
static bool control(struct cgroups *c, struct cgroup_tree *t, unsigned has, enum cgroup_use use)
{
	char *why = c->why[use];
	int r;

	if (!(has & 1u << use)) {
		snprintf(why, sizeof(c->why[use]), "our cgroup has no controller \"%s\"",
			 controllers[use]);
		return false;
	}
	r = delegate(t, use);
	if (r == 0)
		r = switch_controller(t->path, "+", use);
	if (r == 0)
		return true;
	snprintf(why, sizeof(c->why[use]), "cgroup v2, controller \"%s\": %s", controllers[use],
		 r == -EBUSY ? "other processes sit in our cgroup" : strerror(-r));
	return false;
}

static void tree_undelegate(struct cgroup_tree *t)
{
	for (unsigned use = 0; use < CGROUP_LIMITS; use++) {
		if (!t->moved || !(t->delegated & (1u << use)))
			continue; /* where nobody had to move, others may rely on it by now */
		/* Below first: a controller that a child has enabled cannot be disabled. */
		switch_controller(t->path, "-", use);
		switch_controller(t->parent, "-", use);
	}
	leave_leaf(t);
}

static void open_v2(struct cgroups *c, const struct cgroup_view *v, const char *mark)
{
	int i = tree_find(c, v, CGROUP_V2, "", mark);
	struct cgroup_tree *t = i < 0 ? NULL : &c->trees[i];
	unsigned has;

	for (unsigned use = 0; use < CGROUP_LIMITS && !t && i != -ENOENT; use++)
		snprintf(c->why[use], sizeof(c->why[use]), "cgroup v2: %s", strerror(-i));
	if (!t)
		return;
	c->of[CGROUP_KILLING] = i;
	has = controllers_listed(t->parent, "cgroup.controllers");
	for (unsigned use = 0; use < CGROUP_LIMITS; use++)
		if (control(c, t, has, use))
			c->of[use] = i;
	/* The move into the leaf did not help. */
	if (!t->delegated)
		leave_leaf(t);
}

/* --- v1 ----------------------------------------------------------------------------------------------------- */

static void open_v1(struct cgroups *c, const struct cgroup_view *v, enum cgroup_use use,
		    const char *mark)
{
	char *why = c->why[use];
	int i = tree_find(c, v, CGROUP_V1, controllers[use], mark);

	c->of[use] = i < 0 ? -1 : i;
	if (i >= 0)
		*why = '\0';
	else if (i != -ENOENT || !*why)
		snprintf(why, sizeof(c->why[use]), "cgroup v1, controller \"%s\": %s",
			 controllers[use],
			 i == -ENOENT ? "there is no such hierarchy" : strerror(-i));
}

/* One that serves for a limit does, too. */
static void open_killing(struct cgroups *c, const struct cgroup_view *v, const char *mark)
{
	int i = c->of[CGROUP_PIDS];

	if (i < 0)
		i = tree_find(c, v, CGROUP_V1, "freezer", mark);
	if (i < 0 && c->ntrees)
		i = 0;
	c->of[CGROUP_KILLING] = i < 0 ? -1 : i;
	if (i < 0)
		snprintf(c->why[CGROUP_KILLING], sizeof(c->why[CGROUP_KILLING]),
			 "no cgroup can be made");
}

/* --- interface ---------------------------------------------------------------------------------------------- */

struct cgroups *cgroups_open(const char *root, const char *mark)
{
	_cleanup_(cgroup_view_done) struct cgroup_view view;
	struct cgroups *c = new0(struct cgroups);

	cgroup_view_read(root, &view);
	for (unsigned use = 0; use < CGROUP_USES; use++)
		c->of[use] = -1;
	open_v2(c, &view, mark);
	for (unsigned use = 0; use < CGROUP_LIMITS; use++)
		if (c->of[use] < 0)
			open_v1(c, &view, use, mark);
	if (c->of[CGROUP_KILLING] < 0)
		open_killing(c, &view, mark);
	return c;
}

struct cgroups *cgroups_close(struct cgroups *c)
{
	if (!c)
		return NULL;
	for (unsigned i = 0; i < c->ntrees; i++) {
		tree_undelegate(&c->trees[i]);
		cgroup_dir_remove(c->trees[i].path);
		cgroup_tree_done(&c->trees[i]);
	}
	free(c);
	return NULL;
}

enum cgroup_kind cgroups_kind(const struct cgroups *c, enum cgroup_use use)
{
	return c->of[use] < 0 ? CGROUP_NONE : c->trees[c->of[use]].kind;
}

const char *cgroups_why(const struct cgroups *c, enum cgroup_use use)
{
	return c->of[use] < 0 ? c->why[use] : "";
}

const char *cgroups_path(const struct cgroups *c, enum cgroup_use use)
{
	return c->of[use] < 0 ? NULL : c->trees[c->of[use]].path;
}

const char *cgroups_tree(const struct cgroups *c, unsigned i)
{
	return i < c->ntrees ? c->trees[i].path : NULL;
}

/* Where the daemon is in a leaf of its own, that one counts, too. */
void cgroups_weigh(struct cgroups *c, int weight)
{
	enum cgroup_kind kind = cgroups_kind(c, CGROUP_CPU);
	const char *path = cgroups_path(c, CGROUP_CPU);
	uint64_t most = kind == CGROUP_V2 ? CPU_WEIGHT_MAX : CPU_SHARES_MAX;
	uint64_t all;

	c->weight += weight;
	if (!path)
		return;
	all = (uint64_t)MAX(c->weight, 0);
	if (c->trees[c->of[CGROUP_CPU]].moved || !all)
		all += CPU_WEIGHT_EVEN;
	(void)cgroup_dir_write(path, kind == CGROUP_V2 ? "cpu.weight" : "cpu.shares",
			       NUMBER_TEXT(MIN(cpu_number(all, kind), most)));
}

int cgroups_tree_of(const struct cgroups *c, enum cgroup_use use)
{
	return c->of[use];
}
