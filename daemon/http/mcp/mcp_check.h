/*
 * mcp_check.h - the kind of a message posted to an MCP endpoint, and whether the headers that repeat parts of it agree.
 * Pure.
 *
 * The body decides. A request that names a protocol version in its _meta is modern (2026-07-28), with any headers, and
 * must then have everything that this revision requires: clientCapabilities, and the headers MCP-Protocol-Version,
 * Mcp-Method and, if the method names a thing, Mcp-Name, with the same values (Mcp-Name perhaps as =?base64?...?=).
 * "initialize" begins a legacy session; everything else belongs to one. A batch is refused: neither of the two legacy
 * revisions that we serve has them.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

struct mcp_headers {
	struct slice version, method, name; /* empty if absent; not checked yet */
};

enum mcp_post_kind {
	MCP_POST_REFUSED,
	MCP_POST_MODERN,	/* a request of its own */
	MCP_POST_MODERN_NOTICE, /* a notification: there is nothing it could be about */
	MCP_POST_INITIALIZE,
	MCP_POST_REQUEST, /* of a session, as the next */
	MCP_POST_OTHER,	  /* notifications and responses */
};

struct mcp_post {
	enum mcp_post_kind kind;
	struct slice id; /* raw, in the body; empty if there is none that an answer can name */
	/* REFUSED: the answer */
	int status;
	struct err e;
	struct buf extra; /* further members of data, raw */
};

/* The caller frees ret->extra. */
void mcp_post_check(struct slice body, const struct mcp_headers *h, struct mcp_post *ret);
/* True for the header MCP-Protocol-Version of a request in a session: absent, or a legacy revision that we serve. */
bool mcp_legacy_version_ok(struct slice version);
bool mcp_modern_version(struct slice version);
