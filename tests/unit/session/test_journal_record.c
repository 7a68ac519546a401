/* Journal lines: written and read back, and no damage of one bit or one byte goes unseen. */
#include "unit.h"

#include "session/core/log/event_table.h"
#include "session/core/log/journal_record.h"
#include "base/format/crc32c.h"

static void put(struct buf *b, const char *kind, const char *value)
{
	struct journal_record r = {
		.seq = 12, .origin = 3, .time_ms = 1795248000123u, .value = slice_of(value)
	};

	buf_reset(b);
	assert_int_equal(journal_record_put(b, &r, kind), 0);
	assert_int_equal(b->data[b->len - 1], '\n');
	b->len--;
}

static void test_layout(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jslot s[] = { { .key = "n" }, { .key = "o" }, { .key = "k" },
			     { .key = "t" }, { .key = "m" }, { .key = "crc" } };

	put(&b, "agent_message_chunk", "{\"a\":[1,2]}");
	assert_int_equal(jscan_object(buf_slice(&b), s, ARRAY_SIZE(s)), JSCAN_OK);
	assert_text(s[0].v.raw, "12");
	assert_text(s[1].v.raw, "3");
	assert_text(s[2].v.raw, "\"agent_message_chunk\"");
	assert_text(s[3].v.raw, "1795248000123");
	assert_text(s[4].v.raw, "{\"a\":[1,2]}");
	assert_int_equal(s[5].v.raw.n, 10);
}

static void test_round_trip(void **state _unused_)
{
	static const char *const values[] = { "{}",
					      "null",
					      "{\"crc\":\"00000000\"}",
					      "{\"a\":\"\xc3\xa9\xe2\x80\xa8\"}",
					      "\",\\\"crc\\\":\\\"\"",
					      "[]" };
	static const struct journal_record ends[] = {
		{ .seq = 0, .origin = 0, .time_ms = 0 },
		{ .seq = 1, .origin = 0, .time_ms = 1 },
		{ .seq = 9999999999999999999u,
		  .origin = 9999999999999999999u,
		  .time_ms = 9999999999999999999u },
	};

	for (size_t i = 0; i < ARRAY_SIZE(values) * ARRAY_SIZE(ends); i++) {
		_cleanup_(buf_done) struct buf b = { 0 };
		struct journal_record r = ends[i / ARRAY_SIZE(values)], back;

		r.value = slice_of(values[i % ARRAY_SIZE(values)]);
		assert_int_equal(journal_record_put(&b, &r, "plan"), 0);
		assert_int_equal(journal_record_parse((struct slice){ b.data, b.len - 1 }, &back),
				 0);
		assert_true(back.seq == r.seq && back.origin == r.origin &&
			    back.time_ms == r.time_ms);
		assert_true(slice_eq(back.value, r.value));
		assert_text(back.kind_name, "plan");
		assert_int_equal(back.kind, UPDATE_PLAN);
	}
}

static void test_kinds(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct journal_record back;

	for (unsigned k = 0; k < EVENT_KIND_MAX; k++) {
		put(&b, event_kind_name(k), "{}");
		assert_int_equal(journal_record_parse(buf_slice(&b), &back), 0);
		assert_int_equal(back.kind, k);
	}
	put(&b, "session", "{}");
	assert_int_equal(journal_record_parse(buf_slice(&b), &back), 0);
	assert_int_equal(back.kind, EVENT_KIND_MAX);
	assert_text(back.kind_name, "session");
}

static bool parses(struct slice line)
{
	_cleanup_(slice_freep) struct slice copy = exact_copy(line);
	struct journal_record r;
	int e = journal_record_parse(copy, &r);

	assert_true(e == 0 || e == -EBADMSG);
	return e == 0;
}

static void flip_all(const char *value)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	put(&b, "plan", value);
	assert_true(parses(buf_slice(&b)));
	for (size_t bit = 0; bit < 8 * b.len; bit++) {
		b.data[bit / 8] ^= (char)(1 << bit % 8);
		if (parses(buf_slice(&b)))
			fail_msg("bit %zu of byte %zu: %.*s", bit % 8, bit / 8, (int)b.len, b.data);
		b.data[bit / 8] ^= (char)(1 << bit % 8);
	}
}

/* Also in the checksum itself: no digit may be written in two ways. */
static void test_every_flipped_bit(void **state _unused_)
{
	char value[32];

	for (int i = 0; i < 40; i++) { /* enough for checksums with leading zeros and all digits */
		snprintf(value, sizeof(value), "{\"i\":%d}", i);
		flip_all(value);
	}
}

static void test_every_cut(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	put(&b, "plan", "{\"a\":1}");
	for (size_t n = 0; n < b.len; n++) {
		assert_false(parses((struct slice){ b.data, n }));
		if (n)
			assert_false(parses((struct slice){ b.data + n, b.len - n }));
	}
	buf_putc(&b, '\r');
	assert_false(parses(buf_slice(&b)));
}

/* A right checksum over something else is no record either. */
static void test_foreign_lines(void **state _unused_)
{
	static const char *const heads[] = {
		"",
		"{",
		"{\"o\":0,\"n\":1,\"k\":\"x\",\"t\":1,\"m\":{}",
		"{\"n\":,\"o\":0,\"k\":\"x\",\"t\":1,\"m\":{}",
		"{\"n\":-1,\"o\":0,\"k\":\"x\",\"t\":1,\"m\":{}",
		"{\"n\":1,\"o\":0,\"k\":\"x\",\"t\":1",
		"{\"n\":123456789012345678901,\"o\":0,\"k\":\"x\",\"t\":1,\"m\":{}",
		"{\"n\":99999999999999999999,\"o\":0,\"k\":\"x\",\"t\":1,\"m\":{}",
		"{\"n\":1,\"o\":0,\"k\":\"x",
		"{ \"n\":1,\"o\":0,\"k\":\"x\",\"t\":1,\"m\":{}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		char line[200];

		snprintf(line, sizeof(line), "%s,\"crc\":\"%08x\"}", heads[i],
			 crc32c(0, heads[i], strlen(heads[i])));
		if (parses(slice_of(line)))
			fail_row(i, heads[i]);
	}
}

static void test_does_not_fit(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { .max = 100 };
	struct journal_record r = { .seq = 1, .value = SLICE("{}") };

	assert_int_equal(journal_record_put(&b, &r, "plan"), -E2BIG);
	assert_int_equal(buf_len(&b), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layout),	     cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_kinds),	     cmocka_unit_test(test_every_flipped_bit),
		cmocka_unit_test(test_every_cut),    cmocka_unit_test(test_foreign_lines),
		cmocka_unit_test(test_does_not_fit),
	};

	return RUN(tests, NULL, NULL);
}
