/* The queue of prompts: order, whenBusy, keys, and cancelling in each state of a turn. */
#include "session_rig.h"

static struct rig r;

static int setup(void **state _unused_)
{
	rig_open_ready(&r);
	return 0;
}

static int teardown(void **state _unused_)
{
	rig_free(&r);
	assert_string_equal(r.fault, "");
	return 0;
}

static void check_prompt(int i, const char *how)
{
	assert_int_equal(r.prompts[i].answers, 1);
	assert_string_equal(r.prompts[i].how, how);
}

/* The running turn comes to a good end. */
static void run_turn(void)
{
	rig_say(&r, "output");
	rig_say(&r, "end");
	world_sync(0);
	rig_check(&r);
}

static void one_after_the_other(void **state _unused_)
{
	assert_int_equal(rig_prompt(&r, NULL, false), 0);
	assert_int_equal(rig_prompt(&r, NULL, false), 1);
	assert_int_equal(rig_prompt(&r, NULL, false), 2);
	assert_int_equal(r.prompts_seen, 1);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(r.prompts[i].answers, 0);
		run_turn();
		check_prompt(i, "\"end_turn\"");
		assert_int_equal(r.prompts[i].turn, i + 1);
	}
	assert_int_equal(r.prompts_seen, 3);
	assert_int_equal(rig_waiting(&r), 0);
}

/* The next turn begins when the record of the one before is durable. */
static void waits_for_the_record(void **state _unused_)
{
	rig_prompt(&r, NULL, false);
	rig_prompt(&r, NULL, false);
	rig_say(&r, "output");
	rig_say(&r, "end");
	assert_int_equal(r.prompts[0].answers, 0);
	assert_int_equal(r.prompts_seen, 1);
	world_sync(0);
	check_prompt(0, "\"end_turn\"");
	assert_int_equal(r.prompts_seen, 2);
}

static void busy(void **state _unused_)
{
	assert_int_equal(rig_prompt(&r, NULL, true), 0);
	assert_int_equal(rig_prompt(&r, NULL, true), -1);
	assert_string_equal(r.err.reason, "SESSION_BUSY");
	run_turn();
	assert_int_equal(rig_prompt(&r, NULL, true), 1);
}

static void ignore(void *ctx _unused_, const struct turn_result *res _unused_)
{
}

static void full_queue(void **state _unused_)
{
	struct prompt_params p = { .content = SLICE("[]") };

	for (unsigned i = 0; i <= 10000; i++)
		if (session_prompt(r.s, &p, ignore, NULL, &r.err) < 0)
			break;
		else if (i == 10000)
			fail_msg("the queue has no end");
	assert_string_equal(r.err.reason, "QUEUE_FULL");
}

static void same_key(void **state _unused_)
{
	assert_int_equal(rig_prompt(&r, "k", false), 0);
	assert_int_equal(rig_prompt(&r, "k", false), 1);
	run_turn();
	assert_int_equal(rig_prompt(&r, "k", false), 2);
	for (int i = 0; i < 3; i++) {
		check_prompt(i, "\"end_turn\"");
		assert_int_equal(r.prompts[i].turn, 1);
	}
	assert_int_equal(r.prompts_seen, 1);
	assert_int_equal(rig_prompt_text(&r, "[]", "k", false), -1);
	assert_string_equal(r.err.reason, "KEY_REUSED");
}

static void key_of_a_failed_turn(void **state _unused_)
{
	rig_prompt(&r, "k", false);
	rig_say(&r, "fail");
	world_sync(0);
	rig_prompt(&r, "k", false);
	check_prompt(0, "provider");
	check_prompt(1, "provider");
	assert_int_equal(r.prompts_seen, 1);
}

static void cancel_nothing(void **state _unused_)
{
	rig_cancel(&r);
	assert_false(r.cancelled);
	rig_prompt(&r, NULL, false);
	run_turn();
	check_prompt(0, "\"end_turn\"");
}

static void cancel_running_and_queued(void **state _unused_)
{
	rig_prompt(&r, NULL, false);
	rig_prompt(&r, NULL, false);
	rig_cancel(&r);
	assert_true(r.cancelled);
	world_sync(0);
	check_prompt(1, "\"cancelled\"");
	assert_int_equal(r.prompts[0].answers, 0);
	rig_cancel(&r); /* again: nothing more */
	rig_say(&r, "end");
	world_sync(0);
	check_prompt(0, "\"cancelled\"");
	assert_int_equal(r.prompts_seen, 1);
}

static void cancel_ending(void **state _unused_)
{
	rig_prompt(&r, NULL, false);
	rig_say(&r, "output");
	rig_say(&r, "end");
	rig_cancel(&r);
	world_sync(0);
	check_prompt(0, "\"end_turn\"");
	assert_false(r.cancelled);
}

static void cancel_one_prompt(void **state _unused_)
{
	for (int i = 0; i < 3; i++)
		rig_prompt(&r, NULL, false);
	assert_true(session_cancel_prompt(r.s, &r.prompts[1]));
	assert_false(r.cancelled);
	world_sync(0);
	check_prompt(1, "\"cancelled\"");
	assert_false(session_cancel_prompt(r.s, &r.prompts[1]));
	assert_true(session_cancel_prompt(r.s, &r.prompts[0]));
	assert_true(r.cancelled);
	rig_say(&r, "end");
	world_sync(0);
	check_prompt(0, "\"cancelled\"");
	while (!r.prompted && rig_fire(&r))
		; /* not in the tick in which a cancelled turn ended */
	run_turn();
	check_prompt(2, "\"end_turn\"");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(one_after_the_other, setup, teardown),
		cmocka_unit_test_setup_teardown(waits_for_the_record, setup, teardown),
		cmocka_unit_test_setup_teardown(busy, setup, teardown),
		cmocka_unit_test_setup_teardown(full_queue, setup, teardown),
		cmocka_unit_test_setup_teardown(same_key, setup, teardown),
		cmocka_unit_test_setup_teardown(key_of_a_failed_turn, setup, teardown),
		cmocka_unit_test_setup_teardown(cancel_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(cancel_running_and_queued, setup, teardown),
		cmocka_unit_test_setup_teardown(cancel_ending, setup, teardown),
		cmocka_unit_test_setup_teardown(cancel_one_prompt, setup, teardown),
	};

	return RUN(tests, NULL, NULL);
}
