/*
 * call_limits.h - what a model call is held to before it is asked: the budgets, the models of its provider, and calls in a minute.
 *
 * How many calls are open at a time is held by the listener, which asks for the number (call_limits_terms). All of it is read
 * from the session's provider at each call, so a change holds from the next one on.
 */
#pragma once

#include "model/model_listener.h"

struct provider_call;
struct session;

/* False: it has been refused, and is gone. */
bool call_limits_admit(struct provider_call *c);
/* Of a listener whose context is the session. */
struct model_terms call_limits_terms(void *session);
/* A line of the log; no more than so many in a minute, as an agent can cause as many as it likes. */
void call_limits_refused(void *session, enum model_refusal why);
