/* The text that nft is given: elements in order and once, what changes between two of them, a table's name. */
#include "unit.h"

#include "egress/nft_rules.h"

#define TABLE "acpd_0123abcd"

/* "u1500", "p4096", "w1500 127.1.2.3 80". */
static struct nft_elements elements(const char *const *words)
{
	struct nft_elements e = { 0 };
	struct nft_way way = { { 0 }, 0 };
	unsigned uid;

	for (; *words; words++) {
		if (**words == 'u')
			nft_elements_add_uid(&e, (uid_t)atoi(*words + 1));
		else if (**words == 'p')
			nft_elements_add_port(&e, (uint16_t)atoi(*words + 1));
		else if (sscanf(*words, "w%u %45s %hu", &uid, way.host, &way.port) == 3)
			assert_int_equal(nft_elements_add_way(&e, uid, &way), 0);
		else
			fail();
	}
	return e;
}

#define ELEMENTS(...) elements((const char *const[]){ __VA_ARGS__, NULL })

static void elements_are_in_order_and_once(void **state _unused_)
{
	static const char *const want[] = { "daemon { 4096 }", "refused { 1500 }",
					    "walled { 1500 }", "way4 { 1500 . 127.1.2.3 . 80 }",
					    "way6 { 1500 . ::1 . 81 }" };
	struct nft_elements a = ELEMENTS("w1500 ::1 81", "u1500", "p4096", "w1500 127.1.2.3 80",
					 "u1500", "p4096"),
			    b = ELEMENTS("p4096", "w1500 127.1.2.3 80", "w1500 ::1 81", "u1500"),
			    c = ELEMENTS("p4096", "w1500 127.1.2.3 80", "w1500 ::1 82", "u1500");

	assert_int_equal(a.n, ARRAY_SIZE(want));
	for (size_t i = 0; i < a.n; i++)
		assert_string_equal(a.v[i], want[i]);
	assert_true(nft_elements_same(&a, &b));
	assert_false(nft_elements_same(&a, &c));
	nft_elements_done(&a);
	assert_false(nft_elements_same(&a, &b));
	nft_elements_done(&b);
	nft_elements_done(&c);
}

static void only_addresses_are_ways(void **state _unused_)
{
	static const struct nft_way bad[] = {
		{ "", 1 }, { "localhost", 1 }, { "127.0.0.1 }", 1 }, { "[::1]", 1 }
	};
	struct nft_elements e = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(nft_elements_add_way(&e, 1500, &bad[i]), -EINVAL);
	assert_int_equal(e.n, 0);
}

static void a_change_is_what_differs(void **state _unused_)
{
	struct nft_elements none = { 0 }, from = ELEMENTS("u1500", "w1500 127.1.2.3 80"),
			    to = ELEMENTS("u1500", "u1501", "w1500 127.1.2.3 81");
	_cleanup_(buf_done) struct buf b = { 0 };

	nft_rules_put_change(&b, TABLE, &from, &to);
	assert_buf(&b, "add element inet " TABLE " refused { 1501 }\n"
		       "add element inet " TABLE " walled { 1501 }\n"
		       "delete element inet " TABLE " way4 { 1500 . 127.1.2.3 . 80 }\n"
		       "add element inet " TABLE " way4 { 1500 . 127.1.2.3 . 81 }\n");
	buf_reset(&b);
	nft_rules_put_change(&b, TABLE, &to, &to);
	assert_buf(&b, "");
	nft_rules_put_change(&b, TABLE, &none, &from);
	nft_rules_put_change(&b, TABLE, &from, &none);
	assert_buf(&b, "add element inet " TABLE " refused { 1500 }\n"
		       "add element inet " TABLE " walled { 1500 }\n"
		       "add element inet " TABLE " way4 { 1500 . 127.1.2.3 . 80 }\n"
		       "delete element inet " TABLE " refused { 1500 }\n"
		       "delete element inet " TABLE " walled { 1500 }\n"
		       "delete element inet " TABLE " way4 { 1500 . 127.1.2.3 . 80 }\n");
	nft_elements_done(&from);
	nft_elements_done(&to);
}

static void a_table_is_named_by_its_directory(void **state _unused_)
{
	char a[NFT_TABLE_SIZE], b[NFT_TABLE_SIZE], c[NFT_TABLE_SIZE], way[128];

	nft_table_name(scratch_dir(), a);
	snprintf(way, sizeof(way), "%s/.", scratch_dir());
	nft_table_name(way, b);
	nft_table_name("/nonexistent/state", c);
	assert_int_equal(strlen(a), NFT_TABLE_SIZE - 1);
	assert_string_equal(a, b);
	assert_string_not_equal(a, c);
	assert_int_equal(strncmp(a, "acpd_", 5), 0);
	assert_int_equal(strspn(a + 5, "0123456789abcdef"), 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(elements_are_in_order_and_once),
		cmocka_unit_test(only_addresses_are_ways),
		cmocka_unit_test(a_change_is_what_differs),
		cmocka_unit_test(a_table_is_named_by_its_directory),
	};

	return RUN(tests, scratch_setup, scratch_done);
}
