/*
 * session_next.c - the scheduler of a session: one table from states and facts to the next action.
 *
 * advance() first computes every fact, then runs the first matching row. session_advance only
 * defers it, so any code can call it at any point, and several calls in one turn of the loop cost
 * one run. An action must change a state or a fact, or end in something that calls session_advance;
 * otherwise the session stops. The order of rows is the priority: a draft precedes a restart, a
 * restart a prompt.
 */
#include "session/parts/session_next.h"

#include "base/limits.h"
#include "base/log.h"
#include "proc/table/process_tree.h"
#include "session/core/session_states.h"
#include "session/parts/workspace/baseline.h"
#include "session/parts/check/turn_proof.h"
#include "session/parts/draft/draft_internal.h"

/* --- facts --------------------------------------------------------------------------------------------- */

static bool is_being_copied(const struct session *s)
{
	return s->harness.copying > 0;
}

/* Parameters changed that a harness reads only when it starts. */
static bool needs_restart(const struct session *s)
{
	return s->harness.restart;
}

static bool needs_reconfigure(const struct session *s)
{
	return s->harness.reconfigure;
}

static bool has_waiter(const struct session *s)
{
	return !list_empty(&s->harness.open_waiters);
}

static bool has_prompt(const struct session *s)
{
	return turn_first_queued(s) != NULL;
}

static bool has_running_turn(const struct session *s)
{
	return s->turn.current != NULL;
}

/* A turn that is no longer current, but whose record or answer is outstanding. */
static bool has_ending_turn(const struct session *s)
{
	return s->turn.ending > 0;
}

/* Start times of processes are known in ticks: those of a cancelled turn must not look like those of the next one. */
static bool cancelled_tick(const struct session *s)
{
	return s->turn.cancelled_tick && tree_now() <= s->turn.cancelled_tick;
}

static bool (*const facts[FACT_MAX])(const struct session *s) = {
	[FACT_FORK_COPIES] = is_being_copied,
	[FACT_PROVISIONING] = session_is_provisioning,
	[FACT_DRAFT] = session_waits_for_draft,
	[FACT_DRAFT_QUEUE] = session_has_draft_op,
	[FACT_POOL_QUEUE] = session_awaits_harness,
	[FACT_RESTART] = needs_restart,
	[FACT_RECONFIGURE] = needs_reconfigure,
	[FACT_WAITER] = has_waiter,
	[FACT_PROMPT] = has_prompt,
	[FACT_RUNNING_TURN] = has_running_turn,
	[FACT_ENDING_TURN] = has_ending_turn,
	[FACT_DUE_BASELINE] = baseline_is_due,
	[FACT_SNAPSHOT] = baseline_is_running,
	[FACT_CANCELLED_TICK] = cancelled_tick,
	[FACT_INSPECTION] = has_inspections,
	[FACT_CHECK] = session_runs_checks,
};

static unsigned find_facts(const struct session *s)
{
	unsigned ret = 0;

	for (size_t i = 0; i < FACT_MAX; i++)
		ret |= facts[i](s) ? 1u << i : 0;
	return ret;
}

/* --- actions ------------------------------------------------------------------------------------------- */

/* A failure is the answer for those who wait. */
static void next_launch(struct session *s)
{
	struct err e = { 0 };

	if (harness_pool_launch(s, &e) < 0)
		harness_opened(s, &e);
}

/* A turn that the draft refuses becomes the current one, so that it fails like any other. */
static void begin_turn(struct session *s)
{
	struct session_turn *t = turn_first_queued(s);
	struct err e = { 0 };

	if (t && session_draft_admits_turn(s, &e)) {
		turn_begin(s, t);
	} else if (t) {
		s->turn.current = t;
		turn_fail_because(s, &e);
	}
}

static void next_answer_waiters(struct session *s)
{
	harness_opened(s, NULL);
}

/* harness_opened calls session_advance. */
static void refuse_waiters(struct session *s)
{
	struct err e;

	err_set(&e, -ECANCELED, RPC_INTERNAL_ERROR, "SESSION_CLOSING",
		"the session is being closed");
	harness_opened(s, &e);
}

static void on_next_tick(void *ctx)
{
	session_advance(ctx);
}

/* The timer calls session_advance, which reads the table again. */
static void await_tick(struct session *s)
{
	loop_timer_set(s->store->loop, &s->turn.tick_timer, TICK_MS, on_next_tick, s);
}

/* --- the table ----------------------------------------------------------------------------------------- */

#define OPENING (1u << SESSION_OPENING)
#define OPEN (1u << SESSION_OPEN)
#define CLOSING (1u << SESSION_CLOSING)
#define CLOSED (1u << SESSION_CLOSED)
#define NONE (1u << H_NONE)
#define READY (1u << H_READY)
#define STOPPING (1u << H_STOPPING)
#define BEGINNING (1u << H_STARTING | 1u << H_CONFIGURING)
#define ANY (NONE | BEGINNING | READY | STOPPING)
#define F(fact) (1u << FACT_##fact)

static const struct next_row rows[] = {
	{ CLOSED, ANY, 0, 0, NULL, "wait for a load or a delete" },

	{ OPENING, ANY, F(POOL_QUEUE), 0, next_launch, "start the harness, or stay in the queue" },
	{ OPENING, NONE, F(DRAFT), 0, session_draft_go_on, "go on with the draft" },
	{ OPENING, ANY, 0, 0, NULL, "wait for workspace and harness" },

	{ OPEN, ANY, F(FORK_COPIES), 0, NULL, "wait for the fork" },
	{ OPEN, ANY, F(PROVISIONING), 0, NULL, "wait for the workspace" },
	{ OPEN, NONE, F(CHECK), 0, NULL, "wait for the checks" },
	{ OPEN, NONE, F(DRAFT), 0, session_draft_go_on, "go on with the draft" },
	{ OPEN, NONE, F(WAITER), 0, next_launch, "start the harness, or join the queue" },
	{ OPEN, NONE, F(PROMPT), 0, next_launch, "start the harness, or join the queue" },
	{ OPEN, NONE, 0, 0, NULL, "wait for a prompt" },
	{ OPEN, BEGINNING | STOPPING, 0, 0, NULL, "wait for the harness" },
	{ OPEN, READY, F(DRAFT), F(RUNNING_TURN) | F(CHECK), harness_stop,
	  "stop the harness for the draft" },
	{ OPEN, READY, F(RESTART), F(RUNNING_TURN), harness_stop, "stop the harness" },
	{ OPEN, READY, F(RECONFIGURE), F(RUNNING_TURN), harness_reconfigure, "set the options" },
	{ OPEN, READY, F(WAITER), F(DUE_BASELINE), next_answer_waiters, "answer who waits" },
	{ OPEN, READY, F(RUNNING_TURN), 0, NULL, "wait for the end of the turn" },
	{ OPEN, READY, F(ENDING_TURN), 0, NULL, "wait for the record of the turn" },
	{ OPEN, READY, F(PROMPT) | F(SNAPSHOT), 0, NULL, "wait for the snapshot" },
	{ OPEN, READY, F(PROMPT) | F(CHECK), 0, NULL, "wait for the checks" },
	{ OPEN, READY, F(PROMPT) | F(CANCELLED_TICK), 0, await_tick, "arm a timer of one tick" },
	{ OPEN, READY, F(PROMPT), 0, begin_turn, "begin the turn" },
	{ OPEN, READY, F(WAITER), 0, NULL, "wait for the baseline" },
	{ OPEN, READY, 0, 0, NULL, "wait for a prompt" },

	{ CLOSING, ANY, F(PROVISIONING), 0, provision_abort, "abort the provisioning" },
	{ CLOSING, ANY, F(CHECK), 0, session_checks_abort, "end the checks" },
	{ CLOSING, ANY, F(ENDING_TURN), 0, NULL, "wait for the record of the turn" },
	{ CLOSING, ANY, F(INSPECTION), 0, inspections_abort, "abort the inspections" },
	{ CLOSING, ANY, F(DRAFT_QUEUE), 0, session_draft_abort, "refuse what is asked of a draft" },
	{ CLOSING, ANY, F(RUNNING_TURN), 0, NULL, "wait for the end of the turn" },
	{ CLOSING, ANY, F(WAITER), 0, refuse_waiters, "refuse who waits" },
	{ CLOSING, BEGINNING | READY, 0, 0, harness_stop, "stop the harness" },
	{ CLOSING, STOPPING, 0, 0, NULL, "wait for the end of the harness" },
	{ CLOSING, NONE, 0, 0, session_closed, "close" },
};

const struct next_row *next_row_at(size_t i)
{
	return i < ARRAY_SIZE(rows) ? &rows[i] : NULL;
}

const struct next_row *next_row_find(enum session_state session, enum harness_state harness,
				     unsigned found)
{
	for (const struct next_row *r = rows; r < rows + ARRAY_SIZE(rows); r++)
		if (r->sessions & 1u << session && r->harnesses & 1u << harness &&
		    (found & r->with) == r->with && !(found & r->without))
			return r;
	return NULL;
}

/* --- reading it ---------------------------------------------------------------------------------------- */

void session_next(void *ctx)
{
	struct session *s = ctx;
	const struct next_row *r;

	if (s->store->stopping) /* session_store.c ends everything */
		return;
	/* These can change facts, so they precede the table. */
	if (s->harness.copying && s->harness.state == H_NONE)
		session_fork_go_on(s);
	harness_pool_update(s);
	provision_answer(s);
	r = next_row_find(s->state, s->harness.state, find_facts(s));
	log_debug("session", "next", "session", s->id, "what", r ? r->next : "?");
	if (r && r->act)
		r->act(s);
}
