/*
 * answer_pass.h - an answer as it passes to the client: its head without what belongs to the connection to the server,
 * and with "Connection: close", then all bytes as they come. Pure.
 *
 * Nothing is read from the client behind its request, and the connection ends with the answer: at the end of its body,
 * where that can be told, for there are clients that would use the connection again until they see its end (Bun, after an
 * answer that is not 2xx). Else it ends when the server's does. What a server writes is not judged but for being a head:
 * a body that is broken passes as it is. Answers 1xx pass as they are. After 101 the connection is another protocol's.
 * All zeros is right to begin with.
 */
#pragma once

#include "base/buf.h"
#include "base/http/http_body.h"

struct answer_pass {
	struct buf head;
	struct message_body body;
	bool to_head;	 /* the request was HEAD */
	bool over;	 /* the final head has passed */
	bool whole;	 /* and so has the body */
	bool switched;	 /* it was 101 */
	bool may_switch; /* the request asked for it */
};

/* Appends to `to` what the client gets. -EPROTO: the server does not speak HTTP. */
int answer_pass_feed(struct answer_pass *a, struct slice in, struct buf *to);
/* Nobody but the server knows where the answer ends. */
bool answer_pass_is_open(const struct answer_pass *a);
void answer_pass_done(struct answer_pass *a);
