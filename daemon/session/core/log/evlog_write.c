/*
 * evlog_write.c - writing the journal of an event log, what follows when it cannot be written, and
 * cutting off its head.
 *
 * A write that fails refuses further turns and is retried until there is space. Cutting keeps the
 * length of the file and its offsets, so the index stays valid: what is freed becomes a hole.
 */
#include "session/core/log/evlog_internal.h"

#include "base/os/file.h"
#include "base/log.h"

#include <sys/resource.h>
#include <sys/statvfs.h>

uint64_t evlog_readable(const struct evlog *l)
{
	return l->path && (l->error || l->large) ? l->flushed : l->last;
}

/* Room for what could not be written. Any other fault shows only when it is tried again. */
static bool journal_has_space(const struct evlog *l)
{
	struct statvfs sv;
	struct rlimit rl;

	if (l->written - l->freed + (off_t)l->need > l->journal_max)
		return false;
	/* A write above RLIMIT_FSIZE fails with EFBIG, and freed bytes do not help: the limit is on the length. */
	if (getrlimit(RLIMIT_FSIZE, &rl) == 0 && rl.rlim_cur != RLIM_INFINITY &&
	    (rlim_t)l->written + l->need > rl.rlim_cur)
		return false;
	/* If statvfs fails, the write itself must show whether there is space. */
	return statvfs(l->path, &sv) < 0 || (uint64_t)sv.f_bavail * sv.f_frsize >= l->need;
}

static void journal_retry(void *ctx)
{
	struct evlog *l = ctx;

	if (!journal_has_space(l))
		evlog_make_room(l, l->error);
	if (!journal_has_space(l)) {
		loop_timer_set(l->loop, &l->retry_timer, JOURNAL_RETRY_MS, journal_retry, l);
		return;
	}
	l->error = 0;
	l->need = 0;
	/* If this fails, evlog_fail_for has set the timer again. */
	if (evlog_flush(l) == 0 && l->recovered)
		l->recovered(l->ctx);
}

void evlog_try_again(struct evlog *l)
{
	if (!l->error || !journal_has_space(l))
		return;
	loop_timer_cancel(&l->retry_timer);
	journal_retry(l);
}

int evlog_fail_for(struct evlog *l, int error, size_t need)
{
	l->error = error;
	l->need = MAX(l->need, need);
	loop_timer_set(l->loop, &l->retry_timer, JOURNAL_RETRY_MS, journal_retry, l);
	return error;
}

/* A part of a line may not stay: others follow. */
static int write_pending(struct evlog *l)
{
	int r = evlog_journal_get(l, 0);

	/* The last write failed, and its ftruncate may have failed with it. */
	if (r == 0 && l->error)
		(void)!ftruncate(l->fd, l->written);
	if (r == 0)
		r = file_write_all(l->fd, l->pending.data + l->pending.pos, buf_len(&l->pending));
	if (r < 0 && l->fd >= 0)
		(void)!ftruncate(l->fd, l->written);
	evlog_journal_put(l);
	return r;
}

int evlog_flush(struct evlog *l)
{
	int r = evlog_large_wait(l);
	size_t n = buf_len(&l->pending);

	if (r < 0)
		return r;
	if (!l->path || (!n && !l->hole))
		return 0;
	r = n ? write_pending(l) : 0;
	if (r == -ENOSPC || r == -EDQUOT) {
		evlog_make_room(l, r);
		n = buf_len(&l->pending);
		r = n ? write_pending(l) : 0;
	}
	if (r < 0) {
		evlog_fail_for(l, r, n);
		/* Limits the memory that a full disk costs: the records are dropped, and the turn fails. */
		if (n >= FLUSH_AT)
			evlog_rollback(l);
		return r;
	}
	l->written += (off_t)n;
	/* The records in front of a hole are complete. Those behind it never went into pending. */
	l->flushed = l->hole ? l->hole - 1 : l->last;
	buf_reset(&l->pending);
	buf_trim(&l->pending,
		 l->held ? FLUSH_AT : 0); /* while much is written, the next has its room */
	return l->hole ? l->error : 0;
}

void evlog_flush_for_reader(struct evlog *l)
{
	if (!l->large) /* else it follows when that is written */
		evlog_flush(l);
}

static void flush_now(void *ctx)
{
	/* The loop must not wait for a thread that writes a large event. */
	evlog_flush_for_reader(ctx);
}

/* Behind the tasks that were put off by now: what they add is written with it. */
static void flush_behind(void *ctx)
{
	struct evlog *l = ctx;

	loop_defer(l->loop, &l->flush_task, flush_now, l);
}

void evlog_flush_later(struct evlog *l)
{
	loop_defer(l->loop, &l->flush_task, flush_behind, l);
}

/* Bytes of b that hold events up to seq. */
static size_t upto(const struct log_block *b, uint64_t seq)
{
	size_t at = 0;
	struct log_item it;

	while (at < b->used) {
		memcpy(&it, b->data + at, sizeof(it));
		if (it.seq > seq)
			break;
		at += item_size(it.len);
	}
	return at;
}

void evlog_rollback(struct evlog *l)
{
	/* A thread still writes from a block that may be freed below. */
	evlog_large_wait(l);
	while (!list_empty(&l->blocks)) {
		struct log_block *b = list_entry(l->blocks.prev, struct log_block, link);
		size_t keep = upto(b, l->flushed);

		if (keep) {
			l->tail_bytes -= b->used - keep;
			b->used = keep;
			break;
		}
		evlog_block_free(l, b);
	}
	/* The index and the record ahead may point to bytes that were never written. */
	while (l->nindex && l->index[l->nindex - 1].offset >= l->written)
		l->nindex--;
	if (l->ahead >= l->written)
		l->ahead = -1;
	l->read_next.block = NULL;
	l->last = l->flushed;
	l->hole = 0;
	if (list_empty(&l->blocks))
		l->tail_first = l->last + 1;
	buf_reset(&l->pending);
}

/* --- cutting off the head ------------------------------------------------------------------------------------- */

/* Where holes begin: the first record after what the log began with, which stays in case that nothing that follows can
 * be read. */
static off_t trim_hole_begin(const struct evlog *l)
{
	for (size_t i = 0; i < l->nindex; i++)
		if (l->index[i].offset >= (off_t)LOG_INDEX_STEP)
			return l->index[i].offset;
	return l->written;
}

bool evlog_cut(const struct evlog *l, uint64_t upto, size_t least, struct evlog_index *ret)
{
	off_t begin = MAX(trim_hole_begin(l), l->free_to);

	if (!l->path || l->cannot_trim)
		return false;
	for (size_t i = l->nindex; i-- > 0;) {
		/* A cut is at an entry of the index: only there the byte that begins a record is known without
		 * reading. */
		if (l->index[i].seq > upto + 1 || l->index[i].offset > l->written)
			continue;
		*ret = l->index[i];
		return ret->offset - begin >= (off_t)least;
	}
	return false;
}

/* The index keeps what lies before the hole, too: a later life finds it the same way. */
void evlog_was_trimmed(struct evlog *l, uint64_t upto)
{
	size_t n = 0;

	l->trimmed = MAX(l->trimmed, upto);
	l->first = MAX(l->first, l->trimmed + 1);
	/* Gaps of damage in the trimmed range are covered by the reason "trimmed". */
	for (size_t i = 0; i < l->ngaps; i++) {
		if (l->gaps[i].to <= l->trimmed)
			continue;
		l->gaps[n] = l->gaps[i];
		l->gaps[n].from = MAX(l->gaps[n].from, l->trimmed + 1);
		n++;
	}
	l->ngaps = n;
}

void evlog_begin_after(struct evlog *l, uint64_t seq)
{
	l->last = l->flushed = seq;
	l->tail_first = seq + 1;
	evlog_was_trimmed(l, seq);
}

static int trim_punch(struct evlog *l, off_t from, off_t to)
{
	int r = evlog_journal_get(l, 0);

	if (r == 0 &&
	    fallocate(l->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, from, to - from) < 0)
		r = -errno;
	evlog_journal_put(l);
	return r;
}

/* A piece of what is left. What a life leaves undone has records in it, which the next may give up again. */
static void trim_continue(void *ctx)
{
	struct evlog *l = ctx;
	off_t to = MIN(l->trim_next + (off_t)LOG_TRIM_PIECE, l->free_to);

	if (trim_punch(l, l->trim_next, to) < 0)
		return; /* only the space is lost, until the log is gone */
	l->trim_next = to;
	if (to < l->free_to)
		loop_timer_set(l->loop, &l->trim_timer, 1, trim_continue, l);
}

bool evlog_trim(struct evlog *l, const struct evlog_index *at)
{
	off_t from = MAX(trim_hole_begin(l), l->free_to);
	off_t to = MIN(from + (off_t)LOG_TRIM_PIECE, at->offset);
	bool busy = l->trim_next < l->free_to;
	int r = trim_punch(l, from, to);

	/* Not tried again: a file system that cannot make holes (EOPNOTSUPP) stays that way. */
	if (r < 0) {
		l->cannot_trim = true;
		log_warn("session", "the file system cannot free a part of a journal", "path",
			 l->path, "text", strerror(-r));
		return false;
	}
	l->freed += at->offset - from;
	l->free_to = at->offset;
	/* A timer of an earlier trim is behind this piece: it continues to the new end, and punches the piece again. */
	if (!busy)
		l->trim_next = to;
	evlog_was_trimmed(l, at->seq - 1);
	if (l->trim_next < l->free_to)
		loop_timer_set(l->loop, &l->trim_timer, 1, trim_continue, l);
	return true;
}
