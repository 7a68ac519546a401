/* What a message posted to an MCP endpoint is taken for, by its body and the headers that repeat it. */
#include "unit.h"

#include "http/mcp/mcp_http_internal.h"
#include "json/jscan.h"

#define META(version)                                                                              \
	"\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":" version                          \
	",\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define NOW "\"2026-07-28\""
#define CALL(method, params)                                                                       \
	"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"" method "\",\"params\":{" params "}}"

static const struct row {
	const char *body, *version, *method, *name;
	enum mcp_post_kind kind;
	int code;
	const char *reason, *extra; /* a part of it */
} rows[] = {
	/* legacy */
	{ CALL("initialize", "\"protocolVersion\":\"2025-11-25\""), .kind = MCP_POST_INITIALIZE },
	{ CALL("initialize", ""), "2025-06-18", .kind = MCP_POST_INITIALIZE },
	{ CALL("tools/list", ""), "2025-11-25", .kind = MCP_POST_REQUEST },
	{ CALL("tools/list", ""), "2025-11-25", "prompts/list", "x", .kind = MCP_POST_REQUEST },
	{ "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}",
	  .kind = MCP_POST_OTHER },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", .kind = MCP_POST_OTHER },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1,\"message\":\"\"}}",
	  .kind = MCP_POST_OTHER },
	{ CALL("initialize", ""), "2026-07-28", .code = -32020, .reason = "HEADER_MISMATCH" },
	/* modern */
	{ CALL("tools/list", META(NOW)), "2026-07-28", "tools/list", .kind = MCP_POST_MODERN },
	{ CALL("tools/call", META(NOW) ",\"name\":\"a\""), "2026-07-28", "tools/call", "a",
	  .kind = MCP_POST_MODERN },
	{ CALL("tools/call", META(NOW)), "2026-07-28", "tools/call", .kind = MCP_POST_MODERN },
	{ CALL("tools/call", META(NOW) ",\"name\":\"\\u00e9 =?\""), "2026-07-28", "tools/call",
	  "=?base64?w6kgPT8=?=", .kind = MCP_POST_MODERN },
	{ CALL("resources/read", META(NOW) ",\"uri\":\"a://b\",\"name\":\"c\""), "2026-07-28",
	  "resources/read", "a://b", .kind = MCP_POST_MODERN },
	{ CALL("tasks/get", META(NOW) ",\"taskId\":\"t\""), "2026-07-28", "tasks/get", "t",
	  .kind = MCP_POST_MODERN },
	{ CALL("initialize", META(NOW)), "2026-07-28", "initialize", .kind = MCP_POST_MODERN },
	{ "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}", "2026-07-28",
	  .kind = MCP_POST_MODERN_NOTICE },
	{ "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\",\"params\":{" META(NOW) "}}",
	  .kind = MCP_POST_MODERN_NOTICE },
	/* modern, with headers that say something else */
	{ CALL("tools/list", META(NOW)), "2025-11-25", "tools/list", .code = -32020,
	  .reason = "HEADER_MISMATCH", .extra = "\"header\":\"2025-11-25\",\"body\":" NOW },
	{ CALL("tools/list", META(NOW)), NULL, "tools/list", .code = -32020,
	  .extra = "{\"body\":" NOW },
	{ CALL("tools/list", META(NOW)), "2026-07-28", NULL, .code = -32020 },
	{ CALL("tools/list", META(NOW)), "2026-07-28", "TOOLS/LIST", .code = -32020 },
	{ CALL("tools/list", META(NOW)), "2026-07-28", "tools/list\"", .code = -32020,
	  .extra = "\"header\":\"tools/list\\\"\"" },
	{ CALL("tools/call", META(NOW) ",\"name\":\"a\""), "2026-07-28", "tools/call", NULL,
	  .code = -32020 },
	{ CALL("tools/call", META(NOW) ",\"name\":\"a\""), "2026-07-28", "tools/call", "b",
	  .code = -32020 },
	{ CALL("tools/call", META(NOW) ",\"name\":\"a\""), "2026-07-28", "tools/call",
	  "=?base64?Y!==?=", .code = -32020 },
	{ CALL("tools/call", META(NOW) ",\"name\":\"a\\u0000\""), "2026-07-28", "tools/call", "a",
	  .code = -32020 },
	/* modern, and incomplete */
	{ CALL("tools/list", ""), "2026-07-28", "tools/list", .code = -32602,
	  .reason = "META_MISSING" },
	{ CALL("tools/list", "\"_meta\":{}"), "2026-07-28", "tools/list", .code = -32602 },
	{ CALL("tools/list", "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":" NOW "}"),
	  "2026-07-28", "tools/list", .code = -32602, .reason = "META_MISSING" },
	{ CALL("tools/list", META("1")), "2026-07-28", "tools/list", .code = -32602,
	  .reason = "META_INVALID" },
	/* revisions that are not served */
	{ CALL("tools/list", META("\"v999.0.0\"")), "v999.0.0", "tools/list", .code = -32022,
	  .reason = "PROTOCOL_VERSION_UNSUPPORTED",
	  .extra = "\"supported\":[" NOW "],\"requested\":\"v999.0.0\"" },
	{ CALL("tools/list", META("\"2025-11-25\"")), "2025-11-25", "tools/list", .code = -32022 },
	{ CALL("tools/list", META("\"2027-01-01\"")), "2026-07-28", "tools/list", .code = -32020 },
	/* no messages */
	{ "", .code = -32700 },
	{ "{", .code = -32700 },
	{ "{}{}", .code = -32700 },
	{ "\"\xff\"", .code = -32700 },
	{ "[]", .code = -32600, .reason = "BATCH_UNSUPPORTED" },
	{ "[" CALL("ping", "") "]", .code = -32600 },
	{ "7", .code = -32600 },
	{ "{}", .code = -32600 },
	{ "{\"id\":{},\"method\":\"ping\"}", .code = -32600 },
	{ "{\"id\":null,\"method\":\"ping\"}", .code = -32600 },
	{ "{\"id\":1,\"id\":2,\"method\":\"ping\"}", .code = -32600, .reason = "DUPLICATE_MEMBER" },
	{ "{\"id\":1,\"method\":5}", .code = -32600 },
	{ "{\"method\":5}", .code = -32600 },
	{ "{\"id\":1,\"method\":\"ping\",\"params\":[]}", .code = -32602 },
	{ "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}", .code = -32600 },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", "2026-07-28", .code = -32600 },
};

static bool as_wanted(const struct row *r, const struct mcp_post *p)
{
	if (r->kind != p->kind)
		return false;
	if (p->kind != MCP_POST_REFUSED)
		return true;
	return p->status == 400 && p->e.rpc == r->code && p->e.reason[0] &&
	       (!r->reason || strcmp(p->e.reason, r->reason) == 0) &&
	       (!r->extra ||
		(p->extra.data && memmem(p->extra.data, p->extra.len, r->extra, strlen(r->extra))));
}

static void test_rows(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(slice_freep) struct slice body = exact_copy(slice_of(rows[i].body));
		struct mcp_headers h = { slice_of(rows[i].version), slice_of(rows[i].method),
					 slice_of(rows[i].name) };
		struct mcp_post p;

		mcp_post_check(body, &h, &p);
		if (!as_wanted(&rows[i], &p))
			fail_msg("row %zu: %s: kind %d, code %d %s, extra %.*s", i, rows[i].body,
				 p.kind, p.e.rpc, p.e.reason, (int)p.extra.len, p.extra.data);
		buf_done(&p.extra);
	}
}

/* Refusals carry the id of the request wherever it has one. */
static void test_id(void **state _unused_)
{
	static const struct {
		const char *body, *id;
	} ids[] = {
		{ CALL("tools/list", ""), "7" },
		{ "{\"id\":\"a\\u0062\",\"method\":\"x\"}", "\"a\\u0062\"" },
		{ "{\"id\":9007199254740993,\"method\":\"x\",\"params\":[]}", "9007199254740993" },
		{ "{\"id\":null,\"method\":\"x\"}", "" },
		{ "{\"method\":\"x\"}", "" },
		{ "{\"id\":1", "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		struct mcp_headers h = { SLICE("2026-07-28"), SLICE_NONE, SLICE_NONE };
		struct mcp_post p;

		mcp_post_check(slice_of(ids[i].body), &h, &p);
		assert_text(p.id, ids[i].id);
		buf_done(&p.extra);
	}
}

static void test_versions(void **state _unused_)
{
	assert_true(mcp_legacy_version_ok(SLICE_NONE));
	assert_true(mcp_legacy_version_ok(SLICE("2025-06-18")));
	assert_true(mcp_legacy_version_ok(SLICE("2025-11-25")));
	assert_false(mcp_legacy_version_ok(SLICE("2025-11-2")));
	assert_false(mcp_legacy_version_ok(SLICE("2025-03-26")));
	assert_true(mcp_modern_version(SLICE("2026-07-28")));
	assert_true(mcp_modern_version(SLICE("2026-07-29")));
	assert_true(mcp_modern_version(SLICE("v1")));
	assert_false(mcp_modern_version(SLICE("2026-07-2")));
	assert_false(mcp_modern_version(SLICE("2025-11-25")));
	assert_false(mcp_modern_version(SLICE_NONE));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_id),
		cmocka_unit_test(test_versions),
	};

	return RUN(tests, NULL, NULL);
}
