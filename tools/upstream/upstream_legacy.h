/*
 * upstream_legacy.h - calls in the words of 2026-07-28 to a server of 2024-11-05 to 2025-11-25.
 *
 *	server/discover		answered by this code from the server's result of initialize
 *	any request		without the members of _meta that a legacy server does not know; logLevel becomes
 *				logging/setLevel
 *	result			with resultType "complete"; lists and resources/read with ttlMs 0 and cacheScope
 *				"private"
 *	error -32002 (resource)	-32602
 *	requests of the server	elicitation/create, sampling/createMessage, roots/list: the call that they belong to
 *				is answered with "input_required" while the server's own request stays open
 *				(legacy_questions.c). The caller's retry brings the answers to the server and waits
 *				for its result. This code answers ping.
 *	subscriptions/listen	resources/subscribe of each, and the list_changed notifications
 *				(legacy_subscriptions.c)
 *	log messages		to the call with a logLevel that they belong to
 *
 * requestState is valid once, for the same request of the same caller (upstream_server.h), for MCP_HELD_MS, with an
 * HMAC by a key of this connection. A call whose caller does not come back is cancelled then.
 */
#pragma once

#include "tools/upstream/upstream.h"

/* hello: the result of initialize, kept. *revision: the one the server chose, to be freed; NULL: hello is no such
 * result. */
struct legacy *legacy_new(struct upstream *u, struct slice hello, char **revision);
/* No call of a caller may be attached (legacy_detach). */
struct legacy *legacy_free(struct legacy *l);
struct slice legacy_hello(const struct legacy *l);
/* The server has forgotten its state (a new HTTP session): the log level and subscriptions are sent again. */
void legacy_renewed(struct legacy *l);
void legacy_begin(struct legacy *l, struct upstream_call *c, struct slice params);
/* The caller gives up: the server is notified. */
void legacy_cancel(struct upstream_call *c);
/* The same without telling: the server is gone. */
void legacy_detach(struct upstream_call *c);
void legacy_notified(struct legacy *l, uint32_t origin, const char *method, struct slice params);
void legacy_asked(struct legacy *l, uint32_t origin, struct slice id, const char *method,
		  struct slice params);
