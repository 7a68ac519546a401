/*
 * baseline.c - decides when acpd-unpack records a session's workspace, and what becomes of its reports.
 *
 * Runs that record (baseline, fold, turn) count in snapshots_running. Runs that only compare wait in `diffs` until
 * none of the others runs, and then run concurrently. Each run is freed at its end (on_snapshot), which then
 * starts what waits: a baseline that was requested during the run (snapshot_again), then queued comparisons.
 *
 * The end of a baseline or a fold sets baseline_is_due again: it stays true only if another one is wanted. Until it
 * is false, clients that wait for the workspace get no answer. A failed snapshot keeps no turn from ending: it is
 * logged, and an event reports it.
 */
#include "session/parts/workspace/baseline.h"

#include "base/os/file.h"
#include "base/limits.h"
#include "base/log.h"
#include "session/parts/workspace/artifact_store.h"
#include "session/core/redact/redact_internal.h"

/* The last two record nothing: they wait for those that do. */
enum snapshot_run_kind {
	SNAPSHOT_BASELINE,
	SNAPSHOT_FOLD, /* of what was delivered into the record */
	SNAPSHOT_TURN,
	SNAPSHOT_DIFF,
	SNAPSHOT_CHANGES
};

struct snapshot_run {
	struct inspection run;
	enum snapshot_run_kind kind;
	bool ignoring; /* SNAPSHOT_BASELINE: without what .gitignore files leave out */
	uint64_t turn;
	char *patch;	     /* where one is written; NULL: nowhere */
	char *into;	     /* SNAPSHOT_DIFF: where it is wanted as a file; NULL: as an answer */
	session_set_fn done; /* SNAPSHOT_DIFF, SNAPSHOT_CHANGES */
	void *ctx;
	struct change_query query; /* SNAPSHOT_CHANGES; its patterns are the caller's, until done */
};

char *baseline_dir(const struct session *s)
{
	return xprintf("%s/snapshots/%s", s->store->state_dir, s->id);
}

/* By the order of enum snapshot_run_kind. */
static bool run_records(const struct snapshot_run *k)
{
	return k->kind < SNAPSHOT_DIFF;
}

/* --- running it ------------------------------------------------------------------------------------------ */

/* The limit is in whole seconds, rounded up: acpd-unpack refuses 0. */
static void put_query(struct jw *w, const struct change_query *q)
{
	jw_bool(w, "list", q->list);
	jw_bool(w, "nearest", true);
	jw_raw(w, "allow", q->allow);
	jw_raw(w, "deny", q->deny);
	if (!q->ms)
		return;
	jw_object(w, "limits",
		  JW_UINT("seconds", MIN((q->ms + 999) / 1000, (uint64_t)UNPACK_SECS_MAX)));
}

static void snapshot_put_job(const struct session *s, struct buf *b, const struct snapshot_run *k)
{
	_cleanup_(freep) char *dir = baseline_dir(s);
	struct jw w = JW(b);

	jw_obj(&w, NULL);
	jw_str(&w, "root", session_tree(s));
	jw_str(&w, "dir", dir);
	if (k->kind != SNAPSHOT_FOLD)
		jw_uint(&w, run_records(k) ? "turn" : "since", k->turn);
	jw_str(&w, "patch", k->patch);
	if (k->kind == SNAPSHOT_CHANGES)
		put_query(&w, &k->query);
	if (k->kind == SNAPSHOT_DIFF)
		jw_bool(&w, "list", true); /* which gives a digest of all that is changed */
	/* what a workspace begins with is tracked, ignored or not */
	jw_str(&w, "ignore", k->kind == SNAPSHOT_BASELINE && !k->ignoring ? "none" : "gitignore");
	session_put_owner(&w, s);
	jw_end_obj(&w);
}

/* An adopted patch has been renamed: what is still at its path, nobody wants. */
static void snapshot_free(struct snapshot_run *k)
{
	if (k->patch)
		unlink(k->patch);
	free_each(k->patch, k->into, k);
}

static void on_snapshot(struct inspection *run, struct slice report, const struct err *e);

/* Counts only runs that record: otherwise comparisons would wait for each other. */
static int snapshot_start(struct session *s, struct snapshot_run *k, struct err *e)
{
	static const char *const verbs[] = { [SNAPSHOT_BASELINE] = "snapshot",
					     [SNAPSHOT_FOLD] = "fold",
					     [SNAPSHOT_TURN] = "snapshot",
					     [SNAPSHOT_DIFF] = "diff",
					     [SNAPSHOT_CHANGES] = "diff" };
	_cleanup_(buf_done) struct buf b = { 0 };
	int r;

	snapshot_put_job(s, &b, k);
	r = inspection_start(&k->run, s, verbs[k->kind], buf_slice(&b), on_snapshot, e);
	workspace_of(s)->snapshots_running += r == 0 && run_records(k);
	return r;
}

static struct snapshot_run *snapshot_new(struct session *s, enum snapshot_run_kind kind,
					 uint64_t turn, const char *name)
{
	struct snapshot_run *k = new0(struct snapshot_run);

	k->kind = kind;
	k->turn = turn;
	k->patch = name ? artifact_new_path(s, name) : NULL;
	return k;
}

bool baseline_is_running(const struct session *s)
{
	return workspace_of(s)->snapshots_running > 0;
}

bool baseline_is_due(const struct session *s)
{
	return workspace_of(s)->baseline_is_due;
}

/* --- what becomes of it ------------------------------------------------------------------------------------ */

static void note_failure(struct session *s, const struct snapshot_run *k, const struct err *e)
{
	JW_BUF(w, b);
	/* The text can quote the workspace: it is redacted before the log and clients get it. */
	struct err own = session_mask_err(s, e);

	log_warn("session", "no snapshot of the workspace", "session", s->id, "reason", own.reason,
		 "text", own.msg);
	jw_str(&w, "kind", "lifecycle");
	jw_str(&w, "event", "snapshot_failed");
	if (k->turn)
		jw_uint(&w, "turn", k->turn);
	jw_str(&w, "reason", own.reason);
	jw_str(&w, "message", own.msg);
	event_note(s, EVENT_LIFECYCLE, buf_slice(&b));
}

/* The snapshot and its timer race. The first one takes the turn, so that done is called once. */
static void answer_turn(struct session *s)
{
	struct session_turn *t = TAKE_PTR(workspace_of(s)->snapshot_turn);

	loop_timer_cancel(&workspace_of(s)->snapshot_timer);
	if (t)
		workspace_of(s)->snapshot_done(t);
}

/* A turn that changed nothing leaves no artifact. */
static void turn_compared(struct session *s, const struct snapshot_run *k, struct slice report)
{
	struct patch_info info;
	struct err e = { 0 };

	if (patch_info_read(report, &info) && info.bytes &&
	    !patch_adopt(s, k->patch, SHORT_TEXT(64, "turn-%llu.diff", (unsigned long long)k->turn),
			 k->turn, &e))
		note_failure(s, k, &e);
}

/* As it is a patch must not be seen: its secrets go before anybody has it. */
static void diff_filed(struct session *s, const struct snapshot_run *k, struct slice report,
		       const struct err *failed)
{
	struct err e = { 0 };
	int r = failed ? -EIO : session_mask_file(s, k->patch);

	if (r == 0 && rename(k->patch, k->into) < 0)
		r = -errno;
	if (r < 0 && !failed)
		err_set(&e, r, RPC_INTERNAL_ERROR, "STATE_NOT_WRITABLE",
			"the patch cannot be kept: %s", strerror(-r));
	k->done(k->ctx, r < 0 ? SLICE_NONE : report, failed ? failed : r < 0 ? &e : NULL);
}

static void diff_compared(struct session *s, const struct snapshot_run *k, struct slice report,
			  const struct err *failed)
{
	JW_BUF(w, b);
	struct err e = { 0 };
	int r = 0;

	jw_obj(&w, NULL);
	if (!failed)
		r = patch_answer_put(&w, s, k->patch, report, &e);
	if (failed || r < 0) {
		k->done(k->ctx, SLICE_NONE, failed ? failed : &e);
		return;
	}
	patch_put_omitted(&w, report);
	jw_raw(&w, "state", jobj_get(report, "state").raw);
	jw_end_obj(&w);
	k->done(k->ctx, buf_slice(&b), NULL);
}

/* A failure goes to done: add_diff has returned success to its caller. */
static void diff_begin(struct session *s, struct snapshot_run *k)
{
	struct err e = { 0 };

	if (s->state == SESSION_CLOSING || s->store->stopping)
		err_set(&e, -ECANCELED, RPC_INTERNAL_ERROR, "SESSION_CLOSING",
			"the session is being closed");
	else if (snapshot_start(s, k, &e) == 0)
		return;
	k->done(k->ctx, SLICE_NONE, &e);
	snapshot_free(k);
}

/* Whoever waits, waits for a snapshot that is being taken: each comes through here at its end. */
static void begin_diffs(struct session *s)
{
	while (!baseline_is_running(s) && !list_empty(&workspace_of(s)->diffs)) {
		struct snapshot_run *k =
			list_first(&workspace_of(s)->diffs, struct snapshot_run, run.link);

		list_del(&k->run.link);
		diff_begin(s, k);
	}
}

static void forget_record(struct session *s)
{
	_cleanup_(freep) char *dir = baseline_dir(s);

	removal_tree(s->store->removal, dir);
}

/* Of too many files, or too much, a baseline has what .gitignore files do not leave out. */
static void baseline_failed(struct session *s, const struct snapshot_run *k, const struct err *e)
{
	if (k->ignoring ||
	    (strcmp(e->reason, "TOO_MANY_ENTRIES") != 0 && strcmp(e->reason, "TIME_LIMIT") != 0)) {
		note_failure(s, k, e);
		return;
	}
	workspace_of(s)->baseline_ignoring = workspace_of(s)->snapshot_again = true;
}

/* A record that cannot be read is none: a new one begins, if there is still somebody to begin it. */
static void fold_failed(struct session *s, const struct err *e)
{
	if (s->state == SESSION_CLOSING || s->store->stopping)
		return;
	if (strcmp(e->reason, "STATE_DAMAGED") != 0 && strcmp(e->reason, "NO_BASELINE") != 0)
		return;
	forget_record(s);
	workspace_of(s)->snapshot_again = workspace_of(s)->baseline_is_due = true;
}

static void on_snapshot(struct inspection *run, struct slice report, const struct err *e)
{
	struct snapshot_run *k = container_of(run, struct snapshot_run, run);
	struct session *s = run->session;

	workspace_of(s)->snapshots_running -= run_records(k);
	if (k->kind == SNAPSHOT_CHANGES)
		k->done(k->ctx, report, e);
	else if (k->into)
		diff_filed(s, k, report, e);
	else if (k->kind == SNAPSHOT_DIFF)
		diff_compared(s, k, report, e);
	else if (e && k->kind == SNAPSHOT_BASELINE)
		baseline_failed(s, k, e);
	else if (e)
		note_failure(s, k, e);
	else if (k->kind == SNAPSHOT_TURN)
		turn_compared(s, k, report);
	if (k->kind == SNAPSHOT_TURN)
		answer_turn(s);
	if (k->kind == SNAPSHOT_BASELINE || k->kind == SNAPSHOT_FOLD)
		workspace_of(s)->baseline_is_due = workspace_of(s)->snapshot_again;
	if (k->kind == SNAPSHOT_FOLD && e)
		fold_failed(s, e);
	inspection_done(run);
	snapshot_free(k);
	/* else its end takes the baseline: another one now would lose the list of what is delivered */
	if (workspace_of(s)->snapshot_again && !provision_is_writing(s) &&
	    !baseline_is_running(s) && s->state != SESSION_CLOSING && !s->store->stopping)
		baseline_take(s);
	begin_diffs(s);
}

/* --- when ------------------------------------------------------------------------------------------------------ */

static void snapshot_begin(struct session *s, struct snapshot_run *k)
{
	struct err e = { 0 };

	if (snapshot_start(s, k, &e) == 0)
		return;
	note_failure(s, k, &e);
	snapshot_free(k);
}

/* A record is there: of a baseline, and of the turns since. */
static bool record_exists(const struct session *s, const char *name)
{
	_cleanup_(freep) char *dir = baseline_dir(s), *path = file_join(dir, name);

	return access(path, F_OK) == 0;
}

/* While the first is made, what is delivered is in it or not, as it happens. */
char *baseline_record(const struct session *s)
{
	if (!s->setup.baseline || workspace_of(s)->seeded)
		return NULL;
	return record_exists(s, "index") || (baseline_is_running(s) && record_exists(s, "")) ?
		       baseline_dir(s) :
		       NULL;
}

/* Snapshots of an earlier record describe another tree, so they are removed first. A seeded directory was created
 * by the extraction just now, and is the record. */
static void begin_baseline(struct session *s, bool seeded)
{
	_cleanup_(freep) char *dir = baseline_dir(s);
	struct snapshot_run *k;

	if ((!seeded && removal_tree(s->store->removal, dir) < 0) || file_mkdirs(dir, 0700) < 0)
		return;
	k = snapshot_new(s, SNAPSHOT_BASELINE, 0, NULL);
	/* For this baseline alone: the next one tries the whole tree again. */
	k->ignoring = workspace_of(s)->baseline_ignoring;
	workspace_of(s)->baseline_ignoring = false;
	snapshot_begin(s, k);
}

/* During a run a request is only remembered: on_snapshot takes it up. */
void baseline_take(struct session *s)
{
	bool seeded = workspace_of(s)->seeded;

	workspace_of(s)->seeded = false;
	workspace_of(s)->snapshot_again = s->setup.baseline && baseline_is_running(s);
	workspace_of(s)->baseline_is_due = workspace_of(s)->snapshot_again;
	if (!s->setup.baseline || workspace_of(s)->snapshot_again)
		return; /* after the one that is being taken */
	if (seeded || !record_exists(s, "index"))
		begin_baseline(s, seeded);
	else if (record_exists(s, "delivered"))
		snapshot_begin(s, snapshot_new(s, SNAPSHOT_FOLD, 0, NULL));
	workspace_of(s)->baseline_is_due = baseline_is_running(s);
}

/* Not while the tree is being written or restored. */
void baseline_resume(struct session *s)
{
	if (s->setup.baseline && !workspace_of(s)->provisioning && !baseline_is_running(s) &&
	    s->state != SESSION_CLOSING && !s->store->stopping &&
	    (workspace_of(s)->snapshot_again || record_exists(s, "delivered")) &&
	    !workspaces_recovering(&s->store->workspaces, s->cwd))
		baseline_take(s);
}

/* The snapshot continues: only the answer no longer waits for it. */
static void snapshot_on_overdue(void *ctx)
{
	answer_turn(ctx);
}

/* A turn that never started changed nothing. If its snapshot cannot be started, and none runs, the turn does not
 * wait. */
bool baseline_await_turn(struct session *s, struct session_turn *t,
			 void (*done)(struct session_turn *t))
{
	char name[64];

	if (!s->setup.baseline || !t->started_ms || s->store->stopping)
		return false;
	snprintf(name, sizeof(name), "turn-%llu.part", (unsigned long long)t->no);
	snapshot_begin(s, snapshot_new(s, SNAPSHOT_TURN, t->no, name));
	if (!baseline_is_running(s))
		return false;
	workspace_of(s)->snapshot_turn = t;
	workspace_of(s)->snapshot_done = done;
	loop_timer_set(s->store->loop, &workspace_of(s)->snapshot_timer, SNAPSHOT_WAIT_MS,
		       snapshot_on_overdue, s);
	return true;
}

void baseline_forget_turn(struct session *s, const struct session_turn *t)
{
	if (workspace_of(s)->snapshot_turn == t)
		workspace_of(s)->snapshot_turn = NULL;
}

/* Begins at once, or after what is being recorded. */
static void add_diff(struct session *s, struct snapshot_run *k, session_set_fn done, void *ctx)
{
	baseline_resume(s);
	k->done = done;
	k->ctx = ctx;
	k->run.session = s;
	k->run.asked_by = ctx;
	k->run.ended = on_snapshot;
	list_add_tail(&workspace_of(s)->diffs, &k->run.link);
	begin_diffs(s);
}

/* Also with an unfinished baseline: the comparison then waits for it. */
static int need_baseline(const struct session *s, struct err *e)
{
	if (!s->setup.baseline)
		return err_set(
			e, -ENODATA, RPC_INVALID_PARAMS, "NO_BASELINE",
			"the session has no baseline: its workspace came from no archive, and "
			"workspace.baseline did not ask for one");
	return 0;
}

int baseline_changes(struct session *s, const struct change_query *q, session_set_fn done,
		     void *ctx, struct err *e)
{
	struct snapshot_run *k;
	int r = need_baseline(s, e);

	if (r < 0)
		return r;
	k = snapshot_new(s, SNAPSHOT_CHANGES, q->since, q->lines ? "changes.part" : NULL);
	k->query = *q;
	add_diff(s, k, done, ctx);
	return 0;
}

void baseline_changes_stop(struct session *s, const void *ctx)
{
	list_each(run, &workspace_of(s)->inspections, struct inspection, link) {
		struct snapshot_run *k = container_of(run, struct snapshot_run, run);

		/* on_snapshot marks the runs of this file: others are embedded in other structures. */
		if (run->ended == on_snapshot && k->kind == SNAPSHOT_CHANGES && k->ctx == ctx)
			helper_job_abort(run->helper);
	}
}

/* Comparisons run concurrently, so each writes a file of its own. */
static struct snapshot_run *diff_new(struct session *s, uint64_t since)
{
	const char *name =
		SHORT_TEXT(64, "diff-%llu.part", (unsigned long long)++workspace_of(s)->last_diff);

	return snapshot_new(s, SNAPSHOT_DIFF, since, name);
}

int session_diff(struct session *s, uint64_t since, session_set_fn done, void *ctx, struct err *e)
{
	int r = need_baseline(s, e);

	if (r < 0)
		return r;
	if (since > s->turn.count)
		return err_field(e, "since", "FIELD_OUT_OF_RANGE",
				 "the session has had no such turn");
	add_diff(s, diff_new(s, since), done, ctx);
	return 0;
}

int baseline_diff_file(struct session *s, const char *path, session_set_fn done, void *ctx,
		       struct err *e)
{
	struct snapshot_run *k;
	int r = need_baseline(s, e);

	if (r < 0)
		return r;
	k = diff_new(s, 0);
	k->into = xstrdup(path);
	add_diff(s, k, done, ctx);
	return 0;
}

void baseline_done(struct session *s)
{
	loop_timer_cancel(&workspace_of(s)->snapshot_timer);
}
