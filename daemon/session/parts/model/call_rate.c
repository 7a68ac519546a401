/* call_rate.c - a sliding window of one minute, as a ring of times. Exact: a bucket that refills would allow almost twice
 * as many in some minutes. */
#include "session/parts/model/call_rate.h"

#include "base/util.h"

#define MINUTE_MS 60000

/* The newest are kept. */
static void resize(struct call_rate *r, unsigned size)
{
	uint64_t *at = xalloc(size * sizeof(*at));
	unsigned kept = MIN(size, r->size), from = r->next + r->size - kept;

	for (unsigned i = 0; i < size; i++)
		at[i] = i < size - kept ? 0 : r->at[(from + i - (size - kept)) % r->size];
	free(r->at);
	*r = (struct call_rate){ at, size, 0 };
}

uint64_t call_rate_take(struct call_rate *r, unsigned max, uint64_t now)
{
	uint64_t oldest;

	if (r->size != max)
		resize(r, max);
	/* The ring has as many places as a minute may have events: the one to be overwritten decides. */
	oldest = r->at[r->next];
	if (oldest && now < oldest + MINUTE_MS)
		return oldest + MINUTE_MS - now;
	r->at[r->next] = now;
	r->next = (r->next + 1) % r->size;
	return 0;
}

void call_rate_done(struct call_rate *r)
{
	free(r->at);
	*r = (struct call_rate){ 0 };
}
