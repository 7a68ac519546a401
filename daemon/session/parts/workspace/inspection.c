/*
 * inspection.c - runs acpd-unpack for a session's read-only requests, and cancels them.
 *
 * Runs are linked into the session, which is not freed and not closed while one exists. `ended`
 * frees the run, so inspection_on_done reads the session before the call. A run uses the session's cgroup
 * limits, except "recover": a job that restores a tree must not die of them. An entry of `diffs`
 * without helper is queued behind a snapshot, and is cancelled by calling `ended` directly.
 */
#include "session/parts/workspace/workspace_internal.h"

#include "json/json.h"
#include "session/parts/confinement/session_limits.h"

static void inspection_on_done(void *ctx, struct slice report, const struct err *e)
{
	struct inspection *k = ctx;
	struct session *s = k->session;

	k->ended(k, report, e); /* k is gone after */
	store_check_stopped(s->store);
	session_advance(s);
}

static const struct helper_job_events events = { NULL, inspection_on_done };

/* What finishes or undoes must not die of the session's limits. */
static struct proc_group *group_of(struct session *s, const char *verb)
{
	return strcmp(verb, "recover") == 0 ? NULL : session_limits_group(s);
}

int inspection_start(struct inspection *k, struct session *s, const char *verb, struct slice job,
		     void (*ended)(struct inspection *k, struct slice report, const struct err *e),
		     struct err *e)
{
	if (PARTS_FIRST(check_files, s, e) < 0)
		return -EAGAIN;
	k->session = s;
	k->ended = ended;
	k->helper = helper_job_start(
		s->store->loop, s->store->procs,
		&(struct helper_job_spec){ .verb = verb, .job = job, .group = group_of(s, verb) },
		&events, k, e);
	if (!k->helper)
		return -EIO;
	list_add_tail(&workspace_of(s)->inspections, &k->link);
	activity_note(s);
	return 0;
}

void inspection_done(struct inspection *k)
{
	list_del(&k->link);
	helper_job_free(k->helper);
}

bool has_inspections(const struct session *s)
{
	return !list_empty(&workspace_of(s)->inspections);
}

const struct err *inspection_cancelled(struct err *e)
{
	err_set(e, -ECANCELED, RPC_CANCELLED, "CANCELLED", "the request was cancelled");
	return e;
}

/* One that waits for another has not started yet. */
static bool cancel_among(struct list *runs, const void *ctx)
{
	struct err e;

	list_each(k, runs, struct inspection, link) {
		if (k->asked_by != ctx)
			continue;
		if (k->helper)
			helper_job_kill(k->helper);
		else
			k->ended(k, SLICE_NONE, inspection_cancelled(&e));
		return true;
	}
	return false;
}

bool workspace_cancel(struct session *s, const void *ctx)
{
	return cancel_among(&workspace_of(s)->inspections, ctx) ||
	       cancel_among(&workspace_of(s)->diffs, ctx) || provision_cancel(s, ctx);
}

/* Once, however often the same is exported. */
void session_note_export(struct session *s, struct slice report)
{
	uint64_t total = jobj_uint(report, "skippedTotal");
	JW_BUF(w, b);

	if (total == workspace_of(s)->export_lacks)
		return;
	workspace_of(s)->export_lacks = total;
	if (!total)
		return;
	jw_str(&w, "kind", "lifecycle");
	jw_str(&w, "event", "export_incomplete");
	jw_raw(&w, "omitted", jobj_get(report, "skipped").raw);
	jw_uint(&w, "omittedTotal", total);
	event_note(s, EVENT_LIFECYCLE, buf_slice(&b));
}

void inspections_abort(struct session *s)
{
	list_each(k, &workspace_of(s)->inspections, struct inspection, link)
		helper_job_abort(k->helper);
}
