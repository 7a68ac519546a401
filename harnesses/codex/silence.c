/*
 * silence.c - Codex limits the silence within an answer (stream_idle_timeout_ms), but for its beginning, the response's head, it
 * waits for ever (openai/codex issues 31376 and 41985). So the adapter does: from a turn's start, the end of a model call and a
 * retry on, until the first item of the next answer.
 *
 * Codex does not show the head itself, only the first item in the answer. Twice the limit is therefore given: by then
 * either the head has been missing for longer than the limit, or Codex's own limit has struck.
 */
#include "harnesses/codex/internal.h"

#include <stdio.h>

#define IDLE_DEFAULT_MS 300000 /* Codex's own within an answer */
#define RETRY_PAUSE_MS 60000   /* that Codex may make before it asks again, as the provider wants */

static void start_timer(struct harness *h)
{
	/* else the timer is needed for output, and this one follows it */
	if (h->awaited_ms && !h->output_waits)
		h->host.ops->timer(h->host.ctx, h->awaited_ms);
}

void codex_answer_awaited(struct harness *h, bool retry)
{
	unsigned idle = h->idle_ms ? h->idle_ms : IDLE_DEFAULT_MS;

	if (h->turn != TURN_RUNNING)
		return;
	h->awaited_ms = 2 * idle + (retry ? RETRY_PAUSE_MS : 0);
	start_timer(h);
}

void codex_answer_delayed(struct harness *h)
{
	start_timer(h);
}

void codex_answer_begun(struct harness *h)
{
	if (h->awaited_ms && !h->output_waits)
		h->host.ops->timer(h->host.ctx, 0);
	h->awaited_ms = 0;
}

void codex_silent_put(const struct harness *h, struct turn_error *ret)
{
	*ret = (struct turn_error){ .cls = "provider", .retryable = true };
	snprintf(ret->message, sizeof(ret->message),
		 "the provider did not begin to answer within %u ms", h->silent_ms);
}

void codex_on_timer(struct harness *h)
{
	if (h->output_waits) {
		codex_output_show(h);
		start_timer(h);
	} else if (h->mcp_starting || codex_items_open(h)) {
		start_timer(h); /* not the provider is waited for */
	} else if (h->awaited_ms) {
		h->silent_ms = h->awaited_ms;
		h->awaited_ms = 0;
		codex_interrupt(h);
	}
}
