/* usage_counts.c - numbers of the harnesses' usage reports, read without losing a digit. */
#include "harnesses/harness.h"

#include "base/digits.h"

#include <errno.h>

void harness_usage_set(struct harness_usage *u, enum harness_count what, struct jval v)
{
	uint64_t n = 0;

	if (v.type != J_NUMBER || v.raw.n > 18 || !u64_parse(v.raw, &n))
		return;
	u->count[what] = n;
	u->has |= 1u << what;
}

/* Costs are small and rounding to 10^-12 is finer than any price; a double carries 15 digits. */
bool harness_cost_parse(struct slice number, int64_t *ret)
{
	char text[40], *end;
	double d;

	if (!number.n || number.n >= sizeof(text))
		return false;
	memcpy(text, number.p, number.n);
	text[number.n] = '\0';
	errno = 0;
	d = strtod(text, &end) * (double)COST_UNIT;
	if (*end || errno || !(d >= 0 && d < 9e18))
		return false;
	*ret = (int64_t)(d + 0.5);
	return true;
}
