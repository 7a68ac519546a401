/* What a session does next: the table has a row for every case, the right one where it matters, and daemon/README.md
 * shows it. */
#include "session/parts/session_next.h"
#include "session/core/session_states.h"

#include "readme_table.h"
#include "unit.h"

#define ROWS_MAX 64
#define F(fact) (1u << FACT_##fact)

struct moment {
	enum session_state session;
	enum harness_state harness;
	unsigned facts;
};

/* Every combination of states and facts: the turn's states are among the facts (queued, running, ending). */
static void each_moment(void (*check)(const struct moment *m, const struct next_row *r))
{
	struct moment m;

	for (m.session = SESSION_OPENING; m.session <= SESSION_CLOSED; m.session++)
		for (m.harness = H_NONE; m.harness <= H_STOPPING; m.harness++)
			for (m.facts = 0; m.facts < 1u << FACT_MAX; m.facts++)
				check(&m, next_row_find(m.session, m.harness, m.facts));
}

static void has_row(const struct moment *m, const struct next_row *r)
{
	if (!r)
		fail_msg("no row for session %d, harness %d, facts %#x", m->session, m->harness,
			 m->facts);
}

static void every_moment_has_a_row(void **state _unused_)
{
	each_moment(has_row);
}

static bool answers[ROWS_MAX];

static void note_answer(const struct moment *m _unused_, const struct next_row *r)
{
	if (r)
		answers[r - next_row_at(0)] = true;
}

static void every_row_is_an_answer(void **state _unused_)
{
	each_moment(note_answer);
	for (size_t i = 0; next_row_at(i); i++)
		if (!answers[i])
			fail_msg("row %zu is hidden by those above it: %s", i,
				 next_row_at(i)->next);
}

/* A row that only waits says so, and one that acts does not. */
static void names_tell_what_waits(void **state _unused_)
{
	for (size_t i = 0; next_row_at(i); i++) {
		const struct next_row *r = next_row_at(i);

		assert_int_equal(strncmp(r->next, "wait for ", 9) == 0, r->act == NULL);
	}
}

static bool is(const struct next_row *r, const char *next)
{
	return strncmp(r->next, next, strlen(next)) == 0;
}

static void rules_hold(const struct moment *m, const struct next_row *r)
{
	bool open = m->session == SESSION_OPEN, closing = m->session == SESSION_CLOSING;
	bool ready = m->harness == H_READY;
	bool holds = true;

	if (!r)
		return;
	if (is(r, "begin the turn"))
		holds = open && ready && m->facts & F(PROMPT) &&
			!(m->facts &
			  (F(RUNNING_TURN) | F(ENDING_TURN) | F(SNAPSHOT) | F(PROVISIONING) |
			   F(FORK_COPIES) | F(RESTART) | F(RECONFIGURE) | F(CANCELLED_TICK)));
	else if (is(r, "start the harness"))
		holds = open ? m->harness == H_NONE &&
					!(m->facts & (F(PROVISIONING) | F(FORK_COPIES))) :
			       m->session == SESSION_OPENING;
	else if (is(r, "stop the harness"))
		holds = !(m->facts & F(RUNNING_TURN)) && (closing || (open && ready));
	else if (is(r, "close"))
		holds = closing && m->harness == H_NONE &&
			!(m->facts & (F(RUNNING_TURN) | F(ENDING_TURN) | F(WAITER) |
				      F(PROVISIONING) | F(INSPECTION)));
	else if (is(r, "answer who waits"))
		holds = open && ready && m->facts & F(WAITER) && !(m->facts & F(DUE_BASELINE));
	if (!holds)
		fail_msg("session %d, harness %d, facts %#x: %s", m->session, m->harness, m->facts,
			 r->next);
}

static void what_must_not_be_next(void **state _unused_)
{
	each_moment(rules_hold);
}

/* They follow "no" as well. */
static const char *const fact_names[FACT_MAX] = {
	[FACT_FORK_COPIES] = "fork that copies its home",
	[FACT_PROVISIONING] = "provisioning",
	[FACT_DRAFT] = "draft to switch, apply or mount",
	[FACT_DRAFT_QUEUE] = "request for a draft",
	[FACT_POOL_QUEUE] = "place in the queue for harnesses",
	[FACT_RESTART] = "due restart",
	[FACT_RECONFIGURE] = "option to set",
	[FACT_WAITER] = "client that waits",
	[FACT_PROMPT] = "queued prompt",
	[FACT_RUNNING_TURN] = "running turn",
	[FACT_ENDING_TURN] = "ending turn",
	[FACT_DUE_BASELINE] = "due baseline",
	[FACT_SNAPSHOT] = "running snapshot",
	[FACT_CANCELLED_TICK] = "turn cancelled in this tick",
	[FACT_INSPECTION] = "running inspection",
	[FACT_CHECK] = "running checks",
};

static void put_states(struct buf *ret, enum state_machine machine, unsigned states)
{
	const char *comma = "";

	for (int i = 0; i < state_count(machine); i++) {
		if (!(states & 1u << i))
			continue;
		buf_printf(ret, "%s%s", comma, state_name(machine, i));
		comma = ", ";
	}
}

/* Returns what separates the next list from this one. */
static const char *put_facts(struct buf *ret, const char *comma, const char *no, unsigned found)
{
	for (size_t i = 0; i < FACT_MAX; i++) {
		if (!(found & 1u << i))
			continue;
		buf_printf(ret, "%s%s%s", comma, no, fact_names[i]);
		comma = ", ";
	}
	return comma;
}

static void put_row(struct buf *ret, const struct next_row *r)
{
	buf_printf(ret, "| %s | ", r->next);
	put_states(ret, MACHINE_SESSION, r->sessions);
	buf_puts(ret, " | ");
	if (r->harnesses == (1u << (H_STOPPING + 1)) - 1)
		buf_puts(ret, "any");
	else
		put_states(ret, MACHINE_HARNESS, r->harnesses);
	buf_puts(ret, " | ");
	put_facts(ret, put_facts(ret, "", "", r->with), "no ", r->without);
	buf_puts(ret, r->with | r->without ? " |\n" : "|\n");
}

static void put_table(struct buf *ret)
{
	buf_puts(ret, "| what is next | session | harness | when |\n|---|---|---|---|\n");
	for (size_t i = 0; next_row_at(i); i++)
		put_row(ret, next_row_at(i));
}

static void the_readme_shows_it(void **state _unused_)
{
	check_readme_has(put_table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_moment_has_a_row), cmocka_unit_test(every_row_is_an_answer),
		cmocka_unit_test(names_tell_what_waits),  cmocka_unit_test(what_must_not_be_next),
		cmocka_unit_test(the_readme_shows_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
