/*
 * proxy_request.c - parses the head of a request to the proxy, and writes the head for the server.
 *
 * The proxy and the server must read the same request, or a client could bypass the rules (RFC
 * 9112, 11.2). Therefore one Host must equal the target, one kind of framing is allowed, and fields
 * of the hop are removed. Host is written from the parsed target, never copied.
 */
#include "proxy/proxy_request.h"

#include "base/http/authority.h"
#include "base/limits.h"
#include "base/util.h"

#define HTTP_PORT 80

/* --- fields --------------------------------------------------------------------------------------------------- */

/* word stands in the list, separated by commas. */
static bool proxy_request_list_has(struct slice list, struct slice word)
{
	struct slice item;

	while (list.n && slice_item(&list, ',', &item))
		if (http_words_same(slice_trim(item, " \t"), word))
			return true;
	return false;
}

/* A field of this name has that word in its list. */
static bool field_has(struct slice fields, const char *name, struct slice word)
{
	struct slice line, own, value;

	while (http_line_next(&fields, &line))
		if (http_field_split(line, &own, &value) && http_word_is(own, name) &&
		    proxy_request_list_has(value, word))
			return true;
	return false;
}

bool proxy_field_is_ours(struct slice fields, struct slice name)
{
	if ((name.n >= 6 && http_word_is((struct slice){ name.p, 6 }, "proxy-")) ||
	    http_word_among(name, "connection keep-alive te upgrade"))
		return true;
	/* what says where the body ends stays, whoever lists it */
	return !http_word_among(name, "content-length transfer-encoding") &&
	       field_has(fields, "connection", name);
}

/* --- the request line ----------------------------------------------------------------------------------------- */

static bool proxy_request_read_line(struct slice line, struct proxy_request *r,
				    struct slice *target)
{
	if (!slice_cut(&line, ' ', &r->method) || !slice_cut(&line, ' ', target) || !target->n)
		return false;
	r->old = slice_is(line, "HTTP/1.0");
	r->tunnel = slice_is(r->method, "CONNECT");
	return (r->old || slice_is(line, "HTTP/1.1")) && header_name_ok(r->method) &&
	       slice_is_visible(*target, "");
}

static enum egress_reason read_authority(struct slice text, int usual, struct proxy_request *r)
{
	struct authority a;

	if (!authority_parse(text, 1, &a) || (a.port < 0 && usual < 0))
		return EGRESS_REQUEST_INVALID;
	r->written = a.host;
	r->port = a.port < 0 ? usual : a.port;
	if (egress_host_parse(a.host, &r->host) ||
	    (text.p[0] == '[') != (r->host.address && memchr(r->host.text, ':', r->host.n)))
		return EGRESS_HOST_INVALID;
	return EGRESS_FINE;
}

/* "http://HOST/PATH": path begins with the first '/' or '?'. */
static enum egress_reason proxy_request_read_url(struct slice url, struct proxy_request *r)
{
	static const char scheme[] = "http://";
	struct slice authority;
	size_t n = 0;

	if (url.n < strlen(scheme) ||
	    !http_word_is((struct slice){ url.p, strlen(scheme) }, scheme) ||
	    memchr(url.p, '#', url.n))
		return EGRESS_REQUEST_INVALID;
	url = (struct slice){ url.p + strlen(scheme), url.n - strlen(scheme) };
	while (n < url.n && url.p[n] != '/' && url.p[n] != '?')
		n++;
	authority = (struct slice){ url.p, n };
	r->path = slice_after(url, n);
	return read_authority(authority, HTTP_PORT, r);
}

/* --- the whole head ------------------------------------------------------------------------------------------- */

/* One Host, which says the same as the target; HTTP/1.0 and tunnels may leave it out. */
static enum egress_reason proxy_request_check_host(const struct proxy_request *r)
{
	struct slice fields = r->fields, line, name, value, host = SLICE_NONE;
	struct egress_host own;
	struct authority a;
	unsigned n = 0;

	while (http_line_next(&fields, &line))
		if (http_field_split(line, &name, &value) && http_word_is(name, "host")) {
			host = value;
			n++;
		}
	if (n > 1 || (!n && !r->old && !r->tunnel))
		return EGRESS_REQUEST_INVALID;
	if (!n)
		return EGRESS_FINE;
	if (!authority_parse(host, 1, &a) || egress_host_parse(a.host, &own))
		return EGRESS_HOST_MISMATCH;
	if (strcmp(own.text, r->host.text) != 0)
		return EGRESS_HOST_MISMATCH;
	if (r->tunnel)
		return EGRESS_FINE;
	return (a.port < 0 ? HTTP_PORT : a.port) == r->port ? EGRESS_FINE : EGRESS_HOST_MISMATCH;
}

static enum egress_reason proxy_request_check_body(const struct proxy_request *r)
{
	bool any = r->body.chunked || r->body.length;

	if ((r->body.has_length && r->body.chunked) || (r->old && r->body.chunked) ||
	    (r->tunnel && any))
		return EGRESS_REQUEST_INVALID;
	return EGRESS_FINE;
}

static bool wants_upgrade(const struct proxy_request *r)
{
	struct slice value;

	return !r->tunnel && !r->old && !r->body.chunked && !r->body.length &&
	       http_field_find(r->fields, "upgrade", &value) &&
	       field_has(r->fields, "connection", SLICE("upgrade"));
}

static enum egress_reason proxy_request_read_head(struct slice lines, struct proxy_request *r)
{
	enum egress_reason why;
	struct slice line, target;

	if (!http_line_next(&lines, &line) || !proxy_request_read_line(line, r, &target) ||
	    !http_fields_read(lines, &r->body))
		return EGRESS_REQUEST_INVALID;
	r->fields = lines;
	why = r->tunnel ? read_authority(target, -1, r) : proxy_request_read_url(target, r);
	if (!why)
		why = proxy_request_check_body(r);
	if (!why)
		why = proxy_request_check_host(r);
	r->upgrade = !why && wants_upgrade(r);
	return why;
}

ssize_t proxy_request_parse(struct slice in, struct proxy_request *ret, enum egress_reason *why)
{
	ssize_t n = http_lines_end(in, EGRESS_HEAD_MAX);

	*ret = (struct proxy_request){ 0 };
	*why = EGRESS_FINE;
	if (n < 0)
		*why = EGRESS_REQUEST_TOO_LARGE;
	else if (n > 0)
		*why = proxy_request_read_head((struct slice){ in.p, (size_t)n }, ret);
	if (*why)
		return -1;
	return n ? n + 2 : 0;
}

/* --- the head for the server ---------------------------------------------------------------------------------- */

static void put_host(const struct proxy_request *r, struct buf *to)
{
	bool six = memchr(r->host.text, ':', r->host.n);

	buf_printf(to, six ? "Host: [%s]" : "Host: %s", r->host.text);
	if (r->port != HTTP_PORT)
		buf_printf(to, ":%d", r->port);
	buf_puts(to, "\r\n");
}

static void proxy_request_put_fields(const struct proxy_request *r, struct buf *to)
{
	struct slice fields = r->fields, line, name, value;

	while (http_line_next(&fields, &line)) {
		if (!http_field_split(line, &name, &value) || http_word_is(name, "host") ||
		    (proxy_field_is_ours(r->fields, name) &&
		     !(r->upgrade && http_word_is(name, "upgrade"))))
			continue;
		buf_add_slice(to, line);
		buf_puts(to, "\r\n");
	}
}

void proxy_request_put(const struct proxy_request *r, struct buf *to)
{
	buf_add_slice(to, r->method);
	buf_puts(to, !r->path.n || r->path.p[0] == '?' ? " /" : " ");
	buf_add_slice(to, r->path);
	buf_puts(to, r->old ? " HTTP/1.0\r\n" : " HTTP/1.1\r\n");
	put_host(r, to);
	proxy_request_put_fields(r, to);
	buf_puts(to, r->upgrade ? "Connection: Upgrade\r\n\r\n" : "Connection: close\r\n\r\n");
}
