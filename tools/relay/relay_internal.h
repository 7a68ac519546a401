/* relay_internal.h - what the files of relay/ share. */
#pragma once

#include "base/buf.h"
#include "json/jenc.h"
#include "session/parts/mcp/mcp_servers.h"
#include "tools/relay/relay_process.h"
#include "tools/relay/relay_remote.h"
#include "tools/relay/harness/session_socket.h"
#include "tools/relay/served_server.h"
#include "tools/relay/relay.h"

#define RELAY_TOOLS_MARKER "mcp.tools" /* names the processes of the built-in tools of /mcp */

struct relay {
	struct loop *loop;
	struct proc_host *procs;
	struct session_store *store;
	struct hosted *hosted;
	struct fetcher *fetcher;
	char *run_dir, *self, *root, *state;
	char **env;
	struct relay_process *builtin; /* of /mcp without a session */
	struct list proxies, calls;    /* of /mcp without a session (relay_proxy.c) */
	struct list leaving;	       /* servers that take leave of theirs (relay_remote.h) */
	bool stopping;		       /* nothing is started any more */
	void (*gone)(void *ctx, struct mcp_backend *b);
	void *gone_ctx;
	uint64_t last_marker;
};

/* A server that the client named and we run. */
struct client_process {
	struct list link;
	struct relay_process *child;
};

/* What is kept for one session. */
struct session_servers {
	struct relay *relay;
	struct session *session;
	struct session_socket *session_socket;
	char *place; /* the directory of the socket; NULL: not made yet */
	char *socket;
	char key[33];
	struct mcp_policy *rules;
	enum policy_verdict fallback; /* for other servers' tools without a rule: categories.mcp */
	struct list servers, children, remotes;
	struct tool_names *names;   /* of the servers' tools */
	struct list proxies, calls; /* relay_proxy.c */
	struct relay_process *builtin;
	struct hosted_set *project;
	struct buf
		/* raw elements: servers that the harness reaches by itself, and those of .mcp.json that cannot be
		 * used */
		reports;
};

struct served_server {
	struct list link;
	struct session *session;
	char *name;
	enum served_via via;
	bool for_harness; /* to the harness; else only to /mcp */
	struct mcp_backend *inner;
	bool own;
	struct toolgate *gate;
	struct mcp_backend *plain; /* in front of it, for the harness; or NULL */
	struct mcp_backend *front; /* in front of both: what the harness has */
	char *delivered,
		*renamed, /* raw arrays, of names and of {tool, as}; NULL: not listed yet, none */
		*omitted; /* the same of {tool, reason, message} */
	struct list questions;
};

/* relay.c */
struct session_servers *session_servers_get(struct relay *r, struct session *s);
struct served_server *session_servers_find(const struct session_servers *v, const char *name);
/* The session socket listens. */
int session_servers_listen(struct session_servers *v, struct err *e);

/* relay_assemble.c */
/* Makes the served servers of the session and appends the array for the harness. */
int session_servers_assemble(struct session_servers *v, struct buf *ret, struct err *e);

/* relay_builtin.c: the built-in tools */
/* The session's, made when first wanted; for_harness: to the harness too. more: raw object of further members
 * of its setup, or empty. */
struct served_server *session_servers_builtin(struct session_servers *v, bool for_harness,
					      struct slice more);
struct mcp_backend *relay_builtin(struct relay *r);
/* A program that the client named: args an array of strings, env of {name, value}, both raw. */
struct relay_process *client_process_new(struct session_servers *v, const char *name,
					 const char *program, struct slice args, struct slice env);

/* relay.c */
/* The lists of what is held for clients of /mcp. */
struct relay_holds {
	struct list *proxies, *calls;
};

/* The backend that a call goes to now. NULL with e. */
struct mcp_backend *relay_target(struct relay *r, const char *name, const char *session,
				 struct relay_holds *ret, struct err *e);

/* relay_proxy.c */
/* Ends the calls of the list: their backend ends. */
void proxy_calls_end(struct list *calls);
void proxies_free(struct relay *r, struct list *proxies);
