/*
 * route_info.c - GET /v1/info: what a client asks before the first session. GET /v1/mcp: the hosted MCP servers as they are now.
 *
 * What depends on the machine is looked up at each call, because an image may change it after the start.
 */
#include "http/routes/handlers.h"

#include "access/grant.h"
#include "base/clock.h"
#include "base/os/sandbox.h"
#include "base/version.h"
#include "fetcher/fetcher.h"
#include "http/isolation.h"
#include "json/jenc.h"
#include "outbox/outbox.h"
#include "session/core/session.h"

static void info_put_harnesses(struct jw *w, const struct harness_table *t)
{
	jw_arr(w, "harnesses");
	for (size_t i = 0; i < t->n; i++)
		jw_object(w, NULL, JW_STR("id", t->defs[i].id),
			  JW_BOOL("installed", harness_installed(&t->defs[i])));
	jw_end_arr(w);
}

/* E2B publishes what listens on a loopback, too. */
static void info_put_place(struct jw *w, const struct http_context *ctx)
{
	const char *provider = sandbox_provider();

	jw_str(w, "sandboxId", sandbox_id());
	jw_str(w, "provider", provider);
	jw_bool(w, "remote", ctx->remote || (provider && strcmp(provider, "e2b") == 0));
}

static void put_resumed(struct jw *w, const struct http_context *ctx)
{
	if (!ctx->resumed_at)
		return;
	jw_object(w, "resumed", JW_STR("at", CLOCK_ISO(ctx->resumed_at)),
		  JW_UINT("gapMs", ctx->resumed_gap));
}

/* Who may not all is told what he may. */
static void put_own_token(struct jw *w, const struct http_call *c)
{
	if (grant_minted(c->rq->grant))
		grant_put(c->rq->grant, w, "token");
}

void http_get_info(const struct http_call *c, struct http_reply *ret)
{
	const struct http_context *ctx = c->ctx;
	struct jw w = JW(&ret->body);

	jw_obj(&w, NULL);
	jw_str(&w, "version", acpd_version);
	jw_str(&w, "incarnation", store_incarnation(ctx->store));
	put_own_token(&w, c);
	info_put_place(&w, ctx);
	put_resumed(&w, ctx);
	info_put_harnesses(&w, store_harnesses(ctx->store));
	offer_put_features(&w);
	offer_put_limits(&w, ctx->store, ctx->backlog_max);
	isolation_put(ctx->store, &w, "isolation");
	store_put_network(ctx->store, &w);
	jw_str(&w, "keyMemory", fetcher_key_memory(ctx->fetcher));
	outbox_put_status(ctx->outbox, &w);
	jw_end_obj(&w);
}

/* And what is wrong with their configuration: tools/hosted/hosted.h has the form. */
void http_get_hosted(const struct http_call *c, struct http_reply *ret)
{
	struct jw w = JW(&ret->body);

	hosted_put_status(c->ctx->hosted, &w, NULL);
}
