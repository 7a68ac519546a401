#include "tools/builtin/run/command_job.h"

#include "base/clock.h"
#include "base/limits.h"

#include <inttypes.h>

void command_progress_init(struct command_progress *p, struct loop *loop, struct builtin_call *c)
{
	*p = (struct command_progress){ .call = c, .loop = loop };
	for (int s = 0; s < RUN_STREAMS; s++)
		command_output_init(&p->waiting[s], RUN_PROGRESS_BYTES);
}

static void command_progress_notify(struct command_progress *p, struct command_output *o, bool all)
{
	_cleanup_(buf_done) struct buf text = { 0 };
	struct slice rest;
	size_t before, n;

	if (command_output_dropped(o))
		buf_printf(&text, "[%" PRIu64 " bytes left out]\n", command_output_dropped(o));
	before = text.len;
	command_output_text(o, 0, &text);
	rest = buf_slice(&text);
	n = all ? rest.n : command_output_whole(rest);
	if (n <= before)
		return;
	p->told += (double)(o->total - (rest.n - n));
	tool_progress(p->call, p->told, 0, (struct slice){ rest.p, n });
	command_output_done(o);
	/* The beginning of a character, at most 3 bytes, waits for its other bytes. */
	command_output_add(o, slice_after(rest, n));
}

static void notify_both(void *ctx)
{
	struct command_progress *p = ctx;

	p->last = clock_mono_ms();
	for (int s = 0; s < RUN_STREAMS; s++)
		command_progress_notify(p, &p->waiting[s], false);
}

void command_progress_add(struct command_progress *p, enum command_run_stream s, struct slice bytes)
{
	uint64_t since = clock_mono_ms() - p->last;

	command_output_add(&p->waiting[s], bytes);
	if (p->timer.due)
		return;
	if (since >= RUN_PROGRESS_MS)
		notify_both(p);
	else
		loop_timer_set(p->loop, &p->timer, RUN_PROGRESS_MS - since, notify_both, p);
}

void command_progress_end(struct command_progress *p)
{
	loop_timer_cancel(&p->timer);
	for (int s = 0; s < RUN_STREAMS; s++) {
		command_progress_notify(p, &p->waiting[s], true);
		command_output_done(&p->waiting[s]);
	}
}
