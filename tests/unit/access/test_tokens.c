/* Minted tokens on disk and in time: what is written is read again, every change of a byte is seen, and what a time may look like. */
#include "unit.h"

#include "access/token_file.h"
#include "access/tokens.h"
#include "base/clock.h"
#include "base/os/file.h"

#include <unistd.h>

static struct loop *loop;
static struct tokens *tokens;
static unsigned problems;
static struct sha256 claim;
static struct err e;

static bool known(void *ctx _unused_, const char *id)
{
	return strncmp(id, "sess_", 5) == 0;
}

static int any_ceiling(struct slice raw _unused_, struct err *ret _unused_)
{
	return 0;
}

static void on_problem(void *ctx _unused_, const char *name, const char *text _unused_)
{
	assert_string_equal(name, "tokens");
	problems++;
}

static void open_tokens(void)
{
	struct tokens_config cfg = { .loop = loop,
				     .state = scratch_path("."),
				     .known = known,
				     .ceiling = any_ceiling,
				     .problem = on_problem };

	tokens = tokens_new(&cfg);
	tokens_begin(tokens, &claim, false);
}

static int setup(void **state _unused_)
{
	problems = 0;
	assert_int_equal(sha256_of(SLICE("the claim's"), &claim), 0);
	loop = loop_new();
	unlink(scratch_path("tokens"));
	open_tokens();
	return 0;
}

static int teardown(void **state _unused_)
{
	tokens = tokens_free(tokens);
	loop = loop_free(loop);
	return 0;
}

static void again(void)
{
	tokens = tokens_free(tokens);
	open_tokens();
}

/* The digest of a new token. */
static struct sha256 mint(const char *scope, const char *more, uint64_t in_ms)
{
	_cleanup_(buf_done) struct buf params = { 0 }, out = { 0 };
	struct jw w = JW(&out);
	char when[CLOCK_ISO_SIZE];
	struct sha256 d;
	const char *text;

	buf_printf(&params, "{\"scope\":\"%s\",\"expiresAt\":\"%s\",\"label\":\"a \\\"b\\\"\"%s}",
		   scope, clock_iso(clock_real_ms() + in_ms, when), more);
	jw_obj(&w, NULL);
	assert_int_equal(tokens_mint(tokens, buf_slice(&params), "unit", &w, &e), 0);
	jw_end_obj(&w);
	buf_putc(&out, '\0');
	text = strstr(out.data, "\"acpd_");
	assert_non_null(text);
	assert_int_equal(sha256_of((struct slice){ text + 1, TOKEN_TEXT_SIZE - 3 }, &d), 0);
	return d;
}

static void test_again(void **state _unused_)
{
	struct sha256 one = mint("observe", ",\"sessions\":[\"sess_1\",\"sess_2\"]", 60000);
	struct sha256 two = mint("admin", "", 60000), none = one;
	const struct grant *g;

	none.bytes[0] ^= 1;
	for (int i = 0; i < 2; i++) {
		g = tokens_find(tokens, &one);
		assert_non_null(g);
		assert_int_equal(grant_scope(g), GRANT_OBSERVE);
		assert_true(grant_sees(g, "sess_2"));
		assert_false(grant_sees(g, "sess_3"));
		assert_int_equal(grant_scope(tokens_find(tokens, &two)), GRANT_ADMIN);
		assert_null(tokens_find(tokens, &none));
		again();
	}
	tokens_forget(tokens);
	assert_null(tokens_find(tokens, &one));
	again();
	assert_int_equal(tokens_count(tokens), 0);
	assert_int_equal(problems, 0);
}

/* A file of another claim is no problem; it holds nothing and goes. */
static void test_other_claim(void **state _unused_)
{
	struct sha256 one = mint("drive", "", 60000);

	claim.bytes[0] ^= 1;
	again();
	assert_null(tokens_find(tokens, &one));
	assert_int_equal(access(scratch_path("tokens"), F_OK), -1);
	assert_int_equal(problems, 0);
}

/* Each byte of the file, changed: nothing holds, and it is said. */
static void test_damage(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct sha256 one = mint("usage", "", 60000);

	assert_int_equal(file_read(scratch_path("tokens"), 65536, &b), 0);
	for (size_t i = 0; i < buf_len(&b); i += stride(7)) {
		struct list found = LIST_INIT(found);
		struct sha256 whose;

		b.data[i] ^= 1;
		scratch_write("tokens", b.data, b.len);
		b.data[i] ^= 1;
		if (token_file_read(scratch_path("tokens"), &whose, &found) != -EBADMSG)
			fail_msg("byte %zu", i);
		while (!list_empty(&found))
			token_free(list_first(&found, struct token, link));
	}
	again();
	assert_null(tokens_find(tokens, &one));
	assert_int_equal(problems, 1);
}

static void test_revoke(void **state _unused_)
{
	struct sha256 one = mint("usage", "", 60000);
	const struct grant *g = tokens_find(tokens, &one);
	char id[TOKEN_ID_SIZE];

	snprintf(id, sizeof(id), "%s", grant_id(g));
	assert_int_equal(tokens_revoke(tokens, "tok_none", "unit", &e), -EINVAL);
	assert_string_equal(e.reason, "TOKEN_UNKNOWN");
	assert_int_equal(tokens_revoke(tokens, id, "unit", &e), 0);
	assert_null(tokens_find(tokens, &one));
	assert_int_equal(grant_check(g, NEED_ANY, SESSIONS_NONE, &e), -EACCES);
	loop_run_deferred(loop);
	again();
	assert_null(tokens_find(tokens, &one));
}

static void test_times(void **state _unused_)
{
	static const struct {
		const char *text;
		uint64_t ms; /* UINT64_MAX: it is none */
	} rows[] = {
		{ "1970-01-01T00:00:00Z", 0 },
		{ "2026-11-21T08:00:00.123Z", 1795248000123 },
		{ "2026-11-21T08:00:00.1239Z", 1795248000123 },
		{ "2026-11-21T08:00:00.5Z", 1795248000500 },
		{ "2028-02-29T23:59:59Z", 1835481599000 },
		{ "2026-02-29T00:00:00Z", UINT64_MAX },
		{ "2026-11-31T00:00:00Z", UINT64_MAX },
		{ "2026-13-01T00:00:00Z", UINT64_MAX },
		{ "2026-11-21T24:00:00Z", UINT64_MAX },
		{ "2026-11-21T08:00:60Z", UINT64_MAX },
		{ "2026-11-21T08:00:00", UINT64_MAX },
		{ "2026-11-21T08:00:00+01:00", UINT64_MAX },
		{ "2026-11-21T08:00:00.Z", UINT64_MAX },
		{ "2026-11-21 08:00:00Z", UINT64_MAX },
		{ "1969-12-31T23:59:59Z", UINT64_MAX },
		{ "26-11-21T08:00:00Z", UINT64_MAX },
		{ "", UINT64_MAX },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(slice_freep) struct slice text = exact_copy(slice_of(rows[i].text));
		uint64_t ms = UINT64_MAX;
		bool ok = clock_iso_read(text, &ms);

		if (ok != (rows[i].ms != UINT64_MAX) || (ok && ms != rows[i].ms))
			fail_row(i, rows[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_again, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_claim, setup, teardown),
		cmocka_unit_test_setup_teardown(test_damage, setup, teardown),
		cmocka_unit_test_setup_teardown(test_revoke, setup, teardown),
		cmocka_unit_test(test_times),
	};

	return RUN(tests, NULL, NULL);
}
