/* Failures on their way up: what is set, cut off, flattened and never left over from the caller's stack. */
#include "unit.h"

static struct err poisoned(void)
{
	struct err e;

	memset(&e, 0xa5, sizeof(e));
	return e;
}

static void test_set(void **state _unused_)
{
	struct err e = poisoned();

	assert_int_equal(err_set(&e, -EPROTO, RPC_AUTH_REQUIRED, "SOME_REASON", "%s %d", "text", 7),
			 -EPROTO);
	assert_int_equal(e.rpc, RPC_AUTH_REQUIRED);
	assert_string_equal(e.reason, "SOME_REASON");
	assert_string_equal(e.msg, "text 7");
	assert_string_equal(e.field, "");
}

/* Most are local variables without an initializer: what is not set must not be what was on the stack. */
static void test_leaves_nothing_unset(void **state _unused_)
{
	struct err e = poisoned();

	err_set(&e, -EIO, 0, "R", "m");
	assert_string_equal(e.session, "");
	e = poisoned();
	err_field(&e, "f", "R", "m");
	assert_string_equal(e.session, "");
}

static void test_field(void **state _unused_)
{
	struct err e = poisoned();

	assert_int_equal(err_field(&e, "a.b[3]", "FIELD_INVALID", "%s is wrong", "it"), -EINVAL);
	assert_int_equal(e.rpc, RPC_INVALID_PARAMS);
	assert_string_equal(e.field, "a.b[3]");
	assert_string_equal(e.reason, "FIELD_INVALID");
	assert_string_equal(e.msg, "it is wrong");
	err_set(&e, -EIO, 0, "OTHER", "no field");
	assert_string_equal(e.field, "");
}

static void test_nobody_listens(void **state _unused_)
{
	assert_int_equal(err_set(NULL, -EIO, 0, "R", "%s", "x"), -EIO);
	assert_int_equal(err_field(NULL, "f", "R", "m"), -EINVAL);
	err_wrap(NULL, "x");
}

static void test_too_long_is_cut(void **state _unused_)
{
	struct err e = poisoned();
	char big[1000];

	memset(big, 'A', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	err_field(&e, big, big, "%s", big);
	assert_int_equal(strlen(e.field), sizeof(e.field) - 1);
	assert_int_equal(strlen(e.reason), sizeof(e.reason) - 1);
	assert_int_equal(strlen(e.msg), sizeof(e.msg) - 1);
}

/* A message is one line wherever it ends up. */
static void test_control_bytes_are_flattened(void **state _unused_)
{
	struct err e;

	err_set(&e, -EIO, 0, "R",
		"a\nb\r\tc\x7f"
		"d\x01");
	assert_string_equal(e.msg, "a b  c d ");
	err_wrap(&e, "x\ny");
	assert_string_equal(e.msg, "x y: a b  c d ");
}

static void test_wrap(void **state _unused_)
{
	char big[300];
	struct err e;

	err_field(&e, "f", "R", "deep");
	err_wrap(&e, "starting %s", "it");
	err_wrap(&e, "session %d", 3);
	assert_string_equal(e.msg, "session 3: starting it: deep");
	assert_string_equal(e.field, "f");
	assert_string_equal(e.reason, "R");

	memset(big, 'B', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	err_set(&e, -EIO, 0, "R", "the cause");
	err_wrap(&e, "%s", big);
	assert_non_null(strstr(e.msg, "BBB: the cause"));
	err_set(&e, -EIO, 0, "R", "%s", big);
	err_wrap(&e, "%s", big);
	assert_true(strlen(e.msg) < sizeof(e.msg));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_set),
		cmocka_unit_test(test_leaves_nothing_unset),
		cmocka_unit_test(test_field),
		cmocka_unit_test(test_nobody_listens),
		cmocka_unit_test(test_too_long_is_cut),
		cmocka_unit_test(test_control_bytes_are_flattened),
		cmocka_unit_test(test_wrap),
	};

	return RUN(tests, NULL, NULL);
}
