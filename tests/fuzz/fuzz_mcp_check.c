/* A POST to an MCP endpoint: three lines of headers (MCP-Protocol-Version, Mcp-Method, Mcp-Name), the rest is the body. What is taken for a
 * modern request has all that one must have; a refusal is fit to be shown, and its data is JSON. */
#include "fuzz.h"

#include "http/mcp/mcp_http_internal.h"
#include "json/jstr.h"
#include "tools/mcp/msg.h"

static void check_modern(struct slice body, const struct mcp_headers *h)
{
	struct slice params = jobj_get(body, "params").raw;

	FUZZ_CHECK(slice_is(h->version, MCP_MODERN));
	FUZZ_CHECK(jstr_is(mcp_meta_get(params, MCP_META_VERSION), MCP_MODERN));
	FUZZ_CHECK(mcp_meta_get(params, MCP_META_CAPABILITIES).type == J_OBJECT);
	FUZZ_CHECK(h->method.n && jobj_get(body, "method").type == J_STRING);
	if (slice_is(h->method, "tools/call") && jobj_get(params, "name").type == J_STRING)
		FUZZ_CHECK(h->name.n);
}

static void check_refusal(const struct mcp_post *p)
{
	_cleanup_(buf_done) struct buf data = { 0 };

	FUZZ_CHECK(p->status == 400 && p->e.rpc < 0);
	check_err(&p->e);
	buf_putc(&data, '{');
	buf_add_slice(&data, buf_slice(&p->extra));
	buf_putc(&data, '}');
	FUZZ_CHECK(is_json(buf_slice(&data), J_OBJECT));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(exact_free) struct slice all = exact(data, size);
	struct slice rest = all;
	struct mcp_headers h = { SLICE_NONE, SLICE_NONE, SLICE_NONE };
	struct mcp_post p;

	if (!next_piece(&rest, '\n', &h.version) || !next_piece(&rest, '\n', &h.method) ||
	    !next_piece(&rest, '\n', &h.name))
		return 0;
	mcp_post_check(rest, &h, &p);
	FUZZ_CHECK(slice_inside(p.id, rest));
	FUZZ_CHECK(!p.id.n || p.id.p[0] == '"' || p.id.p[0] == '-' ||
		   (p.id.p[0] >= '0' && p.id.p[0] <= '9'));
	if (p.kind == MCP_POST_REFUSED)
		check_refusal(&p);
	else
		FUZZ_CHECK(is_json(rest, J_OBJECT));
	if (p.kind == MCP_POST_MODERN)
		check_modern(rest, &h);
	if (p.kind == MCP_POST_INITIALIZE || p.kind == MCP_POST_REQUEST ||
	    p.kind == MCP_POST_MODERN)
		FUZZ_CHECK(p.id.n);
	buf_done(&p.extra);
	return 0;
}
