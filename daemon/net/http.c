/* http.c - plain HTTP on the same port: gate, route, reply. */
#include "net/ws.h"

#include "base/limits.h"
#include "base/util.h"

#include <stdio.h>

#define HEAD_BYTES 2048

/* Lays the head out at p (behind LWS_PRE). -1: it does not fit. */
static int put_head(struct lws *wsi, const struct http_reply *r, const char *extra_header,
		    const char *extra_value, unsigned char **p, unsigned char *end)
{
	if (lws_add_http_common_headers(wsi, (unsigned)r->status, r->content_type,
					buf_len(&r->body), p, end))
		return -1;
	if (extra_header && lws_add_http_header_by_name(wsi, (const unsigned char *)extra_header,
							(const unsigned char *)extra_value,
							(int)strlen(extra_value), p, end))
		return -1;
	return lws_finalize_http_header(wsi, p, end) ? -1 : 0;
}

static int write_head(struct lws *wsi, const struct http_reply *r, const char *extra_header,
		      const char *extra_value)
{
	unsigned char head[LWS_PRE + HEAD_BYTES], *start = head + LWS_PRE, *p = start;

	if (put_head(wsi, r, extra_header, extra_value, &p, head + sizeof(head) - 1) < 0)
		return -1;
	return lws_write(wsi, start, (size_t)(p - start), LWS_WRITE_HTTP_HEADERS) < 0 ? -1 : 0;
}

/* Head and body in one write: the connection may be closed right behind it. */
int http_refuse(struct lws *wsi, int status, const char *reason, const char *message,
		const char *extra_header, const char *extra_value)
{
	unsigned char out[LWS_PRE + HEAD_BYTES], *start = out + LWS_PRE, *p = start;
	bool head_only = lws_hdr_total_length(wsi, WSI_TOKEN_HEAD_URI);
	struct http_reply r = { 0 };

	http_reply_error(&r, status, reason, message);
	if (put_head(wsi, &r, extra_header, extra_value, &p, out + sizeof(out) - 1) == 0) {
		size_t room = (size_t)(out + sizeof(out) - p), n = head_only ? 0 : buf_len(&r.body);

		if (n <= room) {
			memcpy(p, r.body.data, n);
			if (lws_write(wsi, start, (size_t)(p - start) + n, LWS_WRITE_HTTP_HEADERS) <
			    0)
				n = 0; /* the caller ends the connection either way */
		}
	}
	buf_done(&r.body);
	return 1;
}

static const char *method_name(struct lws *wsi, char **uri, int *len)
{
	static const char *const names[] = { "GET",   "POST",	"OPTIONS", "PUT",
					     "PATCH", "DELETE", "CONNECT", "HEAD" };
	int m = lws_http_get_uri_and_method(wsi, uri, len);

	return m >= 0 && (size_t)m < ARRAY_SIZE(names) ? names[m] : "?";
}

/* A body we never asked for would be read as the next request: such a connection ends with its answer. */
static bool has_body(struct lws *wsi)
{
	char length[24];
	struct slice n = header_get(wsi, WSI_TOKEN_HTTP_CONTENT_LENGTH, length, sizeof(length));

	return (n.n && !slice_is(n, "0")) ||
	       lws_hdr_total_length(wsi, WSI_TOKEN_HTTP_TRANSFER_ENCODING);
}

static int transaction_over(struct peer *p, struct lws *wsi)
{
	return p->no_keepalive || lws_http_transaction_completed(wsi) ? -1 : 0;
}

int http_serve(struct net_server *n, struct peer *p, struct lws *wsi)
{
	char path[256] = "", *uri = NULL;
	struct http_reply r;
	const char *method;
	int len = 0;

	p->no_keepalive = has_body(wsi);
	method = method_name(wsi, &uri, &len);
	if (uri)
		snprintf(path, sizeof(path), "%.*s", len, uri);
	if (access_check(n, wsi, http_route_open(method, path)))
		return transaction_over(p, wsi);
	if (strcmp(path, "/acp") == 0) {
		http_refuse(wsi, 426, "UPGRADE_REQUIRED", "this is a WebSocket endpoint",
			    "Upgrade:", "websocket");
		return transaction_over(p, wsi);
	}
	n->http->connections = acp_server_count(n->acp);
	http_respond(n->http, method, path, &r);
	if (write_head(wsi, &r, r.allow ? "Allow:" : NULL, r.allow) < 0) {
		buf_done(&r.body);
		return -1;
	}
	if (strcmp(method, "HEAD") == 0) {
		buf_done(&r.body);
		return transaction_over(p, wsi);
	}
	p->wsi = wsi;
	buf_done(&p->reply);
	p->reply = r.body;
	lws_callback_on_writable(wsi);
	return 0;
}

/* lws scribbles before the pointer it is given, so each piece is copied out. */
int http_write_body(struct peer *p)
{
	unsigned char chunk[LWS_PRE + 4096];
	size_t n = MIN(buf_len(&p->reply), sizeof(chunk) - LWS_PRE);
	bool last = n == buf_len(&p->reply);

	memcpy(chunk + LWS_PRE, p->reply.data + p->reply.pos, n);
	buf_consume(&p->reply, n);
	if (lws_write(p->wsi, chunk + LWS_PRE, n, last ? LWS_WRITE_HTTP_FINAL : LWS_WRITE_HTTP) <
	    (int)n)
		return -1;
	if (!last) {
		lws_callback_on_writable(p->wsi);
		return 0;
	}
	buf_done(&p->reply);
	return transaction_over(p, p->wsi);
}
