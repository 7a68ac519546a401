/*
 * nft_rules.h - the rules of the wall as text for nft(8). Pure.
 *
 * One table, of which everything but the elements of its sets is always the same. A packet that a walled uid sends
 * passes only if it is
 *
 *	the answer in a TCP connection whose first packet came in while the table was there (a server that the agent
 *	runs is reached; what it had opened to others before dies at its next packet),
 *	for one of the ways of its uid: TCP to an address and port of the loopback,
 *	for the loopback otherwise, but not to a port below 1024, a port of the daemon, or another address of
 *	127.0.0.0/8 than 127.0.0.1: listeners of sessions are there.
 *
 * The loopback is open for servers that the agent itself starts. It has no privilege, so a port below 1024 is not its
 * own but the machine's: sshd, a name server, mail. Whose listener a higher port is, no rule can see: the packet that
 * asks for a connection belongs to its sender.
 *
 * All else is refused: TCP by a reset, the rest by "administratively prohibited", which its sender sees as EPERM. The
 * set "refused" counts it for each uid. Who sends is the user who opened the socket, so a user namespace changes
 * nothing. What the kernel sends by itself has no user and passes.
 *
 * A connection whose first packet came in is marked in conntrack (NFT_CAME_IN), because the direction that conntrack
 * sees tells nothing of connections that are older than the table: it takes the sender of the next packet for their
 * opener.
 */
#pragma once

#include "base/buf.h"

#include <arpa/inet.h>
#include <sys/types.h>

#define NFT_TABLE_SIZE sizeof("acpd_01234567")
#define NFT_CAME_IN 0x00400000u /* bit of the conntrack mark; the others belong to others */

/* A listener that a walled uid may reach. */
struct nft_way {
	char host[INET6_ADDRSTRLEN]; /* an address */
	uint16_t port;
};

/* Elements of the table's sets, each as "SET { ELEMENT }": sorted, none twice. Zeros: none. */
struct nft_elements {
	char **v;
	size_t n;
};

void nft_elements_done(struct nft_elements *e);
void nft_elements_add_uid(struct nft_elements *e, uid_t uid);
/* -EINVAL: it is no address. */
int nft_elements_add_way(struct nft_elements *e, uid_t uid, const struct nft_way *way);
void nft_elements_add_port(struct nft_elements *e, uint16_t port);
bool nft_elements_same(const struct nft_elements *a, const struct nft_elements *b);

/* Of the daemon of that state directory, by its path. */
void nft_table_name(const char *state, char name[NFT_TABLE_SIZE]);
/* Each is one transaction: in place of the table, if it is there, a new one; it goes, if it is there; its elements
 * change from some to others. */
void nft_rules_put_table(struct buf *b, const char *table, const struct nft_elements *to);
void nft_rules_put_end(struct buf *b, const char *table);
void nft_rules_put_change(struct buf *b, const char *table, const struct nft_elements *from,
			  const struct nft_elements *to);
