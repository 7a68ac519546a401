/*
 * tokens.h - the tokens that the daemon has minted, besides the one that claimed it: each with a scope, perhaps some
 * sessions, and a time at which it is over. Of a token itself only the SHA-256 is kept; it is told once, to who mints it.
 *
 * They belong to a claim. They are in <state>/tokens (access/token_file.h), so that they outlast the daemon; a daemon that
 * is claimed by another token drops them unless told to keep them, and so does one that loses its claim. A file that is damaged is set aside and
 * reported, and none of it holds.
 *
 * Whoever was let in by one keeps its grant (access/grant.h). When it is revoked or over the grant allows nothing from that
 * moment, and all that keep it are cut at the end of the turn of the loop: the call that revokes may be one of them.
 *
 * It also counts who was let in and who was not. Everything runs on the loop; sessions are known to it by a question only.
 */
#pragma once

#include "access/grant.h"
#include "digest/digest.h"
#include "json/jenc.h"
#include "loop/loop.h"

#define TOKEN_TEXT_SIZE 72 /* of a minted token, with its NUL */
#define TOKEN_ID_SIZE 24

struct tokens;

struct tokens_config {
	struct loop *loop;
	const char *state; /* the state directory */
	bool (*known)(void *ctx, const char *session_id);
	int (*ceiling)(struct slice raw,
		       struct err *e); /* 0: it says what may be said of a session */
	void (*problem)(void *ctx, const char *name, const char *text);
	void *ctx;
};

struct tokens *tokens_new(const struct tokens_config *cfg);
struct tokens *tokens_free(struct tokens *t);

/* The daemon is claimed by the token with this digest: what was minted under it holds. The same again changes nothing. keep:
 * tokens that were minted under a token that this one replaces hold too. t may be NULL. */
void tokens_begin(struct tokens *t, const struct sha256 *claim, bool keep);
/* The claim is dropped, and they with it, on disk too. t may be NULL. */
void tokens_forget(struct tokens *t);
/* The wall clock has jumped. */
void tokens_clock_jumped(struct tokens *t);
/* By the digest of a token, compared with all of them in constant time; NULL: there is none, or it is over. t may be NULL. */
const struct grant *tokens_find(const struct tokens *t, const struct sha256 *digest);

/* --- minting and revoking: _acpd/tokens/..., /v1/tokens, control.sock ------------------------------------------------ */

/* params: raw {scope, sessions?, expiresAt, label, level?, network?, limits?}. Puts members id, token and what a list says of it. by: who, for the log. */
int tokens_mint(struct tokens *t, struct slice params, const char *by, struct jw *w, struct err *e);
/* Member tokens: [{id, scope, sessions?, level?, network?, limits?, expiresAt, createdAt, label, connections}]. */
void tokens_put(const struct tokens *t, struct jw *w);
/* TOKEN_UNKNOWN. */
int tokens_revoke(struct tokens *t, const char *id, const char *by, struct err *e);

/* --- counts ---------------------------------------------------------------------------------------------------------- */

enum door { DOOR_WEBSOCKET, DOOR_HTTP, DOOR_LOCAL, DOOR_MAX };

const char *door_word(enum door d);
/* g NULL: there was no token, or none that holds. t may be NULL. */
void tokens_note(struct tokens *t, enum door d, const struct grant *g, bool in);
/* scope GRANT_MAX: without a token. */
uint64_t tokens_noted(const struct tokens *t, enum door d, enum grant_scope scope, bool in);
unsigned tokens_count(const struct tokens *t);
