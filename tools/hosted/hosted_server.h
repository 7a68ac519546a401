/*
 * hosted_server.h - one hosted server, kept running: started, looked at, started again when it ends, given up when
 * that does not help.
 *
 *	STOPPED -> STARTING -> READY -> BACKOFF -> STARTING ...      BACKOFF -> FAILED after HOSTED_RESTARTS_MAX restarts in a row
 *
 * Between two starts it waits by decorrelated jitter: a random time from HOSTED_BACKOFF_MS to three times the last
 * one, at most HOSTED_BACKOFF_MAX_MS. After HOSTED_STABLE_MS of being ready its past is forgotten. A FAILED server is
 * tried again when somebody wants it, though not within HOSTED_RETRY_MS; one over HTTP also every
 * HOSTED_BACKOFF_MAX_MS, for others start it. DISABLED stays so, and so does FAILED of an entry that was refused.
 *
 * The backend stays the same over all restarts; calls while it is down wait if it will be started, else they are
 * refused. Nothing that was sent to a server is sent again. What the server wrote about its end is kept as lastError,
 * with known secrets blacked out.
 */
#pragma once

#include "base/err.h"
#include "proc/proc.h"
#include "session/secrets/secrets.h"
#include "tools/hosted/mcpfile.h"
#include "tools/mcp/backend.h"

enum hosted_state {
	HOSTED_STOPPED,
	HOSTED_STARTING,
	HOSTED_READY,
	HOSTED_BACKOFF,
	HOSTED_FAILED,
	HOSTED_DISABLED,
};

struct hosted_server;

/* What it runs with; all but the texts of entry are copied. */
struct hosted_server_config {
	struct loop *loop;
	struct proc_host *procs;
	const struct mcpfile_entry *entry; /* outlives the server, as do refusal and secrets */
	const struct err *refusal;	   /* of a refused entry */
	const struct secrets *secrets;
	char *const *env; /* below the entry's own */
	const char *
		cwd; /* what a relative cwd or command is relative to, and where it runs if it says nothing */
	const char *incarnation;
	const char *mark;    /* names its processes: one child of the daemon each */
	const char *session; /* for the log; NULL: the daemon's own */
	bool switch_user;
	uid_t uid;
	gid_t gid;
};

struct hosted_server *hosted_server_new(const struct hosted_server_config *config);
/* Only when hosted_server_down: no call may be open. */
struct hosted_server *hosted_server_free(struct hosted_server *s);
const char *hosted_server_name(const struct hosted_server *s);
enum hosted_state hosted_server_state(const struct hosted_server *s);
/* Begins, if it is STOPPED. */
void hosted_server_start(struct hosted_server *s);
/* For good. down is called, from the loop, once no process is left; not if hosted_server_down holds already. */
void hosted_server_stop(struct hosted_server *s, void (*down)(void *ctx), void *ctx);
void hosted_server_kill(struct hosted_server *s);
bool hosted_server_down(const struct hosted_server *s);
/* Its backend, whose first call starts it if it is not running. NULL and e: it is disabled, refused, given up just
 * now, or what it needs is not there. */
struct mcp_backend *hosted_server_backend(struct hosted_server *s, struct err *e);
/* For a session that names it: one that has failed is refused as well, and if that was HOSTED_RETRY_MS ago it is
 * tried again, for the next who asks. One that is starting is had: its first calls wait. */
struct mcp_backend *hosted_server_backend_for_session(struct hosted_server *s, struct err *e);
unsigned hosted_server_restarts(const struct hosted_server *s);

struct jw;
void hosted_server_put(const struct hosted_server *s, struct jw *w);
