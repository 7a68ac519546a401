/*
 * silence.c - Codex limits the silence within an answer (stream_idle_timeout_ms). For its beginning, the response's
 * head, it waits for ever (openai/codex issues 31376 and 41985). So the adapter limits that: from the start of a turn,
 * the end of a model call or a retry on, until something of the next answer is seen.
 *
 * Codex does not show the head, only the first item of the answer. So the time is twice the limit: by then either the
 * head has been missing for longer than the limit, or Codex's own limit has ended the call.
 */
#include "harnesses/codex/internal.h"

#include "base/clock.h"

#define IDLE_DEFAULT_MS 300000 /* Codex's own within an answer */
#define RETRY_PAUSE_MS 60000   /* the provider may require such a pause before the next request */
#define POLL_MAX_MS 300000 /* Codex shows a wait for an older command's output only when it ends */

static bool awaited(const struct harness *h)
{
	return h->awaited_ms != 0;
}

/* While output waits, the timer is used for that, and starts this one afterwards. */
void codex_answer_watch(struct harness *h)
{
	uint64_t now = clock_mono_ms();
	/* At least 1 ms: 0 would stop the timer. */
	unsigned left = h->awaited_until > now ? (unsigned)(h->awaited_until - now) : 1;

	if (awaited(h) && !h->output_waits)
		h->host.ops->timer(h->host.ctx, left);
}

static void await_answer(struct harness *h)
{
	h->awaited_until = clock_mono_ms() + h->awaited_ms;
	codex_answer_watch(h);
}

void codex_answer_awaited(struct harness *h, bool retry)
{
	unsigned idle = h->idle_ms ? h->idle_ms : IDLE_DEFAULT_MS;

	if (h->turn != TURN_RUNNING)
		return;
	/* Twice the limit, for the reason above, and what Codex may wait for without showing it. */
	h->awaited_ms = 2 * idle + (retry ? RETRY_PAUSE_MS : 0) +
			(h->outlived || codex_items_open(h) ? POLL_MAX_MS : 0);
	await_answer(h);
}

void codex_answer_delayed(struct harness *h)
{
	if (awaited(h))
		await_answer(h);
}

void codex_answer_begun(struct harness *h)
{
	if (awaited(h) && !h->output_waits)
		h->host.ops->timer(h->host.ctx, 0);
	h->awaited_ms = 0;
}

void codex_silent_put(const struct harness *h, struct turn_error *ret)
{
	*ret = (struct turn_error){ .cls = "provider", .retryable = true };
	snprintf(ret->message, sizeof(ret->message),
		 "the provider did not begin to answer within %u ms", h->silent_ms);
}

bool codex_answer_overdue(struct harness *h)
{
	if (!awaited(h))
		return false;
	/* codex_on_turn_completed reports it: the interrupt alone would look like a cancel. */
	h->silent_ms = h->awaited_ms;
	h->awaited_ms = 0;
	return true;
}
