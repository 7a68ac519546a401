/*
 * session_states.c - the names of all states, the table of allowed transitions, the only setters, and the request to
 * decide what follows a change.
 *
 * The tables are indexed by enums of session_internal.h: a new state needs a name here, at its own
 * index. An unknown transition is logged as an error and performed anyway, except under
 * AddressSanitizer, where tests must fail. harness_set_state also records when a harness leaves
 * H_NONE: the start time of the whole start, not of one step.
 */
#include "session/core/session_states.h"

#include "base/clock.h"
#include "base/log.h"

static const struct {
	const char *name, *states[6];
} machines[MACHINE_MAX] = {
	[MACHINE_SESSION] = { "session",
			      { [SESSION_OPENING] = "OPENING",
				[SESSION_OPEN] = "OPEN",
				[SESSION_CLOSING] = "CLOSING",
				[SESSION_CLOSED] = "CLOSED" } },
	[MACHINE_HARNESS] = { "harness",
			      { [H_NONE] = "NONE",
				[H_STARTING] = "STARTING",
				[H_CONFIGURING] = "CONFIGURING",
				[H_READY] = "READY",
				[H_STOPPING] = "STOPPING" } },
	[MACHINE_TURN] = { "turn",
			   { [TURN_QUEUED] = "QUEUED",
			     [TURN_RUNNING] = "RUNNING",
			     [TURN_CHECKING] = "CHECKING",
			     [TURN_CANCELLING] = "CANCELLING",
			     [TURN_ENDING] = "ENDING" } },
};

static const struct {
	enum state_machine machine;
	int from, to;
	const char *when;
} changes[] = {
	{ MACHINE_SESSION, SESSION_OPENING, SESSION_OPEN, "its harness is ready" },
	{ MACHINE_SESSION, SESSION_OPENING, SESSION_CLOSING,
	  "its harness did not start, or it is closed" },
	{ MACHINE_SESSION, SESSION_OPENING, SESSION_CLOSED, "it is read from its journal" },
	{ MACHINE_SESSION, SESSION_OPEN, SESSION_CLOSING,
	  "it is closed or deleted, or its load failed" },
	{ MACHINE_SESSION, SESSION_CLOSING, SESSION_CLOSED, "turns and harness are gone" },
	{ MACHINE_SESSION, SESSION_CLOSED, SESSION_OPEN, "it is loaded" },
	{ MACHINE_SESSION, SESSION_CLOSED, SESSION_CLOSING, "it is deleted" },

	{ MACHINE_HARNESS, H_NONE, H_STARTING,
	  "its process is started, or its home is copied for a fork" },
	{ MACHINE_HARNESS, H_STARTING, H_CONFIGURING,
	  "it is open; model, mode and options are set" },
	{ MACHINE_HARNESS, H_CONFIGURING, H_READY, "all of them are set" },
	{ MACHINE_HARNESS, H_READY, H_CONFIGURING, "the session wants others" },
	{ MACHINE_HARNESS, H_STARTING, H_STOPPING, "it is stopped, broken or too late" },
	{ MACHINE_HARNESS, H_CONFIGURING, H_STOPPING, "it is stopped, broken or too late" },
	{ MACHINE_HARNESS, H_READY, H_STOPPING, "it is stopped or broken" },
	{ MACHINE_HARNESS, H_STOPPING, H_NONE, "its process is gone" },
	{ MACHINE_HARNESS, H_STARTING, H_NONE,
	  "its process is gone, or the copy for a fork is done" },
	{ MACHINE_HARNESS, H_CONFIGURING, H_NONE, "its process is gone" },
	{ MACHINE_HARNESS, H_READY, H_NONE, "its process is gone" },

	{ MACHINE_TURN, TURN_QUEUED, TURN_RUNNING, "the turns before it have ended" },
	{ MACHINE_TURN, TURN_QUEUED, TURN_ENDING, "it is cancelled, or cannot begin" },
	{ MACHINE_TURN, TURN_RUNNING, TURN_CANCELLING, "it is cancelled" },
	{ MACHINE_TURN, TURN_RUNNING, TURN_CHECKING,
	  "the harness ended it well, and it has checks" },
	{ MACHINE_TURN, TURN_RUNNING, TURN_ENDING, "the harness ended it, or it failed" },
	{ MACHINE_TURN, TURN_CHECKING, TURN_CANCELLING, "it is cancelled, or its harness is gone" },
	{ MACHINE_TURN, TURN_CHECKING, TURN_ENDING, "its checks have ended, or the daemon ends" },
	{ MACHINE_TURN, TURN_CANCELLING, TURN_ENDING,
	  "harness and checks have ended it, or did not in time" },
};

int state_count(enum state_machine machine)
{
	int n = 0;

	while (n < (int)ARRAY_SIZE(machines[machine].states) && machines[machine].states[n])
		n++;
	return n;
}

const char *state_name(enum state_machine machine, int state)
{
	return machines[machine].states[state];
}

bool state_change_known(enum state_machine machine, int from, int to)
{
	if (from == to)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++)
		if (changes[i].machine == machine && changes[i].from == from && changes[i].to == to)
			return true;
	return false;
}

void states_put_table(struct buf *ret)
{
	buf_puts(ret, "| of | from | to | when |\n|---|---|---|---|\n");
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++)
		buf_printf(ret, "| %s | %s | %s | %s |\n", machines[changes[i].machine].name,
			   state_name(changes[i].machine, changes[i].from),
			   state_name(changes[i].machine, changes[i].to), changes[i].when);
}

static void change(const struct session *s, enum state_machine machine, int from, int to)
{
	if (from == to)
		return;
	/* A change that is not in the table is a bug of acpd. Builds with AddressSanitizer stop; others continue. */
	if (!state_change_known(machine, from, to)) {
		log_error("session", "a change of state that there is not", "session", s->id, "of",
			  machines[machine].name, "from", state_name(machine, from), "to",
			  state_name(machine, to));
#ifdef __SANITIZE_ADDRESS__
		abort();
#endif
	}
	log_debug("session", "state", "session", s->id, "of", machines[machine].name, "from",
		  state_name(machine, from), "to", state_name(machine, to));
}

void session_set_state(struct session *s, enum session_state to)
{
	change(s, MACHINE_SESSION, (int)s->state, (int)to);
	s->state = to;
}

void harness_set_state(struct session *s, enum harness_state to)
{
	change(s, MACHINE_HARNESS, (int)s->harness.state, (int)to);
	if (s->harness.state == H_NONE)
		s->harness.starting_mono = clock_mono_ms();
	s->harness.state = to;
}

void turn_set_state(const struct session *s, struct session_turn *t, enum turn_state to)
{
	change(s, MACHINE_TURN, (int)t->state, (int)to);
	t->state = to;
}

void session_advance(struct session *s)
{
	/* Deferred: callers are in the middle of a change, and session_next may start, stop or free anything. */
	loop_defer(s->store->loop, &s->advance_task, session_next, s);
}

void session_touch(struct session *s)
{
	s->updated_ms = clock_real_ms();
}

void session_wait(struct list *list, session_done_fn done, void *ctx)
{
	struct session_waiter *w = new0(struct session_waiter);

	w->done = done;
	w->ctx = ctx;
	w->since = clock_mono_ms();
	list_add_tail(list, &w->link);
}
