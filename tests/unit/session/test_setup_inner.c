/* A harness's own sandbox in a setup: given, written down, inherited, and told of the network. */
#include "session/core/harness/setup.h"
#include "session/parts/network/session_network.h"
#include "unit.h"

#define RESTARTS(changed) (((changed)&SETUP_RESTART) != 0)

static unsigned give(struct setup *s, enum inner_choice inner)
{
	static const struct jval values[] = {
		[INNER_OFF] = { J_FALSE, { "false", 5 } }, [INNER_ON] = { J_TRUE, { "true", 4 } }
	};
	struct setup_params p = { 0 };

	setup_give(&p, &inner_sandbox_parameter, values[inner]);
	return setup_apply(s, &p);
}

static void what_is_said_is_kept_and_what_is_not_said_changes_nothing(void **state _unused_)
{
	struct setup s = { 0 };

	assert_int_equal(give(&s, INNER_UNSAID), 0);
	assert_int_equal(give(&s, INNER_OFF),
			 SETUP_CHANGED); /* as it was: noted, and no reason to restart */
	assert_int_equal(give(&s, INNER_ON), SETUP_CHANGED | SETUP_INNER);
	assert_true(RESTARTS(SETUP_INNER));
	assert_int_equal(give(&s, INNER_UNSAID), 0);
	assert_int_equal(setup_inner(&s), INNER_ON);
	assert_int_equal(give(&s, INNER_OFF), SETUP_CHANGED | SETUP_INNER);
	setup_done(&s);
}

static void it_is_written_down(void **state _unused_)
{
	for (int inner = INNER_UNSAID; inner <= INNER_ON; inner++) {
		_cleanup_(buf_done) struct buf b = { 0 };
		struct setup s = { 0 }, again = { 0 };
		struct jw w = JW(&b);

		give(&s, (enum inner_choice)inner);
		give(&again, INNER_ON);
		jw_obj(&w, NULL);
		setup_put(&s, &w);
		jw_end_obj(&w);
		setup_load(&again, buf_slice(&b));
		assert_int_equal(setup_inner(&again), inner);
		setup_done(&again);
		setup_done(&s);
	}
}

static void a_fork_inherits_what_it_does_not_say(void **state _unused_)
{
	struct setup from = { 0 }, silent = { 0 }, other = { 0 };

	give(&from, INNER_ON);
	give(&other, INNER_OFF);
	setup_inherit(&silent, &from);
	setup_inherit(&other, &from);
	assert_int_equal(setup_inner(&silent), INNER_ON);
	assert_int_equal(setup_inner(&other), INNER_OFF);
	setup_done(&from);
	setup_done(&silent);
	setup_done(&other);
}

static void it_nests_only_where_there_is_one(void **state _unused_)
{
	struct harness_def with = { .caps = { .inner_sandbox = true } }, without = { 0 };
	struct setup on = { 0 }, off = { 0 };

	give(&on, INNER_ON);
	give(&off, INNER_OFF);
	assert_true(harness_nests(&with, &on));
	assert_false(harness_nests(&with, &off));
	assert_false(harness_nests(&with, &(struct setup){ 0 }));
	assert_false(harness_nests(&without, &on));
	setup_done(&on);
	setup_done(&off);
}

/* Between off and a list of hosts the wall stays, but not what the harness's own sandbox lets through. */
static void it_is_told_whether_anything_is_let_through(void **state _unused_)
{
	static const char off[] = "{\"mode\":\"off\"}";
	static const char list[] = "{\"mode\":\"allowlist\",\"allow\":[{\"host\":\"a.example\"}]}";

	for (int inner = INNER_OFF; inner <= INNER_ON; inner++) {
		struct setup s = { 0 };

		give(&s, (enum inner_choice)inner);
		setup_change(&s, &network_parameter, (struct jval){ J_OBJECT, slice_of(off) });
		assert_int_equal(RESTARTS(setup_change(&s, &network_parameter,
						       (struct jval){ J_OBJECT, slice_of(list) })),
				 inner == INNER_ON);
		setup_done(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_said_is_kept_and_what_is_not_said_changes_nothing),
		cmocka_unit_test(it_is_written_down),
		cmocka_unit_test(a_fork_inherits_what_it_does_not_say),
		cmocka_unit_test(it_nests_only_where_there_is_one),
		cmocka_unit_test(it_is_told_whether_anything_is_let_through),
	};

	return RUN(tests, NULL, NULL);
}
