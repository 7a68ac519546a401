/* SPDX-License-Identifier: Apache-2.0 */
/* acts_sockets.c - every family of sockets, raw ones, and protocols that load a module. */
#include "probe.h"

#include <linux/netlink.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>
#include <stdlib.h>
#include <string.h>

#define UPPER ((uint64_t)1 << 40)

/* A datagram, a stream, a raw or a sequenced one: whatever the family has. */
static long any_socket(const struct act *a)
{
	static const int types[] = { SOCK_DGRAM, SOCK_STREAM, SOCK_RAW, SOCK_SEQPACKET };
	int first = 0;

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		int fd = socket((int)a->args[0], types[i], 0);

		if (fd >= 0)
			return fd;
		first = first ? first : errno;
	}
	return fail(first);
}

static long connect_abstract(const struct act *a)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	const char *name = given(a->key);

	strncpy(at.sun_path + 1, name, sizeof(at.sun_path) - 2);
	return connect(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&at,
		       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name)));
}

static long connect_port(const struct act *a)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)atoi(given(a->key))),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	return connect(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&at, sizeof(at));
}

static long socket_inside(const struct act *a)
{
	if (become_root_inside() < 0)
		return -1;
	return syscall(SYS_socket, a->args[0], a->args[1], a->args[2]);
}

#define FAMILY(name, number)                                                                       \
	{                                                                                          \
		"socket/" name, any_socket, 0, { number }, NULL, NULL                              \
	}
#define SOCKET(name, ...)                                                                          \
	{                                                                                          \
		"socket/" name, NULL, SYS_socket, { __VA_ARGS__ }, NULL, NULL                      \
	}
#define INSIDE(name, ...)                                                                          \
	{                                                                                          \
		"inside/socket-" name, socket_inside, 0, { __VA_ARGS__ }, NULL, NULL               \
	}

const struct act acts_sockets[] = {
	FAMILY("ax25", 3),
	FAMILY("ipx", 4),
	FAMILY("appletalk", 5),
	FAMILY("netrom", 6),
	FAMILY("atmpvc", 8),
	FAMILY("x25", 9),
	FAMILY("rose", 11),
	FAMILY("decnet", 12),
	FAMILY("key", 15),
	FAMILY("packet", 17),
	FAMILY("econet", 19),
	FAMILY("atmsvc", 20),
	FAMILY("rds", 21),
	FAMILY("irda", 23),
	FAMILY("pppox", 24),
	FAMILY("llc", 26),
	FAMILY("ib", 27),
	FAMILY("mpls", 28),
	FAMILY("can", 29),
	FAMILY("tipc", 30),
	FAMILY("bluetooth", 31),
	FAMILY("iucv", 32),
	FAMILY("rxrpc", 33),
	FAMILY("isdn", 34),
	FAMILY("phonet", 35),
	FAMILY("ieee802154", 36),
	FAMILY("caif", 37),
	FAMILY("alg", 38),
	FAMILY("nfc", 39),
	FAMILY("vsock", 40),
	FAMILY("kcm", 41),
	FAMILY("qipcrtr", 42),
	FAMILY("smc", 43),
	FAMILY("xdp", 44),
	FAMILY("mctp", 45),
	FAMILY("highest", 0x7fffffff),
	SOCKET("vsock-upper", AF_VSOCK | UPPER, SOCK_STREAM, 0),
	SOCKET("raw", AF_INET, SOCK_RAW, IPPROTO_ICMP),
	SOCKET("raw6", AF_INET6, SOCK_RAW, IPPROTO_ICMPV6),
	SOCKET("raw-flags", AF_INET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_RAW),
	SOCKET("raw-upper", AF_INET | UPPER, SOCK_RAW | UPPER, IPPROTO_RAW),
	SOCKET("packet-of-old", AF_INET, 10, 0),
	SOCKET("ping", AF_INET, SOCK_DGRAM, IPPROTO_ICMP),
	SOCKET("sctp", AF_INET, SOCK_STREAM, IPPROTO_SCTP),
	SOCKET("smc-inet", AF_INET, SOCK_STREAM, 256),
	SOCKET("sctp-packets", AF_INET6, SOCK_SEQPACKET, IPPROTO_SCTP),
	SOCKET("dccp", AF_INET, 6, 33),
	SOCKET("l2tp", AF_INET, SOCK_DGRAM, 115),
	SOCKET("netlink-route", AF_NETLINK, SOCK_RAW, NETLINK_ROUTE),
	SOCKET("netlink-netfilter", AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER),
	SOCKET("netlink-audit", AF_NETLINK, SOCK_RAW, NETLINK_AUDIT),
	SOCKET("netlink-xfrm", AF_NETLINK, SOCK_RAW, NETLINK_XFRM),
	SOCKET("netlink-crypto", AF_NETLINK, SOCK_RAW, NETLINK_CRYPTO),
	SOCKET("netlink-connector", AF_NETLINK, SOCK_DGRAM, NETLINK_CONNECTOR),
	/* with all rights in namespaces of its own */
	INSIDE("raw", AF_INET, SOCK_RAW, IPPROTO_ICMP),
	INSIDE("packet", AF_PACKET, SOCK_RAW, 0),
	INSIDE("netfilter", AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER),
	INSIDE("vsock", AF_VSOCK, SOCK_STREAM, 0),
	{ "reach/abstract", connect_abstract, 0, { 0 }, "abstract", NULL },
	{ "reach/port", connect_port, 0, { 0 }, "port", NULL },
	{ 0 },
};
