/* HTTP_PROXY, HTTPS_PROXY and NO_PROXY. */
#include "unit.h"

#include "fetch/fetch.h"

static const struct {
	const char *list, *host;
	int port;
	bool has;
} rows[] = {
	{ "", "a.example", 443, false },
	{ "*", "a.example", 443, true },
	{ "example", "a.example", 443, true },
	{ ".example", "a.example", 443, true },
	{ "a.example", "a.example", 443, true },
	{ ".a.example", "a.example", 443, true },
	{ "A.Example", "a.eXAMPLE.", 443, true },
	{ "a.example", "ba.example", 443, false },
	{ "a.example", "b.a.example", 443, true },
	{ "b.a.example", "a.example", 443, false },
	{ "a.example:443", "a.example", 443, true },
	{ "a.example:80", "a.example", 443, false },
	{ "x, a.example y", "a.example", 443, true },
	{ "10.0.0.0/8", "10.2.3.4", 443, true },
	{ "10.0.0.0/8", "11.2.3.4", 443, false },
	{ "10.0.0.0/33", "10.0.0.0", 443, false },
	{ "10.0.0.0/x", "10.0.0.0", 443, false },
	{ "10.2.3.4", "10.2.3.4", 443, true },
	{ "10.2.3.4:80", "10.2.3.4", 443, false },
	{ "10.2.3.4:443", "10.2.3.4", 443, true },
	{ "0.0.0.0/0", "10.2.3.4", 443, true },
	{ "0.0.0.0/0", "a.example", 443, false },
	{ "fd00::/8", "fd12::1", 443, true },
	{ "fd00::/8", "fe12::1", 443, false },
	{ "[fd12::1]:443", "fd12::1", 443, true },
	{ ",, ,", "a.example", 443, false },
};

static void test_no_proxy(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (no_proxy_has(rows[i].list, slice_of(rows[i].host), rows[i].port) != rows[i].has)
			fail_row(i, rows[i].list);
}

static void test_choice(void **state _unused_)
{
	char http[] = "http://one:1", https[] = "http://two:2", none[] = "";
	struct fetch_settings s = { .http_proxy = http, .https_proxy = https, .no_proxy = none };

	assert_ptr_equal(proxy_rule_of(&s, false, SLICE("a.example"), 80), http);
	assert_ptr_equal(proxy_rule_of(&s, true, SLICE("a.example"), 443), https);
	assert_null(proxy_rule_of(&s, true, SLICE("127.0.0.1"), 443));
	assert_null(proxy_rule_of(&s, true, SLICE("::1"), 443));
	assert_null(proxy_rule_of(&s, true, SLICE("localhost"), 443));
	s.https_proxy = none;
	assert_null(proxy_rule_of(&s, true, SLICE("a.example"), 443));
	s.https_proxy = NULL;
	assert_null(proxy_rule_of(&s, true, SLICE("a.example"), 443));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_no_proxy),
					    cmocka_unit_test(test_choice) };

	return RUN(tests, NULL, NULL);
}
