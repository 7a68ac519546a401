#include "lifecycle/lease.h"

#include "base/util.h"

uint64_t lease_until(const struct lease_facts *f)
{
	uint64_t until = f->busy ? f->now + LEASE_HORIZON_SECS * 1000ul :
				   f->idle_since + LEASE_GRACE_SECS * 1000ul;

	if (f->drain_due)
		until = (f->busy ? f->drain_due : f->now) + LEASE_EXIT_SECS * 1000ul;
	if (f->life_due)
		until = MIN(until, f->life_due + LEASE_EXIT_SECS * 1000ul);
	return until;
}
