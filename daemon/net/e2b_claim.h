/*
 * e2b_claim.h - POST /v1/claim: a claim by who has E2B's access token of this sandbox.
 *
 * E2B gives the token to who makes the sandbox, and its hash to the sandbox's metadata service. Whoever sends a token
 * with that hash may claim. A sandbox without a token has the hash of no bytes at all, which nobody has: it cannot be
 * claimed so.
 *
 * The route is open to everybody who reaches the port, before anybody has shown anything. So everything of it is bounded:
 * requests at a time, bytes and seconds of a body, one question to the service at a time, and refused tokens in a minute.
 * Who uses these bounds up keeps others from claiming so; the other roots remain.
 */
#pragma once

#include "http/endpoints.h"
#include "net/claim.h"

#define CLAIM_BODY_MAX (CLAIM_SETTINGS_MAX + 4096)
#define CLAIM_BODY_MS 5000	   /* from the head of a request to the end of its body */
#define CLAIM_OPEN_MAX 8	   /* requests at a time */
#define CLAIM_REFUSED_MAX 10	   /* claims that are refused at once, */
#define CLAIM_REFUSED_EACH_MS 6000 /* and afterwards one in so long */

struct e2b_claim;

/* metadata_url has passed e2b_place_parse. */
struct e2b_claim *e2b_claim_new(struct loop *loop, const char *metadata_url,
				struct claim_desk *desk);
/* After all replies that it gave. */
struct e2b_claim *e2b_claim_free(struct e2b_claim *k);
/* http_context.claim; ctx: struct e2b_claim. */
void e2b_claim_ask(void *ctx, const struct http_request *rq, struct http_reply *ret);
