/*
 * harness_launch.c - starts and stops the harness of a session: environment, process, handshake timeout, exit.
 *
 * A part may delay the process until harness_walled: the state is H_STARTING without a process then. In
 * H_STOPPING the exit is expected, and does not become an event. harness_on_gone alone frees process and
 * adapter, and answers everything that still waits for them.
 */
#include "session/core/session_internal.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "harnesses/harness_pins.h"
#include "harnesses/spawn_plan.h"
#include "json/json.h"
#include "proc/table/process_tree.h"
#include "session/core/harness/baseenv.h"
#include "session/core/session_states.h"
#include "session/core/session_paths.h"
#include "session/core/session_part.h"

#include <signal.h>

static void base_env(const struct session *s, struct harness_plan *plan)
{
	char tmp[4096];

	baseenv_put(plan, s->store->pass_env);
	/* Before HOME and TMPDIR: no part can move them out of the home of the session. */
	PARTS_CALL(put_env, s, plan);
	snprintf(tmp, sizeof(tmp), "%s/tmp", s->home);
	harness_plan_env(plan, "HOME", s->home);
	harness_plan_env(plan, "TMPDIR", tmp);
	if (s->user.name) {
		harness_plan_env(plan, "USER", s->user.name);
		harness_plan_env(plan, "LOGNAME", s->user.name);
	}
}

static void put_variables(struct harness_plan *plan, const char *object)
{
	jobj_each(key, v, slice_of(object)) {
		_cleanup_(freep) char *name = xstrndup(key.p, key.n), *value = NULL;

		if (jstr_decode(v, 1 * MIB, &value) == 0)
			harness_plan_env(plan, name, value);
	}
}

static void session_env_vars(const struct session *s, struct harness_plan *plan)
{
	put_variables(plan, s->setup.env);
	put_variables(plan, s->setup.secrets);
}

/* Manifest, then session, then what nobody may change. */
static void own_env(const struct session *s, const struct harness_request *req,
		    struct harness_plan *plan)
{
	for (size_t i = 0; i < s->def->nenv; i++)
		harness_plan_env(plan, s->def->env[i].name, s->def->env[i].value);
	session_env_vars(s, plan);
	/* After the variables of the client: NO_PROXY is completed, whoever set it. */
	baseenv_no_proxy(plan, req->model_host);
	harness_plan_env(plan, TREE_OWNER_ENV, tree_owner_mark());
	harness_plan_env(plan, TREE_SESSION_ENV, s->id);
}

struct proc_bounds session_bounds(const struct session *s)
{
	struct proc_bounds b = { .switch_user = s->user.switched,
				 .uid = s->user.uid,
				 .gid = s->user.gid };

	PARTS_CALL(put_bounds, s, &b);
	return b;
}

int session_bounds_open(struct session *s, struct err *e)
{
	return PARTS_FIRST(open_bounds, s, e);
}

char **session_environ(const struct session *s, const char *marker)
{
	_cleanup_(harness_plan_done) struct harness_plan plan = { 0 };

	base_env(s, &plan);
	session_env_vars(s, &plan);
	baseenv_no_proxy(&plan, NULL);
	harness_plan_env(&plan, TREE_OWNER_ENV, tree_owner_mark());
	harness_plan_env(&plan, TREE_SESSION_ENV, marker);
	return harness_plan_environ(&plan);
}

/* Where skills are put later, and instructions that the workspace has no room for. */
static void own_files(const struct session *s, struct harness_plan *plan)
{
	const struct harness_places *places = &s->def->places;

	if (places->skills_dir)
		harness_plan_file(plan, places->skills_dir, NULL);
	PARTS_CALL(put_files, s, plan);
}

static void fill_request(const struct session *s, struct harness_request *r)
{
	r->of = (struct harness_req){
		.mode = s->harness.native_id ? HARNESS_RESTORE : HARNESS_NEW,
		.session_id = s->id,
		.native_id = s->harness.native_id,
		.cwd = session_workdir(s),
		.home = s->home,
		.additional_dirs = slice_of(s->setup.additional_dirs),
		.model = s->setup.model ? s->setup.model : s->setup.gateway.model,
		.system_prompt = s->setup.system_prompt,
		.system_override = s->setup.system_override,
		.approval = s->setup.approval,
		.inner_sandbox = harness_nests(s->def, &s->setup),
		.boolean_config = s->client & CLIENT_BOOLEAN,
		.elicitation = s->client & CLIENT_ELICITATION,
		.auth_method = s->setup.auth_method,
	};
	r->of.rules = session_parts_rules_need(s);
	PARTS_CALL(put_request, s, r);
}

bool harness_is_opening(const struct session *s)
{
	return s->harness.state == H_STARTING || s->harness.state == H_CONFIGURING;
}

void harness_broken(struct session *s, const char *cls, const struct err *why)
{
	if (harness_is_opening(s))
		harness_opened(s, why);
	else {
		event_broken(s, NULL, why->reason, why->msg);
		if (s->turn.current)
			turn_fail(s, cls, true, "%s", why->msg);
	}
	harness_set_state(s, H_STOPPING);
	if (s->harness.proc)
		proc_kill(s->harness.proc);
}

static void on_stays_closed(void *ctx)
{
	struct session *s = ctx;

	s->harness.closed_output = true;
	if (s->harness.proc)
		proc_kill(s->harness.proc);
}

static void harness_on_closed(void *ctx, const char *fault)
{
	struct session *s = ctx;
	struct err e;

	if (s->harness.state == H_STOPPING)
		return;
	if (!fault) {
		/* most often it is exiting, and how it does says more than our kill */
		loop_timer_set(s->store->loop, &s->harness.start_timer, HARNESS_CLOSED_MS,
			       on_stays_closed, s);
		return;
	}
	err_set(&e, -EPIPE, RPC_INTERNAL_ERROR, "HARNESS_PROTOCOL",
		"the harness closed its output: %s", fault);
	harness_broken(s, "harness_protocol", &e);
}

/* A tail that was cut may begin with the rest of a secret: its first word is left out. */
static const char *whole_words(const char *tail)
{
	const char *blank = strlen(tail) >= CHILD_STDERR_TAIL ? strchr(tail, ' ') : NULL;

	return blank ? blank + 1 : tail;
}

static void log_exit(const struct session *s, const struct proc_status *st)
{
	_cleanup_(buf_done) struct buf tail = { 0 };
	const char *code = NUMBER_TEXT(st->code);

	buf_puts(&tail, whole_words(st->stderr_tail));
	session_mask_bytes(s, &tail);
	buf_putc(&tail, '\0');
	log_info("session", "harness ended", "session", s->id, st->exited ? "exit" : "signal", code,
		 "stderr", tail.data);
}

/* Only an exit that nobody asked for becomes an event. */
static void note_exit(struct session *s, const struct proc_status *st, const char *why)
{
	JW_BUF(w, b);

	if (s->harness.state == H_STOPPING || harness_is_opening(s))
		return;
	jw_str(&w, "kind", "lifecycle");
	jw_str(&w, "event", "harness_exited");
	jw_int(&w, st->exited ? "exitCode" : "signal", st->code);
	event_note(s, EVENT_LIFECYCLE, buf_slice(&b));
	event_broken(s, NULL, "HARNESS_EXITED", why);
}

/* For its turn, and for who waits for it. */
static void find_why(struct session *s, const struct proc_status *st, struct turn_error *ret)
{
	if (s->harness.state != H_STOPPING && PARTS_FIRST(explain_exit, s, st, ret))
		return;
	*ret = (struct turn_error){ .cls = "harness_exit", .retryable = true };
	if (s->harness.closed_output && st->signalled && !st->exited) {
		snprintf(ret->message, sizeof(ret->message),
			 "the harness closed its standard output");
		return;
	}
	snprintf(ret->message, sizeof(ret->message),
		 st->exited ? "the harness exited with code %d" :
			      "the harness was killed by signal %d",
		 st->code);
}

/* Usage is measured and the exit explained before the process is freed. Waiters for the start are answered before H_NONE, as the
 * state shows that there was a start. */
static void harness_on_gone(void *ctx, const struct proc_status *st)
{
	struct harness_turn_end end = { .failed = true };
	struct session *s = ctx;
	struct err e;

	log_exit(s, st);
	if (s->turn.current)
		proc_measure(s->harness.proc, true, &s->turn.current->used);
	find_why(s, st, &end.error);
	note_exit(s, st, end.error.message);
	err_set(&e, -ECHILD, RPC_INTERNAL_ERROR, "HARNESS_EXITED", "%s", end.error.message);
	s->harness.proc = proc_free(s->harness.proc);
	if (s->harness.adapter)
		s->harness.adapter = s->def->ops->free(s->harness.adapter);
	harness_pool_ended(s);
	loop_timer_cancel(&s->harness.start_timer);
	loop_timer_cancel(&s->harness.adapter_timer);
	PARTS_CALL(disconnect, s);
	if (harness_is_opening(s))
		harness_opened(s, &e);
	harness_set_state(s, H_NONE);
	s->harness.restart = false;
	PARTS_CALL(cancel_questions, s);
	settings_fail(s, &e);
	if (s->turn.current && s->turn.current->state == TURN_CANCELLING)
		turn_finish(s, &(struct harness_turn_end){ .stop_reason = "cancelled" });
	else if (s->turn.current)
		turn_finish(s, &end);
	harness_keys_gone(s);
	session_advance(s);
}

static const struct proc_events proc_events = {
	.on_line = harness_on_line,
	.on_closed = harness_on_closed,
	.on_exit = harness_on_gone,
	.on_rest = harness_on_rest,
	.prescan = &harness_prescan,
};

static void on_start_timeout(void *ctx)
{
	struct session *s = ctx;
	struct err e;

	/* Covers the wait of a fork and of a part, too (harness_arm_start). */
	err_set(&e, -ETIMEDOUT, RPC_INTERNAL_ERROR, "HARNESS_START_TIMEOUT",
		"the harness did not open the session within %u s; --harness-start allows more",
		s->store->terms.harness_start);
	harness_broken(s, "harness_start", &e);
}

static int harness_spawn(struct session *s, struct harness_plan *plan, struct err *e)
{
	_cleanup_(freep) char *program = NULL;
	char **env;

	program = paths_find_program(s->def, HARNESS_PREFIX, harness_plan_getenv(plan, "PATH"));
	if (!program)
		return err_set(e, -ENOENT, RPC_INTERNAL_ERROR, "HARNESS_NOT_INSTALLED",
			       "harness '%s': no executable '%s' in the sandbox", s->def->id,
			       plan->argv[0]);
	xstrset(&plan->argv[0], program);
	env = harness_plan_environ(plan);
	s->harness.proc = proc_spawn(s->store->procs,
				     &(struct proc_spec){ .argv = plan->argv,
							  .env = env,
							  .cwd = session_workdir(s),
							  .session = s->id,
							  .bounds = session_bounds(s) },
				     &proc_events, s, e);
	harness_plan_free_environ(env);
	return s->harness.proc ? 0 : -EIO;
}

void harness_arm_start(struct session *s)
{
	loop_timer_set(s->store->loop, &s->harness.start_timer,
		       (uint64_t)s->store->terms.harness_start * 1000, on_start_timeout, s);
}

static int harness_start_process(struct session *s, struct err *e)
{
	_cleanup_(harness_plan_done) struct harness_plan plan = { 0 };
	struct harness_host host = { &adapter_host_ops, s };
	struct harness_request req = { 0 };
	int r;

	if (!s->harness.began) /* many harnesses do not keep a session without a turn */
		xstrset(&s->harness.native_id, NULL);
	fill_request(s, &req);
	base_env(s, &plan);
	r = s->def->ops->plan(s->def, &req.of, &plan, e);
	if (r < 0)
		return r;
	own_env(s, &req, &plan);
	own_files(s, &plan);
	r = paths_fill_home(s, &plan, e);
	if (r < 0)
		return r;
	r = harness_spawn(s, &plan, e);
	if (r < 0)
		return r;
	harness_pool_began(s);
	harness_set_state(s, H_STARTING);
	s->harness.model_tried = s->harness.mode_tried = s->harness.restart =
		s->harness.reconfigure = false;
	s->load.pending = 0;
	s->turn.peak_rss = 0;
	s->harness.choices_tried = 0;
	s->harness.noise = (struct noise){ 0 };
	s->harness.closed_output = false;
	harness_arm_start(s);
	/* After the process: start writes the first message to it. */
	s->harness.adapter = s->def->ops->open(s->def, &req.of, &host);
	if (s->def->ops->start(s->harness.adapter, e) < 0)
		log_warn("session", "harness takes no input", "session",
			 s->id); /* its exit brings the error */
	log_info("session", "harness started", "session", s->id, "harness", s->def->id);
	return 0;
}

int harness_launch(struct session *s, struct err *e)
{
	int r = PARTS_FIRST(open_bounds, s, e);

	if (r == 0)
		r = PARTS_FIRST(connect, s, e);
	if (r > 0) {
		s->harness.connecting = true;
		harness_set_state(s, H_STARTING);
		harness_arm_start(s);
		return 0;
	}
	if (r == 0)
		r = harness_start_process(s, e);
	if (r < 0)
		PARTS_CALL(disconnect, s);
	return r;
}

void harness_walled(struct session *s, const struct err *error)
{
	bool wanted = s->harness.state == H_STARTING && s->state != SESSION_CLOSING;
	struct err e = { 0 };

	s->harness.connecting = false;
	loop_timer_cancel(&s->harness.start_timer);
	harness_set_state(s, H_NONE);
	if (wanted && !error && harness_start_process(s, &e) == 0)
		return;
	PARTS_CALL(disconnect, s);
	if (wanted)
		harness_opened(s, error ? error : &e);
	else
		session_advance(s);
}

void harness_stop(struct session *s)
{
	if (s->harness.state == H_NONE || !s->harness.proc)
		return;
	if (s->harness.state == H_READY && s->def->ops->close)
		s->def->ops->close(s->harness.adapter);
	harness_set_state(s, H_STOPPING);
	proc_stop(s->harness.proc);
}

/* The turn that wanted the harness does not get it. */
static void fail_waiting_turn(struct session *s, const struct err *e)
{
	if (!s->turn.current && s->turn.queued)
		s->turn.current = turn_first_queued(s);
	if (s->turn.current)
		turn_fail(s, "harness_start", true, "%s", e->msg);
}

/* before: answers those that have waited since then or longer. They leave the list first: one that waits again from its callback
 * is not answered in the same round. */
static void open_waiters_answer(struct session *s, uint64_t before, const struct err *e)
{
	struct list waiters;

	list_init(&waiters);
	while (!list_empty(&s->harness.open_waiters)) {
		struct list *n = s->harness.open_waiters.next;

		if (list_entry(n, struct session_waiter, link)->since > before)
			break;
		list_del(n);
		list_add_tail(&waiters, n);
	}
	list_drain(w, &waiters, struct session_waiter, link) {
		list_del(&w->link);
		w->done(w->ctx, s, e);
		free(w);
	}
}

void harness_answer_waiters(struct session *s, const struct err *e)
{
	open_waiters_answer(s, UINT64_MAX, e);
}

void harness_fail_waiters(struct session *s, uint64_t before, const struct err *e)
{
	if (s->state == SESSION_OPENING) {
		harness_opened(s, e);
		return;
	}
	if (list_entry(s->harness.open_waiters.prev, struct session_waiter, link)->since <= before)
		session_open_undone(s);
	open_waiters_answer(s, before, e);
}

static void log_ready(const struct session *s)
{
	log_info("session", "harness ready", "session", s->id, "harness", s->def->id, "ms",
		 NUMBER_TEXT(clock_mono_ms() - s->harness.starting_mono));
}

void harness_opened(struct session *s, const struct err *e)
{
	bool opening = s->state == SESSION_OPENING;

	loop_timer_cancel(&s->harness.start_timer);
	if (!e && opening) {
		session_set_state(s, SESSION_OPEN);
		session_log(s, "session created", "harness", s->def->id, "cwd", s->cwd, NULL);
	}
	if (!e) {
		log_ready(s);
		session_open_kept(s);
	}
	if (e) {
		log_warn("session", "harness did not start", "session", s->id, "reason", e->reason,
			 "text", e->msg);
		if (!opening) /* a new one is not kept, and who opens it is told */
			event_broken(s, NULL, e->reason, e->msg);
		fail_waiting_turn(s, e);
		session_open_undone(s);
	}
	if (e || !PARTS_FIRST(delays_answer, s))
		harness_answer_waiters(s, e);
	if (e && opening) {
		s->stored.remove = true;
		session_set_state(s, SESSION_CLOSING);
	}
	session_advance(s);
}
