/* A fork: it waits for the harness of its original to end, copies the home, and then starts its own harness. Closed on
 * the way, it answers who waits for it, once, and gives its original free. */
#include "session_rig.h"

#define TASKS_FEW 12 /* what one event may defer: both sessions advance a few times */

static struct rig r;
static struct session *from, *fork_of;
static struct rig_waiter opened, closed;

static void on_waited(void *ctx, struct session *s _unused_, const struct err *e)
{
	struct rig_waiter *w = ctx;

	w->answers++;
	snprintf(w->reason, sizeof(w->reason), "%s", e ? e->reason : "");
}

static int setup(void **state _unused_)
{
	struct session_params p = { .cwd = "/", .harness = &r.def };

	opened = closed = (struct rig_waiter){ 0 };
	rig_open_ready(&r);
	from = r.s;
	fork_of = session_fork(from, &p, on_waited, &opened, &r.err);
	assert_non_null(fork_of);
	loop_run_deferred(r.loop);
	assert_int_equal(from->harness.copying, 1);
	assert_true(world_stopped()); /* the original's harness */
	return 0;
}

static int teardown(void **state _unused_)
{
	rig_free(&r);
	assert_string_equal(r.fault, "");
	return 0;
}

static void check_calm(void)
{
	assert_in_range(world_tasks(), 0, TASKS_FEW);
}

static void close_fork(bool remove)
{
	session_close(fork_of, remove, on_waited, &closed);
	loop_run_deferred(r.loop);
	check_calm();
	assert_int_equal(opened.answers, 1);
	assert_string_equal(opened.reason, "SESSION_CLOSING");
	assert_int_equal(closed.answers, 0);
}

static void end_child(void)
{
	world_exit(0);
	check_calm();
}

static void check_closed(void)
{
	assert_false(world_alive());
	assert_int_equal(opened.answers, 1);
	assert_int_equal(closed.answers, 1);
	assert_string_equal(closed.reason, "");
	assert_int_equal(from->harness.copying, 0);
}

static void goes_on(void **state _unused_)
{
	end_child();
	assert_true(world_alive()); /* cp */
	assert_int_equal(from->harness.copying, 1);
	end_child();
	assert_int_equal(from->harness.copying, 0);
	assert_true(world_alive()); /* the fork's harness */
	assert_true(r.restore);
	world_line("ready");
	check_calm();
	assert_true(session_is_open(fork_of));
	assert_int_equal(opened.answers, 1);
	assert_string_equal(opened.reason, "");
}

static void closed_while_it_waits(void **state _unused_)
{
	close_fork(false);
	assert_int_equal(fork_of->state, SESSION_CLOSING);
	assert_int_equal(fork_of->harness.state, H_STARTING);
	assert_null(fork_of->harness.proc);
	end_child();
	assert_true(world_stopped()); /* cp */
	end_child();
	check_closed();
	assert_int_equal(fork_of->state, SESSION_CLOSED);
}

static void deleted_while_it_waits(void **state _unused_)
{
	close_fork(true);
	end_child();
	end_child();
	check_closed();
	rig_check(&r);
	assert_ptr_equal(r.s, from); /* the fork is gone */
	rig_prompt(&r, NULL, false);
	assert_true(world_alive()); /* the original may run its harness again */
}

static void closed_while_it_copies(void **state _unused_)
{
	end_child();
	close_fork(false);
	assert_true(world_stopped());
	end_child();
	check_closed();
	assert_int_equal(fork_of->state, SESSION_CLOSED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(goes_on, setup, teardown),
		cmocka_unit_test_setup_teardown(closed_while_it_waits, setup, teardown),
		cmocka_unit_test_setup_teardown(deleted_while_it_waits, setup, teardown),
		cmocka_unit_test_setup_teardown(closed_while_it_copies, setup, teardown),
	};

	return RUN(tests, NULL, NULL);
}
