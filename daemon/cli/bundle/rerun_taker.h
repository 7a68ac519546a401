/*
 * rerun_taker.h - answers the model calls of a session from a recording, as the client's side of a tunnel
 * (protocol/models.md).
 */
#pragma once

#include "session/parts/bundle/recorded_calls.h"
#include "net/client/daemon_link.h"
#include "rpc/rpc.h"

struct rerun_taker {
	struct daemon_link *link;
	struct recorded_calls *from;
	/* The harness gave a call up then, or makes one that the recording lacks. True: its turn is being cancelled. */
	bool (*given_up)(void *ctx);
	void *ctx;
	const char *cwd;   /* where the session works now; "" until that is known */
	struct list calls; /* those that are being answered */
	unsigned answered; /* from the recording */
	unsigned alike;	   /* of these, such that their requests' texts differ */
	unsigned refused;  /* CALL_NOT_RECORDED */
};

void rerun_taker_init(struct rerun_taker *t, struct recorded_calls *from,
		      bool (*given_up)(void *ctx), void *ctx);
void rerun_taker_done(struct rerun_taker *t);
/* Methods of the daemon about model calls; false: m is none. */
bool rerun_taker_message(struct rerun_taker *t, const struct rpc_msg *m);
