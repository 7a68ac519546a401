/*
 * upstream_server.h - what is common to the servers that we reach by child process (upstream_stdio.h) or over HTTP
 * (upstream_http.h).
 *
 * Each is a backend (mcp/backend.h) that outlives its server. It is started, comes up when the server's era is known,
 * may go down, and be started again. Calls made before it is up wait. Calls open when it goes down end with -32603 and
 * data.reason SERVER_GONE, and are never sent twice. Its owner decides when to start it again.
 *
 * A modern server (2026-07-28) gets calls unchanged, except for request ids and progress tokens, which are ours on that
 * hop. A legacy one (2024-11-05 to 2025-11-25) is behind upstream/legacy/upstream_legacy.h, so that callers see only a
 * modern server.
 *
 * params._meta.acpd.session, a string, may name for whom a call is made. A question or log message of a legacy server
 * that names no call goes to one of its open calls only if those are all made for the same one. Only the same one can
 * answer a question of a call.
 *
 * Callbacks come from the loop, never from inside a function of these headers, and not after the server was freed.
 */
#pragma once

#include "base/err.h"
#include "base/slice.h"
#include "tools/mcp/backend.h"

#include <stdbool.h>

struct mcp_server_info {
	bool legacy;
	const char *revision;	    /* the one that is spoken, "2026-07-28" */
	const char *name, *version; /* as the server names itself; "" if it does not */
	unsigned latency_ms; /* from the start of the program, or the first request, until it was up */
};

struct mcp_server_events {
	/* Optional: the handshake is over. info is valid during the call. */
	void (*up)(void *ctx, const struct mcp_server_info *info);
	/* It is over, after stop too, and may be started again, even from inside. why has reason, and a sentence for
	 * humans with the end of what the program wrote to stderr. */
	void (*down)(void *ctx, const struct err *why);
	/* A call came while it is down. True: it will be started soon (or was, from inside), the call waits. NULL:
	 * never. */
	bool (*wanted)(void *ctx);
	/* Optional: hides secrets in a text of the program's that goes to the log. Without it the log has no text. */
	void (*hide)(void *ctx, char *text, size_t size);
};
