/*
 * http_serve.c - plain HTTP on the port of the WebSocket: takes a request from lws, admits it, routes it, sends the reply.
 *
 * The headers are copied to the stack, so no route may keep them. A short reply goes out with its head in one write. A longer
 * one goes out a piece for each WRITEABLE callback, because lws stores without bound what the socket refuses; it is chunked
 * where its length is unknown. A connection with an unread body ends with its answer: the body could look like a request.
 */
#include "net/ws.h"

#include "base/limits.h"
#include "base/util.h"
#include "http/request_parts.h"

#include <sys/socket.h>

#define HEAD_BYTES 5120 /* the longest Origin and list of headers that are echoed, and our own */
#define BODY_PIECE (CONN_BATCH_BYTES - 32) /* leaves room for the frame of a chunk */
#define SHORT_BODY (CONN_BATCH_BYTES - HEAD_BYTES)

int http_put_header(struct lws *wsi, const char *name, struct slice value, unsigned char **p,
		    unsigned char *end)
{
	return lws_add_http_header_by_name(wsi, (const unsigned char *)name,
					   (const unsigned char *)value.p, (int)value.n, p, end) ?
		       -1 :
		       0;
}

/* The beginning of every reply. If the length is unknown, lws sends "Connection: close" and closes; chunked coding
 * needs neither. */
static int http_put_status(struct lws *wsi, const struct http_reply *r, bool chunked,
			   unsigned char **p, unsigned char *end)
{
	if (r->status == 204 || r->status == 304) /* have no length (RFC 9110 8.6) */
		return lws_add_http_header_status(wsi, (unsigned)r->status, p, end);
	if (!r->content_type)
		return lws_add_http_header_status(wsi, (unsigned)r->status, p, end) ||
		       lws_add_http_header_content_length(wsi, 0, p, end);
	if (!chunked)
		return lws_add_http_common_headers(wsi, (unsigned)r->status, r->content_type,
						   !r->stream ? buf_len(&r->body) :
						   r->sized   ? r->length :
								LWS_ILLEGAL_HTTP_CONTENT_LEN,
						   p, end);
	return lws_add_http_header_status(wsi, (unsigned)r->status, p, end) ||
	       http_put_header(wsi, "content-type:", slice_of(r->content_type), p, end) ||
	       http_put_header(wsi, "transfer-encoding:", SLICE("chunked"), p, end);
}

static bool closes(struct lws *wsi)
{
	const struct peer *p = lws_wsi_user(wsi);

	return p && p->no_keepalive;
}

/* Writes the head at p (after LWS_PRE). -1: it does not fit. */
static int http_put_head(struct lws *wsi, const struct http_reply *r, bool chunked,
			 unsigned char **p, unsigned char *end)
{
	if (http_put_status(wsi, r, chunked, p, end))
		return -1;
	if (cors_put(wsi, r->status == 204, p, end) < 0)
		return -1;
	for (unsigned i = 0; i < r->nheaders; i++)
		if (http_put_header(wsi, r->headers[i].name, slice_of(r->headers[i].value), p, end))
			return -1;
	for (const struct http_header *h = r->always; h && h->name; h++)
		if (http_put_header(wsi, h->name, slice_of(h->value), p, end))
			return -1;
	if (closes(wsi) && (!r->stream || r->sized || chunked) &&
	    http_put_header(wsi, "connection:", SLICE("close"), p, end))
		return -1;
	return lws_finalize_http_header(wsi, p, end) ? -1 : 0;
}

static int http_write_head(struct lws *wsi, const struct http_reply *r, bool chunked)
{
	unsigned char head[LWS_PRE + HEAD_BYTES], *start = head + LWS_PRE, *p = start;

	if (http_put_head(wsi, r, chunked, &p, head + sizeof(head) - 1) < 0)
		return -1;
	return lws_write(wsi, start, (size_t)(p - start), LWS_WRITE_HTTP_HEADERS) < 0 ? -1 : 0;
}

/* Head and body in one write: the connection may be closed right after it. It is closed if the client is gone, because
 * lws would wait for ever, and spin, for a socket that it knows to be dead. */
int http_refuse_err(struct lws *wsi, int status, const struct err *e, const char *extra_header,
		    const char *extra_value)
{
	unsigned char out[LWS_PRE + HEAD_BYTES], *start = out + LWS_PRE, *at = start;
	bool head_only = lws_hdr_total_length(wsi, WSI_TOKEN_HEAD_URI);
	struct peer *p = lws_wsi_user(wsi);
	struct http_reply r = { 0 };

	visitor_refused(lws_context_user(lws_get_context(wsi)), wsi, status, e->reason);
	http_reply_err(&r, status, e);
	if (extra_header)
		http_reply_header(&r, extra_header, extra_value);
	if (http_put_head(wsi, &r, false, &at, out + sizeof(out) - 1) == 0) {
		size_t room = (size_t)(out + sizeof(out) - at),
		       n = head_only ? 0 : buf_len(&r.body);

		if (n <= room) {
			memcpy(at, r.body.data, n);
			if (lws_write(wsi, start, (size_t)(at - start) + n,
				      LWS_WRITE_HTTP_HEADERS) < 0 &&
			    p)
				p->no_keepalive = true;
		}
	}
	buf_done(&r.body);
	return 1;
}

int http_refuse_with(struct lws *wsi, int status, const char *reason, const char *message,
		     const char *header, const char *value)
{
	struct err e;

	err_set(&e, -EACCES, 0, reason, "%s", message);
	return http_refuse_err(wsi, status, &e, header, value);
}

int http_refuse(struct lws *wsi, int status, const char *reason, const char *message)
{
	return http_refuse_with(wsi, status, reason, message, NULL, NULL);
}

static const char *method_name(struct lws *wsi, char **uri, int *len)
{
	static const char *const names[] = { "GET",   "POST",	"OPTIONS", "PUT",
					     "PATCH", "DELETE", "CONNECT", "HEAD" };
	int m = lws_http_get_uri_and_method(wsi, uri, len);

	return m >= 0 && (size_t)m < ARRAY_SIZE(names) ? names[m] : "?";
}

/* A body we did not read would be taken for the next request: such a connection ends with its answer. */
static int transaction_over(struct peer *p, struct lws *wsi)
{
	if (p->unread)
		return body_linger(p);
	return p->no_keepalive || lws_http_transaction_completed(wsi) ? -1 : 0;
}

/* --- the request ------------------------------------------------------------------------------------- */

/* The text of a request's query and headers, as lws decoded it. */
struct request_text {
	char path[HTTP_PATH_MAX], accept[512], last_id[64], type[128], content_range[80], range[80];
	char encodings[256], etag[128];
	char mcp_version[64], mcp_method[METHOD_NAME_MAX + 1], mcp_name[HTTP_NAME_MAX],
		mcp_session[64], access_token[1024];
	char traceparent[64], tracestate[TRACESTATE_MAX + 1];
	char query[HTTP_HEADERS_MAX + QUERY_ITEMS_MAX];
	struct slice items[QUERY_ITEMS_MAX];
};

/* More items than fit are ignored: no route knows so many names, and no name may come twice. */
static size_t take_query(struct net_server *n, struct lws *wsi, struct request_text *t)
{
	size_t count = 0, used = 0;
	int len;

	for (int i = 0; count < QUERY_ITEMS_MAX; i++) {
		len = lws_hdr_copy_fragment(wsi, t->query + used, (int)(sizeof(t->query) - used),
					    WSI_TOKEN_HTTP_URI_ARGS, i);
		if (len < 0)
			break;
		t->items[count] = (struct slice){ t->query + used, (size_t)len };
		used += (size_t)len + 1;
		if (!admission_query_token(n->admission) ||
		    !slice_starts(t->items[count], "token="))
			count++;
	}
	return count;
}

static struct slice known_header(struct lws *wsi, enum lws_token_indexes token, char *buf,
				 size_t size)
{
	struct slice v = header_get(wsi, token, buf, size);

	/* one too long for us is not the same as none */
	return v.n || !lws_hdr_total_length(wsi, token) ? v : SLICE("?");
}

/* The value of a header, in the member of the text that is for it. */
#define HEADER(token, member) header_get(wsi, token, t->member, sizeof(t->member))
#define KNOWN_HEADER(token, member) known_header(wsi, token, t->member, sizeof(t->member))
#define CUSTOM_HEADER(name, member) header_get_custom(wsi, name, t->member, sizeof(t->member))

static struct http_request http_take_request(struct net_server *n, struct lws *wsi,
					     struct request_text *t)
{
	struct http_request rq = { .path = t->path, .query = t->items };
	char *uri = NULL;
	int len = 0;

	rq.method = method_name(wsi, &uri, &len);
	if (uri && (size_t)len < sizeof(t->path)) /* we have no longer routes */
		snprintf(t->path, sizeof(t->path), "%.*s", len, uri);
	rq.nquery = take_query(n, wsi, t);
	rq.accept = HEADER(WSI_TOKEN_HTTP_ACCEPT, accept);
	rq.content_type = KNOWN_HEADER(WSI_TOKEN_HTTP_CONTENT_TYPE, type);
	rq.content_range = KNOWN_HEADER(WSI_TOKEN_HTTP_CONTENT_RANGE, content_range);
	rq.range = KNOWN_HEADER(WSI_TOKEN_HTTP_RANGE, range);
	rq.accept_encoding = HEADER(WSI_TOKEN_HTTP_ACCEPT_ENCODING, encodings);
	rq.if_none_match = HEADER(WSI_TOKEN_HTTP_IF_NONE_MATCH, etag);
	rq.body = body_framing(wsi, &rq.length);
	rq.last_event_id = CUSTOM_HEADER("last-event-id:", last_id);
	rq.access_token = CUSTOM_HEADER("x-access-token:", access_token);
	rq.mcp_version = CUSTOM_HEADER("mcp-protocol-version:", mcp_version);
	rq.mcp_method = CUSTOM_HEADER("mcp-method:", mcp_method);
	rq.mcp_name = CUSTOM_HEADER("mcp-name:", mcp_name);
	rq.mcp_session = CUSTOM_HEADER("mcp-session-id:", mcp_session);
	rq.traceparent = CUSTOM_HEADER("traceparent:", traceparent);
	rq.tracestate = CUSTOM_HEADER("tracestate:", tracestate);
	return rq;
}

/* --- the reply ----------------------------------------------------------------------------------------- */

void http_ask_writeable(void *ctx)
{
	struct peer *p = ctx;

	if (p->asked)
		return;
	p->asked = true;
	socket_ask_writeable(p->wsi);
}

/* Perhaps while an earlier part is still being sent. */
static void on_http_wake(void *ctx)
{
	struct peer *p = ctx;

	p->woken = true;
	http_ask_writeable(p);
}

/* An unauthenticated connection, which asked for what is open, stays one: others push it out, and it has so long. */
static void http_begin_stream(struct peer *p, struct http_stream *stream)
{
	p->stream = stream;
	p->stream->wake = on_http_wake;
	p->stream->ctx = p;
	p->busy = visitor_of(p->wsi)->state != VISITOR_UNAUTHENTICATED;
	if (p->busy)
		visitor_busy(p->net, p->wsi, true);
	socket_set_timeout(p->wsi, p->busy ? NO_PENDING_TIMEOUT : PENDING_TIMEOUT_USER_OK,
			   p->busy ? 0 : HTTP_OPEN_SECS);
}

static void end_reply(struct peer *p)
{
	if (!p->stream)
		return;
	p->stream = http_stream_free(p->stream);
	if (p->busy)
		visitor_busy(p->net, p->wsi, false);
}

void http_closed(struct peer *p)
{
	body_end(p);
	end_reply(p);
	buf_done(&p->reply);
	p->body = BODY_NONE;
}

static void take_reply(struct peer *p, struct http_reply *r)
{
	p->asked = false;
	buf_done(&p->reply);
	p->reply = r->body;
	p->body = r->stream ? BODY_MORE : BODY_LAST;
	if (r->stream)
		http_begin_stream(p, r->stream);
}

/* Head and body in one write, and the answer is over. */
static int send_short(struct peer *p, struct http_reply *r, bool head_only)
{
	unsigned char *start = p->net->batch + LWS_PRE, *at = start;
	size_t n = head_only ? 0 : buf_len(&r->body);
	int written = -1;

	if (http_put_head(p->wsi, r, false, &at, start + HEAD_BYTES) == 0) {
		if (n)
			memcpy(at, r->body.data + r->body.pos, n);
		written =
			lws_write(p->wsi, start, (size_t)(at - start) + n, LWS_WRITE_HTTP_HEADERS);
	}
	buf_done(&r->body);
	return written < 0 ? -1 : transaction_over(p, p->wsi);
}

static bool speaks_chunks(struct lws *wsi)
{
	char version[16];

	return slice_is(header_get(wsi, WSI_TOKEN_HTTP, version, sizeof(version)), "HTTP/1.1");
}

/* Sends as much as one write takes at once, which mostly is all: lws 4.3 ends a connection with more input between a
 * request and the end of its answer, where 4.1 keeps that input for later. */
int http_send(struct peer *p, struct http_reply *r, bool head_only)
{
	if (!r->stream && (head_only || buf_len(&r->body) <= SHORT_BODY))
		return send_short(p, r, head_only);
	p->chunked = r->stream && !r->sized && speaks_chunks(p->wsi);
	p->no_keepalive |= r->stream && !r->sized && !p->chunked;
	if (http_write_head(p->wsi, r, p->chunked) < 0 || head_only) {
		buf_done(&r->body);
		http_stream_free(r->stream);
		return head_only ? transaction_over(p, p->wsi) : -1;
	}
	take_reply(p, r);
	body_watch_input(p); /* before: once the answer is out, lws may have freed p */
	return http_writeable(p);
}

/* lws waits for a body after these even if none is announced. */
static bool may_bring_body(const struct http_request *rq)
{
	static const char *const methods[] = { "PUT", "POST", "PATCH" };

	if (rq->body != FRAMING_NONE)
		return rq->body != FRAMING_LENGTH || rq->length > 0;
	for (size_t i = 0; i < ARRAY_SIZE(methods); i++)
		if (strcmp(rq->method, methods[i]) == 0)
			return true;
	return false;
}

/* True if lws found this request among bytes that it had stored after an earlier one. It would then pass on the stored
 * bytes from their beginning as the body, without end. No function reports this for one connection; that another
 * connection has such bytes at the same moment is rare, and harmless. */
static bool is_pipelined(struct lws *wsi)
{
	struct visitor *v = visitor_of(wsi);
	bool first = !v->asked;

	v->asked = true;
	return !first && socket_wait_has_stored(lws_get_context(wsi));
}

static bool http_is_over_limit(const struct net_server *n, const struct peer *p,
			       const struct http_reply *r)
{
	return (r->stream || r->sink) && visitor_crowds(n, p->wsi);
}

static void http_note_outcome(struct net_server *n, const struct peer *p,
			      const struct http_reply *r)
{
	if (r->denied)
		visitor_refused(n, p->wsi, r->status, "SCOPE_REQUIRED");
	else if (visitor_grant(p->wsi))
		visitor_accepted(n, p->wsi, DOOR_HTTP);
}

static int refuse_reply(struct peer *p, struct http_reply *r, int status, const char *reason,
			const char *message)
{
	buf_done(&r->body);
	http_stream_free(r->stream);
	http_sink_free(r->sink);
	http_refuse_with(p->wsi, status, reason, message, status == 429 ? "Retry-After:" : NULL,
			 "1");
	return transaction_over(p, p->wsi);
}

static int serve_route(struct net_server *n, struct peer *p, const struct http_request *rq)
{
	struct http_reply r;

	n->http->connections = acp_server_count(n->acp);
	http_respond(n->http, rq, &r);
	if (http_is_over_limit(n, p, &r))
		return refuse_reply(p, &r, 503, "TOO_MANY_CONNECTIONS",
				    "the limit of connections is reached");
	if (!visitor_afford(n, p->wsi, buf_len(&r.body), &p->no_keepalive))
		return refuse_reply(p, &r, 429, "TOO_MANY_REQUESTS",
				    "too much was sent to clients without a token; try again");
	http_note_outcome(n, p, &r);
	if (r.sink)
		return body_begin(p, rq, r.sink);
	return http_send(p, &r, strcmp(rq->method, "HEAD") == 0);
}

int http_serve(struct net_server *n, struct peer *p, struct lws *wsi)
{
	struct request_text text = { .path = "" };
	struct http_request rq = http_take_request(n, wsi, &text);
	bool preflight;

	/* a request after one whose answer is not over, or a part of an unread body that resembles one */
	if (p->stream || p->sink || p->unread)
		return -1;
	p->net = n;
	p->wsi = wsi;
	p->no_keepalive = p->unread = may_bring_body(&rq);
	if (is_pipelined(wsi) && p->unread) {
		http_refuse(wsi, 503, "PIPELINING_UNSUPPORTED",
			    "a request with a body has to wait for the answer to the one before");
		return -1;
	}
	preflight = cors_is_preflight(wsi, rq.method);
	if (access_check(n, wsi, preflight || http_route_open(n->http, rq.method, rq.path)))
		return transaction_over(p, wsi);
	rq.grant = visitor_grant(wsi);
	if (preflight)
		return http_send(p, &(struct http_reply){ .status = 204 }, true);
	if (rq.body == FRAMING_INVALID) {
		http_refuse(wsi, 400, "BODY_LENGTH_INVALID",
			    "the body needs one Content-Length or chunked coding");
		return transaction_over(p, wsi);
	}
	if (strcmp(rq.path, "/acp") == 0) {
		http_refuse_with(wsi, 426, "UPGRADE_REQUIRED", "this is a WebSocket endpoint",
				 "Upgrade:", "websocket");
		return transaction_over(p, wsi);
	}
	return serve_route(n, p, &rq);
}

/* Writes one piece of the body, framed; 1 if it was the last. lws writes before the pointer that it gets and keeps what
 * the socket refuses, so the piece is copied. */
static int http_write_piece(struct peer *p)
{
	unsigned char *out = p->net->batch + LWS_PRE;
	size_t n = MIN(buf_len(&p->reply), BODY_PIECE), used = 0;
	bool last = p->body == BODY_LAST && n == buf_len(&p->reply);

	if (p->chunked && n)
		used = (size_t)sprintf((char *)out, "%zx\r\n", n);
	if (n)
		memcpy(out + used, p->reply.data + p->reply.pos, n);
	used += n;
	buf_consume(&p->reply, n);
	if (p->chunked && n)
		used += (size_t)sprintf((char *)out + used, "\r\n");
	if (p->chunked && last)
		used += (size_t)sprintf((char *)out + used, "0\r\n\r\n");
	if (used &&
	    lws_write(p->wsi, out, used, last ? LWS_WRITE_HTTP_FINAL : LWS_WRITE_HTTP) < (int)used)
		return -1;
	return last;
}

static int fill_reply(struct peer *p)
{
	static const enum http_body after[] = {
		[HTTP_FILL_MORE] = BODY_MORE, [HTTP_FILL_WAIT] = BODY_WAIT, [HTTP_FILL_END] = BODY_LAST
	};
	enum http_fill r;

	buf_reset(&p->reply);
	p->woken = false;
	r = p->stream->ops->fill(p->stream, &p->reply, BODY_PIECE);
	if (r == HTTP_FILL_ERROR)
		return -1;
	p->body = after[r];
	return 0;
}

/* Called when the socket takes more, and only then does the stream make more. */
int http_writeable(struct peer *p)
{
	int r = 0;

	p->asked = false;
	if (p->answer_due)
		return body_answer(p);
	if (p->body == BODY_NONE)
		return 0;
	if (p->stream && p->body != BODY_LAST && !buf_len(&p->reply))
		r = fill_reply(p);
	if (r == 0)
		r = http_write_piece(p);
	if (r < 0)
		return -1;
	if (r > 0) {
		http_closed(p);
		return transaction_over(p, p->wsi);
	}
	if (buf_len(&p->reply) || p->body == BODY_MORE || p->woken)
		http_ask_writeable(p);
	else
		buf_trim(&p->reply, 0);
	return 0;
}
