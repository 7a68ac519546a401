/*
 * workspace_part.c - the part workspace in the life of a session: where a session works, what is noted of that, and what
 * goes with it. provision.c puts files there, baseline.c records what changes.
 */

#include "base/os/file.h"
#include "session/core/session_paths.h"
#include "session/parts/workspace/artifact_store.h"
#include "session/parts/workspace/baseline.h"
#include "workspace/sources.h"

/* Sources are checked before a directory is created or handed over, so that a refused request leaves nothing
 * behind. */
static int provision_cwd(struct session *s, const struct session_params *p,
			 const struct session *from _unused_, struct err *e)
{
	const struct request *q = p->request;
	int r = q ? sources_check(&s->store->workspaces, q, "_meta.acpd.", e) : 0;

	if (r == 0 && q && q->ephemeral)
		return workspaces_make_ephemeral(&s->store->workspaces, &s->user, &s->cwd, e);
	if (r == 0 && q && q->chown)
		r = workspaces_hand_over(&s->user, p->cwd, e);
	if (r == 0)
		r = paths_check_cwd(&s->user, p->cwd, e);
	if (r == 0)
		s->cwd = xstrdup(p->cwd);
	return r;
}

/* Nothing has been written: an ephemeral directory is as empty as it was made. */
static void provision_unmake(struct session *s)
{
	if (s->setup.ephemeral && s->cwd)
		rmdir(s->cwd);
}

/* As the client asked for it, so that the same can be asked for again. */
static void note_source(struct setup *s, const struct request *r)
{
	JW_BUF(w, b);

	jw_obj(&w, NULL);
	jw_str(&w, "archive", SHA256_TEXT_OF(&r->archive));
	if (r->strip == STRIP_AUTO)
		jw_str(&w, "strip", "auto");
	else if (r->strip)
		jw_int(&w, "strip", r->strip);
	jw_str(&w, "into", r->into);
	jw_str(&w, "links", r->links);
	jw_end_obj(&w);
	free(s->source);
	s->source = xstrndup(b.data, b.len);
}

static void provision_setup(struct session *s, const struct session_params *p)
{
	const struct request *r = p->request;

	if (!r)
		return;
	s->setup.ephemeral = r->ephemeral;
	s->setup.remove_on_close = r->remove_on_close;
	/* Negative: the client did not say. Then an archive brings a baseline. */
	s->setup.baseline = r->baseline < 0 ? r->has_archive : r->baseline == 1;
	if (r->has_archive)
		note_source(&s->setup, r);
}

static void provision_inherit(struct session *s, const struct session *from)
{
	_cleanup_(freep) char *skills = NULL, *theirs = NULL;

	if (!s->def->places.skills_dir)
		return;
	skills = file_join(s->home, s->def->places.skills_dir);
	theirs = file_join(from->home, s->def->places.skills_dir);
	workspaces_inherit(&s->store->workspaces, skills, theirs);
}

static void provision_closed(struct session *s, bool remove)
{
	_cleanup_(freep) char *skills = NULL;

	const struct agent_user self = agent_user_self();

	/* Files of a parked session have no user at present: the daemon removes them as itself. */
	if (s->setup.ephemeral && (remove || s->setup.remove_on_close))
		workspaces_remove(&s->store->workspaces, s->stored.parked ? &self : &s->user,
				  s->cwd);
	if (!remove || !s->home)
		return;
	workspaces_forget(&s->store->workspaces, s->home);
	if (!s->def->places.skills_dir)
		return;
	skills = file_join(s->home, s->def->places.skills_dir);
	workspaces_forget(&s->store->workspaces, skills);
}

static void create_workspace(struct session *s)
{
	list_init(&workspace_of(s)->inspections);
	list_init(&workspace_of(s)->diffs);
}

static void free_workspace(struct session *s)
{
	baseline_done(s);
	artifacts_done(s);
	provision_done(s);
}

static bool workspace_has_job(const struct session *s)
{
	return session_is_provisioning(s) || has_inspections(s) || baseline_is_running(s);
}

static void stop_workspace(struct session *s)
{
	provision_abort(s);
	inspections_abort(s);
}

/* Instructions that the workspace has no room for. */
static void put_instructions_file(const struct session *s, struct harness_plan *plan)
{
	if (workspace_of(s)->home_instructions)
		harness_plan_file(plan, s->def->places.instructions_home,
				  workspace_of(s)->home_instructions);
}

static void workspace_forget_turn(struct session_turn *t)
{
	baseline_forget_turn(t->session, t);
}

struct slice session_provisioned(const struct session *s)
{
	return slice_of(workspace_of(s)->provisioned);
}

struct slice session_refusal(const struct session *s)
{
	return slice_of(workspace_of(s)->refusal);
}

const struct session_part workspace_part = {
	.name = "workspace",
	.size = sizeof(struct session_workspace),
	.create = create_workspace,
	.free = free_workspace,
	.stop = stop_workspace,
	.cancel_work = workspace_cancel,
	.begin = provision_setup,
	.place = provision_cwd,
	.unmake = provision_unmake,
	.precede = provision_first,
	.check_open = provision_admit,
	.open_again = provision_again,
	.inherit = provision_inherit,
	.closed = provision_closed,
	.is_preparing = session_is_provisioning,
	.holds_harness = session_is_provisioning,
	.has_job = workspace_has_job,
	.put_files = put_instructions_file,
	.delays_answer = baseline_is_due,
	.turn_wait = baseline_await_turn,
	.turn_free = workspace_forget_turn,
};
