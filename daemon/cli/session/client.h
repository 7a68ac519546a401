/*
 * client.h - a command that is an ACP client with one session (run): it connects, opens the session, and deletes
 * or closes it at the end. What happens in the session is the command's, by its hooks.
 */
#pragma once

#include "base/buf.h"
#include "cli/cmd.h"
#include "net/client/daemon_link.h"
#include "rpc/rpc.h"

struct client_ops {
	/* initialize or session/new failed. */
	void (*failed)(void *ctx, const char *method, struct slice error);
	/* The session is open; its result. */
	void (*opened)(void *ctx, struct slice result);
	/* session/update. */
	void (*update)(void *ctx, const struct rpc_msg *m);
	/* session/request_permission: the optionId to choose, as JSON; empty: none. */
	struct slice (*permit)(void *ctx, const struct rpc_msg *m);
	/* Another message, before the client refuses it: true if it was taken. NULL: none is. */
	bool (*message)(void *ctx, const struct rpc_msg *m);
	/* An error that answers no request: the daemon is not claimed yet, or could not read a message. To be printed. */
	void (*refused)(void *ctx, struct slice error);
	/* The session could not be deleted or closed. To be printed. */
	void (*stays)(void *ctx);
	/* SIGINT or SIGTERM. */
	void (*signal)(void *ctx);
};

struct acp_client {
	const struct config *cfg;
	const struct client_ops *ops;
	void *ctx;
	/* What it says of itself, and of its session: */
	const char *name, *cwd;
	struct slice capabilities; /* raw clientCapabilities */
	struct buf meta;	   /* raw _meta.acpd of session/new; may hold a key */

	struct loop *loop;
	struct daemon_link *link;
	struct rpc_calls calls;
	char *session_id; /* NULL: there is none yet */
	int code;
	bool closing, done;
};

/* All zeros before but what the command says. Runs until client_finish: the exit code. An error is printed then. */
int client_run(struct acp_client *c);
/* All zeros is allowed. */
void client_done(struct acp_client *c);

/* Ends client_run with this code, once: a later one changes nothing. */
void client_finish(struct acp_client *c, int code);
/* Deletes the session, with --keep only closes it, and ends then. */
void client_close(struct acp_client *c, int code);
void client_call(struct acp_client *c, const char *method, struct slice params, rpc_reply_fn fn);
/* session/prompt. blocks: raw, with commas between them. */
void client_prompt(struct acp_client *c, struct slice blocks, rpc_reply_fn fn);
/* session/cancel: the turn that runs is to end. */
void client_cancel(struct acp_client *c);
/* The optionId of the offered option whose member is that text; empty: none is offered. */
struct slice client_option(const struct rpc_msg *m, const char *member, const char *text);
