/*
 * ask_daemon.h - one request of the command line to a daemon over HTTP, through --url with a token or the local acp.sock,
 * and what comes of it: an answer, or a line on standard error and an exit code.
 */
#pragma once

#include "cli/cmd.h"
#include "base/limits.h"
#include "net/client/http_client.h"

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
/* The exit code for a negative errno of a request. */
int asker_code(int r);
/* Appends the body of the answer, up to a bound. */
void asker_read(struct daemon_asker *a, struct buf *text);
/* Prints {"error":{"reason","message"}} as one line; the exit code. */
int asker_refused(struct daemon_asker *a);
/* For an answer without a body of ours, such as every one to HEAD. */
int asker_unexplained(const struct daemon_asker *a);

/* Written beside its final name, and renamed once it is whole. */
struct output_file {
	const char *path; /* NULL: standard output */
	char *temp;
	int fd;
};

int output_file_open(struct output_file *t, const char *path);
int output_file_done(struct output_file *t, bool good);
