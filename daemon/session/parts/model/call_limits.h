/*
 * call_limits.h - what a model call is held to before it is asked: the models of its provider, the budgets of turn and
 * session, and calls in a minute.
 *
 * A call for which a budget has nothing left is refused, and the running turn ends by that budget. What a call may use
 * (usage/budget.h) is reserved until it ends. One for which nothing is left only because of that waits: when another has
 * ended its real usage is known, and there is room again, or there is not. So calls at the same time go no further
 * beyond a budget than calls one after the other, which is by one.
 *
 * How many calls are open at a time is held by the listener, which asks for the number (call_limits_terms). All of it is read
 * from the session's provider at each call, so a change holds from the next one on.
 */
#pragma once

#include "model/model_listener.h"

struct provider_call;
struct session;

/* False: it waits, and is asked later, or has been refused, and is gone. */
bool call_limits_admit(struct provider_call *c);
/* A call is gone, and what was reserved for it is free. */
void call_limits_ended(struct session *s);
/* Of a listener whose context is the session. */
struct model_terms call_limits_terms(void *session);
/* A line of the log; no more than so many in a minute, as an agent can cause as many as it likes. */
void call_limits_refused(void *session, enum model_refusal why);
