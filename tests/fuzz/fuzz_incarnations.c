/* Records of incarnations, whatever stands in them: the list is bounded, a number holds no further than the first event of the next one, and what is
 * written reads the same. Each line is a record, or with a "*" before it an object whose member "l" is a whole list. */
#include "fuzz.h"

#include "base/limits.h"
#include "session/core/log/incarnations.h"
#include "usage/ledger/ledger.h"

static void check(const struct incarnations *l, uint64_t next)
{
	FUZZ_CHECK(l->n <= INCARNATIONS_MAX);
	for (size_t i = 0; i < l->n; i++) {
		uint64_t end = incarnations_end(l, l->list[i].id, next);

		FUZZ_CHECK(strlen(l->list[i].id) <= INCARNATION_MAX && l->list[i].from);
		FUZZ_CHECK(*l->list[i].id ? end <= next : end == 0);
		if (i + 1 < l->n)
			FUZZ_CHECK(end <= l->list[i + 1].from);
	}
}

static void take(struct incarnations *l, struct slice line, uint64_t next)
{
	if (line.n && line.p[0] == '*')
		incarnations_load(l, jobj_get(slice_after(line, 1), "l"));
	else
		incarnations_load_one(l, line, next);
	check(l, UINT64_MAX);
}

static void put(const struct incarnations *l, struct buf *b)
{
	struct jw w = JW(b);

	jw_obj(&w, NULL);
	incarnations_put(l, &w, "l");
	jw_end_obj(&w);
}

static void check_again(const struct incarnations *l)
{
	_cleanup_(buf_done) struct buf a = { 0 }, b = { 0 };
	_cleanup_(incarnations_done) struct incarnations back = { 0 };

	put(l, &a);
	incarnations_load(&back, jobj_get(buf_slice(&a), "l"));
	put(&back, &b);
	FUZZ_CHECK(slice_eq(buf_slice(&a), buf_slice(&b)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(exact_free) struct slice text = exact(data, size);
	_cleanup_(incarnations_done) struct incarnations l = { 0 };
	const char *p = text.p, *end = text.p + text.n, *nl;
	uint64_t next = 1;

	for (; p < end && (nl = memchr(p, '\n', (size_t)(end - p))); p = nl + 1, next += 3)
		take(&l, (struct slice){ p, (size_t)(nl - p) }, next);
	check_again(&l);
	return 0;
}
