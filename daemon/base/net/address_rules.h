/*
 * address_rules.h - which addresses may be called. Pure.
 *
 * A request is judged before it starts, by its host and port, and again for each address that is about to be
 * connected: a name may mean another address each time it is looked up.
 *
 *	what the host is			what may be called
 *	named by --upstream-allow		all but metadata, that too if the host is such
 *	a name or address of metadata		nothing
 *	a private address, written as such	that, if who wrote it may (named)
 *	"localhost"				the loopback, the same
 *	any other name or address		public addresses only
 *
 * Private is all that is not for the public internet: loopback, link-local, unique local, shared, reserved, multicast,
 * documentation, and IPv6 forms that carry an IPv4 address. Of requests that go to a proxy only the host is judged; who
 * is called is the proxy's affair.
 */
#pragma once

#include "base/err.h"
#include "base/slice.h"

#include <sys/socket.h>

enum address_kind { ADDRESS_PUBLIC, ADDRESS_PRIVATE, ADDRESS_METADATA };

enum address_kind address_kind_of(const struct sockaddr *a);
bool address_is_loopback(const struct sockaddr *a);
/* The address that host is in text; false: it is a name. */
bool address_parse(struct slice host, struct sockaddr_storage *ret);
/* Of an IPv4 or IPv6 address. */
void address_set_port(struct sockaddr_storage *a, int port);
/* "localhost", or an address of the loopback. */
bool host_is_loopback(struct slice host);

enum call_reach { REACH_PUBLIC, REACH_LOOPBACK, REACH_PRIVATE, REACH_ALL };

/* NULL: it may start, and *ret says what it may connect to. Else why not. allow: the list of --upstream-allow. */
const char *call_reach_of(struct slice host, int port, bool named, bool proxied, const char *allow,
			  enum call_reach *ret);
bool call_reach_permits(enum call_reach r, const struct sockaddr *a);

/* The list of --upstream-allow: addresses that may be called although they are private or tell of the machine itself. HOST or
 * HOST:PORT, separated by commas; without a port, any. An IPv6 address stands in brackets. */
/* -EINVAL with e: the list is none. */
int upstream_allow_check(const char *list, struct err *e);
/* host is without brackets; its case and a dot at its end do not matter. list may be NULL. */
bool upstream_allow_has(const char *list, struct slice host, int port);
