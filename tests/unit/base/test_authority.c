/* host:port: what is one, and what two readers could take differently. */
#include "base/http/authority.h"
#include "base/util.h"
#include "unit.h"

static const struct {
	const char *text;
	const char *host; /* NULL: refused */
	int port;
} rows[] = {
	{ "h", "h", -1 },
	{ "h:1", "h", 1 },
	{ "127.0.0.1:65535", "127.0.0.1", 65535 },
	{ "h:00080", "h", 80 },
	{ "[::1]", "::1", -1 },
	{ "[::1]:9", "::1", 9 },
	{ "[fe80::1%eth0]:9", "fe80::1%eth0", 9 },
	{ "", NULL, 0 },
	{ ":80", NULL, 0 },
	{ "h:", NULL, 0 },
	{ "h:0", NULL, 0 },
	{ "h:65536", NULL, 0 },
	{ "h:99999999999999999999", NULL, 0 },
	{ "h:80x", NULL, 0 },
	{ "h: 80", NULL, 0 },
	{ "h:+80", NULL, 0 },
	{ "h:-1", NULL, 0 },
	{ "h:80:80", NULL, 0 },
	{ "::1", NULL, 0 },
	{ "::1:80", NULL, 0 },
	{ "[]", NULL, 0 },
	{ "[]:80", NULL, 0 },
	{ "[h]:80", NULL, 0 },
	{ "[::1", NULL, 0 },
	{ "[::1]80", NULL, 0 },
	{ "[::1]x:80", NULL, 0 },
	{ "[[::1]]:80", NULL, 0 },
	{ "::1]:80", NULL, 0 },
	{ "x[::1]:80", NULL, 0 },
	{ "u@h:80", NULL, 0 },
	{ "h/:80", NULL, 0 },
	{ "h h:80", NULL, 0 },
	{ "h\n:80", NULL, 0 },
};

static void a_text_is_host_and_port_or_it_is_not(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct authority a = { SLICE("as it was"), 42 };
		bool ok = authority_parse(slice_of(rows[i].text), 1, &a);

		if (ok != (rows[i].host != NULL) ||
		    !slice_is(a.host, rows[i].host ? rows[i].host : "as it was") ||
		    a.port != (ok ? rows[i].port : 42))
			fail_row(i, rows[i].text);
	}
}

static void bounds_of_the_text_are_held(void **state _unused_)
{
	struct authority a = { SLICE_NONE, 42 };

	assert_false(authority_parse(SLICE_NONE, 1, &a));
	assert_false(authority_parse(SLICE("h\0h"), 1, &a));
	assert_true(authority_parse((struct slice){ "h:8080", 4 }, 1, &a));
	assert_int_equal(a.port, 80);
}

static void port_0_is_one_where_it_is_asked_for(void **state _unused_)
{
	struct authority a = { SLICE_NONE, 42 };

	assert_true(authority_parse(SLICE("h:0"), 0, &a));
	assert_int_equal(a.port, 0);
	assert_false(authority_parse(SLICE("h:65536"), 0, &a));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_text_is_host_and_port_or_it_is_not),
		cmocka_unit_test(bounds_of_the_text_are_held),
		cmocka_unit_test(port_0_is_one_where_it_is_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
