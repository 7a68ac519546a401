/*
 * syncer.c - one worker thread that makes the ledger and journals durable, for many waiters with
 * one flush.
 *
 * The thread uses `job`, `ahead` and the fields under the mutex; the loop's thread uses `job` and
 * `ahead` only while no order runs. Waiters move to `running` when a sync starts. Later ones wait
 * for the next sync, because their data can be missing from this one. usage.ahead is prepared after
 * USAGE_AHEAD_AFTER syncs, by the same thread, while no client waits.
 */
#include "usage/ledger/syncer.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/os/threads.h"

#include <linux/magic.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/vfs.h>

enum sync_state { SYNC_IDLE, SYNC_RUNNING, SYNC_PREPARING };
enum worker_order { ORDER_NONE, ORDER_SYNC, ORDER_PREPARE, ORDER_QUIT };

/* Syncs of one life before usage.ahead is made: for fewer it is not worth its writing. */
#define USAGE_AHEAD_AFTER 2

struct syncer {
	struct loop *loop;
	struct synced files;
	bool in_memory, dirty;
	int error; /* sticky */
	enum sync_state state;
	struct list waiting, running; /* syncer_wait.link */
	struct loop_task task;
	struct loop_io io; /* eventfd: the worker is done */
	bool threaded;
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	struct sync_job job;	    /* that runs */
	struct usage_ahead ahead;   /* the worker's while one runs */
	uint64_t syncs, prepare_at; /* clock_mono_ms; UINT64_MAX: not again */
	struct loop_timer settle_timer;
	/* under the mutex */
	enum worker_order order;
	int result;
};

static void syncer_advance(void *ctx);
static void on_worker_done(void *ctx, uint32_t events);
static void sync_start(struct syncer *s);

/* If fstatfs fails, the file counts as on disk: a needless fdatasync is harmless, a missing one is not. */
static bool fs_in_memory(int fd)
{
	struct statfs sb;

	return fstatfs(fd, &sb) == 0 && (sb.f_type == TMPFS_MAGIC || sb.f_type == RAMFS_MAGIC);
}

struct syncer *syncer_new(struct loop *loop, const struct syncer_spec *spec)
{
	struct syncer *s = new0(struct syncer);

	s->loop = loop;
	synced_init(&s->files, spec->fd, spec->dirfd, spec->name);
	s->files.main.to = spec->size;
	usage_ahead_init(&s->ahead, spec->ahead);
	s->in_memory = fs_in_memory(spec->fd);
	s->io = (struct loop_io){ .fd = -1, .fn = on_worker_done, .ctx = s };
	list_init(&s->waiting);
	list_init(&s->running);
	return s;
}

/* --- the thread ------------------------------------------------------------------------------------------- */

static void *syncer_work(void *ctx)
{
	struct syncer *s = ctx;
	uint64_t one = 1;

	pthread_mutex_lock(&s->mutex);
	for (;;) {
		enum worker_order order;
		int r;

		while (s->order == ORDER_NONE)
			pthread_cond_wait(&s->cond, &s->mutex);
		if (s->order == ORDER_QUIT)
			break;
		order = s->order;
		pthread_mutex_unlock(&s->mutex);
		r = order == ORDER_SYNC ? sync_job_run(&s->job, &s->ahead) :
					  usage_ahead_prepare(&s->ahead);
		pthread_mutex_lock(&s->mutex);
		s->result = r;
		/* ORDER_QUIT may have come meanwhile, and must not be lost. */
		if (s->order == order)
			s->order = ORDER_NONE;
		pthread_mutex_unlock(&s->mutex);
		/* Without the mutex: the loop takes it as soon as it wakes. */
		RETRY(write(s->io.fd, &one, sizeof(one)));
		pthread_mutex_lock(&s->mutex);
	}
	pthread_mutex_unlock(&s->mutex);
	return NULL;
}

/* On failure all is undone, so the next sync tries to start the thread again. */
static bool thread_ready(struct syncer *s)
{
	if (s->threaded)
		return true;
	s->io.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->io.fd < 0)
		return false;
	pthread_mutex_init(&s->mutex, NULL);
	pthread_cond_init(&s->cond, NULL);
	if (loop_io_set(s->loop, &s->io, EPOLLIN) == 0 &&
	    thread_start(&s->thread, syncer_work, s) == 0) {
		s->threaded = true;
		return true;
	}
	loop_io_set(s->loop, &s->io, 0);
	pthread_cond_destroy(&s->cond);
	pthread_mutex_destroy(&s->mutex);
	closep(&s->io.fd);
	return false;
}

static void give_order(struct syncer *s, enum worker_order order)
{
	pthread_mutex_lock(&s->mutex);
	s->order = order;
	pthread_mutex_unlock(&s->mutex);
	pthread_cond_signal(
		&s->cond); /* now, so that the worker does not wake to wait for the mutex */
}

/* --- the loop's side -------------------------------------------------------------------------------------- */

static void move_all(struct list *from, struct list *to)
{
	while (!list_empty(from)) {
		struct list *first = from->next;

		list_del(first);
		list_add_tail(to, first);
	}
}

/* A waiter may be freed in its callback, and others with it: one at a time, from the head. */
static void waiters_answer(struct list *waiters, int error)
{
	list_drain(w, waiters, struct syncer_wait, link) {
		list_del(&w->link);
		w->done(w->ctx, error);
	}
}

/* Files that have pieces in usage.ahead are held open, and a file that is removed keeps its blocks so long. */
static void syncer_settle(void *ctx)
{
	struct syncer *s = ctx;

	s->files.settle = s->dirty = true;
	if (s->state == SYNC_IDLE)
		sync_start(s);
}

/* In the thread, once nobody waits. */
static void syncer_prepare(struct syncer *s)
{
	if (!s->threaded || s->error || usage_ahead_ready(&s->ahead) ||
	    s->syncs < USAGE_AHEAD_AFTER || clock_mono_ms() < s->prepare_at)
		return;
	/* Cleared only for lack of space: any other failure would repeat. */
	s->prepare_at = UINT64_MAX;
	usage_ahead_alloc(&s->ahead);
	s->state = SYNC_PREPARING;
	give_order(s, ORDER_PREPARE);
}

/* It goes on as if there were none; what is written to the files is not held back. */
static void prepared(struct syncer *s, int result)
{
	s->state = SYNC_IDLE;
	if (result == 0)
		return;
	if (result == -ENOSPC || result == -EDQUOT)
		s->prepare_at = clock_mono_ms() + USAGE_AHEAD_RETRY_MS;
	log_warn("ledger",
		 "usage.ahead cannot be made, so each turn waits for the file system's own journal",
		 "text", strerror(-result));
}

static void sync_finished(struct syncer *s, int result)
{
	s->state = SYNC_IDLE;
	s->syncs++;
	sync_job_end(&s->files, &s->job, result);
	if (result < 0 && !s->error)
		s->error = result;
	if (synced_ahead(&s->files) && !s->settle_timer.due)
		loop_timer_set(s->loop, &s->settle_timer, USAGE_AHEAD_SETTLE_MS, syncer_settle, s);
	waiters_answer(&s->running, s->error);
}

static void syncer_continue(struct syncer *s)
{
	if (!list_empty(&s->waiting))
		loop_defer(s->loop, &s->task, syncer_advance, s);
	else if (s->state == SYNC_IDLE)
		syncer_prepare(s);
}

static void on_worker_done(void *ctx, uint32_t events _unused_)
{
	struct syncer *s = ctx;
	uint64_t n;
	int result;

	/* EAGAIN: this report was already read. */
	if (read(s->io.fd, &n, sizeof(n)) < 0)
		return;
	pthread_mutex_lock(&s->mutex);
	result = s->result;
	pthread_mutex_unlock(&s->mutex);
	(s->state == SYNC_PREPARING ? prepared : sync_finished)(s, result);
	syncer_continue(s);
}

/* One sync for all that wait now. */
static void sync_start(struct syncer *s)
{
	move_all(&s->waiting, &s->running);
	if (s->error || !s->dirty) {
		waiters_answer(&s->running, s->error);
		return;
	}
	/* Before the job is taken: a write during the sync sets it again and needs a sync of its own. */
	s->dirty = false;
	s->state = SYNC_RUNNING;
	sync_job_take(&s->files, &s->ahead, &s->job);
	if (s->in_memory)
		sync_finished(s, 0);
	else if (thread_ready(s))
		give_order(s, ORDER_SYNC);
	else
		sync_finished(s, sync_job_run(&s->job, &s->ahead));
}

static void syncer_advance(void *ctx)
{
	struct syncer *s = ctx;

	if (s->state == SYNC_IDLE && !list_empty(&s->waiting))
		sync_start(s);
}

/* struct synced has one place for an old file, so the previous one must be durable first. */
bool syncer_may_switch(const struct syncer *s)
{
	return s->files.old < 0 && !s->error;
}

void syncer_switch(struct syncer *s, int fd, int dirfd, const char *name)
{
	synced_switch(&s->files, fd, dirfd, name);
	s->dirty = true;
}

void syncer_dirty(struct syncer *s, off_t size)
{
	s->files.main.to = size;
	s->dirty = true;
}

bool syncer_works(const struct syncer *s)
{
	return !s->in_memory;
}

int syncer_also(struct syncer *s, const struct sync_also *f)
{
	if (s->in_memory || s->error)
		return 0;
	s->dirty = true;
	return synced_also(&s->files, f);
}

/* Deferred, so that all requests of one turn of the loop share a sync. */
void syncer_wait(struct syncer *s, struct syncer_wait *w, void (*done)(void *ctx, int error),
		 void *ctx)
{
	*w = (struct syncer_wait){ .done = done, .ctx = ctx };
	list_add_tail(&s->waiting, &w->link);
	loop_defer(s->loop, &s->task, syncer_advance, s);
}

/* Also allowed if w never waited (all zeros) or was answered. */
void syncer_cancel(struct syncer_wait *w)
{
	if (w->link.next)
		list_del(&w->link);
}

int syncer_error(const struct syncer *s)
{
	return s->error;
}

static void stop_thread(struct syncer *s)
{
	give_order(s, ORDER_QUIT);
	pthread_join(s->thread, NULL);
	loop_io_set(s->loop, &s->io, 0);
	pthread_cond_destroy(&s->cond);
	pthread_mutex_destroy(&s->mutex);
	closep(&s->io.fd);
}

/* The order may have come too late for the worker, so all of it is done again. 0: all is durable where it is. */
static int settle_last(struct syncer *s)
{
	struct sync_job j;
	int r = s->error;

	if (s->in_memory || r ||
	    (!s->dirty && s->state != SYNC_RUNNING && !synced_ahead(&s->files)))
		return r;
	/* The descriptors of the other files are in the old job only; the new job below does not repeat
	 * them. */
	if (s->state == SYNC_RUNNING)
		r = sync_job_others(&s->job);
	synced_again(&s->files);
	sync_job_take(&s->files, &s->ahead, &j);
	r = r < 0 ? r : sync_job_run(&j, &s->ahead);
	sync_job_end(&s->files, &j, r);
	return r;
}

struct syncer *syncer_free(struct syncer *s)
{
	if (!s)
		return NULL;
	loop_task_cancel(&s->task);
	loop_timer_cancel(&s->settle_timer);
	if (s->threaded)
		stop_thread(s);
	/* The thread is joined: `job` and `ahead` belong to this thread from here on. */
	usage_ahead_done(&s->ahead, settle_last(s) == 0);
	move_all(&s->waiting, &s->running);
	waiters_answer(&s->running, -ECANCELED);
	sync_job_end(&s->files, &s->job, -ECANCELED);
	synced_done(&s->files);
	free(s);
	return NULL;
}
