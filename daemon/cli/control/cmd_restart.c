/* cmd_restart.c - "acpd restart": another program takes the daemon's place, and the command waits until it serves. */
#include "cli/cmd.h"
#include "cli/control/reach_daemon.h"

#include "base/clock.h"
#include "json/jdec.h"
#include "json/jenc.h"

#include <stdio.h>
#include <unistd.h>

#define COMES_BACK_SECS 60 /* beyond the time of draining */
#define ASK_EACH_US 50000

static uint64_t number_of(struct slice answer, const char *name)
{
	int64_t n = 0;

	(void)jdec_int(jobj_get(answer, name), &n);
	return (uint64_t)n;
}

/* Who does not answer is on the way from one program to the other. */
static bool is_back(const struct config *c, uint64_t before)
{
	_cleanup_(buf_done) struct buf result = { 0 };
	struct err e;

	return control_call(c, "doctor", SLICE("{}"), &result, &e) == 0 &&
	       number_of(buf_slice(&result), "restarts") > before;
}

static int wait_for(const struct config *c, uint64_t before, uint64_t secs)
{
	uint64_t until = clock_mono_ms() + (secs + COMES_BACK_SECS) * 1000;

	while (!is_back(c, before)) {
		if (clock_mono_ms() > until)
			return fail(EXIT_FAILED,
				    "the daemon does not answer after its restart: see its log");
		usleep(ASK_EACH_US);
	}
	return EXIT_DONE;
}

int cmd_restart(const struct config *c)
{
	_cleanup_(buf_done) struct buf params = { 0 }, result = { 0 };
	struct jw w = JW(&params);
	struct err e;
	int r;

	jw_obj(&w, NULL);
	if (c->restart_drain >= 0)
		jw_int(&w, "drainSeconds", c->restart_drain);
	jw_end_obj(&w);
	r = control_call(c, "restart", buf_slice(&params), &result, &e);
	if (r < 0)
		return control_failed(r, &e);
	return wait_for(c, number_of(buf_slice(&result), "restarts"),
			number_of(buf_slice(&result), "drainSeconds"));
}
