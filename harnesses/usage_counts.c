/*
 * usage_counts.c - numbers of the harnesses' usage reports, read without losing a digit.
 *
 * A count that is no integer up to 2^53 is absent. A cost is decimal text: it is scaled to COST_UNIT in 128 bits and rounded
 * once, never read as a double.
 */
#include "harnesses/harness.h"

#include "base/format/digits.h"

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
	bool minus;
	uint64_t n;

	if (!s->n)
		return true;
	if (!slice_skip(s, "e") && !slice_skip(s, "E"))
		return false;
	minus = slice_skip(s, "-");
	if (!minus)
		slice_skip(s, "+");
	if (!u64_parse(*s, &n))
		return false;
	/* Limited so that the sum of all scales fits an int. */
	n = MIN(n, 100000u);
	*scale += minus ? -(int)n : (int)n;
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
	bool minus = slice_skip(&s, "-");
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
	if (!before || !take_exponent(&s, &scale) || (minus && value) || !scale_up(&value, scale))
		return false;
	*ret = (int64_t)value;
	return true;
}
