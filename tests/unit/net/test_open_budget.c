/* What clients without a token get: one address at most half, all of them together the whole. */
#include "base/util.h"
#include "net/ws.h"
#include "unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>

static struct sockaddr_storage address(const char *text)
{
	struct sockaddr_storage ret = { 0 };
	struct sockaddr_in *v4 = (struct sockaddr_in *)&ret;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&ret;

	if (inet_pton(AF_INET, text, &v4->sin_addr) == 1)
		ret.ss_family = AF_INET;
	else if (inet_pton(AF_INET6, text, &v6->sin6_addr) == 1)
		ret.ss_family = AF_INET6;
	return ret;
}

/* Units that this address gets at that time. */
static unsigned drain(struct open_budget *b, const char *text, uint64_t now)
{
	struct sockaddr_storage a = address(text);
	unsigned n = 0;

	while (open_budget_take(b, &a, now, OPEN_UNIT))
		n++;
	return n;
}

static void one_address_gets_half_and_all_of_them_the_whole(void **state _unused_)
{
	struct open_budget b = { 0 };

	assert_int_equal(drain(&b, "10.0.0.1", 1), OPEN_BURST / 2);
	assert_int_equal(drain(&b, "10.0.0.1", 1), 0);
	assert_int_equal(drain(&b, "10.0.0.2", 1), OPEN_BURST / 2);
	assert_int_equal(drain(&b, "10.0.0.3", 1), 0);
	assert_int_equal(drain(&b, "10.0.0.1", 1 + 100 * OPEN_UNIT_MS), 50);
	assert_int_equal(drain(&b, "10.0.0.3", 1 + 100 * OPEN_UNIT_MS), 50);
}

static void an_address_is_known_in_every_form_and_by_its_network(void **state _unused_)
{
	static const char *const same[][2] = { { "10.0.0.1", "::ffff:10.0.0.1" },
					       { "2001:db8::1", "2001:db8::2:3" } };

	for (size_t i = 0; i < ARRAY_SIZE(same); i++) {
		struct open_budget b = { 0 };

		assert_int_equal(drain(&b, same[i][0], 1), OPEN_BURST / 2);
		assert_int_equal(drain(&b, same[i][1], 1), 0);
	}
}

static void what_is_short_costs_nothing(void **state _unused_)
{
	struct sockaddr_storage a = address("10.0.0.1");
	struct open_budget b = { 0 };

	drain(&b, "10.0.0.1", 1);
	assert_true(open_budget_take(&b, &a, 1, OPEN_UNIT - 1));
	assert_false(open_budget_take(&b, &a, 1, UINT64_MAX));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_address_gets_half_and_all_of_them_the_whole),
		cmocka_unit_test(an_address_is_known_in_every_form_and_by_its_network),
		cmocka_unit_test(what_is_short_costs_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
