#include "net/open_budget.h"

#include "base/slice.h"
#include "base/util.h"

#include <netinet/in.h>

/* Of IPv6 the network: a host has all addresses of a /64. */
static struct slice address_of(const struct sockaddr_storage *peer)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)peer;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)peer;

	if (peer->ss_family == AF_INET)
		return (struct slice){ (const char *)&v4->sin_addr, sizeof(v4->sin_addr) };
	if (peer->ss_family != AF_INET6)
		return SLICE_NONE;
	if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr))
		return (struct slice){ (const char *)&v6->sin6_addr.s6_addr[12], 4 };
	return (struct slice){ (const char *)&v6->sin6_addr, 8 };
}

static struct bucket *bucket_of(struct open_budget *b, struct slice address)
{
	uint32_t h = 2166136261u; /* FNV-1a */

	for (size_t i = 0; i < address.n; i++)
		h = (h ^ (uint8_t)address.p[i]) * 16777619u;
	return &b->peers[h % OPEN_PEERS];
}

bool open_budget_take(struct open_budget *b, const struct sockaddr_storage *peer, uint64_t now,
		      uint64_t bytes)
{
	unsigned n = (unsigned)MIN(bytes / OPEN_UNIT, (uint64_t)OPEN_BURST);

	return bucket_take_n(bucket_of(b, address_of(peer)), now, OPEN_BURST / 2, OPEN_UNIT_MS * 2,
			     n) &&
	       bucket_take_n(&b->all, now, OPEN_BURST, OPEN_UNIT_MS, n);
}
