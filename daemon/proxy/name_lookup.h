/*
 * name_lookup.h - the addresses of one name, by c-ares on our loop: nothing here waits, and no thread does.
 *
 * Each look-up has a channel of its own. It so reads resolv.conf as it is now, has ports of its own, and ends with its
 * owner. Search domains are not tried: what is connected to has to be the name that the rules have passed.
 */
#pragma once

#include "base/limits.h"
#include "egress/wire/egress_reason.h"
#include "loop/loop.h"

#include <sys/socket.h>

struct name_lookup;

struct name_answer {
	enum egress_reason why;				  /* EGRESS_FINE: there is one at least */
	struct sockaddr_storage at[EGRESS_ADDRESSES_MAX]; /* those of IPv4 first */
	unsigned n;
};

/* resolvers: ADDRESS[:PORT],... or NULL. done is called once, from the loop. */
struct name_lookup *name_lookup_new(struct loop *loop, const char *name, const char *resolvers,
				    void (*done)(void *ctx, const struct name_answer *a),
				    void *ctx);
/* Nothing is called any more, and no descriptor is left. Legal again, and with NULL. */
void name_lookup_stop(struct name_lookup *l);
/* Not in a turn of the loop in which it could be called. */
struct name_lookup *name_lookup_free(struct name_lookup *l);
