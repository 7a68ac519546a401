/* session_secrets.h - what is secret for a session. */
#pragma once

#include "base/slice.h"

struct session;

/* Variables that the agent has given its sandbox, a raw object: those that hold secrets are hidden from here on. */
void session_learn_env(struct session *s, struct slice env);
