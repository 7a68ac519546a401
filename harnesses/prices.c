/*
 * prices.c - computes the cost of a model call from the client's price table, exactly.
 *
 * Prices are integers of 10^-12 currency units for a million tokens. The sum of tokens times price
 * can exceed 64 bits, so it is computed in 128 and divided once, rounded to nearest. Tokens of the
 * parts (cache reads and writes) are included in the input count and subtracted first; inconsistent
 * counts yield no cost.
 */
#include "harnesses/provider.h"

#include "base/limits.h"
#include "base/util.h"
#include "json/jstr.h"

#include <stdio.h>

enum price { PRICE_INPUT, PRICE_OUTPUT, PRICE_CACHE_READ, PRICE_WRITE_5M, PRICE_WRITE_1H, PRICES };

static const char *const names[PRICES] = { "input", "output", "cacheRead", "cacheWrite5m",
					   "cacheWrite1h" };

#define MILLION 1000000u

static bool is_price(struct jval v)
{
	int64_t n;

	return v.type == J_NUMBER && harness_cost_parse(v.raw, &n);
}

static bool is_price_kind(struct slice key)
{
	for (size_t i = 0; i < PRICES; i++)
		if (jkey_is(key, names[i]))
			return true;
	return false;
}

static int check_model(struct slice raw, const char *prefix, struct err *e)
{
	char path[192];

	jobj_each(key, v, raw) {
		snprintf(path, sizeof(path), "%s.%.*s", prefix, (int)MIN(key.n, 32u), key.p);
		if (!is_price_kind(key))
			return err_field(e, path, "PARAM_UNSUPPORTED",
					 "prices are input, output, cacheRead, cacheWrite5m and "
					 "cacheWrite1h");
		if (!is_price(v))
			return err_field(e, path, "FIELD_INVALID",
					 "%s must be an amount for a million tokens", path);
	}
	return 0;
}

int prices_check(struct slice raw, const char *prefix, struct err *e)
{
	char path[128];
	size_t n = 0;
	int r = 0;

	jobj_each(key, v, raw) {
		snprintf(path, sizeof(path), "%s%.*s", prefix, (int)MIN(key.n, 64u), key.p);
		if (n++ >= PRICED_MODELS_MAX)
			r = err_field(e, path, "TOO_MANY", "more than %d models",
				      PRICED_MODELS_MAX);
		else if (v.type != J_OBJECT)
			r = err_field(e, path, "FIELD_INVALID", "%s must be an object", path);
		else
			r = check_model(v.raw, path, e);
		if (r < 0)
			break;
	}
	return r;
}

static uint64_t count_of(const struct harness_usage *u, enum harness_count what)
{
	return u->has & 1u << what ? u->count[what] : 0;
}

/* How many tokens of each price. Parts that nobody told of are none: they are charged as the whole. */
static bool split_tokens(const struct harness_usage *u, uint64_t tokens[PRICES])
{
	uint64_t read = count_of(u, COUNT_CACHE_READ), write = count_of(u, COUNT_CACHE_WRITE);
	uint64_t input = count_of(u, COUNT_INPUT), hour = count_of(u, COUNT_CACHE_WRITE_1H);
	unsigned both = 1u << COUNT_INPUT | 1u << COUNT_OUTPUT;

	if ((u->has & both) != both || read > input || write > input - read || hour > write)
		return false;
	tokens[PRICE_INPUT] = input - read - write;
	tokens[PRICE_OUTPUT] = count_of(u, COUNT_OUTPUT);
	tokens[PRICE_CACHE_READ] = read;
	tokens[PRICE_WRITE_1H] = hour;
	/* The rest: writes of 5 minutes, and those whose lifetime the provider does not report. */
	tokens[PRICE_WRITE_5M] = write - hour;
	return true;
}

bool prices_cost(struct slice raw, const char *model, const struct harness_usage *u, int64_t *ret)
{
	struct slice prices = raw.n && model ? jobj_get(raw, model).raw : SLICE_NONE;
	unsigned __int128 sum = MILLION / 2; /* rounds the end */
	uint64_t tokens[PRICES];

	if (!prices.n || !split_tokens(u, tokens))
		return false;
	for (size_t i = 0; i < PRICES; i++) {
		struct jval v = jobj_get(prices, names[i]);
		int64_t price = 0;

		/* A price that is missing is only a problem if there are tokens of its kind. */
		if (tokens[i] && (v.type != J_NUMBER || !harness_cost_parse(v.raw, &price)))
			return false;
		sum += (unsigned __int128)tokens[i] * (uint64_t)price;
	}
	sum /= MILLION;
	*ret = sum > INT64_MAX ? INT64_MAX : (int64_t)sum;
	return true;
}
