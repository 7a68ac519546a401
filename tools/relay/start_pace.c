#include "tools/relay/start_pace.h"

#include "base/clock.h"

#define RESTART_MIN_MS 1000 /* between two starts */

static void on_time(void *ctx)
{
	struct start_pace *p = ctx;

	p->may_start = clock_mono_ms() + RESTART_MIN_MS;
	p->start(p->ctx);
}

void start_pace_want(struct start_pace *p)
{
	uint64_t now = clock_mono_ms();

	loop_timer_set(p->loop, &p->timer, p->may_start > now ? p->may_start - now : 0, on_time, p);
}

void start_pace_cancel(struct start_pace *p)
{
	loop_timer_cancel(&p->timer);
}
