/*
 * token_file.h - <state>/tokens: what is kept of minted tokens over a restart. Mode 0600, written as a whole and renamed.
 * Each line ends in a checksum (base/format/crc_line.h); the first is the head:
 *
 *	{"v":1,"claim":"<hex>","tokens":2}
 *	{"id":"tok_...","digest":"<hex>","scope":"observe","sessions":["..."],"expiresMs":1,"createdMs":1,"label":"..."}
 *
 * claim is the SHA-256 of the digest of the claim's token: it says whose they are and opens nothing. For access/tokens.c.
 */
#pragma once

#include "access/grant.h"
#include "base/slice.h"
#include "digest/digest.h"

struct token {
	struct list link;
	char *id, *label;
	char *ceiling; /* raw object (access/grant.h); NULL: none */
	struct sha256 digest;
	enum grant_scope scope;
	char **sessions;
	size_t nsessions;
	uint64_t expires_ms, created_ms; /* unix */
	struct grant *grant;		 /* NULL in a file */
	const char *why;		 /* it has ended; NULL: it has not */
};

struct token *token_free(struct token *t);

int token_file_write(const char *path, const struct sha256 *claim, const struct list *tokens);
/* Appends to tokens. 0, -ENOENT, or -EBADMSG: it is no such file, or was changed; -errno of reading. */
int token_file_read(const char *path, struct sha256 *claim, struct list *tokens);

/* --- token_order.c: what is asked of a new token, decoded and checked --- */

struct token_rules {
	bool (*known)(void *ctx, const char *id); /* there is a session of that id */
	int (*ceiling)(struct slice raw, struct err *e);
	void *ctx;
};

/* params: raw {scope, sessions?, expiresAt, label, level?, network?, limits?}. *ret is the caller's also after an error; it
 * has no id, no digest and no grant yet. */
int token_order_parse(struct slice params, const struct token_rules *rules, struct token **ret,
		      struct err *e);
