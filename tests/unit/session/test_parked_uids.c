/* Records of groups that gave up their uid: written by one daemon, read by the next. */
#include "unit.h"

#include "base/limits.h"
#include "session/parts/users/parked_uids.h"

#define HOLDERS 20000

/* The holders of one uid can have trees of AGENT_UID_TREES_MAX each. */
static void a_group_of_any_size_is_read_again(void **state _unused_)
{
	struct err e = { 0 };
	struct parked_uids *p = parked_open(scratch_dir(), &e);
	struct parked_group *g = p ? parked_new(p) : NULL;
	char holder[80];

	assert_non_null(g);
	for (unsigned i = 0; i < HOLDERS; i++) {
		snprintf(holder, sizeof(holder), "%064u", i);
		parked_add_holder(g, holder);
	}
	assert_true(HOLDERS * 64 > AGENT_UID_TREES_MAX);
	assert_int_equal(parked_write(p, g, false, &e), 0);
	parked_close(p);
	p = parked_open(scratch_dir(), &e);
	assert_non_null(p);
	g = parked_find(p, holder);
	assert_non_null(g);
	assert_int_equal(g->nholders, HOLDERS);
	parked_close(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(a_group_of_any_size_is_read_again) };

	return RUN(tests, scratch_setup, scratch_done);
}
