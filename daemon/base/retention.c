#include "base/retention.h"

#include "base/util.h"

#include <errno.h>
#include <stdio.h>

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

/* Up to end; nothing there is 0, no bound. */
static int parse_part(const char *p, const char *end, const struct unit *u, int64_t max,
		      int64_t *ret)
{
	int64_t n = 0, unit = 1;

	*ret = 0;
	if (p == end)
		return 0;
	if (*p < '0' || *p > '9')
		return -EINVAL;
	for (; p < end && *p >= '0' && *p <= '9'; p++)
		if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, *p - '0', &n))
			return -EINVAL;
	if (p < end) {
		while (u->letter && u->letter != *p)
			u++;
		unit = u->is;
		p++;
	}
	if (p != end || !unit || !n || n > max / unit)
		return -EINVAL;
	*ret = n * unit;
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

static void put_part(char *out, size_t size, int64_t n, const struct unit *u)
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
		put_part(out, RETENTION_TEXT_MAX / 2, k->age_secs, ages);
	n = strlen(out);
	if (k->bytes) {
		out[n] = ',';
		put_part(out + n + 1, RETENTION_TEXT_MAX / 2 - 1, k->bytes, sizes);
	}
	return out;
}
