/*
 * rpc.c - classifies JSON-RPC messages, encodes answers, and tracks the daemon's open requests.
 *
 * A message is scanned once, into spans of the input: the caller's buffer must outlive the rpc_msg.
 * An invalid notification gets no answer (JSON-RPC 2.0, section 4.1). An invalid request gets one,
 * with its id or null. An answer with an odd error object still completes the open request, which
 * would otherwise never end. The list of open requests is searched linearly: RPC_PENDING_MAX bounds
 * it.
 */
#include "rpc/rpc.h"

#include "base/format/digits.h"
#include "json/json.h"

struct rpc_call {
	struct list link;
	uint32_t id;
	rpc_reply_fn fn;
	void *ctx;
	uint64_t tag;
};

enum { S_JSONRPC, S_ID, S_METHOD, S_PARAMS, S_RESULT, S_ERROR, S_MAX };

static enum rpc_parse_result rpc_refuse(struct rpc_msg *m, struct err *e, int code,
					const char *reason, const char *text)
{
	m->id = SLICE("null");
	err_set(e, -EINVAL, code, reason, "%s", text);
	return RPC_E_ANSWER;
}

static enum rpc_parse_result refuse_scan(enum jscan_error scan, struct slice text,
					 struct rpc_msg *m, struct err *e)
{
	struct jval v;

	if (scan == JSCAN_E_DUPLICATE)
		return rpc_refuse(m, e, RPC_INVALID_REQUEST, "DUPLICATE_MEMBER",
				  "Invalid request: a member appears twice");
	if (scan != JSCAN_E_NOT_OBJECT)
		return rpc_refuse(m, e, RPC_PARSE_ERROR, "PARSE_ERROR", "Parse error");
	/* JSON-RPC 2.0 allows batches (section 6), so their refusal has a reason of its own. */
	jscan_value(text, &v);
	if (v.type == J_ARRAY)
		return rpc_refuse(m, e, RPC_INVALID_REQUEST, "BATCH_UNSUPPORTED",
				  "Invalid request: JSON-RPC batches are not supported");
	return rpc_refuse(m, e, RPC_INVALID_REQUEST, "INVALID_REQUEST",
			  "Invalid request: not an object");
}

static bool id_type_ok(enum jtype t)
{
	return t == J_NULL || t == J_NUMBER || t == J_STRING;
}

static enum rpc_parse_result parse_call(struct jslot *s, struct rpc_msg *m, struct err *e)
{
	m->kind = s[S_ID].v.type == J_NONE ? RPC_NOTIFICATION : RPC_REQUEST;
	if (s[S_METHOD].v.type != J_STRING)
		return m->kind == RPC_NOTIFICATION ?
			       RPC_E_IGNORE :
			       rpc_refuse(m, e, RPC_INVALID_REQUEST, "INVALID_REQUEST",
					  "Invalid request: method must be a string");
	if (jstr_copy(s[S_METHOD].v, m->method, sizeof(m->method)) < 0)
		memcpy(m->method, "?", 2); /* too long to be one of ours */
	m->params = SLICE("{}");
	if (s[S_PARAMS].v.type == J_OBJECT) {
		m->params = s[S_PARAMS].v.raw;
	} else if (s[S_PARAMS].v.type != J_NONE && s[S_PARAMS].v.type != J_NULL) {
		if (m->kind == RPC_NOTIFICATION)
			return RPC_E_IGNORE;
		/* Not rpc_refuse: the request is valid but for its params, so the answer has its id. */
		err_field(e, "params", "PARAMS_INVALID", "params must be an object");
		return RPC_E_ANSWER;
	}
	return RPC_PARSED;
}

static enum rpc_parse_result parse_response(struct jslot *s, struct rpc_msg *m)
{
	bool no_error = s[S_ERROR].v.type == J_NONE || s[S_ERROR].v.type == J_NULL;

	m->kind = RPC_RESPONSE;
	/* JSON-RPC 1.0 writes both members, with null for the one that does not apply. */
	if (s[S_RESULT].v.type != J_NONE && no_error)
		m->result = s[S_RESULT].v.raw;
	else /* an odd error still answers the call that waits for it */
		m->error = s[S_ERROR].v.type == J_OBJECT ? s[S_ERROR].v.raw : SLICE("{}");
	return RPC_PARSED;
}

enum rpc_parse_result rpc_parse(struct slice text, struct rpc_msg *m, struct err *e)
{
	return rpc_parse_params(text, m, NULL, 0, e);
}

static const struct jslot members[S_MAX] = {
	[S_JSONRPC] = { JSLOT("jsonrpc") }, [S_ID] = { JSLOT("id") },
	[S_METHOD] = { JSLOT("method") },   [S_PARAMS] = { JSLOT("params") },
	[S_RESULT] = { JSLOT("result") },   [S_ERROR] = { JSLOT("error") },
};

/* One by one: a compiler copies all of it by one instruction, which takes longer than to scan a short line. */
static void slots_init(struct jslot s[S_MAX])
{
	for (size_t i = 0; i < S_MAX; i++) {
		s[i].key = members[i].key;
		s[i].n = members[i].n;
		s[i].sub = NULL;
		s[i].nsub = 0;
		s[i].take = NULL;
	}
}

enum rpc_parse_result rpc_parse_params(struct slice text, struct rpc_msg *m, struct jslot *params,
				       size_t n, struct err *e)
{
	struct jslot s[S_MAX] __attribute__((uninitialized));
	enum jscan_error scan;

	slots_init(s);
	s[S_PARAMS].sub = params;
	s[S_PARAMS].nsub = n;
	scan = jscan_message(text, s, S_MAX, &m->repair);
	/* Set before the first return: no member of m may be stale if the text is refused. */
	m->kind = RPC_REQUEST;
	m->method[0] = '\0';
	m->id = m->params = m->result = m->error = SLICE_NONE;
	if (scan != JSCAN_OK)
		return refuse_scan(scan, text, m, e);
	/* An answer repeats the id byte for byte, so the limit is on its raw text. */
	if (s[S_ID].v.raw.n > RPC_ID_MAX + 2) { /* 2: the quotes of a string */
		err_set(e, -EINVAL, RPC_INVALID_REQUEST, "INVALID_REQUEST",
			"the request id is too long");
		return RPC_E_ID_TOO_LONG;
	}
	m->id = s[S_ID].v.raw;
	if (s[S_ID].v.type != J_NONE && !id_type_ok(s[S_ID].v.type))
		return rpc_refuse(m, e, RPC_INVALID_REQUEST, "INVALID_REQUEST",
				  "Invalid request: id must be a string, a number or null");
	/* A missing jsonrpc is accepted, a wrong one is not. The raw comparison is the fast path; jstr_is
	 * also accepts the same string with escapes. */
	if (s[S_JSONRPC].v.type != J_NONE && !slice_is(s[S_JSONRPC].v.raw, "\"2.0\"") &&
	    !jstr_is(s[S_JSONRPC].v, "2.0"))
		return rpc_refuse(m, e, RPC_INVALID_REQUEST, "INVALID_REQUEST",
				  "Invalid request: jsonrpc must be \"2.0\"");
	if (s[S_METHOD].v.type != J_NONE)
		return parse_call(s, m, e);
	if (s[S_RESULT].v.type == J_NONE && s[S_ERROR].v.type == J_NONE)
		return rpc_refuse(m, e, RPC_INVALID_REQUEST, "INVALID_REQUEST",
				  "Invalid request: no method, result or error");
	return parse_response(s, m);
}

enum rpc_parse_result rpc_parse_repaired(struct slice text, struct buf *b, struct rpc_msg *m,
					 struct err *e)
{
	enum rpc_parse_result r = rpc_parse(text, m, e);
	struct slice id = r == RPC_PARSED ? m->id : SLICE_NONE;

	if (!m->repair || !jstr_repair(text, b))
		return r;
	r = rpc_parse(buf_slice(b), m, e);
	/* The id keeps its original bytes: otherwise an answer would find no request. */
	if (id.n)
		m->id = id;
	return r;
}

size_t rpc_repair_halves(char *text, size_t n, const struct rpc_msg *m)
{
	size_t id = m->id.n ? (size_t)(m->id.p - text) : 0;

	/* Without an id the first part is empty, and the second is the whole text. */
	return jstr_repair_halves(text, id) +
	       jstr_repair_halves(text + id + m->id.n, n - id - m->id.n);
}

static void rpc_put_head(struct buf *b, struct slice id)
{
	buf_puts(b, "{\"jsonrpc\":\"2.0\",\"id\":");
	buf_add_slice(b, id);
}

void rpc_put_result(struct buf *b, struct slice id, struct slice result)
{
	rpc_put_head(b, id);
	buf_puts(b, ",\"result\":");
	buf_add_slice(b, result);
	buf_putc(b, '}');
}

void rpc_put_error(struct buf *b, struct slice id, const struct err *e, struct slice extra)
{
	struct jw w = JW(b);

	rpc_put_head(b, id);
	buf_puts(b, ",\"error\":");
	jw_obj(&w, NULL);
	/* Code and message are required (JSON-RPC 2.0, section 5.1). The reason is acpd's, and clients
	 * compare it: an error without one is still answered with a fixed word. */
	jw_int(&w, "code", e->rpc ? e->rpc : RPC_INTERNAL_ERROR);
	jw_str(&w, "message", e->msg);
	jw_obj(&w, "data");
	jw_str(&w, "reason", e->reason[0] ? e->reason : "INTERNAL");
	jw_str(&w, "field", e->field[0] ? e->field : NULL);
	jw_str(&w, "scope", e->scope[0] ? e->scope : NULL);
	jw_str(&w, "sessionId", e->session[0] ? e->session : NULL);
	jw_raw(&w, NULL, extra);
	jw_end_obj(&w);
	jw_end_obj(&w);
	buf_putc(b, '}');
}

static void rpc_put_call(struct buf *b, const char *method, struct slice params)
{
	buf_puts(b, "\"method\":\"");
	buf_puts(b, method);
	buf_puts(b, "\",\"params\":");
	buf_add_slice(b, params);
	buf_putc(b, '}');
}

int rpc_no_method(const struct rpc_msg *m, struct err *e)
{
	return err_set(e, -ENOSYS, RPC_METHOD_NOT_FOUND, "METHOD_NOT_FOUND", "method not found: %s",
		       m->method);
}

void rpc_put_notification(struct buf *b, const char *method, struct slice params)
{
	buf_puts(b, "{\"jsonrpc\":\"2.0\",");
	rpc_put_call(b, method, params);
}

void rpc_put_request(struct buf *b, uint32_t id, const char *method, struct slice params)
{
	buf_puts(b, "{\"jsonrpc\":\"2.0\",\"id\":");
	u64_put(b, id);
	buf_putc(b, ',');
	rpc_put_call(b, method, params);
}

void rpc_calls_init(struct rpc_calls *t)
{
	list_init(&t->open);
	t->count = 0;
	t->last_id = 0;
}

static void call_remove(struct rpc_calls *t, struct rpc_call *c)
{
	list_del(&c->link);
	t->count--;
}

/* From the start each time: fn may drop other calls of the table. */
void rpc_calls_done(struct rpc_calls *t)
{
	list_drain(c, &t->open, struct rpc_call, link) {
		call_remove(t, c);
		c->fn(c->ctx, c->tag, NULL);
		free(c);
	}
}

/* The id is wider than the ids of the table: a number above 32 bits must not match by truncation. */
static struct rpc_call *call_by_id(const struct rpc_calls *t, int64_t id)
{
	list_each(c, (struct list *)&t->open, struct rpc_call, link)
		if (c->id == id)
			return c;
	return NULL;
}

uint32_t rpc_calls_add(struct rpc_calls *t, rpc_reply_fn fn, void *ctx, uint64_t tag)
{
	struct rpc_call *c;

	if (t->count >= RPC_PENDING_MAX)
		return 0;
	c = new0(struct rpc_call);
	/* after 2^31 calls one of the first may still be open */
	do
		t->last_id = t->last_id >= INT32_MAX - 1 ? 1 : t->last_id + 1;
	while (call_by_id(t, t->last_id));
	*c = (struct rpc_call){ .id = t->last_id, .fn = fn, .ctx = ctx, .tag = tag };
	list_add_tail(&t->open, &c->link);
	t->count++;
	return c->id;
}

bool rpc_calls_reply(struct rpc_calls *t, const struct rpc_msg *reply)
{
	struct jval id = { J_NUMBER, reply->id };
	struct rpc_call *c;
	int64_t n;

	/* The daemon sends numbers, and a response repeats the id (JSON-RPC 2.0, section 5): a string with the
	 * same digits is another id. */
	if (!reply->id.n || reply->id.p[0] == '"' || jdec_int(id, &n) < 0)
		return false;
	c = call_by_id(t, n);
	if (!c)
		return false;
	/* first, because fn may drop all that is open, or make the next call */
	call_remove(t, c);
	c->fn(c->ctx, c->tag, reply);
	free(c);
	return true;
}

void rpc_calls_drop(struct rpc_calls *t, uint32_t id)
{
	struct rpc_call *c = call_by_id(t, id);

	if (!c)
		return;
	call_remove(t, c);
	free(c);
}

void rpc_calls_drop_ctx(struct rpc_calls *t, const void *ctx)
{
	list_each(c, &t->open, struct rpc_call, link) {
		if (c->ctx != ctx)
			continue;
		call_remove(t, c);
		free(c);
	}
}

uint32_t rpc_calls_find(const struct rpc_calls *t, const void *ctx, uint64_t tag)
{
	list_each(c, (struct list *)&t->open, struct rpc_call, link)
		if (c->ctx == ctx && c->tag == tag)
			return c->id;
	return 0;
}
