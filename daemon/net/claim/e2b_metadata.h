/*
 * e2b_metadata.h - one question to the metadata service of E2B (Firecracker's MMDS, version 2): which sandbox this is, and
 * the hash of its access token.
 *
 * PUT /latest/api/token gives a token for the service itself, GET / with it the answer. The service is outside of the
 * sandbox, and a rule of a firewall inside can put another in its place: what comes is bounded in bytes and time and
 * believed in nothing but its form. Each question asks anew and opens its own connections, because right after a restore
 * the service may still speak of the sandbox before. Nothing is made before a question.
 *
 * done is called once, from the loop; e2b_query_close is legal at any time, from inside it too, and nothing is called
 * after it.
 */
#pragma once

#include "base/err.h"
#include "base/os/sandbox.h"
#include "digest/digest.h"
#include "tools/upstream/http/http_exchange.h"

#define E2B_METADATA_URL "http://169.254.169.254"
#define E2B_METADATA_MS 3000   /* for all of it; it takes milliseconds */
#define E2B_METADATA_MAX 65536 /* bytes of one answer */

struct e2b_place {
	struct sockaddr_storage at;
	char host[64]; /* as the header Host has it */
};

struct e2b_metadata {
	char *instance; /* the sandbox's id */
	struct sha512
		token_hash; /* of the access token; of no bytes at all where the sandbox asks for none */
};

struct e2b_query;

/* http, an address of the loopback or of the link, no path. -EINVAL with e naming metadata-url. */
int e2b_place_parse(const char *url, struct e2b_place *ret, struct err *e);
/* answer: NULL if there is none, and e says why (METADATA_UNAVAILABLE); else only valid until done returns. */
typedef void (*e2b_done_fn)(void *ctx, const struct e2b_metadata *answer, const struct err *e);
struct e2b_query *e2b_query_open(struct loop *loop, const struct e2b_place *place, e2b_done_fn done,
				 void *ctx);
struct e2b_query *e2b_query_close(struct e2b_query *q);
