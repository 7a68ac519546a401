/*
 * msg.h - words and raw text of MCP: names, codes, and changes of params and results without decoding them.
 *
 * The functions take raw JSON that has passed json/jscan.h and append raw JSON to a buf (errors stick in it:
 * buf.failed). All other members keep their place, order and every byte. "members" are raw members without
 * braces, `"a":1,"b":{}`; their keys, like those given as C strings, are plain ASCII. Keys that were read are
 * compared decoded: "a" is a.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "json/jscan.h"

#define MCP_OWN_NAME "acpd" /* of the server of the built-in tools; no other server may have it */

#define MCP_MODERN "2026-07-28"
#define MCP_LEGACY "2025-11-25" /* what a legacy client gets unless it asks for the one before */
#define MCP_LEGACY_OLD "2025-06-18" /* that one */

/* Members of params._meta (version, capabilities, info: of every modern request), of a result's _meta (server), of a
 * notification's. */
#define MCP_META "io.modelcontextprotocol/"
#define MCP_META_VERSION MCP_META "protocolVersion"
#define MCP_META_CAPABILITIES MCP_META "clientCapabilities"
#define MCP_META_CLIENT MCP_META "clientInfo"
#define MCP_META_SERVER MCP_META "serverInfo"
#define MCP_META_LOG_LEVEL MCP_META "logLevel"
#define MCP_META_SUBSCRIPTION MCP_META "subscriptionId"

enum mcp_code {
	MCP_HEADER_MISMATCH = -32020,
	MCP_CAPABILITY_MISSING = -32021,  /* data.requiredCapabilities */
	MCP_VERSION_UNSUPPORTED = -32022, /* data.supported */
	/* of the transport over ACP, not of MCP */
	MCP_ACP_LIMIT = -33000,
	MCP_ACP_NO_SERVER = -33001,
	MCP_ACP_FAILED = -33002,
};

/* Properties of a method. */
enum mcp_method_flag {
	MCP_IN_MODERN = 1,
	MCP_IN_LEGACY = 2,
	MCP_MAY_ASK = 4,   /* its result may be "input_required" */
	MCP_CACHEABLE = 8, /* its result carries ttlMs and cacheScope */
	MCP_LASTS = 16,	   /* a subscription: open until it is ended */
};

struct mcp_method {
	const char *name;
	unsigned flags;
};

/* NULL: none of ours; extensions are passed in both eras. */
const struct mcp_method *mcp_method_find(const char *name);

/* How severe a log message is. */
enum mcp_severity { SEVERITY_NONE = -1, SEVERITY_DEBUG, SEVERITY_MAX = 7 };
extern const char *const mcp_severity_names[];
/* SEVERITY_NONE: it is no such name. */
enum mcp_severity mcp_severity_of(struct jval name);
/* A name as harnesses write it for providers: with "_" instead of all but letters, digits, "_" and "-". Appended. */
void mcp_name_fold(struct buf *out, const char *name);
/* True if harnesses make the same name of both. */
bool mcp_name_alike(const char *a, const char *b);
/* One of the first n entries of an array of servers has this name, or one of which harnesses make the same. */
bool mcp_server_named(struct jval servers, size_t n, const char *name);
/* Line breaks between tokens become spaces, in place: a line is a message on most transports. */
void mcp_flatten(char *text, size_t n);
/* True if two ids or progress tokens are the same: as text, strings also decoded. */
bool mcp_id_equal(struct slice a, struct slice b);

/* The member key of the object's _meta; J_NONE if there is none. */
struct jval mcp_meta_get(struct slice object, const char *key);
/* The object with members in its _meta, replacing those with the same keys. */
void mcp_meta_merge(struct buf *out, struct slice object, struct slice members);
/* The object without these members of _meta (keys ends with NULL); removes a _meta that is then empty. */
void mcp_meta_strip(struct buf *out, struct slice object, const char *const *keys);
/* The object with members, replacing those with the same keys. */
void mcp_object_merge(struct buf *out, struct slice object, struct slice members);
/* The text with a part of it replaced. */
void mcp_text_splice(struct buf *out, struct slice text, struct slice part, struct slice instead);
/* The object without the members keys, which ends with NULL. */
bool mcp_key_is_one_of(struct slice key, const char *const *keys);
void mcp_object_strip(struct buf *out, struct slice object, const char *const *keys);
/* Names of the members by which a modern result differs from a legacy one: all three, or the first alone (results
 * that are not cacheable). */
extern const char *const mcp_result_marks[], *const mcp_result_type[];
/* True if the result's resultType is this word; an absent one is "complete". */
bool mcp_result_is(struct slice result, const char *type);

/* JSON-RPC messages. params empty: no such member. id: raw. */
void mcp_put_request(struct buf *out, struct slice id, const char *method, struct slice params);
void mcp_put_notification(struct buf *out, const char *method, struct slice params);
/* An error object: code, message and data {reason, field?, extra}; extra: raw members or empty. */
void mcp_put_error(struct buf *out, const struct err *e, struct slice extra);
/* A modern result of tools/call that says what failed to a model: isError, a text block, structuredContent.error
 * {code, message, extra}. */
void mcp_put_tool_error(struct buf *out, const struct err *e, struct slice extra);
