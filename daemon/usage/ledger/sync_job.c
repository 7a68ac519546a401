/*
 * sync_job.c - what one sync makes durable, and by which of two ways: usage.ahead or fdatasync.
 *
 * A file can use usage.ahead once its beginning and its name are durable (`based`); all files of a
 * job take the same way. Descriptors are duplicates, because a journal can be closed before its
 * sync. fdatasync runs in the order of the chain, the main file last, so its durable part has no
 * hole. usage.ahead is rewound only after every file is durable in its place.
 */
#include "usage/ledger/sync_job.h"

#include "base/util.h"

#include <fcntl.h>

/* --- what is known of files ------------------------------------------------------------------------------- */

void synced_init(struct synced *s, int fd, int dirfd, const char *name)
{
	*s = (struct synced){ .old = -1, .dirfd = dirfd };
	s->main = (struct synced_file){ .name = xstrdup(name), .fd = fd };
}

static void close_others(int **others, size_t *n)
{
	for (size_t i = 0; i < *n; i++)
		close((*others)[i]);
	free(TAKE_PTR(*others));
	*n = 0;
}

void synced_done(struct synced *s)
{
	for (size_t i = 0; i < s->n; i++) {
		closep(&s->file[i].fd);
		free(s->file[i].name);
	}
	close_others(&s->others, &s->nothers);
	closep(&s->old);
	closep(&s->dirfd);
	free(s->main.name);
}

void synced_switch(struct synced *s, int fd, int dirfd, const char *name)
{
	/* a directory that a running sync has not synced yet is the same one */
	if (s->dirfd >= 0)
		closep(&dirfd);
	else
		s->dirfd = dirfd;
	s->old = s->main.fd;
	free(s->main.name);
	s->main = (struct synced_file){ .name = xstrdup(name), .fd = fd };
}

static bool idle(const struct synced_file *f)
{
	return !f->wanted && !f->running && !f->ahead;
}

/* One that is not followed yet takes a free place, or that of an idle one. NULL: there is none. */
static struct synced_file *synced_follow(struct synced *s, const char *name)
{
	struct synced_file *f = NULL;

	for (size_t i = 0; i < s->n; i++) {
		if (strcmp(s->file[i].name, name) == 0)
			return &s->file[i];
		if (idle(&s->file[i]))
			f = &s->file[i];
	}
	if (s->n < USAGE_AHEAD_FILES_MAX)
		f = &s->file[s->n++];
	else if (!f)
		return NULL;
	free(f->name);
	*f = (struct synced_file){ .name = xstrdup(name), .fd = -1 };
	return f;
}

/* Another file has taken its name. */
static void synced_file_reset(struct synced_file *f)
{
	closep(&f->fd);
	f->based = f->ahead = false;
	f->until = 0;
}

/* A descriptor of our own, or -errno. */
static int own(int fd)
{
	/* Not below 3, so that it never takes the place of a closed standard descriptor. */
	int ours = fcntl(fd, F_DUPFD_CLOEXEC, 3);

	return ours < 0 ? -errno : ours;
}

static int add_other(struct synced *s, int fd)
{
	int ours = own(fd);

	if (ours >= 0)
		*GROW(s->others, s->nothers) = ours;
	return MIN(ours, 0);
}

int synced_also(struct synced *s, const struct sync_also *also)
{
	struct synced_file *f = also->name ? synced_follow(s, also->name) : NULL;

	/* A new file under the name of one in a running job: its pieces still belong to the old file. */
	if (!f || (also->fresh && f->running))
		return add_other(s, also->fd);
	if (also->fresh)
		synced_file_reset(f);
	if (f->fd < 0)
		f->fd = own(also->fd);
	if (f->fd < 0)
		return f->fd;
	f->to = also->size;
	/* A file that became shorter was truncated: its durable beginning is unknown again. */
	f->based &= f->to >= f->until;
	f->wanted = true;
	return 0;
}

bool synced_ahead(const struct synced *s)
{
	bool any = s->main.ahead;

	for (size_t i = 0; i < s->n; i++)
		any |= s->file[i].ahead;
	return any;
}

void synced_again(struct synced *s)
{
	s->settle = true;
	for (size_t i = 0; i < s->n; i++)
		s->file[i].wanted |= s->file[i].running;
}

/* --- a job ------------------------------------------------------------------------------------------------ */

static struct usage_ahead_piece piece_of(const struct synced_file *f)
{
	return (struct usage_ahead_piece){ f->name, f->fd, f->until, f->to };
}

/* Bytes in a frame; 0: it cannot be in one, or has nothing new. */
static size_t bytes_of(const struct synced_file *f)
{
	struct usage_ahead_piece p = piece_of(f);

	return f->to > f->until ? usage_ahead_need(&p) : 0;
}

/* Adds what the file needs. False: it must be made durable where it is. */
static bool add_need(const struct synced_file *f, size_t *need)
{
	size_t n = bytes_of(f);

	*need += n;
	return f->based && (n || f->to == f->until);
}

/* Files without a frame and new names need a real sync anyway, and one way is enough for a job. */
static bool can_be_ahead(const struct synced *s, const struct usage_ahead *a)
{
	size_t need = 0;

	if (!usage_ahead_ready(a) || s->settle || s->nothers || s->old >= 0 || s->dirfd >= 0 ||
	    !add_need(&s->main, &need))
		return false;
	for (size_t i = 0; i < s->n; i++)
		if (s->file[i].wanted && !add_need(&s->file[i], &need))
			return false;
	return usage_ahead_fits(a, need);
}

static void job_take_file(struct sync_job *j, struct synced_file *f, bool also)
{
	/* In place, files whose bytes are only in usage.ahead are synced too: the rewind afterwards
	 * drops their frames. */
	bool due = j->ahead ? f->wanted && f->to > f->until : f->wanted || f->ahead || also;

	f->running = due;
	f->wanted = false;
	if (!due)
		return;
	f->running_to = f->to;
	j->piece[j->n++] = piece_of(f);
}

void sync_job_take(struct synced *s, const struct usage_ahead *a, struct sync_job *ret)
{
	/* Every sync is of the main file; the others only if they were named since the last one. */
	s->main.wanted = true;
	ret->ahead = can_be_ahead(s, a);
	ret->n = 0;
	for (size_t i = 0; i < s->n; i++)
		job_take_file(ret, &s->file[i], false);
	/* Last, because sync_files syncs the pieces in this order. */
	job_take_file(ret, &s->main, true);
	ret->others = TAKE_PTR(s->others);
	ret->nothers = s->nothers;
	ret->old = s->old;
	ret->dirfd = s->dirfd;
	s->nothers = 0;
	s->settle = false;
}

/* All of it is on its way to the disk before one is waited for: so the file system commits once and not for each. That is
 * a hint, and not all have it. */
static void begin_writing(const struct sync_job *j)
{
	if (j->n + j->nothers < 2)
		return;
	for (size_t i = 0; i < j->nothers; i++)
		sync_file_range(j->others[i], 0, 0, SYNC_FILE_RANGE_WRITE);
	for (size_t i = 0; i < j->n; i++)
		sync_file_range(j->piece[i].fd, 0, 0, SYNC_FILE_RANGE_WRITE);
}

int sync_job_others(const struct sync_job *j)
{
	for (size_t i = 0; i < j->nothers; i++)
		if (fdatasync(j->others[i]) < 0)
			return -errno;
	return 0;
}

/* The older file before the one that is written to, which is the last: the durable part of the chain has no hole. */
static int sync_files(const struct sync_job *j)
{
	int r;

	begin_writing(j);
	r = sync_job_others(j);
	if (r < 0)
		return r;
	if (j->old >= 0 && fdatasync(j->old) < 0)
		return -errno;
	for (size_t i = 0; i < j->n; i++)
		if (fdatasync(j->piece[i].fd) < 0)
			return -errno;
	/* file systems that cannot sync a directory return EINVAL */
	if (j->dirfd >= 0 && fsync(j->dirfd) < 0 && errno != EINVAL)
		return -errno;
	return 0;
}

int sync_job_run(const struct sync_job *j, struct usage_ahead *a)
{
	int r = 0;

	if (j->ahead && (!j->n || usage_ahead_put(a, j->piece, j->n) == 0))
		return 0;
	r = sync_files(j);
	/* A job that was meant for usage.ahead leaves out files with older frames: these must stay. */
	if (r == 0 && !j->ahead)
		usage_ahead_rewind(a);
	return r;
}

/* The job has made it durable: it is not needed any more, unless another has taken its place meanwhile. */
static void drop_synced(int *fd, int synced)
{
	if (*fd < 0 || *fd != synced)
		return;
	close(*fd);
	*fd = -1;
}

static void end_file(struct synced_file *f, bool ahead)
{
	if (!f->running)
		return;
	f->running = false;
	f->until = f->running_to;
	f->ahead = ahead;
	f->based |= !ahead;
}

void sync_job_end(struct synced *s, struct sync_job *j, int result)
{
	close_others(&j->others, &j->nothers);
	/* The error is final for the syncer (syncer.h): nothing is marked durable, and the frames stay
	 * for a restore. */
	if (result < 0)
		return;
	drop_synced(&s->old, j->old);
	drop_synced(&s->dirfd, j->dirfd);
	end_file(&s->main, j->ahead);
	for (size_t i = 0; i < s->n; i++) {
		end_file(&s->file[i], j->ahead);
		if (idle(&s->file[i]))
			closep(&s->file[i].fd);
	}
}
