/* route_claim.c - POST /v1/claim: the query; the rest belongs to who knows claims. */
#include "http/routes/handlers.h"

static const struct query_field no_query[] = { { 0 } };

void http_post_claim(const struct http_call *c, struct http_reply *ret)
{
	if (http_query(c, no_query, NULL, ret))
		c->ctx->claim(c->ctx->claim_ctx, c->rq, ret);
}
