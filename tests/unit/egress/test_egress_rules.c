/* The object network, and which hosts it lets through. */
#include "unit.h"

#include "egress/wire/egress_host.h"
#include "egress/wire/egress_rules.h"
#include "json/jenc.h"

static struct egress_rules *rules;
static struct err e;

static int teardown(void **state _unused_)
{
	rules = egress_rules_free(rules);
	return 0;
}

static void parse(const char *json)
{
	rules = egress_rules_free(rules);
	if (egress_rules_parse(slice_of(json), "_meta.acpd.network", &rules, &e) < 0)
		fail_msg("%s: %s", json, e.msg);
}

/* --- hosts ---------------------------------------------------------------------------------------------------- */

static void test_hosts(void **state _unused_)
{
	static const struct {
		const char *text, *want; /* NULL: it is none */
		bool address;
	} rows[] = {
		{ "Example.COM", "example.com", false },
		{ "example.com.", "example.com", false },
		{ "localhost", "localhost", false },
		{ "a_b.example", "a_b.example", false },
		{ "xn--bcher-kva.example", "xn--bcher-kva.example", false },
		{ "1.example", "1.example", false },
		{ "1.2.3.4", "1.2.3.4", true },
		{ "::1", "::1", true },
		{ "[2001:DB8:0:0::1]", "2001:db8::1", true },
		{ "0:0:0:0:0:ffff:7f00:1", "::ffff:127.0.0.1", true },
		{ "", NULL, false },
		{ ".", NULL, false },
		{ "a..b", NULL, false },
		{ "a.b..", NULL, false },
		{ ".a", NULL, false },
		{ "-a.b", NULL, false },
		{ "a-.b", NULL, false },
		{ "b\xc3\xbc"
		  "cher.example",
		  NULL, false },
		{ "a b", NULL, false },
		{ "a%2eb", NULL, false },
		{ "%31.2.3.4", NULL, false },
		{ "a/b", NULL, false },
		{ "a@b", NULL, false },
		{ "a:80", NULL, false },
		{ "*", NULL, false },
		{ "2130706433", NULL, false },
		{ "0x7f000001", NULL, false },
		{ "0x7f.1", NULL, false },
		{ "0X7F.0.0.0x1", NULL, false },
		{ "0177.0.0.1", NULL, false },
		{ "127.1", NULL, false },
		{ "1.2.3.4.", NULL, false },
		{ "1.2.3.256", NULL, false },
		{ "a.123", NULL, false },
		{ "[1.2.3.4]", NULL, false },
		{ "[::1", NULL, false },
		{ "[::1]:80", NULL, false },
		{ "fe80::1%eth0", NULL, false },
		{ "[]", NULL, false },
	};
	struct egress_host h;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		bool ok = !egress_host_parse(slice_of(rows[i].text), &h);

		if (ok != !!rows[i].want ||
		    (ok && (strcmp(h.text, rows[i].want) != 0 || h.n != strlen(h.text) ||
			    h.address != rows[i].address)))
			fail_row(i, rows[i].text);
	}
}

static void test_long_hosts(void **state _unused_)
{
	char text[300];
	struct egress_host h;

	memset(text, 'a', sizeof(text));
	for (size_t i = 63; i < sizeof(text); i += 64)
		text[i] = '.';
	assert_null(egress_host_parse((struct slice){ text, 253 }, &h));
	assert_int_equal(h.n, 253);
	assert_non_null(egress_host_parse((struct slice){ text, 254 }, &h));
	text[63] = 'a';
	assert_non_null(egress_host_parse((struct slice){ text, 100 }, &h));
}

/* --- rules ---------------------------------------------------------------------------------------------------- */

#define LIST "{\"mode\":\"allowlist\",\"allow\":["

static void test_refused(void **state _unused_)
{
	static const struct {
		const char *json, *field;
	} rows[] = {
		{ "{}", "mode" },
		{ "{\"mode\":7}", "mode" },
		{ "{\"mode\":\"open\"}", "mode" },
		{ "{\"mode\":\"\"}", "mode" },
		{ "{\"mode\":\"on\",\"allow\":[]}", "allow" },
		{ "{\"mode\":\"off\",\"ask\":true}", "ask" },
		{ "{\"mode\":\"on\",\"ask\":true}", "ask" },
		{ "{\"mode\":\"allowlist\",\"allow\":{}}", "allow" },
		{ "{\"mode\":\"allowlist\",\"ask\":1}", "ask" },
		{ "{\"mode\":\"on\",\"deny\":[]}", "deny" },
		{ LIST "\"a\"]}", "allow[0]" },
		{ LIST "{\"host\":\"a\"},{}]}", "allow[1].host" },
		{ LIST "{\"host\":\"\"}]}", "allow[0].host" },
		{ LIST "{\"host\":\"a\"},{\"host\":\"b\"},{\"host\":\"c\"},{\"host\":\"127.1\"}]}",
		  "allow[3].host" },
		{ LIST "{\"host\":\"*\"}]}", "allow[0].host" },
		{ LIST "{\"host\":\"*.\"}]}", "allow[0].host" },
		{ LIST "{\"host\":\"*.*.a\"}]}", "allow[0].host" },
		{ LIST "{\"host\":\"a.*\"}]}", "allow[0].host" },
		{ LIST "{\"host\":\"*.1.2.3.4\"}]}", "allow[0].host" },
		{ LIST "{\"host\":\"*a.b\"}]}", "allow[0].host" },
		{ LIST "{\"host\":\"a\",\"port\":1}]}", "allow[0].port" },
		{ LIST "{\"host\":\"a\",\"ports\":[]}]}", "allow[0].ports" },
		{ LIST "{\"host\":\"a\",\"ports\":443}]}", "allow[0].ports" },
		{ LIST "{\"host\":\"a\",\"ports\":[443,0]}]}", "allow[0].ports[1]" },
		{ LIST "{\"host\":\"a\",\"ports\":[65536]}]}", "allow[0].ports[0]" },
		{ LIST "{\"host\":\"a\",\"ports\":[\"443\"]}]}", "allow[0].ports[0]" },
		{ LIST "{\"host\":\"a\",\"ports\":[4.5]}]}", "allow[0].ports[0]" },
	};
	char field[128];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		memset(&e, 0, sizeof(e));
		snprintf(field, sizeof(field), "_meta.acpd.network.%s", rows[i].field);
		if (egress_rules_parse(slice_of(rows[i].json), "_meta.acpd.network", &rules, &e) ==
			    0 ||
		    rules || strcmp(e.field, field) != 0 || !e.msg[0] || !e.reason[0])
			fail_msg("row %zu: %s: %s (%s)", i, rows[i].json, e.field, e.msg);
	}
}

static void test_bounds(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	buf_puts(&b, LIST "{\"host\":\"a\"}");
	for (int i = 1; i < EGRESS_ENTRIES_MAX; i++)
		buf_puts(&b, ",{\"host\":\"b\"}");
	buf_puts(&b, "]}");
	assert_int_equal(egress_rules_parse(buf_slice(&b), "n", &rules, &e), 0);
	assert_null(egress_rules_with(rules, "c", 443, &e));
	rules = egress_rules_free(rules);
	b.len -= 2;
	buf_puts(&b, ",{\"host\":\"b\"}]}");
	assert_true(egress_rules_parse(buf_slice(&b), "n", &rules, &e) < 0);
	assert_string_equal(e.field, "n.allow[1024]");
	buf_reset(&b);
	buf_puts(&b, LIST "{\"host\":\"a\",\"ports\":[1");
	for (int i = 1; i <= EGRESS_PORTS_MAX; i++)
		buf_puts(&b, ",2");
	buf_puts(&b, "]}]}");
	assert_true(egress_rules_parse(buf_slice(&b), "n", &rules, &e) < 0);
	assert_string_equal(e.field, "n.allow[0].ports[16]");
}

static void test_put(void **state _unused_)
{
	static const struct {
		const char *json, *want; /* NULL: the same */
	} rows[] = {
		{ "{\"mode\":\"on\"}", NULL },
		{ "{\"mode\":\"off\"}", NULL },
		{ "{\"mode\":\"allowlist\"}", NULL },
		{ "{\"mode\":\"allowlist\",\"ask\":true}", NULL },
		{ LIST "]}", "{\"mode\":\"allowlist\"}" },
		{ "{\"mode\":\"on\",\"ask\":false,\"allow\":null}", "{\"mode\":\"on\"}" },
		{ LIST "{\"host\":\"A.b.\"},{\"host\":\"*.C\",\"ports\":[1,443]},"
		       "{\"host\":\"[::1]\"}],\"ask\":true}",
		  LIST "{\"host\":\"a.b\"},{\"host\":\"*.c\",\"ports\":[1,443]},"
		       "{\"host\":\"::1\"}],\"ask\":true}" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(buf_done) struct buf b = { 0 };
		struct egress_rules *copy;

		parse(rows[i].json);
		copy = egress_rules_copy(rules);
		egress_rules_put(copy, &JW(&b), NULL);
		assert_buf(&b, rows[i].want ? rows[i].want : rows[i].json);
		assert_true(egress_rules_same(rules, copy));
		egress_rules_free(copy);
	}
}

static void expect(const char *host, int port, enum egress_answer want, bool want_plain)
{
	bool plain;
	enum egress_answer got = egress_rules_match(rules, host, port, &plain);

	if (got != want || plain != want_plain)
		fail_msg("%s:%d: %d %d", host, port, got, plain);
	assert_int_equal(egress_rules_match(rules, host, port, NULL), want);
}

static void test_match(void **state _unused_)
{
	parse(LIST "{\"host\":\"a.example\"},{\"host\":\"*.b.example\"},"
		   "{\"host\":\"c.example\",\"ports\":[22,443]},{\"host\":\"1.2.3.4\"},"
		   "{\"host\":\"c.example\",\"ports\":[80]}]}");
	expect("a.example", 443, EGRESS_ALLOWED, false);
	expect("a.example", 80, EGRESS_ALLOWED, false);
	expect("a.example", 22, EGRESS_PORT_UNKNOWN, false);
	expect("aa.example", 443, EGRESS_HOST_UNKNOWN, false);
	expect("a.a.example", 443, EGRESS_HOST_UNKNOWN, false);
	expect("example", 443, EGRESS_HOST_UNKNOWN, false);
	expect("b.example", 443, EGRESS_HOST_UNKNOWN, false);
	expect("x.b.example", 443, EGRESS_ALLOWED, false);
	expect("x.y.b.example", 80, EGRESS_ALLOWED, false);
	expect("xb.example", 443, EGRESS_HOST_UNKNOWN, false);
	expect("c.example", 443, EGRESS_ALLOWED, false);
	expect("c.example", 22, EGRESS_ALLOWED, true);
	expect("c.example", 80, EGRESS_ALLOWED, true);
	expect("c.example", 23, EGRESS_PORT_UNKNOWN, false);
	expect("1.2.3.4", 443, EGRESS_ALLOWED, false);
	expect("1.2.3.5", 443, EGRESS_HOST_UNKNOWN, false);
}

static void test_modes(void **state _unused_)
{
	parse("{\"mode\":\"off\"}");
	expect("a.example", 443, EGRESS_HOST_UNKNOWN, false);
	parse("{\"mode\":\"on\"}");
	expect("a.example", 443, EGRESS_ALLOWED, false);
	expect("1.2.3.4", 8080, EGRESS_ALLOWED, true);
	parse("{\"mode\":\"allowlist\"}");
	expect("a.example", 443, EGRESS_HOST_UNKNOWN, false);
	assert_true(EGRESS_OFF < EGRESS_ALLOWLIST && EGRESS_ALLOWLIST < EGRESS_ON);
}

static void test_with(void **state _unused_)
{
	struct egress_rules *more;

	parse("{\"mode\":\"allowlist\",\"ask\":true}");
	more = egress_rules_with(rules, "a.example", 443, &e);
	expect("a.example", 443, EGRESS_HOST_UNKNOWN, false);
	assert_false(egress_rules_same(rules, more));
	egress_rules_free(rules);
	rules = egress_rules_with(more, "b.example", 2222, &e);
	egress_rules_free(more);
	expect("a.example", 443, EGRESS_ALLOWED, false);
	expect("a.example", 80, EGRESS_ALLOWED, false);
	expect("b.example", 2222, EGRESS_ALLOWED, true);
	expect("b.example", 443, EGRESS_ALLOWED, false);
	expect("b.example", 80, EGRESS_ALLOWED, false);
	assert_true(egress_rules_ask(rules));
	assert_null(egress_rules_with(rules, "no host", 443, &e));
}

/* Who may ask has more than who may not. */
static void test_ask_is_more(void **state _unused_)
{
	struct egress_rules *asks, *silent;

	assert_int_equal(egress_rules_parse(SLICE("{\"mode\":\"allowlist\",\"ask\":true}"), "n",
					    &asks, &e),
			 0);
	assert_int_equal(egress_rules_parse(SLICE("{\"mode\":\"allowlist\"}"), "n", &silent, &e),
			 0);
	assert_false(egress_rules_within(asks, silent));
	assert_true(egress_rules_within(silent, asks) && egress_rules_within(asks, asks));
	egress_rules_free(asks);
	egress_rules_free(silent);
}

static void test_within(void **state _unused_)
{
	static const struct {
		const char *session, *ceiling;
		bool want;
	} rows[] = {
		{ "{\"host\":\"a.example\"}", "{\"host\":\"a.example\"}", true },
		{ "{\"host\":\"a.example\"}", "{\"host\":\"b.example\"}", false },
		{ "{\"host\":\"x.a.example\"}", "{\"host\":\"*.a.example\"}", true },
		{ "{\"host\":\"*.a.example\"}", "{\"host\":\"a.example\"}", false },
		/* Only TLS passes on port 443, whoever names the port. */
		{ "{\"host\":\"a.example\",\"ports\":[443]}", "{\"host\":\"a.example\"}", true },
		/* A named port 80 lets more than HTTP pass. */
		{ "{\"host\":\"a.example\",\"ports\":[80]}", "{\"host\":\"a.example\"}", false },
		{ "{\"host\":\"a.example\",\"ports\":[443,22]}", "{\"host\":\"a.example\"}",
		  false },
		{ "{\"host\":\"a.example\"}", "{\"host\":\"a.example\",\"ports\":[80,443]}", true },
		{ "{\"host\":\"a.example\"}", "{\"host\":\"a.example\",\"ports\":[443]}", false },
		{ "{\"host\":\"a.example\",\"ports\":[22]}",
		  "{\"host\":\"a.example\",\"ports\":[22,443]}", true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct egress_rules *session;
		char text[200];

		snprintf(text, sizeof(text), LIST "%s]}", rows[i].session);
		assert_int_equal(egress_rules_parse(slice_of(text), "n", &session, &e), 0);
		snprintf(text, sizeof(text), LIST "%s]}", rows[i].ceiling);
		parse(text);
		if (egress_rules_within(session, rules) != rows[i].want)
			fail_row(i, rows[i].session);
		egress_rules_free(session);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ask_is_more),
		cmocka_unit_test(test_hosts),
		cmocka_unit_test(test_long_hosts),
		cmocka_unit_test_teardown(test_refused, teardown),
		cmocka_unit_test_teardown(test_bounds, teardown),
		cmocka_unit_test_teardown(test_put, teardown),
		cmocka_unit_test_teardown(test_match, teardown),
		cmocka_unit_test_teardown(test_modes, teardown),
		cmocka_unit_test_teardown(test_with, teardown),
		cmocka_unit_test_teardown(test_within, teardown),
	};

	return RUN(tests, NULL, NULL);
}
