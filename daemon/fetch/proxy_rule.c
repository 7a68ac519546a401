/*
 * proxy_rule.c - decides whether a request uses the proxy of the operator.
 *
 * fetch_transfer.c checks addresses by this decision and disables the NO_PROXY of libcurl, so both
 * always agree. An entry matches as a network, bit by bit, or as a domain, by whole labels. A port
 * in it limits the entry to that port. Loopback hosts never use a proxy.
 */
#include "fetch/fetch.h"

#include "base/format/digits.h"
#include "base/http/authority.h"
#include "base/http/http_fields.h"
#include "base/net/address_rules.h"

#include <netinet/in.h>

/* The bytes of an address, and how many. */
static size_t address_bytes(const struct sockaddr_storage *a, const unsigned char **ret)
{
	if (a->ss_family == AF_INET) {
		*ret = (const unsigned char *)&((const struct sockaddr_in *)a)->sin_addr;
		return 4;
	}
	*ret = (const unsigned char *)&((const struct sockaddr_in6 *)a)->sin6_addr;
	return 16;
}

/* host is an address within "network/bits", or equal to a network without bits. */
static bool in_network_text(struct slice text, struct slice host)
{
	struct slice network = text;
	bool has_bits = slice_cut(&text, '/', &network);
	struct sockaddr_storage a, b;
	const unsigned char *x, *y;
	uint64_t bits;
	size_t n;

	if (!address_parse(network, &a) || !address_parse(host, &b) || a.ss_family != b.ss_family)
		return false;
	n = address_bytes(&a, &x);
	address_bytes(&b, &y);
	bits = 8 * n;
	if (has_bits && (!u64_parse(text, &bits) || bits > 8 * n))
		return false;
	for (size_t i = 0; i < bits; i++)
		if ((x[i / 8] ^ y[i / 8]) & (0x80 >> (i % 8)))
			return false;
	return true;
}

static bool domain_has(struct slice domain, struct slice host)
{
	while (domain.n && domain.p[0] == '.')
		domain = slice_after(domain, 1);
	if (host.n && host.p[host.n - 1] == '.')
		host.n--;
	if (!domain.n || host.n < domain.n)
		return false;
	if (host.n > domain.n && host.p[host.n - domain.n - 1] != '.')
		return false;
	return http_words_same(domain, (struct slice){ host.p + host.n - domain.n, domain.n });
}

static bool entry_has(struct slice entry, struct slice host, int port)
{
	struct authority a = { entry, -1 };

	if (slice_is(entry, "*") || in_network_text(entry, host))
		return true;
	if (!authority_parse(entry, 1, &a))
		a = (struct authority){ entry, -1 };
	if (a.port >= 0 && a.port != port)
		return false;
	return in_network_text(a.host, host) || domain_has(a.host, host);
}

bool no_proxy_has(const char *list, struct slice host, int port)
{
	for (const char *p = list; p && *p;) {
		size_t n = strcspn(p, ", \t");

		if (n && entry_has((struct slice){ p, n }, host, port))
			return true;
		p += n;
		p += strspn(p, ", \t");
	}
	return false;
}

const char *proxy_rule_of(const struct fetch_settings *s, bool https, struct slice host, int port)
{
	const char *proxy = https ? s->https_proxy : s->http_proxy;

	if (!proxy || !*proxy || host_is_loopback(host) || no_proxy_has(s->no_proxy, host, port))
		return NULL;
	return proxy;
}
