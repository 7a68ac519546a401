/* wall_holds.h - a wall on near (wall_rig.h) for each test, and rules that are taken, changed and dropped to their end. */
#pragma once

#include "wall_rig.h"

#include "egress/nft_wall.h"

#define AGENT 1500
#define OTHER 1501

extern struct nft_wall *wall;
extern const char network_off[], network_some[], network_on[];

int wall_begin(void **state);
/* Nothing of it may be left. */
int wall_end(void **state);

struct told {
	bool done;
	struct err e;
};
void on_told(void *ctx, const struct err *error);

struct egress_rules *rules_of_network(const char *json);
/* It holds when they return. NULL with e if it is refused at once. */
struct nft_hold *hold_take_with(uid_t uid, const char *network, const struct nft_way *ways,
				size_t n, struct err *e);
struct nft_hold *hold_take(uid_t uid, const char *network);
void hold_change(struct nft_hold *h, const char *network, const struct nft_way *ways, size_t n);
void hold_drop(struct nft_hold *h);
