/*
 * relay_process.h - an MCP server that runs for one session (or for the daemon's own /mcp), as the user of the harness
 * and in its environment, and only while it is needed: the built-in tools (`acpd mcp --builtin`, not in the daemon
 * itself, which may be root and must never wait for a disk), and servers that the client named by their programs.
 *
 * It is started when the first call comes, and again at the first call after it has died.
 */
#pragma once

#include "base/slice.h"
#include "loop/loop.h"
#include "proc/proc.h"
#include "tools/mcp/backend.h"

struct relay_process;

struct relay_process_config {
	const char *name;   /* of the server, for the log */
	const char *marker; /* names its processes: no other child of the daemon has the same */
	char *const *argv;  /* argv[0] is an absolute path */
	char *const *env;
	const char *cwd;
	struct slice setup; /* what it reads from descriptor 3; empty: nothing */
	struct proc_bounds bounds;
	const struct session
		*session; /* whose secrets the log hides; NULL: of none, and the log has no text */
};

/* Copies config; starts nothing. */
struct relay_process *relay_process_new(struct loop *loop, struct proc_host *procs,
					const struct relay_process_config *config);
/* Open calls must have been cancelled; the process is stopped, and gone some time after. */
struct relay_process *relay_process_free(struct relay_process *c);
struct mcp_backend *relay_process_backend(struct relay_process *c);
/* True if it was made with this setup, within these bounds. */
bool relay_process_same(const struct relay_process *c, struct slice setup,
			const struct proc_bounds *bounds);
