/*
 * nft_rules.c - formats the nftables transactions: replace the table, delete it, or change elements
 * of its sets.
 *
 * The chains are constant, so a change of a rule touches only set elements. Their texts are sorted
 * and unique: nft_rules_put_change merges two lists into additions and deletions. The name of the
 * table depends on the real path of the state directory, so a daemon finds the table of an earlier
 * one.
 */
#include "egress/nft_rules.h"

#include "base/strv.h"
#include "base/util.h"
#include "digest/digest.h"

#include <limits.h>

#define ELEMENT_MAX 128
#define OWN_PORTS 1024 /* the first port that a program without privileges may listen on */

/* --- elements ---------------------------------------------------------------------------------------------- */

void nft_elements_done(struct nft_elements *e)
{
	strv_free_n(e->v, e->n);
	*e = (struct nft_elements){ 0 };
}

/* Inserts text in its place: the merge in nft_rules_put_change needs sorted, unique elements. */
static void nft_rules_add(struct nft_elements *e, const char *text)
{
	size_t at = e->n;

	while (at > 0 && strcmp(e->v[at - 1], text) > 0)
		at--;
	if (at > 0 && strcmp(e->v[at - 1], text) == 0)
		return;
	(void)GROW(e->v, e->n);
	memmove(e->v + at + 1, e->v + at, (e->n - 1 - at) * sizeof(*e->v));
	e->v[at] = xstrdup(text);
}

void nft_elements_add_uid(struct nft_elements *e, uid_t uid)
{
	static const char *const sets[] = { "walled", "refused" };

	for (size_t i = 0; i < ARRAY_SIZE(sets); i++)
		nft_rules_add(e, SHORT_TEXT(ELEMENT_MAX, "%s { %u }", sets[i], uid));
}

int nft_elements_add_way(struct nft_elements *e, uid_t uid, const struct nft_way *way)
{
	struct in6_addr address;
	int version = inet_pton(AF_INET, way->host, &address) == 1  ? 4 :
		      inet_pton(AF_INET6, way->host, &address) == 1 ? 6 :
								      0;

	if (!version)
		return -EINVAL;
	nft_rules_add(e, SHORT_TEXT(ELEMENT_MAX, "way%d { %u . %s . %u }", version, uid, way->host,
				    way->port));
	return 0;
}

void nft_elements_add_port(struct nft_elements *e, uint16_t port)
{
	nft_rules_add(e, SHORT_TEXT(ELEMENT_MAX, "daemon { %u }", port));
}

bool nft_elements_same(const struct nft_elements *a, const struct nft_elements *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (strcmp(a->v[i], b->v[i]) != 0)
			return false;
	return true;
}

/* --- transactions ------------------------------------------------------------------------------------------ */

void nft_table_name(const char *state, char name[NFT_TABLE_SIZE])
{
	char path[PATH_MAX];
	struct sha256 digest = { 0 };

	sha256_of(slice_of(realpath(state, path) ? path : state), &digest);
	snprintf(name, NFT_TABLE_SIZE, "acpd_%.8s", SHA256_HEX_OF(&digest));
}

void nft_rules_put_end(struct buf *b, const char *table)
{
	/* it may not be there, and then it could not be deleted */
	buf_printf(b, "add table inet %s\ndelete table inet %s\n", table, table);
}

/* A connection that arrives is marked at its SYN, so that a server in a session can answer. Over lo a session
 * reaches its allowed addresses; otherwise of 127.0.0.0/8 only 127.0.0.1, and no port below OWN_PORTS or of the
 * daemon. */
static const char body[] =
	" {\n"
	"	set walled { typeof meta skuid; }\n"
	"	set refused { typeof meta skuid; counter; }\n"
	"	set way4 { typeof meta skuid . ip daddr . tcp dport; }\n"
	"	set way6 { typeof meta skuid . ip6 daddr . tcp dport; }\n"
	"	set daemon { type inet_service; }\n"
	"	chain input {\n"
	"		type filter hook input priority filter; policy accept;\n"
	"		tcp flags & (fin | syn | rst | ack) == syn ct direction original"
	" ct mark set ct mark | %#x\n"
	"	}\n"
	"	chain output {\n"
	"		type filter hook output priority filter; policy accept;\n"
	"		meta skuid @walled goto wall\n"
	"	}\n"
	"	chain wall {\n"
	"		meta l4proto tcp ct state established ct direction reply ct mark & %#x != 0 accept\n"
	"		oifname \"lo\" goto loopback\n"
	"		goto refuse\n"
	"	}\n"
	"	chain loopback {\n"
	"		meta skuid . ip daddr . tcp dport @way4 accept\n"
	"		meta skuid . ip6 daddr . tcp dport @way6 accept\n"
	"		ip daddr 127.0.0.0/8 ip daddr != 127.0.0.1 goto refuse\n"
	"		meta l4proto { tcp, udp } th dport < %u goto refuse\n"
	"		tcp dport @daemon goto refuse\n"
	"		accept\n"
	"	}\n"
	"	chain refuse {\n"
	"		meta skuid @refused\n"
	"		meta l4proto tcp reject with tcp reset\n"
	"		reject with icmpx admin-prohibited\n"
	"	}\n"
	"}\n";

static void put_element(struct buf *b, const char *verb, const char *table, const char *element)
{
	buf_printf(b, "%s element inet %s %s\n", verb, table, element);
}

/* Deleted and created in one transaction: there is no moment without the rules. */
void nft_rules_put_table(struct buf *b, const char *table, const struct nft_elements *to)
{
	nft_rules_put_end(b, table);
	buf_printf(b, "table inet %s", table);
	buf_printf(b, body, NFT_CAME_IN, NFT_CAME_IN, OWN_PORTS);
	for (size_t i = 0; i < to->n; i++)
		put_element(b, "add", table, to->v[i]);
}

/* Both are sorted. */
void nft_rules_put_change(struct buf *b, const char *table, const struct nft_elements *from,
			  const struct nft_elements *to)
{
	size_t i = 0, k = 0;

	while (i < from->n || k < to->n) {
		int order = i == from->n ? 1 : k == to->n ? -1 : strcmp(from->v[i], to->v[k]);

		if (order < 0)
			put_element(b, "delete", table, from->v[i]);
		else if (order > 0)
			put_element(b, "add", table, to->v[k]);
		i += order <= 0;
		k += order >= 0;
	}
}
