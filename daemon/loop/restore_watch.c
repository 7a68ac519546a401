/*
 * restore_watch.c - detects a restored or resumed machine: by a jump of the clock, or a new id
 * file.
 *
 * A timerfd with TFD_TIMER_CANCEL_ON_SET (timerfd_create(2)) far in the future wakes the loop when
 * CLOCK_REALTIME is set. The jump is the change of the offset between CLOCK_REALTIME and
 * CLOCK_MONOTONIC, without the process's skipped time.
 *
 * hold() runs before the wait for the id file, and resumed() after it. The wait blocks the loop on
 * purpose: until the id is known, events could be recorded for the wrong sandbox.
 */
#include "loop/restore_watch.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/os/sandbox.h"
#include "loop/file_watch.h"

#include <sys/epoll.h>
#include <sys/timerfd.h>

#define FAR_FUTURE ((time_t)1 << 40)
#define CLOCK_DRIFT_MS 20 /* two clocks that are read one after the other, and are slewed */

struct restore_watch {
	struct loop *loop;
	const struct restore_ops *ops;
	void *ctx;
	struct loop_io clock;
	struct file_watch *file; /* with the id */
	struct loop_timer place; /* for that, where its directory was not there */
	int64_t offset;		 /* CLOCK_REALTIME less CLOCK_MONOTONIC, ms */
	uint64_t gap;
};

/* --- the clock ------------------------------------------------------------------------------------------- */

static int64_t offset_now(void)
{
	return (int64_t)clock_real_ms() - (int64_t)(clock_mono_ms() + clock_skipped_ms());
}

/* True: it is a jump. */
static bool compare_clocks(struct restore_watch *w)
{
	int64_t now = offset_now(), step = now - w->offset;

	w->offset = now;
	if (step > -CLOCK_DRIFT_MS && step < CLOCK_DRIFT_MS)
		return false;
	log_info("restore", "the clock was set", "ms", NUMBER_TEXT(step));
	w->gap += step > 0 ? (uint64_t)step : 0;
	return step <= -RESTORE_STEP_MS || step >= RESTORE_STEP_MS;
}

/* It is watched from now on. True: it is there. */
static bool look_for_it(struct restore_watch *w)
{
	file_watch_begin(w->file);
	return access(sandbox_id_file(), F_OK) == 0;
}

/* It was to be watched later: now. */
static bool has_come(struct restore_watch *w)
{
	if (!w->place.due)
		return false;
	loop_timer_cancel(&w->place);
	return look_for_it(w);
}

/* --- a jump ---------------------------------------------------------------------------------------------- */

/* Whose the events, records and answers are that come next is known only when the id has been read. So nothing of the
 * daemon runs until then: neither what clients send nor what harnesses say. */
static void jumped(struct restore_watch *w, bool written)
{
	struct restored r;

	w->ops->hold(w->ctx);
	written = has_come(w) || written;
	if (!written && w->file && access(sandbox_id_file(), F_OK) == 0)
		(void)file_watch_wait(w->file, RESTORE_WAIT_MS);
	(void)compare_clocks(w);
	r = (struct restored){ .gap_ms = w->gap, .other = sandbox_id_refresh() };
	w->gap = 0;
	w->ops->resumed(w->ctx, &r);
}

static void check_clock(struct restore_watch *w)
{
	if (compare_clocks(w))
		jumped(w, false);
	else
		w->gap = 0;
}

static void clock_arm(struct restore_watch *w)
{
	struct itimerspec spec = { .it_value = { .tv_sec = FAR_FUTURE } };

	timerfd_settime(w->clock.fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &spec, NULL);
}

static void on_clock(void *ctx, uint32_t events _unused_)
{
	struct restore_watch *w = ctx;
	uint64_t fired;

	if (read(w->clock.fd, &fired, sizeof(fired)) < 0 && errno != ECANCELED)
		return;
	/* Before the check: a second jump during it must wake the loop again. */
	clock_arm(w);
	check_clock(w);
}

static void on_loop_wake(void *ctx)
{
	check_clock(ctx);
}

static void watch_clock(struct restore_watch *w)
{
	w->offset = offset_now();
	w->clock =
		(struct loop_io){ .fd = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK),
				  .fn = on_clock,
				  .ctx = w };
	if (w->clock.fd >= 0 && loop_io_set(w->loop, &w->clock, EPOLLIN) == 0) {
		clock_arm(w);
		return;
	}
	log_info("restore", "the clock is compared at each wake-up", "text", strerror(errno));
	loop_on_wake(w->loop, on_loop_wake, w);
}

/* --- the file -------------------------------------------------------------------------------------------- */

static void on_id_file(void *ctx)
{
	jumped(ctx, true);
}

static void on_id_place(void *ctx)
{
	struct restore_watch *w = ctx;

	if (look_for_it(w))
		jumped(w, true);
}

/* Where there is no directory for it, one further up is watched, and that takes the longer the more names the kernel remembers in it. */
static void begin_file(struct restore_watch *w)
{
	const char *file = sandbox_id_file(), *slash = strrchr(file, '/');
	_cleanup_(freep) char *dir = slash ? xstrndup(file, (size_t)MAX(slash - file, 1)) : NULL;

	w->file = file_watch_later(w->loop, file, on_id_file, w);
	if (!w->file)
		log_warn("restore", "the sandbox's id is not watched", "text", strerror(errno));
	else if (!dir || access(dir, F_OK) == 0)
		file_watch_begin(w->file);
	else
		loop_timer_set(w->loop, &w->place, START_SETTLED_MS, on_id_place, w);
}

struct restore_watch *restore_watch_new(struct loop *l, const struct restore_ops *ops, void *ctx)
{
	struct restore_watch *w = new0(struct restore_watch);

	w->loop = l;
	w->ops = ops;
	w->ctx = ctx;
	begin_file(w);
	watch_clock(w);
	(void)sandbox_id_refresh(); /* watched, or not there, before it is read */
	return w;
}

struct restore_watch *restore_watch_free(struct restore_watch *w)
{
	if (!w)
		return NULL;
	loop_on_wake(w->loop, NULL, NULL);
	loop_timer_cancel(&w->place);
	w->file = file_watch_free(w->file);
	loop_io_close(w->loop, &w->clock);
	free(w);
	return NULL;
}
