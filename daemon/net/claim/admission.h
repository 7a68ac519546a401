/*
 * admission.h - who may speak to the daemon: the token, the Host and the Origin. Knows no sockets.
 *
 * There is the token of the claim, which has full access, and there are those that were minted under it (access/tokens.h).
 * They are told apart here, and nowhere else. Another token of the claim ends what the one before has opened, at once. Only the SHA-256 of a token is kept. Without a token the daemon is unclaimed, and
 * clients may only ask for its health or claim it over the control socket. Loopback is not trusted: sandboxes forward public ports to it. Host
 * guards against DNS rebinding: localhost, IP literals, E2B's "<port>-<id>.<domain>" and --allow-host pass. Origin is
 * sent by browsers only and must be listed (--allow-origin), or be our own, for the run viewer: what the Host says. We
 * give browsers nothing that runs but that.
 */
#pragma once

#include "access/tokens.h"
#include "base/err.h"
#include "base/slice.h"
#include "digest/digest.h"

#define TOKEN_MIN 16
#define TOKEN_MAX 4096

struct admission;

struct admission_config {
	const char *allow_hosts, *allow_origins; /* comma-separated, may be NULL */
	bool allow_query_token;
	const char *agent_user, *agent_uids; /* those who may not own a token file; may be NULL */
};

struct admission *admission_new(const struct admission_config *cfg);
/* Hosts and origins of a claim, and whether a token in the URL counts. */
void admission_set(struct admission *g, const struct admission_config *cfg);
/* Minted ones count, too, and belong to the claim from now on. */
void admission_use(struct admission *g, struct tokens *minted);
struct admission *admission_free(struct admission *g);
/* Reads a token file: the token itself, or "sha256:<hex>". A missing file leaves the daemon unclaimed (0). A file that
 * others can read is refused, and so is one whose owner is not root or us, unless it is on a read-only mount and the
 * owner is no agent: a secret that a user has mounted into a container. */
int admission_load(struct admission *g, const char *path, struct err *e);
/* The same, for what only has to be known. appeared: nobody named it who has seen it; then links and what is no regular file
 * are refused, too. -ENOENT: there is none, and e says nothing. */
int admission_read(const struct admission *g, const char *path, bool appeared, struct sha256 *ret,
		   struct err *e);
/* Takes the place of the token that holds. keep: minted tokens hold on. The same token again changes nothing. */
void admission_set_token(struct admission *g, const struct sha256 *token, bool keep);
/* The token file has this one. False: as it had when it was read before. */
bool admission_file_changed(struct admission *g, const struct sha256 *token);
/* What admission_claim would return; changes nothing. */
int admission_claim_check(const struct admission *g, struct slice digest, struct err *e);
/* 0, or -EALREADY if claimed with another token; -EINVAL if digest is no "sha256:<hex>". */
int admission_claim(struct admission *g, struct slice digest, struct err *e);
/* Member digest of the token that holds; member file of the token file, if it was read. */
struct jw;
void admission_put_digest(const struct admission *g, struct jw *w);
void admission_put_file(const struct admission *g, struct jw *w);
/* Replaces the token that holds, whichever it is; -EINVAL as above. */
int admission_replace(struct admission *g, struct slice digest, bool keep, struct err *e);
/* The token is forgotten: the daemon can be claimed by anybody who may, as at its start. */
void admission_forget(struct admission *g);
bool admission_claimed(const struct admission *g);
bool admission_query_token(const struct admission *g);

bool admission_host_ok(const struct admission *g, struct slice host);
/* An absent origin (n == 0) passes. */
bool admission_origin_ok(const struct admission *g, struct slice origin);
/* origin is http:// or https:// with this host, whose TLS may end before us. Pure. */
bool admission_origin_own(struct slice origin, struct slice host);
/* What the client may; NULL: it has shown no token that holds. authorization: header value; protocols:
 * Sec-WebSocket-Protocol value; query: token from the URL. Empty if absent. */
const struct grant *admission_grant(const struct admission *g, struct slice authorization,
				    struct slice protocols, struct slice query);
/* The subprotocol to answer a client that offers these: "acp.v1", "" if it offered none, NULL: refuse. */
const char *admission_subprotocol(struct slice protocols);
