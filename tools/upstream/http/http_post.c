/*
 * http_post.c - one MCP message over HTTP: the headers of its era, its answer as JSON or events,
 * one repetition.
 *
 * A post is closed before its caller gets the answer, because the caller may stop the server and
 * close all posts. 404 means that the server lost the session, a header mismatch that the known
 * tool list is old: each repeats the post once. A stream that ends early is resumed with
 * Last-Event-ID, at legacy servers that number events.
 */
#include "tools/upstream/http/http_post.h"

#include "base/log.h"
#include "json/json.h"
#include "rpc/rpc.h"
#include "tools/mcp/msg.h"

#include <strings.h>

/* --- life ------------------------------------------------------------------------------------------------- */

/* The value of Mcp-Name for a request. */
static char *subject_of(const struct upstream_rpc_out *out)
{
	static const struct {
		const char *method, *member;
	} rows[] = {
		{ "tools/call", "name" },     { "prompts/get", "name" },
		{ "resources/read", "uri" },  { "tasks/get", "taskId" },
		{ "tasks/update", "taskId" }, { "tasks/cancel", "taskId" },
	};
	char *value = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (out->kind == UPSTREAM_RPC_REQUEST && strcmp(out->method, rows[i].method) == 0)
			jstr_decode(jobj_get(out->params, rows[i].member), HTTP_HEADERS_MAX / 2,
				    &value);
	return value;
}

struct http_post *http_post_new(struct mcp_remote *h, const struct upstream_rpc_out *out)
{
	struct http_post *p = new0(struct http_post);

	p->h = h;
	p->kind = out ? POST_MESSAGE : POST_STREAM;
	p->sse.max = LINE_MAX_BYTES;
	p->body.max = LINE_MAX_BYTES;
	if (out) {
		p->id = out->kind == UPSTREAM_RPC_REQUEST ? out->id : 0;
		p->method = xstrdup(out->method);
		p->subject = subject_of(out);
		/* Only 2026-07-28 has headers for arguments. Such a post keeps its message, to
		 * be sent again after a mismatch. */
		p->is_call = p->id && !h->up.is_legacy && strcmp(out->method, "tools/call") == 0;
		buf_add_slice(&p->message, out->text);
	}
	p->waits = true;
	list_add_tail(&h->posts, &p->link);
	h->nposts++;
	return p;
}

static void http_post_free(void *ctx)
{
	struct http_post *p = ctx;

	buf_done(&p->message);
	buf_done(&p->body);
	sse_reader_done(&p->sse);
	free_each(p->method, p->subject, p);
}

/* Frees the post at the end of the turn, because callers up the stack still use it. */
void http_post_close(struct http_post *p)
{
	if (p->dead)
		return;
	p->dead = true;
	list_del(&p->link);
	p->h->nposts--;
	p->x = http_exchange_close(p->x);
	loop_timer_cancel(&p->timer);
	loop_defer(p->h->up.loop, &p->task, http_post_free, p);
}

/* Closes the post and reports it to the connection, which may begin another stream, or send
 * waiting posts. */
static void http_post_over(struct http_post *p)
{
	if (p->dead)
		return;
	http_post_close(p);
	upstream_http_post_over(p);
}

/* The request of this post ends with an error of ours. */
static void http_post_fail(struct http_post *p, const char *reason, const char *how)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	uint32_t id = p->id;
	struct err e;

	err_set(&e, -EIO, RPC_INTERNAL_ERROR, reason, "the MCP server \"%s\": %s", p->h->name, how);
	mcp_put_error(&b, &e, SLICE_NONE);
	http_post_over(p);
	upstream_rpc_error(&p->h->up.rpc, id, buf_slice(&b));
}

bool http_post_is_method(const struct http_post *p, const char *method)
{
	return p->method && strcmp(p->method, method) == 0;
}

/* True if the request of this post still waits for its answer. */
static bool http_post_is_open(const struct http_post *p)
{
	return upstream_rpc_find(&p->h->up.rpc, p->id);
}

/* --- the answer ------------------------------------------------------------------------------------------- */

static bool is_type(const struct http_head *head, const char *type)
{
	struct slice v;
	size_t n = strlen(type);

	/* Parameters may follow the type (RFC 9110, 8.3.1). */
	return http_field_find(head->fields, "content-type", &v) && v.n >= n &&
	       strncasecmp(v.p, type, n) == 0 && (v.n == n || strchr("; \t", v.p[n]));
}

/* The session comes with the answer to initialize alone. Other characters than visible ASCII
 * are not allowed, and could break the header. */
static void http_post_take_session(struct http_post *p, const struct http_head *head)
{
	struct slice v;

	if (!http_post_is_method(p, "initialize") ||
	    !http_field_find(head->fields, "mcp-session-id", &v) || !v.n ||
	    v.n > MCP_SESSION_ID_MAX || !slice_is_visible(v, ""))
		return;
	free(p->h->session);
	p->h->session = xstrndup(v.p, v.n);
}

static void http_post_on_head(void *ctx, const struct http_head *head)
{
	struct http_post *p = ctx;
	bool good = head->status >= 200 && head->status < 300;

	p->status = head->status;
	if (head->status == 404 && p->kind == POST_MESSAGE && p->h->session && !p->sent_again &&
	    !p->resumed) {
		p->sent_again = true;
		p->x = http_exchange_close(p->x);
		upstream_http_session_lost(p->h, p);
		return;
	}
	/* Large params need not stay in memory while the server works. */
	if (good || !p->is_call)
		buf_done(&p->message);
	if (good)
		http_post_take_session(p, head);
	if (good && is_type(head, "text/event-stream"))
		p->mode = MODE_EVENTS;
	else
		p->mode = p->id ? MODE_JSON : MODE_IGNORED;
}

static bool http_post_on_event(void *ctx, struct slice data)
{
	struct http_post *p = ctx;

	p->got_event = true;
	/* The stream works, so the limit of tries counts from here again. */
	p->tries = 0;
	/* an empty one only has an id for resuming */
	if (data.n && upstream_rpc_feed(&p->h->up.rpc, p->id, data) < 0)
		log_warn("mcp", "an event that is no message is skipped", "server", p->h->name);
	if (!p->dead && p->id && !http_post_is_open(p))
		http_post_over(p); /* that was its answer */
	return !p->dead;
}

static void http_post_on_data(void *ctx, struct slice bytes)
{
	struct http_post *p = ctx;

	if (p->mode == MODE_JSON && buf_add_slice(&p->body, bytes) < 0)
		http_post_fail(p, "MESSAGE_TOO_LARGE", "its answer is too large");
	else if (p->mode == MODE_EVENTS && sse_feed(&p->sse, bytes, http_post_on_event, p) < 0)
		http_post_fail(p, "MESSAGE_TOO_LARGE", "an event is too large");
}

static bool is_mismatch(struct slice body)
{
	int64_t code = 0;

	return jdec_int(jobj_get(jobj_get(body, "error").raw, "code"), &code) == 0 &&
	       code == MCP_HEADER_MISMATCH;
}

/* An answer of HTTP that is no success; there may be an error of MCP in it. */
static void http_post_refused(struct http_post *p)
{
	struct slice body = buf_slice(&p->body);
	uint32_t id = p->id;
	struct upstream_rpc *l = &p->h->up.rpc;
	struct rpc_msg m;
	struct err e;

	if (p->is_call && !p->sent_again && is_mismatch(body)) {
		p->sent_again = true;
		buf_reset(&p->body);
		upstream_http_headers_lacked(p->h, p);
		return;
	}
	if (body.n && rpc_parse(body, &m, &e) == RPC_PARSED && m.kind == RPC_RESPONSE &&
	    m.error.n) {
		http_post_over(p);
		upstream_rpc_error(l, id, m.error);
		return;
	}
	http_post_fail(p,
		       p->status == 401 || p->status == 403 ? "HTTP_UNAUTHORIZED" : "HTTP_STATUS",
		       SHORT_TEXT(64, "it answered with HTTP status %d", p->status));
}

/* One body, one answer. Requests of the server in a batch with it are fed, too. */
static void json_over(struct http_post *p)
{
	_cleanup_(buf_done) struct buf body = p->body;

	if (p->status >= 300) {
		p->body = body;
		body = (struct buf){ 0 };
		http_post_refused(p);
		return;
	}
	p->body = (struct buf){ 0 };
	if (upstream_rpc_feed(&p->h->up.rpc, p->id, buf_slice(&body)) < 0 || http_post_is_open(p))
		http_post_fail(p, "SERVER_PROTOCOL", "what it sent is no answer to the request");
	else
		http_post_over(p);
}

static void http_post_resume(void *ctx)
{
	struct http_post *p = ctx;

	p->resumed = true;
	/* Until the new head arrives a cut is one of the connection, not of the stream. */
	p->status = 0;
	http_post_send(p);
}

/* A stream without an answer: the server may have the rest for a client that comes back, if it numbers its events. */
static void stream_ended(struct http_post *p)
{
	if (!p->id || !http_post_is_open(p)) {
		http_post_over(p);
		return;
	}
	if (!p->h->up.is_legacy || !buf_len(&p->sse.id) || ++p->tries > MCP_STREAM_TRIES_MAX) {
		http_post_fail(p, "SERVER_GONE", "it ended the answer's stream before the answer");
		return;
	}
	loop_timer_set(p->h->up.loop, &p->timer,
		       p->sse.retry_ms ? p->sse.retry_ms : MCP_STREAM_RETRY_MS, http_post_resume,
		       p);
}

/* A stream of events may be resumed. A cut JSON body may not: the server would run the request
 * twice. */
static void http_post_cut_off(struct http_post *p, const char *why)
{
	if (p->mode == MODE_EVENTS && p->status)
		stream_ended(p);
	else if (p->id)
		http_post_fail(p, "SERVER_GONE", why);
	else
		http_post_over(p);
}

static void http_post_on_end(void *ctx, enum http_exchange_end how, const char *why)
{
	struct http_post *p = ctx;
	struct mcp_remote *h = p->h;

	p->x = http_exchange_close(p->x);
	if (how == HTTP_EXCHANGE_UNREACHABLE) {
		http_post_over(p);
		upstream_http_unreachable(h, why);
	} else if (how == HTTP_EXCHANGE_CUT) {
		http_post_cut_off(p, why);
	} else if (p->mode == MODE_JSON) {
		json_over(p);
	} else if (p->mode == MODE_EVENTS) {
		stream_ended(p);
	} else {
		http_post_over(p);
	}
}

static const struct http_exchange_ops http_exchange_ops = {
	.head = http_post_on_head,
	.data = http_post_on_data,
	.end = http_post_on_end,
};

/* --- the request ------------------------------------------------------------------------------------------ */

/* Writes the headers of its era. The handshake goes before an era is agreed on. */
static void put_era(struct buf *b, const struct http_post *p)
{
	const struct mcp_remote *h = p->h;

	if (http_post_is_method(p, "initialize"))
		return;
	if (h->up.is_legacy && !http_post_is_method(p, "server/discover")) {
		http_target_put_header(b, "MCP-Protocol-Version", h->up.revision);
		if (h->session)
			http_target_put_header(b, "Mcp-Session-Id", h->session);
		return;
	}
	http_target_put_header(b, "MCP-Protocol-Version", MCP_MODERN);
	if (p->method)
		http_target_put_encoded(b, "Mcp-Method", p->method);
	if (p->subject)
		http_target_put_encoded(b, "Mcp-Name", p->subject);
	if (p->is_call)
		param_headers_put(b, &h->param_headers,
				  jobj_get(buf_slice(&p->message), "params").raw);
}

static void http_post_put(struct buf *b, struct http_post *p)
{
	/* A resumed answer is read by GET, as MCP 2025-11-25 describes it. */
	bool get = p->kind == POST_STREAM || p->resumed;

	http_target_put_head(b, &p->h->target, get ? "GET" : "POST");
	http_target_put_header(b, "Accept",
			       get ? "text/event-stream" : "application/json, text/event-stream");
	put_era(b, p);
	if (get && buf_len(&p->sse.id)) {
		buf_puts(b, "Last-Event-ID: ");
		buf_add_slice(b, buf_slice(&p->sse.id));
		buf_puts(b, "\r\n");
	}
	http_target_put_body(b, get ? SLICE_NONE : buf_slice(&p->message));
}

static struct http_exchange *open_exchange(struct mcp_remote *h, struct buf *request,
					   const struct http_exchange_ops *ops, void *ctx)
{
	const struct http_route route = { .as = &h->as,
					  .addresses = h->addresses,
					  .n = h->naddresses,
					  .fetcher = h->fetcher,
					  .secure = h->target.secure,
					  .named = !h->local_only };

	return http_exchange_open(h->up.loop, &route, request, ops, ctx);
}

void http_post_send(struct http_post *p)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	p->waits = false;
	p->mode = MODE_IGNORED;
	http_post_put(&b, p);
	p->x = open_exchange(p->h, &b, &http_exchange_ops, p);
}

/* --- DELETE ----------------------------------------------------------------------------------------------- */

/* MCP 2025-11-25, session management: a client that leaves sends DELETE. Every answer to it will
 * do. */
static void goodbye_head(void *ctx _unused_, const struct http_head *head _unused_)
{
}

static void goodbye_data(void *ctx _unused_, struct slice bytes _unused_)
{
}

static void goodbye_end(void *ctx, enum http_exchange_end how _unused_, const char *why _unused_)
{
	struct mcp_remote *h = ctx;

	h->goodbye = http_exchange_close(h->goodbye);
	upstream_http_said_goodbye(h);
}

struct http_exchange *http_post_goodbye(struct mcp_remote *h)
{
	static const struct http_exchange_ops ops = {
		.head = goodbye_head,
		.data = goodbye_data,
		.end = goodbye_end,
	};
	_cleanup_(buf_done) struct buf b = { 0 };

	http_target_put_head(&b, &h->target, "DELETE");
	http_target_put_header(&b, "MCP-Protocol-Version", h->up.revision);
	http_target_put_header(&b, "Mcp-Session-Id", h->session);
	http_target_put_body(&b, SLICE_NONE);
	return open_exchange(h, &b, &ops, h);
}
