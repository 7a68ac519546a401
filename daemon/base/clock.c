#include "base/clock.h"

#include <stdio.h>
#include <time.h>

static uint64_t clock_ms(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

uint64_t clock_mono_ms(void)
{
	return clock_ms(CLOCK_MONOTONIC);
}

uint64_t clock_real_ms(void)
{
	return clock_ms(CLOCK_REALTIME);
}

char *clock_iso(uint64_t real_ms, char out[CLOCK_ISO_SIZE])
{
	time_t sec = (time_t)(real_ms / 1000);
	char day[24];
	struct tm tm;

	gmtime_r(&sec, &tm);
	strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(out, CLOCK_ISO_SIZE, "%s.%03uZ", day, (unsigned)(real_ms % 1000));
	return out;
}
