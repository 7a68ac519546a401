#include "session/parts/network/network_internal.h"

#include "base/log.h"
#include "session/parts/model/session_model_internal.h"
#include "session/parts/network/session_network.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>

/* The wall stands, or cannot be made: the harness that waits for it goes on, or does not come. */
static void on_held(void *ctx, const struct err *error)
{
	struct session *s = ctx;

	if (!network_of(s)->holding) {
		if (error)
			log_warn("session", "the session's network could not be walled", "session",
				 s->id, "text", error->msg);
		return;
	}
	network_of(s)->holding = false;
	harness_walled(s, error);
}

static void way_of(struct nft_way *way, const struct sockaddr_in *at)
{
	inet_ntop(AF_INET, &at->sin_addr, way->host, sizeof(way->host));
	way->port = ntohs(at->sin_port);
}

/* A user whose network is open holds that, too: nobody may be walled beside him (nft_wall.h). */
static bool needs_hold(const struct session *s)
{
	return geteuid() == 0 && s->user.switched && network_of(s)->wall != WALL_NAMESPACE;
}

int network_nft_hold(struct session *s, struct err *e)
{
	struct session_network *n = network_of(s);
	struct nft_way ways[2];
	struct nft_rule rule = { .ways = ways };
	int r;

	if (!needs_hold(s))
		return 0;
	if (n->wall == WALL_NFT)
		rule.network = session_rules(s);
	if (n->wall == WALL_NFT && n->proxy.sin_family)
		way_of(&ways[rule.nways++], &n->proxy);
	if (n->wall == WALL_NFT && model_of(s)->listener)
		way_of(&ways[rule.nways++], model_listener_at(model_of(s)->listener));
	if (n->hold)
		r = nft_hold_change(n->hold, &rule, on_held, s, e);
	else
		r = (n->hold = nft_hold_take(store_network_of(s->store)->wall, s->user.uid, &rule,
					     on_held, s, e)) ?
			    0 :
			    -EINVAL;
	if (r < 0)
		return r;
	return n->wall == WALL_NFT;
}

void network_nft_drop(struct session *s)
{
	network_of(s)->hold = nft_hold_drop(network_of(s)->hold);
	network_of(s)->holding = false;
}
