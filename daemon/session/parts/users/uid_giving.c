/*
 * uid_giving.c - gives files of parked sessions a uid again.
 *
 * The old uid is preferred: then no file changes its owner. Another one is recorded in the group before the job
 * starts, because a job that is killed leaves files of both, and the next attempt changes all of them
 * (lending_put_trees lists the group's uids). A reservation holds the uid while the job runs. giving_finish
 * replaces it by the holders.
 */
#include "session/parts/users/uid_lending.h"

#include "base/limits_parts.h"
#include "json/jenc.h"
#include "session/parts/users/session_user.h"

/* --- giving one ----------------------------------------------------------------------------------------------------- */

static const char *reservation(const struct uid_lending *l, char name[32])
{
	snprintf(name, 32, "parked-%llu", l->no);
	return name;
}

/* The old one, if nobody has it: then no file has to change. */
static int reserve(struct uid_lending *l, const struct parked_group *g, uid_t *ret, struct err *e)
{
	char name[32];

	reservation(l, name);
	for (size_t i = g->nuids; i-- > 0;) {
		*ret = g->uids[i];
		if (!agent_uids_holders(store_users_of(l->st)->uids, *ret))
			return agent_uids_hold(store_users_of(l->st)->uids, *ret, name, NULL, e);
	}
	return agent_uids_take(store_users_of(l->st)->uids, name, NULL, ret, e);
}

static void unreserve(struct uid_lending *l)
{
	char name[32];

	agent_uids_drop(store_users_of(l->st)->uids, reservation(l, name));
}

/* What was to have one waits no longer. */
void lending_given_none(struct uid_lending *l, const struct err *why)
{
	unsigned long long no = l->no;
	struct err e = { 0 };

	lending_log(LOG_WARN, "files of a parked session not given a uid", l->uid, why->msg);
	unreserve(l);
	l->step = LENDING_IDLE;
	err_set(&e, -EIO, RPC_INTERNAL_ERROR, "SESSION_PARKED",
		"cannot give the session's files a uid again: %s", why->msg);
	lending_wake(l, no, &e);
}

static int put_give_job(struct uid_lending *l, const struct parked_group *g, struct err *e)
{
	JW_BUF(w, job);

	jw_obj(&w, NULL);
	lending_put_trees(&w, g, l->uid);
	jw_uint(&w, "to", l->uid);
	jw_end_obj(&w);
	l->step = LENDING_GIVING;
	return lending_start(l, "reown", &job, e);
}

/* Trees of clients are recorded for the first holder alone: the ledger passes them on when it goes. */
static int hold_all(struct uid_lending *l, struct parked_group *g, struct err *e)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < g->nholders; i++)
		r = agent_uids_hold(store_users_of(l->st)->uids, l->uid, g->holders[i], NULL, e);
	for (size_t i = 0; r == 0 && g->nholders && i < g->ntrees; i++)
		if (g->trees[i].kind != PARKED_OURS)
			agent_uids_keep(store_users_of(l->st)->uids, g->holders[0],
					g->trees[i].path);
	return r;
}

static int open_doors(struct uid_lending *l, struct parked_group *g, struct err *e)
{
	int r = parked_write(store_users_of(l->st)->parked, g, true, e);

	if (r < 0)
		return r;
	r = parked_unshut(g, l->uid);
	return r < 0 ? err_set(e, r, RPC_INTERNAL_ERROR, "STATE_NOT_WRITABLE", "%s", strerror(-r)) :
		       0;
}

/* Its files are the uid's. The record goes last: as long as it is there, the next daemon shuts the doors again. */
static int giving_finish(struct uid_lending *l, struct parked_group *g, struct err *e)
{
	int r = hold_all(l, g, e);

	if (r == 0)
		r = open_doors(l, g, e);
	if (r < 0) {
		/* The group stays parked, and the next attempt starts from there. */
		(void)parked_shut(g);
		for (size_t i = 0; i < g->nholders; i++)
			agent_uids_drop(store_users_of(l->st)->uids, g->holders[i]);
		return r;
	}
	for (size_t i = 0; i < g->nholders; i++) {
		struct session *s = session_index_find(&l->st->by_id, g->holders[i]);

		if (s)
			session_user_unpark(s, l->uid);
	}
	unreserve(l);
	parked_forget(store_users_of(l->st)->parked, g);
	lending_log(LOG_INFO, "files of a closed session have a uid again", l->uid, NULL);
	l->step = LENDING_IDLE;
	return 0;
}

/* 0: it has one, or will have. */
int lending_give(struct uid_lending *l, struct parked_group *g, struct err *e)
{
	int r;

	l->no = g->no;
	if (g->nuids >= REOWN_UIDS_MAX)
		return err_set(e, -E2BIG, RPC_INTERNAL_ERROR, "SESSION_PARKED",
			       "cannot give the session's files a uid again: it failed too often");
	r = reserve(l, g, &l->uid, e);
	if (r < 0)
		return r;
	if (g->nuids == 1 && g->uids[0] == l->uid) {
		r = giving_finish(l, g, e);
	} else {
		parked_add_uid(g, l->uid);
		r = parked_write(store_users_of(l->st)->parked, g, false, e);
		if (r == 0)
			r = put_give_job(l, g, e);
	}
	if (r == 0)
		return 0;
	unreserve(l);
	l->step = LENDING_IDLE;
	return r;
}

void lending_given(struct uid_lending *l)
{
	struct parked_group *g = lending_group(l);
	struct err e = { 0 };

	if (!g) { /* all of it was deleted meanwhile */
		unreserve(l);
		l->step = LENDING_IDLE;
	} else if (giving_finish(l, g, &e) < 0) {
		lending_given_none(l, &e);
	}
}
