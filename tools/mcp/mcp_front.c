/*
 * mcp_front.c - dispatches the messages of one client by its era, and keeps its open requests until
 * they are answered.
 *
 * Ids are unique among open requests, so an answer has one receiver. MCP_OPEN_MAX and MCP_HELD_MAX
 * limit what one client can make the daemon store. front_request_end sends the answer and frees the
 * request: no caller may use it after. Error codes of internal transports become internal errors,
 * because no client of MCP defines them.
 */
#include "tools/mcp/mcp_front.h"

#include "json/json.h"
#include "tools/mcp/mcp_front_internal.h"

/* --- out --- */

void front_send(struct mcp_front *f, const struct buf *message, struct slice request, bool last)
{
	f->ops->send(f->ctx, buf_slice(message), request, last);
}

/* A notification that does not fit in memory is dropped: it has no id, so no client waits for
 * it. */
void front_notify(struct mcp_front *f, const char *method, struct slice params,
		  struct slice request)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	mcp_put_notification(&b, method, params);
	if (!b.failed)
		front_send(f, &b, request, false);
}

/* id: raw JSON, as the client sent it, so that the answer repeats it byte for byte. */
static void front_put_head(struct buf *b, const char *id, const char *member)
{
	buf_puts(b, "{\"jsonrpc\":\"2.0\",\"id\":");
	buf_puts(b, id);
	buf_puts(b, ",\"");
	buf_puts(b, member);
	buf_puts(b, "\":");
}

static void front_put_refusal(struct buf *b, const char *id, const struct err *e,
			      struct slice extra)
{
	front_put_head(b, id, "error");
	mcp_put_error(b, e, extra);
	buf_putc(b, '}');
}

/* Answers a message that is not an open request. */
static void refuse_message(struct mcp_front *f, const struct err *e, struct slice id)
{
	_cleanup_(freep) char *copy = xstrndup(id.p, id.n);
	_cleanup_(buf_done) struct buf b = { 0 };

	front_put_refusal(&b, copy, e, SLICE_NONE);
	front_send(f, &b, SLICE_NONE, true);
}

/* The codes of our transports to a server, and those of 2026-07-28 about itself. A legacy client knows none of them. */
static const struct hidden {
	int code;
	bool in_both; /* hidden in both eras */
	const char *reason, *text;
} hidden[] = {
	{ MCP_HEADER_MISMATCH, false, "HEADER_MISMATCH",
	  "The headers of the request do not fit it" },
	{ MCP_CAPABILITY_MISSING, false, "CAPABILITY_MISSING",
	  "The client lacks a capability that the server needs" },
	{ MCP_VERSION_UNSUPPORTED, false, "REVISION_UNSUPPORTED",
	  "The server does not speak this revision of MCP" },
	{ RPC_CANCELLED, true, "CANCELLED", "Request cancelled" },
	{ MCP_ACP_LIMIT, true, "SERVER_BUSY", "Too many requests are open at the server" },
	{ MCP_ACP_NO_SERVER, true, "SERVER_GONE", "The server is not there any more" },
	{ MCP_ACP_FAILED, true, "SERVER_FAILED", "The server failed without an answer" },
};

static const struct hidden *find_hidden(struct slice error, bool is_legacy)
{
	int64_t code;

	if (jdec_int(jobj_get(error, "code"), &code) < 0)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(hidden); i++)
		if (code == hidden[i].code && (is_legacy || hidden[i].in_both))
			return &hidden[i];
	return NULL;
}

/* A hidden code becomes an internal error that keeps the text. */
static void put_translated(struct buf *out, struct slice error, bool is_legacy)
{
	const struct hidden *h = find_hidden(error, is_legacy);
	struct jval message = jobj_get(error, "message");
	struct slice data = jobj_get(error, "data").raw;
	struct jw w = JW(out);

	if (!h) {
		buf_add_slice(out, error);
		return;
	}
	jw_obj(&w, NULL);
	jw_int(&w, "code", RPC_INTERNAL_ERROR);
	if (message.type == J_STRING)
		jw_raw(&w, "message", message.raw);
	else
		jw_str(&w, "message", h->text);
	jw_obj(&w, "data");
	jw_str(&w, "reason", h->reason);
	jw_int(&w, "binding", h->code);
	if (data.n)
		jw_raw(&w, "requiredCapabilities", jobj_get(data, "requiredCapabilities").raw);
	jw_end_obj(&w);
	jw_end_obj(&w);
}

/* --- open requests --- */

static struct front_request *front_request_new(struct mcp_front *f, const struct rpc_msg *m)
{
	struct front_request *x = new0(struct front_request);

	x->front = f;
	x->id = xstrndup(m->id.p, m->id.n);
	x->method = mcp_method_find(m->method);
	list_init(&x->asks);
	list_add_tail(&f->open, &x->link);
	f->count++;
	front_heartbeat_begin(x, m->params);
	return x;
}

void front_request_free(struct front_request *x)
{
	struct mcp_front *f = x->front;

	list_del(&x->link);
	f->count--;
	if (x->call)
		mcp_call_cancel(x->call);
	if (f->starting == x)
		f->starting = NULL;
	/* It was never answered, so its client does not count on the subscription. */
	if (x->change)
		front_subscriptions_forget(f, x->params);
	front_questions_drop(x, false);
	front_heartbeat_end(x);
	loop_timer_cancel(&x->timer);
	if (x->params)
		f->held -= strlen(x->params);
	buf_done(&x->answers);
	free_each(x->params, x->state, x->id, x);
}

void front_request_begin(const struct front_request *x, struct buf *b, const char *member,
			 size_t room)
{
	buf_reserve(b, room + RPC_ID_MAX + KIB);
	front_put_head(b, x->id, member);
}

void front_request_end(struct front_request *x, struct buf *b)
{
	struct err e;

	buf_putc(b, '}');
	/* The client waits for an answer, so it gets an error in place of one that is too
	 * large. */
	if (b->failed) {
		buf_reset(b);
		err_set(&e, -E2BIG, 0, "RESULT_TOO_LARGE", "the answer is too large");
		front_put_refusal(b, x->id, &e, SLICE_NONE);
	}
	/* It is answered: freeing it must not take back the subscription. */
	x->change = 0;
	front_send(x->front, b, slice_of(x->id), true);
	front_request_free(x);
}

void front_request_result(struct front_request *x, struct slice result)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	front_request_begin(x, &b, "result", result.n);
	buf_add_slice(&b, result);
	front_request_end(x, &b);
}

void front_request_error(struct front_request *x, struct slice error)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	front_request_begin(x, &b, "error", error.n);
	put_translated(&b, error, x->front->era == ERA_LEGACY);
	front_request_end(x, &b);
}

void front_request_refuse(struct front_request *x, const struct err *e, struct slice extra)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	front_request_begin(x, &b, "error", extra.n);
	mcp_put_error(&b, e, extra);
	front_request_end(x, &b);
}

int front_request_keep(struct front_request *x, struct slice raw, struct err *e)
{
	struct mcp_front *f = x->front;

	if (raw.n > MCP_HELD_MAX - f->held)
		return err_set(e, -EBUSY, RPC_INTERNAL_ERROR, "TOO_MANY_REQUESTS",
			       "the open requests of this client are too large together");
	x->params = xstrndup(raw.p, raw.n);
	f->held += raw.n;
	return 0;
}

void front_request_call(struct front_request *x, const char *method, const struct buf *params,
			const struct mcp_reply_ops *ops)
{
	struct err e;

	if (params->failed) {
		err_field(&e, "params", "PARAMS_TOO_LARGE", "params are too large");
		front_request_refuse(x, &e, SLICE_NONE);
		return;
	}
	x->call = mcp_backend_call(x->front->backend, method, buf_slice(params), ops, x);
}

static struct front_request *find_open(const struct mcp_front *f, struct slice id)
{
	list_each(x, (struct list *)&f->open, struct front_request, link)
		if (mcp_id_equal(slice_of(x->id), id))
			return x;
	return NULL;
}

/* --- in --- */

/* MCP allows strings and integers. */
static bool id_is_usable(struct slice id)
{
	if (id.p[0] == '"')
		return true;
	for (size_t i = 0; i < id.n; i++)
		if (id.p[i] != '-' && (id.p[i] < '0' || id.p[i] > '9'))
			return false;
	return true;
}

/* A name goes through several encoders; no method of MCP needs other characters. */
static bool method_is_usable(const char *name)
{
	return name[0] && slice_is_visible(slice_of(name), "\"\\") &&
	       strcmp(name, "?") != 0; /* "?": rpc_parse found it too long */
}

static int front_check_request(const struct mcp_front *f, const struct rpc_msg *m, struct err *e)
{
	if (!id_is_usable(m->id))
		return err_set(e, -EINVAL, RPC_INVALID_REQUEST, "ID_INVALID",
			       "id must be a string or an integer");
	if (find_open(f, m->id))
		return err_set(e, -EEXIST, RPC_INVALID_REQUEST, "ID_IN_USE",
			       "a request with this id is still open");
	if (f->count >= MCP_OPEN_MAX)
		return err_set(e, -EBUSY, RPC_INTERNAL_ERROR, "TOO_MANY_REQUESTS",
			       "%u requests of this client are open", f->count);
	if (!method_is_usable(m->method))
		return err_set(e, -EINVAL, RPC_METHOD_NOT_FOUND, "METHOD_NOT_FOUND",
			       "no such method");
	return 0;
}

/* True for a message without a version in _meta, which every request of the modern era has. */
static bool front_message_is_plain(const struct rpc_msg *m, const char *method)
{
	return strcmp(m->method, method) == 0 &&
	       mcp_meta_get(m->params, MCP_META_VERSION).type == J_NONE;
}

static void front_on_request(struct mcp_front *f, const struct rpc_msg *m)
{
	struct err e;

	if (front_check_request(f, m, &e) < 0)
		refuse_message(f, &e, m->id);
	else if (f->era == ERA_LEGACY ||
		 (f->era == ERA_OPEN && front_message_is_plain(m, "initialize")))
		front_legacy_request(front_request_new(f, m), m);
	else if (f->era == ERA_OPEN && front_message_is_plain(m, "ping"))
		front_request_result(front_request_new(f, m),
				     SLICE("{}")); /* allowed before initialize */
	else
		front_modern_request(front_request_new(f, m), m);
}

/* No answer follows, even if the server sends one. */
static void front_on_cancelled(struct mcp_front *f, const struct rpc_msg *m)
{
	struct slice id = jobj_get(m->params, "requestId").raw;
	struct front_request *x = id.n ? find_open(f, id) : NULL;

	/* MCP 2025-11-25, cancellation: a client must not cancel initialize. */
	if (!x || x == f->starting)
		return;
	front_questions_drop(x, true);
	if (f->ops->cancelled)
		f->ops->cancelled(f->ctx, slice_of(x->id));
	front_request_free(x);
}

void mcp_front_feed(struct mcp_front *f, struct slice message)
{
	_cleanup_(buf_done) struct buf repaired = { 0 };
	struct rpc_msg m;
	struct err e;

	switch (rpc_parse_repaired(message, &repaired, &m, &e)) {
	case RPC_E_IGNORE:
		return;
	case RPC_E_ID_TOO_LONG:
		refuse_message(f, &e, SLICE("null"));
		return;
	case RPC_E_ANSWER:
		refuse_message(f, &e, m.id);
		return;
	case RPC_PARSED:
		break;
	}
	if (m.kind == RPC_REQUEST)
		front_on_request(f, &m);
	else if (m.kind == RPC_RESPONSE)
		rpc_calls_reply(&f->asks, &m);
	else if (strcmp(m.method, "notifications/cancelled") == 0)
		front_on_cancelled(f, &m);
	else if (f->era == ERA_LEGACY)
		front_legacy_notification(f, &m);
}

/* --- life --- */

struct mcp_front *mcp_front_new(struct loop *loop, struct mcp_backend *backend,
				const struct mcp_front_ops *ops, void *ctx)
{
	struct mcp_front *f = new0(struct mcp_front);

	f->loop = loop;
	f->backend = backend;
	f->ops = ops;
	f->ctx = ctx;
	f->heartbeat_ms = MCP_HEARTBEAT_MS;
	list_init(&f->open);
	rpc_calls_init(&f->asks);
	front_subscriptions_init(f);
	return f;
}

struct mcp_front *mcp_front_free(struct mcp_front *f)
{
	if (!f)
		return NULL;
	/* Before the table of questions, where the open requests remove theirs. */
	while (!list_empty(&f->open))
		front_request_free(list_first(&f->open, struct front_request, link));
	rpc_calls_done(&f->asks);
	front_subscriptions_done(f);
	free_each(f->client_capabilities, f->client_info, f->server_capabilities, f);
	return NULL;
}

/* Counts the requests that end by themselves: a subscription is open until its client leaves. */
unsigned mcp_front_waiting(const struct mcp_front *f)
{
	unsigned n = 0;

	list_each(x, (struct list *)&f->open, struct front_request, link)
		n += !x->method || !(x->method->flags & MCP_LASTS);
	return n;
}
