/* ledger_rig.h - what the tests of the usage ledger share: a ledger on a loop, and somebody who waits until a record is durable. */
#pragma once

#include "unit.h"

#include "base/clock.h"
#include "usage/ledger/ledger.h"
#include "ledger_verify.h"

#include <dirent.h>
#include <poll.h>

#define LEDGER "usage.jsonl"

static struct loop *loop;
static struct ledger *l;

static inline void open_at(const char *path, const char *incarnation)
{
	struct err e = { 0 };

	l = ledger_open(loop, path, incarnation, &e);
	if (!l)
		fail_msg("%s", e.msg);
}

/* A loop, and no file yet. */
static inline int rig_setup(void **state _unused_)
{
	loop = loop_new();
	unlink(scratch_path(LEDGER));
	return loop ? 0 : -1;
}

static inline int rig_teardown(void **state _unused_)
{
	l = ledger_free(l);
	loop = loop_free(loop);
	return 0;
}

static inline void append_turn(void)
{
	assert_true(ledger_append(l, SLICE("{\"type\":\"turn\"}")) > 0);
}

struct waiter {
	struct ledger_wait wait;
	int calls, error;
	struct waiter *cancel, *again; /* what its callback does */
};

static inline void on_done(void *ctx, int error)
{
	struct waiter *w = ctx;

	w->calls++;
	w->error = error;
	if (w->cancel)
		ledger_wait_cancel(&w->cancel->wait);
	if (w->again)
		ledger_sync(l, &w->again->wait, on_done, w->again);
}

static inline void wait_for(struct waiter *w)
{
	ledger_sync(l, &w->wait, on_done, w);
	assert_int_equal(w->calls, 0); /* never from within */
}

static inline void turn(int ms)
{
	struct pollfd p = { loop_fd(loop), POLLIN, 0 };

	poll(&p, 1, ms);
	loop_dispatch(loop);
}

static inline void run_until(const int *calls, int want)
{
	uint64_t end = clock_mono_ms() + 60000;

	while (*calls < want && clock_mono_ms() < end)
		turn(20);
	assert_int_equal(*calls, want);
}

static inline unsigned count_dir(const char *path)
{
	DIR *d = opendir(path);
	unsigned n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n - 2;
}

static inline unsigned threads(void)
{
	return count_dir("/proc/self/task");
}
