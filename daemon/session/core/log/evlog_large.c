/*
 * evlog_large.c - a large event on its way to the journal. Checksum and write take longer than a turn of the loop may, so
 * a thread does them, from the memory where readers find the event later. Until it is written the event is held back from
 * every reader, and what follows stays in pending, so the journal keeps its order. Whoever needs the journal whole
 * (evlog_flush) waits for the thread.
 */
#include "session/core/log/evlog_internal.h"

#include "base/clock.h"
#include "base/format/crc32c.h"
#include "base/format/crc_line.h"
#include "base/os/file.h"
#include "session/core/log/journal_record.h"
#include "loop/loop.h"

struct evlog_large {
	struct evlog *log;
	struct loop_job job;
	struct loop_task free_task;
	struct buf head; /* of its line, before the frame */
	struct slice frame;
	char tail[CRC_LINE_TAIL + 1];
	uint64_t seq;
	int fd, result;
};

static size_t line_bytes(const struct evlog_large *g)
{
	return buf_len(&g->head) + g->frame.n + CRC_LINE_TAIL;
}

static int large_write_line(const struct evlog_large *g)
{
	int r = file_write_all(g->fd, buf_slice(&g->head).p, buf_len(&g->head));

	if (r == 0)
		r = file_write_all(g->fd, g->frame.p, g->frame.n);
	return r == 0 ? file_write_all(g->fd, g->tail, CRC_LINE_TAIL) : r;
}

static void large_run(void *ctx)
{
	struct evlog_large *g = ctx;
	uint32_t crc = crc32c(0, buf_slice(&g->head).p, buf_len(&g->head));

	crc_line_tail(g->tail, crc32c(crc, g->frame.p, g->frame.n));
	g->result = large_write_line(g);
}

off_t evlog_end(const struct evlog *l)
{
	return l->written + (off_t)(l->large ? line_bytes(l->large) : 0) +
	       (off_t)buf_len(&l->pending);
}

/* What the thread could not write goes the usual way, before what came later: there space may be made for it. */
static int write_usually(struct evlog *l, struct evlog_large *g)
{
	struct buf later = l->pending;

	/* The thread may have written a part of the line. */
	(void)!ftruncate(g->fd, l->written);
	l->pending = (struct buf){ .max = later.max };
	buf_add_slice(&l->pending, buf_slice(&g->head));
	buf_add_slice(&l->pending, g->frame);
	buf_add(&l->pending, g->tail, CRC_LINE_TAIL);
	if (buf_len(&later))
		buf_add_slice(&l->pending, buf_slice(&later));
	buf_done(&later);
	if (l->pending.failed)
		abort(); /* no memory: the buffer has capacity for any frame */
	return evlog_flush(l);
}

/* Not at once: the loop may have an event of the job that it has not handled yet. */
static void large_free(void *ctx)
{
	struct evlog_large *g = ctx;

	buf_done(&g->head);
	free(g);
}

/* The thread has ended. */
static int large_finish(struct evlog *l)
{
	struct evlog_large *g = l->large;
	size_t n = line_bytes(g);
	int r = 0;

	/* First: the flush in write_usually would wait for the thread again. */
	l->large = NULL;
	if (g->result < 0) {
		r = write_usually(l, g);
	} else {
		l->written += (off_t)n;
		l->flushed = g->seq;
	}
	loop_defer(l->loop, &g->free_task, large_free, g);
	evlog_journal_put(l);
	loop_defer(l->loop, &l->settled_task, l->settled, l->ctx);
	return r;
}

static void on_written(void *ctx)
{
	struct evlog_large *g = ctx;
	struct evlog *l = g->log;

	if (large_finish(l) == 0)
		evlog_flush(l); /* what came meanwhile */
	evlog_tail_trim(l);
}

int evlog_large_wait(struct evlog *l)
{
	if (!l->large)
		return 0;
	loop_job_end(&l->large->job);
	return large_finish(l);
}

/* Everything before it is in the journal, and there it has space. */
static bool can_begin(struct evlog *l, const struct journal_record *rec)
{
	return rec->value.n >= EVENT_LARGE_MIN && l->path && l->settled && evlog_flush(l) == 0 &&
	       !l->error && !evlog_over(l, rec) && evlog_journal_get(l, 0) == 0;
}

static void large_begin(struct evlog *l, const struct journal_record *rec, const char *kind)
{
	struct evlog_large *g = new0(struct evlog_large);

	g->log = l;
	g->seq = rec->seq;
	g->frame = rec->value;
	/* Stays open: evlog_journal_put closes nothing while l->large is set. */
	g->fd = l->fd;
	if (journal_record_head(&g->head, rec, kind) < 0)
		abort(); /* no memory */
	evlog_index_add(l, rec->seq, evlog_end(l), false);
	l->large = g;
	loop_job_start(l->loop, &g->job, large_run, on_written, g);
}

void evlog_append_whole(struct evlog *l, const struct evlog_entry *e, const char *kind_name,
			struct buf *b)
{
	struct journal_record rec;
	struct log_item it;
	size_t size = item_size(e->frame.n);
	struct log_block *block;
	char *data;

	_Static_assert(sizeof(it) == EVLOG_BEFORE_FRAME, "the item stands before the frame");
	evlog_describe(e, clock_real_ms(), &it, &rec);
	/* evlog_append copies the frame. It serves small events, and a journal that is full, failed or switched off. */
	if (!can_begin(l, &rec) || buf_reserve(b, size - sizeof(it) - e->frame.n) < 0) {
		evlog_append(l, e, kind_name);
		return;
	}
	/* From here on the block owns the memory of b. The item goes into the bytes that were left free for it. */
	data = b->data;
	*b = (struct buf){ .max = b->max };
	block = evlog_block_add(l, e->seq, size, data);
	memcpy(data, &it, sizeof(it));
	block->used = size;
	l->tail_bytes += size;
	rec.value.p = data + EVLOG_BEFORE_FRAME;
	large_begin(l, &rec, kind_name);
	l->last = e->seq;
}
