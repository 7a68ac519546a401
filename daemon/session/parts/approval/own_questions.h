/* own_questions.h - questions that the daemon itself asks the clients of a session. */
#pragma once

#include "base/slice.h"

struct session;

/*
 * A permission of the daemon's own, asked like a harness's: params as of session/request_permission. answered: raw
 * result, once; then it is gone. Outside a running turn the answer is "cancelled".
 */
typedef void (*session_asked_fn)(void *ctx, struct slice result);
void question_ask_own(struct session *s, struct slice params, session_asked_fn answered, void *ctx);
/* Withdraws what was asked with that ctx; it is not answered. */
void question_unask_own(struct session *s, void *ctx);
