/*
 * session_network.h - the network of a session: its rules (egress/wire/egress_rules.h), and the wall that holds them.
 *
 *	wall		what it is				for
 *	none		the daemon's network			mode "on" below level strict
 *	nftables	the daemon's, and packets of the	mode "allowlist" of a user who is not the daemon's,
 *			session's user are refused		where nftables can be had (egress/nft_wall.h)
 *	namespace	one of the session's own, with nothing	level strict, mode "off", other "allowlist"
 *			but a loopback (proc/spaces/netns.h)
 *
 * Behind a wall the ways out are the daemon's listeners: the one for model calls, and a proxy that knows the rules
 * (egress/egress.h). Programs find it by the variables that they know, such as HTTPS_PROXY.
 *
 * Everything that runs for the session runs behind its wall: its harness, the MCP servers that it or the daemon starts for
 * it, and the built-in tools. The wall is made with the first harness, kept while harnesses come and go, so that they and
 * the tools are always in the same one, and released when the session is closed.
 *
 * What cannot be had is refused, before anything has changed: NETWORK_POLICY_UNSUPPORTED. A client that asks for more
 * than --network-max is refused: LEVEL_NOT_ALLOWED.
 */
#pragma once

#include "session/parts/session_parts.h"
#include "base/list.h"
#include "egress/wire/egress_rules.h"
#include "proc/spaces/netns.h"
#include "session/core/harness/setup.h"

#include <netinet/in.h>

struct session;
struct session_store;
struct egress_door;
struct nft_hold;
struct harness_plan;
struct jw;

enum network_wall { WALL_NONE, WALL_NFT, WALL_NAMESPACE };

/* What went to a host, and came. */
struct host_traffic {
	char *host;
	uint64_t up, down;
};

/* State of the part. */
struct session_network {
	enum network_wall wall;	  /* that stands */
	struct netns *netns;	  /* where everything runs; NULL: with the daemon */
	int socket;		  /* of the proxy while it is shut; 0: none */
	struct sockaddr_in proxy; /* where it is; family 0: there is none */
	struct egress_door *door; /* NULL: nothing passes */
	struct nft_hold *hold;
	bool holding;	  /* the wall is being made: a harness waits for it */
	struct list asks; /* struct network_ask */
	struct host_traffic *traffic;
	size_t ntraffic;
};

static inline struct session_network *network_of(const struct session *s)
{
	return s->parts[PART_NETWORK];
}

/* For all sessions. */
struct store_network {
	struct nft_wall *wall;
	struct egress_rules *rules; /* --network-max: of sessions that name none; no other has more */
};

static inline struct store_network *store_network_of(const struct session_store *st)
{
	return st->parts[PART_NETWORK];
}

/* network_rules.c */
extern const struct session_parameter network_parameter;
/* The rules that a client has given with this setup; NULL: none. */
const struct egress_rules *network_rules_of(const struct setup *s);
/* The rules in force; never NULL. */
const struct egress_rules *session_rules(const struct session *s);
/* Variables by which programs find the proxy; nothing without one. */
void session_network_env(const struct session *s, struct harness_plan *plan);

/* --- network_proxy.c --- */
/* Creates what is missing of the proxy for the rules in force: with mode "off" a socket that refuses. */
int network_proxy_open(struct session *s, struct err *e);
/* The rules have changed. */
int network_proxy_rules(struct session *s, struct err *e);
void network_proxy_close(struct session *s);
/* Member "traffic": bytes by host. */
void network_put_traffic(struct jw *w, const struct session *s);
