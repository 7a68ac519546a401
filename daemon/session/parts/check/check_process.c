/*
 * check_process.c - a command or a run of tests, in a process of the session (tools/builtin/check/check_job.h).
 *
 * The process is acpd itself, as `acpd check`, with the user and the confinement of the session. It reads its job from a
 * sealed descriptor, since the session's user could read or change arguments and files. It answers with one line.
 *
 * It enforces the check's time-out itself, so that it can report the output so far. Only if that fails, the daemon kills it,
 * CHECK_GRACE_MS later: another process of the same user can stop it or kill it.
 */
#include "session/parts/check/check_internal.h"

#include "base/clock.h"
#include "base/os/file.h"
#include "harnesses/spawn_plan.h"
#include "session/core/session_internal.h"

struct check_process {
	struct session *session;
	const struct check_spec *spec;
	struct check_evidence *evidence;
	struct proc *proc;
	struct loop_timer timer;
	uint64_t began;
	bool answered, overdue, flooded;
	void (*ended)(void *ctx);
	void *ctx;
};

/* --- its process ------------------------------------------------------------------------------------------ */

/* Further lines are ignored, not an error: something that the check started may write to the same descriptor. */
static int on_check_line(void *ctx, struct slice line)
{
	struct check_process *p = ctx;

	if (p->answered)
		return 0;
	p->answered = true;
	check_answer_take(p->spec, line, p->evidence);
	return 0;
}

/* With a fault no more lines come although the process lives, so nothing would end it. */
static void on_check_closed(void *ctx, const char *fault)
{
	struct check_process *p = ctx;

	p->flooded = fault != NULL;
	if (fault)
		proc_kill(p->proc);
}

static void on_check_exit(void *ctx, const struct proc_status *st _unused_)
{
	struct check_process *p = ctx;

	loop_timer_cancel(&p->timer);
	p->evidence->ms = clock_mono_ms() - p->began;
	/* An answer counts, also one that came with the kill for time. */
	if (p->answered && !p->flooded)
		;
	else if (p->overdue)
		check_refuse(p->evidence, "CHECK_TIMED_OUT",
			     "its time was over, and it was killed");
	else
		check_refuse(p->evidence, "CHECK_LOST",
			     p->flooded ? "its process answered too much" :
					  "its process has ended without a result");
	p->ended(p->ctx);
}

static const struct proc_events events = { on_check_line, on_check_closed, on_check_exit, NULL,
					   NULL };

/* The process ends a command whose time is over; somebody of its user may keep it from doing so. */
static void on_check_overdue(void *ctx)
{
	struct check_process *p = ctx;

	p->overdue = true;
	proc_kill(p->proc);
}

static void put_check_job(const struct check_process *p, struct slice message, struct buf *b)
{
	_cleanup_(freep) char *state = file_join(p->session->home, "tools");
	struct jw w = JW(b);

	jw_obj(&w, NULL);
	jw_str(&w, "kind", check_kind_name(p->spec->kind));
	jw_str(&w, "root", session_workdir(p->session));
	jw_str(&w, "stateDir", state);
	if (message.n)
		jw_slice(&w, "message", message);
	jw_members(&w, slice_of(p->spec->job), NULL);
	jw_end_obj(&w);
}

static int spawn_check(struct check_process *p, struct slice message, struct err *e)
{
	_cleanup_(freep) char *self = file_own_program();
	_cleanup_(buf_done) struct buf job = { .max = CHECK_JOB_MAX };
	_cleanup_(closep) int fd = -1;
	/* The marker names the processes of this check among those of the session. */
	char word[] = "check", marker[64];
	char *argv[] = { self, word, NULL };
	struct proc_spec ps = { .argv = argv,
				.cwd = session_workdir(p->session),
				.session = marker,
				.line_max = CHECK_LINE_MAX };
	static uint64_t count; /* of all sessions: a marker is never used twice */

	put_check_job(p, message, &job);
	fd = job.failed ? -1 : file_sealed("acpd-check", buf_slice(&job));
	if (fd < 0)
		return err_set(e, -EIO, 0, "CHECK_NOT_STARTED", "its process cannot be told of it");
	snprintf(marker, sizeof(marker), "%s.check.%llu", p->session->id,
		 (unsigned long long)++count);
	/* As any process of the session: user, cgroup, namespaces, network and level. */
	ps.bounds = session_bounds(p->session);
	ps.env = session_environ(p->session, marker);
	ps.data = fd;
	p->proc = proc_spawn(p->session->store->procs, &ps, &events, p, e);
	harness_plan_free_environ((char **)(uintptr_t)ps.env);
	return p->proc ? 0 : -EIO;
}

struct check_process *check_process_start(struct session *s, const struct check_spec *spec,
					  struct slice message, struct check_evidence *ret,
					  void (*ended)(void *ctx), void *ctx, struct err *e)
{
	struct check_process *p;

	if (session_bounds_open(s, e) < 0)
		return NULL;
	p = new0(struct check_process);
	p->session = s;
	p->spec = spec;
	p->evidence = ret;
	p->began = clock_mono_ms();
	p->ended = ended;
	p->ctx = ctx;
	if (spawn_check(p, message, e) < 0)
		return check_process_free(p);
	loop_timer_set(s->store->loop, &p->timer, spec->timeout_ms + CHECK_GRACE_MS,
		       on_check_overdue, p);
	return p;
}

void check_process_stop(struct check_process *p)
{
	proc_stop(p->proc);
}

struct check_process *check_process_free(struct check_process *p)
{
	if (!p)
		return NULL;
	loop_timer_cancel(&p->timer);
	proc_free(p->proc);
	free(p);
	return NULL;
}
