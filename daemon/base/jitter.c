#include "base/jitter.h"

#include "base/clock.h"
#include "base/util.h"

#include <sys/random.h>

uint64_t jitter_next(uint64_t last, uint64_t base, uint64_t max)
{
	uint64_t top = MAX(3 * last, 2 * base), random = 0;

	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
		random = clock_mono_ms();
	return MIN(base + random % (top - base), max);
}
