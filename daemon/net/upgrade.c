/*
 * upgrade.c - everything that is checked before the 101: route, method, version, key, Host, Origin, claim, token; and the
 * headers that a browser requires before a page of another origin may read an answer.
 *
 * Host, Origin, claim and token are checked for plain HTTP, too (access_check). lws frees headers in some of its own refusals,
 * so they are read here by token, and never by the argument of a callback.
 */
#include "net/ws.h"

#include "base/http/http_fields.h"
#include "base/os/file.h"
#include "base/limits.h"
#include "base/format/near_name.h"

#include <ctype.h>
#include <strings.h>

struct slice header_get(struct lws *wsi, enum lws_token_indexes token, char *buf, size_t size)
{
	int n = lws_hdr_copy(wsi, buf, (int)size, token);

	return n > 0 ? (struct slice){ buf, (size_t)n } : SLICE_NONE;
}

struct slice header_get_custom(struct lws *wsi, const char *name_colon, char *buf, size_t size)
{
	int n = lws_hdr_custom_copy(wsi, buf, (int)size, name_colon, (int)strlen(name_colon));

	/* one too long for us is not the same as none */
	if (n < 0 && lws_hdr_custom_length(wsi, name_colon, (int)strlen(name_colon)) > 0)
		return SLICE("?");
	return n > 0 ? (struct slice){ buf, (size_t)n } : SLICE_NONE;
}

struct slice query_get(struct lws *wsi, const char *name_eq, char *buf, size_t size)
{
	const char *v = lws_get_urlarg_by_name(wsi, name_eq, buf, (int)size);

	return v && *v ? slice_of(v) : SLICE_NONE;
}

/* 16 bytes in base64: 22 digits and "==". */
static bool key_ok(struct slice key)
{
	if (key.n != 24 || key.p[22] != '=' || key.p[23] != '=')
		return false;
	for (size_t i = 0; i < 22; i++)
		if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
			    key.p[i]))
			return false;
	return true;
}

/* One of the words of a comma-separated header, in any case. */
static bool header_has_token(struct slice header, const char *word)
{
	size_t n = strlen(word);

	for (size_t i = 0; i + n <= header.n; i++)
		if (strncasecmp(header.p + i, word, n) == 0)
			return true;
	return false;
}

/* Two readers may not agree which of two values counts. Connection and Sec-WebSocket-Protocol are lists. */
static bool has_twice(struct lws *wsi)
{
	static const enum lws_token_indexes once[] = {
		WSI_TOKEN_HOST, WSI_TOKEN_ORIGIN,  WSI_TOKEN_UPGRADE,
		WSI_TOKEN_KEY,	WSI_TOKEN_VERSION, WSI_TOKEN_HTTP_AUTHORIZATION
	};

	for (size_t i = 0; i < ARRAY_SIZE(once); i++)
		if (lws_hdr_fragment_length(wsi, once[i], 1) > 0)
			return true;
	return false;
}

/* What follows the handshake are frames, for us and for every proxy before us. */
static bool upgrade_has_body(struct lws *wsi)
{
	char buf[32];
	struct slice n = header_get(wsi, WSI_TOKEN_HTTP_CONTENT_LENGTH, buf, sizeof(buf));

	return lws_hdr_total_length(wsi, WSI_TOKEN_HTTP_TRANSFER_ENCODING) > 0 ||
	       (lws_hdr_total_length(wsi, WSI_TOKEN_HTTP_CONTENT_LENGTH) > 0 && !slice_is(n, "0"));
}

static int check_framing(struct lws *wsi)
{
	if (has_twice(wsi))
		return http_refuse(wsi, 400, "BAD_HANDSHAKE",
				   "a header of the WebSocket handshake is given twice");
	if (upgrade_has_body(wsi))
		return http_refuse(wsi, 400, "BAD_HANDSHAKE", "a WebSocket handshake has no body");
	return 0;
}

static int check_handshake(struct lws *wsi)
{
	char buf[64];

	if (!lws_hdr_total_length(wsi, WSI_TOKEN_GET_URI))
		return http_refuse_with(wsi, 405, "METHOD_NOT_ALLOWED",
					"a WebSocket handshake is a GET", "Allow:", "GET");
	if (!slice_is(header_get(wsi, WSI_TOKEN_HTTP, buf, sizeof(buf)), "HTTP/1.1"))
		return http_refuse(wsi, 400, "BAD_HANDSHAKE",
				   "a WebSocket handshake needs HTTP/1.1");
	if (!slice_is(header_get(wsi, WSI_TOKEN_VERSION, buf, sizeof(buf)), "13"))
		return http_refuse_with(wsi, 426, "BAD_HANDSHAKE",
					"only WebSocket version 13 is spoken",
					"Sec-WebSocket-Version:", "13");
	if (!header_has_token(header_get(wsi, WSI_TOKEN_CONNECTION, buf, sizeof(buf)), "upgrade"))
		return http_refuse(wsi, 400, "BAD_HANDSHAKE", "Connection: Upgrade is missing");
	if (!key_ok(header_get(wsi, WSI_TOKEN_KEY, buf, sizeof(buf))))
		return http_refuse(wsi, 400, "BAD_HANDSHAKE",
				   "Sec-WebSocket-Key is not 16 bytes in base64");
	return check_framing(wsi);
}

static int check_origin(struct net_server *n, struct lws *wsi)
{
	char host[512], origin[CORS_ORIGIN_MAX];
	struct slice own = header_get(wsi, WSI_TOKEN_HOST, host, sizeof(host)), from;

	if (!admission_host_ok(n->admission, own))
		return http_refuse(wsi, 403, "HOST_NOT_ALLOWED", "this Host is not served here");
	from = header_get(wsi, WSI_TOKEN_ORIGIN, origin, sizeof(origin));
	/* lws copies nothing of a header that is too long: it would look like none. */
	if (lws_hdr_total_length(wsi, WSI_TOKEN_ORIGIN) >= (int)sizeof(origin) ||
	    !(admission_origin_ok(n->admission, from) || admission_origin_own(from, own)))
		return http_refuse(wsi, 403, "ORIGIN_NOT_ALLOWED", "this Origin is not allowed");
	return 0;
}

/* What the token of the request may, or NULL. */
static const struct grant *shown_grant(struct net_server *n, struct lws *wsi)
{
	char auth[TOKEN_MAX + 64], protocols[2 * TOKEN_MAX], token[TOKEN_MAX];

	return admission_grant(n->admission,
			       header_get(wsi, WSI_TOKEN_HTTP_AUTHORIZATION, auth, sizeof(auth)),
			       header_get(wsi, WSI_TOKEN_PROTOCOL, protocols, sizeof(protocols)),
			       query_get(wsi, "token=", token, sizeof(token)));
}

int access_check(struct net_server *n, struct lws *wsi, bool open)
{
	const struct grant *g;
	int r;

	if (visitor_of(wsi)->is_local) { /* acp.sock serves nobody before the claim */
		visitor_known(n, wsi, &grant_admin);
		return 0;
	}
	/* Each request shows its own token: the token of an earlier one on this connection does not count. */
	visitor_unknown(wsi);
	r = check_origin(n, wsi);
	if (r)
		return r;
	g = admission_claimed(n->admission) ? shown_grant(n, wsi) : NULL;
	if (g) /* on an open route, too: its connection is then no longer one without a token */
		visitor_known(n, wsi, g);
	if (g || open)
		return 0;
	if (!admission_claimed(n->admission))
		return http_refuse(wsi, 503, "UNCLAIMED", "the daemon has no token yet");
	return http_refuse_with(wsi, 401, "UNAUTHORIZED", "a valid bearer token is required",
				"WWW-Authenticate:", "Bearer");
}

static int check_scope(struct lws *wsi)
{
	struct err e;

	return grant_check(visitor_grant(wsi), NEED_ACP, SESSIONS_OWN, &e) == 0 ?
		       0 :
		       http_refuse_err(wsi, 403, &e, NULL, NULL);
}

static int check_subprotocol(struct lws *wsi)
{
	char offered[2 * TOKEN_MAX];

	if (admission_subprotocol(header_get(wsi, WSI_TOKEN_PROTOCOL, offered, sizeof(offered))))
		return 0;
	return http_refuse(wsi, 400, "SUBPROTOCOL_UNKNOWN", "the only subprotocol is acp.v1");
}

/* A misspelt name would be a setting that is silently another. Other names may be a proxy's. */
static int check_query(struct lws *wsi)
{
	char arg[TOKEN_MAX + 16];
	struct err e;

	for (int i = 0; lws_hdr_fragment_length(wsi, WSI_TOKEN_HTTP_URI_ARGS, i) > 0; i++) {
		if (lws_hdr_copy_fragment(wsi, arg, sizeof(arg), WSI_TOKEN_HTTP_URI_ARGS, i) < 0)
			continue;
		arg[strcspn(arg, "=")] = '\0';
		if (strcmp(arg, "harness") == 0 || near_name_distance(arg, "harness") > 2)
			continue;
		err_set(&e, -EINVAL, 0, "QUERY_UNKNOWN",
			"query parameter '%s' is unknown; did you mean harness?", arg);
		return http_refuse_err(wsi, 400, &e, NULL, NULL);
	}
	return 0;
}

static int check_upgrade(struct net_server *n, struct lws *wsi)
{
	char uri[256];
	int r;

	if (!slice_is(header_get(wsi, WSI_TOKEN_GET_URI, uri, sizeof(uri)), "/acp") &&
	    lws_hdr_total_length(wsi, WSI_TOKEN_GET_URI))
		return http_refuse(wsi, 404, "NOT_FOUND", "WebSockets are served at /acp");
	r = check_handshake(wsi);
	if (r == 0)
		r = access_check(n, wsi, false);
	if (r == 0)
		r = check_scope(wsi);
	if (r == 0)
		r = check_subprotocol(wsi);
	if (r == 0)
		r = check_query(wsi);
	if (r == 0 && visitor_crowds(n, wsi))
		r = http_refuse(wsi, 503, "TOO_MANY_CONNECTIONS",
				"the limit of connections is reached");
	return r;
}

/*
 * The header alone says which upgrade is requested. lws refuses by itself what is neither websocket nor h2c, and frees
 * the headers. Up to 4.3.6 it still calls us then, with an argument that points into freed memory (CVE-2025-11677). The
 * header is then gone, or, while the refusal waits for the socket, names an unknown protocol. Such a connection ends,
 * and so does any whose upgrade we refuse: the bytes that follow were not meant as a request.
 */
int upgrade_check(struct net_server *n, struct lws *wsi)
{
	char buf[32];
	struct slice upgrade = header_get(wsi, WSI_TOKEN_UPGRADE, buf, sizeof(buf));

	if (http_word_is(upgrade, "websocket"))
		return check_upgrade(n, wsi) ? -1 : 0;
	/* it would hide the handshake from our checks */
	if (http_word_is(upgrade, "h2c"))
		http_refuse(wsi, 400, "UPGRADE_UNKNOWN", "the only upgrade is websocket");
	return -1;
}

int upgrade_headers(struct lws *wsi, struct lws_process_html_args *args)
{
	unsigned char *end = (unsigned char *)args->p + args->max_len;
	char *id = visitor_of(wsi)->id;

	random_hex(id, 16);
	return http_put_header(wsi, "Acp-Connection-Id:", slice_of(id), (unsigned char **)&args->p,
			       end);
}

/* --- CORS ------------------------------------------------------------------------------------------------------ */

#define METHODS "GET, HEAD, POST, PUT, DELETE"
#define HEADERS "Authorization, Content-Type, Content-Range, Range, Last-Event-ID"
#define EXPOSED                                                                                    \
	"Acpd-First, Acpd-Incarnation, Acpd-Last, Accept-Ranges, Allow, Content-Disposition, "     \
	"Content-Range, Mcp-Session-Id, Upload-Offset, WWW-Authenticate"
#define REQUEST_METHOD "access-control-request-method:"
#define PRIVATE_NETWORK "access-control-request-private-network:"

static bool has_custom(struct lws *wsi, const char *name_colon)
{
	return lws_hdr_custom_length(wsi, name_colon, (int)strlen(name_colon)) > 0;
}

bool cors_is_preflight(struct lws *wsi, const char *method)
{
	return strcmp(method, "OPTIONS") == 0 && lws_hdr_total_length(wsi, WSI_TOKEN_ORIGIN) > 0 &&
	       has_custom(wsi, REQUEST_METHOD);
}

/* Names and commas, nothing that could end a header. */
static bool is_list_of_names(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!isalnum((unsigned char)s.p[i]) && !memchr("-_, ", s.p[i], 4))
			return false;
	return s.n > 0;
}

/* Clients of MCP send headers with names of their own, so the answer repeats the names that the page asked for. */
static int put_preflight(struct lws *wsi, unsigned char **p, unsigned char *end)
{
	char buf[CORS_HEADERS_MAX];
	struct slice asked = header_get(wsi, WSI_TOKEN_HTTP_AC_REQUEST_HEADERS, buf, sizeof(buf));

	if (http_put_header(wsi, "access-control-allow-methods:", SLICE(METHODS), p, end) < 0 ||
	    http_put_header(wsi, "access-control-allow-headers:",
			    is_list_of_names(asked) ? asked : SLICE(HEADERS), p, end) < 0 ||
	    http_put_header(wsi, "access-control-max-age:", SLICE("600"), p, end) < 0)
		return -1;
	return !has_custom(wsi, PRIVATE_NETWORK) ?
		       0 :
		       http_put_header(wsi, "access-control-allow-private-network:", SLICE("true"),
				       p, end);
}

int cors_put(struct lws *wsi, bool preflight, unsigned char **p, unsigned char *end)
{
	const struct net_server *n = lws_context_user(lws_get_context(wsi));
	char buf[CORS_ORIGIN_MAX];
	struct slice origin = header_get(wsi, WSI_TOKEN_ORIGIN, buf, sizeof(buf));

	if (!origin.n || !admission_origin_ok(n->admission, origin))
		return 0;
	if (http_put_header(wsi, "access-control-allow-origin:", origin, p, end) < 0 ||
	    http_put_header(wsi, "vary:", SLICE("Origin, Access-Control-Request-Headers"), p, end) <
		    0)
		return -1;
	return preflight ? put_preflight(wsi, p, end) :
			   http_put_header(wsi, "access-control-expose-headers:", SLICE(EXPOSED), p,
					   end);
}
