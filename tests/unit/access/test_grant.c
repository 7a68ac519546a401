/* Scopes and grants: which scope meets which need, sessions that narrow, and that who keeps a grant is cut once. */
#include "unit.h"

#include "access/grant.h"

static struct err e;

static void test_needs(void **state _unused_)
{
	/* by GRANT_*: admin drive observe usage model tools */
	static const struct {
		enum grant_need need;
		const char *met, *word;
	} rows[] = {
		{ NEED_UNSAID, "000000", NULL },       { NEED_OPEN, "111111", NULL },
		{ NEED_ANY, "111111", NULL },	       { NEED_ACP, "111010", "observe" },
		{ NEED_ADMIN, "100000", "admin" },     { NEED_DRIVE, "110000", "drive" },
		{ NEED_OBSERVE, "111000", "observe" }, { NEED_USAGE, "111100", "usage" },
		{ NEED_MODEL, "110010", "model" },     { NEED_TOOLS, "110001", "tools" },
	};

	assert_int_equal(ARRAY_SIZE(rows), NEED_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *word = need_word(rows[i].need);

		for (int s = 0; s < GRANT_MAX; s++)
			if (need_met(rows[i].need, (enum grant_scope)s) != (rows[i].met[s] == '1'))
				fail_row(i, grant_scope_word((enum grant_scope)s));
		if ((word == NULL) != (rows[i].word == NULL) ||
		    (word && strcmp(word, rows[i].word) != 0))
			fail_row(i, rows[i].word ? rows[i].word : "no word");
	}
}

static void test_words(void **state _unused_)
{
	for (int s = 0; s < GRANT_MAX; s++)
		assert_int_equal(grant_scope_find(grant_scope_word((enum grant_scope)s)), s);
	assert_int_equal(grant_scope_find("Admin"), -1);
	assert_int_equal(grant_scope_find(""), -1);
}

static void test_sessions(void **state _unused_)
{
	char *ids[] = { "one", "two" };
	struct grant *some = grant_new(GRANT_DRIVE, "tok_1", ids, 2);
	struct grant *all = grant_new(GRANT_DRIVE, "tok_2", NULL, 0);

	assert_true(grant_limited(some));
	assert_true(grant_sees(some, "two"));
	assert_false(grant_sees(some, "three"));
	assert_false(grant_limited(all));
	assert_true(grant_sees(all, "three"));
	assert_int_equal(grant_check(some, NEED_DRIVE, SESSIONS_NAMED, &e), 0);
	assert_int_equal(grant_check(some, NEED_DRIVE, SESSIONS_ALL, &e), -EACCES);
	assert_string_equal(e.reason, "SCOPE_REQUIRED");
	assert_string_equal(e.scope, "drive");
	assert_int_equal(grant_check(all, NEED_DRIVE, SESSIONS_ALL, &e), 0);
	assert_int_equal(grant_check(all, NEED_ADMIN, SESSIONS_NONE, &e), -EACCES);
	assert_string_equal(e.scope, "admin");
	assert_int_equal(grant_check(&grant_admin, NEED_UNSAID, SESSIONS_NONE, &e), -EACCES);
	assert_int_equal(grant_check(&grant_admin, NEED_ADMIN, SESSIONS_ALL, &e), 0);
	grant_unref(some);
	grant_unref(all);
}

struct keeper {
	struct grant_hold hold;
	struct keeper *other;
	int cuts;
};

static void on_cut(void *ctx, const char *why)
{
	struct keeper *k = ctx;

	assert_string_equal(why, "revoked");
	k->cuts++;
	grant_let_go(&k->hold);
	if (k->other)
		grant_let_go(&k->other->hold);
}

/* The last who lets go frees it; one that let go while another was cut is not told. */
static void test_cut(void **state _unused_)
{
	struct keeper a = { .other = NULL }, b = { .other = NULL }, c = { .other = NULL };
	struct grant *g = grant_new(GRANT_OBSERVE, "tok_1", NULL, 0);

	a.other = &b;
	grant_keep(&a.hold, g, on_cut, &a);
	grant_keep(&b.hold, g, on_cut, &b);
	grant_keep(&c.hold, g, on_cut, &c);
	grant_keep(&c.hold, g, on_cut, &c);
	assert_int_equal(grant_check(g, NEED_OBSERVE, SESSIONS_ALL, &e), 0);
	grant_end(g);
	assert_int_equal(grant_check(g, NEED_OBSERVE, SESSIONS_ALL, &e), -EACCES);
	assert_string_equal(e.reason, "TOKEN_OVER");
	grant_cut(g, "revoked");
	assert_int_equal(a.cuts, 1);
	assert_int_equal(b.cuts, 0);
	assert_int_equal(c.cuts, 1);
	grant_unref(g);
	grant_keep(&a.hold, &grant_admin, on_cut, &a);
	grant_let_go(&a.hold);
	grant_let_go(&a.hold);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_needs),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_sessions),
		cmocka_unit_test(test_cut),
	};

	return RUN(tests, NULL, NULL);
}
