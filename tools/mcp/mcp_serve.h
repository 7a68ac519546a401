/*
 * mcp_serve.h - serves one MCP client over two descriptors, a message a line: standard input and output of `acpd mcp
 * --builtin`, or a socket. Frames lines, feeds them to a front (mcp_front.h) and writes what it sends.
 *
 * The descriptors stay the caller's, and are non-blocking while this lives. Both may be the same one (a socket), and
 * regular files work too. A client that does not read is not read either: above MCP_OUT_SOFT bytes of output no more
 * input is taken, above MCP_OUT_MAX the client is given up. After the end of the input open requests have
 * MCP_EOF_GRACE_MS for their answers (a script piped in), then they are cancelled.
 *
 * done is called once, from the loop, when there is nothing more to do; the owner may free from inside it.
 */
#pragma once

#include "base/slice.h"
#include "loop/loop.h"
#include "tools/mcp/backend.h"

struct mcp_serving;

struct mcp_serve_ops {
	/* fault: the error (a line too long, a write error), or NULL: the client closed. */
	void (*done)(void *ctx, const char *fault);
};

/* early: bytes of the input that the caller has read already, or empty. The backend must outlive it. */
struct mcp_serving *mcp_serve(struct loop *loop, struct mcp_backend *backend, int in, int out,
			      struct slice early, const struct mcp_serve_ops *ops, void *ctx);
/*
 * Bounds what the clients of one socket may make us keep together: bytes of messages that have begun, and bytes that
 * they have not read. A client that exceeds them is ended, and so is one whose message takes longer than line_ms from
 * its first byte. The counts are ours.
 */
struct mcp_budget {
	size_t in_max, out_max;
	unsigned line_ms;
	size_t in, out;
};
/* The budget must outlive it. Without one only the limits of a single client hold. */
void mcp_serving_share(struct mcp_serving *s, struct mcp_budget *budget);
/* Cancels open requests; output that was not written is dropped. */
struct mcp_serving *mcp_serving_free(struct mcp_serving *s);
