/*
 * The front between a client and a server that both say anything: whatever comes out is one valid message, each request is answered at
 * most once, what goes to the server is a request of 2026-07-28, and what passes has the same members with the same bytes.
 *
 * Input: lines, the first byte says what each is.
 *	>MESSAGE   of the client
 *	N=RESULT   answer to the backend's Nth call (a digit, counted over those open)
 *	N!ERROR    the same
 *	N~PARAMS   a notification of it; its method is the member "m", or progress
 *	.          deferred work
 *	*          every timer is due
 */
#include "fuzz.h"

#include "json/jstr.h"
#include "rpc/rpc.h"
#include "tools/mcp/mcp_front_internal.h"

#define CALLS_MAX 64
#define NESTED_MAX 50 /* what is put into a message is deeper there */

struct call {
	struct mcp_call base;
	const struct mcp_reply_ops *ops;
	void *ctx;
};

static struct {
	struct mcp_backend backend;
	struct mcp_front *front;
	struct loop *loop;
	struct call *calls[CALLS_MAX];
	size_t ncalls;
	struct slice asked[CALLS_MAX * 4]; /* ids without an answer */
	size_t nasked;
	bool refused;
	struct slice said;   /* params that are being fed; empty: the front speaks for itself */
	struct slice result; /* that is being given, to be found in an answer */
} rig;

/* Members that one side has for itself. */
static const char *const own[] = { "_meta",	     "resultType",   "ttlMs", "cacheScope",
				   "inputResponses", "requestState", NULL };

static bool next_shared(struct jiter *it, struct slice *key, struct jval *v)
{
	bool skip = true;

	while (skip) {
		if (!jiter_next(it, key, v))
			return false;
		skip = false;
		for (size_t i = 0; own[i]; i++)
			skip |= jkey_is(*key, own[i]);
	}
	return true;
}

static void check_same(struct slice a, struct slice b)
{
	struct slice key_a, key_b;
	struct jiter in_a, in_b;
	struct jval v, w;

	FUZZ_CHECK(jscan_value(a, &v) == JSCAN_OK && jiter_init(&in_a, v));
	FUZZ_CHECK(jscan_value(b, &w) == JSCAN_OK && jiter_init(&in_b, w));
	while (next_shared(&in_a, &key_a, &v)) {
		FUZZ_CHECK(next_shared(&in_b, &key_b, &w));
		FUZZ_CHECK(slice_eq(key_a, key_b) && slice_eq(v.raw, w.raw));
	}
	FUZZ_CHECK(!next_shared(&in_b, &key_b, &w));
}

static void forget_id(struct slice id)
{
	for (size_t i = 0; i < rig.nasked; i++) {
		if (slice_eq(rig.asked[i], id)) {
			exact_free(&rig.asked[i]);
			rig.asked[i] = rig.asked[--rig.nasked];
			return;
		}
	}
	FUZZ_CHECK(!"an answer to nothing");
}

static void on_send(void *ctx _unused_, struct slice message, struct slice request, bool last)
{
	struct rpc_msg m;
	struct err e;

	FUZZ_CHECK(rpc_parse(message, &m, &e) == RPC_PARSED);
	FUZZ_CHECK(!memchr(message.p, '\n', message.n));
	FUZZ_CHECK((m.kind == RPC_RESPONSE) == last);
	if (!last)
		return;
	if (request.n) {
		/* an error is for somebody else, who waits for a subscription */
		if (rig.result.n && m.result.n)
			check_same(rig.result, m.result);
		FUZZ_CHECK(slice_eq(m.id, request));
		forget_id(request);
	} else {
		FUZZ_CHECK(!rig.refused);
		rig.refused = true;
	}
}

static void on_cancelled(void *ctx _unused_, struct slice request)
{
	forget_id(request);
}

static const struct mcp_front_ops front_ops = { .send = on_send, .cancelled = on_cancelled };

static struct mcp_call *backend_call(struct mcp_backend *b, const char *method, struct slice params,
				     const struct mcp_reply_ops *ops, void *ctx)
{
	struct call *c = new0(struct call);

	FUZZ_CHECK(method[0] && is_json(params, J_OBJECT));
	FUZZ_CHECK(jstr_is(mcp_meta_get(params, MCP_META_VERSION), MCP_MODERN));
	FUZZ_CHECK(mcp_meta_get(params, MCP_META_CAPABILITIES).type == J_OBJECT);
	FUZZ_CHECK(rig.ncalls < CALLS_MAX);
	if (rig.said.n)
		check_same(rig.said, params);
	*c = (struct call){ .base = { .backend = b }, .ops = ops, .ctx = ctx };
	rig.calls[rig.ncalls++] = c;
	return &c->base;
}

static void remove_call(const struct call *c)
{
	for (size_t i = 0; i < rig.ncalls; i++) {
		if (rig.calls[i] == c) {
			rig.calls[i] = rig.calls[--rig.ncalls];
			return;
		}
	}
	FUZZ_CHECK(!"a call that is not open");
}

static void backend_cancel(struct mcp_call *call)
{
	struct call *c = container_of(call, struct call, base);

	remove_call(c);
	free(c);
}

static const struct mcp_backend_ops backend_ops = { .call = backend_call,
						    .cancel = backend_cancel };

static void client_says(struct slice message)
{
	_cleanup_(buf_done) struct buf repaired = { 0 };
	struct rpc_msg m;
	struct err e;
	bool request = rpc_parse_repaired(message, &repaired, &m, &e) == RPC_PARSED &&
		       m.kind == RPC_REQUEST;

	if (rig.ncalls + 8 > CALLS_MAX || rig.nasked >= ARRAY_SIZE(rig.asked))
		return;
	if (request)
		rig.asked[rig.nasked++] = exact(m.id.p, m.id.n);
	rig.refused = false;
	rig.said = request && strcmp(m.method, "initialize") != 0 ? m.params : SLICE_NONE;
	mcp_front_feed(rig.front, message);
	rig.said = SLICE_NONE;
	if (request && rig.refused)
		forget_id(m.id);
}

static bool is_flat(struct slice text)
{
	unsigned n = 0;

	for (size_t i = 0; i < text.n; i++)
		n += text.p[i] == '{' || text.p[i] == '[';
	return n < NESTED_MAX && is_json(text, J_OBJECT);
}

static void server_notifies(struct call *c, struct slice params)
{
	_cleanup_(freep) char *method = NULL;

	if (jstr_decode(jobj_get(params, "m"), 100, &method) < 0 || !method[0])
		c->ops->notify(c->ctx, "notifications/progress", params);
	else
		c->ops->notify(c->ctx, method, params);
}

static void server_says(struct call *c, char what, struct slice text)
{
	if (!is_flat(text) || rig.ncalls + 8 > CALLS_MAX)
		return;
	if (what == '~') {
		server_notifies(c, text);
		return;
	}
	remove_call(c);
	if (what == '=' && !mcp_result_is(text, "input_required") && c->ctx != rig.front->starting)
		rig.result = text;
	c->ops->done(c->ctx, what == '=' ? text : SLICE_NONE, what == '!' ? text : SLICE_NONE);
	rig.result = SLICE_NONE;
	free(c);
}

static void fire(struct loop_timer *t)
{
	void (*fn)(void *ctx) = t->fn;

	if (!t->due)
		return;
	loop_timer_cancel(t);
	fn(t->ctx);
}

static void fire_all(void)
{
	struct mcp_front *f = rig.front;

	if (rig.ncalls + rig.nasked + 8 > CALLS_MAX)
		return;
	list_each(x, &f->open, struct front_request, link)
		fire(&x->timer);
	if (f->listen.next)
		fire(&f->listen.next->patience);
	fire(&f->listen.retry);
}

static void step(struct slice line)
{
	struct slice rest = { line.p + 1, line.n - 1 };
	size_t n = (size_t)(line.p[0] - '0');

	if (line.p[0] == '>')
		client_says(rest);
	else if (line.p[0] == '.')
		loop_run_deferred(rig.loop);
	else if (line.p[0] == '*')
		fire_all();
	else if (n < rig.ncalls && rest.n && memchr("=!~", rest.p[0], 3))
		server_says(rig.calls[n], rest.p[0], slice_after(rest, 1));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(exact_free) struct slice text = exact(data, size);
	struct slice rest = text, line;

	if (!rig.loop)
		rig.loop = loop_new();
	rig.backend.ops = &backend_ops;
	while (rig.nasked)
		exact_free(&rig.asked[--rig.nasked]);
	rig.front = mcp_front_new(rig.loop, &rig.backend, &front_ops, NULL);
	while (next_piece(&rest, '\n', &line))
		if (line.n)
			step(line);
	mcp_front_free(rig.front);
	FUZZ_CHECK(rig.ncalls == 0);
	loop_run_deferred(rig.loop);
	return 0;
}
