/*
 * hosted_server.h - one hosted server, kept running: started, checked, started again when it ends, given up when that
 * does not help.
 *
 *	STOPPED -> STARTING -> READY -> BACKOFF -> STARTING ...
 *	BACKOFF -> FAILED after HOSTED_RESTARTS_MAX restarts in a row
 *
 * Between two starts it waits by decorrelated jitter: a random time from HOSTED_BACKOFF_MS to three times the last one,
 * at most HOSTED_BACKOFF_MAX_MS. After HOSTED_STABLE_MS of being ready the restarts count from zero again. A FAILED
 * server is tried again when it is needed, but not within HOSTED_RETRY_MS; one over HTTP also every
 * HOSTED_BACKOFF_MAX_MS, because others start it. DISABLED is final, and so is FAILED for an entry that was refused.
 *
 * The backend stays the same over all restarts. Calls while it is down wait if it will be started, else they are
 * refused. A message that was sent to a server is never sent again. The server's output about its end is kept as
 * lastError, with known secrets hidden.
 */
#pragma once

#include "base/err.h"
#include "proc/proc.h"
#include "session/core/redact/secrets.h"
#include "tools/hosted/mcpfile.h"
#include "tools/mcp/backend.h"
#include "tools/upstream/upstream_server.h"

enum hosted_state {
	HOSTED_STOPPED,
	HOSTED_STARTING,
	HOSTED_READY,
	HOSTED_BACKOFF,
	HOSTED_FAILED,
	HOSTED_DISABLED,
};

struct hosted_server;

/* Its settings; all but the texts of entry are copied. */
struct hosted_server_config {
	struct loop *loop;
	struct proc_host *procs;
	const struct mcpfile_entry *entry; /* outlives the server, as do refusal and secrets */
	const struct err *refusal;	   /* of a refused entry */
	const struct secrets *secrets;
	char *const *env; /* below the entry's own */
	const char *
		cwd; /* what a relative cwd or command is relative to, and where it runs if it names none */
	const char *mark;    /* names its processes: one child of the daemon each */
	const char *session; /* for the log; NULL: the daemon's own */
	struct proc_bounds bounds;
	struct fetcher *fetcher; /* for https; NULL: there is none */
};

struct hosted_server *hosted_server_new(const struct hosted_server_config *config);
/* Only when hosted_server_down: no call may be open. */
struct hosted_server *hosted_server_free(struct hosted_server *s);
const char *hosted_server_name(const struct hosted_server *s);
enum hosted_state hosted_server_state(const struct hosted_server *s);
/* Begins, if it is STOPPED. */
void hosted_server_start(struct hosted_server *s);
/* Stops it for good. down is called, from the loop, once no process is left; not if hosted_server_down holds
 * already. */
void hosted_server_stop(struct hosted_server *s, void (*down)(void *ctx), void *ctx);
void hosted_server_kill(struct hosted_server *s);
bool hosted_server_down(const struct hosted_server *s);
/* Its backend, whose first call starts it if it is not running. NULL and e: it is disabled, refused, failed just now,
 * or something that it needs is missing. */
struct mcp_backend *hosted_server_backend(struct hosted_server *s, struct err *e);
/* For a session that names it. A failed one is refused too; if that was HOSTED_RETRY_MS ago, it is started for the next
 * session. For a starting one the backend is returned: its first calls wait. */
struct mcp_backend *hosted_server_backend_for_session(struct hosted_server *s, struct err *e);
unsigned hosted_server_restarts(const struct hosted_server *s);

struct jw;
void hosted_server_put(const struct hosted_server *s, struct jw *w);

/* hosted_transport.c, for hosted_server.c: a child of ours or HTTP. NULL with e: something that it needs is missing, or
 * it may not be reached. */
struct upstream *hosted_transport_new(const struct hosted_server_config *config,
				      const struct mcp_server_events *events, void *ctx,
				      struct err *e);
