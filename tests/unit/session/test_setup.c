/* What a change of a session's parameters asks of its harness: nothing, or a start. */
#include "unit.h"

#include "session/core/harness/setup.h"

#define TUNNEL(more) "{\"api\":\"openai-chat\",\"via\":\"tunnel\",\"model\":\"m\"" more "}"
#define OWN(more)                                                                                  \
	"{\"api\":\"openai-chat\",\"via\":\"environment\",\"key\":\"k1\",\"model\":\"m\"" more "}"

static const struct {
	const char *had, *given; /* NULL: no provider */
	unsigned changed;
} rows[] = {
	{ NULL, NULL, 0 },
	{ TUNNEL(""), NULL, 0 },
	{ TUNNEL(""), TUNNEL(""), 0 },
	{ NULL, TUNNEL(""), SETUP_CHANGED | SETUP_PROVIDER },
	{ TUNNEL(""), TUNNEL(",\"headers\":{\"a\":\"b\"}"), SETUP_CHANGED },
	{ TUNNEL(",\"headers\":{\"a\":\"b\"}"), TUNNEL(""), SETUP_CHANGED },
	{ TUNNEL(""), TUNNEL(",\"paths\":[\"GET /v1/x\"]"), SETUP_CHANGED },
	{ TUNNEL(""), TUNNEL(",\"models\":[\"n\"]"), SETUP_CHANGED | SETUP_PROVIDER },
	{ TUNNEL(""), TUNNEL(",\"smallModel\":\"n\""), SETUP_CHANGED | SETUP_PROVIDER },
	{ TUNNEL(""), TUNNEL(",\"idleTimeoutMs\":5000"), SETUP_CHANGED | SETUP_PROVIDER },
	{ TUNNEL(""), OWN(""), SETUP_CHANGED | SETUP_PROVIDER },
	{ OWN(""), TUNNEL(""), SETUP_CHANGED | SETUP_PROVIDER },
	{ OWN(""), OWN(",\"baseUrl\":\"http://x\""), SETUP_CHANGED | SETUP_PROVIDER },
	{ OWN(""), OWN(",\"headers\":{\"a\":\"b\"}"), SETUP_CHANGED | SETUP_PROVIDER },
};

static unsigned apply(struct setup *s, const char *provider)
{
	struct setup_params p = { 0 };

	if (provider)
		setup_give(&p, &provider_parameter, (struct jval){ J_OBJECT, slice_of(provider) });
	return setup_apply(s, &p);
}

static void only_what_the_harness_knows_of_a_provider_starts_it_anew(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct setup s = { 0 };
		unsigned changed;

		apply(&s, rows[i].had);
		changed = apply(&s, rows[i].given);
		if (changed != rows[i].changed)
			fail_msg("row %zu: %u", i, changed);
		assert_true((s.gateway.api != NULL) == (rows[i].had || rows[i].given));
		setup_done(&s);
	}
}

/* The model that a client chose is in force, and a provider that offers it changes nothing about it. */
static void a_chosen_model_stays(void **state _unused_)
{
	static const char changed[] = TUNNEL(",\"models\":[\"n\"],\"headers\":{\"a\":\"b\"}");
	struct setup s = { 0 };

	apply(&s, TUNNEL(",\"models\":[\"n\"]"));
	setup_choose(&s, SLICE("\"model\""), SLICE("\"model\""), SLICE("\"n\""));
	assert_int_equal(setup_change_provider(&s, slice_of(changed), false), SETUP_CHANGED);
	assert_string_equal(s.gateway.model, "n");
	setup_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_the_harness_knows_of_a_provider_starts_it_anew),
		cmocka_unit_test(a_chosen_model_stays),
	};

	return RUN(tests, NULL, NULL);
}
