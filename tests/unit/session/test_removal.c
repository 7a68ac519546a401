/* The queue of deleted sessions, on a machine where the helper cannot start. */
#include "unit.h"

#include "base/limits.h"
#include "session/core/removal.h"

#include <sys/stat.h>

#define ENTRIES (2 * DISCARD_BATCH + 1)

static void on_idle(void *ctx _unused_)
{
}

static void on_foreign(void *ctx _unused_, const char *path _unused_)
{
}

static void on_gone(void *ctx _unused_, const char *name _unused_)
{
}

static void put_run(void)
{
	const char *made[] = { "runs", "runs/sess_1", "runs/sess_1/a" };

	for (size_t i = 0; i < ARRAY_SIZE(made); i++)
		assert_true(mkdir(scratch_path(made[i]), 0700) == 0 || errno == EEXIST);
}

/* A session that was imported has the id that it had: it can be deleted, imported and deleted before the first removal ends. */
static void an_id_is_removed_twice(void **state _unused_)
{
	struct loop *loop = loop_new();
	struct removal_spec spec = { .loop = loop,
				     .state_dir = scratch_dir(),
				     .idle = on_idle,
				     .foreign = on_foreign,
				     .gone = on_gone };
	struct err e = { 0 };
	struct removal_queue *r = removal_open(&spec, &e);

	assert_non_null(r);
	for (int i = 0; i < 2; i++) {
		put_run();
		assert_int_equal(removal_session(r, "sess_1", &e), 0);
		assert_int_equal(access(scratch_path("runs/sess_1"), F_OK), -1);
		assert_int_equal(access(scratch_path("removed/sess_1/run/a"), F_OK), 0);
	}
	removal_close(r);
	loop_free(loop);
}

/* Whoever waits for freed space must see that no removal is left to wait for. */
static void without_the_helper_every_entry_fails(void **state _unused_)
{
	struct loop *loop = loop_new();
	struct removal_spec spec = { .loop = loop,
				     .state_dir = scratch_dir(),
				     .idle = on_idle,
				     .foreign = on_foreign,
				     .gone = on_gone };
	struct removal_counts c;
	struct removal_queue *r;
	struct err e = { 0 };
	char name[40];

	setenv("ACPD_UNPACK", "/nonexistent/acpd-unpack", 1);
	assert_return_code(mkdir(scratch_path("removed"), 0700), errno);
	for (unsigned i = 0; i < ENTRIES; i++) {
		snprintf(name, sizeof(name), "removed/tree-%u", i);
		assert_return_code(mkdir(scratch_path(name), 0700), errno);
	}
	r = removal_open(&spec, &e);
	assert_non_null(r);
	for (unsigned i = 0; i < ENTRIES; i++)
		loop_run_deferred(loop);
	removal_count(r, &c);
	assert_int_equal(c.pending, ENTRIES);
	assert_int_equal(c.failed, ENTRIES);
	removal_close(r);
	loop_free(loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_the_helper_every_entry_fails),
		cmocka_unit_test(an_id_is_removed_twice),
	};

	return RUN(tests, scratch_setup, scratch_done);
}
