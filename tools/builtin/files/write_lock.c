/*
 * write_lock.c - the two locks of a writer: a table for threads of this process, then flock(2) for
 * other processes.
 *
 * `held` counts the first directories of a sorted list that a call owns; write_lock_is_taken
 * searches these of all calls. flock is tried in short intervals, because a blocking flock could
 * not notice the end of the call. A directory that cannot be locked is no error: the writer still
 * compares the file before the rename.
 */
#include "tools/builtin/files/write_lock.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/list.h"
#include "base/util.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#define LOOK_MS 100 /* between two checks whether the call is to end */
#define POLL_MS 20  /* longest pause between two tries for another process's lock */

struct dir {
	dev_t dev;
	ino_t ino;
	int path; /* the caller's */
	int fd;	  /* locked, or -1 */
};

struct write_lock {
	struct list link; /* in all */
	size_t n, held;	  /* of dirs: how many, and how many of them threads keep out of */
	struct dir dirs[];
};

/* Of this process; several boxes in one process guard against each other, too. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t left = PTHREAD_COND_INITIALIZER;
static struct list all = { &all, &all };

static int write_lock_compare(const void *a, const void *b)
{
	const struct dir *x = a, *y = b;

	if (x->dev != y->dev)
		return x->dev < y->dev ? -1 : 1;
	return x->ino < y->ino ? -1 : x->ino > y->ino;
}

/* Each directory once, in order. */
static struct write_lock *guard_of(const int *fds, size_t n)
{
	struct write_lock *g = xalloc(sizeof(*g) + n * sizeof(g->dirs[0]));
	struct stat sb;
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (fds[i] >= 0 && fstat(fds[i], &sb) == 0)
			g->dirs[g->n++] = (struct dir){ sb.st_dev, sb.st_ino, fds[i], -1 };
	/* Every call locks in this order, so no two calls wait for each other. */
	qsort(g->dirs, g->n, sizeof(g->dirs[0]), write_lock_compare);
	for (size_t i = 0; i < g->n; i++)
		/* Duplicates are adjacent now, and must go: a second descriptor of one directory
		 * would wait for the lock of the first (flock(2)). */
		if (!kept || write_lock_compare(&g->dirs[kept - 1], &g->dirs[i]) != 0)
			g->dirs[kept++] = g->dirs[i];
	g->n = kept;
	return g;
}

/* The caller holds the mutex. Own directories do not match, because the list has each one
 * once. */
static bool write_lock_is_taken(const struct dir *d)
{
	list_each(g, &all, struct write_lock, link)
		for (size_t i = 0; i < g->held; i++)
			if (write_lock_compare(&g->dirs[i], d) == 0)
				return true;
	return false;
}

static int write_lock_wait_over(const struct builtin_call *c, uint64_t until, struct err *e)
{
	if (tool_cancelled(c))
		return err_set(e, -ECANCELED, 0, "CANCELLED",
			       "the call was ended: nothing was changed");
	if (clock_mono_ms() < until)
		return 0;
	return err_set(
		e, -EBUSY, 0, "BUSY",
		"somebody holds a lock (flock) on the directory for long: nothing was changed");
}

/* Keeps out threads of this process. */
static int keep_out_threads(const struct builtin_call *c, struct write_lock *g, uint64_t until,
			    struct err *e)
{
	int r = 0;

	pthread_mutex_lock(&lock);
	/* In the list while it waits: its first `held` directories are its own already. */
	list_add_tail(&all, &g->link);
	while (g->held < g->n && r == 0) {
		struct timespec at;

		if (!write_lock_is_taken(&g->dirs[g->held])) {
			g->held++;
			continue;
		}
		/* Woken by a release, or after LOOK_MS, to see whether the call was ended. */
		clock_gettime(CLOCK_MONOTONIC, &at);
		at.tv_nsec += LOOK_MS * 1000000L;
		at.tv_sec += at.tv_nsec / 1000000000L;
		at.tv_nsec %= 1000000000L;
		pthread_cond_clockwait(&left, &lock, CLOCK_MONOTONIC, &at);
		r = write_lock_wait_over(c, until, e);
	}
	pthread_mutex_unlock(&lock);
	return r;
}

/* Keeps out other processes. A directory that cannot be locked is no error. */
static int keep_out_processes(const struct builtin_call *c, struct dir *d, uint64_t until,
			      struct err *e)
{
	long pause_ms = 1;
	int r = 0;

	d->fd = openat(d->path, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	while (d->fd >= 0 && r == 0 && flock(d->fd, LOCK_EX | LOCK_NB) < 0) {
		/* This file system cannot lock. The table of this process and the check before the
		 * rename remain. */
		if (errno != EWOULDBLOCK && errno != EINTR)
			break;
		nanosleep(&(struct timespec){ .tv_nsec = pause_ms * 1000000L }, NULL);
		pause_ms = MIN(2 * pause_ms, POLL_MS);
		r = write_lock_wait_over(c, until, e);
	}
	return r;
}

int write_lock_take(const struct builtin_call *c, const int *dirs, size_t n,
		    struct write_lock **ret, struct err *e)
{
	struct write_lock *g = guard_of(dirs, n);
	uint64_t until = clock_mono_ms() + GUARD_WAIT_MS;
	int r = keep_out_threads(c, g, until, e);

	/* A patch of more directories would need too many descriptors; the check before each
	 * rename remains. */
	for (size_t i = 0; i < g->n && g->n <= GUARD_FLOCKS_MAX && r == 0; i++)
		r = keep_out_processes(c, &g->dirs[i], until, e);
	/* Releases what it got until then, and returns NULL. */
	*ret = r < 0 ? write_lock_release(g) : g;
	return r;
}

struct write_lock *write_lock_release(struct write_lock *g)
{
	if (!g)
		return NULL;
	/* The reverse order of taking: a thread that is woken below then finds the flock free. */
	for (size_t i = g->n; i-- > 0;)
		if (g->dirs[i].fd >= 0) {
			flock(g->dirs[i].fd, LOCK_UN); /* a child just forked may still have it */
			close(g->dirs[i].fd);
		}
	pthread_mutex_lock(&lock);
	list_del(&g->link);
	/* All of them: the waiting calls wait for different directories. */
	pthread_cond_broadcast(&left);
	pthread_mutex_unlock(&lock);
	free(g);
	return NULL;
}
