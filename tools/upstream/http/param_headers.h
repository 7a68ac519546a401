/*
 * param_headers.h - arguments of tool calls that go into HTTP headers as well ("x-mcp-header" in a tool's inputSchema,
 * MCP 2026-07-28), so that proxies may route by them. A server refuses calls that lack them. Pure.
 *
 * Learned from every tools/list result that passes. A declaration that breaks the rules (an invalid header name, a type
 * other than string, integer or boolean) is ignored. Bounded: declarations beyond MCP_MIRRORED_MAX are ignored.
 */
#pragma once

#include "base/buf.h"
#include "base/list.h"

struct param_headers {
	struct list fields;
	unsigned n;
};

void param_headers_init(struct param_headers *m);
void param_headers_done(struct param_headers *m);
/* result: of tools/list. */
void param_headers_learn(struct param_headers *m, struct slice result);
/* The headers of a call with these params. */
void param_headers_put(struct buf *b, const struct param_headers *m, struct slice params);
