/* reach_daemon.h - how the client commands reach a daemon: --url with a token, else the local acp.sock. */
#pragma once

#include "base/buf.h"
#include "cli/options/cli_options.h"
#include "net/client/daemon_link.h"

/* NULL with e filled; it reads the token and wipes it. */
struct daemon_link *reach_daemon(struct loop *loop, const struct config *c,
				 const struct daemon_link_events *ev, void *ctx, struct err *e);
/* One request on the control socket; appends the raw result. A JSON-RPC error becomes e (code in e->rpc);
 * -ECONNREFUSED if no daemon answers. */
int control_call(const struct config *c, const char *method, struct slice params,
		 struct buf *result, struct err *e);
/* The same for a command: EXIT_DONE, or the exit code; the reason has been printed then. */
int control_ask(const struct config *c, const char *method, struct slice params,
		struct buf *result);
/* Prints a result that is a list: with --json as it is, otherwise each element of its member key by print. */
void control_print_list(const struct config *c, struct slice result, const char *key,
			void (*print)(struct slice element));
/* Reads a token file (or standard input for NULL) without its trailing white space. */
int read_token(const char *path, struct buf *ret, struct err *e);
