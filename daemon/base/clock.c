#include "base/clock.h"

#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

static _Atomic uint64_t skipped;

static uint64_t clock_ms(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

uint64_t clock_mono_ms(void)
{
	return clock_ms(CLOCK_MONOTONIC) - clock_skipped_ms();
}

void clock_skip(uint64_t ms)
{
	atomic_fetch_add_explicit(&skipped, ms, memory_order_relaxed);
}

uint64_t clock_skipped_ms(void)
{
	return atomic_load_explicit(&skipped, memory_order_relaxed);
}

uint64_t clock_real_ms(void)
{
	return clock_ms(CLOCK_REALTIME);
}

static char *put_digits(char *p, unsigned n, unsigned digits)
{
	for (unsigned i = digits; i-- > 0; n /= 10)
		p[i] = (char)('0' + n % 10);
	return p + digits;
}

/* By hand: every usage record has three of them, and strftime and printf cost more than the rest of it. */
char *clock_iso(uint64_t real_ms, char out[CLOCK_ISO_SIZE])
{
	static const char before[] = "--T::.";
	time_t sec = (time_t)(real_ms / 1000);
	struct tm tm;
	char *p = out;

	gmtime_r(&sec, &tm);

	const unsigned rest[] = { (unsigned)tm.tm_mon + 1, (unsigned)tm.tm_mday,
				  (unsigned)tm.tm_hour,	   (unsigned)tm.tm_min,
				  (unsigned)tm.tm_sec,	   (unsigned)(real_ms % 1000) };

	p = put_digits(p, (unsigned)tm.tm_year + 1900, 4);
	for (size_t i = 0; i < sizeof(rest) / sizeof(*rest); i++) {
		*p++ = before[i];
		p = put_digits(p, rest[i], i == 5 ? 3 : 2);
	}
	*p++ = 'Z';
	*p = '\0';
	return out;
}
