/*
 * spool.c - the spool of one receiver: numbers, appending, the gap, and removal of old files.
 *
 * Lines are collected in `out` and appended once in a turn of the loop, without fsync. `at` of an
 * event is its future offset: `out` is appended to the last file in order, and completely. Serials
 * of files are consecutive and files are removed from the front, so file_of is a subtraction.
 * Dropping an event enlarges the gap, the one range of numbers that the receiver is notified of.
 */
#include "outbox/spool_internal.h"

#include "base/util.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/os/file.h"

#define FILES_OF_SPOOL                                                                             \
	8 /* so many make up the bound: what is dropped for its bytes is an eighth of them */

static struct spool_file *last_file(const struct spool *s)
{
	return &s->files[s->nfiles - 1];
}

char *spool_path(const struct spool *s, uint64_t serial)
{
	return file_join(s->dir, SHORT_TEXT(32, "%020llu.spool", (unsigned long long)serial));
}

/* --- later ------------------------------------------------------------------------------------------------ */

static void flush_task(void *ctx)
{
	(void)spool_flush(ctx);
}

static void flush_later(struct spool *s)
{
	loop_defer(s->loop, &s->task, flush_task, s);
}

/* --- the gap ---------------------------------------------------------------------------------------------- */

/* Numbers start at 1, so from 0 means that there is no gap. */
void spool_gap_grow(struct spool *s, uint64_t from, uint64_t to)
{
	s->from = s->from ? MIN(s->from, from) : from;
	s->to = MAX(s->to, to);
	s->gap_changed = true;
}

bool spool_gap(const struct spool *s, uint64_t *from, uint64_t *to)
{
	*from = s->from;
	*to = s->to;
	return s->from != 0;
}

/* --- events in memory ------------------------------------------------------------------------------------- */

struct spooled *spool_take(struct spool *s, const struct spool_record *r, off_t at, uint32_t size)
{
	struct spooled *x = new0(struct spooled);

	*x = (struct spooled){ .n = r->n,
			       .time_ms = r->time_ms,
			       .file = last_file(s)->serial,
			       .at = at,
			       .size = size };
	list_init(&x->queued);
	list_add_tail(&s->waiting, &x->link);
	s->nwaiting++;
	last_file(s)->waiting++;
	s->ops->added(s->ctx, x, r->session);
	return x;
}

static struct spool_file *spool_file_of(const struct spool *s, const struct spooled *x)
{
	return &s->files[x->file - s->files[0].serial];
}

void spool_release(struct spool *s, struct spooled *x)
{
	/* First: the owner takes x out of its lane and detaches a request that runs. */
	s->ops->gone(s->ctx, x);
	spool_file_of(s, x)->waiting--;
	s->nwaiting--;
	list_del(&x->link);
	list_del(&x->queued);
	free(x);
}

/* Without that line the event is sent once more after a restart, which costs less than memory without bound while the disk takes
 * nothing. */
static void spool_put_done(struct spool *s, const struct spooled *x)
{
	struct spool_record r = { .line = SPOOL_DONE, .n = x->n };

	if (!s->error || buf_len(&s->out) < WEBHOOK_UNWRITTEN_MAX)
		(void)spool_record_put(&s->out, &r);
}

static void spool_abandon(struct spool *s, struct spooled *x)
{
	spool_gap_grow(s, x->n, x->n);
	s->dropped++;
	spool_release(s, x);
}

void spool_drop(struct spool *s, struct spooled *x)
{
	spool_put_done(s, x);
	spool_abandon(s, x);
	flush_later(s);
}

static struct spooled *spool_oldest(const struct spool *s)
{
	return list_empty(&s->waiting) ? NULL : list_first(&s->waiting, struct spooled, link);
}

/* --- writing ---------------------------------------------------------------------------------------------- */

/* Each file begins with all that is known of the spool, because the files before it go. */
static void spool_put_head(struct spool *s)
{
	struct spool_record r = { .line = SPOOL_HEAD,
				  .n = s->next,
				  .from = s->from,
				  .to = s->to,
				  .spool = slice_of(s->id),
				  .sandbox = slice_of(s->sandbox),
				  .events = slice_of(s->events) };

	(void)spool_record_put(&s->out, &r);
	s->gap_changed = false;
}

int spool_roll(struct spool *s)
{
	uint64_t serial = s->nfiles ? last_file(s)->serial + 1 : 1;
	_cleanup_(freep) char *path = spool_path(s, serial);
	int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return -errno;
	*GROW(s->files, s->nfiles) = (struct spool_file){ .serial = serial, .fd = fd };
	spool_put_head(s);
	return 0;
}

static void forget_oldest_file(struct spool *s)
{
	_cleanup_(freep) char *path = spool_path(s, s->files[0].serial);

	close(s->files[0].fd);
	unlink(path);
	/* The files stay in order of consecutive serials, on which spool_file_of relies. */
	memmove(s->files, s->files + 1, --s->nfiles * sizeof(*s->files));
}

/* What is not waited for any more. */
static void spool_tidy(struct spool *s)
{
	while (s->nfiles > 1 && !s->files[0].waiting)
		forget_oldest_file(s);
}

static bool last_is_full(const struct spool *s)
{
	off_t size = last_file(s)->size;

	/* Without waiting events a small file counts as full: once it is rolled, spool_tidy can remove it. */
	return size >= (off_t)(s->bounds.bytes / FILES_OF_SPOOL) ||
	       (!s->nwaiting && size >= (off_t)WEBHOOK_TIDY_BYTES);
}

static int spool_write_out(struct spool *s)
{
	struct slice bytes = buf_slice(&s->out);
	struct spool_file *f = last_file(s);
	int r = file_write_all(f->fd, bytes.p, bytes.n);

	if (r < 0) {
		(void)!ftruncate(f->fd, f->size); /* part of a line may not stay */
		return r;
	}
	f->size += (off_t)bytes.n;
	buf_reset(&s->out);
	buf_trim(&s->out, IO_KEEP_BYTES);
	return 0;
}

static int spool_write_all(struct spool *s)
{
	int r = 0;

	while (r == 0 && buf_len(&s->out)) {
		r = spool_write_out(s);
		/* spool_roll puts the head of the new file into `out`, which the loop then
		 * writes. */
		if (r == 0 && last_is_full(s))
			r = spool_roll(s);
	}
	return r;
}

static void note_error(struct spool *s, int error)
{
	if (error && error != s->error)
		log_error("outbox", "webhooks cannot be written to disk", "dir", s->dir, "text",
			  strerror(-error));
	else if (!error && s->error)
		log_info("outbox", "webhooks can be written to disk again", "dir", s->dir);
	s->error = error;
}

int spool_flush(struct spool *s)
{
	bool had;

	if (s->gap_changed) {
		struct spool_record r = { .line = SPOOL_GAP, .from = s->from, .to = s->to };

		(void)spool_record_put(&s->out, &r);
		s->gap_changed = false;
	}
	had = buf_len(&s->out) != 0;
	note_error(s, spool_write_all(s));
	spool_tidy(s);
	/* Not while closing: the receiver has cancelled its task, and written() would schedule it again. */
	if (s->error)
		loop_timer_set(s->loop, &s->again, WEBHOOK_REWRITE_MS, flush_task, s);
	else if (had && !s->closing)
		s->ops->written(s->ctx);
	return s->error;
}

/* --- bounds ----------------------------------------------------------------------------------------------- */

static uint64_t all_bytes(const struct spool *s)
{
	uint64_t n = buf_len(&s->out);

	for (size_t i = 0; i < s->nfiles; i++)
		n += (uint64_t)s->files[i].size;
	return n;
}

/* The gap is on disk before the file is gone, if it can be written at all. */
static void drop_oldest_file(struct spool *s)
{
	uint64_t serial = s->files[0].serial;
	struct spooled *x;

	while ((x = spool_oldest(s)) && x->file == serial)
		spool_abandon(s, x);
	(void)spool_flush(s);
	if (s->nfiles > 1 && s->files[0].serial == serial)
		forget_oldest_file(s);
}

/* Events are dropped one by one, bytes by whole files. The last file stays, as new lines are appended to it. */
static void spool_make_room(struct spool *s, size_t bytes)
{
	while (s->nwaiting >= s->bounds.events)
		spool_drop(s, spool_oldest(s));
	while (s->nfiles > 1 && all_bytes(s) + bytes > s->bounds.bytes)
		drop_oldest_file(s);
}

void spool_expire(struct spool *s, uint64_t now)
{
	struct spooled *x;

	while ((x = spool_oldest(s)) && x->time_ms + s->bounds.age_ms <= now)
		spool_drop(s, x);
}

void spool_bound(struct spool *s, const struct spool_bounds *bounds)
{
	s->bounds = *bounds;
}

/* --- what comes and goes ---------------------------------------------------------------------------------- */

/* The event uses a number although it is not stored: by the gap the receiver is notified of the loss. */
void spool_lose(struct spool *s)
{
	spool_gap_grow(s, s->next, s->next);
	s->next++;
	s->dropped++;
	flush_later(s);
}

uint64_t spool_add(struct spool *s, const struct spool_record *given)
{
	struct spool_record r = *given;
	off_t at;

	spool_make_room(s, r.data.n);
	if (s->error && buf_len(&s->out) + r.data.n > WEBHOOK_UNWRITTEN_MAX) {
		spool_lose(s);
		return s->next - 1;
	}
	r.line = SPOOL_EVENT;
	r.n = s->next++;
	/* After spool_make_room, which can write `out` and start another file. */
	at = (off_t)buf_len(&s->out);
	if (spool_record_put(&s->out, &r) == 0)
		spool_take(s, &r, last_file(s)->size + at,
			   (uint32_t)(buf_len(&s->out) - (size_t)at));
	flush_later(s);
	return r.n;
}

void spool_done(struct spool *s, struct spooled *x)
{
	spool_put_done(s, x);
	spool_release(s, x);
	flush_later(s);
}

void spool_clear(struct spool *s)
{
	struct spooled *x;

	while ((x = spool_oldest(s)))
		spool_drop(s, x);
}

/* The gap can have grown while the message was sent: numbers above `to` stay in it. */
void spool_gap_told(struct spool *s, uint64_t to)
{
	if (!s->from || to < s->from)
		return;
	s->from = to < s->to ? to + 1 : 0;
	s->to = s->from ? s->to : 0;
	s->gap_changed = true;
	flush_later(s);
}

bool spool_is_written(const struct spool *s, const struct spooled *x)
{
	/* at is where it will be, from the moment it was added */
	return x->at + (off_t)x->size <= spool_file_of(s, x)->size;
}

int spool_read(const struct spool *s, const struct spooled *x, struct buf *b,
	       struct spool_record *ret)
{
	ssize_t n;

	if (buf_reserve(b, x->size) < 0)
		return -ENOMEM;
	n = pread(spool_file_of(s, x)->fd, b->data + b->len, x->size, x->at);
	if (n < 0)
		return -errno;
	if ((size_t)n != x->size)
		return -EBADMSG;
	b->len += x->size;
	/* Without the newline. A whole line of another event is refused, too: the file was changed by someone
	 * else. */
	return spool_record_parse((struct slice){ b->data + b->len - n, (size_t)n - 1 }, ret) < 0 ||
			       ret->line != SPOOL_EVENT || ret->n != x->n ?
		       -EBADMSG :
		       0;
}

/* --- its life --------------------------------------------------------------------------------------------- */

void spool_describe(struct spool *s, const char *sandbox, const char *events)
{
	if (strcmp(s->sandbox, sandbox) == 0 && strcmp(s->events, events) == 0)
		return;
	xstrset(&s->sandbox, sandbox);
	xstrset(&s->events, events);
	/* Only the first line of a file has these, so a change starts a new file; `out` still belongs to the
	 * old one. */
	if (spool_flush(s) == 0)
		note_error(s, spool_roll(s));
	flush_later(s);
}

const char *spool_sandbox(const struct spool *s)
{
	return s->sandbox;
}

const char *spool_events(const struct spool *s)
{
	return s->events;
}

const char *spool_id(const struct spool *s)
{
	return s->id;
}

void spool_count(const struct spool *s, struct spool_counts *ret)
{
	*ret = (struct spool_counts){ .waiting = s->nwaiting,
				      .bytes = all_bytes(s),
				      .dropped = s->dropped,
				      .damaged = s->damaged,
				      .error = s->error };
}

static struct spool *spool_free(struct spool *s)
{
	loop_task_cancel(&s->task);
	loop_timer_cancel(&s->again);
	/* Without ops->gone: the receiver frees its lanes itself, after the spool. */
	list_each(x, &s->waiting, struct spooled, link) {
		list_del(&x->queued);
		free(x);
	}
	for (size_t i = 0; i < s->nfiles; i++)
		close(s->files[i].fd);
	free(s->files);
	buf_done(&s->out);
	free_each(s->dir, s->sandbox, s->events, s);
	return NULL;
}

struct spool *spool_open(struct loop *loop, const char *dir, const struct spool_bounds *bounds,
			 const struct spool_ops *ops, void *ctx, struct err *e)
{
	struct spool *s = new0(struct spool);
	int r;

	s->loop = loop;
	s->dir = xstrdup(dir);
	s->sandbox = xstrdup("");
	s->events = xstrdup("");
	s->bounds = *bounds;
	s->ops = ops;
	s->ctx = ctx;
	s->next = 1;
	list_init(&s->waiting);
	/* The id of a new spool; the head of an existing one replaces it. */
	random_hex(s->id, SPOOL_ID_BYTES);
	r = spool_load(s, e);
	if (r < 0)
		return spool_free(s);
	flush_later(s);
	return s;
}

struct spool *spool_close(struct spool *s)
{
	if (!s)
		return NULL;
	s->closing = true;
	if (s->gap_changed || buf_len(&s->out))
		(void)spool_flush(s);
	return spool_free(s);
}

struct spool *spool_remove(struct spool *s)
{
	_cleanup_(freep) char *dir = xstrdup(s->dir);

	spool_free(s);
	(void)file_remove_tree(dir);
	return NULL;
}
