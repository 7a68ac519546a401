/*
 * upcall.h - MCP requests of a session's servers of type "acp", on their way to the client that declared them
 * ("mcp/message").
 *
 * A port is the readiness of one connection to receive them for one session, from the moment session/new, load or resume is
 * accepted. Payloads are raw text. All callbacks come from the loop, never from inside upcall_new.
 */
#pragma once

#include "base/buf.h"
#include "base/list.h"
#include "base/slice.h"
#include "loop/loop.h"

struct session;
struct port;
struct upcall;

struct upcall_ops {
	void (*notify)(void *ctx, const char *method, struct slice params);
	/* Once; the call is gone after. result: raw, what the server answered; or error: a raw JSON-RPC error object,
	 * the server's own or ours. */
	void (*done)(void *ctx, struct slice result, struct slice error);
};

struct upcall_spec {
	const char *server; /* name in the session's mcpServers */
	const char *method;
	struct slice params;
	bool repeatable; /* to carry it out twice is to carry it out once */
};

/* Never NULL: what cannot be sent is answered later. */
struct upcall *upcall_new(struct session *s, const struct upcall_spec *spec,
			  const struct upcall_ops *ops, void *ctx);
/* The client gets a cancellation; nothing is called back. */
void upcall_cancel(struct upcall *c);

/* --- for the connection ------------------------------------------------------------------------------ */

struct port_ops {
	/* Send it, and give its answer to upcall_answered. false: it cannot be sent now. */
	bool (*send)(void *ctx, struct upcall *c);
	/* $/cancel_request for it; no answer is wanted. */
	void (*cancel)(void *ctx, struct upcall *c);
	/* A newer port has taken over and nothing is left here, or the session is gone: it is detached after this
	 * call. */
	void (*closed)(void *ctx);
};

struct port {
	struct list link;
	struct session *session; /* NULL: detached */
	const struct port_ops *ops;
	void *ctx;
	bool keeps_answers; /* its client carries out no requestId twice */
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
