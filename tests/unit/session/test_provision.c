/* What is put into a workspace: the harness comes after it, a refusal leaves the session as it was, one at a time. */
#include "session_rig.h"

static struct rig r;

static struct request wanted(void)
{
	static char text[] = "be brief";

	return (struct request){ .instructions = text,
				 .instructions_overwrite = true,
				 .baseline = 0 };
}

static int teardown(void **state _unused_)
{
	rig_free(&r);
	assert_string_equal(r.fault, "");
	return 0;
}

struct answer {
	unsigned times;
	char reason[40];
};

static void on_done(void *ctx, struct slice result _unused_, const struct err *e)
{
	struct answer *a = ctx;

	a->times++;
	snprintf(a->reason, sizeof(a->reason), "%s", e ? e->reason : "");
}

static int provision(struct answer *a)
{
	struct request q = wanted();

	return session_provision(r.s, &q, "", on_done, a, &r.err);
}

static void before_the_harness(void **state _unused_)
{
	struct request q = wanted();

	rig_new(&r, DETACHED_CONTINUE, &q, NULL);
	assert_true(world_writing());
	assert_false(world_alive());
	world_written(NULL);
	assert_true(world_alive());
	rig_say(&r, "ready");
	assert_int_equal(r.opens[0].answers, 1);
	assert_string_equal(r.opens[0].reason, "");
}

static void first_fails(void **state _unused_)
{
	struct request q = wanted();

	rig_new(&r, DETACHED_CONTINUE, &q, NULL);
	world_written("ARCHIVE_BAD");
	rig_check(&r);
	assert_int_equal(r.opens[0].answers, 1);
	assert_string_equal(r.opens[0].reason, "ARCHIVE_BAD");
	assert_null(r.s);
	assert_false(world_alive());
}

static void closed_meanwhile(void **state _unused_)
{
	struct request q = wanted();

	rig_new(&r, DETACHED_CONTINUE, &q, NULL);
	rig_end(&r, true);
	assert_true(world_write_aborted());
	world_written("CANCELLED");
	rig_check(&r);
	assert_null(r.s);
	assert_int_equal(rig_waiting(&r), 0);
}

/* Into a running session: its harness is started anew, to read it. */
static void again(void **state _unused_)
{
	struct answer first = { 0 }, second = { 0 };

	rig_open_ready(&r);
	assert_int_equal(provision(&first), 0);
	assert_int_equal(provision(&second), -EBUSY);
	assert_string_equal(r.err.reason, "SESSION_BUSY");
	world_written(NULL);
	assert_int_equal(first.times, 1);
	assert_string_equal(first.reason, "");
	assert_true(world_stopped());
	world_exit(0);
	assert_int_equal(provision(&second), 0);
	world_written(NULL);
	assert_int_equal(second.times, 1);
}

static void prompt_waits_for_it(void **state _unused_)
{
	struct answer a = { 0 };

	rig_open_ready(&r);
	assert_int_equal(provision(&a), 0);
	rig_prompt(&r, NULL, false);
	assert_int_equal(r.prompts_seen, 0);
	world_written("NO_ROOM");
	assert_string_equal(a.reason, "NO_ROOM");
	assert_int_equal(r.prompts_seen, 1); /* in the harness that there was */
	assert_false(world_stopped());
}

static void refused(void **state _unused_)
{
	struct answer a = { 0 };

	rig_open_ready(&r);
	world_refuse_write(true);
	assert_int_equal(provision(&a), -EINVAL);
	assert_int_equal(a.times, 0);
	world_refuse_write(false);
	assert_int_equal(provision(&a), 0);
	world_written(NULL);
	assert_int_equal(a.times, 1);
}

static void not_into_a_closed_one(void **state _unused_)
{
	struct answer a = { 0 };

	rig_open_ready(&r);
	rig_end(&r, false);
	assert_int_equal(provision(&a), -ENOENT);
	assert_string_equal(r.err.reason, "SESSION_NOT_ACTIVE");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(before_the_harness, teardown),
		cmocka_unit_test_teardown(first_fails, teardown),
		cmocka_unit_test_teardown(closed_meanwhile, teardown),
		cmocka_unit_test_teardown(again, teardown),
		cmocka_unit_test_teardown(prompt_waits_for_it, teardown),
		cmocka_unit_test_teardown(refused, teardown),
		cmocka_unit_test_teardown(not_into_a_closed_one, teardown),
	};

	return RUN(tests, NULL, NULL);
}
