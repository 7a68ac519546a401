/*
 * upstream_rpc.c - request ids, progress tokens and answers of JSON-RPC to one server, over any
 * transport.
 *
 * An id is never used again on a connection, so a late answer matches no other request. The
 * progress token of the caller is replaced by the id and restored byte for byte. A request that
 * cannot be sent is answered from the loop, because `reply` must not run inside the call. The
 * server is untrusted: a result must be an object.
 */
#include "tools/upstream/upstream_rpc.h"

#include "base/limits.h"
#include "json/jdec.h"
#include "rpc/rpc.h"
#include "tools/mcp/msg.h"

void upstream_rpc_init(struct upstream_rpc *l)
{
	list_init(&l->open);
	list_init(&l->refused);
	l->last_id = 0;
	l->task = (struct loop_task){ 0 };
}

/* Unlinks the request; its answer finds no receiver any more. Does nothing for a request that
 * is not open. */
void upstream_rpc_forget(struct upstream_rpc_request *rq)
{
	if (!rq->id)
		return;
	list_del(&rq->link);
	rq->id = 0;
	buf_done(&rq->token);
}

/* Forgets all requests without an answer: their owners end them by themselves. */
void upstream_rpc_done(struct upstream_rpc *l)
{
	list_each(rq, &l->open, struct upstream_rpc_request, link)
		upstream_rpc_forget(rq);
	list_each(rq, &l->refused, struct upstream_rpc_request, link)
		upstream_rpc_forget(rq);
	loop_task_cancel(&l->task);
}

/* --- out -------------------------------------------------------------------------------------------------- */

static void upstream_rpc_end(struct upstream_rpc_request *rq, struct slice result,
			     struct slice error)
{
	/* First: reply may use the same request again or free it. */
	upstream_rpc_forget(rq);
	rq->reply(rq->ctx, result, error);
}

/* Takes one at a time: a reply may add to the list, or cancel others in it. */
static void end_refused(void *ctx)
{
	struct upstream_rpc *l = ctx;

	list_drain(rq, &l->refused, struct upstream_rpc_request, link) {
		_cleanup_(buf_done) struct buf b = { 0 };
		struct err e;

		err_set(&e, -EIO, RPC_INTERNAL_ERROR, rq->refused, "%s",
			strcmp(rq->refused, "SERVER_GONE") == 0 ?
				"the MCP server is not connected" :
				"the MCP server does not read what it is sent");
		mcp_put_error(&b, &e, SLICE_NONE);
		upstream_rpc_end(rq, SLICE_NONE, buf_slice(&b));
	}
}

/* The params of this hop: with our id as progress token, if they have one. */
static struct slice own_token(struct upstream_rpc_request *rq, struct slice params, struct buf *b)
{
	struct jslot token = { .key = "progressToken" };
	struct jslot meta = { .key = "_meta", .sub = &token, .nsub = 1 };
	struct slice at;

	if (jscan_object(params, &meta, 1) != JSCAN_OK || token.v.type == J_NONE ||
	    token.v.type == J_NULL)
		return params;
	at = token.v.raw;
	buf_reset(&rq->token);
	buf_add_slice(&rq->token, at);
	/* Replaced in place, so every other byte of the params reaches the server unchanged. */
	mcp_text_splice(b, params, at, slice_of(NUMBER_TEXT(rq->id)));
	return buf_slice(b);
}

void upstream_rpc_call(struct upstream_rpc *l, struct upstream_rpc_request *rq, const char *method,
		       struct slice params)
{
	_cleanup_(buf_done) struct buf own = { 0 }, b = { 0 };
	struct upstream_rpc_out out = { .kind = UPSTREAM_RPC_REQUEST, .method = method };
	char id_text[16];
	struct slice id = { id_text, 0 };
	int r;

	/* Before own_token(), which uses it. */
	rq->id = out.id = ++l->last_id;
	list_init(&rq->link);
	out.params = own_token(rq, params, &own);
	id.n = (size_t)snprintf(id_text, sizeof(id_text), "%u", rq->id);
	mcp_put_request(&b, id, method, out.params);
	out.text = buf_slice(&b);
	r = own.failed || b.failed ? -E2BIG : l->send(l->wire, &out);
	list_add_tail(r < 0 ? &l->refused : &l->open, &rq->link);
	if (r == 0)
		return;
	rq->refused = r == -E2BIG ? "SERVER_STALLED" : "SERVER_GONE";
	loop_defer(l->loop, &l->task, end_refused, l);
}

/* The request is forgotten, so an answer that is on its way already is dropped. */
void upstream_rpc_cancel(struct upstream_rpc *l, struct upstream_rpc_request *rq)
{
	_cleanup_(buf_done) struct buf params = { 0 }, b = { 0 };
	struct upstream_rpc_out out = { .kind = UPSTREAM_RPC_CANCEL,
					.method = "notifications/cancelled" };

	if (!rq->id)
		return;
	out.id = rq->id;
	buf_printf(&params, "{\"requestId\":%u}", rq->id);
	out.params = buf_slice(&params);
	mcp_put_notification(&b, out.method, out.params);
	out.text = buf_slice(&b);
	upstream_rpc_forget(rq);
	l->send(l->wire, &out);
}

void upstream_rpc_notify(struct upstream_rpc *l, const char *method, struct slice params)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	mcp_put_notification(&b, method, params);
	l->send(l->wire, &(struct upstream_rpc_out){ .kind = UPSTREAM_RPC_NOTIFICATION,
						     .method = method,
						     .params = params,
						     .text = buf_slice(&b) });
}

static void send_answer(struct upstream_rpc *l, const struct buf *b)
{
	if (!b->failed)
		l->send(l->wire, &(struct upstream_rpc_out){ .kind = UPSTREAM_RPC_ANSWER,
							     .text = buf_slice(b) });
}

void upstream_rpc_answer(struct upstream_rpc *l, struct slice id, struct slice result)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	rpc_put_result(&b, id, result);
	send_answer(l, &b);
}

void upstream_rpc_refuse(struct upstream_rpc *l, struct slice id, const struct err *e)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	rpc_put_error(&b, id, e, SLICE_NONE);
	send_answer(l, &b);
}

/* --- in --------------------------------------------------------------------------------------------------- */

struct upstream_rpc_request *upstream_rpc_find(struct upstream_rpc *l, uint32_t id)
{
	if (id)
		list_each(rq, &l->open, struct upstream_rpc_request, link)
			if (rq->id == id)
				return rq;
	return NULL;
}

void upstream_rpc_error(struct upstream_rpc *l, uint32_t id, struct slice error)
{
	struct upstream_rpc_request *rq = upstream_rpc_find(l, id);

	if (rq)
		upstream_rpc_end(rq, SLICE_NONE, error);
}

/* Our ids come back as numbers; strings of them are accepted too. */
static struct upstream_rpc_request *find_raw(struct upstream_rpc *l, struct slice raw)
{
	struct jval v = { J_NUMBER, raw };
	int64_t n;

	if (raw.n > 2 && raw.p[0] == '"')
		v.raw = (struct slice){ raw.p + 1, raw.n - 2 };
	/* Ids count from 1, and JSON has no leading zeros: another first character is not an id of
	 * this connection. */
	if (!v.raw.n || v.raw.p[0] < '1' || v.raw.p[0] > '9' || jscan_value(v.raw, &v) ||
	    jdec_int(v, &n) < 0 || n > UINT32_MAX)
		return NULL;
	return upstream_rpc_find(l, (uint32_t)n);
}

static void got_progress(struct upstream_rpc *l, struct slice params)
{
	struct jslot token = { .key = "progressToken" };
	_cleanup_(buf_done) struct buf b = { 0 };
	struct upstream_rpc_request *rq;
	struct slice at;

	if (jscan_object(params, &token, 1) != JSCAN_OK || token.v.type == J_NONE)
		return;
	at = token.v.raw;
	rq = find_raw(l, at);
	/* Progress of a call that asked for none is dropped. */
	if (!rq || !rq->notify || !buf_len(&rq->token))
		return;
	mcp_text_splice(&b, params, at, buf_slice(&rq->token));
	if (!b.failed)
		rq->notify(rq->ctx, "notifications/progress", buf_slice(&b));
}

static void got_answer(struct upstream_rpc *l, const struct rpc_msg *m)
{
	struct upstream_rpc_request *rq = find_raw(l, m->id);
	struct err e;

	/* The request was cancelled, or never made. */
	if (!rq)
		return;
	if (!m->error.n && m->result.n && m->result.p[0] != '{') {
		_cleanup_(buf_done) struct buf b = { 0 };

		err_set(&e, -EPROTO, RPC_INTERNAL_ERROR, "SERVER_PROTOCOL",
			"the MCP server's result is not an object");
		mcp_put_error(&b, &e, SLICE_NONE);
		upstream_rpc_end(rq, SLICE_NONE, buf_slice(&b));
		return;
	}
	upstream_rpc_end(rq, m->result, m->error);
}

/* A message that is odd in itself ends nothing: it is refused if it has an id, else passed over. */
static int got_malformed(struct upstream_rpc *l, enum rpc_parse_result r, struct slice text,
			 struct slice id, const struct err *e)
{
	bool asks = r == RPC_E_ANSWER && id.n && !slice_is(id, "null");

	if ((!asks && r != RPC_E_IGNORE) || jobj_get(text, "jsonrpc").type == J_NONE)
		return -EBADMSG;
	if (asks)
		upstream_rpc_refuse(l, id, e);
	return 0;
}

/* 0, or -EBADMSG if the text is not a message. origin: the request on whose stream it came, or
 * 0. */
static int got_one(struct upstream_rpc *l, uint32_t origin, struct slice text)
{
	_cleanup_(buf_done) struct buf repaired = { 0 };
	enum rpc_parse_result r;
	struct rpc_msg m;
	struct err e;

	r = rpc_parse_repaired(text, &repaired, &m, &e);
	if (r != RPC_PARSED)
		return got_malformed(l, r, text, m.id, &e);
	if (m.kind == RPC_RESPONSE)
		got_answer(l, &m);
	else if (m.kind == RPC_REQUEST)
		l->events->asked(l->ctx, origin, m.id, m.method, m.params);
	else if (strcmp(m.method, "notifications/progress") == 0)
		got_progress(l, m.params);
	else
		l->events->notified(l->ctx, origin, m.method, m.params);
	return 0;
}

/* Line breaks are only between tokens: in a string they are escaped. */
static struct slice flat(struct slice text, struct buf *b)
{
	if (!text.n || (!memchr(text.p, '\n', text.n) && !memchr(text.p, '\r', text.n)))
		return text;
	buf_add_slice(b, text);
	mcp_flatten(b->data, b->len);
	return buf_slice(b);
}

int upstream_rpc_feed(struct upstream_rpc *l, uint32_t origin, struct slice text)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct slice s = flat(text, &b);
	bool any = false;
	struct jval v;

	while (s.n && (*s.p == ' ' || *s.p == '\t'))
		s = slice_after(s, 1);
	if (!s.n || s.p[0] != '[')
		return got_one(l, origin, s);
	if (jscan_value(s, &v) != JSCAN_OK)
		return -EBADMSG;
	/* A batch, which 2025-03-26 allows. It counts as read if one of its messages is. */
	jarr_each(one, v)
		any |= got_one(l, origin, one.raw) == 0;
	return any ? 0 : -EBADMSG;
}
