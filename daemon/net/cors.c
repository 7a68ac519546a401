#include "net/cors.h"

#include "base/limits.h"

#include <ctype.h>

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

static int put(struct lws *wsi, const char *name, struct slice value, unsigned char **p,
	       unsigned char *end)
{
	return lws_add_http_header_by_name(wsi, (const unsigned char *)name,
					   (const unsigned char *)value.p, (int)value.n, p, end) ?
		       -1 :
		       0;
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

	if (put(wsi, "access-control-allow-methods:", SLICE(METHODS), p, end) < 0 ||
	    put(wsi, "access-control-allow-headers:",
		is_list_of_names(asked) ? asked : SLICE(HEADERS), p, end) < 0 ||
	    put(wsi, "access-control-max-age:", SLICE("600"), p, end) < 0)
		return -1;
	return !has_custom(wsi, PRIVATE_NETWORK) ?
		       0 :
		       put(wsi, "access-control-allow-private-network:", SLICE("true"), p, end);
}

int cors_put(struct lws *wsi, bool preflight, unsigned char **p, unsigned char *end)
{
	const struct net_server *n = lws_context_user(lws_get_context(wsi));
	char buf[CORS_ORIGIN_MAX];
	struct slice origin = header_get(wsi, WSI_TOKEN_ORIGIN, buf, sizeof(buf));

	if (!origin.n || !admission_origin_ok(n->admission, origin))
		return 0;
	if (put(wsi, "access-control-allow-origin:", origin, p, end) < 0 ||
	    put(wsi, "vary:", SLICE("Origin, Access-Control-Request-Headers"), p, end) < 0)
		return -1;
	return preflight ? put_preflight(wsi, p, end) :
			   put(wsi, "access-control-expose-headers:", SLICE(EXPOSED), p, end);
}
