/*
 * offer.h - what the daemon can do and allows, told before a session is opened: the members "features" and "limits" of
 * initialize and of GET /v1/info, and which levels and networks a new session could have.
 */
#pragma once

#include "session/core/session.h"

void offer_put_features(struct jw *w);
/* backlog: --backlog-max. */
void offer_put_limits(struct jw *w, const struct session_store *st, uint64_t backlog);
