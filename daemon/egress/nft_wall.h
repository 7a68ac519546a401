/*
 * nft_wall.h - keeps the packets of a user in, where the network of his sessions is not open and they have no network
 * namespace: nftables by the user who opened the socket. nft_rules.h says what passes.
 *
 * A session holds its rule as long as anything of it may run (nft_hold_take, nft_hold_drop). Sessions that run as the
 * same user hold the same rule, for the kernel cannot tell them apart: another one is refused. An open network is a
 * rule, too: it has no wall, but no walled session may run beside it. The ways of all holders are open to their user.
 *
 * The rules are one table of the daemon's state directory. It is there while somebody is walled, and goes with the
 * last one and with the daemon. One that a killed daemon left is replaced by the next on that state. Every change is
 * one transaction of nft(8): it holds whole or not at all, and there is no moment between two rules. Changes that come
 * while one runs are carried out together after it. A hold that has been dropped still walls until the next change is
 * done, and a rule that is taken waits for that.
 *
 * Only for a daemon that is root, and for other users than root. Callbacks come from the loop, never from inside a
 * function called here. The owner frees the wall after all holds are dropped and before the loop and the processes.
 */
#pragma once

#include "base/err.h"
#include "egress/nft_rules.h"
#include "egress/wire/egress_rules.h"
#include "loop/loop.h"
#include "proc/proc.h"

struct nft_wall;
struct nft_hold;

/* What a session may. The texts and arrays are copied. */
struct nft_rule {
	const struct egress_rules *network; /* NULL, or mode "on": no wall */
	const struct nft_way *ways;	    /* with a wall: the session's own listeners */
	size_t nways;
};

/* error: NULL, it holds; else why it does not. Once for the rule that was taken or changed last. */
typedef void (*nft_held_fn)(void *ctx, const struct err *error);

/* Before the first hold, or a moment later, it asks the kernel for a table that an earlier daemon left, and begins to remove it. */
struct nft_wall *nft_wall_new(struct loop *loop, struct proc_host *procs, const char *state);
/* Removes the table and waits for that. Takes NULL. */
struct nft_wall *nft_wall_free(struct nft_wall *w);
/* A port where the daemon listens: closed to whoever is walled, on any address. */
void nft_wall_close_port(struct nft_wall *w, uint16_t port);
/* NULL: walls can be made here; else why not. The first call tries it, which takes some milliseconds. Takes
 * NULL. */
const char *nft_wall_missing(struct nft_wall *w);

/* NULL with e: NETWORK_POLICY_UNSUPPORTED, if walls cannot be made or the user has another rule (field
 * _meta.acpd.network). */
struct nft_hold *nft_hold_take(struct nft_wall *w, uid_t uid, const struct nft_rule *rule,
			       nft_held_fn held, void *ctx, struct err *e);
/* Another rule for the same session. -EBUSY with e: others of its user have the one before. If it fails later, the
 * one before may still hold: its owner changes it back, or stops. */
int nft_hold_change(struct nft_hold *h, const struct nft_rule *rule, nft_held_fn held, void *ctx,
		    struct err *e);
/* Its processes are gone. Nothing is called back. Always NULL; takes NULL. */
struct nft_hold *nft_hold_drop(struct nft_hold *h);
