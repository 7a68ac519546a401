/*
 * answer_pass.h - an answer as it passes to the client: its head without what belongs to the connection to the server,
 * and with "Connection: close", then all bytes as they come. Pure.
 *
 * Nothing is read from the client behind its request, and the connection ends with the answer. So where its body ends
 * is no matter here, and what a server writes is not judged but for being a head. Answers 1xx pass as they are. After
 * 101 the connection is another protocol's. All zeros is right to begin with.
 */
#pragma once

#include "base/buf.h"

struct answer_pass {
	struct buf head;
	bool over;	 /* the final head has passed */
	bool switched;	 /* it was 101 */
	bool may_switch; /* the request asked for it */
};

/* Appends to `to` what the client gets. -EPROTO: the server does not speak HTTP. */
int answer_pass_feed(struct answer_pass *a, struct slice in, struct buf *to);
void answer_pass_done(struct answer_pass *a);
