/*
 * hosted.h - MCP servers that live in the sandbox: those of the daemon's configuration, and those of trusted
 * projects, one set a session.
 *
 * The daemon's own start with it, run as the agent's user with the base environment and the settings of their entry,
 * and end with it. A session's are those of <cwd>/.mcp.json; the client that loads that file has decided to trust it.
 * They run as the session's user with the session's environment, each from the first call on, and end with their set.
 *
 * A wrong file or entry is reported (hosted_put_status, hosted_set_each) and has no other effect. Backends stay the
 * same over restarts (hosted_server.h). They belong to this code: no caller frees them.
 *
 * The status for clients:
 *	{servers: [{name, scope: "daemon"|"session", sessionId?, transport: "stdio"|"http", state, since,
 *	revision?, era?, serverInfo?, startMs?, latencyMs?, toolCount?, lastError? {reason, field?, message, at},
 *	restarts, pid?}],
 *	problems: [{severity: "error"|"warning", sessionId?, server?, field?, reason, message}], moreProblems?}
 */
#pragma once

#include "base/err.h"
#include "proc/proc.h"
#include "tools/mcp/backend.h"

struct hosted;
struct hosted_set;
struct jw;

struct hosted_config {
	const char *file; /* --mcp-config; NULL: no servers of its own */
	char *const *
		env; /* all that they and ${} may see of the daemon's environment; "NAME=value", NULL-terminated */
	const char *home;	 /* their directory if they name none; a relative one is below it */
	struct fetcher *fetcher; /* for servers at https; NULL: they are refused */
	struct proc_bounds bounds;
};

struct hosted_project {
	const char *cwd, *session;
	char *const *env;	   /* of the session, likewise */
	struct proc_bounds bounds; /* of the session */
};

/* Reads the configuration and starts nothing. */
struct hosted *hosted_new(struct loop *loop, struct proc_host *procs,
			  const struct hosted_config *config);
/* Reads another configuration, before hosted_start; the fetcher stays. */
void hosted_load(struct hosted *h, const struct hosted_config *config);
/* Only when everything is stopped. */
struct hosted *hosted_free(struct hosted *h);
void hosted_start(struct hosted *h);
/* Ends all servers, those of sessions too, for good; done once no process is left, from the loop. */
void hosted_stop(struct hosted *h, void (*done)(void *ctx), void *ctx);
void hosted_kill(struct hosted *h);

/* One of the daemon's own. NULL and e: MCP_SERVER_UNKNOWN, MCP_SERVER_DISABLED, or why it is not available. */
struct mcp_backend *hosted_find(struct hosted *h, const char *name, struct err *e);
/* The same for a session that names it: a failed one is refused too. */
struct mcp_backend *hosted_find_for_session(struct hosted *h, const char *name, struct err *e);
void hosted_put_status(const struct hosted *h, struct jw *w, const char *key);
/* The first error of the configuration file or of an entry in it; NULL: there is none. */
const struct err *hosted_error(const struct hosted *h);

struct hosted_totals {
	unsigned servers, ready, failed; /* now, those of sessions too */
	uint64_t restarts;		 /* in the daemon's life */
};
void hosted_totals(const struct hosted *h, struct hosted_totals *ret);

/* Reads <cwd>/.mcp.json with the rights of the session's user; there need not be one. */
struct hosted_set *hosted_set_load(struct hosted *h, const struct hosted_project *project);
/* Ends its servers. No call to them may be open, and their backends are not valid any more. */
struct hosted_set *hosted_set_free(struct hosted_set *set);
/* All of its servers that are not disabled, in the file's order. backend NULL: it is not available, for this reason. */
void hosted_set_each(struct hosted_set *set,
		     void (*fn)(void *ctx, const char *name, struct mcp_backend *backend,
				const struct err *why),
		     void *ctx);
/* What is wrong with the file as a whole; NULL: nothing. */
const struct err *hosted_set_error(const struct hosted_set *set);
