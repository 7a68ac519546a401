/*
 * provision.c - carries out a client's request for workspace, skills and instructions in one
 * session.
 *
 * The sequence is: materialize the trees, write instructions to the home if the workspace has its
 * own file, record the baseline, answer. The answer waits for the baseline, so that later changes
 * of the client are not in it. After the home is handed over, only acpd-unpack writes there, as its
 * user. A request that is committing cannot be cancelled: its changes need the baseline.
 */

#include "base/os/file.h"
#include "base/log.h"
#include "session/parts/workspace/baseline.h"
#include "session/core/session_internal.h"
#include "session/parts/confinement/session_limits.h"
#include "session/core/session_paths.h"
#include "workspace/materialize.h"
#include "workspace/sources.h"
#include "session/parts/trace/session_trace.h"

struct provisioning {
	struct session *session;
	struct materialize *work;
	char *instructions; /* for the private home, should the workspace have its own */
	char *members;	    /* of the reply, while instructions are written there */
	bool skills_changed, workspace;
	bool written; /* only the baseline is waited for */
	struct trace_span span;
	session_set_fn done;
	void *ctx;
};

static void provisioning_free(struct provisioning *f)
{
	if (!f)
		return;
	materialize_free(f->work);
	free_each(f->instructions, f->members, f);
}

bool session_is_provisioning(const struct session *s)
{
	return workspace_of(s)->provisioning != NULL;
}

bool provision_is_writing(const struct session *s)
{
	return workspace_of(s)->provisioning && !workspace_of(s)->provisioning->written;
}

/* --- the result ---------------------------------------------------------------------------------------- */

static void put_instructions(struct jw *w, const struct session *s, bool at_home)
{
	jw_object(w, "instructions",
		  JW_STR("path", at_home ? s->def->places.instructions_home :
					   s->def->places.instructions_file),
		  JW_STR("in", at_home ? "home" : "workspace"));
}

/* nowhere: "skipped" says why. */
static void keep_result(struct provisioning *f, struct slice members, bool nowhere, bool at_home)
{
	JW_BUF(w, b);

	jw_obj(&w, NULL);
	if (f->instructions && (at_home || !nowhere))
		put_instructions(&w, f->session, at_home);
	/* members is the inside of an object that materialize wrote: it is appended as text. */
	if (members.n && w.comma)
		buf_putc(&b, ',');
	buf_add_slice(&b, members);
	buf_puts(&b, "}");
	workspace_of(f->session)->provisioned = xstrndup(b.data, b.len);
}

static void provisioning_answer(struct provisioning *f, const struct err *e)
{
	struct session *s = f->session;

	/* Before done: the callback can start the next request. */
	workspace_of(s)->provisioning = NULL;
	if (e || workspace_of(s)->snapshot_again) /* some of it may have been written */
		baseline_resume(s);
	if (f->done)
		f->done(f->ctx,
			slice_of(e ? workspace_of(s)->refusal : workspace_of(s)->provisioned), e);
	provisioning_free(f);
	store_check_stopped(s->store);
	session_advance(s);
}

void provision_answer(struct session *s)
{
	if (workspace_of(s)->provisioning && workspace_of(s)->provisioning->written &&
	    !baseline_is_due(s))
		provisioning_answer(workspace_of(s)->provisioning, NULL);
}

/* e NULL: everything was written. */
static void end_provision_span(struct provisioning *f, const struct err *e)
{
	struct span_note n;

	if (!span_tell(f->session, &f->span, &n, SPAN_INTERNAL, "materialize", NULL))
		return;
	span_put_bool(&n, "acpd.workspace.written", !e);
	span_told(&n, e ? e->reason : NULL, e ? e->msg : NULL);
}

/* A new session's harness starts while its baseline is taken: harness_opened waits for both. */
static void provisioning_finish(struct provisioning *f, const struct err *e, struct slice refusal)
{
	struct session *s = f->session;

	end_provision_span(f, e);
	xstrset(&workspace_of(s)->refusal, NULL);
	if (e && refusal.n)
		workspace_of(s)->refusal = xstrndup(refusal.p, refusal.n);
	if (e)
		log_warn("session", "workspace not written", "session", s->id, "reason", e->reason,
			 "text", e->msg);
	else
		session_log(s, "workspace written", NULL);
	/* harnesses read both when they start; Codex sees new skills sooner, but up to 10 s late */
	if (!e && (f->skills_changed || f->instructions))
		s->harness.restart |= s->harness.state != H_NONE;
	if (!e && f->workspace)
		baseline_take(s);
	/* A session that closes does not wait for its baseline. */
	f->written = !e && baseline_is_due(s) && s->state == SESSION_OPEN && !s->store->stopping;
	if (!f->written)
		provisioning_answer(f, e);
}

static void on_home_done(void *ctx, const struct materialized *m, const struct err *e,
			 struct slice refusal)
{
	struct provisioning *f = ctx;

	if (!e)
		keep_result(f, slice_of(f->members), true, !m->instructions_kept_out);
	provisioning_finish(f, e, refusal);
}

static const struct materialize_events home_events = { on_home_done };

/* The home is the agent's already: what goes into it is written as its user, by acpd-unpack. */
static int write_at_home(struct provisioning *f, const struct materialized *m, struct err *e)
{
	struct session *s = f->session;
	struct request r = { .instructions = f->instructions,
			     .instructions_overwrite = true,
			     .baseline = -1 };
	struct materialize_spec spec = { .request = &r,
					 .user = &s->user,
					 .group = session_limits_group(s),
					 .cwd = s->home,
					 .instructions_file = s->def->places.instructions_home,
					 .prefix = "" };

	f->members = xstrndup(m->members.p, m->members.n);
	f->work = materialize_free(f->work);
	f->work = materialize_start(&s->store->workspaces, &spec, &home_events, f, e);
	return f->work ? 0 : -EINVAL;
}

/* The home comes last: it gets the instructions only if the workspace has a file of its own. */
static void provisioning_on_done(void *ctx, const struct materialized *m, const struct err *e,
				 struct slice refusal)
{
	struct provisioning *f = ctx;
	struct session *s = f->session;
	/* the harness reads both: that of the repository, and ours from its own configuration */
	bool home = !e && m->instructions_kept_out && s->def->places.instructions_home;
	struct err own = { 0 };

	f->skills_changed = !e && m->skills_changed;
	xstrset(&workspace_of(s)->provisioned, NULL);
	if (home && s->harness.home_filled) {
		if (write_at_home(f, m, &own) < 0)
			provisioning_finish(f, &own, SLICE_NONE);
		return;
	}
	if (home)
		xstrset(&workspace_of(s)->home_instructions, f->instructions);
	if (!e)
		keep_result(f, m->members, m->instructions_kept_out, home);
	provisioning_finish(f, e, refusal);
}

static const struct materialize_events events = { provisioning_on_done };

/* --- beginning ------------------------------------------------------------------------------------------------ */

/* Below a home that is still ours; in one that has been handed over it was made then. */
static int skills_dir(struct session *s, const struct request *r, char **ret, struct err *e)
{
	const char *relative = s->def->places.skills_dir;

	*ret = NULL;
	if (!request_touches_skills(r) || !relative)
		return 0;
	*ret = file_join(s->home, relative);
	if (s->harness.home_filled)
		return 0;
	paths_let_into_home(s);
	return paths_make_dir(s, relative, e);
}

/* One request at a time: the second would see half of the first. */
static int busy(struct err *e)
{
	return err_set(e, -EBUSY, RPC_INVALID_REQUEST, "SESSION_BUSY",
		       "the session's workspace is being written already");
}

/* Begins; session_advance goes on with the session at its end, whatever that was. done (may be NULL) gets the raw
 * object {workspace?, skills?, instructions?} or the error; the same object is session_provisioned until the next
 * request. -EBUSY with SESSION_BUSY while another request is being carried out. */
static int provision_begin(struct session *s, const struct request *r, const char *prefix,
			   session_set_fn done, void *ctx, struct err *e)
{
	_cleanup_(freep) char *skills = NULL,
			      *seed = workspace_of(s)->seeded ? baseline_dir(s) : NULL,
			      *record = baseline_record(s);
	struct provisioning *f;

	if (workspace_of(s)->provisioning)
		return busy(e);
	if (request_touches_workspace(r) &&
	    PARTS_FIRST(check_touch, s, "the workspace cannot be written", e) < 0)
		return -EBUSY;
	if (request_touches_workspace(r) && paths_check_writable(&s->user, s->cwd, e) < 0)
		return -EACCES;
	if (skills_dir(s, r, &skills, e) < 0)
		return -EIO;
	f = new0(struct provisioning);
	f->session = s;
	f->done = done;
	f->ctx = ctx;
	f->instructions = xstrdup(r->instructions);
	session_span_begin(s, &f->span);
	f->workspace = request_touches_workspace(r);
	f->work = materialize_start(
		&s->store->workspaces,
		&(struct materialize_spec){ .request = r,
					    .user = &s->user,
					    .group = session_limits_group(s),
					    .cwd = s->cwd,
					    .skills_dir = skills,
					    .instructions_file = s->def->places.instructions_file,
					    .baseline = seed,
					    .delivered = record,
					    .prefix = prefix },
		&events, f, e);
	if (!f->work) {
		provisioning_free(f);
		return -EINVAL;
	}
	workspace_of(s)->provisioning = f;
	return 0;
}

/* The harness comes after its files. */
static void on_first(void *ctx, struct slice result _unused_, const struct err *e)
{
	struct session *s = ctx;
	struct err own = { 0 };

	if (e)
		own = *e;
	else if (s->state != SESSION_OPENING || session_launch_first(s, &own) == 0)
		return;
	harness_opened(s, &own);
}

/* Without files to write the tree is complete: its baseline is taken at once. */
int provision_first(struct session *s, const struct session_params *p, struct err *e)
{
	int r;

	if (!p->request || !request_writes(p->request)) {
		baseline_take(s);
		return 0;
	}
	workspace_of(s)->seeded = s->setup.baseline;
	r = provision_begin(s, p->request, "_meta.acpd.", on_first, s, e);
	return r < 0 ? r : 1;
}

/* Changes nothing: it runs before the session does (check_open). */
int provision_admit(const struct session *s, const struct session_params *p, struct err *e)
{
	const struct request *r = p->request;
	int ret = r ? request_check_live(r, "_meta.acpd.", e) : 0;

	if (!r)
		return 0;
	if (ret == 0 && request_writes(r) && workspace_of(s)->provisioning)
		ret = busy(e);
	if (ret == 0 && request_touches_workspace(r))
		ret = PARTS_FIRST(check_touch, s, "the workspace cannot be written", e);
	if (ret == 0 && request_touches_workspace(r))
		ret = paths_check_writable(&s->user, s->cwd, e);
	if (ret == 0)
		ret = sources_check(&s->store->workspaces, r, "_meta.acpd.", e);
	return ret;
}

/* Those who wait for the session go on when the work is done, if it went well. */
static void on_again(void *ctx, struct slice result _unused_, const struct err *e)
{
	if (!e)
		return;
	session_open_undone(ctx);
	harness_answer_waiters(ctx, e);
}

int provision_again(struct session *s, const struct session_params *p, struct err *e)
{
	const struct request *r = p->request;

	if (!workspace_of(s)->provisioning)
		xstrset(&workspace_of(s)->refusal, NULL);
	if (!r || !request_writes(r)) {
		baseline_resume(s);
		/* what an earlier request wrote is no answer to this one */
		if (r && !workspace_of(s)->provisioning && list_empty(&s->harness.open_waiters))
			xstrset(&workspace_of(s)->provisioned, NULL);
		return 0;
	}
	return provision_begin(s, r, "_meta.acpd.", on_again, s, e);
}

/* A request that is written waits only for its baseline: it is answered without, since the session closes. */
void provision_abort(struct session *s)
{
	if (workspace_of(s)->provisioning && workspace_of(s)->provisioning->written)
		provisioning_answer(workspace_of(s)->provisioning, NULL);
	else if (workspace_of(s)->provisioning)
		materialize_abort(workspace_of(s)->provisioning->work);
}

bool provision_cancel(struct session *s, const void *ctx)
{
	struct provisioning *f = workspace_of(s)->provisioning;

	if (!f || f->ctx != ctx)
		return false;
	/* else it is written: "cancelled" would be wrong, and nobody would take the baseline */
	if (!f->written && !f->members && !materialize_committing(f->work))
		materialize_abort(f->work);
	return true;
}

/* --- which skills there are ---------------------------------------------------------------------------------- */

struct home_skills {
	struct inspection run;
	session_set_fn done;
	void *ctx;
};

static void on_listed(struct inspection *k, struct slice report, const struct err *e)
{
	struct home_skills *l = container_of(k, struct home_skills, run);

	l->done(l->ctx, report, e);
	inspection_done(k);
	free(l);
}

int session_skills(struct session *s, session_set_fn done, void *ctx, struct err *e)
{
	_cleanup_(freep) char *dir = NULL;
	JW_BUF(w, job);
	struct home_skills *l;
	int r;

	if (!s->def->places.skills_dir || !s->home)
		return err_set(e, -ENOSYS, RPC_INVALID_PARAMS, "CAPABILITY_MISSING",
			       "this harness reads no skills");
	dir = file_join(s->home, s->def->places.skills_dir);
	jw_obj(&w, NULL);
	jw_str(&w, "directory", dir);
	session_put_owner(&w, s);
	jw_end_obj(&w);
	l = new0(struct home_skills);
	l->done = done;
	l->ctx = ctx;
	r = inspection_start(&l->run, s, "skills", buf_slice(&job), on_listed, e);
	if (r < 0)
		free(l);
	return r;
}

/* --- the end ------------------------------------------------------------------------------------------------------ */

int session_provision(struct session *s, const struct request *r, const char *prefix,
		      session_set_fn done, void *ctx, struct err *e)
{
	if (session_refuse_imported(s, e) < 0)
		return -EPERM;
	if (s->state != SESSION_OPEN || s->store->stopping)
		return err_set(e, -ENOENT, RPC_NOT_FOUND, "SESSION_NOT_ACTIVE",
			       "the session is closed; session/load opens it");
	return provision_begin(s, r, prefix, done, ctx, e);
}

void provision_done(struct session *s)
{
	provisioning_free(workspace_of(s)->provisioning);
	free_each(workspace_of(s)->provisioned, workspace_of(s)->refusal,
		  workspace_of(s)->home_instructions);
}
