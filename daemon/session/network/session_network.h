/*
 * session_network.h - the network of a session: its rules (egress/wire/egress_rules.h), and the wall that holds them.
 *
 *	wall		what it is				for
 *	none		the daemon's network			mode "on" below level strict
 *	namespace	one of the session's own, with nothing	level strict, mode "off", and "allowlist" where
 *			but a loopback (proc/netns.h)		there is no nftables
 *
 * Everything that runs for the session runs behind it: its harness, the MCP servers that it or the daemon starts for it,
 * and the built-in tools. The listeners of its model calls and of its proxy are made there, too. The namespace is made
 * with the first harness, kept while harnesses come and go, so that they and the tools are always in the same one, and
 * released when the session is closed.
 *
 * What cannot be had is refused, before anything has changed: NETWORK_POLICY_UNSUPPORTED. A client that asks for more
 * than --network-max is refused: LEVEL_NOT_ALLOWED.
 */
#pragma once

#include "proc/netns.h"
#include "session/harness/setup.h"

struct session;
struct session_store;
struct jw;

enum network_wall { WALL_NONE, WALL_NAMESPACE };

/* In struct session: network. */
struct session_network {
	struct netns *netns; /* where everything runs; NULL: with the daemon */
};

/* --network-max: what sessions may have at most, and have if nobody says. */
void store_network_init(struct session_store *st, enum egress_mode max);
/* The rules in force; never NULL. */
const struct egress_rules *session_rules(const struct session *s);
/* The wall that its level and rules ask for. */
enum network_wall session_wall(const struct session *s);
/* Whether a session with this setup (NULL: none yet) can be given p. */
int session_network_check(const struct session_store *st, const struct setup *have,
			  const struct setup_params *p, struct err *e);
/* Nothing of the session runs any more. */
void session_network_close(struct session *s);
