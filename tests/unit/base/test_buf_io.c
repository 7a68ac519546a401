/* A buf and a socket: what is received is appended, what is sent goes from the front. */
#include "base/os/buf_io.h"
#include "unit.h"

#include <sys/socket.h>

static int ends[2];

static int open_pair(void **state)
{
	(void)state;
	return socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends);
}

static int close_pair(void **state)
{
	(void)state;
	closep(&ends[0]);
	closep(&ends[1]);
	return 0;
}

static void what_is_sent_is_received_in_pieces(void **state)
{
	_cleanup_(buf_done) struct buf out = { 0 }, in = { 0 };

	(void)state;
	buf_puts(&out, "one two");
	assert_int_equal(buf_send(&out, ends[0]), 0);
	assert_int_equal(buf_len(&out), 0);
	assert_int_equal(buf_receive(&in, ends[1], 3), 3);
	assert_int_equal(buf_receive(&in, ends[1], 100), 4);
	assert_true(slice_is(buf_slice(&in), "one two"));
	assert_int_equal(buf_receive(&in, ends[1], 100), -EAGAIN);
	closep(&ends[0]);
	assert_int_equal(buf_receive(&in, ends[1], 100), 0);
}

static void a_full_socket_keeps_the_rest(void **state)
{
	_cleanup_(buf_done) struct buf out = { .max = 16 * MIB };
	_cleanup_(buf_done) struct buf in = { .max = 16 * MIB };
	size_t n = 8 * MIB;
	int r;

	(void)state;
	assert_int_equal(buf_reserve(&out, n), 0);
	memset(out.data, 'x', n);
	out.len = n;
	assert_int_equal(buf_send(&out, ends[0]), -EAGAIN);
	while ((r = buf_send(&out, ends[0])) == -EAGAIN)
		while (buf_receive(&in, ends[1], 64 * KIB) > 0)
			;
	assert_int_equal(r, 0);
	while (buf_receive(&in, ends[1], 64 * KIB) > 0)
		;
	assert_int_equal(buf_len(&in), n);
}

static void a_closed_end_and_a_full_buf_are_errors(void **state)
{
	_cleanup_(buf_done) struct buf out = { 0 };
	_cleanup_(buf_done) struct buf in = { .max = 4 };

	(void)state;
	assert_int_equal(buf_receive(&in, ends[1], 5), -E2BIG);
	closep(&ends[1]);
	buf_puts(&out, "x");
	assert_int_equal(buf_send(&out, ends[0]), -EPIPE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_is_sent_is_received_in_pieces, open_pair,
						close_pair),
		cmocka_unit_test_setup_teardown(a_full_socket_keeps_the_rest, open_pair,
						close_pair),
		cmocka_unit_test_setup_teardown(a_closed_end_and_a_full_buf_are_errors, open_pair,
						close_pair),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
