/*
 * restored.c - what the daemon does when its machine was suspended or copied (loop/restore_watch.h), part by part.
 *
 * hold_all_parts stops all input and output before the id of the sandbox is known again: every TCP connection is reset,
 * and no client is accepted, read or sent to. resume_daemon first drops the connections of acpd-fetch, which are dead.
 * With the same id, claim, tokens and keys remain. With another id this is a copy: it gets its own incarnation before
 * its tokens are revoked, so that connections that end belong to the new one; it is unclaimed, and forgets what clients
 * gave to the original. Clocks are corrected before clients are notified.
 */
#include "cli/serve/serve.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/os/sandbox.h"

static void hold_all_parts(void *ctx)
{
	struct daemon *d = ctx;

	lifecycle_paused(d->life, true);
	outbox_hold(d->outbox, true);
	net_server_hold(d->net, true);
	unix_server_hold(d->sockets, true);
}

/* Nobody who was here before is the owner of this one. */
static void become_another(struct daemon *d)
{
	struct err e;

	lifecycle_claimed(d->life, false);
	sandbox_id_set(NULL);
	unix_server_drop(d->sockets);
	net_server_drop_local(d->net);
	if (store_mint_incarnation(d->store, &e) < 0)
		log_error("restore", "no new incarnation", "text", e.msg);
	admission_forget(d->admission); /* what ends now is of the new incarnation */
	claim_desk_forget(d->desk);
	store_forget_keys(d->store);
	serve_webhooks_forget(d);
}

static void resume_daemon(void *ctx, const struct restored *r)
{
	struct daemon *d = ctx;
	uint64_t now = clock_real_ms();

	log_info("restore", r->other ? "resumed as a copy: not claimed" : "resumed", "gapMs",
		 NUMBER_TEXT(r->gap_ms), "sandboxId", sandbox_id() ? sandbox_id() : "");
	fetcher_break_off(d->fetcher);
	if (r->other)
		become_another(d);
	if (d->cfg->destroy_sockets)
		store_destroy_sockets(d->store);
	store_clock_jumped(d->store);
	tokens_clock_jumped(d->tokens);
	d->http.resumed_at = now;
	d->http.resumed_gap = r->gap_ms;
	acp_server_resumed(d->acp, now, r->gap_ms);
	outbox_hold(d->outbox, false);
	lifecycle_paused(d->life, false);
	/* Last: a client must not reach parts that still have the state of before. */
	unix_server_hold(d->sockets, false);
	net_server_hold(d->net, false);
}

/* What runs beside the daemon, and commands, say nothing of it. */
static void was_away(uint64_t gap)
{
	log_info("loop", "was not running", "ms", NUMBER_TEXT(gap));
}

void restored_begin(struct daemon *d)
{
	static const struct restore_ops ops = { hold_all_parts, resume_daemon };

	loop_on_absence(d->loop, was_away);
	d->restore = restore_watch_new(d->loop, &ops, d);
}
