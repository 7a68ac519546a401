/*
 * uid_lending.c - lends uids of closed sessions to sessions that need one: waiting callers and the
 * job sequence.
 *
 * One job runs at a time, in the steps of enum lending_step; uid_taking.c and uid_giving.c
 * implement them. A caller waits for a parked group or for any uid. When a step ends, all waiting
 * callers are called and decide again, since the result can serve several of them. A failure is
 * reported only to callers of that group.
 */
#include "session/parts/users/uid_lending.h"

#include "base/util.h"
#include "json/jdec.h"
#include "session/parts/users/session_user.h"
#include "proc/users/cwd_owner.h"
#include "workspace/helper_job.h"

struct uid_waiter {
	struct list link;
	unsigned long long group; /* that it waits for; 0: for any uid */
	uid_ready_fn fn;
	void *ctx;
};

struct parked_group *lending_group(const struct uid_lending *l)
{
	return parked_numbered(store_users_of(l->st)->parked, l->no);
}

void lending_log(enum log_level level, const char *what, uid_t uid, const char *why)
{
	log_write(level, "session", what, "uid", NUMBER_TEXT(uid), why ? "why" : NULL, why, NULL);
}

/* --- who waits --------------------------------------------------------------------------------------------- */

/* What waits again stands behind them. */
void lending_wake(struct uid_lending *l, unsigned long long failed, const struct err *e)
{
	struct list ready;

	list_init(&ready);
	while (!list_empty(&l->waiting)) {
		struct list *n = l->waiting.next;

		list_del(n);
		list_add_tail(&ready, n);
	}
	list_drain(w, &ready, struct uid_waiter, link) {
		list_del(&w->link);
		w->fn(w->ctx, e && w->group == failed ? e : NULL);
		free(w);
	}
}

static void lending_add_waiter(struct uid_lending *l, unsigned long long group, uid_ready_fn fn,
			       void *ctx)
{
	struct uid_waiter *w;

	if (!fn)
		return;
	w = new0(struct uid_waiter);
	w->group = group;
	w->fn = fn;
	w->ctx = ctx;
	list_add_tail(&l->waiting, &w->link);
}

/* --- jobs --------------------------------------------------------------------------------------------------- */

static void lending_on_done(void *ctx, struct slice report, const struct err *e);

static const struct helper_job_events job_events = { NULL, lending_on_done };

int lending_start(struct uid_lending *l, const char *verb, const struct buf *job, struct err *e)
{
	l->helper =
		helper_job_start(l->st->loop, l->st->procs,
				 &(struct helper_job_spec){ .verb = verb, .job = buf_slice(job) },
				 &job_events, l, e);
	return l->helper ? 0 : -EIO;
}

/* to: who is given them; 0: nobody, they are only looked through. */
void lending_put_trees(struct jw *w, const struct parked_group *g, uid_t to)
{
	jw_arr(w, "trees");
	for (size_t i = 0; i < g->ntrees; i++) {
		const struct parked_tree *t = &g->trees[i];

		if (to && t->kind == PARKED_FOREIGN)
			continue;
		jw_obj(w, NULL);
		jw_str(w, "path", t->path);
		if (t->kind == PARKED_SHUT)
			jw_uint(w, "ino", t->ino);
		if (t->kind == PARKED_FOREIGN)
			jw_bool(w, "foreign", true);
		jw_end_obj(w);
	}
	jw_end_arr(w);
	jw_arr(w, "from");
	for (size_t i = 0; i < g->nuids; i++)
		if (g->uids[i] != to)
			jw_uint(w, NULL, g->uids[i]);
	jw_end_arr(w);
}

/* --- the end of a job ------------------------------------------------------------------------------------------- */

static void cleaned(struct uid_lending *l, struct slice report)
{
	struct err e = { 0 };

	if (jobj_uint(report, "failed"))
		lending_leave_alone(l, "not all that it left could be removed");
	else if (lending_scan(l, &e) < 0)
		lending_leave_alone(l, e.msg);
}

static void step_done(struct uid_lending *l, struct slice report, const struct err *e)
{
	if (e && l->step == LENDING_GIVING)
		lending_given_none(l, e);
	else if (e)
		lending_leave_alone(l, e->msg);
	else if (l->step == LENDING_CLEANING)
		cleaned(l, report);
	else if (l->step == LENDING_SCANNING)
		lending_taken(l, report);
	else
		lending_given(l);
}

static void lending_on_done(void *ctx, struct slice report, const struct err *e)
{
	struct uid_lending *l = ctx;
	struct session_store *st = l->st;
	/* step_done can start the next job in l->helper; report belongs to this one. */
	struct helper_job *done = TAKE_PTR(l->helper);

	if (l->stopping)
		l->step = LENDING_IDLE;
	else
		step_done(l, report, e);
	helper_job_free(done);
	if (l->step == LENDING_IDLE)
		lending_wake(l, 0, NULL);
	leftovers_wake(store_users_of(st)->leftovers);
	store_check_stopped(st);
}

/* --- asking ------------------------------------------------------------------------------------------------------ */

bool uid_lending_is_taking(const struct uid_lending *l, uid_t uid)
{
	return (l->step == LENDING_CLEANING || l->step == LENDING_SCANNING) && l->uid == uid;
}

/* What is known of the directory of a new session. */
struct cwd_facts {
	bool known;
	struct cwd_owner owner;
};

/* It will be given a uid of its own, and there is none. */
static bool lacks_uid(const struct uid_lending *l, const struct uid_need *n,
		      const struct cwd_facts *cwd)
{
	const struct session_store *st = l->st;

	if (!n->fresh || !store_has_uids(st) || agent_uids_free(store_users_of(st)->uids))
		return false;
	return !cwd->known ||
	       (cwd->owner.uid != st->user.uid &&
		!uid_range_has(agent_uids_range(store_users_of(st)->uids), cwd->owner.uid));
}

static int lending_begin(struct uid_lending *l, struct parked_group *g, struct err *e)
{
	int r = g ? lending_give(l, g, e) : -EAGAIN;

	if (r == -EAGAIN && lending_take(l) == 0)
		r = 0;
	return r;
}

/* Waits, or begins with it. */
static int lending_await(struct uid_lending *l, struct parked_group *g, uid_ready_fn fn, void *ctx,
			 struct err *e)
{
	unsigned long long no = g ? g->no : 0;

	if (l->step == LENDING_IDLE) {
		int r = lending_begin(l, g, e);

		if (r < 0)
			return no ? r : 0; /* the one that takes a uid says why there is none */
		if (l->step == LENDING_IDLE)
			return 0;
	}
	lending_add_waiter(l, no, fn, ctx);
	return 1;
}

/* A closed session can be parked itself; the cwd of a new one can be in a parked tree. */
int uid_lending_need(struct uid_lending *l, const struct uid_need *n, uid_ready_fn fn, void *ctx,
		     struct err *e)
{
	struct cwd_facts cwd = { 0 };
	struct parked_group *g = NULL;
	bool taken_now, lacking;

	if (l->stopping)
		return 0;
	cwd.known = n->cwd && cwd_owner_find(n->cwd, &cwd.owner) == 0;
	if (n->session && n->session->stored.parked)
		g = parked_find(store_users_of(l->st)->parked, n->session->id);
	else if (!n->session && cwd.known && cwd.owner.path)
		g = parked_at(store_users_of(l->st)->parked, cwd.owner.path);
	taken_now = (n->session && uid_lending_is_taking(l, n->session->user.uid)) ||
		    (cwd.known && uid_lending_is_taking(l, cwd.owner.uid));
	lacking = lacks_uid(l, n, &cwd);
	free(cwd.owner.path);
	return g || taken_now || lacking ? lending_await(l, g, fn, ctx, e) : 0;
}

/* --- life ----------------------------------------------------------------------------------------------------------- */

struct uid_lending *uid_lending_new(struct session_store *st)
{
	struct uid_lending *l = new0(struct uid_lending);

	l->st = st;
	list_init(&l->waiting);
	return l;
}

struct uid_lending *uid_lending_free(struct uid_lending *l)
{
	struct err e;

	if (!l)
		return NULL;
	err_set(&e, -ESHUTDOWN, RPC_INTERNAL_ERROR, "SHUTTING_DOWN", "the daemon is shutting down");
	list_drain(w, &l->waiting, struct uid_waiter, link) {
		list_del(&w->link);
		w->fn(w->ctx, &e);
		free(w);
	}
	free(l);
	return NULL;
}

void uid_lending_stop(struct uid_lending *l)
{
	l->stopping = true;
	if (l->helper)
		helper_job_kill(l->helper);
}
