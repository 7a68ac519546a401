/*
 * claim.h - the claim: the first who shows that he may gives the daemon its token, and with it settings and the id of the
 * sandbox. Until then the daemon is a copy of a template, and nothing is in it that two copies must not share.
 *
 * Who may is decided before: a peer of control.sock by its uid, who writes the token file by the file's owner, who has
 * E2B's access token by its hash (below). A claim happens once, as a whole or not at all. The same claim again
 * succeeds and changes nothing: its first answer may have been lost.
 *
 * Root may replace the token of a claim over control.sock, and so does a token file that was changed: all that the token
 * before had opened ends.
 */
#pragma once

#include "base/slice.h"
#include "http/endpoints.h"
#include "json/jenc.h"
#include "net/claim/admission.h"

#define SETTING_NAME_MAX 40	 /* characters of a setting that a claim brings */
#define SETTING_VALUE_MAX 16384	 /* bytes of its value */
#define CLAIM_SETTINGS_MAX 65536 /* bytes of all of them, as JSON */

struct claim_desk;

struct claim_request;

/* Takes settings and receivers of webhooks, and begins the life of the daemon. 0, or negative with e, and nothing has
 * changed. */
typedef int (*claim_begin_fn)(void *ctx, const struct claim_request *c, struct err *e);

struct claim_desk *claim_desk_new(struct admission *g, claim_begin_fn begin, void *ctx);
struct claim_desk *claim_desk_free(struct claim_desk *k);
bool claim_desk_open(const struct claim_desk *k);

struct claim_request {
	char *digest;	       /* "sha256:<hex>" */
	struct slice settings; /* raw, or empty */
	struct slice webhooks; /* a raw array, with secrets in it, or empty */
	char *sandbox_id;      /* NULL: it says none */
	bool replace, keep_tokens;
};

/* The members of a claim, of JSON; unknown ones are refused. Frees nothing that claim_request_done does not free. */
int claim_request_parse(struct slice params, struct claim_request *ret, struct err *e);
void claim_request_done(struct claim_request *c);
/* By the token in a file; it replaces the one that holds, unless the file has not changed since it was read last. appeared:
 * as for admission_read. -ENOENT: there is none. */
int claim_desk_load(struct claim_desk *k, const char *path, bool appeared, struct err *e);
/* Member claim, as claim_request_parse takes it; none without a claim. Its secrets are in w. */
void claim_desk_put(const struct claim_desk *k, struct jw *w);
/* Forgets what a claim brought: the daemon is another owner's. */
void claim_desk_forget(struct claim_desk *k);
/* root: who may, for the log. -EALREADY: it is claimed by another. */
int claim_desk_take(struct claim_desk *k, const struct claim_request *c, const char *root,
		    struct err *e);
/* Replaces the token and nothing else. Without a claim this is one. */
int claim_desk_replace(struct claim_desk *k, const struct claim_request *c, const char *root,
		       struct err *e);

/* --- e2b_claim.c: POST /v1/claim: a claim by who has E2B's access token of this sandbox.
 *
 * E2B gives the token to who makes the sandbox, and its hash to the sandbox's metadata service. Whoever sends a token
 * with that hash may claim. A sandbox without a token has the hash of no bytes at all, which nobody has: it cannot be
 * claimed so.
 *
 * The route is open to everybody who reaches the port, before anybody has shown anything. So everything of it is bounded:
 * requests at a time, bytes and seconds of a body, one question to the service at a time, and refused tokens in a minute.
 * Who uses these bounds up keeps others from claiming so; the other roots remain. */

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
