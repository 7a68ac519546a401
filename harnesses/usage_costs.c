/*
 * usage_costs.c - counts and costs of usage reports, and what a model call costs by the client's prices; no digit is lost.
 *
 * A count that is no integer up to 2^53 is absent. A cost is decimal text: it is scaled to COST_UNIT in 128 bits and rounded
 * once, never read as a double. Prices are integers of COST_UNIT for a million tokens. The sum of tokens times price can
 * exceed 64 bits, so it is computed in 128 and divided once, rounded to nearest. Tokens of the parts (cache reads and
 * writes) are included in the input count and subtracted first; inconsistent counts yield no cost.
 */
#include "harnesses/provider.h"

#include "base/format/digits.h"
#include "base/limits.h"
#include "base/util.h"
#include "json/jstr.h"

/* --- what a harness reports ----------------------------------------------------------------------------------- */

#define COUNT_VALUE_MAX (1ull << 53) /* above, readers of JSON disagree about it */

void harness_usage_set(struct harness_usage *u, enum harness_count what, struct jval v)
{
	uint64_t n = 0;

	if (v.type != J_NUMBER || !u64_parse(v.raw, &n) || n > COUNT_VALUE_MAX)
		return;
	u->count[what] = n;
	u->has |= 1u << what;
}

#define COST_MAX 9000000000000000000ull
#define MANTISSA_MAX ((unsigned __int128)1 << 100) /* more digits change no cost */

/* Digits, up to one that is none. Those that find no room count as zeros. Returns how many there were. */
static size_t take_digits(struct slice *s, unsigned __int128 *value, int *scale)
{
	size_t n = 0;

	for (; n < s->n && s->p[n] >= '0' && s->p[n] <= '9'; n++) {
		if (*value < MANTISSA_MAX)
			*value = *value * 10 + (unsigned)(s->p[n] - '0');
		else
			++*scale;
	}
	*s = slice_after(*s, n);
	return n;
}

/* "e-7"; false: there is something else. */
static bool take_exponent(struct slice *s, int *scale)
{
	bool is_negative;
	uint64_t n;

	if (!s->n)
		return true;
	if (!slice_skip(s, "e") && !slice_skip(s, "E"))
		return false;
	is_negative = slice_skip(s, "-");
	if (!is_negative)
		slice_skip(s, "+");
	if (!u64_parse(*s, &n))
		return false;
	/* Limited so that the sum of all scales fits an int. */
	n = MIN(n, 100000u);
	*scale += is_negative ? -(int)n : (int)n;
	return true;
}

static bool scale_up(unsigned __int128 *value, int scale)
{
	for (; scale > 0 && *value; scale--) {
		/* Before the multiplication, so that 128 bits never overflow. */
		if (*value > COST_MAX)
			return false;
		*value *= 10;
	}
	/* All digits but one are cut off, and the last division rounds: rounding at each step would add
	 * up. */
	for (; scale < -1 && *value; scale++)
		*value /= 10;
	if (scale == -1)
		*value = (*value + 5) / 10;
	return *value <= COST_MAX;
}

/* Exact up to 10^-12, and rounded there. */
bool harness_cost_parse(struct slice number, int64_t *ret)
{
	unsigned __int128 value = 0;
	struct slice s = number;
	bool is_negative = slice_skip(&s, "-");
	int scale = 12; /* of COST_UNIT */
	size_t before, after = 0;

	before = take_digits(&s, &value, &scale);
	if (slice_skip(&s, ".")) {
		/* Only the decimal places that were added to the value move the point. */
		int dropped = 0;

		after = take_digits(&s, &value, &dropped);
		if (!after)
			return false;
		scale += dropped - (int)MIN(after, 1000000u);
	}
	/* -0 is a valid cost; any other negative number is not. */
	if (!before || !take_exponent(&s, &scale) || (is_negative && value) ||
	    !scale_up(&value, scale))
		return false;
	*ret = (int64_t)value;
	return true;
}

/* --- what the client's prices make of it --------------------------------------------------------------------------- */

enum price { PRICE_INPUT, PRICE_OUTPUT, PRICE_CACHE_READ, PRICE_WRITE_5M, PRICE_WRITE_1H, PRICES };

static const char *const price_names[PRICES] = { "input", "output", "cacheRead", "cacheWrite5m",
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
		if (jkey_is(key, price_names[i]))
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
		struct jval v = jobj_get(prices, price_names[i]);
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
