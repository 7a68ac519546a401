/*
 * upstream_stdio.h - an MCP server that is a child process, one message a line on its stdin and stdout
 * (upstream_server.h for what holds for all).
 *
 * The era is found out by asking: server/discover first. If that is refused, not answered in time, or ends the program
 * (then it is started once more), initialize follows. The era that was found is tried first the next time. Other
 * output on its stdout is skipped, as that of a harness (proc/output/). stop is stdin EOF and then the steps of
 * proc/proc.h.
 */
#pragma once

#include "loop/loop.h"
#include "proc/proc.h"
#include "tools/upstream/upstream_server.h"

struct mcp_stdio;

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
struct mcp_stdio *mcp_stdio_new(struct loop *loop, struct proc_host *procs,
				const struct mcp_stdio_config *config,
				const struct mcp_server_events *events, void *ctx);
/* Ends its open calls without an answer (none should be open). A child that still lives is stopped, and what is left
 * of the object goes with it: proc_host_count says when. */
struct mcp_stdio *mcp_stdio_free(struct mcp_stdio *s);
/* As long as the server; its free is mcp_stdio_free. */
struct mcp_backend *mcp_stdio_backend(struct mcp_stdio *s);
/* Only when down. e: why the program could not be started; there is no event then. */
int mcp_stdio_start(struct mcp_stdio *s, struct err *e);
/* Open and waiting calls end with SERVER_GONE; down follows once nothing of the child is left. Harmless when down. */
void mcp_stdio_stop(struct mcp_stdio *s);
/* SIGKILL of everything; down follows. */
void mcp_stdio_kill(struct mcp_stdio *s);
/* Of the child, or 0. */
pid_t mcp_stdio_pid(const struct mcp_stdio *s);
