/*
 * session_user.c - chooses the uid of a session, and restores it after a restart.
 *
 * With --agent-uids the owner of the working directory decides: on a directory of another session
 * it runs as that uid. A directory whose path another user can change is refused, because that user
 * could redirect the session (cwd_owner.h). The uid is recorded in agent_uids before anything of
 * the session exists. After a restart that ledger wins over the journal, whose record can be older
 * than a change of the uid.
 */
#include "session/parts/users/session_user.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/os/file.h"
#include "session/parts/users/uid_lending.h"
#include "proc/users/cwd_owner.h"
#include "session/core/session_paths.h"

static void become(struct session *s, uid_t uid)
{
	char name[UID_RANGE_NAME];

	agent_user_done(&s->user);
	s->user = (struct agent_user){ true, uid, (gid_t)uid, xstrdup(uid_range_name(uid, name)) };
}

/* Until it has a uid again nothing of it runs as the old one, which others have now. */
void session_user_park(struct session *s)
{
	agent_user_done(&s->user);
	s->user = agent_user_copy(&s->store->user);
	s->stored.parked = true;
}

void session_user_unpark(struct session *s, uid_t uid)
{
	become(s, uid);
	s->stored.parked = false;
	s->stored.closed_ms = clock_real_ms(); /* it is needed: others come first */
}

/* Nobody waits here: the job starts, and the client retries. */
int session_files_need(struct session *s, struct err *e)
{
	const struct uid_need need = { .session = s };
	int r = uid_lending_need(store_users_of(s->store)->lending, &need, NULL, NULL, e);

	return r <= 0 ? r :
			err_set(e, -EAGAIN, RPC_INTERNAL_ERROR, "SESSION_PARKED",
				"the session's uid was given to others, and its files are being "
				"given one again: try again");
}

static int session_may_reopen(const struct session *s, struct err *e)
{
	int r = store_admit(s->store, e);

	return r < 0 ? r : session_files_need(session_index_find(&s->store->by_id, s->id), e);
}

int store_uid_need(struct session_store *st, const struct uid_need *need, uid_ready_fn fn,
		   void *ctx, struct err *e)
{
	return uid_lending_need(store_users_of(st)->lending, need, fn, ctx, e);
}

/* Not --agent-user, and not the daemon: only sessions have it. */
static bool session_user_is_own(const struct session *s)
{
	return s->user.switched && !agent_user_same(&s->user, &s->store->user);
}

/* --- a new session ------------------------------------------------------------------------------------------ */

/* The ledger has the uid before the session does. */
static int take_own(struct session *s, const char *tree, struct err *e)
{
	uid_t uid;
	int r = agent_uids_take(store_users_of(s->store)->uids, s->id, tree, &uid, e);

	if (r == 0)
		become(s, uid);
	return r;
}

static int share(struct session *s, uid_t uid, const char *tree, struct err *e)
{
	int r;

	if (leftovers_is_cleaning(store_users_of(s->store)->leftovers, uid) ||
	    uid_lending_is_taking(store_users_of(s->store)->lending,
				  uid)) /* else it would kill ours, too */
		return err_set(e, -EAGAIN, RPC_INTERNAL_ERROR, "AGENT_UIDS_EXHAUSTED",
			       "the uid that cwd belongs to is being cleaned up; try again");
	r = agent_uids_hold(store_users_of(s->store)->uids, uid, s->id, tree, e);
	if (r == 0)
		become(s, uid);
	return r;
}

/* Of a directory that is somebody's who works here. */
static int join(struct session *s, const struct cwd_owner *owner, struct err *e)
{
	if (owner->led)
		return err_field(e, "cwd", "CWD_NOT_ACCESSIBLE",
				 "cwd belongs to uid %u, but others may change the way to it",
				 (unsigned)owner->uid);
	return owner->uid == s->store->user.uid ? 0 : share(s, owner->uid, owner->path, e);
}

/* A directory that does not exist yet is created for a uid of the session's own. */
static int choose_by_owner(struct session *s, const char *cwd, bool may_make, struct err *e)
{
	const struct session_store *st = s->store;
	struct cwd_owner owner = { 0 };
	int r = cwd_owner_find(cwd, &owner);

	if (r == -ENOENT && may_make)
		return take_own(s, cwd, e);
	if (r < 0) {
		r = paths_check_cwd(&st->user, cwd, e);
		return r < 0 ? r :
			       err_field(e, "cwd", "CWD_NOT_ACCESSIBLE", "cwd cannot be examined");
	}
	if (owner.uid == st->user.uid ||
	    uid_range_has(agent_uids_range(store_users_of(st)->uids), owner.uid))
		r = join(s, &owner, e);
	else
		r = take_own(s, owner.path ? owner.path : cwd, e);
	free(owner.path);
	return r;
}

/* Called before anything of the session exists; session_user_unchoose revokes the claim. */
static int session_user_choose(struct session *s, const struct session_params *p,
			       const struct session *from, struct err *e)
{
	const struct request *q = p->request;

	if (!store_has_uids(s->store))
		return 0;
	if (from) /* it works on the same tree */
		return session_user_is_own(from) ? share(s, from->user.uid, from->cwd, e) : 0;
	if (q && q->ephemeral)
		return take_own(s, NULL, e);
	return choose_by_owner(s, p->cwd, q && q->chown, e);
}

static void session_user_unchoose(struct session *s)
{
	agent_uids_drop(store_users_of(s->store)->uids, s->id);
}

/* --- over restarts ------------------------------------------------------------------------------------------ */

/* Other users are the same after a restart: they follow from the options. */
static void put_user_record(struct jw *w, const struct session *s, enum record_place at)
{
	if (at != RECORD_HEAD)
		return;
	if (session_user_is_own(s))
		jw_uint(w, "uid", s->user.uid);
}

/* Restores the uid of a session of an earlier daemon. The ledger wins: the uid can have changed since the record was
 * written. */
static void session_user_recall(struct session *s)
{
	uint64_t recorded = s->stored.uid;
	struct err e = { 0 };
	uid_t uid = 0;

	if (geteuid() != 0) /* it is not ours to give */
		return;
	if (parked_find(store_users_of(s->store)->parked, s->id)) {
		session_user_park(s);
		return;
	}
	if (!agent_uids_of(store_users_of(s->store)->uids, s->id, &uid))
		uid = recorded <= AGENT_UID_MAX ? (uid_t)recorded : 0;
	if (!uid)
		return;
	if (agent_uids_hold(store_users_of(s->store)->uids, uid, s->id, s->cwd, &e) < 0)
		log_warn("session", "its uid is not noted as taken", "session", s->id, "text",
			 e.msg);
	become(s, uid);
}

/* where: a directory of the state directory. */
static bool state_has_entry(const struct session_store *st, const char *where, const char *id)
{
	_cleanup_(freep) char *path = xprintf("%s/%s/%s", st->state_dir, where, id);

	return access(path, F_OK) == 0;
}

/* Without a journal a session was never complete, or its removal had started. Its home goes first: cleaning the
 * uid comes after it, and frees the uid. */
static void user_adopt_holder(void *ctx, uid_t uid _unused_, const char *holder)
{
	struct session_store *st = ctx;
	_cleanup_(freep) char *journal = paths_journal_path(st, holder);
	struct err e = { 0 };

	if (access(journal, F_OK) == 0 || state_has_entry(st, "removed", holder))
		return;
	if (!state_has_entry(st, "homes", holder))
		leftovers_gone(store_users_of(st)->leftovers, holder);
	else if (removal_session(st->removal, holder, &e) < 0)
		log_warn("session", "session not removed", "session", holder, "text", e.msg);
}

/* A daemon was killed while it gave them a uid: they have none yet. */
static void user_adopt_parked(void *ctx, const char *holder)
{
	struct session_store *st = ctx;
	_cleanup_(freep) char *journal = paths_journal_path(st, holder);

	agent_uids_drop(store_users_of(st)->uids, holder);
	if (access(journal, F_OK) < 0 && !state_has_entry(st, "removed", holder))
		parked_drop(store_users_of(st)->parked, holder);
}

/* Sessions whose last daemon was killed before all of them was gone are finished. */
static void session_users_take_up(struct session_store *st)
{
	parked_each(store_users_of(st)->parked, user_adopt_parked, st);
	agent_uids_each(store_users_of(st)->uids, user_adopt_holder, st);
}

/* --- the machine -------------------------------------------------------------------------------------------- */

bool store_has_uids(const struct session_store *st)
{
	return uid_range_size(agent_uids_range(store_users_of(st)->uids)) > 0;
}

void store_put_uids(const struct session_store *st, struct jw *w, const char *key)
{
	const struct uid_range *range = agent_uids_range(store_users_of(st)->uids);
	unsigned bare = 0;
	struct err e = { 0 };
	int r;

	if (!store_has_uids(st))
		return;
	r = uid_range_look(range, &bare, &e);
	jw_obj(w, key);
	jw_uint(w, "first", range->first);
	jw_uint(w, "last", range->last);
	jw_uint(w, "free", agent_uids_free(store_users_of(st)->uids));
	jw_uint(w, "unnamed", bare);
	if (r < 0)
		jw_str(w, "problem", e.msg);
	jw_end_obj(w);
}

/* Sessions work without names, but some programs do not. */
void store_log_uids(const struct session_store *st)
{
	unsigned bare = 0;
	struct err e;

	if (uid_range_look(agent_uids_range(store_users_of(st)->uids), &bare, &e) < 0 || !bare)
		return;
	log_warn(
		"serve",
		"uids of sessions have no user or group of their name: ssh, git and others will miss it "
		"(images/agent-users.sh makes them)",
		"uids", NUMBER_TEXT(bare));
}

/* --- what is told --------------------------------------------------------------------------------------------- */

struct sharers {
	const struct session *s;
	struct jw *w;
	unsigned n;
};

/* At most AGENT_UID_SHOWN: any number of sessions can share a tree. */
static void put_sharer(void *ctx, uid_t uid, const char *holder)
{
	struct sharers *h = ctx;

	if (uid == h->s->user.uid && strcmp(holder, h->s->id) != 0 && h->n++ < AGENT_UID_SHOWN)
		jw_str(h->w, NULL, holder);
}

/* Member "user": the user of the session, and who shares it. Omitted if it is the daemon's own. */
static void put_user(struct jw *w, const struct session *s)
{
	struct sharers h = { s, w, 0 };
	bool own = session_user_is_own(s),
	     alone = own && agent_uids_holders(store_users_of(s->store)->uids, s->user.uid) == 1;

	if (!s->user.switched)
		return;
	jw_obj(w, "user");
	jw_str(w, "name", s->user.name);
	jw_str(w, "uid", s->stored.parked ? "parked" : alone ? "own" : "shared");
	if (own && !alone) {
		jw_arr(w, "sharedWith");
		agent_uids_each(store_users_of(s->store)->uids, put_sharer, &h);
		jw_end_arr(w);
	}
	jw_end_obj(w);
}

static void free_user(struct session *s)
{
	agent_user_done(&s->user);
}

static bool uid_is_in_use(void *ctx, uid_t uid)
{
	struct session_store *st = ctx;

	return workspaces_work_as(&st->workspaces, uid);
}

static int open_users(struct session_store *st, const struct store_config *cfg, struct err *e)
{
	struct store_users *u = store_users_of(st);
	struct uid_range range;

	u->lock = (struct uid_lock)UID_LOCK_INIT;
	u->opened = true;
	if (uid_range_parse(cfg->agent_uids, &range, e) < 0 ||
	    agent_uids_check(&range, &st->user, e) < 0)
		return -EINVAL;
	/* Before the ledger: two daemons on one range would give a uid out twice. */
	if (uid_lock_take(&u->lock, &range, e) < 0)
		return -EBUSY;
	u->uids = agent_uids_open(st->state_dir, &range, e);
	if (!u->uids)
		return -EIO;
	u->parked = parked_open(st->state_dir, e);
	if (!u->parked)
		return -EIO;
	u->lending = uid_lending_new(st);
	u->leftovers = leftovers_new(&(struct leftovers_spec){
		st->loop, st->procs, u->uids, uid_is_in_use, store_background_idle, st });
	return 0;
}

static void stop_users(struct session_store *st)
{
	leftovers_stop(store_users_of(st)->leftovers);
	uid_lending_stop(store_users_of(st)->lending);
}

/* In reverse order: the first two use the ledgers. */
static void free_users(struct session_store *st)
{
	struct store_users *u = store_users_of(st);

	u->leftovers = leftovers_free(u->leftovers);
	u->lending = uid_lending_free(u->lending);
	u->parked = parked_close(u->parked);
	u->uids = agent_uids_close(u->uids);
	if (u->opened) /* else a start failed before, and the lock is no descriptor */
		uid_lock_release(&u->lock);
}

static void user_files_removed(struct session_store *st, const char *id)
{
	parked_drop(store_users_of(st)->parked, id);
	leftovers_gone(store_users_of(st)->leftovers, id);
}

static void user_tree_removed(struct session_store *st, const char *path)
{
	parked_tree_removed(store_users_of(st)->parked, path);
}

static void wake_leftovers(struct session_store *st)
{
	leftovers_wake(store_users_of(st)->leftovers);
}

static int check_files(const struct session *s, struct err *e)
{
	/* which changes who waits for a uid, and nothing of the session */
	return session_files_need((struct session *)(uintptr_t)s, e);
}

static void put_user_bounds(const struct session *s, struct proc_bounds *b)
{
	b->own_uid = session_user_is_own(s);
}

const struct session_part user_part = {
	.name = "user",
	.put_status = put_user,
	.free = free_user,
	.store_size = sizeof(struct store_users),
	.store_open = open_users,
	.store_begin = session_users_take_up,
	.store_stop = stop_users,
	.store_free = free_users,
	.store_removed = user_files_removed,
	.store_tree_removed = user_tree_removed,
	.store_idle = wake_leftovers,
	.place = session_user_choose,
	.unplace = session_user_unchoose,
	.check_files = check_files,
	.check_reopen = session_may_reopen,
	.put_record = put_user_record,
	.recovered = session_user_recall,
	.put_bounds = put_user_bounds,
};
