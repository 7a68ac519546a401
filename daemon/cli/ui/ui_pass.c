/*
 * ui_pass.c - the header fields that acpd ui forwards in each direction, as lists of allowed names. Pure.
 *
 * Other fields are dropped: no cookie, no Origin and no address of the page reaches the daemon, and an answer neither
 * sets anything in the browser nor lets another page read it. A field of the target (--header, token) replaces the
 * browser's field of the same name. Connection is written here, because each request has a connection of its own,
 * which ends with the answer; bodies pass unchanged. INERT keeps a browser that navigates to an answer from running
 * anything in it.
 */
#include "cli/ui/ui.h"

#define UI_NAME_SIZE 32 /* of the longest name below */

static const char of_request[] =
	"Accept Accept-Encoding Accept-Language Authorization Cache-Control Content-Range Content-Type "
	"If-Match If-None-Match If-Range Last-Event-ID Mcp-Session-Id Range User-Agent Content-Encoding "
	"Content-Length Transfer-Encoding";
static const char of_upgrade[] =
	"Authorization User-Agent Sec-WebSocket-Key Sec-WebSocket-Version Sec-WebSocket-Protocol "
	"Sec-WebSocket-Extensions";
static const char of_answer[] =
	"Accept-Ranges Acpd-First Acpd-Incarnation Acpd-Last Allow Cache-Control Content-Disposition "
	"Content-Encoding Content-Length Content-Range Content-Type Date ETag Last-Modified "
	"Mcp-Session-Id Retry-After Transfer-Encoding Upload-Offset Vary";
static const char of_tunnel[] =
	"Sec-WebSocket-Accept Sec-WebSocket-Protocol Sec-WebSocket-Extensions Acp-Connection-Id";

/* What our own lines say is not said again. */
static void pass_fields(struct slice lines, const char *names, struct slice ours, struct buf *ret)
{
	struct slice all = slice_of(names), word, value, own;
	char name[UI_NAME_SIZE];

	while (slice_item(&all, ' ', &word)) {
		snprintf(name, sizeof(name), "%.*s", (int)word.n, word.p);
		if (http_field_find(lines, name, &value) && !http_field_find(ours, name, &own))
			buf_printf(ret, "%s: %.*s\r\n", name, (int)value.n, value.p);
	}
}

bool ui_pass_is_upgrade(const struct http_request_head *h)
{
	struct slice to;

	return slice_is(h->method, "GET") && http_field_find(h->fields, "upgrade", &to) &&
	       http_word_is(to, "websocket");
}

static const char *connection_lines(bool upgrade)
{
	return upgrade ? "Connection: Upgrade\r\nUpgrade: websocket\r\n" : "Connection: close\r\n";
}

void ui_pass_request(const struct http_request_head *h, struct slice path,
		     const struct ui_target *t, struct buf *ret)
{
	bool upgrade = ui_pass_is_upgrade(h);

	buf_printf(ret, "%.*s %s%.*s HTTP/1.1\r\nHost: %s\r\n", (int)h->method.n, h->method.p,
		   t->base, (int)path.n, path.p, t->authority);
	buf_puts(ret, connection_lines(upgrade));
	buf_add_slice(ret, buf_slice(&t->fields));
	pass_fields(h->fields, upgrade ? of_upgrade : of_request, buf_slice(&t->fields), ret);
	buf_puts(ret, "\r\n");
}

/* Whatever an answer holds, a browser that is led to it does nothing with it. */
#define INERT                                                                                      \
	"Content-Security-Policy: default-src 'none'; frame-ancestors 'none'; sandbox\r\n"         \
	"X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"                      \
	"Cross-Origin-Resource-Policy: same-origin\r\n"

void ui_pass_answer(const struct http_head *h, bool tunnel, struct buf *ret)
{
	buf_printf(ret, "HTTP/1.1 %d \r\n", h->status);
	buf_puts(ret, connection_lines(tunnel));
	buf_puts(ret, tunnel ? "" : INERT);
	pass_fields(h->fields, tunnel ? of_tunnel : of_answer, SLICE_NONE, ret);
	buf_puts(ret, "\r\n");
}
