/* Who may speak: Host and Origin tables, tokens in each of their places, subprotocols, token files. */
#include "unit.h"

#include "digest/digest.h"
#include "net/claim/admission.h"

#include <errno.h>
#include <sys/stat.h>

#define TOKEN "0123456789abcdef-Token"
#define TOKEN_B64 "MDEyMzQ1Njc4OWFiY2RlZi1Ub2tlbg"

static struct admission *gate;
static struct err e;

static struct admission *make(const char *hosts, const char *origins, bool query)
{
	struct admission_config cfg = { .allow_hosts = hosts,
					.allow_origins = origins,
					.allow_query_token = query };

	return admission_new(&cfg);
}

static void load(const char *text, size_t n, int want)
{
	scratch_write("token", text, n);
	memset(&e, 0, sizeof(e));
	assert_int_equal(admission_load(gate, scratch_path("token"), &e), want);
	assert_true(want == 0 || strcmp(e.reason, "TOKEN_INVALID") == 0);
}

static void assert_claims(const struct grant *g)
{
	assert_non_null(g);
	assert_int_equal(grant_scope(g), GRANT_ADMIN);
	assert_false(grant_minted(g));
	assert_false(grant_over(g));
}

static int setup(void **state _unused_)
{
	gate = make(NULL, NULL, false);
	load(TOKEN, strlen(TOKEN), 0);
	return 0;
}

static int teardown(void **state _unused_)
{
	gate = admission_free(gate);
	return 0;
}

static void test_hosts(void **state _unused_)
{
	static const struct {
		const char *host;
		bool ok;
	} rows[] = {
		{ "localhost", true },
		{ "localhost:2270", true },
		{ "LOCALHOST:1", true },
		{ "127.0.0.1", true },
		{ "127.0.0.1:2270", true },
		{ "10.1.2.3:80", true },
		{ "[::1]", true },
		{ "[::1]:2270", true },
		{ "[fe80::1]:1", true },
		{ "2270-i3kq0mz5yrn0wmbpd9fje.e2b.app", true },
		{ "2270-i3kq0mz5yrn0wmbpd9fje.e2b.app:443", true },
		{ "49983-abc.sandbox.example.com", true },
		{ "api.example.com", true },
		{ "API.Example.Com:8443", true },
		{ "only-with-port:81", true },
		{ "", false },
		{ ":2270", false },
		{ "only-with-port", false },
		{ "only-with-port:82", false },
		{ "evil.example.com", false },
		{ "api.example.com.evil.com", false },
		{ "xapi.example.com", false },
		{ "localhost.evil.com", false },
		{ "localhost.", false },
		{ "127.0.0.1.evil.com", false },
		{ "127.0.0.1.nip.io", false },
		{ "127.1", false },
		{ "127.0.0.1:1@evil", false },
		{ "localhost:", true },
		{ "localhost:65535", true },
		{ "localhost:65536", false },
		{ "localhost:000080", false },
		{ "localhost:80x", false },
		{ "localhost: 80", false },
		{ "localhost:80:80", false },
		{ "localhost/x", false },
		{ "user@localhost", false },
		{ "localhost\t", false },
		{ "999.0.0.1", false },
		{ "[evil.com]", false },
		{ "[::1]:x", false },
		{ "[::1%lo]", false },
		{ "2270-abc.e2b.app:1@evil", false },
		{ "2270-abc.x@evil", false },
		{ "2270-abc.e2b.app/..", false },
		{ "api.example.com:1@evil", false },
		{ "0x7f.0.0.1", false },
		{ "2130706433", false },
		{ "1.2.3.4.5", false },
		{ "...1", false },
		{ "[", false },
		{ "[]", false },
		{ "[::1", false },
		{ "[::1]evil.com", false },
		{ "::1", false },
		{ "-abc.e2b.app", false },
		{ "2270-.e2b.app", false },
		{ "2270-abc", false },
		{ "2270-abc.", false },
		{ "2270abc.e2b.app", false },
		{ "123456-abc.e2b.app", false },
		{ "2270-ab_c.e2b.app", false },
		{ "a2270-abc.e2b.app", false },
		{ "localhost\0evil", false },
	};
	struct admission *g = make("api.example.com,only-with-port:81", NULL, false);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(slice_freep) struct slice host = exact_copy(slice_of(rows[i].host));

		if (i == ARRAY_SIZE(rows) - 1) /* a NUL is a byte like another */
			assert_false(admission_host_ok(g, SLICE("localhost\0")));
		else if (admission_host_ok(g, host) != rows[i].ok)
			fail_row(i, rows[i].host);
	}
	admission_free(g);
}

/* Whoever could write it would say who comes in. */
static void test_a_token_file_has_a_trusted_owner(void **state _unused_)
{
	scratch_write("owned", TOKEN, strlen(TOKEN));
	if (geteuid() != 0) {
		skip();
		return;
	}
	assert_int_equal(admission_load(gate, scratch_path("owned"), &e), 0);
	assert_int_equal(chown(scratch_path("owned"), 65534, 65534), 0);
	memset(&e, 0, sizeof(e));
	assert_int_equal(admission_load(gate, scratch_path("owned"), &e), -EPERM);
	assert_string_equal(e.reason, "TOKEN_UNSAFE");
}

/* Nobody writes into it: the daemon must not wait for that. */
static void test_a_pipe_of_somebody_else_is_not_waited_for(void **state _unused_)
{
	if (geteuid() != 0) {
		skip();
		return;
	}
	assert_int_equal(mkfifo(scratch_path("pipe"), 0600), 0);
	assert_int_equal(chown(scratch_path("pipe"), 65534, 65534), 0);
	assert_int_equal(admission_load(gate, scratch_path("pipe"), &e), -EPERM);
}

/* People write lists with a space behind the comma. */
static void test_lists_may_have_spaces(void **state _unused_)
{
	struct admission *g = make("a.example.com, b.example.com ,c.example.com",
				   " https://x.example , https://y.example", false);

	assert_true(admission_host_ok(g, SLICE("a.example.com")));
	assert_true(admission_host_ok(g, SLICE("b.example.com:1")));
	assert_true(admission_host_ok(g, SLICE("c.example.com")));
	assert_true(admission_origin_ok(g, SLICE("https://x.example")));
	assert_true(admission_origin_ok(g, SLICE("https://y.example")));
	admission_free(g);
}

static void test_origins(void **state _unused_)
{
	static const struct {
		const char *origin;
		bool ok;
	} rows[] = {
		{ "", true },
		{ "https://app.example.com", true },
		{ "HTTPS://APP.example.com", true },
		{ "http://localhost:3000", true },
		{ "http://app.example.com", false },
		{ "https://app.example.com:443", false },
		{ "https://app.example.com.evil.com", false },
		{ "https://evil.com", false },
		{ "http://localhost", false },
		{ "null", false },
		{ "https://app.example.com,http://localhost:3000", false },
		{ ",", false },
	};
	struct admission *g = make(NULL, "https://app.example.com,http://localhost:3000", false);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (admission_origin_ok(g, slice_of(rows[i].origin)) != rows[i].ok)
			fail_row(i, rows[i].origin);
	admission_free(g);
	assert_true(admission_origin_ok(gate, SLICE_NONE));
	assert_false(admission_origin_ok(gate, SLICE("http://localhost")));
	assert_false(admission_origin_ok(gate, SLICE("null")));
}

static void test_bearer(void **state _unused_)
{
	static const struct {
		const char *header;
		bool ok;
	} rows[] = {
		{ "Bearer " TOKEN, true },
		{ "bearer " TOKEN, true },
		{ "BEARER   " TOKEN "  ", true },
		{ "Bearer " TOKEN "x", false },
		{ "Bearer 0123456789abcdef-Toke", false },
		{ "Bearer 0123456789ABCDEF-TOKEN", false },
		{ "Bearer", false },
		{ "Bearer ", false },
		{ "Bearer  ", false },
		{ "Bearer" TOKEN, false },
		{ "Basic " TOKEN, false },
		{ TOKEN, false },
		{ " Bearer " TOKEN, false },
		{ "Bearer " TOKEN_B64, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(slice_freep) struct slice header = exact_copy(slice_of(rows[i].header));

		if ((admission_grant(gate, header, SLICE_NONE, SLICE_NONE) != NULL) != rows[i].ok)
			fail_row(i, rows[i].header);
	}
	assert_null(admission_grant(gate, SLICE_NONE, SLICE_NONE, SLICE_NONE));
	/* a wrong header is not mended by another place */
	assert_null(admission_grant(gate, SLICE("Bearer wrong"), SLICE("acpd.bearer." TOKEN_B64),
				    SLICE_NONE));
}

static void test_subprotocol_token(void **state _unused_)
{
	static const struct {
		const char *header;
		bool ok;
	} rows[] = {
		{ "acp.v1, acpd.bearer." TOKEN_B64, true },
		{ "acpd.bearer." TOKEN_B64 ",acp.v1", true },
		{ "  acpd.bearer." TOKEN_B64 "  ", true },
		{ "acp.v1,,acpd.bearer." TOKEN_B64, true },
		{ "acp.v1", false },
		{ "acpd.bearer.", false },
		{ "acpd.bearer." TOKEN_B64 "==", false },
		{ "acpd.bearer." TOKEN_B64 "x", false },
		{ "acpd.bearer." TOKEN, false },
		{ "xacpd.bearer." TOKEN_B64, false },
		{ "ACPD.BEARER." TOKEN_B64, false },
		{ "acpd.bearer.MDEy,acpd.bearer." TOKEN_B64, false },
		{ ",", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(slice_freep) struct slice header = exact_copy(slice_of(rows[i].header));

		if ((admission_grant(gate, SLICE_NONE, header, SLICE_NONE) != NULL) != rows[i].ok)
			fail_row(i, rows[i].header);
	}
}

static void test_query_token(void **state _unused_)
{
	struct admission *g = make(NULL, NULL, true);

	assert_false(admission_query_token(gate));
	assert_null(admission_grant(gate, SLICE_NONE, SLICE_NONE, SLICE(TOKEN)));
	assert_true(admission_query_token(g));
	assert_null(admission_grant(g, SLICE_NONE, SLICE_NONE, SLICE(TOKEN))); /* unclaimed */
	assert_int_equal(admission_load(g, scratch_path("token"), &e), 0);
	assert_claims(admission_grant(g, SLICE_NONE, SLICE_NONE, SLICE(TOKEN)));
	assert_null(admission_grant(g, SLICE_NONE, SLICE_NONE, SLICE("wrong")));
	assert_null(admission_grant(g, SLICE("Bearer wrong"), SLICE_NONE, SLICE(TOKEN)));
	admission_free(g);
}

static void test_selected_subprotocol(void **state _unused_)
{
	static const struct {
		const char *offered, *selected;
	} rows[] = {
		{ "", "" },
		{ "   ", "" },
		{ "acp.v1", "acp.v1" },
		{ "x, acp.v1 ,y", "acp.v1" },
		{ "acpd.bearer.AAAA, acp.v1", "acp.v1" },
		{ "acpd.bearer.AAAA", NULL },
		{ "acp.v2", NULL },
		{ "acp.v11", NULL },
		{ "ACP.V1", NULL },
		{ ",", NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *got = admission_subprotocol(slice_of(rows[i].offered));

		assert_int_equal(got == NULL, rows[i].selected == NULL);
		if (got)
			assert_string_equal(got, rows[i].selected);
	}
	assert_string_equal(admission_subprotocol(SLICE_NONE), "");
}

/* A token of every allowed length works in both places. */
static void test_long_tokens(void **state _unused_)
{
	static const char set[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	static const size_t sizes[] = { TOKEN_MIN, 100, 3072, 3075, TOKEN_MAX };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		_cleanup_(buf_done) struct buf token = { 0 }, header = { 0 }, item = { 0 };
		unsigned bits = 0, have = 0;

		gate = admission_free(gate);
		gate = make(NULL, NULL, false);
		buf_puts(&item, "acp.v1, acpd.bearer.");
		for (size_t k = 0; k < sizes[i]; k++) {
			buf_putc(&token, 'k');
			bits = bits << 8 | 'k';
			for (have += 8; have >= 6; have -= 6)
				buf_putc(&item, set[bits >> (have - 6) & 63]);
		}
		if (have)
			buf_putc(&item, set[bits << (6 - have) & 63]);
		load(token.data, token.len, 0);
		buf_printf(&header, "Bearer %.*s", (int)token.len, token.data);
		assert_claims(admission_grant(gate, buf_slice(&header), SLICE_NONE, SLICE_NONE));
		assert_claims(admission_grant(gate, SLICE_NONE, buf_slice(&item), SLICE_NONE));
	}
}

static void test_token_files(void **state _unused_)
{
	static char big[TOKEN_MAX + 1];

	memset(big, 'x', sizeof(big));
	gate = admission_free(gate);
	gate = make(NULL, NULL, false);
	assert_int_equal(admission_load(gate, scratch_path("no such file"), &e), 0);
	assert_false(admission_claimed(gate));
	assert_null(admission_grant(gate, SLICE("Bearer "), SLICE_NONE, SLICE_NONE));
	load("", 0, -EINVAL);
	load("\n", 1, -EINVAL);
	load("0123456789abcde", 15, -EINVAL);
	load("0123456789abcde\n\n", 17, -EINVAL);
	load(big, sizeof(big), -EINVAL);
	load("sha256:", 7, -EINVAL);
	load("sha256:zz", 9, -EINVAL);
	assert_false(admission_claimed(gate));
	assert_true(admission_load(gate, scratch_dir(), &e) < 0);
	load(" " TOKEN "\r\n", strlen(TOKEN) + 3, 0);
	assert_true(admission_claimed(gate));
	assert_claims(admission_grant(gate, SLICE("Bearer " TOKEN), SLICE_NONE, SLICE_NONE));
}

static void digest_of(const char *token, char out[80])
{
	struct sha256 d;

	sha256_of(slice_of(token), &d);
	strcpy(out, "sha256:");
	sha256_hex(&d, out + 7);
}

static void test_claim(void **state _unused_)
{
	char digest[80], other[80];

	gate = admission_free(gate);
	gate = make(NULL, NULL, false);
	digest_of(TOKEN, digest);
	digest_of("another token of 20 chars", other);
	assert_int_equal(admission_claim(gate, SLICE("sha256:12"), &e), -EINVAL);
	assert_string_equal(e.field, "digest");
	assert_int_equal(admission_claim(gate, SLICE(TOKEN), &e), -EINVAL);
	assert_int_equal(admission_claim(gate, SLICE_NONE, &e), -EINVAL);
	assert_false(admission_claimed(gate));
	assert_int_equal(admission_claim(gate, slice_of(digest), &e), 0);
	assert_int_equal(admission_claim(gate, slice_of(digest), &e), 0);
	assert_int_equal(admission_claim(gate, slice_of(other), &e), -EALREADY);
	assert_string_equal(e.reason, "ALREADY_CLAIMED");
	assert_claims(admission_grant(gate, SLICE("Bearer " TOKEN), SLICE_NONE, SLICE_NONE));
	/* the file may hold the digest only */
	load(other, strlen(other), 0);
	assert_claims(admission_grant(gate, SLICE("Bearer another token of 20 chars"), SLICE_NONE,
				      SLICE_NONE));
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_hosts),
		T(test_a_token_file_has_a_trusted_owner),
		T(test_a_pipe_of_somebody_else_is_not_waited_for),
		T(test_lists_may_have_spaces),
		T(test_origins),
		T(test_bearer),
		T(test_subprotocol_token),
		T(test_query_token),
		T(test_selected_subprotocol),
		T(test_long_tokens),
		T(test_token_files),
		T(test_claim),
	};

	return RUN(tests, scratch_setup, scratch_done);
}
