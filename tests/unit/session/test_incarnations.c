/* The incarnations of a journal: whose numbers hold how far, and what is read back of them, whatever is there. */
#include "session/core/log/incarnations.h"

#include "base/limits.h"
#include "unit.h"

#include <stdio.h>

#define NEXT 100

static void begin_all(struct incarnations *l)
{
	incarnations_begin(l, "a", 1);
	incarnations_begin(l, "b", 11);
	incarnations_begin(l, "c", 11);
	incarnations_begin(l, "d", 30);
}

static void test_how_far_a_number_holds(void **state _unused_)
{
	_cleanup_(incarnations_done) struct incarnations l = { 0 };

	assert_int_equal(incarnations_end(&l, "a", NEXT), 0);
	assert_null(incarnations_at(&l, 1));
	begin_all(&l);
	assert_int_equal(incarnations_end(&l, "a", NEXT), 11);
	assert_int_equal(incarnations_end(&l, "b", NEXT), 11);
	assert_int_equal(incarnations_end(&l, "c", NEXT), 30);
	assert_int_equal(incarnations_end(&l, "d", NEXT), NEXT);
	assert_int_equal(incarnations_end(&l, "e", NEXT), 0);
	assert_int_equal(incarnations_end(&l, "", NEXT), 0);
	assert_true(incarnations_now(&l, "d"));
	assert_false(incarnations_now(&l, "c"));
	assert_string_equal(incarnations_at(&l, 10), "a");
	assert_string_equal(incarnations_at(&l, 11), "c");
	assert_string_equal(incarnations_at(&l, NEXT), "d");
}

/* Events that nobody has seen are taken back: the one that numbers them anew begins where they began. */
static void test_begins_earlier(void **state _unused_)
{
	_cleanup_(incarnations_done) struct incarnations l = { 0 };

	incarnations_begin(&l, "a", 1);
	incarnations_begin(&l, "b", 13);
	incarnations_begin(&l, "b", 11);
	incarnations_begin(&l, "b", 20);
	assert_int_equal(l.n, 2);
	assert_int_equal(incarnations_end(&l, "a", NEXT), 11);
}

/* What damage may have taken ends those before it, and is nobody's. */
static void test_damage(void **state _unused_)
{
	_cleanup_(incarnations_done) struct incarnations l = { 0 };

	incarnations_begin(&l, "a", 1);
	incarnations_begin(&l, "", 8);
	incarnations_begin(&l, "", 9);
	assert_int_equal(incarnations_end(&l, "a", NEXT), 8);
	assert_string_equal(incarnations_at(&l, 7), "a");
	assert_null(incarnations_at(&l, 8));
	assert_false(incarnations_now(&l, "a"));
	incarnations_begin(&l, "a", 20); /* the same name again is no excuse */
	assert_int_equal(incarnations_end(&l, "a", NEXT), 8);
}

static void test_oldest_are_forgotten(void **state _unused_)
{
	_cleanup_(incarnations_done) struct incarnations l = { 0 };
	char id[16];

	for (unsigned i = 1; i <= 3 * INCARNATIONS_MAX; i++) {
		snprintf(id, sizeof(id), "i%u", i);
		incarnations_begin(&l, id, i);
		assert_true(l.n <= INCARNATIONS_MAX);
	}
	assert_int_equal(incarnations_end(&l, "i1", 2 * NEXT), 0);
	snprintf(id, sizeof(id), "i%u", 2u * INCARNATIONS_MAX);
	assert_int_equal(incarnations_end(&l, id, 2 * NEXT), 0);
	snprintf(id, sizeof(id), "i%u", 2u * INCARNATIONS_MAX + 1);
	assert_int_equal(incarnations_end(&l, id, 2 * NEXT), 2 * INCARNATIONS_MAX + 2);
}

static struct jval array_of(struct slice object)
{
	return jobj_get(object, "l");
}

static void put_all(const struct incarnations *l, struct buf *b)
{
	struct jw w = JW(b);

	jw_obj(&w, NULL);
	incarnations_put(l, &w, "l");
	jw_end_obj(&w);
}

static void test_written_and_read(void **state _unused_)
{
	_cleanup_(incarnations_done) struct incarnations l = { 0 }, back = { 0 };
	_cleanup_(buf_done) struct buf b = { 0 }, again = { 0 };

	put_all(&l, &b);
	assert_buf(&b, "{}");
	buf_reset(&b);
	begin_all(&l);
	incarnations_begin(&l, "", 40);
	put_all(&l, &b);
	incarnations_begin(&back, "other", 3);
	incarnations_load(&back, array_of(buf_slice(&b)));
	put_all(&back, &again);
	assert_int_equal(buf_len(&again), buf_len(&b));
	assert_memory_equal(again.data, b.data, b.len);
	incarnations_load(&back,
			  array_of(SLICE("{\"l\":7}"))); /* is no list: what is known stays */
	assert_int_equal(back.n, 5);
}

/* Whatever a record says, it is never taken for more than the journal shows. */
static void test_records_that_are_none(void **state _unused_)
{
	static const char *const none[] = { "{}",
					    "7",
					    "null",
					    "[]",
					    "{\"id\":\"b\"}",
					    "{\"from\":3}",
					    "{\"id\":7,\"from\":3}",
					    "{\"id\":\"b\",\"from\":0}",
					    "{\"id\":\"b\",\"from\":-3}",
					    "{\"id\":\"b\",\"from\":\"3\"}",
					    "{\"id\":\"b\",\"from\":99999999999999999999}",
					    "{\"id\":\"b\\u0000\",\"from\":3}" };

	for (size_t i = 0; i < ARRAY_SIZE(none); i++) {
		_cleanup_(incarnations_done) struct incarnations l = { 0 };

		incarnations_begin(&l, "a", 1);
		incarnations_load_one(&l, slice_of(none[i]), 5);
		if (incarnations_end(&l, "a", NEXT) != 5 || incarnations_end(&l, "b", NEXT))
			fail_row(i, none[i]);
	}
}

static void test_a_record_that_promises_too_much(void **state _unused_)
{
	_cleanup_(incarnations_done) struct incarnations l = { 0 };

	incarnations_begin(&l, "a", 1);
	incarnations_load_one(&l, SLICE("{\"id\":\"b\",\"from\":50}"), 5);
	assert_int_equal(incarnations_end(&l, "a", NEXT), 5);
	assert_int_equal(incarnations_end(&l, "b", NEXT), NEXT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_how_far_a_number_holds),
		cmocka_unit_test(test_begins_earlier),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_oldest_are_forgotten),
		cmocka_unit_test(test_written_and_read),
		cmocka_unit_test(test_records_that_are_none),
		cmocka_unit_test(test_a_record_that_promises_too_much),
	};

	return RUN(tests, NULL, NULL);
}
