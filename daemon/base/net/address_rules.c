/*
 * address_rules.c - the tables of networks behind the decision which address may be called (SSRF
 * protection).
 *
 * A connection is checked twice: by call_reach_of before name resolution, and by call_reach_permits
 * for each resolved address just before connect. The second check is the binding one, since DNS can
 * answer differently each time. Tables are searched in order, so metadata addresses precede the
 * private networks that contain them. IPv6 is private unless a row allows it. An address family
 * without a table counts as metadata, the most restricted kind.
 */
#include "base/net/address_rules.h"

#include "base/http/authority.h"
#include "base/http/http_fields.h"
#include "base/util.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <netinet/in.h>

/* --- addresses ------------------------------------------------------------------------------------------------ */

struct address_row {
	const char *network;
	unsigned bits;
	enum address_kind kind;
};

/* The first row that fits. Metadata services: AWS (EC2, ECS, EKS), Alibaba, Azure, Oracle, Google. */
static const struct address_row v4_rows[] = {
	{ "169.254.169.254", 32, ADDRESS_METADATA },
	{ "169.254.170.2", 32, ADDRESS_METADATA },
	{ "169.254.170.23", 32, ADDRESS_METADATA },
	{ "100.100.100.200", 32, ADDRESS_METADATA },
	{ "168.63.129.16", 32, ADDRESS_METADATA },
	{ "192.0.0.192", 32, ADDRESS_METADATA },
	{ "0.0.0.0", 8, ADDRESS_PRIVATE },
	{ "10.0.0.0", 8, ADDRESS_PRIVATE },
	{ "100.64.0.0", 10, ADDRESS_PRIVATE },
	{ "127.0.0.0", 8, ADDRESS_PRIVATE },
	{ "169.254.0.0", 16, ADDRESS_PRIVATE },
	{ "172.16.0.0", 12, ADDRESS_PRIVATE },
	{ "192.0.0.0", 24, ADDRESS_PRIVATE },
	{ "192.0.2.0", 24, ADDRESS_PRIVATE },
	{ "192.88.99.0", 24, ADDRESS_PRIVATE },
	{ "192.168.0.0", 16, ADDRESS_PRIVATE },
	{ "198.18.0.0", 15, ADDRESS_PRIVATE },
	{ "198.51.100.0", 24, ADDRESS_PRIVATE },
	{ "203.0.113.0", 24, ADDRESS_PRIVATE },
	{ "224.0.0.0", 3, ADDRESS_PRIVATE }, /* multicast, reserved, broadcast */
};

/* Public IPv6 is 2000::/3, without what carries other networks, and the translation of public IPv4 (64:ff9b::/96). */
static const struct address_row v6_rows[] = {
	{ "fd00:ec2::254", 128, ADDRESS_METADATA },
	{ "fd00:ec2::23", 128, ADDRESS_METADATA },
	{ "fd20:ce::254", 128, ADDRESS_METADATA },
	{ "2001::", 23, ADDRESS_PRIVATE },
	{ "2001:db8::", 32, ADDRESS_PRIVATE },
	{ "3fff::", 20, ADDRESS_PRIVATE },
	{ "2000::", 3, ADDRESS_PUBLIC },
	{ "::", 0, ADDRESS_PRIVATE },
};

static bool in_network(int family, const struct address_row *r, const unsigned char *at)
{
	unsigned char network[16];
	unsigned whole = r->bits / 8, rest = r->bits % 8;

	inet_pton(family, r->network, network);
	if (memcmp(network, at, whole) != 0)
		return false;
	return !rest || (network[whole] ^ at[whole]) >> (8 - rest) == 0;
}

static enum address_kind address_find_row(int family, const struct address_row *rows, size_t n,
					  const unsigned char *at)
{
	for (size_t i = 0; i < n; i++)
		if (in_network(family, &rows[i], at))
			return rows[i].kind;
	return ADDRESS_PUBLIC;
}

static enum address_kind v4_kind(const unsigned char *at)
{
	return address_find_row(AF_INET, v4_rows, ARRAY_SIZE(v4_rows), at);
}

/* Forms of IPv6 that mean an IPv4 address, which stands at this byte. */
static const struct {
	const char *network;
	unsigned bits, at;
	bool translates; /* networks without IPv4 reach all of IPv4 that way, so a public one is public */
} carriers[] = {
	{ "::ffff:0:0", 96, 12, false },
	{ "64:ff9b::", 96, 12, true },
	{ "::", 96, 12, false },
	{ "2002::", 16, 2, false },
};

static enum address_kind v6_kind(const unsigned char *at)
{
	for (size_t i = 0; i < ARRAY_SIZE(carriers); i++) {
		struct address_row r = { carriers[i].network, carriers[i].bits, ADDRESS_PRIVATE };
		enum address_kind inner;

		if (!in_network(AF_INET6, &r, at))
			continue;
		inner = v4_kind(at + carriers[i].at);
		return inner == ADDRESS_PUBLIC && !carriers[i].translates ? ADDRESS_PRIVATE : inner;
	}
	return address_find_row(AF_INET6, v6_rows, ARRAY_SIZE(v6_rows), at);
}

enum address_kind address_kind_of(const struct sockaddr *a)
{
	if (a->sa_family == AF_INET)
		return v4_kind((const unsigned char *)&((const struct sockaddr_in *)a)->sin_addr);
	if (a->sa_family == AF_INET6)
		return v6_kind((const unsigned char *)&((const struct sockaddr_in6 *)a)->sin6_addr);
	return ADDRESS_METADATA; /* nothing that we know how to judge */
}

bool address_is_loopback(const struct sockaddr *a)
{
	if (a->sa_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)a)->sin_addr.s_addr) >> 24 == 127;
	return a->sa_family == AF_INET6 &&
	       IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)a)->sin6_addr);
}

bool address_parse(struct slice host, struct sockaddr_storage *ret)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)ret;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret;
	char text[INET6_ADDRSTRLEN];

	memset(ret, 0, sizeof(*ret));
	if (!host.n || host.n >= sizeof(text))
		return false;
	snprintf(text, sizeof(text), "%.*s", (int)host.n, host.p);
	if (inet_pton(AF_INET, text, &v4->sin_addr) == 1)
		ret->ss_family = AF_INET;
	else if (inet_pton(AF_INET6, text, &v6->sin6_addr) == 1)
		ret->ss_family = AF_INET6;
	return ret->ss_family != 0;
}

/* --- the list of --upstream-allow ----------------------------------------------------------------------------- */

/* Takes the next entry off the front; false: there is none. */
static bool upstream_allow_next(struct slice *rest, struct slice *entry)
{
	if (!slice_item(rest, ',', entry))
		return false;
	*entry = slice_trim(*entry, " ");
	return true;
}

static struct slice without_dot(struct slice host)
{
	return host.n && host.p[host.n - 1] == '.' ? (struct slice){ host.p, host.n - 1 } : host;
}

int upstream_allow_check(const char *list, struct err *e)
{
	struct slice rest = slice_of(list), entry;
	struct authority a;

	while (upstream_allow_next(&rest, &entry))
		if (!authority_parse(entry, 1, &a))
			return err_field(e, "upstream-allow", "OPTION_INVALID",
					 "--upstream-allow: '%.*s' is not HOST or HOST:PORT",
					 (int)entry.n, entry.p);
	return 0;
}

bool upstream_allow_has(const char *list, struct slice host, int port)
{
	struct slice rest = slice_of(list), entry;
	struct authority a;

	while (upstream_allow_next(&rest, &entry))
		if (authority_parse(entry, 1, &a) && (a.port < 0 || a.port == port) &&
		    http_words_same(without_dot(a.host), without_dot(host)))
			return true;
	return false;
}

/* --- hosts ---------------------------------------------------------------------------------------------------- */

static const char *const metadata_names[] = {
	"metadata",	 "metadata.google.internal",   "metadata.goog",
	"instance-data", "instance-data.ec2.internal",
};

static bool host_is_named(struct slice host, const char *name)
{
	return http_word_is(without_dot(host), name);
}

static bool is_metadata_name(struct slice host)
{
	for (size_t i = 0; i < ARRAY_SIZE(metadata_names); i++)
		if (host_is_named(host, metadata_names[i]))
			return true;
	return false;
}

void address_set_port(struct sockaddr_storage *a, int port)
{
	if (a->ss_family == AF_INET)
		((struct sockaddr_in *)a)->sin_port = htons((uint16_t)port);
	else
		((struct sockaddr_in6 *)a)->sin6_port = htons((uint16_t)port);
}

bool host_is_loopback(struct slice host)
{
	struct sockaddr_storage a;

	return host_is_named(host, "localhost") ||
	       (address_parse(host, &a) && address_is_loopback((struct sockaddr *)&a));
}

static bool label_is_number(struct slice label)
{
	bool hex = label.n > 1 && label.p[0] == '0' && (label.p[1] | 0x20) == 'x';

	for (size_t i = hex ? 2 : 0; i < label.n; i++)
		if (!(hex ? isxdigit((unsigned char)label.p[i]) :
			    isdigit((unsigned char)label.p[i])))
			return false;
	return label.n;
}

/* Programs take 2130706433, 0x7f.1 and 0177.0.0.1 for addresses: no name ends in a number. */
static bool ends_in_number(struct slice host)
{
	size_t at;

	host = without_dot(host);
	for (at = host.n; at && host.p[at - 1] != '.'; at--)
		;
	return label_is_number(slice_after(host, at));
}

#define NOT_ALLOWED " without --upstream-allow"

const char *call_reach_of(struct slice host, int port, bool named, bool proxied, const char *allow,
			  enum call_reach *ret)
{
	struct sockaddr_storage a;
	bool literal = address_parse(host, &a);
	enum address_kind kind = literal ? address_kind_of((struct sockaddr *)&a) : ADDRESS_PUBLIC;
	bool local = host_is_named(host, "localhost");
	bool metadata = kind == ADDRESS_METADATA || is_metadata_name(host);

	*ret = REACH_ALL;
	/* The operator's list precedes all other rules, and is the only way to reach metadata. */
	if (upstream_allow_has(allow, host, port)) {
		if (!proxied && !metadata)
			*ret = REACH_PRIVATE;
		return NULL;
	}
	if (metadata)
		return "the host is a metadata service, which is not called" NOT_ALLOWED;
	if (!literal && ends_in_number(host))
		return "the host is a number: an address is written as 192.0.2.1";
	if ((kind == ADDRESS_PRIVATE || local) && !named)
		return "the host is a private address, which is not called" NOT_ALLOWED;
	if ((kind == ADDRESS_PRIVATE || local) && proxied)
		return "the host is a private address, which no proxy is asked for" NOT_ALLOWED
		       " or NO_PROXY";
	if (proxied)
		return NULL;
	*ret = local ? REACH_LOOPBACK : kind == ADDRESS_PRIVATE ? REACH_PRIVATE : REACH_PUBLIC;
	return NULL;
}

bool call_reach_permits(enum call_reach r, const struct sockaddr *a)
{
	switch (r) {
	case REACH_ALL:
		return true;
	case REACH_PRIVATE:
		return address_kind_of(a) != ADDRESS_METADATA;
	case REACH_LOOPBACK:
		return address_is_loopback(a);
	case REACH_PUBLIC:
		return address_kind_of(a) == ADDRESS_PUBLIC;
	}
	return false;
}
