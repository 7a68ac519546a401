/* relay_internal.h - what the files of relay/ share. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/list.h"
#include "base/slice.h"
#include "json/jenc.h"
#include "loop/loop.h"
#include "proc/proc.h"
#include "tools/mcp/backend.h"
#include "tools/relay/gate/toolgate.h"
#include "tools/relay/harness/session_socket.h"
#include "tools/relay/harness/tool_renaming.h"
#include "tools/relay/relay.h"
#include "tools/upstream/http/upstream_http.h"
#include "tools/upstream/upstream_server.h"

/*
 * An MCP server that runs for one session (or for the daemon's own /mcp), and only while it is needed. It is started when
 * the first call comes, and again at the first call after it has died.
 *
 * Most are children, as the user of the harness and in its environment: the built-in tools (`acpd mcp --builtin`, not in
 * the daemon itself, which may be root and must never wait for a disk), and servers that the client named by their
 * programs. One that the client named by an address, for a session without open network, cannot be reached by the
 * harness: the daemon calls it, by acpd-fetch (fetcher/fetcher.h), which decides about its address, since one that the
 * client wrote may be private. If it cannot be reached, the calls that wait for it end.
 */
struct relay_server {
	struct list link; /* in the session's list, or that of those that take leave */
	struct loop *loop;
	struct upstream *server;
	bool remote;		 /* over HTTP: its server may keep a session for us */
	bool started;		 /* from the first call until it reports down */
	bool leaving;		 /* freed when it reports down */
	uint64_t may_start;	 /* clock_mono_ms */
	struct loop_timer timer; /* until then */
	struct loop_task free_task;
	/* of a child: see relay_server_same */
	char *setup;
	struct proc_bounds bounds; /* server has the references */
	const struct session
		*session; /* whose secrets the log hides; NULL: of none, and the log has no text */
};

/* A child. config.session names its processes: no other child of the daemon has the same. setup: what it reads from
 * descriptor 3; empty: nothing. Copies config; starts nothing. */
struct relay_server *relay_server_new(struct loop *loop, struct proc_host *procs,
				      const struct mcp_stdio_config *config, struct slice setup,
				      const struct session *session);
/* headers: raw array of {name, value}, checked; or empty. NULL with e, whose field is url or headers. */
struct relay_server *relay_remote_new(struct loop *loop, const struct mcp_remote_config *config,
				      struct slice headers, struct err *e);
/* Open calls must have been cancelled; a process is stopped, and gone some time after. */
struct relay_server *relay_server_free(struct relay_server *c);
struct mcp_backend *relay_server_backend(struct relay_server *c);
/* True if it was made with this setup, within these bounds. */
bool relay_server_same(const struct relay_server *c, struct slice setup,
		       const struct proc_bounds *bounds);
/* All of the list. Open calls must have been cancelled. Each takes leave of a server that keeps a session for it, in the
 * list `at`, and is gone after. */
void relay_servers_leave(struct list *from, struct list *at);
/* All of the list, at once. */
void relay_servers_free(struct list *at);

/* For relay_remote.c. */
struct relay_server *relay_server_blank(struct loop *loop);
extern const struct mcp_server_events relay_server_events;

/*
 * One MCP server as a session's harness sees it: its name, the backend behind it, the policy in
 * front, and what the harness has really listed of it.
 */

struct served_server;

/* How the server comes to the session. */
enum served_via {
	SERVED_ACP,	/* the client serves it */
	SERVED_BUILTIN, /* the built-in tools */
	SERVED_HOSTED,	/* of the daemon's configuration */
	SERVED_PROJECT, /* of <cwd>/.mcp.json */
	SERVED_CLIENT,	/* the client named it, and we run it, or call it behind a wall */
};

struct served_server_spec {
	const char *name;
	enum served_via via;
	struct mcp_backend *inner; /* must outlive this; owned by it if is_own */
	bool is_own;
	bool for_harness; /* to the harness, not only to clients of /mcp */
	const struct mcp_policy *rules;
	enum policy_verdict fallback; /* for tools without a rule */
	struct tool_names *names;     /* of the session's tools; must outlive this */
};

struct served_server *served_server_new(struct loop *loop, struct session *s,
					const struct served_server_spec *spec);
/* No client may be connected. */
struct served_server *served_server_free(struct served_server *o);
/* {"name","via","toolsDelivered"?: [names],"toolsRenamed"?: [{tool,as}],"toolsOmitted"?: [{tool,reason,message}]}: the
 * last three only if the harness has listed them. */
void served_server_put(const struct served_server *o, struct jw *w);

#define RELAY_TOOLS_MARKER "mcp.tools" /* names the processes of the built-in tools of /mcp */

struct relay {
	struct loop *loop;
	struct proc_host *procs;
	struct session_store *store;
	struct hosted *hosted;
	struct fetcher *fetcher;
	char *run_dir, *self, *root, *state;
	char **env;
	struct relay_server *builtin; /* of /mcp without a session */
	struct list proxies, calls;   /* of /mcp without a session (relay_proxy.c) */
	struct list leaving;	      /* servers that take leave of theirs (relay_server_leave) */
	bool stopping;		      /* nothing is started any more */
	void (*gone)(void *ctx, struct mcp_backend *b);
	void *gone_ctx;
	uint64_t last_marker;
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
	struct list servers;	      /* struct served_server */
	struct list own;	      /* struct relay_server, of those that the client named */
	struct tool_names *names;     /* of the servers' tools */
	struct list proxies, calls;   /* relay_proxy.c */
	struct relay_server *builtin;
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
	bool is_own;
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
struct relay_server *client_process_new(struct session_servers *v, const char *name,
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

/*
 * Checks before the harness starts whether a server that the harness reaches by itself can be reached:
 * a tool that is silently missing looks like a model that does not use it.
 */

/* command of a stdio server: where it is, absolute or in path; the caller frees. NULL with MCP_COMMAND_NOT_FOUND.
 * field: its place, for errors. */
char *server_reach_command(const char *command, const char *path, const char *field, struct err *e);
/* url of an http or sse server: MCP_URL_INVALID unless http or https with a host; MCP_SERVER_UNREACHABLE if it names
 * this machine (in the sandbox: never the client's) and no server listens at its port. Other hosts are not tried: they
 * may be reachable only for the harness. */
int server_reach_url(const char *url, const char *field, struct err *e);
