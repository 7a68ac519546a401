/*
 * restored.h - what the daemon does when the machine was away (loop/restore_watch.h), part by part.
 *
 * At once: every TCP connection is reset, and nobody is let in, read or sent to. When the id of the sandbox has been read
 * again: requests of acpd-fetch fail, since their connections are dead, too; what goes by the wall clock is judged anew;
 * clients are told, and let in. The same id: claim, tokens and keys stand. Another id: this is a copy. It has a new
 * incarnation, is unclaimed, and knows nothing of what clients gave to the other.
 *
 * The parts are borrowed; all but the last two are set before restored_begin.
 */
#pragma once

#include "cli/serve/serve_webhooks.h"
#include "fetcher/fetcher.h"
#include "http/endpoints.h"
#include "loop/restore_watch.h"
#include "net/net_server.h"
#include "net/unix_server.h"

struct restored_parts {
	struct loop *loop;
	struct net_server *net;
	struct unix_server *sockets;
	struct acp_server *acp;
	struct admission *admission;
	struct session_store *store;
	struct fetcher *fetcher;
	struct http_context *http;
	struct lifecycle *life;
	struct serve_webhooks *webhooks;
	struct claim_desk *desk;
	struct restore_watch *watch;
	bool destroy_sockets;
};

/* destroy_sockets: TCP connections of sessions are ended, too. */
void restored_begin(struct restored_parts *p, bool destroy_sockets);
/* All zeros is allowed. */
void restored_end(struct restored_parts *p);
