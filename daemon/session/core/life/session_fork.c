/*
 * session_fork.c - a new session that begins where another stands: the private home is copied while no harness writes
 * into it, the history is copied under the new id, and the harness takes its context up from the copy. It works the
 * same for every harness that can restore.
 */
#include "session/core/session_internal.h"

#include "base/os/file.h"
#include "base/log.h"
#include "session/core/session_part.h"
#include "session/core/session_states.h"
#include "session/core/session_paths.h"

/* --- the history ------------------------------------------------------------------------------------- */

/* A frame's first member sessionId is ours, written by log/emit.c; ids are all of one length. */
static bool copy_event(void *ctx, const struct evlog_entry *e)
{
	struct session *s = ctx;
	char *text = xstrndup(e->frame.p, e->frame.n), *at = strstr(text, s->harness.forked_from);
	struct evlog_entry copy = *e;

	if (at)
		memcpy(at, s->id, strlen(s->id));
	copy.frame.p = text;
	/* Origins are connections of the original. Every client of the fork sees every event. */
	copy.origin = 0;
	evlog_append(&s->log.events, &copy, event_kind_name(e->kind));
	free(text);
	return true;
}

static int copy_history(struct session *s, struct session *from, struct err *e)
{
	/* Trimmed events are no damage: their base record is written for the fork, too (trim_inherit). */
	uint64_t gone = from->log.events.trimmed;
	int r = from->log.events.first > gone + 1 ? -ENODATA : 0;

	if (r == 0 && gone)
		evlog_begin_after(&s->log.events, gone);
	if (r == 0)
		r = evlog_read(&from->log.events, gone + 1, copy_event, s);
	/* An event in a damaged gap is missing: the fork would number the rest differently. */
	if (r == 0 && s->log.events.last != from->log.events.last)
		r = -EBADMSG;
	if (r < 0)
		return err_set(e, r, RPC_INTERNAL_ERROR, "FORK_FAILED",
			       "the session's history cannot be read in full");
	s->turn.count = from->turn.count;
	xstrset(&s->title, from->title);
	client_ids_copy(&s->turn.ids, &from->turn.ids);
	if (gone)
		trim_inherit(s);
	return 0;
}

/* --- the home ------------------------------------------------------------------------------------------ */

/* The original may run its harness again. */
static void fork_release_home(struct session *s)
{
	struct session *from = store_find(s->store, s->harness.forked_from);

	if (!from || !from->harness.copying)
		return;
	from->harness.copying--;
	session_advance(from);
}

static void fork_fail(struct session *s, const struct err *e)
{
	harness_set_state(s, H_NONE);
	harness_opened(s, e);
}

static void on_copied(void *ctx, const struct proc_status *st)
{
	struct session *s = ctx;
	bool wanted = s->harness.state == H_STARTING, copied = st->exited && st->code == 0;
	struct err e = { 0 };

	if (wanted && !copied)
		log_warn("session", "copy of a home failed", "session", s->id, "text",
			 st->stderr_tail);
	s->harness.proc = proc_free(s->harness.proc); /* and st with it */
	loop_timer_cancel(&s->harness.start_timer);
	harness_set_state(s, H_NONE);
	fork_release_home(s);
	/* The session was closed during the copy. */
	if (!wanted) {
		session_advance(s);
	} else if (!copied) {
		err_set(&e, -EIO, RPC_INTERNAL_ERROR, "FORK_FAILED",
			"the session's home could not be copied");
		fork_fail(s, &e);
	} else if (session_launch_first(s, &e) < 0) {
		fork_fail(s, &e);
	}
}

static const struct proc_events copy_events = { .on_exit = on_copied };

/* By cp(1), with the rights of the user whose files they are: links stay links, and the loop is not held up. */
static void copy_home(struct session *s, struct session *from)
{
	_cleanup_(freep) char *cp = paths_find_command("cp", getenv("PATH"));
	_cleanup_(freep) char *inside = file_join(from->home, ".");
	char dash_a[] = "-a", reflink[] = "--reflink=auto", end[] = "--";
	char *argv[] = { cp, dash_a, reflink, end, inside, s->home, NULL }, *env[] = { NULL };
	struct err e = { 0 };

	s->harness.proc = cp ? proc_spawn(s->store->procs,
					  &(struct proc_spec){ .argv = argv,
							       .env = env,
							       .cwd = "/",
							       .session = s->id,
							       .bounds = session_bounds(s) },
					  &copy_events, s, &e) :
			       NULL;
	if (s->harness.proc) {
		session_advance(s); /* it may have been closed while it waited for this */
		return;
	}
	if (!cp)
		err_set(&e, -ENOENT, RPC_INTERNAL_ERROR, "FORK_FAILED", "there is no cp");
	fork_release_home(s);
	fork_fail(s, &e);
}

/* No harness of the original runs any more. */
void session_fork_go_on(struct session *from)
{
	list_each(s, &from->store->sessions, struct session, link)
		if (s->harness.forked_from && !s->harness.proc && !s->harness.connecting &&
		    s->harness.state == H_STARTING && strcmp(s->harness.forked_from, from->id) == 0)
			copy_home(s, from);
}

/* --- the new session -------------------------------------------------------------------------------------- */

static int may_fork(const struct session *from, const struct session_params *p, struct err *e)
{
	if (session_refuse_imported(from, e) < 0)
		return -EPERM;
	if (from->setup.needs_provider && !setup_given(&p->setup, &provider_parameter))
		return err_field(
			e, "_meta.acpd.provider", "PROVIDER_REQUIRED",
			"the provider's key was not written down: give the provider again");
	if (setup_check(from->store, from->def, &from->setup, &p->setup, e) < 0)
		return -EINVAL;
	if (!from->harness.caps.restore)
		return err_set(e, -ENOSYS, RPC_METHOD_NOT_FOUND, "FORK_UNSUPPORTED",
			       "the harness of this session cannot take up a context");
	if (PARTS_FIRST(check_touch, from, "a session cannot be forked", e) < 0)
		return -EBUSY;
	/* The home is copied without a harness, and the context must be the same in both sessions. */
	if (from->turn.current || from->turn.queued || from->turn.ending)
		return err_set(e, -EBUSY, RPC_INVALID_REQUEST, "SESSION_BUSY",
			       "a turn is running on this session");
	if (from->state == SESSION_OPENING || from->state == SESSION_CLOSING)
		return err_set(e, -EBUSY, RPC_INTERNAL_ERROR, "SESSION_CLOSING",
			       "the session is being opened or closed");
	if (from->state == SESSION_CLOSED && PARTS_FIRST(check_files, from, e) < 0)
		return -EAGAIN;
	if (!from->harness.native_id || !from->home)
		return err_set(e, -ENODATA, RPC_INTERNAL_ERROR, "FORK_FAILED",
			       "the session has no context to begin from");
	return 0;
}

struct session *session_fork(struct session *from, const struct session_params *p,
			     session_done_fn done, void *ctx, struct err *e)
{
	struct session *s;

	if (may_fork(from, p, e) < 0)
		return NULL;
	s = session_prepared(from->store, p, from, e);
	if (!s)
		return NULL;
	setup_inherit(&s->setup, &from->setup);
	PARTS_CALL(inherit, s, from);
	s->harness.forked_from = xstrdup(from->id);
	s->harness.native_id = xstrdup(from->harness.native_id);
	s->harness.home_filled = s->harness.began = true;
	if (copy_history(s, from, e) < 0 || paths_give_home(s, e) < 0) {
		s->stored.remove = true;
		session_free(s);
		return NULL;
	}
	harness_set_state(s, H_STARTING);
	harness_arm_start(s);
	session_wait(&s->harness.open_waiters, done, ctx);
	/* Blocks the start of a harness of the original until fork_release_home. */
	from->harness.copying++;
	/* Else the copy begins when the harness has exited (session_fork_go_on): it may write to its home until then. */
	if (from->harness.state == H_NONE)
		copy_home(s, from);
	else
		harness_stop(from);
	return s;
}
