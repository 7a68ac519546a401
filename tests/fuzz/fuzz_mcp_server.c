/*
 * What an MCP server may send, in any order and of either era, between calls of callers: every call is answered once, with valid JSON of the
 * modern era, never from inside, never after it was cancelled; and whatever the server is sent is one message a line.
 *
 * Input: lines. "!c METHOD PARAMS" calls, "!x" cancels the oldest call, "!r" comes back with answers to the last question, "!oN" says
 * that the next message came on the stream of request N, "!p" that the answer to server/discover is late; all others are messages of
 * the server. The same bytes are also an event stream, which must be the same in whatever pieces it comes.
 */
#include "fuzz.h"

#include "json/jstr.h"
#include "loop/loop.h"
#include "tools/upstream/upstream.h"
#include "tools/upstream/http/http_post.h"

#define CALLS 8

struct caller {
	struct mcp_call *call;
	bool open, inside;
};

static struct upstream up;
static struct caller callers[CALLS];
static struct buf question; /* the last input_required result */
static char method[200];

static void on_notify(void *ctx, const char *name, struct slice params)
{
	struct caller *c = ctx;

	FUZZ_CHECK(c->open && !c->inside && *name);
	FUZZ_CHECK(is_json(params, J_OBJECT));
}

static void on_done(void *ctx, struct slice result, struct slice error)
{
	struct caller *c = ctx;

	FUZZ_CHECK(c->open && !c->inside);
	FUZZ_CHECK((result.n == 0) != (error.n == 0));
	FUZZ_CHECK(is_json(result.n ? result : error, J_OBJECT));
	FUZZ_CHECK(!memchr(result.n ? result.p : error.p, '\n', result.n + error.n));
	if (result.n && up.legacy) {
		struct jval type = jobj_get(result, "resultType");

		FUZZ_CHECK(type.type == J_STRING);
		if (jstr_is(type, "input_required")) {
			buf_reset(&question);
			buf_add_slice(&question, result);
		}
	}
	c->open = false;
}

static const struct mcp_reply_ops reply_ops = { .notify = on_notify, .done = on_done };

static int on_send(void *wire _unused_, const struct upstream_rpc_out *out)
{
	FUZZ_CHECK(is_json(out->text, J_OBJECT));
	FUZZ_CHECK(!memchr(out->text.p, '\n', out->text.n));
	FUZZ_CHECK(out->kind == UPSTREAM_RPC_ANSWER || *out->method);
	return 0;
}

static void on_refused(struct upstream *u _unused_, const struct err *why)
{
	check_err(why);
	upstream_end(&up, why);
}

static void on_free(struct upstream *u _unused_)
{
}

/* --- callers ---------------------------------------------------------------------------------------------- */

static void call(struct slice params)
{
	struct caller *c = callers;

	while (c < callers + CALLS && c->open)
		c++;
	if (c == callers + CALLS || !is_json(params, J_OBJECT))
		return;
	c->open = c->inside = true;
	c->call = mcp_backend_call(&up.backend, method, params, &reply_ops, c);
	c->inside = false;
}

static void call_line(struct slice line)
{
	struct slice name;

	if (!next_piece(&line, ' ', &name) || !name.n || name.n >= sizeof(method) || !line.p ||
	    memchr(name.p, 0, name.n))
		return;
	memcpy(method, name.p, name.n);
	method[name.n] = '\0';
	call(line);
}

static void cancel_oldest(void)
{
	for (size_t i = 0; i < CALLS; i++) {
		if (!callers[i].open)
			continue;
		callers[i].open = false;
		mcp_call_cancel(callers[i].call);
		return;
	}
}

static void come_back(void)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jval state = jobj_get(buf_slice(&question), "requestState");

	if (state.type != J_STRING)
		return;
	buf_puts(&b,
		 "{\"_meta\":{\"io.modelcontextprotocol/clientCapabilities\":{\"elicitation\":{},"
		 "\"sampling\":{},\"roots\":{}}},\"inputResponses\":{\"ask-1\":{\"a\":1}},"
		 "\"requestState\":");
	buf_add_slice(&b, state.raw);
	buf_putc(&b, '}');
	memcpy(method, "tools/call", sizeof("tools/call"));
	call(buf_slice(&b));
}

static void take_line(struct slice line, uint32_t *origin)
{
	if (slice_skip(&line, "!c ")) {
		call_line(line);
	} else if (slice_is(line, "!x")) {
		cancel_oldest();
	} else if (slice_is(line, "!r")) {
		come_back();
	} else if (slice_is(line, "!p") && up.probe_timer.due) {
		up.probe_timer.fn(&up);
	} else if (slice_starts(line, "!o") && line.n == 3) {
		*origin = (uint32_t)(line.p[2] & 15);
	} else {
		_cleanup_(exact_free) struct slice text = exact(line.p, line.n);

		upstream_rpc_feed(&up.rpc, *origin, text);
		*origin = 0;
	}
}

/* --- the event stream -------------------------------------------------------------------------------------- */

static bool keep_event(void *ctx, struct slice data)
{
	struct buf *b = ctx;

	buf_add_slice(b, data);
	buf_putc(b, '\1');
	return true;
}

static void check_events(struct slice text)
{
	_cleanup_(buf_done) struct buf whole = { 0 }, pieces = { 0 };
	struct sse a = { .max = 4096 }, b = { .max = 4096 };
	int ra = sse_feed(&a, text, keep_event, &whole), rb = 0;

	for (size_t i = 0; i < text.n && rb == 0; i++)
		rb = sse_feed(&b, (struct slice){ text.p + i, 1 }, keep_event, &pieces);
	FUZZ_CHECK(ra == rb);
	FUZZ_CHECK(slice_eq(buf_slice(&whole), buf_slice(&pieces)));
	FUZZ_CHECK(slice_eq(buf_slice(&a.id), buf_slice(&b.id)) && a.retry_ms == b.retry_ms);
	FUZZ_CHECK(!a.id.data || !memchr(a.id.data, '\r', a.id.len));
	sse_reader_done(&a);
	sse_reader_done(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct upstream_transport transport = { .refused = on_refused,
							     .free = on_free };
	static const struct mcp_server_events events = { 0 };
	const struct err end = { .reason = "SERVER_GONE", .msg = "over" };
	struct slice rest = { (const char *)data, size }, line;
	uint32_t origin = 0;

	check_events(rest);
	up = (struct upstream){ .loop = loop_new(),
				.name = "fuzz",
				.events = &events,
				.transport = &transport,
				.start_ms = 60000,
				.rpc = { .send = on_send } };
	upstream_init(&up);
	upstream_begin(&up);
	while (next_piece(&rest, '\n', &line)) {
		take_line(line, &origin);
		loop_run_deferred(up.loop);
	}
	upstream_end(&up, &end);
	loop_run_deferred(up.loop);
	for (size_t i = 0; i < CALLS; i++)
		FUZZ_CHECK(!callers[i].open);
	upstream_done(&up);
	loop_free(up.loop);
	buf_reset(&question);
	return 0;
}
