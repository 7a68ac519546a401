/* What goes between the daemon and acpd-proxy. */
#include "unit.h"

#include "egress/wire/egress_frame.h"
#include "egress/wire/host_set.h"

static void test_settings(void **state _unused_)
{
	char allow[] = "a,b:1", resolvers[] = "127.0.0.1:53";
	_cleanup_(buf_done) struct buf b = { 0 };
	struct egress_settings s;

	egress_settings_put(&b, &(struct egress_settings){ allow, resolvers });
	assert_int_equal(egress_settings_parse(buf_slice(&b), &s), 0);
	assert_string_equal(s.allow, allow);
	assert_string_equal(s.resolvers, resolvers);
	egress_settings_done(&s);
	assert_true(egress_settings_parse(SLICE("{\"more\":1}"), &s) < 0);
}

static void test_order(void **state _unused_)
{
	static const char *const bad[] = {
		"",
		"{}",
		"{\"uid\":1}",
		"{\"uid\":-2,\"rules\":{\"mode\":\"on\"}}",
		"{\"uid\":4294967296,\"rules\":{\"mode\":\"on\"}}",
		"{\"uid\":1,\"rules\":{\"mode\":\"some\"}}",
		"{\"uid\":1,\"rules\":{\"mode\":\"on\"},\"more\":1}",
	};
	_cleanup_(buf_done) struct buf b = { 0 };
	struct egress_rules *rules;
	struct egress_order o;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (egress_order_parse(slice_of(bad[i]), &o) == 0)
			fail_row(i, bad[i]);
	assert_int_equal(egress_rules_parse(SLICE("{\"mode\":\"on\"}"), "r", &rules, NULL), 0);
	egress_order_put(&b, -1, rules);
	assert_int_equal(egress_order_parse(buf_slice(&b), &o), 0);
	assert_true(o.uid == -1 && egress_rules_same(o.rules, rules));
	egress_rules_free(o.rules);
	egress_rules_free(rules);
}

static void test_notice(void **state _unused_)
{
	static const char *const bad[] = {
		"{}",
		"{\"host\":\"\"}",
		"{\"host\":\"a b\"}",
		"{\"host\":\"a\\n\"}",
		"{\"host\":\"\xc3\xbc\"}",
		"{\"host\":\"a\",\"port\":0}",
		"{\"host\":\"a\",\"port\":65536}",
		"{\"host\":\"a\",\"up\":-1}",
		"{\"host\":\"a\",\"reason\":\"WHATEVER\"}",
		"{\"host\":\"a\",\"more\":1}",
	};
	const struct egress_notice n = { "a.example", 443, EGRESS_SNI_MISMATCH, 1,
					 (int64_t)1 << 50 };
	_cleanup_(buf_done) struct buf b = { 0 };
	struct egress_notice got;

	egress_notice_put(&b, &n);
	assert_int_equal(egress_notice_parse(buf_slice(&b), &got), 0);
	assert_string_equal(got.host, n.host);
	assert_true(got.port == n.port && got.reason == n.reason && got.up == n.up &&
		    got.down == n.down);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (egress_notice_parse(slice_of(bad[i]), &got) == 0)
			fail_row(i, bad[i]);
}

/* Every reason has a row, and each is found by its name alone. */
static void test_reasons(void **state _unused_)
{
	for (unsigned i = EGRESS_FINE + 1; i < EGRESS_REASON_MAX; i++) {
		const char *name = egress_reasons[i].name;

		assert_non_null(name);
		assert_non_null(egress_reasons[i].text);
		assert_int_equal(egress_reason_find(slice_of(name)), i);
		/* what has no answer has to be told otherwise */
		assert_true(egress_reasons[i].status || egress_reasons[i].blocks);
	}
	assert_int_equal(egress_reason_find(SLICE("")), EGRESS_FINE);
}

static void test_host_set(void **state _unused_)
{
	struct host_set s = { 0 };
	char host[16];

	for (int i = 0; i < EGRESS_HOSTS_TOLD; i++) {
		snprintf(host, sizeof(host), "h%d", i);
		assert_true(host_set_add(&s, host));
		assert_false(host_set_add(&s, host));
	}
	assert_false(host_set_add(&s, "one more"));
	assert_true(host_set_has(&s, "h255") && !host_set_has(&s, "one more"));
	host_set_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_settings), cmocka_unit_test(test_order),
		cmocka_unit_test(test_notice),	 cmocka_unit_test(test_reasons),
		cmocka_unit_test(test_host_set),
	};

	return RUN(tests, NULL, NULL);
}
