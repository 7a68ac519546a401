/* Which addresses are private, and what may be called by whom. */
#include "unit.h"

#include "base/net/address_rules.h"

static const struct {
	const char *address;
	enum address_kind kind;
} addresses[] = {
	{ "1.1.1.1", ADDRESS_PUBLIC },
	{ "8.8.8.8", ADDRESS_PUBLIC },
	{ "9.255.255.255", ADDRESS_PUBLIC },
	{ "10.0.0.0", ADDRESS_PRIVATE },
	{ "10.255.255.255", ADDRESS_PRIVATE },
	{ "11.0.0.0", ADDRESS_PUBLIC },
	{ "0.0.0.0", ADDRESS_PRIVATE },
	{ "0.1.2.3", ADDRESS_PRIVATE },
	{ "100.63.255.255", ADDRESS_PUBLIC },
	{ "100.64.0.1", ADDRESS_PRIVATE },
	{ "100.127.255.255", ADDRESS_PRIVATE },
	{ "100.128.0.0", ADDRESS_PUBLIC },
	{ "127.0.0.1", ADDRESS_PRIVATE },
	{ "127.255.255.255", ADDRESS_PRIVATE },
	{ "169.254.0.1", ADDRESS_PRIVATE },
	{ "172.15.255.255", ADDRESS_PUBLIC },
	{ "172.16.0.0", ADDRESS_PRIVATE },
	{ "172.31.255.255", ADDRESS_PRIVATE },
	{ "172.32.0.0", ADDRESS_PUBLIC },
	{ "192.0.0.8", ADDRESS_PRIVATE },
	{ "192.0.2.1", ADDRESS_PRIVATE },
	{ "192.167.255.255", ADDRESS_PUBLIC },
	{ "192.168.0.1", ADDRESS_PRIVATE },
	{ "198.17.255.255", ADDRESS_PUBLIC },
	{ "198.19.255.255", ADDRESS_PRIVATE },
	{ "203.0.113.9", ADDRESS_PRIVATE },
	{ "223.255.255.255", ADDRESS_PUBLIC },
	{ "224.0.0.1", ADDRESS_PRIVATE },
	{ "240.0.0.1", ADDRESS_PRIVATE },
	{ "255.255.255.255", ADDRESS_PRIVATE },
	{ "169.254.169.254", ADDRESS_METADATA },
	{ "169.254.170.2", ADDRESS_METADATA },
	{ "169.254.170.23", ADDRESS_METADATA },
	{ "100.100.100.200", ADDRESS_METADATA },
	{ "168.63.129.16", ADDRESS_METADATA },
	{ "192.0.0.192", ADDRESS_METADATA },
	{ "2606:4700::1111", ADDRESS_PUBLIC },
	{ "2001:4860:4860::8888", ADDRESS_PUBLIC },
	{ "::", ADDRESS_PRIVATE },
	{ "::1", ADDRESS_PRIVATE },
	{ "::8.8.8.8", ADDRESS_PRIVATE },
	{ "fe80::1", ADDRESS_PRIVATE },
	{ "fec0::1", ADDRESS_PRIVATE },
	{ "fc00::1", ADDRESS_PRIVATE },
	{ "fd12:3456::1", ADDRESS_PRIVATE },
	{ "ff02::1", ADDRESS_PRIVATE },
	{ "100::1", ADDRESS_PRIVATE },
	{ "2001::1", ADDRESS_PRIVATE }, /* Teredo */
	{ "2001:db8::1", ADDRESS_PRIVATE },
	{ "2002:808:808::1", ADDRESS_PRIVATE }, /* 6to4 */
	{ "2002:a9fe:a9fe::1", ADDRESS_METADATA },
	{ "3fff::1", ADDRESS_PRIVATE },
	{ "4000::1", ADDRESS_PRIVATE },
	{ "::ffff:8.8.8.8", ADDRESS_PRIVATE },
	{ "::ffff:127.0.0.1", ADDRESS_PRIVATE },
	{ "::ffff:169.254.169.254", ADDRESS_METADATA },
	{ "64:ff9b::8.8.8.8", ADDRESS_PUBLIC }, /* IPv4 for networks without it */
	{ "64:ff9b::10.0.0.1", ADDRESS_PRIVATE },
	{ "64:ff9b::169.254.169.254", ADDRESS_METADATA },
	{ "64:ff9b:1::8.8.8.8", ADDRESS_PRIVATE },
	{ "fd00:ec2::254", ADDRESS_METADATA },
	{ "fd20:ce::254", ADDRESS_METADATA },
};

static void test_addresses(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(addresses); i++) {
		struct sockaddr_storage a;

		if (!address_parse(slice_of(addresses[i].address), &a) ||
		    address_kind_of((struct sockaddr *)&a) != addresses[i].kind)
			fail_row(i, addresses[i].address);
	}
}

/* What the resolver takes for an address besides is a name here. */
static void test_names(void **state _unused_)
{
	static const char *const names[] = { "",	   "127.1",	"2130706433", "0x7f.0.0.1",
					     "0177.0.0.1", "fe80::1%1", "1.1.1.1.",   "localhost" };
	struct sockaddr_storage a;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (address_parse(slice_of(names[i]), &a))
			fail_row(i, names[i]);
	a.ss_family = AF_UNIX;
	assert_int_equal(address_kind_of((struct sockaddr *)&a), ADDRESS_METADATA);
}

#define REFUSED (-1)

static const struct {
	const char *host;
	bool named, proxied;
	const char *allow;
	int reach; /* on port 443 */
} calls[] = {
	{ "api.example.com", true, false, NULL, REACH_PUBLIC },
	{ "api.example.com", false, false, NULL, REACH_PUBLIC },
	{ "8.8.8.8", false, false, NULL, REACH_PUBLIC },
	{ "127.0.0.1", true, false, NULL, REACH_PRIVATE },
	{ "127.0.0.1", false, false, NULL, REFUSED },
	{ "::1", true, false, NULL, REACH_PRIVATE },
	{ "10.1.2.3", true, false, NULL, REACH_PRIVATE },
	{ "10.1.2.3", false, false, NULL, REFUSED },
	{ "10.1.2.3", false, false, "10.1.2.3", REACH_PRIVATE },
	{ "10.1.2.3", false, false, "10.1.2.3:443", REACH_PRIVATE },
	{ "10.1.2.3", false, false, "10.1.2.3:80", REFUSED },
	{ "localhost", true, false, NULL, REACH_LOOPBACK },
	{ "LocalHost.", true, false, NULL, REACH_LOOPBACK },
	{ "localhost", false, false, NULL, REFUSED },
	{ "x.localhost", true, false, NULL, REACH_PUBLIC },
	{ "inner.example", true, false, "inner.example", REACH_PRIVATE },
	{ "169.254.169.254", true, false, NULL, REFUSED },
	{ "169.254.169.254", true, false, "169.254.169.254", REACH_ALL },
	{ "metadata.google.internal", true, false, NULL, REFUSED },
	{ "Metadata.Google.Internal.", true, false, NULL, REFUSED },
	{ "metadata.google.internal", true, false, "metadata.google.internal", REACH_ALL },
	{ "api.example.com", false, true, NULL, REACH_ALL },
	{ "8.8.8.8", false, true, NULL, REACH_ALL },
	{ "10.1.2.3", true, true, NULL, REFUSED },
	{ "localhost", true, true, NULL, REFUSED },
	{ "10.1.2.3", true, true, "10.1.2.3", REACH_ALL },
	{ "metadata.google.internal", true, true, NULL, REFUSED },
};

static void test_calls(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		enum call_reach reach;
		const char *why = call_reach_of(slice_of(calls[i].host), 443, calls[i].named,
						calls[i].proxied, calls[i].allow, &reach);

		if ((why ? REFUSED : (int)reach) != calls[i].reach)
			fail_row(i, calls[i].host);
	}
}

static void test_reach(void **state _unused_)
{
	static const struct {
		const char *address;
		bool by[4]; /* enum call_reach */
	} rows[] = {
		{ "8.8.8.8", { true, false, true, true } },
		{ "127.0.0.1", { false, true, true, true } },
		{ "::1", { false, true, true, true } },
		{ "10.0.0.1", { false, false, true, true } },
		{ "169.254.169.254", { false, false, false, true } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct sockaddr_storage a;

		assert_true(address_parse(slice_of(rows[i].address), &a));
		for (size_t k = 0; k < 4; k++)
			if (call_reach_permits((enum call_reach)k, (struct sockaddr *)&a) !=
			    rows[i].by[k])
				fail_row(i, rows[i].address);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_reach),
	};

	return RUN(tests, NULL, NULL);
}
