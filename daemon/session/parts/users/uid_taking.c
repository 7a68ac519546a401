/*
 * uid_taking.c - frees the uid of the sessions that have been closed for longest.
 *
 * The steps: choose a uid whose holders are all at rest, collect its group, remove what it left outside its trees
 * (job leftovers), have its trees looked through (job reown without a new owner), check again, park. The loop runs
 * between the steps and clients can return, so holders_are_at_rest repeats the check. A group that cannot be shut is
 * left alone: its sessions keep the uid while this daemon runs (kept_uid).
 */
#include "session/parts/users/uid_lending.h"

#include "base/limits_parts.h"
#include "json/json.h"
#include "session/core/session_internal.h"
#include "session/parts/users/session_user.h"
#include "proc/users/cwd_owner.h"

#include <fcntl.h>
#include <sys/stat.h>

/* --- whose uid can be taken ------------------------------------------------------------------------------------ */

/* It is closed, and nothing works for it or as it. */
static bool is_at_rest(const struct session *s)
{
	return s->state == SESSION_CLOSED && !s->stored.remove && !s->stored.kept_uid &&
	       !s->harness.copying && !s->harness.proc && list_empty(&s->harness.open_waiters) &&
	       list_empty(&s->close_waiters) && list_empty(&s->turn.queue) &&
	       !PARTS_FIRST(has_job, s) && !PARTS_FIRST(holds_harness, s) &&
	       !workspaces_claimed(&s->store->workspaces, s->cwd);
}

struct uid_choice {
	const struct uid_lending *l;
	struct uid_seen {
		bool held, in_use;
		uint64_t closed;
	} * seen;
};

/* A uid counts from the close of its last session; one holder in use excludes it. */
static void see_holder(void *ctx, uid_t uid, const char *holder)
{
	struct uid_choice *c = ctx;
	struct session_store *st = c->l->st;
	const struct uid_range *range = agent_uids_range(store_users_of(st)->uids);
	const struct session *s = uid_range_has(range, uid) ? store_find(st, holder) : NULL;
	struct uid_seen *seen = &c->seen[uid_range_has(range, uid) ? uid - range->first : 0];

	if (!uid_range_has(range, uid))
		return;
	seen->held = true;
	if (s && is_at_rest(s))
		seen->closed = MAX(seen->closed, retain_closed_at(s));
	else
		seen->in_use = true;
}

/* 0: there is none. */
static uid_t taking_choose_uid(const struct uid_lending *l)
{
	const struct uid_range *range = agent_uids_range(store_users_of(l->st)->uids);
	struct uid_choice c = { l, xalloc((uid_range_size(range) + 1) * sizeof(*c.seen)) };
	const struct uid_seen *best = NULL;
	uid_t ret = 0;

	agent_uids_each(store_users_of(l->st)->uids, see_holder, &c);
	for (unsigned i = 0; i < uid_range_size(range); i++) {
		const struct uid_seen *one = &c.seen[i];

		if (!one->held || one->in_use || (best && one->closed >= best->closed) ||
		    leftovers_is_cleaning(store_users_of(l->st)->leftovers, range->first + i) ||
		    workspaces_work_as(&l->st->workspaces, range->first + i))
			continue;
		best = one;
		ret = range->first + i;
	}
	free(c.seen);
	return ret;
}

/* --- its group --------------------------------------------------------------------------------------------------- */

static bool is_mounted_at(const char *path)
{
	struct statx sx;

	return statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_TYPE, &sx) == 0 &&
	       (sx.stx_attributes & STATX_ATTR_MOUNT_ROOT);
}

/* A tree that sessions worked on. Whoever may change the way to it could have another directory opened one day. */
static int add_tree(struct parked_group *g, const char *path)
{
	struct cwd_owner owner = { 0 };
	int r = cwd_owner_find(path, &owner);
	bool own = r == 0 && owner.uid == g->uids[0];

	if (r == -ENOENT || r == -ENOTDIR)
		return 0;
	if (r == 0 && !owner.path)
		r = -ENAMETOOLONG;
	if (r == 0 && own && (owner.led || is_mounted_at(owner.path)))
		r = -EPERM;
	if (r == 0)
		r = parked_add_tree(g, own ? PARKED_SHUT : PARKED_FOREIGN, owner.path);
	free(owner.path);
	return r;
}

/* Also trees of deleted sessions, which the ledger keeps while somebody holds the uid. */
static int add_trees_of_uid(const struct uid_lending *l, struct parked_group *g)
{
	_cleanup_(buf_done) struct buf trees = { 0 };
	char *rest, *line;
	int r = 0;

	agent_uids_trees(store_users_of(l->st)->uids, g->uids[0], &trees);
	buf_putc(&trees, '\0');
	rest = trees.data;
	while (r == 0 && (line = strsep(&rest, "\n")))
		r = *line ? add_tree(g, line) : 0;
	return r;
}

/* Trees that the daemon created: only it can change the way to them. */
static int add_ours(const struct uid_lending *l, struct parked_group *g, const char *where,
		    const char *id)
{
	_cleanup_(freep) char *path = xprintf("%s/%s/%s", l->st->state_dir, where, id);

	return parked_add_tree(g, PARKED_OURS, path);
}

struct group_filling {
	struct uid_lending *l;
	struct parked_group *g;
	int r;
};

/* After a failure the rest is not collected: the group is dropped as a whole. */
static void fill_holder(void *ctx, uid_t uid, const char *holder)
{
	struct group_filling *f = ctx;
	struct session *s = uid == f->g->uids[0] ? store_find(f->l->st, holder) : NULL;

	if (!s || f->r < 0)
		return;
	parked_add_holder(f->g, holder);
	f->r = add_ours(f->l, f->g, "homes", holder);
	if (f->r == 0)
		f->r = add_ours(f->l, f->g, "drafts", holder);
	if (f->r == 0 && !s->stored.headless)
		f->r = add_tree(f->g, s->cwd);
}

/* It stays as it is while this daemon runs. */
void lending_leave_alone(struct uid_lending *l, const char *why)
{
	struct parked_group *g = lending_group(l);

	lending_log(LOG_WARN, "uid of a closed session not given back", l->uid, why);
	for (size_t i = 0; g && i < g->nholders; i++) {
		struct session *s = store_find(l->st, g->holders[i]);

		if (s)
			s->stored.kept_uid = true;
	}
	if (g)
		parked_forget(store_users_of(l->st)->parked, g);
	l->step = LENDING_IDLE;
}

/* The same job as for a uid that is given back (leftovers.c): it also kills what still runs as it. */
static int taking_clean(struct uid_lending *l, struct err *e)
{
	_cleanup_(buf_done) struct buf job = { 0 };

	leftovers_put_job(store_users_of(l->st)->uids, l->uid, &job);
	return lending_start(l, "leftovers", &job, e);
}

/* 0: a uid will be free, or more is known. -ENOENT: nobody's can be taken. */
int lending_take(struct uid_lending *l)
{
	struct group_filling f = { .l = l };
	struct err e = { 0 };

	/* Each failure marks the sessions of its uid, so that the next choice is another one and the loop ends. */
	for (;;) {
		l->uid = taking_choose_uid(l);
		if (!l->uid)
			return -ENOENT;
		f.g = parked_new(store_users_of(l->st)->parked);
		l->no = f.g->no;
		parked_add_uid(f.g, l->uid);
		agent_uids_each(store_users_of(l->st)->uids, fill_holder, &f);
		if (f.r == 0)
			f.r = add_trees_of_uid(l, f.g);
		if (f.r == 0 && taking_clean(l, &e) == 0)
			break;
		lending_leave_alone(l, f.r < 0 ? strerror(-f.r) : e.msg);
		f.r = 0;
	}
	l->step = LENDING_CLEANING;
	return 0;
}

int lending_scan(struct uid_lending *l, struct err *e)
{
	JW_BUF(w, job);

	jw_obj(&w, NULL);
	lending_put_trees(&w, lending_group(l), 0);
	jw_uint(&w, "max", UID_FILES_MAX);
	jw_end_obj(&w);
	l->step = LENDING_SCANNING;
	return lending_start(l, "reown", &job, e);
}

/* The number of holders is compared too: another session can have joined the uid. */
static bool holders_are_at_rest(const struct uid_lending *l, const struct parked_group *g)
{
	if (agent_uids_holders(store_users_of(l->st)->uids, l->uid) != g->nholders)
		return false;
	for (size_t i = 0; i < g->nholders; i++) {
		const struct session *s = store_find(l->st, g->holders[i]);

		if (!s || !is_at_rest(s))
			return false;
	}
	return true;
}

/* From the record on it is parked, whatever becomes of us; the doors are shut before the uid is anybody's. */
static int park(struct uid_lending *l, struct parked_group *g, struct err *e)
{
	int r;

	/* A draft that a client has read since the close is mounted. */
	for (size_t i = 0; i < g->nholders; i++)
		PARTS_CALL(shut, store_find(l->st, g->holders[i]));
	r = parked_write(store_users_of(l->st)->parked, g, true, e);
	if (r < 0)
		return r;
	r = parked_shut(g);
	if (r < 0) {
		/* The sessions keep their uid, so their doors must be open. */
		(void)parked_unshut(g, l->uid);
		return err_set(e, r, RPC_INTERNAL_ERROR, "STATE_NOT_WRITABLE", "%s", strerror(-r));
	}
	(void)parked_write(store_users_of(l->st)->parked, g, false,
			   e); /* else it is shut again at the start */
	for (size_t i = 0; i < g->nholders; i++) {
		session_user_park(store_find(l->st, g->holders[i]));
		agent_uids_drop(store_users_of(l->st)->uids, g->holders[i]);
	}
	lending_log(LOG_INFO, "uid of a closed session given back", l->uid, NULL);
	l->step = LENDING_IDLE;
	return 0;
}

/* found: files of the uid in directories that are not its own. */
void lending_taken(struct uid_lending *l, struct slice report)
{
	struct parked_group *g = lending_group(l);
	struct err e = { 0 };

	if (!holders_are_at_rest(l, g)) {
		parked_forget(store_users_of(l->st)->parked,
			      g); /* somebody wants it: it may be taken later */
		l->step = LENDING_IDLE;
	} else if (jobj_uint(report, "found")) {
		lending_leave_alone(l, "it has files in a directory of another user");
	} else if (park(l, g, &e) < 0) {
		lending_leave_alone(l, e.msg);
	}
}
