/*
 * retention.c - parses and prints retention limits, "AGE,SIZE".
 *
 * The limits come from the command line or the environment. Units are integers and the product is
 * checked before it is computed, so that a limit never wraps to a small number and deletes
 * everything. The printed form parses back to the same value; the tables are sorted for that,
 * smallest unit first.
 */
#include "base/format/retention.h"

#include "base/format/digits.h"
#include "base/util.h"

#define AGE_MAX (INT64_C(10000) * 366 * 86400)
#define BYTES_MAX (INT64_C(1) << 62)

struct unit {
	char letter;
	int64_t is;
};

/* Smallest first. */
static const struct unit ages[] = {
	{ 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 }, { 'w', 7 * 86400 }, { 0, 0 },
};
static const struct unit sizes[] = {
	{ 'k', 1 << 10 }, { 'm', 1 << 20 }, { 'g', 1 << 30 }, { 't', INT64_C(1) << 40 }, { 0, 0 },
};

/* Parses the text from p to end. An empty text is 0: no bound. */
static int parse_part(const char *p, const char *end, const struct unit *u, int64_t max,
		      int64_t *ret)
{
	struct slice s = { p, (size_t)(end - p) };
	int64_t unit = 1;
	uint64_t n;

	*ret = 0;
	if (!s.n)
		return 0;
	if (!u64_take(&s, s.n, &n) || s.n > 1)
		return -EINVAL;
	if (s.n) {
		while (u->letter && u->letter != *s.p)
			u++;
		unit = u->is;
	}
	if (!unit || !n || n > (uint64_t)(max / unit))
		return -EINVAL;
	*ret = (int64_t)n * unit;
	return 0;
}

int retention_parse(const char *text, struct retention *ret)
{
	const char *comma = strchr(text, ','), *end = text + strlen(text);
	struct retention k = { 0 };

	if (parse_part(text, comma ? comma : end, ages, AGE_MAX, &k.age_secs) < 0 ||
	    (comma && parse_part(comma + 1, end, sizes, BYTES_MAX, &k.bytes) < 0))
		return -EINVAL;
	*ret = k;
	return 0;
}

static void retention_put_part(char *out, size_t size, int64_t n, const struct unit *u)
{
	struct unit best = { 0, 1 };

	for (; u->letter; u++)
		if (n % u->is == 0)
			best = *u;
	if (best.letter)
		snprintf(out, size, "%lld%c", (long long)(n / best.is), best.letter);
	else
		snprintf(out, size, "%lld", (long long)n);
}

const char *retention_text(const struct retention *k, char out[RETENTION_TEXT_MAX])
{
	size_t n;

	out[0] = 0;
	if (k->age_secs)
		retention_put_part(out, RETENTION_TEXT_MAX / 2, k->age_secs, ages);
	n = strlen(out);
	if (k->bytes) {
		out[n] = ',';
		retention_put_part(out + n + 1, RETENTION_TEXT_MAX / 2 - 1, k->bytes, sizes);
	}
	return out;
}
