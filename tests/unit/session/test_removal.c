/* The queue of deleted sessions, on a machine where the helper cannot start. */
#include "unit.h"

#include "base/limits.h"
#include "session/store/removal.h"

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
	const struct CMUnitTest tests[] = { cmocka_unit_test(
		without_the_helper_every_entry_fails) };

	return RUN(tests, scratch_setup, scratch_done);
}
