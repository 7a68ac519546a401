/*
 * leftovers.c - cleans everything a uid owns outside its sessions' trees, then frees the uid.
 *
 * acpd-unpack does this as that uid, so it can remove only files that the uid itself could remove.
 * Jobs run one at a time. Cleaning kills all processes of the uid, so it requires that no other
 * session or job uses it. The uid is released (agent_uids_drop) only after a report without
 * failures.
 */
#include "session/parts/users/leftovers.h"

#include "base/list.h"
#include "base/log.h"
#include "json/json.h"
#include "workspace/helper_job.h"

/* Where anybody may leave something. */
static const char *const directories[] = { "/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue" };

struct uid_left {
	struct list link;
	uid_t uid;
	char *holder;
};

struct leftovers {
	struct leftovers_spec spec;
	struct list waiting;
	struct uid_left *current; /* its job runs */
	struct helper_job *helper;
	struct loop_task task;
	bool stopping;
};

static void leftovers_advance(void *ctx);

void leftovers_wake(struct leftovers *l)
{
	loop_defer(l->spec.loop, &l->task, leftovers_advance, l);
}

static void left_free(struct uid_left *u)
{
	list_del(&u->link);
	free_each(u->holder, u);
}

/* The uid is not given to others: what is left of its files would be theirs. */
static void log_failed(const struct uid_left *u, const char *why)
{
	log_warn("session", "a uid stays taken: not all that it owns could be removed", "uid",
		 NUMBER_TEXT(u->uid), "session", u->holder, "text", why);
}

/* While stopping the claim stays, and the next daemon tries again. */
static void leftovers_on_done(void *ctx, struct slice report, const struct err *e)
{
	struct leftovers *l = ctx;
	struct uid_left *u = TAKE_PTR(l->current);

	if (!l->stopping && (e || jobj_int(report, "failed")))
		log_failed(u, e ? e->msg : "some of it cannot be removed");
	else if (!l->stopping)
		agent_uids_drop(l->spec.uids, u->holder);
	left_free(u);
	l->helper = helper_job_free(l->helper);
	leftovers_wake(l);
	l->spec.idle(l->spec.ctx);
}

static const struct helper_job_events job_events = { NULL, leftovers_on_done };

/* A tree can be in one of the directories: it is kept. */
static void put_trees(const struct agent_uids *uids, uid_t uid, struct jw *w)
{
	_cleanup_(buf_done) struct buf trees = { 0 };
	struct slice rest, line;

	agent_uids_trees(uids, uid, &trees);
	rest = buf_slice(&trees);
	jw_arr(w, "keep");
	while (rest.n && slice_item(&rest, '\n', &line))
		jw_slice(w, NULL, line);
	jw_end_arr(w);
}

void leftovers_put_job(const struct agent_uids *uids, uid_t uid, struct buf *ret)
{
	struct jw w = JW(ret);

	jw_obj(&w, NULL);
	jw_uint(&w, "uid", uid);
	jw_uint(&w, "gid", uid);
	jw_arr(&w, "directories");
	for (size_t i = 0; i < ARRAY_SIZE(directories); i++)
		jw_str(&w, NULL, directories[i]);
	jw_end_arr(&w);
	put_trees(uids, uid, &w);
	jw_end_obj(&w);
}

static void leftovers_clean(struct leftovers *l, struct uid_left *u)
{
	_cleanup_(buf_done) struct buf job = { 0 };
	struct err e = { 0 };

	leftovers_put_job(l->spec.uids, u->uid, &job);
	/* left_free unlinks it once more. */
	list_del(&u->link);
	list_init(&u->link);
	l->current = u;
	l->helper = helper_job_start(l->spec.loop, l->spec.procs,
				     &(struct helper_job_spec){ .verb = "leftovers",
								.job = buf_slice(&job) },
				     &job_events, l, &e);
	if (l->helper)
		return;
	log_failed(u, e.msg);
	left_free(TAKE_PTR(l->current));
}

/* Meanwhile the holder can have another uid or none, or share it: then there is nothing to clean. */
static void leftovers_advance(void *ctx)
{
	struct leftovers *l = ctx;
	uid_t uid;

	list_each(u, &l->waiting, struct uid_left, link) {
		if (l->stopping || l->current)
			return;
		if (!agent_uids_of(l->spec.uids, u->holder, &uid) || uid != u->uid) {
			left_free(u); /* has been seen to */
		} else if (agent_uids_holders(l->spec.uids, u->uid) > 1) {
			agent_uids_drop(l->spec.uids, u->holder);
			left_free(u);
		} else if (!l->spec.busy(l->spec.ctx, u->uid)) {
			leftovers_clean(l, u);
		}
	}
}

/* A holder without a uid has nothing to clean. */
void leftovers_gone(struct leftovers *l, const char *holder)
{
	struct uid_left *u;
	uid_t uid;

	if (!agent_uids_of(l->spec.uids, holder, &uid))
		return;
	u = new0(struct uid_left);
	u->uid = uid;
	u->holder = xstrdup(holder);
	list_add_tail(&l->waiting, &u->link);
	leftovers_wake(l);
}

bool leftovers_is_cleaning(const struct leftovers *l, uid_t uid)
{
	return l->current && l->current->uid == uid;
}

struct leftovers *leftovers_new(const struct leftovers_spec *spec)
{
	struct leftovers *l = new0(struct leftovers);

	l->spec = *spec;
	list_init(&l->waiting);
	return l;
}

struct leftovers *leftovers_free(struct leftovers *l)
{
	if (!l)
		return NULL;
	loop_task_cancel(&l->task);
	list_each(u, &l->waiting, struct uid_left, link)
		left_free(u);
	free(l);
	return NULL;
}

void leftovers_stop(struct leftovers *l)
{
	l->stopping = true;
	if (l->helper)
		helper_job_kill(l->helper);
}
