/* webhook_sign.h - a message as Standard Webhooks signs it: v1,base64(HMAC-SHA256(secret, id.timestamp.body)). Pure. */
#pragma once

#include "outbox/webhook_list.h"

#include "base/buf.h"

struct webhook_message {
	const char *id;
	uint64_t time_secs; /* of the attempt */
	struct slice body;
};

/* Appends the headers of the request: a JSON object. A signature for each secret of w. 0 or negative. */
int webhook_headers_put(struct buf *b, const struct webhook *w, const struct webhook_message *m);
