/*
 * ledger_retention.c - how far the ledger has been read, and the removal of whole closed files, oldest first, of which
 * every record has been read.
 *
 * The mark is written at once (survives the process) and made durable within a second, in a thread, so that no turn
 * waits for it. A file is removed in three steps: its last record is read; the state says that the ledger now begins
 * after that record, and this is made durable; then the file is removed.
 */
#include "usage/ledger/ledger_internal.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"

#include <fcntl.h>
#include <sys/statvfs.h>

static void on_timer(void *ctx);

/* --- how far it has been read ------------------------------------------------------------------------------ */

static void run_mark(void *ctx)
{
	struct ledger *l = ctx;

	/* A lost mark is harmless: the records count as not read, and their files stay longer. */
	(void)!fdatasync(l->retention.fd);
}

static void on_mark(void *ctx);

static void mark_later(struct ledger *l)
{
	l->retention.marked = true;
	if (!l->retention.mark_timer.due && !l->retention.mark.busy)
		loop_timer_set(l->loop, &l->retention.mark_timer, LEDGER_MARK_MS, on_mark, l);
}

/* Marks that were stored during the sync need another one. */
static void on_marked(void *ctx)
{
	struct ledger *l = ctx;

	if (l->retention.marked)
		mark_later(l);
}

static int store_state(struct ledger *l)
{
	int r = l->retention.fd < 0 ? -EBADF :
				      ledger_state_store(l->retention.fd, &l->retention.state);

	if (r < 0)
		log_error("ledger", "what was read of it cannot be written down", "text",
			  strerror(-r));
	return r;
}

static void on_mark(void *ctx)
{
	struct ledger *l = ctx;

	l->retention.marked = false;
	loop_job_start(l->loop, &l->retention.mark, run_mark, on_marked, l);
}

static void retention_mark(struct ledger *l)
{
	if (l->retention.fd < 0 || store_state(l) < 0)
		return;
	mark_later(l);
	ledger_retention_check(l);
}

void ledger_asked(struct ledger *l, uint64_t since)
{
	struct ledger_state *s = &l->retention.state;

	/* Only records that were sent to a client can have been read by one. */
	if (since <= s->read || since > s->handed)
		return;
	s->read = since;
	retention_mark(l);
}

void ledger_handed(struct ledger *l, uint64_t since, uint64_t to)
{
	struct ledger_state *s = &l->retention.state;

	/* Without the records between handed and since there is a gap, which must not count as sent. */
	if (since > s->handed || to <= s->handed)
		return;
	s->handed = to;
	retention_mark(l);
}

/* --- what is to go ------------------------------------------------------------------------------------------ */

static bool ledger_has_space(const struct ledger *l)
{
	struct statvfs v;

	return statvfs(l->set.dir, &v) < 0 || (uint64_t)v.f_bavail * v.f_frsize >= LEDGER_ROOM_MIN;
}

/* Number of the last record of the oldest closed file. */
static uint64_t oldest_last(const struct ledger *l)
{
	return (l->set.n > 1 ? l->set.closed[1].first : l->first) - 1;
}

static uint64_t total_bytes(const struct ledger *l)
{
	uint64_t bytes = (uint64_t)l->size;

	for (size_t i = 0; i < l->set.n; i++)
		bytes += (uint64_t)l->set.closed[i].size;
	return bytes;
}

static bool is_old(const struct ledger *l, uint64_t since_ms)
{
	return l->retention.age_ms && clock_real_ms() > since_ms + l->retention.age_ms;
}

/* Why the oldest closed file must be removed; NULL: it stays. */
static const char *why_remove(const struct ledger *l)
{
	const struct ledger_retention *k = &l->retention;

	if (!l->set.n || oldest_last(l) > k->state.read)
		return NULL;
	/* The state already excludes it: an earlier daemon was stopped between that and the deletion. */
	if (oldest_last(l) <= k->state.removed.n)
		return "begun before";
	if (k->pressed)
		return "no space";
	if (is_old(l, l->set.closed[0].ended_ms))
		return "age";
	return k->bytes && total_bytes(l) > k->bytes ? "size" : NULL;
}

/* Only closed files are removed, so a file that should be removed is closed first. */
static bool wants_next(const struct ledger *l)
{
	if (l->size && is_old(l, l->begun_ms))
		return true;
	return l->retention.pressed && !l->set.n && l->size >= (off_t)(4 * KIB) &&
	       l->last <= l->retention.state.read;
}

/* --- removing ------------------------------------------------------------------------------------------------- */

/* In the thread: the last record of the file. */
static void run_read_end(void *ctx)
{
	_cleanup_(buf_done) struct buf line = { 0 };
	struct ledger *l = ctx;
	struct ledger_retention *k = &l->retention;
	_cleanup_(closep) int fd = open(k->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct ledger_head h;
	struct sha256 d;
	const char *what;
	off_t end;
	int r = fd < 0 ? -errno : ledgerfile_last(fd, &line, &end, &what);

	/* The default for each early return below. */
	k->error = r < 0 ? r : -EBADMSG;
	if (r != 1 || !ledger_head_parse(buf_slice(&line), &h) || h.n != k->end.n ||
	    sha256_of(buf_slice(&line), &d) < 0)
		return;
	sha256_hex(&d, k->end.digest);
	k->error = 0;
}

/* In the thread: makes the new beginning of the ledger durable, then removes the file and frees its blocks. */
static void run_unlink(void *ctx)
{
	struct ledger *l = ctx;
	struct ledger_retention *k = &l->retention;
	_cleanup_(closep) int fd = -1;

	k->error = fdatasync(k->fd) < 0 ? -errno : 0;
	if (k->error)
		return;
	/* Held open over unlink: its blocks are then freed by the close, here in the thread. */
	fd = open(k->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (unlink(k->path) < 0 && errno != ENOENT)
		k->error = -errno;
}

/* The removal is not tried again: the reason does not go away by itself. */
static void not_removed(struct ledger *l)
{
	log_error("ledger", "a file that was read cannot be removed", "file", l->retention.path,
		  "text",
		  l->retention.error == -EBADMSG ? "it does not end in the record that it should" :
						   strerror(-l->retention.error));
	l->retention.held = true;
}

static void log_removed(const struct ledger *l, uint64_t first, uint64_t last, off_t size)
{
	log_info("ledger", "records that were read are removed", "file",
		 strrchr(l->retention.path, '/') + 1, "records",
		 SHORT_TEXT(64, "%llu-%llu", (unsigned long long)first, (unsigned long long)last),
		 "bytes", NUMBER_TEXT(size), "why", l->retention.why);
}

static void on_unlinked(void *ctx)
{
	struct ledger *l = ctx;
	struct ledger_retention *k = &l->retention;
	struct ledger_closed gone = l->set.closed[0];

	if (k->error) {
		not_removed(l);
		return;
	}
	log_removed(l, gone.first, k->end.n, gone.size);
	k->counts.removed_files++;
	k->counts.removed_records += k->end.n + 1 - gone.first;
	ledger_set_shift(&l->set);
	ledger_audit_removed(l, gone.first);
	ledger_retention_check(l);
}

static void on_end_read(void *ctx)
{
	struct ledger *l = ctx;
	struct ledger_retention *k = &l->retention;
	struct ledger_anchor before = k->state.removed;

	if (k->error) {
		not_removed(l);
		return;
	}
	/* Stored before the file goes: a start in between finds a ledger that begins earlier than it must, which is allowed. */
	k->state.removed = k->end;
	if (store_state(l) < 0) {
		k->state.removed = before;
		return;
	}
	loop_job_start(l->loop, &k->removal, run_unlink, on_unlinked, l);
}

static void remove_oldest(struct ledger *l, const char *why)
{
	struct ledger_retention *k = &l->retention;

	free(k->path);
	k->path = ledger_set_path(&l->set, l->set.closed[0].first);
	k->why = why;
	k->end = (struct ledger_anchor){ .n = oldest_last(l) };
	loop_job_start(l->loop, &k->removal, run_read_end, on_end_read, l);
}

static void look_later(struct ledger *l)
{
	struct ledger_retention *k = &l->retention;
	/* A quarter of the age, so that a file outlives its limit by at most that much. */
	uint64_t ms = k->age_ms ? MAX(MIN(k->age_ms / 4, LEDGER_KEEP_MS), 250) : LEDGER_KEEP_MS;

	if (k->age_ms || k->bytes || k->state.read >= ledger_first(l))
		loop_timer_set(l->loop, &k->timer, ms, on_timer, l);
}

void ledger_retention_check(struct ledger *l)
{
	struct ledger_retention *k = &l->retention;
	const char *why;

	if (k->fd < 0 || k->held || k->removal.busy)
		return;
	/* Checked again after each file: as few as necessary are removed. */
	k->pressed = k->pressed && !ledger_has_space(l);
	if (wants_next(l))
		ledger_rotate(l);
	why = why_remove(l);
	if (why)
		remove_oldest(l, why);
	else if (!k->timer.due)
		look_later(l);
}

static void on_timer(void *ctx)
{
	struct ledger *l = ctx;

	l->retention.pressed = !ledger_has_space(l);
	ledger_retention_check(l);
}

void ledger_pressed(struct ledger *l)
{
	loop_timer_set(l->loop, &l->retention.timer, 0, on_timer, l);
}

void ledger_hold(struct ledger *l, bool hold)
{
	l->retention.held = hold;
	ledger_retention_check(l);
}

void ledger_limit(struct ledger *l, const struct ledger_limits *limits)
{
	uint64_t max = limits->file_max ? limits->file_max : LEDGER_FILE_MAX;

	l->retention.age_ms = limits->keep_secs * 1000;
	l->retention.bytes = limits->keep_bytes;
	/* only whole files are removed, so there must be several */
	if (l->retention.bytes)
		max = MIN(max, MAX(l->retention.bytes / 8, LEDGER_FILE_MIN));
	l->file_max = max;
	ledger_retention_check(l);
}

/* --- life ------------------------------------------------------------------------------------------------------- */

void ledger_retention_open(struct ledger *l)
{
	_cleanup_(freep) char *path = ledger_set_beside(&l->set, ".state");
	struct ledger_retention *k = &l->retention;
	struct err e = { 0 };
	int r;

	k->mark.io.fd = k->removal.io.fd = -1;
	k->fd = ledger_open_state(path, &e);
	r = k->fd < 0 ? k->fd : ledger_state_load(k->fd, &k->state);
	if (r < 0)
		ledger_problem(l, "%s cannot be read: %s; all records count as not read", path,
			       r == -EBADMSG ? "it is damaged" : strerror(-r));
}

void ledger_retention_begin(struct ledger *l)
{
	struct ledger_state *s = &l->retention.state;

	/* perhaps of another ledger: nobody has read records that do not exist yet */
	s->read = MIN(s->read, l->last);
	s->handed = MIN(s->handed, l->last);
	if (l->retention.fd >= 0)
		store_state(l); /* it gets its place on the disk before the disk is full */
}

void ledger_retention_close(struct ledger *l)
{
	struct ledger_retention *k = &l->retention;

	/* Timers first: each of them can start a job. */
	loop_timer_cancel(&k->timer);
	loop_timer_cancel(&k->mark_timer);
	loop_job_end(&k->removal);
	loop_job_end(&k->mark);
	closep(&k->fd);
	free(k->path);
}

void ledger_count(const struct ledger *l, struct ledger_counts *ret)
{
	*ret = l->retention.counts;
	ret->first = ledger_first(l);
	ret->last = l->last;
	ret->read = l->retention.state.read;
	ret->files = l->set.n + 1;
	ret->bytes = total_bytes(l);
}

/* --- the next file --------------------------------------------------------------------------------------- */

/*
 * Renames the file that is written to as a closed one, and begins the next in its place. Nothing is
 * copied, and no number is in two files: if a daemon is killed at any point, all records are in files of the ledger's
 * names, once each.
 *
 *	a new file beside it, usage.jsonl.tmp	killed here: it is empty; the next start removes it
 *	usage.jsonl -> usage-<N>.jsonl		killed here: the next start makes a usage.jsonl
 *	usage.jsonl.tmp -> usage.jsonl
 *	fdatasync of the old one, the new one, and their names: in the thread; a wait for a record waits for all of it
 */
static char *next_file_path(const struct ledger *l)
{
	return ledger_set_beside(&l->set, ".jsonl.tmp");
}

void ledger_rotate_clean(struct ledger *l)
{
	_cleanup_(freep) char *next = next_file_path(l);

	unlink(next);
}

/* Never replaces another file; not every file system has a flag for that. */
static int rename_new(const char *from, const char *to)
{
	if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	if (access(to, F_OK) == 0)
		return -EEXIST;
	return rename(from, to) < 0 ? -errno : 0;
}

static int next_file_put(struct ledger *l, const char *next)
{
	_cleanup_(freep) char *closed = ledger_set_path(&l->set, l->first);
	int r = rename_new(l->path, closed);

	if (r < 0)
		return r;
	r = rename_new(next, l->path);
	if (r < 0 && rename_new(closed, l->path) < 0)
		l->misnamed = true; /* writing goes on in it, and the next start finds it */
	return r;
}

static void on_closed_durable(void *ctx, int error)
{
	struct ledger *l = ctx;

	if (error == 0)
		ledger_retention_check(l);
}

static void ledger_take_file(struct ledger *l, int fd)
{
	struct ledger_closed c = { l->first, l->size, clock_real_ms() };
	_cleanup_(freep) char *closed = ledger_set_path(&l->set, l->last + 1);

	log_info("ledger", "a file is full, the next is begun", "records",
		 NUMBER_TEXT(l->last + 1 - l->first));
	syncer_switch(l->syncer, fd, ledger_open_dir(l), ledger_below(l, closed));
	ledger_set_add(&l->set, &c);
	l->fd = fd;
	l->size = l->again_at = 0;
	l->first = l->last + 1;
	l->begun_ms = c.ended_ms;
	ledger_wait_cancel(&l->closed);
	ledger_sync(l, &l->closed, on_closed_durable, l);
}

int ledger_rotate(struct ledger *l)
{
	_cleanup_(freep) char *next = next_file_path(l);
	struct err e = { 0 };
	int r, fd;

	if (l->misnamed || l->stuck || !syncer_may_switch(l->syncer))
		return -EBUSY;
	unlink(next);
	fd = ledger_open_file(next, O_CREAT | O_EXCL, &e);
	if (fd < 0)
		return fd;
	r = next_file_put(l, next);
	if (r < 0) {
		close(fd);
		unlink(next);
		return r;
	}
	ledger_take_file(l, fd);
	return 0;
}

void ledger_rotate_for(struct ledger *l, size_t bytes)
{
	int r;

	if (!l->size || (uint64_t)l->size + bytes <= l->file_max || l->size < l->again_at)
		return;
	r = ledger_rotate(l);
	if (r == 0)
		return;
	/* Not at each record: a directory that cannot be written would cost system calls and log lines
	 * every time. */
	l->again_at = l->size + (off_t)MAX(l->file_max / 16, 4 * KIB);
	if (r != -EBUSY)
		log_warn("ledger", "no new file can be begun", "text", strerror(-r));
}
