/*
 * http_target.c - parses the URL and the headers of a configured server, and writes heads of
 * requests.
 *
 * A configuration cannot set a header that this code sets itself: two values could be read
 * differently. A header value that is not plain text becomes =?base64?...?= (MCP 2026-07-28). A
 * value that already has this form is encoded, too, so decoding is unambiguous. The configured
 * headers are secrets and are wiped.
 */
#include "tools/upstream/http/http_post.h"

#include "base/http/authority.h"
#include "base/http/http_fields.h"
#include "base/util.h"
#include "digest/base64.h"
#include "digest/digest.h"

#include <strings.h>

#define HOST_MAX 253 /* bytes of a name in DNS */

static int bad_url(struct err *e, const char *why)
{
	return err_field(e, "url", "URL_INVALID", "url: %s", why);
}

static int http_target_take_authority(struct http_target *t, struct slice text, struct err *e)
{
	struct authority a;

	/* RFC 9110, 4.2.4: a URL of http must not hold user information. */
	if (text.n && memchr(text.p, '@', text.n))
		return bad_url(e, "user and password have no place in it");
	if (!authority_parse(text, 1, &a) || a.host.n > HOST_MAX)
		return bad_url(e, "it names no host, or a port that is none");
	t->authority = xstrndup(text.p, text.n);
	t->host = xstrndup(a.host.p, a.host.n);
	t->port = xprintf("%d", a.port < 0 ? (t->secure ? 443 : 80) : a.port);
	return 0;
}

static int http_target_take_url(struct http_target *t, const char *url, struct err *e)
{
	struct slice rest = slice_of(url), authority;

	t->secure = strncasecmp(url, "https://", 8) == 0;
	if (!t->secure && strncasecmp(url, "http://", 7) != 0)
		return err_field(e, "url", "TRANSPORT_UNSUPPORTED",
				 "url: not an http:// or https:// address");
	if (!slice_is_visible(rest, ""))
		return bad_url(e, "a byte in it has to be written as %XX");
	rest = (struct slice){ url + 7 + t->secure, rest.n - 7 - t->secure };
	/* A fragment is for the client alone and is not sent (RFC 3986, 3.5). */
	rest.n = strcspn(rest.p, "#");
	authority = (struct slice){ rest.p, MIN(strcspn(rest.p, "/?"), rest.n) };
	rest = (struct slice){ rest.p + authority.n, rest.n - authority.n };
	/* An empty path is sent as "/" (RFC 9112, 3.2.1). */
	t->path = xalloc(rest.n + 2);
	snprintf(t->path, rest.n + 2, "%s%.*s", rest.n && rest.p[0] == '/' ? "" : "/", (int)rest.n,
		 rest.p);
	return http_target_take_authority(t, authority, e);
}

static bool is_reserved(struct slice name)
{
	return http_word_among(name,
			       "host content-length content-type connection transfer-encoding "
			       "accept expect upgrade te mcp-session-id mcp-protocol-version "
			       "mcp-method mcp-name last-event-id");
}

static int http_target_check_header(const char *line, struct err *e)
{
	const char *colon = strchr(line, ':');
	struct slice name = { line, colon ? (size_t)(colon - line) : 0 };

	if (!header_name_ok(name))
		return err_field(e, "headers", "HEADER_INVALID", "headers: a name is none of HTTP");
	if (is_reserved(name))
		return err_field(e, "headers", "HEADER_RESERVED",
				 "headers: %.*s is set by the client itself", (int)name.n, name.p);
	/* A CR or LF in a value would begin another header. */
	if (!http_text_ok(slice_of(colon)))
		return err_field(e, "headers", "HEADER_INVALID",
				 "headers: the value of %.*s holds a control character",
				 (int)name.n, name.p);
	return 0;
}

static int http_target_take_headers(struct http_target *t, char *const *headers, struct err *e)
{
	_cleanup_(secret_buf_done) struct buf b = { 0 };

	for (; headers && *headers; headers++) {
		if (http_target_check_header(*headers, e) < 0)
			return -EINVAL;
		buf_puts(&b, *headers);
		buf_puts(&b, "\r\n");
	}
	t->headers = xstrndup(b.data, buf_len(&b));
	return 0;
}

int http_target_parse(struct http_target *t, const char *url, char *const *headers, struct err *e)
{
	int r;

	*t = (struct http_target){ 0 };
	r = http_target_take_url(t, url, e);
	if (r == 0)
		r = http_target_take_headers(t, headers, e);
	if (r < 0)
		http_target_done(t);
	return r;
}

void http_target_done(struct http_target *t)
{
	secret_text_wipe(t->headers);
	free_each(t->headers, t->host, t->port, t->authority, t->path);
	*t = (struct http_target){ 0 };
}

void http_target_put_head(struct buf *b, const struct http_target *t, const char *method)
{
	buf_printf(b, "%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n", method, t->path,
		   t->authority);
	buf_puts(b, t->headers);
}

void http_target_put_header(struct buf *b, const char *name, const char *value)
{
	buf_printf(b, "%s: %s\r\n", name, value);
}

static bool http_target_is_plain(const char *v)
{
	size_t n = strlen(v);

	if (!n || v[0] == ' ' || v[0] == '\t' || v[n - 1] == ' ' || v[n - 1] == '\t')
		return false;
	if (strncmp(v, "=?base64?", 9) == 0 && n >= 11 && strcmp(v + n - 2, "?=") == 0)
		return false;
	for (size_t i = 0; i < n; i++)
		if (((unsigned char)v[i] < 0x20 && v[i] != '\t') || (unsigned char)v[i] >= 0x7f)
			return false;
	return true;
}

void http_target_put_encoded(struct buf *b, const char *name, const char *value)
{
	_cleanup_(buf_done) struct buf coded = { 0 };

	if (http_target_is_plain(value)) {
		http_target_put_header(b, name, value);
		return;
	}
	base64_encode(slice_of(value), &coded);
	buf_printf(b, "%s: =?base64?%.*s?=\r\n", name, (int)buf_len(&coded),
		   coded.data ? coded.data : "");
}

void http_target_put_body(struct buf *b, struct slice json)
{
	if (json.n)
		buf_printf(b, "Content-Type: application/json\r\nContent-Length: %zu\r\n", json.n);
	buf_puts(b, "\r\n");
	buf_add_slice(b, json);
}
