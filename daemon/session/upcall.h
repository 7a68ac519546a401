/*
 * upcall.h - MCP requests of a session's servers of type "acp", on their way to the client that declared them ("mcp/message").
 *
 * A port is one connection's readiness to take them for one session. It is there from the moment session/new, load or resume is
 * accepted, before that is answered: a harness lists its tools while it starts. The newest port takes what comes; an older one that is
 * still connected keeps what it was given, because its client is at work on it.
 *
 * A call keeps its requestId for life. If the connection that has it goes away, it is given once more, with the same id and
 * marked as such, to the next port; a client that knows the id can see that it has it already. It ends with TOOL_CALL_LOST if that one
 * goes as well, and with NO_DRIVER if no port comes within --mcp-hold. So nothing is executed twice by our doing but with
 * the client's knowledge.
 *
 * Payloads are raw text. All callbacks come from the loop, never from inside upcall_new.
 */
#pragma once

#include "base/buf.h"
#include "base/list.h"
#include "base/slice.h"
#include "loop/loop.h"

#include <stdbool.h>

struct session;
struct port;
struct upcall;

struct upcall_ops {
	void (*notify)(void *ctx, const char *method, struct slice params);
	/* Once; the call is gone after. result: raw, what the server answered; or error: a raw JSON-RPC error object, the server's own or ours. */
	void (*done)(void *ctx, struct slice result, struct slice error);
};

/* server: name in the session's mcpServers. Never NULL: what cannot be sent is answered later. */
struct upcall *upcall_new(struct session *s, const char *server, const char *method,
			  struct slice params, const struct upcall_ops *ops, void *ctx);
/* The client is told; nothing is called back. */
void upcall_cancel(struct upcall *c);

/* --- for the connection ------------------------------------------------------------------------------ */

struct port_ops {
	/* Send it, and give its answer to upcall_answered. false: it cannot be sent now. */
	bool (*send)(void *ctx, struct upcall *c);
	/* $/cancel_request for it; no answer is wanted. */
	void (*cancel)(void *ctx, struct upcall *c);
	/* A newer port has taken over and nothing is left here, or the session is gone: it is detached after this call. */
	void (*closed)(void *ctx);
};

struct port {
	struct list link;
	struct session *session; /* NULL: detached */
	const struct port_ops *ops;
	void *ctx;
};

void port_attach(struct port *p, struct session *s);
void port_detach(struct port *p);
/* Raw members of params, among them serverId and requestId. */
void upcall_put(const struct upcall *c, struct buf *params);
/* One of both: the response's raw result, or its raw error. c is gone after. */
void upcall_answered(struct upcall *c, struct slice result, struct slice error);
/* The call of that requestId that this port has, or NULL. */
struct upcall *port_find(struct port *p, const char *request_id);
void upcall_notified(struct upcall *c, const char *method, struct slice params);
