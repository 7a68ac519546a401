/* The table of states: complete, and as daemon/README.md shows it. */
#include "session/core/session_states.h"

#include "readme_table.h"
#include "unit.h"

#define STATES_MAX 8

/* Where a session, a harness and a turn begin, and the states that may last. */
static const struct {
	int first;
	unsigned last; /* bits */
} ends[MACHINE_MAX] = {
	[MACHINE_SESSION] = { SESSION_OPENING, 1u << SESSION_CLOSED },
	[MACHINE_HARNESS] = { H_NONE, 1u << H_NONE },
	[MACHINE_TURN] = { TURN_QUEUED, 1u << TURN_ENDING },
};

/* The states that can be reached from one, itself included; bits. */
static unsigned reached_from(enum state_machine m, int from)
{
	unsigned reached = 1u << from, before = 0;

	while (reached != before) {
		before = reached;
		for (int a = 0; a < state_count(m); a++)
			for (int b = 0; b < state_count(m); b++)
				if ((reached & 1u << a) && state_change_known(m, a, b))
					reached |= 1u << b;
	}
	return reached;
}

static void every_state_is_reached_and_left(void **state _unused_)
{
	for (enum state_machine m = 0; m < MACHINE_MAX; m++) {
		assert_in_range(state_count(m), 4, STATES_MAX);
		assert_int_equal(reached_from(m, ends[m].first), (1u << state_count(m)) - 1);
		for (int from = 0; from < state_count(m); from++)
			assert_true(reached_from(m, from) & ends[m].last);
	}
}

static void what_must_not_follow(void **state _unused_)
{
	/* a turn has one end, and a session or harness that is ending does not come back */
	for (int to = TURN_QUEUED; to < TURN_ENDING; to++)
		assert_false(state_change_known(MACHINE_TURN, TURN_ENDING, to));
	assert_false(state_change_known(MACHINE_TURN, TURN_CANCELLING, TURN_RUNNING));
	assert_false(state_change_known(MACHINE_SESSION, SESSION_CLOSING, SESSION_OPEN));
	assert_false(state_change_known(MACHINE_HARNESS, H_STOPPING, H_STARTING));
	assert_false(state_change_known(MACHINE_HARNESS, H_STOPPING, H_READY));
	assert_false(state_change_known(MACHINE_HARNESS, H_NONE, H_READY));
	assert_false(state_change_known(MACHINE_HARNESS, H_STARTING, H_READY));
}

static void the_readme_shows_it(void **state _unused_)
{
	check_readme_has(states_put_table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_state_is_reached_and_left),
		cmocka_unit_test(what_must_not_follow),
		cmocka_unit_test(the_readme_shows_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
