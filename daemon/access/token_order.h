/* token_order.h - what is asked of a new token, decoded and checked; for access/tokens.c. */
#pragma once

#include "access/token_file.h"

/* params: raw {scope, sessions?, expiresAt, label}. known: there is a session of that id. *ret is the caller's also after an
 * error; it has no id, no digest and no grant yet. */
int token_order_parse(struct slice params, bool (*known)(void *ctx, const char *id), void *ctx,
		      struct token **ret, struct err *e);
