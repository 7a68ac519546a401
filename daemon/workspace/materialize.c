/* materialize.c - stages workspace and skills as two jobs of acpd-unpack, and commits both only
 * if both pass. Skills commit first: other programs see only the workspace. A note on disk
 * precedes each job, for recovery. */
#include "workspace/materialize.h"

#include "base/os/file.h"
#include "base/log.h"
#include "json/json.h"
#include "workspace/derive.h"
#include "workspace/helper_job.h"
#include "workspace/sources.h"

enum part_kind { PART_WORKSPACE, PART_SKILLS, PART_MAX };

/* One tree to be written. */
struct materialize_part {
	struct materialize *m;
	enum part_kind kind;
	bool wanted, claimed, begun, committed;
	struct claim claim;
	char *target;
	struct buf job;
	struct helper_job *helper;
	char *report;
};

struct materialize {
	struct workspaces *ws;
	const struct agent_user *user;
	struct proc_group *group;
	const struct materialize_events *ev;
	void *ctx;
	struct materialize_part parts[PART_MAX];
	struct pins pins;
	char *instructions_file;
	char *prefix;
	bool has_archive, failed,
		dry_run; /* has_archive: the workspace has one, and its pin is the first */
	struct err error;
	char *refusal;
	struct loop_task end_task;
};

/* In reply and request. */
static const char *const part_members[PART_MAX] = { "workspace", "skills" };

/* --- the jobs, laid out ----------------------------------------------------------------------------------- */

/* True: the workspace is to hold only this request's files, without those of an earlier one. False: it adds to them. */
static bool is_whole_generation(const struct request *r)
{
	return r->has_archive && !r->merge;
}

static int begin_job(struct materialize *m, struct materialize_part *p, struct jw *w, bool merge,
		     const struct materialize_spec *spec, struct err *e)
{
	_cleanup_(freep) char *record = NULL, *manifest = NULL;
	int r = workspaces_record(m->ws, p->target, false, &record);

	if (r < 0)
		return err_set(e, r, RPC_INTERNAL_ERROR, "STATE_NOT_WRITABLE",
			       "cannot keep the workspace's record: %s", strerror(-r));
	manifest = file_join(record, "manifest");
	jw_obj(w, NULL);
	workspaces_put_target(m->user, w, p->target);
	jw_str(w, "mode", merge ? "merge" : "replace");
	jw_str(w, "links", spec ? spec->request->links : NULL);
	jw_str(w, "manifest", manifest);
	jw_str(w, "baseline", spec && is_whole_generation(spec->request) ? spec->baseline : NULL);
	jw_str(w, "delivered", spec ? spec->delivered : NULL);
	jw_bool(w, "confirm", true);
	jw_arr(w, "sources");
	return 0;
}

static int part_put_archive(struct materialize *m, struct jw *w, const struct request *r,
			    struct err *e)
{
	int ret;

	if (!r->has_archive)
		return 0;
	jw_obj(w, NULL);
	ret = pins_add(&m->pins, w, &r->archive, "workspace.archive", e);
	jw_int(w, "strip", r->strip);
	jw_str(w, "into", r->into);
	jw_end_obj(w);
	return ret;
}

/* The client's members, with "path" under the name that a job has for it. */
static void part_put_files(struct jw *w, const struct request *r)
{
	if (!r->files)
		return;
	jarr_each(v, slice_of(r->files)) {
		jw_obj(w, NULL);
		jw_raw(w, "file", jobj_get(v.raw, "path").raw);
		jw_members(w, v.raw, "path");
		jw_bool(w, "renew", is_whole_generation(r));
		jw_end_obj(w);
	}
}

static void part_put_instructions(struct jw *w, const struct request *r, const char *name,
				  bool ours)
{
	if (!r->instructions)
		return;
	jw_object(w, NULL, JW_STR("file", name), JW_STR("text", r->instructions),
		  JW_BOOL("overwrite", r->instructions_overwrite),
		  JW_BOOL("renew", ours || is_whole_generation(r)));
}

/* The job is laid out before any tree is claimed: a mistake in the request has no effect on a session. */
static int plan_workspace(struct materialize *m, const struct materialize_spec *spec, struct err *e)
{
	struct materialize_part *p = &m->parts[PART_WORKSPACE];
	const struct request *r = spec->request;
	struct jw w = JW(&p->job);
	int ret;

	p->wanted = request_touches_workspace(r);
	if (!p->wanted)
		return 0;
	p->target = xstrdup(spec->cwd);
	/* without an archive everything of an earlier generation stays */
	ret = begin_job(m, p, &w, r->merge || !r->has_archive, spec, e);
	if (ret == 0)
		ret = part_put_archive(m, &w, r, e);
	part_put_files(&w, r);
	part_put_instructions(&w, r, spec->instructions_file,
			      workspaces_has_instructions(m->ws, p->target));
	jw_end_arr(&w);
	jw_end_obj(&w);
	return ret;
}

static int put_skill(struct materialize *m, struct jw *w, const struct request *request, size_t i,
		     struct err *e)
{
	const struct request_skill *s = &request->skills[i];
	_cleanup_(freep) char *path = NULL;
	int r = 0;
	const char *field = SHORT_TEXT(48, "skills[%zu].archive", i);

	jw_obj(w, NULL);
	if (s->source == SKILL_ARCHIVE) {
		r = pins_add(&m->pins, w, &s->digest, field, e);
	} else {
		path = sources_skill_path(m->ws, s);
		jw_str(w, "directory", path);
	}
	jw_bool(w, "skill", true);
	jw_end_obj(w);
	return r;
}

static int plan_skills(struct materialize *m, const struct materialize_spec *spec, struct err *e)
{
	struct materialize_part *p = &m->parts[PART_SKILLS];
	const struct request *r = spec->request;
	struct jw w = JW(&p->job);
	int ret;

	p->wanted = request_touches_skills(r);
	if (!p->wanted)
		return 0;
	if (!spec->skills_dir)
		return err_field(e, "skills", "CAPABILITY_MISSING", "this harness reads no skills");
	p->target = xstrdup(spec->skills_dir);
	ret = begin_job(m, p, &w, true, NULL, e);
	for (size_t i = 0; ret == 0 && i < r->nskills; i++)
		ret = put_skill(m, &w, r, i, e);
	jw_end_arr(&w);
	if (r->remove_skills)
		jw_raw(&w, "removeSkills", slice_of(r->remove_skills));
	jw_end_obj(&w);
	return ret;
}

/* --- carrying them out ---------------------------------------------------------------------------------------- */

static void materialize_go_on(struct materialize *m);

/* The harness would read a file of others in place of the instructions: the session is told. */
static bool is_kept_out(const struct materialize *m)
{
	struct slice report = slice_of(m->parts[PART_WORKSPACE].report);

	if (!m->instructions_file || !report.n)
		return false;
	jarr_each(v, jobj_get(report, "skipped"))
		/* a file of this name that strip cut away is another file of the archive */
		if (jstr_is(jobj_get(v.raw, "path"), m->instructions_file) &&
		    !jstr_is(jobj_get(v.raw, "reason"), "STRIPPED"))
			return true;
	return false;
}

static bool skills_changed(const struct materialize *m)
{
	struct slice report = slice_of(m->parts[PART_SKILLS].report);

	return !m->dry_run && report.n &&
	       (jobj_int(report, "written") || jobj_int(report, "removed"));
}

static void materialize_end(void *ctx)
{
	struct materialize *m = ctx;
	JW_BUF(w, b);
	struct materialized ret;

	for (size_t i = 0; i < PART_MAX; i++)
		if (m->parts[i].report)
			jw_raw(&w, part_members[i], slice_of(m->parts[i].report));
	if (!m->failed && !m->dry_run && m->has_archive)
		derive_begin(m->ws, &m->pins.v[0].archive,
			     slice_of(m->parts[PART_WORKSPACE].report));
	ret = (struct materialized){ buf_slice(&b), skills_changed(m), is_kept_out(m) };
	m->ev->done(m->ctx, &ret, m->failed ? &m->error : NULL, slice_of(m->refusal));
}

/* The parameter of the part that acpd-unpack has refused. */
static const char *refused_member(const struct err *e)
{
	return strcmp(e->reason, "STRIPPED_ALL") == 0 ? ".strip" : "";
}

static void materialize_fail(struct materialize *m, enum part_kind kind, const struct err *e,
			     struct slice refusal)
{
	if (m->failed)
		return;
	m->failed = true;
	m->error = *e;
	if (e->rpc == RPC_INVALID_PARAMS && !*e->field)
		snprintf(m->error.field, sizeof(m->error.field), "%.60s%s%s", m->prefix,
			 part_members[kind], refused_member(e));
	m->refusal = refusal.n ? xstrndup(refusal.p, refusal.n) : NULL;
}

/* A damaged archive is the store's fault and not the request's, so the pins are asked first. */
static void fail_part(struct materialize_part *p, const struct err *e, struct slice refusal)
{
	_cleanup_(buf_done) struct buf own_refusal = { 0 };
	struct err own = *e;

	if (pins_blame(&p->m->pins, refusal, &own, &own_refusal))
		materialize_fail(p->m, p->kind, &own, buf_slice(&own_refusal));
	else
		materialize_fail(p->m, p->kind, e, refusal);
}

/* Nothing has changed in the tree yet. A dry run ends here, with this report. */
static void on_staged(void *ctx, struct slice report)
{
	struct materialize_part *p = ctx;

	p->begun = true;
	if (p->m->dry_run)
		p->report = xstrndup(report.p, report.n);
	materialize_go_on(p->m);
}

/* Notes whether the file is the repository's or ours: later requests replace only ours. */
static void note_instructions(const struct materialize *m, const struct materialize_part *p)
{
	if (p->kind == PART_WORKSPACE && !m->dry_run && (m->instructions_file || m->has_archive))
		workspaces_note_instructions(m->ws, p->target,
					     m->instructions_file && !is_kept_out(m));
}

static void on_recovered(void *ctx, struct slice report _unused_, const struct err *e)
{
	struct materialize_part *p = ctx;

	if (e)
		log_warn("workspace", "tree not recovered", "path", p->target, "reason", e->reason,
			 "text", e->msg);
	else
		workspaces_end(p->m->ws, p->target);
	p->helper = helper_job_free(p->helper);
	workspaces_release(p->m->ws, &p->claim);
	materialize_go_on(p->m);
}

static const struct helper_job_events recovery_events = { NULL, on_recovered };

/* The program was killed, perhaps half-way, and perhaps for the session's limits: this must not die of them.
 * If it fails, the note stays for the next daemon. */
static void part_recover(struct materialize_part *p)
{
	_cleanup_(buf_done) struct buf job = { 0 };
	struct err e = { 0 };

	workspaces_put_recovery(p->m->ws, p->m->user, &job, p->target, NULL);
	helper_job_free(p->helper);
	p->committed = true; /* this is not to be aborted */
	p->helper = helper_job_start(p->m->ws->loop, p->m->ws->procs,
				     &(struct helper_job_spec){ .verb = "recover",
								.job = buf_slice(&job) },
				     &recovery_events, p, &e);
	if (!p->helper)
		on_recovered(p, SLICE_NONE, &e);
}

static void part_done(void *ctx, struct slice report, const struct err *e)
{
	struct materialize_part *p = ctx;
	struct materialize *m = p->m;

	if (e && !(m->dry_run && p->report)) /* a dry run with a report has succeeded */
		fail_part(p, e, report);
	if (!e) {
		p->report = xstrndup(report.p, report.n);
		note_instructions(m, p);
	}
	if (helper_job_torn(p->helper)) {
		part_recover(p);
		return;
	}
	workspaces_end(m->ws, p->target);
	p->helper = helper_job_free(p->helper); /* and report with it */
	workspaces_release(m->ws, &p->claim);
	materialize_go_on(m);
}

static const struct helper_job_events helper_job_events = { on_staged, part_done };

/* The note of the job is on disk before the program starts (workspaces_begin), so that whatever ends both is recovered from. */
static void start_part(void *ctx)
{
	struct materialize_part *p = ctx;
	struct materialize *m = p->m;
	struct err e = { 0 };

	if (workspaces_begin(m->ws, m->user, p->target, NULL, &e) == 0)
		p->helper = helper_job_start(m->ws->loop, m->ws->procs,
					     &(struct helper_job_spec){ .verb = "extract",
									.job = buf_slice(&p->job),
									.group = m->group },
					     &helper_job_events, p, &e);
	if (p->helper)
		return;
	workspaces_end(m->ws, p->target);
	workspaces_release(m->ws, &p->claim);
	materialize_fail(m, p->kind, &e, SLICE_NONE);
	materialize_go_on(m);
}

/* After a failure, undoes the parts that are not committed; true while one of them is still running. */
static bool abort_rest(struct materialize *m)
{
	bool busy = false;

	for (size_t i = 0; i < PART_MAX; i++) {
		struct materialize_part *p = &m->parts[i];

		if (!p->helper)
			workspaces_release(m->ws, &p->claim);
		else if (!p->committed)
			helper_job_abort(p->helper);
		busy |= p->helper != NULL;
	}
	return busy;
}

/* Stages the next part that is not staged, in the order of the table, when its tree is free. */
static bool stage_next(struct materialize *m)
{
	for (size_t i = 0; i < PART_MAX; i++) {
		struct materialize_part *p = &m->parts[i];

		if (!p->wanted || p->begun)
			continue;
		if (!p->claimed)
			workspaces_claim(m->ws, &p->claim, p->target, start_part, p);
		p->claimed = true;
		return true;
	}
	return false;
}

/* Last to first: other programs see only the workspace. */
static bool commit_next(struct materialize *m)
{
	for (size_t i = PART_MAX; i-- > 0;) {
		struct materialize_part *p = &m->parts[i];

		if (!p->wanted || p->report)
			continue;
		if (!p->committed)
			helper_job_commit(p->helper);
		p->committed = true;
		return true;
	}
	return false;
}

static void materialize_go_on(struct materialize *m)
{
	if (!m->failed && (stage_next(m) || commit_next(m)))
		return;
	if ((m->failed || m->dry_run) && abort_rest(m))
		return;
	loop_defer(m->ws->loop, &m->end_task, materialize_end, m);
}

/* --- life ------------------------------------------------------------------------------------------------------ */

struct materialize *materialize_start(struct workspaces *ws, const struct materialize_spec *spec,
				      const struct materialize_events *ev, void *ctx, struct err *e)
{
	struct materialize *m = new0(struct materialize);

	m->ws = ws;
	m->user = spec->user;
	m->group = proc_group_ref(spec->group);
	m->ev = ev;
	m->ctx = ctx;
	m->prefix = xstrdup(spec->prefix);
	m->pins = (struct pins){ .ws = ws, .prefix = m->prefix };
	m->dry_run = spec->request->dry_run;
	m->has_archive = spec->request->has_archive;
	m->instructions_file = spec->request->instructions ? xstrdup(spec->instructions_file) :
							     NULL;
	for (size_t i = 0; i < PART_MAX; i++) {
		m->parts[i].m = m;
		m->parts[i].kind = (enum part_kind)i;
	}
	if (sources_check(ws, spec->request, m->prefix, e) < 0 || plan_workspace(m, spec, e) < 0 ||
	    plan_skills(m, spec, e) < 0)
		return materialize_free(m);
	materialize_go_on(m);
	return m;
}

/* From the first commit on the other parts follow: undoing one tree would leave the other one changed. */
bool materialize_committing(const struct materialize *m)
{
	for (size_t i = 0; i < PART_MAX; i++)
		if (m->parts[i].committed)
			return true;
	return false;
}

void materialize_abort(struct materialize *m)
{
	struct err e;

	err_set(&e, -ECANCELED, RPC_CANCELLED, "CANCELLED",
		"the request was cancelled, or the session is being closed");
	materialize_fail(m, PART_WORKSPACE, &e, SLICE_NONE);
	materialize_go_on(m);
}

struct materialize *materialize_free(struct materialize *m)
{
	if (!m)
		return NULL;
	loop_task_cancel(&m->end_task);
	pins_done(&m->pins);
	proc_group_unref(m->group);
	for (size_t i = 0; i < PART_MAX; i++) {
		workspaces_release(m->ws, &m->parts[i].claim);
		free_each(m->parts[i].target, m->parts[i].report);
		buf_done(&m->parts[i].job);
	}
	free_each(m->instructions_file, m->prefix, m->refusal, m);
	return NULL;
}
