/*
 * clock.c - the daemon's clocks, and ISO 8601 text.
 *
 * The skipped time is one atomic counter that any thread reads without a lock. Only the loop adds
 * to it. Callers that compare with the kernel's CLOCK_MONOTONIC, such as the timerfd of loop.c, add
 * it again.
 */
#include "base/clock.h"

#include "base/util.h"

#include <stdatomic.h>
#include <sys/random.h>

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

uint64_t clock_real_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return time_ns(&ts);
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

/* As many digits as the pattern has N; anything else stands for itself. */
static bool read_part(struct slice *text, const char *pattern, int *ret)
{
	*ret = 0;
	for (; *pattern; pattern++) {
		if (!text->n ||
		    (*pattern == 'N' ? *text->p < '0' || *text->p > '9' : *text->p != *pattern))
			return false;
		if (*pattern == 'N')
			*ret = *ret * 10 + (*text->p - '0');
		text->p++;
		text->n--;
	}
	return true;
}

/* Milliseconds; what is finer is cut off. */
static bool read_fraction(struct slice *text, unsigned *ms)
{
	unsigned unit = 100;

	*ms = 0;
	if (!slice_skip(text, "."))
		return true;
	if (!text->n || *text->p < '0' || *text->p > '9')
		return false;
	for (; text->n && *text->p >= '0' && *text->p <= '9'; text->p++, text->n--, unit /= 10)
		*ms += unit * (unsigned)(*text->p - '0');
	return true;
}

bool clock_iso_read(struct slice text, uint64_t *ret)
{
	struct tm tm = { 0 }, again;
	unsigned ms;
	time_t sec;

	if (!read_part(&text, "NNNN", &tm.tm_year) || !read_part(&text, "-NN", &tm.tm_mon) ||
	    !read_part(&text, "-NN", &tm.tm_mday) || !read_part(&text, "TNN", &tm.tm_hour) ||
	    !read_part(&text, ":NN", &tm.tm_min) || !read_part(&text, ":NN", &tm.tm_sec) ||
	    !read_fraction(&text, &ms) || !slice_is(text, "Z"))
		return false;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	again = tm;
	sec = timegm(&again);
	/* timegm takes a 31st of February for the 3rd of March */
	if (sec < 0 || again.tm_mon != tm.tm_mon || again.tm_mday != tm.tm_mday ||
	    again.tm_hour != tm.tm_hour || again.tm_min != tm.tm_min || again.tm_sec != tm.tm_sec)
		return false;
	*ret = (uint64_t)sec * 1000 + ms;
	return true;
}

uint64_t jitter_next(uint64_t last, uint64_t base, uint64_t max)
{
	uint64_t top = MAX(3 * last, 2 * base), random = 0;

	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
		random = clock_mono_ms();
	return MIN(base + random % (top - base), max);
}
