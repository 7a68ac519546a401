/*
 * relay_remote.h - an MCP server over HTTP that the client named for a session without open network. Its harness cannot
 * reach it, so the daemon calls it, by acpd-fetch (fetcher/fetcher.h), which decides about its address: one that the
 * client wrote may be private.
 *
 * It is called first when the harness makes its first call. A server that cannot be reached ends the calls that wait for
 * it, and is tried again at the next one.
 */
#pragma once

#include "base/err.h"
#include "base/list.h"
#include "base/slice.h"
#include "loop/loop.h"
#include "tools/mcp/backend.h"

struct fetcher;
struct relay_remote;

struct relay_remote_config {
	const char *name, *url;
	struct slice headers; /* raw array of {name, value}, checked; or empty */
	struct fetcher *fetcher;
};

/* In the list `at`. NULL with e, whose field is url or headers. */
struct relay_remote *relay_remote_new(struct loop *loop, const struct relay_remote_config *config,
				      struct list *at, struct err *e);
struct mcp_backend *relay_remote_backend(struct relay_remote *c);
/* Open calls must have been cancelled. Each takes leave of a server that keeps a session for it, in the list `at`, and is
 * gone after. */
void relay_remotes_leave(struct list *from, struct list *at);
/* All of the list, at once. */
void relay_remotes_free(struct list *at);
