
/* The network of a setup: given, written down, read again, inherited. */
#include "session/parts/network/session_network.h"
#include "unit.h"

#define ON "{\"mode\":\"on\"}"
#define OFF "{\"mode\":\"off\"}"
#define ONE "{\"mode\":\"allowlist\",\"allow\":[{\"host\":\"a.example\"}]}"
#define TWO                                                                                        \
	"{\"mode\":\"allowlist\",\"allow\":[{\"host\":\"b.example\",\"ports\":[8443]}],\"ask\":true}"

/* As it stands in the journal; "" if nobody has said. */
static void text_of(const struct setup *s, struct buf *b)
{
	struct jw w = JW(b);

	if (network_rules_of(s))
		egress_rules_put(network_rules_of(s), &w, NULL);
	buf_putc(b, '\0');
}

static bool reads(const struct setup *s, const char *want)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	text_of(s, &b);
	return strcmp(b.data, want) == 0;
}

static const struct {
	const char *record, *want;
} records[] = {
	{ "{}", "" },
	{ "{\"network\":{\"mode\":\"open\"}}", ON }, /* what it was called at first */
	{ "{\"network\":" ON "}", ON },
	{ "{\"network\":" OFF "}", OFF },
	{ "{\"network\":" TWO "}", TWO },
	/* what is not understood allows nothing */
	{ "{\"network\":{\"mode\":\"allowlist\",\"hosts\":[]}}", OFF },
	{ "{\"network\":{}}", OFF },
	{ "{\"network\":7}", OFF },
};

static void rules_are_read_from_the_journal(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(records); i++) {
		struct setup s = { 0 };

		setup_load(&s, slice_of(records[i].record));
		if (!reads(&s, records[i].want))
			fail_row(i, records[i].record);
		setup_done(&s);
	}
}

static void give(struct setup *s, const char *network)
{
	if (*network)
		setup_change(s, &network_parameter, (struct jval){ J_OBJECT, slice_of(network) });
}

static void they_are_written_as_they_are_read(void **state _unused_)
{
	static const char *const all[] = { "", ON, OFF, ONE, TWO };

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		_cleanup_(buf_done) struct buf b = { 0 };
		struct setup s = { 0 }, again = { 0 };
		struct jw w = JW(&b);

		give(&s, all[i]);
		jw_obj(&w, NULL);
		setup_put(&s, &w);
		jw_end_obj(&w);
		setup_load(&again, buf_slice(&b));
		assert_true(reads(&again, all[i]));
		setup_done(&s);
		setup_done(&again);
	}
}

static const struct {
	const char *have, *given, *want;
	bool restart, written;
} changes[] = {
	{ "", "", "", false, false },	 { "", ON, ON, false, true },
	{ "", OFF, OFF, true, true },	 { OFF, "", OFF, false, false },
	{ OFF, OFF, OFF, false, false }, { OFF, ON, ON, true, true },
	{ OFF, ONE, ONE, false, true },	 { ONE, TWO, TWO, false, true },
	{ ONE, ONE, ONE, false, false }, { ON, TWO, TWO, true, true },
};

static void a_wall_restarts_the_harness(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		struct setup_params p = { 0 };
		struct setup s = { 0 };
		unsigned bits;

		give(&s, changes[i].have);
		if (*changes[i].given)
			setup_give(&p, &network_parameter,
				   (struct jval){ J_OBJECT, slice_of(changes[i].given) });
		bits = setup_apply(&s, &p);
		if (!reads(&s, changes[i].want) || !!(bits & SETUP_RESTART) != changes[i].restart ||
		    !!(bits & SETUP_CHANGED) != changes[i].written)
			fail_row(i, "change");
		setup_done(&s);
	}
}

static void a_fork_is_no_freer_than_its_original(void **state _unused_)
{
	struct setup from = { 0 }, said_on = { 0 }, fork = { 0 };

	give(&from, OFF);
	give(&said_on, ON);
	setup_inherit(&fork, &from);
	assert_true(reads(&fork, OFF));
	setup_inherit(&said_on, &from);
	assert_true(reads(&said_on, ON)); /* the client has said so */
	setup_done(&from);
	setup_done(&fork);
	setup_done(&said_on);
}

static void a_copy_can_be_gone_back_to(void **state _unused_)
{
	struct setup s = { 0 }, *copy;

	give(&s, ONE);
	copy = setup_copy(&s);
	give(&s, OFF);
	setup_restore(&s, copy);
	assert_true(reads(&s, ONE));
	setup_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_are_read_from_the_journal),
		cmocka_unit_test(they_are_written_as_they_are_read),
		cmocka_unit_test(a_wall_restarts_the_harness),
		cmocka_unit_test(a_fork_is_no_freer_than_its_original),
		cmocka_unit_test(a_copy_can_be_gone_back_to),
	};

	return RUN(tests, NULL, NULL);
}
