/*
 * reach_daemon.h - how commands reach a daemon: a link by --url with a token, else by the local acp.sock; a request on the control
 * socket; and one request over HTTP with what comes of it, an answer, or a line on standard error and an exit code.
 */
#pragma once

#include "base/buf.h"
#include "base/limits.h"
#include "cli/cmd.h"
#include "cli/options/cli_options.h"
#include "digest/digest.h"
#include "net/client/daemon_link.h"
#include "net/client/http_client.h"

/* --- reach_daemon.c --- */

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

/* --- ask_daemon.c --- */

struct daemon_asker {
	const struct config *cfg;
	struct http_client *http;
	char path[RPC_ID_MAX + 64];
	struct http_answer answer;
};

/* EXIT_DONE, or what to exit with. */
int asker_open(struct daemon_asker *a, const struct config *c);
void asker_done(struct daemon_asker *a);
int asker_ask(struct daemon_asker *a, const char *method, struct err *e);
/* Opens it and asks for a->path: EXIT_DONE with an answer of any status, or the exit code. */
int asker_request(struct daemon_asker *a, const struct config *c, const char *method);
/* The exit code for a negative errno of a request. */
int asker_code(int r);
/* Appends the body of the answer, up to a bound. */
void asker_read(struct daemon_asker *a, struct buf *text);
/* Writes the body to fd. bytes: how many. -errno; *cut: of the connection, not of the file. */
int asker_copy(struct daemon_asker *a, int fd, struct sha256_stream *hash, uint64_t *bytes,
	       bool *cut);
/* Writes the body to --output, all of it or nothing, or to standard output. digest: that it must have, or NULL. cut: what is
 * said of a body that ends early. EXIT_DONE, or the exit code. */
int asker_save(struct daemon_asker *a, const struct sha256 *digest, const char *cut,
	       uint64_t *bytes);
/* Prints {"error":{"reason","message"}} as one line; the exit code. */
int asker_refused(struct daemon_asker *a);
/* For an answer without a body of ours, such as every one to HEAD. */
int asker_unexplained(const struct daemon_asker *a);
