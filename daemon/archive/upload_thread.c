/*
 * upload_thread.c - hashes and writes one upload on its own thread, so that a slow disk does not
 * block the loop.
 *
 * Threads. One thread for each upload hashes and writes its bytes (upload_thread.h): a write can wait for the disk as
 * long as it likes and no session notices. Everything in this header is called on the loop's thread, and only looks up,
 * renames or removes.
 *
 * The loop queues pieces and flags under the mutex. The thread publishes its progress under it, and
 * wakes the loop by an eventfd; merged wakeups do no harm.
 *
 * A restart drops the queued pieces and has priority. Otherwise the order is pieces, then finish,
 * then end: an ended upload has written every byte it accepted, and can be resumed. After an error
 * the thread discards pieces but still counts them, so that the loop's back-pressure is released.
 */
#include "archive/upload_thread.h"

#include "base/os/file.h"
#include "base/os/threads.h"

#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

#define NICENESS 10

struct upload_piece {
	struct list link;
	size_t n;
	char data[];
};

struct upload_thread {
	char *part, *whole;
	struct sha256 digest;
	int fd;
	/* the thread's */
	struct sha256_stream hash;
	uint64_t flushed;
	enum archive_format found;
	/* the loop's */
	struct loop *loop;
	struct loop_io io;
	void (*event)(void *ctx);
	void *ctx;
	pthread_t thread;
	bool joined;
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	/* under the mutex */
	struct list pieces;
	bool resume, restart, finish, end;
	enum archive_format declared;
	struct upload_progress view;
};

/* --- in the thread ------------------------------------------------------------------------------------------ */

static void upload_notify(struct upload_thread *w)
{
	uint64_t one = 1;

	(void)RETRY(write(w->io.fd, &one, sizeof(one)));
}

static void set_result(struct upload_thread *w, enum upload_result result, int error)
{
	pthread_mutex_lock(&w->mutex);
	w->view.result = result;
	w->view.error = error;
	w->view.found = w->found;
	pthread_mutex_unlock(&w->mutex);
	upload_notify(w);
}

static bool is_interrupted(struct upload_thread *w)
{
	HOLD(&w->mutex);
	return w->restart || w->end;
}

/* Hashes what earlier uploads brought. */
/* Interrupted by a restart, which makes the hash useless, and by an end, which must not wait for a large part. */
static int hash_prefix(struct upload_thread *w)
{
	_cleanup_(freep) char *buf = xalloc(ARCHIVE_PIECE_BYTES);
	uint64_t at = 0;

	posix_fadvise(w->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	while (!is_interrupted(w)) {
		ssize_t n = RETRY(pread(w->fd, buf, ARCHIVE_PIECE_BYTES, (off_t)at));

		if (n < 0)
			return -errno;
		if (n == 0)
			return 0;
		sha256_add(&w->hash, buf, (size_t)n);
		at += (uint64_t)n;
	}
	return 0;
}

static int upload_begin(struct upload_thread *w, bool resume)
{
	sha256_begin(&w->hash);
	w->flushed = 0;
	if (resume)
		return hash_prefix(w);
	pthread_mutex_lock(&w->mutex);
	w->view.size = 0;
	pthread_mutex_unlock(&w->mutex);
	return ftruncate(w->fd, 0) < 0 ? -errno : 0;
}

/* Starts the write to disk early, so that the sync at the end has little to wait for. */
static void upload_flush(struct upload_thread *w, uint64_t size)
{
	if (size < w->flushed + ARCHIVE_FLUSH_BYTES)
		return;
	(void)sync_file_range(w->fd, (off_t)w->flushed, (off_t)(size - w->flushed),
			      SYNC_FILE_RANGE_WRITE);
	w->flushed = size;
}

static int upload_take_piece(struct upload_thread *w, const struct upload_piece *p)
{
	sha256_add(&w->hash, p->data, p->n);
	return file_write_all(w->fd, p->data, p->n); /* O_APPEND */
}

static enum upload_result upload_judge(struct upload_thread *w, enum archive_format declared)
{
	char head[ARCHIVE_HEAD_BYTES];
	struct sha256 got;
	ssize_t n;

	sha256_end(&w->hash, &got);
	if (!sha256_equal(&got, &w->digest))
		return UPLOAD_BAD_HASH;
	n = pread(w->fd, head, sizeof(head), 0);
	if (n < 0)
		return UPLOAD_FAILED;
	w->found = archive_format_of((struct slice){ head, (size_t)n });
	if (w->found == ARCHIVE_UNKNOWN)
		return UPLOAD_BAD_FORMAT;
	return declared != ARCHIVE_UNKNOWN && declared != w->found ? UPLOAD_OTHER_FORMAT :
								     UPLOAD_PLACED;
}

static void upload_place(struct upload_thread *w, enum archive_format declared)
{
	enum upload_result result = upload_judge(w, declared);

	if (result != UPLOAD_PLACED) {
		set_result(w, result, -EIO);
		return;
	}
	/* The client is answered after the rename, before the sync. A crash between the two leaves
	 * a writable file, which scan.c trusts only until the machine restarts. */
	if (rename(w->part, w->whole) < 0) {
		set_result(w, UPLOAD_FAILED, -errno);
		return;
	}
	set_result(w, UPLOAD_PLACED, 0);
	/* the mode of the file says whether its bytes are on disk; its name is only a loss */
	if (fdatasync(w->fd) == 0 && fchmod(w->fd, 0400) == 0)
		(void)file_sync_name(w->whole);
}

/* The next thing to do, taken under the mutex. */
struct task {
	struct upload_piece *piece;
	bool restart, finish, end;
	enum archive_format declared;
};

/* The flags are read and cleared together with the piece: a command that is given later is the next task's. */
static struct task next_task(struct upload_thread *w)
{
	struct task t = { 0 };

	HOLD(&w->mutex);
	while (!w->end && !w->restart && !w->finish && list_empty(&w->pieces))
		pthread_cond_wait(&w->cond, &w->mutex);
	t.declared = w->declared;
	t.restart = w->restart;
	w->restart = false;
	if (!t.restart && !list_empty(&w->pieces)) {
		t.piece = list_first(&w->pieces, struct upload_piece, link);
		list_del(&t.piece->link);
	}
	if (!t.restart && !t.piece) {
		t.finish = w->finish;
		w->finish = false;
		t.end = w->end && !t.finish;
	}
	return t;
}

/* Wakes the loop only when the queue falls below half: once per stretch of back-pressure, not once per piece. */
static void piece_done(struct upload_thread *w, const struct upload_piece *p)
{
	uint64_t size;
	bool wake;

	pthread_mutex_lock(&w->mutex);
	wake = w->view.queued > ARCHIVE_QUEUE_MAX / 2;
	w->view.queued -= p->n;
	wake = wake && w->view.queued <= ARCHIVE_QUEUE_MAX / 2;
	w->view.size += p->n;
	size = w->view.size;
	pthread_mutex_unlock(&w->mutex);
	if (wake)
		upload_notify(w);
	upload_flush(w, size);
}

/* A failure is reported once. Later commands are still taken, so that the loop never waits for this thread. */
static void *upload_work(void *ctx)
{
	struct upload_thread *w = ctx;
	bool failed = false;
	int r;

	(void)setpriority(PRIO_PROCESS, (id_t)gettid(),
			  NICENESS); /* of this thread: sessions come first */
	r = upload_begin(w, w->resume);
	for (;;) {
		struct task t;

		if (r < 0 && !failed) {
			failed = true;
			set_result(w, UPLOAD_FAILED, r);
		}
		t = next_task(w);
		if (t.end)
			break;
		if (t.restart && !failed)
			r = upload_begin(w, false);
		if (t.piece && !failed)
			r = upload_take_piece(w, t.piece);
		if (t.piece)
			piece_done(w, t.piece);
		free(t.piece);
		if (t.finish && !failed)
			upload_place(w, t.declared);
	}
	pthread_mutex_lock(&w->mutex);
	w->view.ended = true;
	pthread_mutex_unlock(&w->mutex);
	upload_notify(w);
	return NULL;
}

/* --- on the loop -------------------------------------------------------------------------------------------- */

/* Merged wakeups are one event: an eventfd adds them up. */
static void upload_on_event(void *ctx, uint32_t events _unused_)
{
	struct upload_thread *w = ctx;
	uint64_t n;

	if (read(w->io.fd, &n, sizeof(n)) == (ssize_t)sizeof(n))
		w->event(w->ctx);
}

static int open_part(struct upload_thread *w)
{
	struct stat st;

	w->fd = open(w->part, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (w->fd < 0 || fstat(w->fd, &st) < 0)
		return -errno;
	w->view.size = w->resume ? (uint64_t)st.st_size : 0;
	w->io.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return w->io.fd < 0 ? -errno : loop_io_set(w->loop, &w->io, EPOLLIN);
}

struct upload_thread *upload_thread_start(struct loop *loop, const struct upload_thread_job *job,
					  void (*event)(void *ctx), void *ctx, int *error)
{
	struct upload_thread *w = new0(struct upload_thread);
	int r;

	w->loop = loop;
	w->event = event;
	w->ctx = ctx;
	w->part = xstrdup(job->part);
	w->whole = xstrdup(job->whole);
	w->digest = job->digest;
	w->resume = job->resume;
	w->fd = -1;
	w->joined = true;
	w->io = (struct loop_io){ .fd = -1, .fn = upload_on_event, .ctx = w };
	list_init(&w->pieces);
	pthread_mutex_init(&w->mutex, NULL);
	pthread_cond_init(&w->cond, NULL);
	r = open_part(w);
	if (r == 0)
		r = thread_start(&w->thread, upload_work, w);
	*error = r;
	if (r < 0)
		return upload_thread_free(w);
	w->joined = false;
	return w;
}

void upload_thread_give(struct upload_thread *w, struct slice piece)
{
	struct upload_piece *p;

	if (!piece.n)
		return;
	p = malloc(sizeof(*p) + piece.n);
	if (!p)
		abort();
	p->n = piece.n;
	memcpy(p->data, piece.p, piece.n);
	list_init(&p->link);
	HOLD(&w->mutex);
	list_add_tail(&w->pieces, &p->link);
	w->view.queued += piece.n;
	pthread_cond_signal(&w->cond);
}

static void drop_pieces(struct upload_thread *w)
{
	list_each(p, &w->pieces, struct upload_piece, link) {
		list_del(&p->link);
		w->view.queued -= p->n;
		free(p);
	}
}

void upload_thread_finish(struct upload_thread *w, enum archive_format declared)
{
	HOLD(&w->mutex);
	w->finish = true;
	w->declared = declared;
	pthread_cond_signal(&w->cond);
}

void upload_thread_restart(struct upload_thread *w)
{
	HOLD(&w->mutex);
	drop_pieces(w);
	w->restart = true;
	pthread_cond_signal(&w->cond);
}

void upload_thread_end(struct upload_thread *w)
{
	HOLD(&w->mutex);
	w->end = true;
	pthread_cond_signal(&w->cond);
}

struct upload_progress upload_thread_progress(struct upload_thread *w)
{
	HOLD(&w->mutex);
	return w->view;
}

struct upload_thread *upload_thread_free(struct upload_thread *w)
{
	if (!w)
		return NULL;
	if (!w->joined) {
		upload_thread_end(w);
		pthread_join(w->thread, NULL);
	}
	drop_pieces(w);
	if (w->io.fd >= 0) {
		loop_io_close(w->loop, &w->io);
	}
	closep(&w->fd);
	pthread_cond_destroy(&w->cond);
	pthread_mutex_destroy(&w->mutex);
	free_each(w->part, w->whole, w);
	return NULL;
}
