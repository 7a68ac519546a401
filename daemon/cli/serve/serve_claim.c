/*
 * serve_claim.c - what a claim changes in an unclaimed daemon: settings, incarnation, hosted
 * servers, webhooks.
 *
 * Settings are applied to a copy of the configuration, and checked before serve_set, which cannot
 * fail. The incarnation is created before the parts that start with the claim. A watched token file
 * is read only while the daemon is unclaimed; SIGHUP reads it at any time. After acpd restart the
 * claim is repeated first, then the token file, which may have changed since.
 */
#include "cli/serve/serve_claim.h"

#include "base/log.h"
#include "cli/serve/config_claim.h"
#include "http/isolation.h"

#include <errno.h>

int serve_claim_begin(struct serve_claim *s, struct webhook_list *webhooks, struct err *e)
{
	if (store_mint_incarnation(s->parts.store, e) < 0)
		return -EIO;
	hosting_begin(s->parts.mcp, s->cfg, s->parts.store);
	serve_webhooks_begin(&s->webhooks, s->cfg, webhooks);
	lifecycle_claimed(s->parts.life, true);
	return 0;
}

/* All of them or none. */
static int take_settings(struct serve_claim *s, const struct claim_request *c,
			 struct webhook_list *webhooks, struct err *e)
{
	struct config next;
	int r;

	config_copy(&next, s->cfg);
	r = config_claim(&next, c->settings, e);
	if (r == 0)
		r = serve_check_claim(&next, s->parts.harnesses, e);
	if (r == 0)
		r = serve_webhooks_parse(&next, c->webhooks, webhooks, e);
	if (r < 0) {
		config_done(&next);
		return r;
	}
	config_done(&s->claimed);
	s->claimed = next;
	s->cfg = &s->claimed;
	serve_set(s->cfg, &s->parts);
	return 0;
}

static int on_claim(void *ctx, const struct claim_request *c, struct err *e)
{
	struct webhook_list webhooks = { .n = 0 };
	struct serve_claim *s = ctx;
	int r = 0;

	if (s->over)
		return err_set(e, -ESHUTDOWN, RPC_INVALID_REQUEST, "SHUTTING_DOWN",
			       "the daemon is shutting down");
	if (c->settings.n || c->webhooks.n)
		r = take_settings(s, c, &webhooks, e);
	if (r == 0)
		r = serve_claim_begin(s, c->webhooks.n ? &webhooks : NULL, e);
	webhook_list_done(&webhooks);
	if (r < 0)
		return r;
	isolation_log(s->parts.store); /* an image may have changed since the start */
	return 0;
}

static void on_token_file(void *ctx)
{
	struct serve_claim *s = ctx;
	struct err e = { 0 };
	int r;

	if (!claim_desk_open(s->desk) || s->over)
		return;
	r = claim_desk_load(s->desk, s->cfg->token_file, true, &e);
	if (r < 0 && r != -ENOENT)
		log_warn("serve", "the token file claims nothing", "reason", e.reason, "text",
			 e.msg);
}

void serve_claim_open(struct serve_claim *s, const struct config *c, struct loop *loop,
		      struct admission *admission)
{
	s->cfg = c;
	s->desk = claim_desk_new(admission, on_claim, s);
	if (c->claim_e2b)
		s->e2b = e2b_claim_new(loop, c->metadata_url, s->desk);
	if (!c->token_file)
		return;
	s->watch = file_watch_new(loop, c->token_file, on_token_file, s);
	if (!s->watch)
		log_warn("serve", "the token file is not watched: SIGHUP makes it read", "text",
			 strerror(errno));
}

void serve_claim_close(struct serve_claim *s)
{
	s->watch = file_watch_free(s->watch);
	s->e2b = e2b_claim_free(s->e2b);
	serve_webhooks_close(&s->webhooks);
	s->desk = claim_desk_free(s->desk);
	config_done(&s->claimed);
}

static int resume(struct serve_claim *s, struct slice claim, struct err *e)
{
	struct claim_request c;
	int r = claim_request_parse(claim, &c, e);

	if (r < 0)
		return r;
	r = claim_desk_take(s->desk, &c, "restart", e);
	claim_request_done(&c);
	return r;
}

static void reload_token(struct serve_claim *s)
{
	struct err e = { 0 };
	int r = s->cfg->token_file ? claim_desk_load(s->desk, s->cfg->token_file, false, &e) :
				     -ENOENT;

	if (r < 0 && r != -ENOENT)
		log_error("serve", "token file not read", "text", e.msg);
	else
		log_info("serve", "token file read", "claimed",
			 claim_desk_open(s->desk) ? "false" : "true");
}

int serve_claim_resume(struct serve_claim *s, struct slice claim, struct err *e)
{
	if (claim.n && resume(s, claim, e) < 0)
		return -EINVAL;
	if (s->cfg->token_file)
		reload_token(s);
	return 0;
}

void serve_claim_reload(struct serve_claim *s)
{
	serve_webhooks_reload(&s->webhooks);
	reload_token(s);
}
