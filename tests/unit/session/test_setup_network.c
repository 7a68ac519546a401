/* The network of a setup: given, written down, read again, inherited. */
#include "session/harness/setup.h"
#include "unit.h"

static const struct {
	const char *record;
	enum network_mode want;
} records[] = {
	{ "{}", NETWORK_UNSET },
	{ "{\"network\":{\"mode\":\"open\"}}", NETWORK_OPEN },
	{ "{\"network\":{\"mode\":\"off\"}}", NETWORK_OFF },
	/* what is not understood allows nothing */
	{ "{\"network\":{\"mode\":\"allowlist\",\"hosts\":[]}}", NETWORK_OFF },
	{ "{\"network\":{}}", NETWORK_OFF },
	{ "{\"network\":7}", NETWORK_OFF },
};

static void a_mode_is_read_from_the_journal(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(records); i++) {
		struct setup s = { 0 };

		setup_load(&s, slice_of(records[i].record));
		if (s.network != records[i].want)
			fail_row(i, records[i].record);
		setup_done(&s);
	}
}

static void it_is_written_as_it_is_read(void **state _unused_)
{
	for (int mode = NETWORK_UNSET; mode < NETWORK_MAX; mode++) {
		_cleanup_(buf_done) struct buf b = { 0 };
		struct setup s = { .network = (enum network_mode)mode }, again = { 0 };
		struct jw w = JW(&b);

		jw_obj(&w, NULL);
		setup_put(&s, &w);
		jw_end_obj(&w);
		setup_load(&again, buf_slice(&b));
		assert_int_equal(again.network, mode);
		setup_done(&s);
		setup_done(&again);
	}
}

static const struct {
	enum network_mode have, given, want;
	bool restart, written;
} changes[] = {
	{ NETWORK_UNSET, NETWORK_UNSET, NETWORK_UNSET, false, false },
	{ NETWORK_UNSET, NETWORK_OPEN, NETWORK_OPEN, false, true },
	{ NETWORK_UNSET, NETWORK_OFF, NETWORK_OFF, true, true },
	{ NETWORK_OFF, NETWORK_UNSET, NETWORK_OFF, false, false },
	{ NETWORK_OFF, NETWORK_OFF, NETWORK_OFF, false, false },
	{ NETWORK_OFF, NETWORK_OPEN, NETWORK_OPEN, true, true },
};

static void a_change_restarts_the_harness(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		struct setup s = { .network = changes[i].have };
		unsigned bits =
			setup_apply(&s, &(struct setup_params){ .approval = APPROVAL_UNCHANGED,
								.network = changes[i].given });

		if (s.network != changes[i].want ||
		    !!(bits & SETUP_RESTART) != changes[i].restart ||
		    !!(bits & SETUP_CHANGED) != changes[i].written)
			fail_row(i, "change");
		setup_done(&s);
	}
}

static void a_fork_is_no_freer_than_its_original(void **state _unused_)
{
	struct setup from = { .network = NETWORK_OFF }, said_open = { .network = NETWORK_OPEN },
		     fork = { 0 };

	setup_inherit(&fork, &from);
	assert_int_equal(fork.network, NETWORK_OFF);
	setup_inherit(&said_open, &from);
	assert_int_equal(said_open.network, NETWORK_OPEN); /* the client has said so */
	setup_done(&fork);
	setup_done(&said_open);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mode_is_read_from_the_journal),
		cmocka_unit_test(it_is_written_as_it_is_read),
		cmocka_unit_test(a_change_restarts_the_harness),
		cmocka_unit_test(a_fork_is_no_freer_than_its_original),
	};

	return RUN(tests, NULL, NULL);
}
