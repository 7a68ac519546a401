/*
 * mcp_check.c - classifies a message posted to an MCP endpoint, and compares its headers with its
 * body.
 *
 * The body decides between modern (2026-07-28) and legacy; headers are only compared with it. The
 * first mismatch is the answer: members of _meta, version header, served version, Mcp-Method,
 * Mcp-Name. An initialize is legacy unless it has everything that the modern revision requires.
 * rpc_parse_params validates the body once and fills all slots.
 */
#include "http/mcp/mcp_http_internal.h"

#include "base/limits.h"
#include "digest/base64.h"
#include "json/json.h"
#include "rpc/rpc.h"
#include "tools/mcp/msg.h"

#define SENTINEL_BEGIN "=?base64?"
#define SENTINEL_END "?="

enum { P_META, P_NAME, P_URI, P_TASK, P_MAX };
enum { M_VERSION, M_CAPABILITIES, M_MAX };

struct parsed {
	struct rpc_msg msg;
	struct jslot params[P_MAX], meta[M_MAX];
	const struct mcp_headers *h;
	struct mcp_post *post;
};

/* Methods whose header Mcp-Name repeats a member of params. */
static const struct {
	const char *method;
	unsigned slot;
} named[] = {
	{ "tools/call", P_NAME }, { "prompts/get", P_NAME },  { "resources/read", P_URI },
	{ "tasks/get", P_TASK },  { "tasks/update", P_TASK }, { "tasks/cancel", P_TASK },
};

static const char *const legacy_versions[] = { MCP_LEGACY_OLD, MCP_LEGACY };

/* Revisions are dates, and compare as text. */
bool mcp_modern_version(struct slice version)
{
	size_t n = MIN(version.n, strlen(MCP_MODERN));
	int r = n ? memcmp(version.p, MCP_MODERN, n) : 0;

	return r > 0 || (r == 0 && version.n >= strlen(MCP_MODERN));
}

bool mcp_legacy_version_ok(struct slice version)
{
	for (size_t i = 0; i < ARRAY_SIZE(legacy_versions); i++)
		if (slice_is(version, legacy_versions[i]))
			return true;
	return !version.n;
}

/* --- refusals ------------------------------------------------------------------------------------------- */

static void mcp_check_refuse(struct parsed *p, int code, const char *field, const char *reason,
			     const char *text)
{
	p->post->kind = MCP_POST_REFUSED;
	p->post->status = 400;
	err_field(&p->post->e, field, reason, "%s", text);
	p->post->e.rpc = code;
}

/* body: raw value; empty: the body has none. */
static void refuse_mismatch(struct parsed *p, const char *header, struct slice value,
			    struct slice body)
{
	struct jw w = JW(&p->post->extra);

	mcp_check_refuse(p, MCP_HEADER_MISMATCH, header, "HEADER_MISMATCH",
			 SHORT_TEXT(128,
				    value.n ? "the header %s does not say what the body says" :
					      "the header %s is missing",
				    header));
	jw_obj(&w, "mismatch");
	if (value.n)
		jw_slice(&w, "header", value);
	jw_raw(&w, "body", body);
	jw_end_obj(&w);
}

static void refuse_version(struct parsed *p, struct slice requested)
{
	struct jw w = JW(&p->post->extra);

	mcp_check_refuse(p, MCP_VERSION_UNSUPPORTED, "_meta." MCP_META_VERSION,
			 "PROTOCOL_VERSION_UNSUPPORTED",
			 "this protocol version is not served here");
	jw_arr(&w, "supported");
	jw_str(&w, NULL, MCP_MODERN);
	jw_end_arr(&w);
	jw_raw(&w, "requested", requested);
}

/* --- modern --------------------------------------------------------------------------------------------- */

static bool version_is(const struct parsed *p, struct slice version)
{
	_cleanup_(freep) char *claimed = NULL;

	return jstr_decode(p->meta[M_VERSION].v, METHOD_NAME_MAX, &claimed) == 0 &&
	       slice_is(version, claimed);
}

static bool check_envelope(struct parsed *p)
{
	static const struct {
		unsigned slot;
		enum jtype type;
		const char *field, *text;
	} rows[] = {
		{ M_VERSION, J_STRING, "_meta." MCP_META_VERSION,
		  "_meta." MCP_META_VERSION " must be a string" },
		{ M_CAPABILITIES, J_OBJECT, "_meta." MCP_META_CAPABILITIES,
		  "_meta." MCP_META_CAPABILITIES " must be an object" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		enum jtype type = p->meta[rows[i].slot].v.type;

		if (type == rows[i].type)
			continue;
		mcp_check_refuse(p, RPC_INVALID_PARAMS, rows[i].field,
				 type == J_NONE ? "META_MISSING" : "META_INVALID", rows[i].text);
		return false;
	}
	return true;
}

/* The name that a header carries, which may be encoded as plain ASCII. */
static int unwrap(struct slice header, struct buf *ret)
{
	size_t begin = strlen(SENTINEL_BEGIN), end = strlen(SENTINEL_END);

	if (!slice_starts(header, SENTINEL_BEGIN) || header.n < begin + end ||
	    memcmp(header.p + header.n - end, SENTINEL_END, end) != 0)
		return buf_add_slice(ret, header);
	return base64_decode((struct slice){ header.p + begin, header.n - begin - end }, ret);
}

static bool mcp_check_name(struct parsed *p)
{
	_cleanup_(buf_done) struct buf said = { 0 };
	_cleanup_(freep) char *name = NULL;
	struct jval v = { .type = J_NONE };

	for (size_t i = 0; i < ARRAY_SIZE(named); i++)
		if (strcmp(p->msg.method, named[i].method) == 0)
			v = p->params[named[i].slot].v;
	if (v.type != J_STRING) /* the reader of the params says what is wrong in the body */
		return true;
	if (p->h->name.n && unwrap(p->h->name, &said) == 0 &&
	    jstr_decode(v, HTTP_HEADERS_MAX, &name) == 0 && slice_is(buf_slice(&said), name))
		return true;
	refuse_mismatch(p, "Mcp-Name", p->h->name, v.raw);
	return false;
}

static struct slice raw_method(struct parsed *p, struct buf *b)
{
	jstr_encode(b, slice_of(p->msg.method));
	return buf_slice(b);
}

static bool mcp_check_headers(struct parsed *p)
{
	_cleanup_(buf_done) struct buf method = { 0 };

	if (!p->h->version.n)
		refuse_mismatch(p, "MCP-Protocol-Version", SLICE_NONE, p->meta[M_VERSION].v.raw);
	else if (!slice_is(p->h->method, p->msg.method))
		refuse_mismatch(p, "Mcp-Method", p->h->method, raw_method(p, &method));
	else
		return mcp_check_name(p);
	return false;
}

static enum mcp_post_kind check_modern(struct parsed *p)
{
	if (!check_envelope(p))
		return MCP_POST_REFUSED;
	if (p->h->version.n && !version_is(p, p->h->version))
		refuse_mismatch(p, "MCP-Protocol-Version", p->h->version, p->meta[M_VERSION].v.raw);
	else if (!version_is(p, SLICE(MCP_MODERN)))
		refuse_version(p, p->meta[M_VERSION].v.raw);
	else if (mcp_check_headers(p))
		return MCP_POST_MODERN;
	return MCP_POST_REFUSED;
}

/* --- the message ---------------------------------------------------------------------------------------- */

static bool claims_modern(const struct parsed *p)
{
	return p->meta[M_VERSION].v.type != J_NONE;
}

/* An initialize that is a modern request: it has everything that the modern revision requires. */
static bool modern_initialize(const struct parsed *p)
{
	_cleanup_(freep) char *claimed = NULL;

	return p->meta[M_CAPABILITIES].v.type == J_OBJECT &&
	       jstr_decode(p->meta[M_VERSION].v, METHOD_NAME_MAX, &claimed) == 0 &&
	       mcp_modern_version(slice_of(claimed));
}

static enum mcp_post_kind check_initialize(struct parsed *p)
{
	if (!mcp_modern_version(p->h->version))
		return MCP_POST_INITIALIZE;
	refuse_mismatch(p, "MCP-Protocol-Version", p->h->version, SLICE("\"initialize\""));
	return MCP_POST_REFUSED;
}

static enum mcp_post_kind mcp_check_request(struct parsed *p)
{
	if (slice_is(p->msg.id, "null")) {
		mcp_check_refuse(p, RPC_INVALID_REQUEST, "id", "INVALID_REQUEST",
				 "the id of a request must be a string or a number");
		return MCP_POST_REFUSED;
	}
	p->post->id = p->msg.id;
	if (strcmp(p->msg.method, "initialize") == 0 && !modern_initialize(p))
		return check_initialize(p);
	if (claims_modern(p))
		return check_modern(p);
	if (!mcp_modern_version(p->h->version))
		return MCP_POST_REQUEST;
	check_envelope(p); /* says what is missing */
	return MCP_POST_REFUSED;
}

static enum mcp_post_kind check_notice(struct parsed *p)
{
	return claims_modern(p) || mcp_modern_version(p->h->version) ? MCP_POST_MODERN_NOTICE :
								       MCP_POST_OTHER;
}

static enum mcp_post_kind check_response(struct parsed *p)
{
	if (!mcp_modern_version(p->h->version))
		return MCP_POST_OTHER;
	mcp_check_refuse(p, RPC_INVALID_REQUEST, "method", "INVALID_REQUEST",
			 "protocol version " MCP_MODERN
			 " has no requests that a client could answer");
	return MCP_POST_REFUSED;
}

static void refuse_parse(struct parsed *p, enum rpc_parse_result r, const struct err *e)
{
	p->post->status = 400;
	p->post->e = *e;
	if (r == RPC_E_IGNORE)
		mcp_check_refuse(p, RPC_INVALID_REQUEST, "method", "INVALID_REQUEST",
				 "Invalid request: not a notification");
	if (r == RPC_E_ANSWER && p->msg.id.n && !slice_is(p->msg.id, "null"))
		p->post->id = p->msg.id;
}

void mcp_post_check(struct slice body, const struct mcp_headers *h, struct mcp_post *ret)
{
	static enum mcp_post_kind (*const checks[])(struct parsed * p) = {
		[RPC_REQUEST] = mcp_check_request,
		[RPC_NOTIFICATION] = check_notice,
		[RPC_RESPONSE] = check_response,
	};
	struct parsed p = {
		.meta = { [M_VERSION] = { .key = MCP_META_VERSION },
			  [M_CAPABILITIES] = { .key = MCP_META_CAPABILITIES } },
		.params = { [P_META] = { .key = "_meta", .nsub = M_MAX },
			    [P_NAME] = { .key = "name" },
			    [P_URI] = { .key = "uri" },
			    [P_TASK] = { .key = "taskId" } },
		.h = h,
		.post = ret,
	};
	struct err e = { 0 };
	enum rpc_parse_result r;

	*ret = (struct mcp_post){ .kind = MCP_POST_REFUSED };
	p.params[P_META].sub = p.meta;
	r = rpc_parse_params(body, &p.msg, p.params, P_MAX, &e);
	if (r == RPC_PARSED)
		ret->kind = checks[p.msg.kind](&p);
	else
		refuse_parse(&p, r, &e);
}
