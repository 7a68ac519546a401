/*
 * Text that is not Unicode, repaired: what comes out is UTF-8 without halves of surrogate pairs, the same by both ways, and
 * valid JSON wherever that was all that was wrong. The scanner says so of exactly what is changed.
 */
#include "fuzz.h"

#include "base/format/utf8.h"
#include "json/jstr.h"

/* Of text that is JSON: nothing but halves can be wrong, and no span moves. */
static void check_json(struct slice text, struct slice repaired, size_t places)
{
	struct jval before, after;
	bool repair;

	FUZZ_CHECK(repaired.n == text.n && jscan_value(text, &before) == JSCAN_OK);
	FUZZ_CHECK(jscan_value(repaired, &after) == JSCAN_OK && after.type == before.type);
	FUZZ_CHECK(after.raw.n == before.raw.n);
	if (before.type == J_OBJECT) {
		FUZZ_CHECK(jscan_message(text, NULL, 0, &repair) == JSCAN_OK);
		FUZZ_CHECK(repair == (places > 0));
	}
	if (before.type == J_STRING) {
		_cleanup_(buf_done) struct buf was = { 0 }, is = { 0 };

		FUZZ_CHECK((jstr_decode_bytes(before, &was) == 0) == !places);
		FUZZ_CHECK(jstr_decode_bytes(after, &is) == 0 && utf8_valid(buf_slice(&is)));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice text = exact(data, size), copy = exact(data, size);
	_cleanup_(buf_done) struct buf out = { 0 }, again = { 0 };
	size_t places = jstr_repair(text, &out);
	size_t halves = jstr_repair_halves((char *)(uintptr_t)copy.p, copy.n);
	struct slice repaired = buf_slice(&out);

	FUZZ_CHECK(utf8_valid(repaired) && places >= halves);
	FUZZ_CHECK(jstr_repair(repaired, &again) == 0 && slice_eq(buf_slice(&again), repaired));
	if (utf8_valid(text))
		FUZZ_CHECK(places == halves && slice_eq(copy, repaired));
	if (is_json(text, J_NONE))
		check_json(text, repaired, places);
	exact_free(&text);
	exact_free(&copy);
	return 0;
}
