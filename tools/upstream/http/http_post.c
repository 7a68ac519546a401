#include "tools/upstream/http/http_post.h"

#include "base/limits.h"
#include "base/log.h"
#include "json/jdec.h"
#include "json/jstr.h"
#include "rpc/rpc.h"
#include "tools/mcp/msg.h"

#include <errno.h>
#include <stdio.h>
#include <strings.h>

/* --- life ------------------------------------------------------------------------------------------------- */

/* What Mcp-Name says of a request. */
static char *subject_of(const struct link_out *out)
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
		if (out->kind == LINK_REQUEST && strcmp(out->method, rows[i].method) == 0)
			jstr_decode(jobj_get(out->params, rows[i].member), HTTP_HEADERS_MAX / 2,
				    &value);
	return value;
}

struct post *post_new(struct mcp_remote *h, const struct link_out *out)
{
	struct post *p = new0(struct post);

	p->h = h;
	p->kind = out ? POST_MESSAGE : POST_STREAM;
	p->sse.max = LINE_MAX_BYTES;
	p->body.max = LINE_MAX_BYTES;
	if (out) {
		p->id = out->kind == LINK_REQUEST ? out->id : 0;
		p->method = xstrdup(out->method);
		p->subject = subject_of(out);
		p->is_call = p->id && !h->up.is_legacy && strcmp(out->method, "tools/call") == 0;
		buf_add_slice(&p->message, out->text);
	}
	p->waits = true;
	list_add_tail(&h->posts, &p->link);
	h->nposts++;
	return p;
}

static void post_free(void *ctx)
{
	struct post *p = ctx;

	buf_done(&p->message);
	buf_done(&p->body);
	sse_reader_done(&p->sse);
	free(p->method);
	free(p->subject);
	free(p);
}

void post_close(struct post *p)
{
	if (p->dead)
		return;
	p->dead = true;
	list_del(&p->link);
	p->h->nposts--;
	p->x = exchange_close(p->x);
	loop_timer_cancel(&p->timer);
	loop_defer(p->h->up.loop, &p->task, post_free, p);
}

static void post_over(struct post *p)
{
	if (p->dead)
		return;
	post_close(p);
	http_post_over(p);
}

/* The request of this post ends with an error of ours. */
static void fail(struct post *p, const char *reason, const char *how)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	uint32_t id = p->id;
	struct err e;

	err_set(&e, -EIO, RPC_INTERNAL_ERROR, reason, "the MCP server \"%s\": %s", p->h->name, how);
	mcp_put_error(&b, &e, SLICE_NONE);
	post_over(p);
	link_error(&p->h->up.link, id, buf_slice(&b));
}

static bool is_open(const struct post *p)
{
	return link_find(&p->h->up.link, p->id);
}

/* --- the answer ------------------------------------------------------------------------------------------- */

static bool is_type(const struct exchange_head *head, const char *type)
{
	struct slice v;
	size_t n = strlen(type);

	return exchange_header(head, "content-type", &v) && v.n >= n &&
	       strncasecmp(v.p, type, n) == 0 && (v.n == n || strchr("; \t", v.p[n]));
}

static void take_session(struct post *p, const struct exchange_head *head)
{
	struct slice v;

	if (!p->method || strcmp(p->method, "initialize") != 0 ||
	    !exchange_header(head, "mcp-session-id", &v) || !v.n || v.n > MCP_SESSION_ID_MAX)
		return;
	for (size_t i = 0; i < v.n; i++)
		if (v.p[i] < 0x21 || v.p[i] > 0x7e)
			return;
	free(p->h->session);
	p->h->session = xstrndup(v.p, v.n);
}

static void on_head(void *ctx, const struct exchange_head *head)
{
	struct post *p = ctx;
	bool good = head->status >= 200 && head->status < 300;

	p->status = head->status;
	if (head->status == 404 && p->kind == POST_MESSAGE && p->h->session && !p->sent_again &&
	    !p->resumed) {
		p->sent_again = true;
		p->x = exchange_close(p->x);
		http_session_lost(p->h, p);
		return;
	}
	if (good || !p->is_call)
		buf_done(&p->message);
	if (good)
		take_session(p, head);
	if (good && is_type(head, "text/event-stream"))
		p->mode = MODE_EVENTS;
	else
		p->mode = p->id ? MODE_JSON : MODE_IGNORED;
}

static bool on_event(void *ctx, struct slice data)
{
	struct post *p = ctx;

	p->got_event = true;
	p->tries = 0;
	/* an empty one only tells an id to come back with */
	if (data.n && link_feed(&p->h->up.link, p->id, data) < 0)
		log_warn("mcp", "an event that is no message is skipped", "server", p->h->name);
	if (!p->dead && p->id && !is_open(p))
		post_over(p); /* that was its answer */
	return !p->dead;
}

static void on_data(void *ctx, struct slice bytes)
{
	struct post *p = ctx;

	if (p->mode == MODE_JSON && buf_add_slice(&p->body, bytes) < 0)
		fail(p, "MESSAGE_TOO_LARGE", "its answer is too large");
	else if (p->mode == MODE_EVENTS && sse_feed(&p->sse, bytes, on_event, p) < 0)
		fail(p, "MESSAGE_TOO_LARGE", "an event is too large");
}

static bool is_mismatch(struct slice body)
{
	int64_t code = 0;

	return jdec_int(jobj_get(jobj_get(body, "error").raw, "code"), &code) == 0 &&
	       code == MCP_HEADER_MISMATCH;
}

/* An answer of HTTP that is no success; there may be an error of MCP in it. */
static void refused(struct post *p)
{
	struct slice body = buf_slice(&p->body);
	uint32_t id = p->id;
	struct link *l = &p->h->up.link;
	struct rpc_msg m;
	struct err e;
	char how[64];

	if (p->is_call && !p->sent_again && is_mismatch(body)) {
		p->sent_again = true;
		buf_reset(&p->body);
		http_headers_lacked(p->h, p);
		return;
	}
	if (body.n && rpc_parse(body, &m, &e) == RPC_PARSED && m.kind == RPC_RESPONSE &&
	    m.error.n) {
		post_over(p);
		link_error(l, id, m.error);
		return;
	}
	snprintf(how, sizeof(how), "it answered with HTTP status %d", p->status);
	fail(p, p->status == 401 || p->status == 403 ? "HTTP_UNAUTHORIZED" : "HTTP_STATUS", how);
}

static void json_over(struct post *p)
{
	_cleanup_(buf_done) struct buf body = p->body;

	if (p->status >= 300) {
		p->body = body;
		body = (struct buf){ 0 };
		refused(p);
		return;
	}
	p->body = (struct buf){ 0 };
	if (link_feed(&p->h->up.link, p->id, buf_slice(&body)) < 0 || is_open(p))
		fail(p, "SERVER_PROTOCOL", "what it sent is no answer to the request");
	else
		post_over(p);
}

static void resume(void *ctx)
{
	struct post *p = ctx;

	p->resumed = true;
	p->status = 0;
	post_send(p);
}

/* A stream without an answer: the server may have the rest for whoever comes back, if it numbers its events. */
static void stream_ended(struct post *p)
{
	if (!p->id || !is_open(p)) {
		post_over(p);
		return;
	}
	if (!p->h->up.is_legacy || !buf_len(&p->sse.id) || ++p->tries > MCP_STREAM_TRIES_MAX) {
		fail(p, "SERVER_GONE", "it ended the answer's stream before the answer");
		return;
	}
	loop_timer_set(p->h->up.loop, &p->timer,
		       p->sse.retry_ms ? p->sse.retry_ms : MCP_STREAM_RETRY_MS, resume, p);
}

static void cut_off(struct post *p, const char *why)
{
	if (p->mode == MODE_EVENTS && p->status)
		stream_ended(p);
	else if (p->id)
		fail(p, "SERVER_GONE", why);
	else
		post_over(p);
}

static void on_end(void *ctx, enum exchange_end how, const char *why)
{
	struct post *p = ctx;
	struct mcp_remote *h = p->h;

	p->x = exchange_close(p->x);
	if (how == EXCHANGE_UNREACHABLE) {
		post_over(p);
		http_unreachable(h, why);
	} else if (how == EXCHANGE_CUT) {
		cut_off(p, why);
	} else if (p->mode == MODE_JSON) {
		json_over(p);
	} else if (p->mode == MODE_EVENTS) {
		stream_ended(p);
	} else {
		post_over(p);
	}
}

static const struct exchange_ops exchange_ops = {
	.head = on_head,
	.data = on_data,
	.end = on_end,
};

/* --- the request ------------------------------------------------------------------------------------------ */

static bool is_method(const struct post *p, const char *method)
{
	return p->method && strcmp(p->method, method) == 0;
}

/* In which era's words it is: the handshake goes before any is agreed on. */
static void put_era(struct buf *b, const struct post *p)
{
	const struct mcp_remote *h = p->h;

	if (is_method(p, "initialize"))
		return;
	if (h->up.is_legacy && !is_method(p, "server/discover")) {
		target_put_header(b, "MCP-Protocol-Version", h->up.revision);
		if (h->session)
			target_put_header(b, "Mcp-Session-Id", h->session);
		return;
	}
	target_put_header(b, "MCP-Protocol-Version", MCP_MODERN);
	if (p->method)
		target_put_encoded(b, "Mcp-Method", p->method);
	if (p->subject)
		target_put_encoded(b, "Mcp-Name", p->subject);
	if (p->is_call)
		mirror_put(b, &h->mirror, jobj_get(buf_slice(&p->message), "params").raw);
}

static void put_request(struct buf *b, struct post *p)
{
	bool get = p->kind == POST_STREAM || p->resumed;

	target_put_head(b, &p->h->target, get ? "GET" : "POST");
	target_put_header(b, "Accept",
			  get ? "text/event-stream" : "application/json, text/event-stream");
	put_era(b, p);
	if (get && buf_len(&p->sse.id)) {
		buf_puts(b, "Last-Event-ID: ");
		buf_add_slice(b, buf_slice(&p->sse.id));
		buf_puts(b, "\r\n");
	}
	target_put_body(b, get ? SLICE_NONE : buf_slice(&p->message));
}

void post_send(struct post *p)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	p->waits = false;
	p->mode = MODE_IGNORED;
	put_request(&b, p);
	p->x = remote_exchange_open(p->h->up.loop, &p->h->as, p->h->addresses, p->h->naddresses, &b,
				    &exchange_ops, p);
}

/* --- DELETE ----------------------------------------------------------------------------------------------- */

static void goodbye_head(void *ctx _unused_, const struct exchange_head *head _unused_)
{
}

static void goodbye_data(void *ctx _unused_, struct slice bytes _unused_)
{
}

static void goodbye_end(void *ctx, enum exchange_end how _unused_, const char *why _unused_)
{
	struct mcp_remote *h = ctx;

	h->goodbye = exchange_close(h->goodbye);
	http_said_goodbye(h);
}

struct exchange *post_goodbye(struct mcp_remote *h)
{
	static const struct exchange_ops ops = {
		.head = goodbye_head,
		.data = goodbye_data,
		.end = goodbye_end,
	};
	_cleanup_(buf_done) struct buf b = { 0 };

	target_put_head(&b, &h->target, "DELETE");
	target_put_header(&b, "MCP-Protocol-Version", h->up.revision);
	target_put_header(&b, "Mcp-Session-Id", h->session);
	target_put_body(&b, SLICE_NONE);
	return remote_exchange_open(h->up.loop, &h->as, h->addresses, h->naddresses, &b, &ops, h);
}
