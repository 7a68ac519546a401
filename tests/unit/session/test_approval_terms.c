/* What a session's client has said about its questions, as a journal keeps it; what is unknown there allows nothing. */
#include "unit.h"

#include "session/parts/approval/approval_terms.h"

static const struct {
	const char *record;
	struct approval_terms want;
	const char *written;
} rows[] = {
	{ "", { 0, ANSWER_REJECT }, "" },
	{ "{}", { 0, ANSWER_REJECT }, "" },
	{ "{\"default\":\"reject\"}", { 0, ANSWER_REJECT }, "" },
	{ "{\"timeoutMs\":5,\"default\":\"allow\"}",
	  { 5, ANSWER_ALLOW },
	  "{\"approvals\":{\"timeoutMs\":5,\"default\":\"allow\"}}" },
	{ "{\"default\":\"cancel\"}",
	  { 0, ANSWER_CANCEL },
	  "{\"approvals\":{\"default\":\"cancel\"}}" },
	{ "{\"timeoutMs\":7,\"default\":\"of a later daemon\"}",
	  { 7, ANSWER_REJECT },
	  "{\"approvals\":{\"timeoutMs\":7,\"default\":\"reject\"}}" },
	{ "{\"timeoutMs\":-1,\"default\":8}", { 0, ANSWER_REJECT }, "" },
	{ "{\"timeoutMs\":9000000000000000000}",
	  { 2592000000, ANSWER_REJECT },
	  "{\"approvals\":{\"timeoutMs\":2592000000,\"default\":\"reject\"}}" },
};

static void record(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(buf_done) struct buf b = { 0 };
		struct approval_terms t = { 1, ANSWER_ALLOW };
		struct jw w = JW(&b);

		approval_terms_load(slice_of(rows[i].record), &t);
		assert_int_equal(t.timeout_ms, rows[i].want.timeout_ms);
		assert_int_equal(t.fallback, rows[i].want.fallback);
		jw_obj(&w, NULL);
		approval_terms_put(&t, &w, "approvals");
		jw_end_obj(&w);
		assert_true(slice_is(buf_slice(&b), *rows[i].written ? rows[i].written : "{}"));
	}
}

static void replaced(void **state _unused_)
{
	struct approval_terms t = { 5, ANSWER_ALLOW }, none = { 0 };

	assert_false(approval_terms_replace(&t, NULL));
	assert_false(approval_terms_replace(&t, &(struct approval_terms){ 5, ANSWER_ALLOW }));
	assert_int_equal(t.timeout_ms, 5);
	assert_true(approval_terms_replace(&t, &none));
	assert_int_equal(t.timeout_ms, 0);
	assert_int_equal(t.fallback, ANSWER_REJECT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(record),
		cmocka_unit_test(replaced),
	};

	return RUN(tests, NULL, NULL);
}
