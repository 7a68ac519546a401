/*
 * loop.h - our own epoll set with descriptors, timers, signals and deferred calls. Single-threaded; knows no
 * libwebsockets: a command-line client adopts loop_fd() into lws, or calls loop_run().
 *
 * Level-triggered. A source is paused by removing its interest altogether, never with an empty event mask (a
 * hung-up pipe would keep reporting HUP and spin). loop_dispatch handles at most LOOP_EVENTS_PER_TURN events and
 * returns, so nothing starves. Objects are never freed inside their own callback: loop_defer runs after the events
 * of this turn. Timers are in monotonic milliseconds, and share one timerfd. SIGCHLD arrives through the signalfd.
 *
 * A loop that wakes LOOP_LATE_MS after the time it had asked for was not running: the time since it last ran is taken
 * out of the clock (clock_skip) before anything of the turn is handled, so that no deadline has passed meanwhile. That
 * is at most the wait for the earliest timer too much; who charges time keeps a timer of a second. So is a turn that
 * takes longer than that: stopped or busy, it heard nobody.
 */
#pragma once

#include "base/list.h"

#include <pthread.h>
#include <signal.h>

/* A busy machine is late by less. */
#define LOOP_LATE_MS 500

struct loop;

struct loop *loop_new(void);
struct loop *loop_free(struct loop *l);
/* Readable when loop_dispatch has work. */
int loop_fd(const struct loop *l);
void loop_dispatch(struct loop *l);
/* The same, but waits until there is some. */
void loop_wait(struct loop *l);
/* Runs until loop_quit. */
void loop_run(struct loop *l);
void loop_quit(struct loop *l);
bool loop_quitting(const struct loop *l);

/* A descriptor; embedded in its owner. events as in epoll (EPOLLIN, EPOLLOUT). */
struct loop_io {
	int fd;
	uint32_t events; /* registered interest; 0: not in the set */
	void (*fn)(void *ctx, uint32_t events);
	void *ctx;
	struct loop *loop;
};

/* Sets the interest (0 removes the descriptor from the set). io->fd, fn, ctx are set by the owner before. */
int loop_io_set(struct loop *l, struct loop_io *io, uint32_t events);

/* Removes the descriptor from the set and closes it. Idempotent. */
void loop_io_close(struct loop *l, struct loop_io *io);

/* A one-shot timer; embedded. All zeros is a valid idle timer. */
struct loop_timer {
	struct list link;
	uint64_t due; /* clock_mono_ms; 0: idle */
	void (*fn)(void *ctx);
	void *ctx;
	struct loop *loop;
};

void loop_timer_set(struct loop *l, struct loop_timer *t, uint64_t ms, void (*fn)(void *ctx),
		    void *ctx);
void loop_timer_cancel(struct loop_timer *t);

/* Calls fn once at the end of this turn. Embedded; adding an already queued one is a no-op. */
struct loop_task {
	struct list link;
	void (*fn)(void *ctx);
	void *ctx;
};

void loop_defer(struct loop *l, struct loop_task *t, void (*fn)(void *ctx), void *ctx);
void loop_task_cancel(struct loop_task *t);
/* Runs the deferred tasks; called by loop_dispatch and by code that feeds events from outside the loop, after each of
 * its turns. */
void loop_run_deferred(struct loop *l);

/* Calls fn whenever the loop has woken, before anything else of the turn; NULL: no more. One at a time. */
void loop_on_wake(struct loop *l, void (*fn)(void *ctx), void *ctx);

/* Calls fn when the loop finds that nobody has run for so long; NULL: no more. */
void loop_on_absence(struct loop *l, void (*fn)(uint64_t ms));

/* Blocks the signals of the set and delivers them to fn. */
int loop_signals(struct loop *l, const sigset_t *set, void (*fn)(void *ctx, int signo), void *ctx);

/*
 * A piece of work that may wait for a disk, beside the loop: it runs in a thread of its own, and its end is
 * reported on the loop.
 */
/* Embedded in its owner. All zeros is an idle one. */
struct loop_job {
	struct loop *loop;
	struct loop_io io; /* eventfd: it has ended */
	struct loop_task task;
	pthread_t thread;
	void (*run)(void *ctx);
	void (*done)(void *ctx);
	void *ctx;
	bool busy, threaded;
};

/* Calls run in the thread, where it must touch nothing that the loop uses meanwhile; then done on the loop, never from
 * within this call. Not while busy. If no thread can be started, run is called at once. */
void loop_job_start(struct loop *loop, struct loop_job *j, void (*run)(void *ctx),
		    void (*done)(void *ctx), void *ctx);
/* Waits for the end of run; done is not called. */
void loop_job_end(struct loop_job *j);
