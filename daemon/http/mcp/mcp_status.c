/* mcp_status.c - GET /v1/mcp: the hosted MCP servers as they are now, and what is wrong with their configuration
 * (tools/hosted/hosted.h has the form). */
#include "http/routes/handlers.h"

#include "json/jenc.h"

static const struct query_field no_query[] = { { 0 } };

void http_get_hosted(const struct http_call *c, struct http_reply *ret)
{
	struct jw w = JW(&ret->body);

	if (http_query(c, no_query, NULL, ret))
		hosted_put_status(c->ctx->hosted, &w, NULL);
}
