/* served_calls.h - tool calls that pass the daemon on their way to a server, held against the budgets. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct session;

/*
 * A tool call that passes the daemon on its way to the server. It is held against the budgets of tool calls before it
 * runs: NULL if none is left, with the limit; the turn then ends by it, unless the call is not the harness's. Else
 * served_call_end follows, when it is over. outside: it is a client's of /mcp. Calls of the harness that it has
 * announced, or will, are counted once.
 */
struct served_call;
struct served_call *served_call_begin(struct session *s, const char *server, const char *tool,
				      bool outside, uint64_t *limit);
void served_call_end(struct served_call *c);
