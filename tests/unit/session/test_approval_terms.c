/* What a session's client has said about its questions, as a journal keeps it; what is unknown there allows nothing. */
#include "unit.h"

#include "session/core/harness/setup.h"
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
	  "\"approvals\":{\"timeoutMs\":5,\"default\":\"allow\"}" },
	{ "{\"default\":\"cancel\"}",
	  { 0, ANSWER_CANCEL },
	  "\"approvals\":{\"default\":\"cancel\"}" },
	{ "{\"timeoutMs\":7,\"default\":\"of a later daemon\"}",
	  { 7, ANSWER_REJECT },
	  "\"approvals\":{\"timeoutMs\":7,\"default\":\"reject\"}" },
	{ "{\"timeoutMs\":-1,\"default\":8}", { 0, ANSWER_REJECT }, "" },
	{ "{\"timeoutMs\":9000000000000000000}",
	  { 2592000000, ANSWER_REJECT },
	  "\"approvals\":{\"timeoutMs\":2592000000,\"default\":\"reject\"}" },
};

static void give(struct setup *s, const char *terms)
{
	setup_change(s, &approvals_parameter, (struct jval){ J_OBJECT, slice_of(terms) });
}

static void record(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(buf_done) struct buf b = { 0 }, had = { 0 };
		struct setup s = { 0 };
		struct jw w = JW(&b);

		give(&s, "{\"timeoutMs\":1,\"default\":\"allow\"}");
		if (*rows[i].record)
			buf_printf(&had, "{\"approvals\":%s}", rows[i].record);
		else
			buf_puts(&had, "{}");
		setup_load(&s, buf_slice(&had));
		assert_int_equal(approval_terms_of(&s)->timeout_ms, rows[i].want.timeout_ms);
		assert_int_equal(approval_terms_of(&s)->fallback, rows[i].want.fallback);
		jw_obj(&w, NULL);
		setup_put(&s, &w);
		jw_end_obj(&w);
		buf_putc(&b, '\0');
		if (*rows[i].written)
			assert_non_null(strstr(b.data, rows[i].written));
		else
			assert_null(strstr(b.data, "approvals"));
		setup_done(&s);
	}
}

static void replaced(void **state _unused_)
{
	static const char terms[] = "{\"timeoutMs\":5,\"default\":\"allow\"}";
	struct setup s = { 0 };

	give(&s, terms);
	assert_int_equal(setup_apply(&s, &(struct setup_params){ 0 }), 0);
	assert_int_equal(setup_change(&s, &approvals_parameter,
				      (struct jval){ J_OBJECT, slice_of(terms) }),
			 0);
	assert_int_equal(approval_terms_of(&s)->timeout_ms, 5);
	assert_int_equal(setup_change(&s, &approvals_parameter,
				      (struct jval){ J_OBJECT, SLICE("{}") }),
			 SETUP_CHANGED);
	assert_int_equal(approval_terms_of(&s)->timeout_ms, 0);
	assert_int_equal(approval_terms_of(&s)->fallback, ANSWER_REJECT);
	setup_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(record),
		cmocka_unit_test(replaced),
	};

	return RUN(tests, NULL, NULL);
}
