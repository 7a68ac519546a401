/* evlog_write.c - what an event log does with its journal, and what it does when that cannot be written. */
#include "session/core/log/evlog_internal.h"

#include "base/os/file.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

uint64_t evlog_readable(const struct evlog *l)
{
	return l->path && (l->error || l->large) ? l->flushed : l->last;
}

/* Room for what could not be written. Any other fault shows only when it is tried again. */
static bool has_room(const struct evlog *l)
{
	struct statvfs sv;
	struct rlimit rl;

	if (l->written - l->freed + (off_t)l->need > l->journal_max)
		return false;
	if (getrlimit(RLIMIT_FSIZE, &rl) == 0 && rl.rlim_cur != RLIM_INFINITY &&
	    (rlim_t)l->written + l->need > rl.rlim_cur)
		return false;
	return statvfs(l->path, &sv) < 0 || (uint64_t)sv.f_bavail * sv.f_frsize >= l->need;
}

static void retry(void *ctx)
{
	struct evlog *l = ctx;

	if (!has_room(l))
		evlog_make_room(l, l->error);
	if (!has_room(l)) {
		loop_timer_set(l->loop, &l->retry_timer, JOURNAL_RETRY_MS, retry, l);
		return;
	}
	l->error = 0;
	l->need = 0;
	if (evlog_flush(l) == 0 && l->recovered)
		l->recovered(l->ctx);
}

void evlog_try_again(struct evlog *l)
{
	if (!l->error || !has_room(l))
		return;
	loop_timer_cancel(&l->retry_timer);
	retry(l);
}

int evlog_fail_for(struct evlog *l, int error, size_t need)
{
	l->error = error;
	l->need = MAX(l->need, need);
	loop_timer_set(l->loop, &l->retry_timer, JOURNAL_RETRY_MS, retry, l);
	return error;
}

/* A part of a line may not stay: others follow. */
static int write_pending(struct evlog *l)
{
	int r = evlog_journal_get(l, 0);

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
		if (n >= FLUSH_AT)
			evlog_rollback(l);
		return r;
	}
	l->written += (off_t)n;
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
