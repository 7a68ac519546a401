/*
 * upstream_server.h - what is common to the servers that we reach by child process (mcp_stdio_new) or over HTTP
 * (upstream_http.h).
 *
 * Each is a struct upstream with a backend (mcp/backend.h) that outlives its server. It is started, comes up when the server's era is known,
 * may go down, and be started again. Calls made before it is up wait. Calls open when it goes down end with -32603 and
 * data.reason SERVER_GONE, and are never sent twice. Its owner decides when to start it again.
 *
 * A modern server (2026-07-28) gets calls unchanged, except for request ids and progress tokens, which are ours on that
 * hop. A legacy one (2024-11-05 to 2025-11-25) is behind upstream/upstream_legacy.h, so that callers see only a
 * modern server.
 *
 * params._meta.acpd.session, a string, may name for whom a call is made. A question or log message of a legacy server
 * that names no call goes to one of its open calls only if those are all made for the same one. Only the same one can
 * answer a question of a call.
 *
 * Callbacks come from the loop, never from inside a function of these headers, and not after the server was freed.
 */
#pragma once

#include "base/err.h"
#include "base/slice.h"
#include "loop/loop.h"
#include "proc/proc.h"
#include "tools/mcp/backend.h"

struct upstream;

struct mcp_server_info {
	bool is_legacy;
	const char *revision;	    /* the one that is spoken, "2026-07-28" */
	const char *name, *version; /* as the server names itself; "" if it does not */
	unsigned latency_ms; /* from the start of the program, or the first request, until it was up */
};

struct mcp_server_events {
	/* Optional: the handshake is over. info is valid during the call. */
	void (*up)(void *ctx, const struct mcp_server_info *info);
	/* It is over, after stop too, and may be started again, even from inside. why has reason, and a sentence for
	 * humans with the end of what the program wrote to stderr. */
	void (*down)(void *ctx, const struct err *why);
	/* A call came while it is down. True: it will be started soon (or was, from inside), the call waits. NULL:
	 * never. */
	bool (*wanted)(void *ctx);
	/* Optional: hides secrets in a text of the program's that goes to the log. Without it the log has no text. */
	void (*hide)(void *ctx, char *text, size_t size);
};

/* As long as the server; its free is mcp_server_free. */
struct mcp_backend *mcp_server_backend(struct upstream *u);
/* Only when down. e: why it could not be started; there is no event then. */
int mcp_server_start(struct upstream *u, struct err *e);
/* Open and waiting calls end with SERVER_GONE; down follows once nothing of it is left. Harmless when down, and of NULL. */
void mcp_server_stop(struct upstream *u);
/* The same without patience: SIGKILL of everything, if it is a child. */
void mcp_server_kill(struct upstream *u);
/* Of the child, or 0. */
pid_t mcp_server_pid(const struct upstream *u);
/* Ends its open calls without an answer (none should be open). A child that still lives is stopped, and what is left
 * of the object goes with it: proc_host_count says when. Always NULL. */
struct upstream *mcp_server_free(struct upstream *u);

/*
 * An MCP server that is a child process, one message a line on its stdin and stdout
 * (upstream_server.h for what holds for all).
 *
 * The era is found out by asking: server/discover first. If that is refused, not answered in time, or ends the program
 * (then it is started once more), initialize follows. The era that was found is tried first the next time. Other
 * output on its stdout is skipped, as that of a harness (proc/output/). stop is stdin EOF and then the steps of
 * proc/proc.h.
 */

struct mcp_stdio_config {
	const char *name;  /* of the server, for the log and errors */
	char *const *argv; /* argv[0] is an absolute path */
	char *const *
		env; /* whole; with the markers of proc/table/process_tree.h, ACPD_SESSION being session */
	const char *cwd;
	/* names the cgroup and the processes that the sweep kills: no other child of the daemon may have the same */
	const char *session;
	struct proc_bounds bounds;
	int data; /* a file that the child has as 3, at its beginning at every start (a memfd); 0: none. Duplicated. */
	unsigned start_ms; /* from the start until up; 0: MCP_START_MS */
};

/* Copies the configuration; starts nothing. */
struct upstream *mcp_stdio_new(struct loop *loop, struct proc_host *procs,
			       const struct mcp_stdio_config *config,
			       const struct mcp_server_events *events, void *ctx);
