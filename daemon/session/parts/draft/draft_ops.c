/*
 * draft_ops.c - the operations on a draft: switch it on or off, report what it changes, apply that.
 *
 * A draft survives a kill of the daemon at any point. The journal's "session" record says whether there is one and which
 * kind, and is flushed before anything relies on it. The base, which acpd-unpack writes, has the generation: an apply
 * starts a new one. An overlay's layer is empty then, since the changes are in the lower tree. So after an apply that was
 * killed the generation says whether it was finished or undone, whatever its program reported.
 */
#include "session/parts/draft/draft_ops.h"

#include "json/jenc.h"
#include "session/parts/confinement/session_spaces.h"
#include "session/parts/workspace/artifact_store.h"
#include "session/core/session_paths.h"
#include "session/parts/check/turn_proof.h"

#include <limits.h>

/* --- jobs -------------------------------------------------------------------------------------------------- */

void draft_op_put_job(struct draft_op *op, struct jw *w, bool view)
{
	struct session *s = op->s;
	_cleanup_(freep) char *base = draft_base_file(s);

	jw_obj(w, NULL);
	jw_str(w, "root", s->cwd);
	jw_str(w, "base", base);
	session_put_owner(w, s);
	if (!view)
		return;
	jw_str(w, "view", session_tree(s));
	jw_bool(w, "overlay", draft_of(s)->how == DRAFT_OVERLAY);
}

static int check_draft_on(const struct session *s, struct err *e)
{
	return session_has_draft(s) ? 0 :
				      err_set(e, -ENOENT, RPC_INVALID_REQUEST, "NO_DRAFT",
					      "the session has no draft");
}

/* What it shows can be read. */
static int mount_view(struct session *s, struct err *e)
{
	struct err why;

	if (draft_of(s)->how != DRAFT_OVERLAY ||
	    draft_mount(s, MAX(draft_head_read(s).generation, (uint64_t)1), &why) == 0)
		return 0;
	return err_set(e, -EIO, RPC_INTERNAL_ERROR, "DRAFT_UNREADABLE", "%s", why.msg);
}

static void note_draft_event(struct session *s, const char *event, struct slice more)
{
	JW_BUF(w, b);

	jw_str(&w, "kind", "lifecycle");
	jw_str(&w, "event", event);
	session_put_draft(&w, s);
	jw_members(&w, more, NULL);
	event_note(s, EVENT_LIFECYCLE, buf_slice(&b));
}

/* The journal says what there is before anything relies on it. */
static void note_record(struct session *s)
{
	session_note_head(s);
	evlog_flush(&s->log.events);
}

static void put_state(struct draft_op *op)
{
	struct jw w = JW(&op->answer);

	if (session_has_draft(op->s)) {
		session_put_draft(&w, op->s);
		return;
	}
	jw_object(&w, "draft", JW_BOOL("on", false));
}

/* --- on ------------------------------------------------------------------------------------------------------- */

static bool lies_in(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return strncmp(path, dir, n) == 0 && (!path[n] || path[n] == '/' || strcmp(dir, "/") == 0);
}

/* What the daemon writes there would be in the draft. */
static int check_place(const struct session *s, struct err *e)
{
	/* Resolved: either may lead through links. */
	_cleanup_(freep) char *cwd = realpath(s->cwd, NULL);
	_cleanup_(freep) char *state = realpath(s->store->state_dir, NULL);

	if (!cwd || !state || !lies_in(state, cwd))
		return 0;
	return err_set(e, -EINVAL, RPC_INVALID_PARAMS, "DRAFT_UNSUPPORTED",
		       "the daemon's own state lies in cwd, which cannot have a draft");
}

/* Before its first harness its home is not yet its own. */
static int make_copy_dir(struct session *s, struct err *e)
{
	if (s->harness.home_filled)
		return 0;
	paths_let_into_home(s);
	return paths_make_dir(s, DRAFT_COPY_NAME, e);
}

static int begin_on(struct draft_op *op, struct err *e)
{
	struct session *s = op->s;
	JW_BUF(w, job);
	_cleanup_(freep) char *copy = draft_copy_path(s);
	struct err why = { 0 };
	int r;

	if (session_has_draft(s)) {
		put_state(op);
		return 0;
	}
	draft_remove(s);
	r = check_place(s, e);
	if (r == 0 && (r = draft_make_dir(s)) < 0)
		r = err_set(e, r, RPC_INTERNAL_ERROR, "STATE_NOT_WRITABLE",
			    "a draft cannot be kept: %s", strerror(-r));
	if (r == 0 && draft_mount(s, 1, &why) < 0) {
		op->missing = xstrdup(why.msg);
		r = make_copy_dir(s, e);
	}
	if (r < 0)
		return r;
	draft_op_put_job(op, &w, false);
	jw_str(&w, "copy", op->missing ? copy : NULL);
	jw_uint(&w, "maxBytes", s->store->terms.draft_max);
	jw_end_obj(&w);
	return draft_op_run(op, "draft-begin", &job, e);
}

static int ended_on(struct draft_op *op, struct slice report _unused_, bool failed,
		    struct err *e _unused_)
{
	struct session *s = op->s;
	JW_BUF(w, b);

	if (failed) {
		draft_remove(s);
		return -EIO;
	}
	/* The next harness gets namespaces with the draft in them. */
	session_spaces_close(s);
	draft_of(s)->use = (struct session_draft_use){ .measuring = draft_of(s)->use.measuring };
	draft_set(s, op->missing ? DRAFT_COPY : DRAFT_OVERLAY, op->missing);
	note_record(s);
	jw_object(&w, NULL, JW_STR("after", op->why));
	note_draft_event(s, "draft_on", buf_slice(&b));
	put_state(op);
	return 0;
}

/* --- off ------------------------------------------------------------------------------------------------------ */

static int run_diff(struct draft_op *op, struct err *e)
{
	JW_BUF(w, job);
	const char *name = SHORT_TEXT(64, "draft-%llu.part",
				      (unsigned long long)++workspace_of(op->s)->last_diff);

	op->patch = artifact_new_path(op->s, name);
	draft_op_put_job(op, &w, true);
	jw_str(&w, "patch", op->patch);
	jw_end_obj(&w);
	return draft_op_run(op, "draft-diff", &job, e);
}

static int finish_off(struct draft_op *op)
{
	struct session *s = op->s;

	session_spaces_close(s);
	draft_set(s, DRAFT_OFF, NULL);
	/* Before the files go: a record of a draft without files would be one that cannot be read. */
	note_record(s);
	draft_remove(s);
	note_draft_event(s, "draft_off", SLICE_NONE);
	put_state(op);
	return 0;
}

static int begin_off(struct draft_op *op, struct err *e)
{
	int r;

	if (!session_has_draft(op->s)) {
		put_state(op);
		return 0;
	}
	if (op->discard)
		return finish_off(op);
	r = mount_view(op->s, e);
	return r == 0 ? run_diff(op, e) : r;
}

static int ended_off(struct draft_op *op, struct slice report, bool failed, struct err *e)
{
	uint64_t changes = jobj_uint(report, "changesTotal"),
		 more = jobj_uint(report, "omittedTotal");
	struct jw w = JW(&op->answer);

	if (failed)
		return -EIO;
	if (!changes && !more)
		return finish_off(op);
	jw_uint(&w, "changesTotal", changes);
	jw_uint(&w, "omittedTotal", more);
	return err_set(e, -EBUSY, RPC_INVALID_REQUEST, "DRAFT_NOT_EMPTY",
		       "the draft has changes: apply them, or say discard");
}

/* --- diff ----------------------------------------------------------------------------------------------------- */

int draft_begin_diff(struct draft_op *op, struct err *e)
{
	int r = check_draft_on(op->s, e);

	if (r == 0)
		r = mount_view(op->s, e);
	return r == 0 ? run_diff(op, e) : r;
}

static int ended_diff(struct draft_op *op, struct slice report, bool failed, struct err *e)
{
	struct jw w = JW(&op->answer);
	int r;

	if (failed)
		return -EIO;
	r = patch_answer_put(&w, op->s, op->patch, report, e);
	if (r == 0)
		jw_members(&w, report, "patch");
	return r;
}

/* --- apply ---------------------------------------------------------------------------------------------------- */

static int begin_apply(struct draft_op *op, struct err *e)
{
	struct session *s = op->s;
	JW_BUF(w, job);
	_cleanup_(freep) char *base = draft_base_file(s);
	int r = check_draft_on(s, e);

	if (r == 0)
		r = mount_view(s, e);
	if (r == 0)
		r = workspaces_begin(&s->store->workspaces, &s->user, s->cwd, base, e);
	if (r < 0)
		return r;
	/* The namespaces have the mount of this generation bound into them, and an apply ends the generation. */
	session_spaces_close(s);
	op->generation = draft_head_read(s).generation;
	draft_op_put_job(op, &w, true);
	jw_str(&w, "digest", op->digest);
	jw_raw(&w, "force", slice_of(op->force));
	jw_end_obj(&w);
	r = draft_op_run(op, "draft-apply", &job, e);
	if (r < 0)
		workspaces_end(&s->store->workspaces, s->cwd);
	return r;
}

/* The program was killed, perhaps half-way: that is finished or undone, and the base tells which. */
static int recover_apply(struct draft_op *op, struct err *e)
{
	struct session *s = op->s;
	_cleanup_(buf_done) struct buf job = { 0 };
	_cleanup_(freep) char *base = draft_base_file(s);

	workspaces_put_recovery(&s->store->workspaces, &s->user, &job, s->cwd, base);
	return draft_op_run(op, "recover", &job, e);
}

static void applied(struct draft_op *op, uint64_t changes)
{
	struct session *s = op->s;
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b), answer = JW(&op->answer);

	/* The next generation is another mount: namespaces that were made during the apply have the old one. */
	session_spaces_close(s);
	draft_unmount(s);
	draft_of(s)->use = (struct session_draft_use){ .measuring = draft_of(s)->use.measuring };
	jw_object(&w, NULL, JW_STR("patchDigest", op->digest), JW_UINT("applied", changes));
	note_draft_event(s, "draft_applied", buf_slice(&b));
	session_put_draft(&answer, s);
	jw_members(&answer, buf_slice(&b), NULL);
}

static int ended_apply(struct draft_op *op, struct slice report, bool failed, struct err *e)
{
	struct session *s = op->s;
	struct jw w = JW(&op->answer);
	struct draft_head now;

	if (op->torn && !op->recovers) {
		op->recovers = true;
		return recover_apply(op, e);
	}
	if (failed && op->recovers) /* the note stays, for the next daemon */
		return -EIO;
	workspaces_end(&s->store->workspaces, s->cwd);
	now = draft_head_read(s);
	if (now.generation > op->generation) {
		applied(op, now.applied);
		return 0;
	}
	if (!failed)
		err_set(e, -EIO, RPC_INTERNAL_ERROR, "HELPER_FAILED",
			"the apply was interrupted and has been undone");
	jw_raw(&w, "conflicts", jobj_get(report, "conflicts").raw);
	jw_raw(&w, "conflictsTotal", jobj_get(report, "conflictsTotal").raw);
	return -EIO;
}

/* --- mount ------------------------------------------------------------------------------------------------------ */

static int begin_mount(struct draft_op *op, struct err *e)
{
	return mount_view(op->s, e);
}

const struct draft_op_kind draft_op_on = { "on", true, begin_on, ended_on };
const struct draft_op_kind draft_op_off = { "off", true, begin_off, ended_off };
const struct draft_op_kind draft_op_apply = { "apply", true, begin_apply, ended_apply };
const struct draft_op_kind draft_op_diff = { "diff", false, draft_begin_diff, ended_diff };
const struct draft_op_kind draft_op_mount = { "mount", true, begin_mount, NULL };

/* --- what is asked ---------------------------------------------------------------------------------------------- */

/* For operations that wait until no harness runs: refused at once where that could take a whole turn. */
static int check_idle(const struct session *s, struct err *e)
{
	if (s->state != SESSION_OPEN || s->store->stopping)
		return err_set(e, -ENOENT, RPC_NOT_FOUND, "SESSION_NOT_ACTIVE",
			       "the session is closed; session/load opens it");
	if (s->turn.current || s->turn.queued || s->turn.ending || checks_of(s)->run ||
	    workspace_of(s)->provisioning || s->harness.copying)
		return err_set(e, -EBUSY, RPC_INVALID_REQUEST, "SESSION_BUSY",
			       "a turn or a check is running on this session, or its workspace is "
			       "being written");
	return 0;
}

int session_switch_draft(struct session *s, bool on, bool discard, session_set_fn done, void *ctx,
			 struct err *e)
{
	int r = check_idle(s, e);

	if (r < 0)
		return r;
	draft_op_add(s, on ? &draft_op_on : &draft_op_off, done, ctx)->discard = discard;
	return 0;
}

int session_apply_draft(struct session *s, const char *digest, struct slice force,
			session_set_fn done, void *ctx, struct err *e)
{
	struct draft_op *op;
	int r = check_idle(s, e);

	if (r == 0)
		r = check_draft_on(s, e);
	if (r < 0)
		return r;
	op = draft_op_add(s, &draft_op_apply, done, ctx);
	op->digest = xstrdup(digest);
	op->force = force.n ? xstrndup(force.p, force.n) : NULL;
	return 0;
}

int session_diff_draft(struct session *s, session_set_fn done, void *ctx, struct err *e)
{
	if (s->state == SESSION_CLOSING || s->store->stopping)
		return draft_op_refuse_closing(e);
	draft_op_add(s, &draft_op_diff, done, ctx);
	session_draft_go_on(s);
	return 0;
}
