/* All that can happen to a session, in every order, as far as the budget goes: breadth first over its distinct states,
 * each reached by playing its events to a fresh session. After each event the rig's rules hold; and from each state the
 * session comes to rest with a harness that does its part, and is closed whatever it does, with everybody answered. */
#include "session_rig.h"
#include "session/parts/approval/approval_internal.h"
#include "session/parts/check/turn_proof.h"

#define DEPTH_MAX 40
#define STATES_MAX 20000
#define REST_STEPS 60
#define PROMPTS_OPEN 2 /* unanswered at a time, so that the states are finitely many */
#define CALLS_OPEN 1   /* loads, closes */
#define STATES (2500 / stride_san(4))

static struct rig r;

struct event {
	const char *name;
	bool (*can)(const char *what);
	void (*go)(const char *what);
	const char *what;
};

/* --- what may happen, and when --------------------------------------------------------------------------- */

static unsigned unanswered_prompts(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < r.nprompts; i++)
		n += !r.prompts[i].answers;
	return n;
}

static unsigned unanswered(const struct rig_waiter *w, unsigned n)
{
	unsigned open = 0;

	for (unsigned i = 0; i < n; i++)
		open += !w[i].answers;
	return open;
}

static bool can_prompt(const char *what _unused_)
{
	return session_is_open(r.s) && unanswered_prompts() < PROMPTS_OPEN &&
	       r.nprompts < RIG_PROMPTS;
}

static void go_prompt(const char *what)
{
	rig_prompt(&r, what, false);
}

static void go_prompt_checked(const char *what _unused_)
{
	rig_prompt_checked(&r);
}

static bool can_check(const char *what _unused_)
{
	return world_checking();
}

static void go_check(const char *what)
{
	world_checked(what);
	rig_check(&r);
}

static bool can_cancel(const char *what _unused_)
{
	return r.s && !list_empty(&r.s->turn.queue);
}

static void go_cancel(const char *what _unused_)
{
	rig_cancel(&r);
}

static bool can_close(const char *what _unused_)
{
	return r.s && unanswered(r.closes, r.ncloses) < CALLS_OPEN && r.ncloses + 1 < RIG_WAITERS;
}

static void go_close(const char *what)
{
	rig_end(&r, what);
}

static bool can_load(const char *what _unused_)
{
	return r.s && (r.s->state == SESSION_OPEN || r.s->state == SESSION_CLOSED) &&
	       unanswered(r.opens, r.nopens) < CALLS_OPEN + 1 && r.nopens < RIG_WAITERS;
}

static void go_load(const char *what)
{
	rig_load(&r, what);
}

static bool can_attach(const char *what _unused_)
{
	return r.s && !r.client.session;
}

static void go_attach(const char *what _unused_)
{
	rig_attach(&r);
}

static bool can_detach(const char *what _unused_)
{
	return r.client.session;
}

static void go_detach(const char *what _unused_)
{
	rig_detach(&r);
}

static bool can_answer(const char *what _unused_)
{
	return r.shown;
}

static void go_answer(const char *what)
{
	rig_answer(&r, what);
}

static bool can_answer_elsewhere(const char *what _unused_)
{
	return r.s && approval_of(r.s)->nopen;
}

static void go_answer_elsewhere(const char *what)
{
	uint64_t no = list_first(&approval_of(r.s)->open, struct session_question, link)->no;

	if (*rig_answer_elsewhere(&r, no, what))
		rig_fault(&r, "an open question cannot be answered");
}

static bool can_say(const char *what)
{
	if (strcmp(what, "ask") == 0 && r.asks)
		return false;
	return rig_may_say(&r, what);
}

static void go_say(const char *what)
{
	rig_say(&r, what);
}

static bool can_exit(const char *what _unused_)
{
	return world_alive();
}

static void go_exit(const char *what _unused_)
{
	world_exit(1);
	rig_check(&r);
}

static bool can_sync(const char *what _unused_)
{
	return world_unsynced();
}

static void go_sync(const char *what)
{
	world_sync(what ? -EIO : 0);
	rig_check(&r);
}

static bool can_fire(const char *what _unused_)
{
	return world_next(rig_is_timer, &r);
}

static void go_fire(const char *what _unused_)
{
	rig_fire(&r);
}

static const struct event events[] = {
	{ "prompt", can_prompt, go_prompt, NULL },
	{ "prompt-with-key", can_prompt, go_prompt, "k" },
	{ "prompt-with-checks", can_prompt, go_prompt_checked, NULL },
	{ "check-holds", can_check, go_check, "holds" },
	{ "check-fails", can_check, go_check, NULL },
	{ "cancel", can_cancel, go_cancel, NULL },
	{ "close", can_close, go_close, NULL },
	{ "delete", can_close, go_close, "delete" },
	{ "load", can_load, go_load, NULL },
	{ "load-with-more", can_load, go_load, "be brief" },
	{ "attach", can_attach, go_attach, NULL },
	{ "detach", can_detach, go_detach, NULL },
	{ "answer", can_answer, go_answer, "yes" },
	{ "answer-elsewhere", can_answer_elsewhere, go_answer_elsewhere, "no" },
	{ "ready", can_say, go_say, "ready" },
	{ "refuse", can_say, go_say, "refuse" },
	{ "output", can_say, go_say, "output" },
	{ "ask", can_say, go_say, "ask" },
	{ "unask", can_say, go_say, "unask" },
	{ "end", can_say, go_say, "end" },
	{ "fail", can_say, go_say, "fail" },
	{ "nonsense", can_say, go_say, "nonsense" },
	{ "exit", can_exit, go_exit, NULL },
	{ "sync", can_sync, go_sync, NULL },
	{ "timer", can_fire, go_fire, NULL },
};

/* --- the state, as far as it decides what comes ------------------------------------------------------------- */

/* Those that decide something; the others only look after memory and processes. */
static void put_timers(struct buf *b, const struct session *s)
{
	const struct loop_timer *timers[] = { &s->harness.start_timer, &s->turn.cancel_timer,
					      &s->detach_timer, &s->turn.tick_timer };

	for (size_t i = 0; i < ARRAY_SIZE(timers); i++)
		buf_putc(b, timers[i]->due ? 't' : '-');
}

static void put_turns(struct buf *b, const struct session *s)
{
	list_each(t, (struct list *)&s->turn.queue, struct session_turn, link)
		buf_printf(b, " T%d%d%d%d%u%d", (int)t->state, t->outputs > 0, t->key != NULL,
			   proof_of(t)->checks != NULL, proof_of(t)->attempt,
			   proof_of(t)->run != NULL);
	list_each(a, (struct list *)&approval_of(s)->open, struct session_question, link)
		buf_printf(b, " q%d%d", a->shown_to != NULL, a->timer.due > 0);
}

static void put_session(struct buf *b, const struct session *s)
{
	buf_printf(b, "S%d H%d r%d%d", (int)s->state, (int)s->harness.state, s->harness.restart,
		   s->harness.reconfigure);
	buf_printf(b, " l%d%d%d d%d k%d", s->load.before != NULL, s->load.reopening,
		   s->load.pending != 0, s->stored.remove, s->turn.nkeys > 0);
}

static uint64_t digest(void)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	uint64_t h = 14695981039346656037ull;

	if (r.s) {
		put_session(&b, r.s);
		put_turns(&b, r.s);
		put_timers(&b, r.s);
	}
	buf_printf(&b, " o%d p%u c%d a%d %d%d s%d %d%d", unanswered(r.opens, r.nopens) > 0,
		   unanswered_prompts(), unanswered(r.closes, r.ncloses) > 0, r.asks != 0, r.ready,
		   r.prompted, world_unsynced() > 0, world_alive(), world_stopped());
	buf_printf(&b, " k%d", world_checking());
	buf_printf(&b, " C%d%d", r.client.session != NULL, r.shown != NULL);
	for (size_t i = 0; i < b.len; i++)
		h = (h ^ (unsigned char)b.data[i]) * 1099511628211ull;
	return h;
}

/* --- the search --------------------------------------------------------------------------------------------- */

struct found {
	uint64_t digest;
	uint32_t can; /* bits of the events that may come next */
	uint8_t depth, path[DEPTH_MAX];
};

static struct found *states;
static size_t nstates, nplayed, nevents;

static void fail_at(const struct found *f, const char *what)
{
	print_error("%s\nafter:", what);
	for (unsigned i = 0; i < f->depth; i++)
		print_error(" %s", events[f->path[i]].name);
	print_error("\n");
	fail_msg("%s", what);
}

static void hold(const struct found *f)
{
	if (*r.fault)
		fail_at(f, r.fault);
}

static void play(const struct found *f)
{
	rig_new(&r, DETACHED_CANCEL, NULL, NULL);
	for (unsigned i = 0; i < f->depth; i++) {
		const struct event *e = &events[f->path[i]];

		if (!e->can(e->what))
			fail_at(f, "the same events do not lead to the same state");
		e->go(e->what);
		nevents++;
	}
	nplayed++;
	hold(f);
}

/* A harness and a disk that do their part: everybody is answered. */
static bool step_well(void)
{
	static const char *const well[] = { "ready", "output", "end" };

	if (world_unsynced()) {
		go_sync(NULL);
		return true;
	}
	if (world_stopped()) {
		go_exit(NULL);
		return true;
	}
	if (world_checking()) {
		go_check("holds");
		return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(well); i++)
		if (rig_may_say(&r, well[i]) && (r.prompted || i == 0)) {
			rig_say(&r, well[i]);
			if (i != 1)
				return true;
		}
	return rig_fire(&r);
}

static void comes_to_rest(const struct found *f)
{
	play(f);
	for (unsigned i = 0; i < REST_STEPS && rig_waiting(&r); i++)
		if (!step_well())
			break;
	hold(f);
	if (rig_waiting(&r))
		fail_at(f, "somebody is never answered, though the harness does its part");
	rig_free(&r);
}

/* A harness that does nothing but end: the session is closed all the same, and everybody is answered. */
static void can_be_closed(const struct found *f)
{
	if (r.s)
		rig_end(&r, false);
	for (unsigned i = 0; i < REST_STEPS && rig_waiting(&r); i++)
		if (world_unsynced())
			go_sync(NULL);
		else if (world_stopped())
			go_exit(NULL);
		else if (world_checking())
			go_check(NULL);
		else if (!rig_fire(&r))
			break;
	hold(f);
	if (rig_waiting(&r))
		fail_at(f, "somebody is not answered when the session is closed");
	if (r.s && r.s->state != SESSION_CLOSED)
		fail_at(f, "the session cannot be closed");
	rig_free(&r);
}

static bool is_known(uint64_t d)
{
	for (size_t i = 0; i < nstates; i++)
		if (states[i].digest == d)
			return true;
	return false;
}

static uint32_t possible(void)
{
	uint32_t can = 0;

	for (size_t i = 0; i < ARRAY_SIZE(events); i++)
		can |= events[i].can(events[i].what) ? 1u << i : 0;
	return can;
}

/* Plays f, and keeps it if it leads to a state that is new. */
static void visit(struct found *f)
{
	play(f);
	f->digest = digest();
	f->can = possible();
	if (is_known(f->digest)) {
		rig_free(&r);
		return;
	}
	states[nstates++] = *f;
	can_be_closed(f);
	comes_to_rest(f);
}

static void extend(size_t from, size_t most)
{
	for (size_t i = 0; i < ARRAY_SIZE(events) && nstates < most; i++) {
		struct found f = states[from];

		if (!(f.can & 1u << i) || f.depth == DEPTH_MAX)
			continue;
		f.path[f.depth++] = (uint8_t)i;
		visit(&f);
	}
}

/* FUZZ_CUTS: under valgrind less; EXPLORE: as many states as somebody has the patience for. */
static size_t budget(void)
{
	const char *more = getenv("EXPLORE");

	if (more)
		return MIN((size_t)strtoul(more, NULL, 10), (size_t)STATES_MAX);
	return getenv("FUZZ_CUTS") ? STATES / 10 : STATES;
}

static void every_order(void **state _unused_)
{
	struct found begin = { 0 };
	size_t from, most = budget();

	states = xalloc(STATES_MAX * sizeof(*states));
	visit(&begin);
	for (from = 0; from < nstates && nstates < most; from++)
		extend(from, most);
	print_message("%zu states, %s; %zu sequences, %zu events, the longest %u\n", nstates,
		      from == nstates ? "all there are" : "not all", nplayed, nevents,
		      states[nstates - 1].depth);
	free(states);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(every_order) };

	return RUN(tests, NULL, NULL);
}
