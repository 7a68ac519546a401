/*
 * grant.h - what somebody may who was let in: a scope, and the sessions that he is limited to. Every ACP connection and
 * every HTTP request has one; the tables of methods and routes are held against it (access/scope.h).
 *
 * grant_admin is the grant of the local sockets: it has full access, and is never revoked. The claim's token has a grant of
 * its own, which ends when another token replaces it (net/claim/admission.h). The others come from minted tokens
 * (access/tokens.h). Whoever keeps a grant longer than a call holds it. A revoked grant cuts all its holders, each once, and
 * allows nothing from then on. Everything runs on the loop.
 */
#pragma once

#include "access/scope.h"
#include "base/err.h"
#include "base/list.h"
#include "base/slice.h"

struct grant;

extern const struct grant grant_admin;

/* sessions: ids, copied; n 0: not limited. */
struct grant *grant_new(enum grant_scope scope, const char *id, char *const *sessions, size_t n);
/* Returns the grant of a claim's token: full access, without an id. */
struct grant *grant_new_claim(void);
struct grant *grant_unref(struct grant *g);

/* What it may give its sessions beyond what they have: a raw object {level?, network?, limits?}; NULL: nothing. Copied. */
void grant_set_ceiling(struct grant *g, const char *ceiling);
struct slice grant_ceiling(const struct grant *g);

enum grant_scope grant_scope(const struct grant *g);
/* A name for logs and lists, never a credential; "" unless the token was minted. */
const char *grant_id(const struct grant *g);
bool grant_minted(const struct grant *g);
/* It allows nothing any more. */
bool grant_over(const struct grant *g);
bool grant_limited(const struct grant *g);
bool grant_sees(const struct grant *g, const char *session_id);
/* {id, scope, sessions?} */
struct jw;
void grant_put(const struct grant *g, struct jw *w, const char *key);
/* 0, or SCOPE_REQUIRED with the scope that is missing (err.scope), or TOKEN_OVER. */
int grant_check(const struct grant *g, enum grant_need n, enum need_sessions s, struct err *e);
int grant_missing(enum grant_need n, struct err *e);

/* Embedded in who keeps a grant; all zeros: keeps none. cut: it was taken back, why says for what; who is cut lets go, then
 * or later. */
struct grant_hold {
	struct list link;
	const struct grant *grant;
	void (*cut)(void *ctx, const char *why);
	void *ctx;
};

/* Lets go of what h held before. */
void grant_keep(struct grant_hold *h, const struct grant *g,
		void (*cut)(void *ctx, const char *why), void *ctx);
/* Legal on one that keeps none. */
void grant_let_go(struct grant_hold *h);
/* Connections, streams and uploads of it: up and down by its holders. g may be grant_admin, which is not counted. */
void grant_count(const struct grant *g, bool more);
unsigned grant_connections(const struct grant *g);
/* It allows nothing more. */
void grant_end(struct grant *g);
/* Cuts all that keep it; why: a static sentence. */
void grant_cut(struct grant *g, const char *why);
