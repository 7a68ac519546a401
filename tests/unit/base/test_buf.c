/* The byte buffer: contents, the hard maximum, space that is used again. */
#include "unit.h"

#include "base/limits.h"

static void test_zero_is_valid(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	assert_int_equal(buf_len(&b), 0);
	assert_int_equal(buf_add(&b, NULL, 0), 0);
	assert_int_equal(buf_puts(&b, "ab"), 0);
	assert_int_equal(buf_putc(&b, 'c'), 0);
	assert_int_equal(buf_add_slice(&b, SLICE("de")), 0);
	assert_int_equal(buf_printf(&b, "%d-%s", 42, "x"), 0);
	assert_buf(&b, "abcde42-x");
}

static void test_consume(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	buf_puts(&b, "hello");
	buf_consume(&b, 2);
	assert_buf(&b, "llo");
	buf_puts(&b, "!");
	assert_buf(&b, "llo!");
	buf_consume(&b, 100);
	assert_int_equal(buf_len(&b), 0);
	assert_int_equal(b.pos, 0);
	assert_int_equal(b.len, 0);
}

static void test_maximum_is_hard(void **state _unused_)
{
	static const size_t maxima[] = { 1, 255, 256, 257, 1000, 4096, 5000 };

	for (size_t i = 0; i < ARRAY_SIZE(maxima); i++) {
		_cleanup_(buf_done) struct buf b = { .max = maxima[i] };

		for (size_t n = 0; n < maxima[i]; n++)
			assert_int_equal(buf_putc(&b, 'x'), 0);
		assert_int_equal(buf_putc(&b, 'y'), -E2BIG);
		assert_true(b.failed);
		assert_int_equal(buf_len(&b), maxima[i]);
		assert_int_equal(b.data[b.len - 1], 'x');
	}
}

static void test_too_much_at_once(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { .max = 100 };

	buf_puts(&b, "abc");
	assert_int_equal(buf_reserve(&b, 98), -E2BIG);
	assert_true(b.failed);
	buf_reset(&b);
	assert_false(b.failed);
	assert_int_equal(buf_reserve(&b, SIZE_MAX), -E2BIG);
	assert_int_equal(buf_reserve(&b, SIZE_MAX / 2 + 1), -E2BIG);
	buf_reset(&b);
	assert_int_equal(buf_puts(&b, "xyz"), 0);
	assert_buf(&b, "xyz");
}

static void test_default_maximum(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	assert_int_equal(buf_reserve(&b, BUF_MAX_DEFAULT + 1), -E2BIG);
}

static void test_failure_keeps_contents(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { .max = 4 };

	buf_puts(&b, "abc");
	assert_int_equal(buf_puts(&b, "defg"), -E2BIG);
	assert_buf(&b, "abc");
	/* an encoder goes on appending and looks once, at the end */
	buf_putc(&b, 'd');
	assert_true(b.failed);
}

/* A queue that never runs quite empty must not grow without end. */
static void test_space_is_used_again(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	char chunk[100];
	unsigned char next = 0, want = 0;

	buf_putc(&b, (char)next++);
	for (int round = 0; round < 5000; round++) {
		for (size_t i = 0; i < sizeof(chunk); i++)
			chunk[i] = (char)next++;
		assert_int_equal(buf_add(&b, chunk, sizeof(chunk)), 0);
		for (size_t i = 0; i < sizeof(chunk); i++)
			assert_int_equal((unsigned char)b.data[b.pos + i], want++);
		buf_consume(&b, sizeof(chunk));
		assert_int_equal(buf_len(&b), 1);
	}
	assert_true(b.cap <= 1024);
}

static void test_trim(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { .max = 1 << 20 };

	buf_reserve(&b, 100000);
	buf_putc(&b, 'x');
	buf_trim(&b, 1000);
	assert_true(b.cap >= 100000);
	buf_consume(&b, 1);
	buf_trim(&b, 1 << 20);
	assert_true(b.cap >= 100000);
	buf_trim(&b, 1000);
	assert_int_equal(b.cap, 0);
	assert_int_equal(b.max, 1 << 20);
	assert_int_equal(buf_puts(&b, "again"), 0);
	assert_buf(&b, "again");
}

static void test_printf_long(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	buf_printf(&b, "%0500d|", 7);
	assert_int_equal(buf_len(&b), 501);
	buf_printf(&b, "%s", "");
	assert_int_equal(buf_len(&b), 501);
	assert_int_equal(b.data[500], '|');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_zero_is_valid),
		cmocka_unit_test(test_consume),
		cmocka_unit_test(test_maximum_is_hard),
		cmocka_unit_test(test_too_much_at_once),
		cmocka_unit_test(test_default_maximum),
		cmocka_unit_test(test_failure_keeps_contents),
		cmocka_unit_test(test_space_is_used_again),
		cmocka_unit_test(test_trim),
		cmocka_unit_test(test_printf_long),
	};

	return RUN(tests, NULL, NULL);
}
