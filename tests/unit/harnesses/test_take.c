/* SPDX-License-Identifier: Apache-2.0 */
/* Updates that are checked in the pass that finds them: the verdict is that of the two passes, for good and for bad ones. */
#include "unit.h"

#include "harnesses/harness.h"
#include "json/jstr.h"
#include "json/jwalk.h"

#define MUTATIONS 4000 /* of each update */

static const char *const updates[] = {
	"{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"a text of some length\"}}",
	"{ \"sessionUpdate\" : \"agent_thought_chunk\" , \"messageId\" : \"m\" , \"content\" : { \"text\" : \"\" , \"type\" : \"text\" } }",
	"{\"sessionUpdate\":\"user_message_chunk\",\"content\":{\"type\":\"resource\",\"resource\":{\"uri\":\"a\",\"blob\":\"\"}}}",
	"{\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"t\",\"title\":\"\\u00e9\",\"kind\":\"edit\",\"locations\":[{\"path\":\"/a\","
	"\"line\":1}],\"rawInput\":[1,{\"x\":null}],\"content\":[{\"type\":\"diff\",\"path\":\"/a\",\"newText\":\"\"}],\"_meta\":{}}",
	"{\"sessionUpdate\":\"tool_call_update\",\"status\":\"completed\",\"toolCallId\":\"t\",\"title\":null,\"content\":[]}",
	"{\"sessionUpdate\":\"plan\",\"entries\":[{\"content\":\"a\",\"priority\":\"high\",\"status\":\"pending\"}]}",
	"{\"sessionUpdate\":\"usage_update\",\"used\":12,\"size\":9007199254740991,\"cost\":{\"amount\":-1.5e3,\"currency\":\"EUR\"}}",
	"{\"sessionUpdate\":\"config_option_update\",\"configOptions\":[{\"type\":\"select\",\"id\":\"a\",\"name\":\"A\","
	"\"currentValue\":\"b\",\"options\":[{\"group\":\"g\",\"name\":\"G\",\"options\":[{\"value\":\"b\",\"name\":\"B\"}]}]}]}",
	"{\"sessionUpdate\":\"session_info_update\",\"title\":null,\"updatedAt\":\"2026-01-31T12:34:56Z\"}",
	"{\"sess\\u0069onUpdate\":\"plan\",\"entries\":[]}",
	"{\"entries\":[],\"sessionUpdate\":\"plan\"}",
	"{\"sessionUpdate\":\"plan\",\"entr\\u0069es\":[],\"entries\":[]}",
};

static bool begins_with_its_kind(struct jval update)
{
	struct slice key;
	struct jiter it;
	struct jval v;

	return jiter_init(&it, update) && jiter_next(&it, &key, &v) &&
	       slice_is(key, "sessionUpdate");
}

/* Whether it would be taken, found in two passes; then id and kind are set. */
static bool fits_in_two(struct slice text, struct harness_event *ev)
{
	_cleanup_(buf_done) struct buf mended = { 0 };
	struct jval v;

	if (jscan_value(text, &v) != JSCAN_OK || v.type != J_OBJECT || !begins_with_its_kind(v) ||
	    harness_event_kind(v.raw, ev) < 0)
		return false;
	return harness_update_check(ev->kind, v.raw, &mended, &ev->id) == CHECK_FITS;
}

/* True if it was taken. */
static bool compare(struct slice text)
{
	_cleanup_(slice_freep) struct slice copy = exact_copy(text);
	struct jwalk w = { .p = (const unsigned char *)copy.p,
			   .end = (const unsigned char *)copy.p + copy.n };
	struct harness_event one = { 0 }, two = { 0 };
	bool fits = fits_in_two(copy, &two), taken = harness_update_take(&w, &one);

	jwalk_space(&w);
	taken = taken &&
		w.p == w.end; /* what stands behind it is the business of the one that called it */
	if (taken != fits)
		fail_msg("%s in one pass only: %.*s", taken ? "fits" : "refused", (int)text.n,
			 text.p);
	if (!taken)
		return false;
	assert_true(one.fits && one.kind == two.kind && one.id.type == two.id.type);
	assert_ptr_equal(one.id.raw.p, two.id.raw.p);
	assert_int_equal(one.id.raw.n, two.id.raw.n);
	return true;
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* A byte changed, left out or doubled; mostly into one that JSON knows. */
static void mutate(struct buf *b, uint64_t *state)
{
	static const char bytes[] = "{}[]\",:\\ 0-1.etfnu\x01\xc3\xff";
	uint64_t r = next_random(state);
	size_t at = (r >> 8) % b->len;

	if (r & 1) {
		b->data[at] = bytes[(r >> 40) % (sizeof(bytes) - 1)];
	} else if (r & 2) {
		memmove(b->data + at, b->data + at + 1, b->len - at - 1);
		b->len--;
	} else {
		buf_putc(b, ' ');
		memmove(b->data + at + 1, b->data + at, b->len - at - 1);
	}
}

static void test_mutations(void **state _unused_)
{
	uint64_t random = 88172645463325252u;
	unsigned taken = 0;

	for (size_t i = 0; i < ARRAY_SIZE(updates); i++)
		for (unsigned n = 0; n < MUTATIONS; n++) {
			_cleanup_(buf_done) struct buf b = { 0 };

			buf_puts(&b, updates[i]);
			for (unsigned k = 0; k < n % 4; k++)
				mutate(&b, &random);
			taken += compare(buf_slice(&b));
		}
	assert_true(taken > MUTATIONS);
}

static void test_each_as_it_is(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(updates); i++)
		assert_int_equal(compare(slice_of(updates[i])), i < ARRAY_SIZE(updates) - 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_each_as_it_is),
					    cmocka_unit_test(test_mutations) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
