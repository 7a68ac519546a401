/*
 * restored.c - the order in which the daemon resumes after its machine was suspended or copied.
 *
 * hold() stops all input and output before the id of the sandbox is known again. resumed() first
 * drops the connections of acpd-fetch, which are dead. A copy gets its own incarnation before its
 * tokens are revoked, so that connections that end belong to the new one. Clocks are corrected
 * before clients are notified.
 */
#include "cli/serve/restored.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/os/sandbox.h"
#include "net/claim.h"

#include <stdio.h>

static void hold(void *ctx)
{
	struct restored_parts *p = ctx;

	lifecycle_paused(p->life, true);
	outbox_hold(p->webhooks->outbox, true);
	net_server_hold(p->net, true);
	unix_server_hold(p->sockets, true);
}

/* Nobody who was here before is the owner of this one. */
static void become_another(struct restored_parts *p)
{
	struct err e;

	lifecycle_claimed(p->life, false);
	sandbox_id_set(NULL);
	unix_server_drop(p->sockets);
	net_server_drop_local(p->net);
	if (store_mint_incarnation(p->store, &e) < 0)
		log_error("restore", "no new incarnation", "text", e.msg);
	admission_forget(p->admission); /* what ends now is of the new incarnation */
	claim_desk_forget(p->desk);
	store_forget_keys(p->store);
	serve_webhooks_forget(p->webhooks);
}

static void resumed(void *ctx, const struct restored *r)
{
	struct restored_parts *p = ctx;
	uint64_t now = clock_real_ms();
	char ms[24];

	snprintf(ms, sizeof(ms), "%llu", (unsigned long long)r->gap_ms);
	log_info("restore", r->other ? "resumed as a copy: not claimed" : "resumed", "gapMs", ms,
		 "sandboxId", sandbox_id() ? sandbox_id() : "");
	fetcher_break_off(p->fetcher);
	if (r->other)
		become_another(p);
	if (p->destroy_sockets)
		store_destroy_sockets(p->store);
	store_clock_jumped(p->store);
	tokens_clock_jumped(p->http->tokens);
	p->http->resumed_at = now;
	p->http->resumed_gap = r->gap_ms;
	acp_server_resumed(p->acp, now, r->gap_ms);
	outbox_hold(p->webhooks->outbox, false);
	lifecycle_paused(p->life, false);
	/* Last: a client must not reach parts that still have the state of before. */
	unix_server_hold(p->sockets, false);
	net_server_hold(p->net, false);
}

/* What runs beside the daemon, and commands, say nothing of it. */
static void was_away(uint64_t gap)
{
	char ms[24];

	snprintf(ms, sizeof(ms), "%llu", (unsigned long long)gap);
	log_info("loop", "was not running", "ms", ms);
}

void restored_begin(struct restored_parts *p, bool destroy_sockets)
{
	static const struct restore_ops ops = { hold, resumed };

	p->destroy_sockets = destroy_sockets;
	loop_on_absence(p->loop, was_away);
	p->watch = restore_watch_new(p->loop, &ops, p);
}

void restored_end(struct restored_parts *p)
{
	p->watch = restore_watch_free(p->watch);
}
