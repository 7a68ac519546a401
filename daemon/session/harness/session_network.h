/*
 * session_network.h - the network of a session: the daemon's, or with mode "off" a namespace with nothing but its own
 * loopback (proc/netns.h).
 *
 * Everything that runs for the session runs there: its harness, the MCP servers that it or the daemon starts for it, and
 * the built-in tools. The listener of its model calls is made there. The namespace is made with the first harness, kept
 * while harnesses come and go, so that they and the tools are always in the same one, and released when the session is
 * closed.
 *
 * What cannot be had is refused, before anything has changed: NETWORK_POLICY_UNSUPPORTED.
 */
#pragma once

#include "session/harness/setup.h"

struct session;
struct jw;

/* Whether a session with this setup (NULL: none yet) can be given p. */
int session_network_check(const struct setup *have, const struct setup_params *p, struct err *e);
/* Nothing of the session runs any more. */
void session_network_close(struct session *s);
