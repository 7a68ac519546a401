#include "usage/ledger/syncer.h"

#include "base/array.h"
#include "base/limits.h"
#include "base/os/threads.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/vfs.h>

enum sync_state { SYNC_IDLE, SYNC_RUNNING };
enum worker_order { ORDER_NONE, ORDER_SYNC, ORDER_QUIT };

/* What one sync makes durable: the others, then in this order; -1: none. */
struct sync_files {
	int *others; /* ours */
	size_t nothers;
	int old, fd, dirfd;
};

struct syncer {
	struct loop *loop;
	struct sync_files files; /* old: the file before the last switch, ours */
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
	struct sync_files job; /* of the sync that runs */
	/* under the mutex */
	enum worker_order order;
	int result;
};

static void advance(void *ctx);
static void on_worker_done(void *ctx, uint32_t events);

static bool fs_in_memory(int fd)
{
	struct statfs sb;

	return fstatfs(fd, &sb) == 0 && (sb.f_type == TMPFS_MAGIC || sb.f_type == RAMFS_MAGIC);
}

struct syncer *syncer_new(struct loop *loop, int fd, int dirfd)
{
	struct syncer *s = new0(struct syncer);

	s->loop = loop;
	s->files = (struct sync_files){ .old = -1, .fd = fd, .dirfd = dirfd };
	s->in_memory = fs_in_memory(fd);
	s->io = (struct loop_io){ .fd = -1, .fn = on_worker_done, .ctx = s };
	list_init(&s->waiting);
	list_init(&s->running);
	return s;
}

/* --- the work, in either thread --------------------------------------------------------------------------- */

/* All of it is on its way to the disk before one is waited for: so the file system commits once and not for each. That is
 * a hint, and not all have it. */
static void begin_writing(const struct sync_files *f)
{
	for (size_t i = 0; i < f->nothers; i++)
		sync_file_range(f->others[i], 0, 0, SYNC_FILE_RANGE_WRITE);
	if (f->nothers)
		sync_file_range(f->fd, 0, 0, SYNC_FILE_RANGE_WRITE);
}

static int sync_others(const struct sync_files *f)
{
	for (size_t i = 0; i < f->nothers; i++)
		if (fdatasync(f->others[i]) < 0)
			return -errno;
	return 0;
}

/* The older file first: the durable part of the chain has no hole. */
static int sync_files(const struct sync_files *f)
{
	int r;

	begin_writing(f);
	r = sync_others(f);
	if (r < 0)
		return r;
	if (f->old >= 0 && fdatasync(f->old) < 0)
		return -errno;
	if (fdatasync(f->fd) < 0)
		return -errno;
	/* file systems that cannot sync a directory return EINVAL */
	if (f->dirfd >= 0 && fsync(f->dirfd) < 0 && errno != EINVAL)
		return -errno;
	return 0;
}

static void *work(void *ctx)
{
	struct syncer *s = ctx;
	uint64_t one = 1;

	pthread_mutex_lock(&s->mutex);
	for (;;) {
		struct sync_files files;
		int r;

		while (s->order == ORDER_NONE)
			pthread_cond_wait(&s->cond, &s->mutex);
		if (s->order == ORDER_QUIT)
			break;
		files = s->job;
		pthread_mutex_unlock(&s->mutex);
		r = sync_files(&files);
		pthread_mutex_lock(&s->mutex);
		s->result = r;
		if (s->order == ORDER_SYNC)
			s->order = ORDER_NONE;
		while (write(s->io.fd, &one, sizeof(one)) < 0 && errno == EINTR)
			;
	}
	pthread_mutex_unlock(&s->mutex);
	return NULL;
}

/* --- the thread ------------------------------------------------------------------------------------------- */

static bool thread_ready(struct syncer *s)
{
	if (s->threaded)
		return true;
	s->io.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->io.fd < 0)
		return false;
	pthread_mutex_init(&s->mutex, NULL);
	pthread_cond_init(&s->cond, NULL);
	if (loop_io_set(s->loop, &s->io, EPOLLIN) == 0 && thread_start(&s->thread, work, s) == 0) {
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
	pthread_cond_signal(&s->cond);
	pthread_mutex_unlock(&s->mutex);
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
static void answer_all(struct list *waiters, int error)
{
	while (!list_empty(waiters)) {
		struct syncer_wait *w = list_first(waiters, struct syncer_wait, link);

		list_del(&w->link);
		w->done(w->ctx, error);
	}
}

static void close_others(struct sync_files *f)
{
	for (size_t i = 0; i < f->nothers; i++)
		close(f->others[i]);
	free(f->others);
	f->others = NULL;
	f->nothers = 0;
}

/* The job has made it durable: it is not needed any more, unless another has taken its place meanwhile. */
static void drop(int *fd, int synced)
{
	if (*fd < 0 || *fd != synced)
		return;
	close(*fd);
	*fd = -1;
}

static void finish(struct syncer *s, int result)
{
	s->state = SYNC_IDLE;
	close_others(&s->job);
	if (result < 0 && !s->error)
		s->error = result;
	if (result == 0) {
		drop(&s->files.old, s->job.old);
		drop(&s->files.dirfd, s->job.dirfd);
	}
	answer_all(&s->running, s->error);
	if (!list_empty(&s->waiting))
		loop_defer(s->loop, &s->task, advance, s);
}

static void on_worker_done(void *ctx, uint32_t events _unused_)
{
	struct syncer *s = ctx;
	uint64_t n;
	int result;

	if (read(s->io.fd, &n, sizeof(n)) < 0)
		return;
	pthread_mutex_lock(&s->mutex);
	result = s->result;
	pthread_mutex_unlock(&s->mutex);
	finish(s, result);
}

static void advance(void *ctx)
{
	struct syncer *s = ctx;

	if (s->state == SYNC_RUNNING || list_empty(&s->waiting))
		return;
	move_all(&s->waiting, &s->running);
	s->job = s->files;
	s->files.others = NULL;
	s->files.nothers = 0;
	if (s->in_memory || s->error || !s->dirty) {
		finish(s, s->error);
		return;
	}
	s->dirty = false;
	s->state = SYNC_RUNNING;
	if (thread_ready(s))
		give_order(s, ORDER_SYNC);
	else
		finish(s, sync_files(&s->job));
}

bool syncer_may_switch(const struct syncer *s)
{
	return s->files.old < 0 && !s->error;
}

void syncer_switch(struct syncer *s, int fd, int dirfd)
{
	/* a directory that a running sync has not synced yet is the same one */
	if (s->files.dirfd >= 0)
		closep(&dirfd);
	else
		s->files.dirfd = dirfd;
	s->files.old = s->files.fd;
	s->files.fd = fd;
	s->dirty = true;
}

void syncer_dirty(struct syncer *s)
{
	s->dirty = true;
}

bool syncer_works(const struct syncer *s)
{
	return !s->in_memory;
}

void syncer_also(struct syncer *s, int fd)
{
	*GROW(s->files.others, s->files.nothers) = fd;
	s->dirty = true;
}

/* Deferred, so that all requests of one turn of the loop share a sync. */
void syncer_wait(struct syncer *s, struct syncer_wait *w, void (*done)(void *ctx, int error),
		 void *ctx)
{
	*w = (struct syncer_wait){ .done = done, .ctx = ctx };
	list_init(&w->link);
	list_add_tail(&s->waiting, &w->link);
	loop_defer(s->loop, &s->task, advance, s);
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

struct syncer *syncer_free(struct syncer *s)
{
	if (!s)
		return NULL;
	loop_task_cancel(&s->task);
	if (s->threaded)
		stop_thread(s);
	/* the command may have come too late for the worker */
	if ((s->dirty || s->state == SYNC_RUNNING) && !s->in_memory && !s->error &&
	    sync_others(&s->job) == 0)
		sync_files(&s->files);
	move_all(&s->waiting, &s->running);
	answer_all(&s->running, -ECANCELED);
	close_others(&s->files);
	close_others(&s->job);
	closep(&s->files.old);
	closep(&s->files.dirfd);
	free(s);
	return NULL;
}
