/* The daemon's states: the table is complete, the setter holds to it, and daemon/README.md shows it. */
#include "lifecycle/life_state.h"

#include "readme_table.h"
#include "unit.h"

static void every_state_ends_in_draining(void **state _unused_)
{
	for (enum life_state s = 0; s < LIFE_STATE_MAX; s++) {
		assert_true(life_state_may(s, LIFE_DRAINING));
		assert_true(life_state_may(s, s));
		assert_int_equal(life_state_may(LIFE_DRAINING, s), s == LIFE_DRAINING);
	}
}

static void the_words(void **state _unused_)
{
	assert_string_equal(life_state_word(LIFE_PROVISIONING), "provisioning");
	assert_string_equal(life_state_word(LIFE_READY), "ready");
	assert_string_equal(life_state_word(LIFE_PAUSED), "paused");
	assert_string_equal(life_state_word(LIFE_DRAINING), "draining");
}

static void the_setter_holds_to_the_table(void **state _unused_)
{
	for (enum life_state from = 0; from < LIFE_STATE_MAX; from++)
		for (enum life_state to = 0; to < LIFE_STATE_MAX; to++) {
			enum life_state now = from;
			bool may = life_state_may(from, to);

			assert_int_equal(life_state_set(&now, to, "test"), may);
			assert_int_equal(now, may ? to : from);
		}
}

static void the_readme_shows_it(void **state _unused_)
{
	check_readme_has(life_states_put_table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_state_ends_in_draining),
		cmocka_unit_test(the_words),
		cmocka_unit_test(the_setter_holds_to_the_table),
		cmocka_unit_test(the_readme_shows_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
