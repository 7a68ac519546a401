/* token_order.h - what is asked of a new token, decoded and checked; for access/tokens.c. */
#pragma once

#include "access/token_file.h"

struct token_rules {
	bool (*known)(void *ctx, const char *id); /* there is a session of that id */
	int (*ceiling)(struct slice raw, struct err *e);
	void *ctx;
};

/* params: raw {scope, sessions?, expiresAt, label, level?, network?, limits?}. *ret is the caller's also after an error; it
 * has no id, no digest and no grant yet. */
int token_order_parse(struct slice params, const struct token_rules *rules, struct token **ret,
		      struct err *e);
