/*
 * held_answer.h - holds the head of an answer back until its body shows whether it is an error in spite of its status.
 *
 * Some gateways answer 200 with {"error": …}. A harness takes that for an answer without text: it asks again or ends its
 * turn, and the provider's words are lost. So an answer 200 whose body is one JSON object and no event stream waits,
 * up to MODEL_HELD_MAX bytes of it. If it is an error, the harness gets it with the status that its code stands for.
 */
#pragma once

#include "base/buf.h"

struct provider_call;

/* All zeros: nothing is held. */
struct held_answer {
	bool holds;
	struct buf headers, body;
};

/* Holds the head of the call's answer. Returns false if the harness gets it at once. */
bool held_answer_begin(struct provider_call *c, int status, struct slice headers);
/* Keeps a piece of the body, or lets everything go if the answer need not wait. Returns false if nothing is held. */
bool held_answer_take(struct provider_call *c, struct slice bytes);
/* Gives the harness what is held, with that status. */
void held_answer_release(struct provider_call *c, int status);
/* Frees what is held. */
void held_answer_drop(struct provider_call *c);
