/*
 * network_internal.h - the parts of a session's network: its proxy (network_proxy.c), its wall of nftables
 * (network_nft.c), and other rules while it lives (network_change.c).
 *
 * This folder owns struct session_network (`network` in struct session). The namespace, the proxy's socket and its door
 * live from the first harness of a wall until the session is closed, or has another wall.
 */
#pragma once

#include "egress/egress.h"
#include "egress/nft_wall.h"
#include "session/core/session_internal.h"

/* --- network_proxy.c ------------------------------------------------------------------------------------------- */

/* Makes what is missing of it for the rules in force: with mode "off" a socket that refuses. */
int network_proxy_open(struct session *s, struct err *e);
/* The rules have changed. */
int network_proxy_rules(struct session *s, struct err *e);
void network_proxy_close(struct session *s);
/* Member "traffic": bytes by host. */
void network_put_traffic(struct jw *w, const struct session *s);

/* --- network_nft.c --------------------------------------------------------------------------------------------- */

/* Takes or changes the hold of the session's user. 0: it stands, or none is needed; 1: the answer comes to
 * network_held, and no harness may be started before. */
int network_nft_hold(struct session *s, struct err *e);
void network_nft_drop(struct session *s);
