/* route_agui.c - POST /v1/agui/{harness}: the query; the rest belongs to who knows AG-UI (agui/). */
#include "http/routes/handlers.h"

struct agui_query {
	struct slice profile;
};

static const struct query_field fields[] = {
	{ "profile", QUERY_TEXT, offsetof(struct agui_query, profile), NULL },
	{ 0 },
};

void http_post_agui(const struct http_call *c, struct http_reply *ret)
{
	struct agui_query q = { 0 };

	if (http_query(c, fields, &q, ret))
		c->ctx->agui(c->ctx->agui_ctx, c->rq, c->params[0], q.profile, ret);
}
