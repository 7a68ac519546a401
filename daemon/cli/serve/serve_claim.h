/*
 * serve_claim.h - how an unclaimed daemon comes to life. What must not be in two copies of the same memory is made at the
 * claim: its incarnation, and the servers that it hosts; what a claim brings takes the place of the options before.
 *
 * Roots (net/claim.h): the control socket, E2B's access token, and the token file, which is watched: a daemon may be
 * older than its file. A file that is not fit is named in the log and waited for again. A file that changes after the
 * claim is not looked at; SIGHUP makes it read.
 */
#pragma once

#include "cli/serve/serve_settings.h"
#include "cli/serve/serve_webhooks.h"
#include "loop/file_watch.h"
#include "net/e2b_claim.h"

struct serve_claim {
	const struct config *cfg; /* that holds: of the start, or claimed */
	struct config claimed;
	struct serve_parts parts; /* set by cmd_serve once all are made, before the loop runs */
	struct claim_desk *desk;
	struct e2b_claim *e2b; /* NULL without --claim-e2b */
	struct file_watch *watch;
	struct serve_webhooks webhooks;
	bool over; /* the daemon stops */
};

/* All zeros before. The loop is not run until parts are set. */
void serve_claim_open(struct serve_claim *s, const struct config *c, struct loop *loop,
		      struct admission *admission);
void serve_claim_close(struct serve_claim *s);
/* It is known whose memory this is. webhooks: what the claim brings of them, taken over; NULL: nothing. */
int serve_claim_begin(struct serve_claim *s, struct webhook_list *webhooks, struct err *e);
/* The claim that the program before has left; empty: it had none. And the token file, if it has changed meanwhile. */
int serve_claim_resume(struct serve_claim *s, struct slice claim, struct err *e);
/* SIGHUP: the token file, whatever it was, and the file of webhooks. */
void serve_claim_reload(struct serve_claim *s);
