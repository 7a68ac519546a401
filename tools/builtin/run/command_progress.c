#include "tools/builtin/run/command_progress.h"

#include "base/clock.h"
#include "base/limits.h"

#include <inttypes.h>

void output_progress_init(struct output_progress *p, struct loop *loop, struct tool_call *c)
{
	*p = (struct output_progress){ .call = c, .loop = loop };
	for (int s = 0; s < RUN_STREAMS; s++)
		output_init(&p->waiting[s], RUN_PROGRESS_BYTES);
}

static void tell(struct output_progress *p, struct output *o, bool all)
{
	_cleanup_(buf_done) struct buf text = { 0 };
	struct slice rest;
	size_t before, n;

	if (output_dropped(o))
		buf_printf(&text, "[%" PRIu64 " bytes left out]\n", output_dropped(o));
	before = text.len;
	output_text(o, 0, &text);
	rest = buf_slice(&text);
	n = all ? rest.n : output_whole(rest);
	if (n <= before)
		return;
	p->told += (double)(o->total - (rest.n - n));
	tool_progress(p->call, p->told, 0, (struct slice){ rest.p, n });
	output_done(o);
	output_add(o, (struct slice){ rest.p + n, rest.n - n });
}

static void tell_both(void *ctx)
{
	struct output_progress *p = ctx;

	p->last = clock_mono_ms();
	for (int s = 0; s < RUN_STREAMS; s++)
		tell(p, &p->waiting[s], false);
}

void output_progress_add(struct output_progress *p, enum run_stream s, struct slice bytes)
{
	uint64_t since = clock_mono_ms() - p->last;

	output_add(&p->waiting[s], bytes);
	if (p->timer.due)
		return;
	if (since >= RUN_PROGRESS_MS)
		tell_both(p);
	else
		loop_timer_set(p->loop, &p->timer, RUN_PROGRESS_MS - since, tell_both, p);
}

void output_progress_end(struct output_progress *p)
{
	loop_timer_cancel(&p->timer);
	for (int s = 0; s < RUN_STREAMS; s++) {
		tell(p, &p->waiting[s], true);
		output_done(&p->waiting[s]);
	}
}
