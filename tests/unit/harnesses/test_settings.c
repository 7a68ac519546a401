/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of a session towards a harness that leaves out what harness.h calls optional. */
#include "unit.h"

#include "session/core/session_internal.h"

#include <errno.h>

static const struct harness_ops plain_ops = { .name = "plain" };
static const struct harness_def plain = { .ops = &plain_ops };

static void never(void *ctx _unused_, struct slice result _unused_, const struct err *e _unused_)
{
	fail_msg("a call that was refused at once is not called back");
}

static void test_no_set_mode(void **state _unused_)
{
	char modes[] =
		"{\"currentModeId\":\"a\",\"availableModes\":[{\"id\":\"a\"},{\"id\":\"b\"}]}";
	struct session s = { .def = &plain,
			     .harness.state = H_READY,
			     .harness.modes = modes,
			     .harness.own_modes = true };
	struct err e = { 0 };

	assert_int_equal(session_set_mode(&s, "b", never, NULL, &e), -ENOSYS);
	assert_string_equal(e.reason, "MODES_UNSUPPORTED");
	assert_int_equal(session_set_mode(&s, "c", never, NULL, &e), -EINVAL);
	assert_string_equal(e.reason, "MODE_UNKNOWN");
}

static void test_no_steer(void **state _unused_)
{
	struct session s = { .def = &plain, .harness.state = H_READY, .harness.caps.steer = true };
	struct err e = { 0 };

	assert_int_equal(session_steer(&s, SLICE("[]"), 1, never, NULL, &e), -ENOSYS);
	assert_string_equal(e.reason, "STEERING_UNSUPPORTED");
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_no_set_mode),
					    cmocka_unit_test(test_no_steer) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
