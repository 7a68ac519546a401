/* The table of our own open requests: each is answered once, by its own id, or told that the peer is gone. */
#include "unit.h"

#include "rpc/rpc.h"

struct seen {
	unsigned replies, gone;
	uint64_t last_tag;
	struct slice last_result;
};

static struct rpc_calls calls;
static struct seen seen;

static int setup(void **state _unused_)
{
	rpc_calls_init(&calls);
	memset(&seen, 0, sizeof(seen));
	return 0;
}

static int teardown(void **state _unused_)
{
	rpc_calls_done(&calls);
	return 0;
}

static void on_reply(void *ctx, uint64_t tag, const struct rpc_msg *reply)
{
	struct seen *s = ctx;

	s->last_tag = tag;
	if (!reply) {
		s->gone++;
		return;
	}
	s->replies++;
	s->last_result = reply->result;
}

static bool reply(const char *id)
{
	struct rpc_msg msg = { .kind = RPC_RESPONSE,
			       .id = slice_of(id),
			       .result = SLICE("{\"r\":1}") };

	return rpc_calls_reply(&calls, &msg);
}

static bool reply_number(uint32_t id)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", id);
	return reply(text);
}

static void test_answered_once(void **state _unused_)
{
	uint32_t id = rpc_calls_add(&calls, on_reply, &seen, 77);

	assert_true(id > 0);
	assert_true(reply_number(id));
	assert_int_equal(seen.replies, 1);
	assert_int_equal(seen.last_tag, 77);
	assert_text(seen.last_result, "{\"r\":1}");
	assert_false(reply_number(id));
	assert_int_equal(seen.replies, 1);
	assert_int_equal(calls.count, 0);
}

static void test_strangers(void **state _unused_)
{
	static const char *const ids[] = { "2",
					   "0",
					   "-1",
					   "1.0",
					   "1e0",
					   "\"1\"",
					   "null",
					   "4294967297",
					   "18446744073709551617",
					   "99999999999999999999999999",
					   "" };

	assert_int_equal(rpc_calls_add(&calls, on_reply, &seen, 0), 1);
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
		if (reply(ids[i]))
			fail_row(i, ids[i]);
	assert_int_equal(seen.replies, 0);
	assert_true(reply("1"));
}

static void test_out_of_order(void **state _unused_)
{
	uint32_t ids[50];

	for (unsigned i = 0; i < 50; i++)
		ids[i] = rpc_calls_add(&calls, on_reply, &seen, i);
	for (unsigned i = 50; i-- > 0;) {
		assert_true(reply_number(ids[i]));
		assert_int_equal(seen.last_tag, i);
	}
	assert_int_equal(seen.replies, 50);
}

static void test_full(void **state _unused_)
{
	uint32_t first = rpc_calls_add(&calls, on_reply, &seen, 0);

	for (unsigned i = 1; i < RPC_PENDING_MAX; i++)
		assert_int_not_equal(rpc_calls_add(&calls, on_reply, &seen, i), 0);
	assert_int_equal(rpc_calls_add(&calls, on_reply, &seen, 9), 0);
	assert_true(reply_number(first));
	assert_int_not_equal(rpc_calls_add(&calls, on_reply, &seen, 9), 0);
}

/* Ids stay below 2^31, and one that is open is not given out again. */
static void test_ids_wrap(void **state _unused_)
{
	uint32_t one = rpc_calls_add(&calls, on_reply, &seen, 1), id;

	assert_int_equal(one, 1);
	calls.last_id = INT32_MAX - 3;
	assert_int_equal(rpc_calls_add(&calls, on_reply, &seen, 2), INT32_MAX - 2);
	assert_int_equal(rpc_calls_add(&calls, on_reply, &seen, 3), INT32_MAX - 1);
	id = rpc_calls_add(&calls, on_reply, &seen, 4);
	assert_int_equal(id, 2);
	assert_true(reply("1"));
	assert_int_equal(seen.last_tag, 1);
}

static void test_done_tells_everybody(void **state _unused_)
{
	for (unsigned i = 0; i < 5; i++)
		rpc_calls_add(&calls, on_reply, &seen, i);
	rpc_calls_done(&calls);
	assert_int_equal(seen.gone, 5);
	assert_int_equal(calls.count, 0);
	rpc_calls_done(&calls);
	assert_int_equal(seen.gone, 5);
}

static void test_drop(void **state _unused_)
{
	struct seen other = { 0 };
	uint32_t a = rpc_calls_add(&calls, on_reply, &seen, 1);
	uint32_t b = rpc_calls_add(&calls, on_reply, &other, 2);
	uint32_t c = rpc_calls_add(&calls, on_reply, &other, 3);

	assert_int_equal(rpc_calls_find(&calls, &other, 3), c);
	assert_int_equal(rpc_calls_find(&calls, &other, 1), 0);
	assert_int_equal(rpc_calls_find(&calls, &seen, 1), a);
	rpc_calls_drop(&calls, b);
	rpc_calls_drop(&calls, b);
	assert_false(reply_number(b));
	rpc_calls_drop_ctx(&calls, &other);
	assert_false(reply_number(c));
	assert_int_equal(calls.count, 1);
	assert_true(reply_number(a));
	assert_int_equal(other.replies + other.gone, 0);
}

/* A call is no longer open when its callback runs. */
static void on_reply_again(void *ctx, uint64_t tag, const struct rpc_msg *msg)
{
	on_reply(ctx, tag, msg);
	assert_int_equal(rpc_calls_find(&calls, ctx, tag), 0);
	if (msg)
		assert_false(rpc_calls_reply(&calls, msg));
}

static void test_closed_before_callback(void **state _unused_)
{
	assert_true(reply_number(rpc_calls_add(&calls, on_reply_again, &seen, 5)));
	assert_int_equal(seen.replies, 1);
	rpc_calls_add(&calls, on_reply_again, &seen, 6);
	rpc_calls_done(&calls);
	assert_int_equal(seen.gone, 1);
}

/* The callback may open the next call, and drop others. */
static void on_reply_chain(void *ctx, uint64_t tag, const struct rpc_msg *msg)
{
	if (!msg)
		return;
	on_reply(ctx, tag, msg);
	rpc_calls_drop_ctx(&calls, &calls);
	assert_int_not_equal(rpc_calls_add(&calls, on_reply, ctx, tag + 1), 0);
}

static void test_call_from_callback(void **state _unused_)
{
	uint32_t id = rpc_calls_add(&calls, on_reply_chain, &seen, 10);

	rpc_calls_add(&calls, on_reply, &calls, 0);
	assert_true(reply_number(id));
	assert_int_equal(calls.count, 1);
	assert_int_equal(rpc_calls_find(&calls, &seen, 11), id + 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_answered_once, setup, teardown),
		cmocka_unit_test_setup_teardown(test_strangers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_out_of_order, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ids_wrap, setup, teardown),
		cmocka_unit_test_setup_teardown(test_done_tells_everybody, setup, teardown),
		cmocka_unit_test_setup_teardown(test_drop, setup, teardown),
		cmocka_unit_test_setup_teardown(test_closed_before_callback, setup, teardown),
		cmocka_unit_test_setup_teardown(test_call_from_callback, setup, teardown),
	};

	return RUN(tests, NULL, NULL);
}
