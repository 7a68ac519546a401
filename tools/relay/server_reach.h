/*
 * server_reach.h - checks before the harness starts whether a server that the harness reaches by itself can be reached:
 * a tool that is silently missing looks like a model that does not use it.
 */
#pragma once

#include "base/err.h"
#include "base/slice.h"

/* command of a stdio server: where it is, absolute or in path; the caller frees. NULL with MCP_COMMAND_NOT_FOUND.
 * field: its place, for errors. */
char *server_reach_command(const char *command, const char *path, const char *field, struct err *e);
/* url of an http or sse server: MCP_URL_INVALID unless http or https with a host; MCP_SERVER_UNREACHABLE if it names
 * this machine (in the sandbox: never the client's) and no server listens at its port. Other hosts are not tried: they
 * may be reachable only for the harness. */
int server_reach_url(const char *url, const char *field, struct err *e);
