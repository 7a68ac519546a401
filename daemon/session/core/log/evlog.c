/* evlog.c - a session's event log: tail blocks in memory, an index into the journal, reads that
 * join both. A block leaves memory only once the journal has it, unless writing fails and the
 * tail exceeds TAIL_MAX_UNJOURNALED. */
#include "session/core/log/evlog_internal.h"

#include "base/util.h"
#include "base/clock.h"
#include "base/os/file.h"
#include "base/limits.h"
#include "session/core/log/event_table.h"
#include "session/core/log/journal_record.h"

/* Without a journal the tail is the whole history: keep more of it. */
#define TAIL_MAX_UNJOURNALED (8 * MIB)

/* Kept while the log is held, else for as long as it is needed. */
int evlog_journal_get(struct evlog *l, int flags)
{
	if (l->fd < 0)
		l->fd = open(l->path, flags | O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	return l->fd < 0 ? -errno : 0;
}

void evlog_journal_put(struct evlog *l)
{
	if (!l->held && !l->large)
		closep(&l->fd);
}

int evlog_init(struct evlog *l, struct loop *loop, const char *path, size_t journal_max, int flags)
{
	*l = (struct evlog){ .loop = loop,
			     .fd = -1,
			     .first = 1,
			     .tail_first = 1,
			     .ahead = -1,
			     .tail_max = path ? LOG_TAIL_BYTES : TAIL_MAX_UNJOURNALED,
			     .journal_max = (off_t)journal_max };
	list_init(&l->blocks);
	if (!path)
		return 0;
	l->path = xstrdup(path);
	l->held = true;
	return evlog_journal_get(l, flags);
}

int evlog_open(struct evlog *l, struct loop *loop, const char *path, size_t journal_max)
{
	return evlog_init(l, loop, path, journal_max, O_CREAT | O_EXCL);
}

void evlog_block_free(struct evlog *l, struct log_block *b)
{
	l->tail_bytes -= b->used;
	if (l->read_next.block == b)
		l->read_next.block = NULL;
	list_del(&b->link);
	if (b->data != b->own)
		free(b->data);
	free(b);
}

void evlog_close(struct evlog *l)
{
	evlog_flush(l);
	loop_task_cancel(&l->flush_task);
	loop_task_cancel(&l->settled_task);
	loop_timer_cancel(&l->retry_timer);
	loop_timer_cancel(&l->trim_timer);
	while (!list_empty(&l->blocks))
		evlog_block_free(l, list_first(&l->blocks, struct log_block, link));
	closep(&l->fd);
	buf_done(&l->pending);
	free_each(l->index, l->gaps, l->path);
	l->gaps = NULL;
	l->index = NULL;
	l->path = NULL;
}

void evlog_index_add(struct evlog *l, uint64_t seq, off_t offset, bool always)
{
	if (!always && l->nindex && offset - l->index[l->nindex - 1].offset < (off_t)LOG_INDEX_STEP)
		return;
	*GROW(l->index, l->nindex) = (struct evlog_index){ seq, offset };
}

/* How a turn ended can still be said, and what a cut of the log needs. */
bool evlog_over(const struct evlog *l, const struct journal_record *rec)
{
	off_t at = evlog_end(l) - l->freed;

	if (l->trimming || at + (off_t)rec->value.n <= l->journal_max)
		return false;
	return rec->kind != EVENT_TURN_END || at > l->journal_max + (off_t)JOURNAL_SPARE;
}

void evlog_make_room(struct evlog *l, int error)
{
	if (!l->full || l->trimming)
		return;
	l->trimming = true;
	l->full(l->ctx, error);
	l->trimming = false;
}

static void journal_add(struct evlog *l, const struct journal_record *rec, const char *kind)
{
	if (!l->path || l->hole)
		return;
	if (evlog_over(l, rec))
		evlog_make_room(l, -EFBIG);
	if (evlog_over(l, rec)) {
		evlog_fail_for(l, -EFBIG, rec->value.n);
		l->hole = rec->seq ? rec->seq : l->last + 1;
		return;
	}
	if (rec->seq)
		evlog_index_add(l, rec->seq, evlog_end(l), false);
	if (journal_record_put(&l->pending, rec, kind) < 0)
		abort(); /* no memory: its buffer has room for any frame */
	if (buf_len(&l->pending) >= FLUSH_AT)
		evlog_flush(l);
	else
		evlog_flush_later(l);
}

void evlog_note(struct evlog *l, const char *kind_name, struct slice value)
{
	journal_add(l, &(struct journal_record){ .time_ms = clock_real_ms(), .value = value },
		    kind_name);
}

void evlog_note_ahead(struct evlog *l, const char *kind_name, struct slice value)
{
	bool trimming = l->trimming;

	if (!l->path || l->hole)
		return;
	l->ahead = evlog_end(l);
	l->trimming = true; /* the bound is not held against it */
	evlog_note(l, kind_name, value);
	l->trimming = trimming;
}

bool evlog_ahead(const struct evlog *l)
{
	return !l->path || l->ahead >= 0;
}

static void drop_oldest(struct evlog *l)
{
	evlog_block_free(l, list_first(&l->blocks, struct log_block, link));
	l->tail_first = list_first(&l->blocks, struct log_block, link)->first;
}

/* Drops the oldest blocks beyond the bound; the newest always stays. What leaves memory must be readable from the file;
 * where it is not, memory holds on to more, and what goes in the end is gone. */
void evlog_tail_trim(struct evlog *l)
{
	while (!l->large && l->tail_bytes > l->tail_max && l->blocks.next != l->blocks.prev) {
		bool kept = l->path && evlog_flush(l) == 0;

		if (!kept && l->tail_bytes <= TAIL_MAX_UNJOURNALED)
			return;
		drop_oldest(l);
		if (!kept)
			l->first = l->tail_first;
	}
}

struct log_block *evlog_block_add(struct evlog *l, uint64_t seq, size_t cap, char *data)
{
	struct log_block *b = malloc(sizeof(*b) + (data ? 0 : cap));

	if (!b)
		abort();
	*b = (struct log_block){ .first = seq, .cap = cap, .data = data };
	b->data = data ? data : b->own;
	list_init(&b->link);
	if (list_empty(&l->blocks))
		l->tail_first = seq;
	list_add_tail(&l->blocks, &b->link);
	return b;
}

static struct log_block *block_for(struct evlog *l, uint64_t seq, size_t need)
{
	struct log_block *b =
		list_empty(&l->blocks) ? NULL : list_entry(l->blocks.prev, struct log_block, link);
	size_t cap;

	if (b && b->cap - b->used >= need)
		return b;
	cap = b ? MIN(2 * b->cap, LOG_BLOCK_MAX) : LOG_BLOCK_MIN;
	cap = MAX(cap, need);
	return evlog_block_add(l, seq, cap, NULL);
}

void evlog_append(struct evlog *l, const struct evlog_entry *e, const char *kind_name)
{
	struct journal_record rec;
	struct log_item it;
	size_t size = item_size(e->frame.n);
	struct log_block *b = block_for(l, e->seq, size);

	evlog_describe(e, e->time_ms ? e->time_ms : clock_real_ms(), &it, &rec);
	memcpy(b->data + b->used, &it, sizeof(it));
	memcpy(b->data + b->used + sizeof(it), e->frame.p, e->frame.n);
	b->used += size;
	l->tail_bytes += size;
	l->last = e->seq;
	journal_add(l, &rec, kind_name);
	evlog_tail_trim(l);
}

void evlog_hold(struct evlog *l)
{
	l->held = true;
}

void evlog_shrink(struct evlog *l)
{
	bool written = l->path && evlog_flush(l) == 0;

	l->held = false;
	buf_trim(&l->pending, 0);
	closep(&l->fd);
	if (!written)
		return;
	while (!list_empty(&l->blocks))
		evlog_block_free(l, list_first(&l->blocks, struct log_block, link));
	l->tail_first = l->last + 1;
}

/* False: fn has refused one. */
static bool read_block(struct evlog *l, struct log_block *b, size_t at, uint64_t from,
		       bool (*fn)(void *ctx, const struct evlog_entry *e), void *ctx)
{
	while (at < b->used) {
		struct evlog_entry e;
		struct log_item it;

		memcpy(&it, b->data + at, sizeof(it));
		if (it.seq >= from) {
			e = (struct evlog_entry){ it.seq,
						  it.origin,
						  it.kind,
						  { b->data + at + sizeof(it), it.len },
						  it.time_ms };
			if (!fn(ctx, &e))
				return false;
		}
		at += item_size(it.len);
		l->read_next.seq = it.seq + 1;
		l->read_next.block = b;
		l->read_next.at = at;
	}
	return true;
}

/* The block that holds seq, or the first one. Readers are mostly near the end. */
static struct list *block_of(struct evlog *l, uint64_t seq)
{
	struct list *at = l->blocks.prev;

	while (at != &l->blocks && at->prev != &l->blocks &&
	       list_entry(at, struct log_block, link)->first > seq)
		at = at->prev;
	return at;
}

static void read_tail(struct evlog *l, uint64_t from,
		      bool (*fn)(void *ctx, const struct evlog_entry *e), void *ctx)
{
	struct list *at = block_of(l, from);
	size_t skip = 0;

	if (l->read_next.block && l->read_next.seq == from &&
	    list_entry(at, struct log_block, link) == l->read_next.block)
		skip = l->read_next.at;
	for (; at != &l->blocks; at = at->next, skip = 0)
		if (!read_block(l, list_entry(at, struct log_block, link), skip, from, fn, ctx))
			return;
}

bool evlog_gap(const struct evlog *l, uint64_t seq, struct evlog_gap *ret)
{
	if (seq < l->first) {
		bool trimmed = seq <= l->trimmed;

		*ret = (struct evlog_gap){ seq, trimmed ? l->trimmed : l->first - 1,
					   trimmed ? "trimmed" : NULL };
		return true;
	}
	for (size_t i = 0; i < l->ngaps; i++)
		if (seq <= l->gaps[i].to) {
			*ret = l->gaps[i];
			ret->from = seq;
			return seq >= l->gaps[i].from;
		}
	return false;
}

uint64_t evlog_missing(const struct evlog *l)
{
	uint64_t n = 0;

	for (size_t i = 0; i < l->ngaps; i++)
		n += l->gaps[i].to - l->gaps[i].from + 1;
	return n;
}

static off_t index_find(const struct evlog *l, uint64_t seq)
{
	size_t lo = 0, hi = l->nindex;

	while (lo + 1 < hi) {
		size_t mid = (lo + hi) / 2;

		if (l->index[mid].seq <= seq)
			lo = mid;
		else
			hi = mid;
	}
	return l->nindex ? l->index[lo].offset : 0;
}

/* Fills b with at least one whole line from offset on. 0 at the end of the file. */
static int evlog_read_lines(struct evlog *l, off_t offset, struct buf *b)
{
	for (;;) {
		ssize_t n;
		int r = buf_reserve(b, READ_CHUNK);

		if (r < 0)
			return r;
		n = RETRY(pread(l->fd, b->data + b->len, READ_CHUNK, offset + (off_t)buf_len(b)));
		if (n < 0)
			return -errno;
		if (n == 0)
			return 0;
		b->len += (size_t)n;
		if (memchr(b->data + b->len - n, '\n', (size_t)n))
			return 1;
	}
}

/* A reading of the journal. */
struct tail_reading {
	struct evlog *l;
	uint64_t from, next; /* next: the one that comes now */
	bool (*fn)(void *ctx, const struct evlog_entry *e);
	void *ctx;
	size_t max; /* bytes of events after which it ends */
	bool done;  /* fn has refused one, or what comes now is not in the journal, or it ends */
};

static bool is_in_gap(const struct tail_reading *p)
{
	struct evlog_gap g;

	return evlog_gap(p->l, p->next, &g);
}

/* What has been damaged since is not passed over: its readers would not hear of it. */
static int read_record(struct tail_reading *p, const struct journal_record *rec)
{
	if (rec->seq < p->next) /* no event, or not asked for, or a second time */
		return 0;
	if (rec->seq >= p->l->tail_first || is_in_gap(p)) {
		p->done = true;
		return 0;
	}
	if (rec->seq != p->next)
		return -EBADMSG;
	p->done = !p->fn(p->ctx, &(struct evlog_entry){ rec->seq, rec->origin, rec->kind,
							rec->value, rec->time_ms });
	p->next += !p->done;
	p->max -= MIN(p->max, rec->value.n);
	p->done |= !p->max;
	return 0;
}

/* Hands out what the buffer holds. Returns bytes used or -EBADMSG. */
static ssize_t read_records(struct tail_reading *p, struct slice text)
{
	const char *at = text.p, *nl;
	struct journal_record rec;
	int r = 0;

	while (!p->done && r == 0 && (nl = memchr(at, '\n', (size_t)(text.p + text.n - at)))) {
		r = journal_record_parse(evlog_line((struct slice){ at, (size_t)(nl - at) }), &rec);
		if (r == 0)
			r = read_record(p, &rec);
		else if (p->l->bad_lines)
			r = 0; /* seen before; the number of the next one shows it */
		at = nl + 1;
	}
	return r < 0 ? r : at - text.p;
}

static int evlog_read_journal(struct tail_reading *p)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct evlog *l = p->l;
	off_t offset = index_find(l, p->from);
	int r = 0;

	while (!p->done && (r = evlog_read_lines(l, offset, &b)) > 0) {
		ssize_t used = read_records(p, buf_slice(&b));

		if (used < 0)
			return (int)used;
		offset += used;
		buf_consume(&b, (size_t)used);
		if (p->next >= l->tail_first || p->next > l->last || is_in_gap(p))
			break;
	}
	if (r < 0)
		return r;
	if (p->next >= l->tail_first)
		read_tail(l, p->next, p->fn, p->ctx);
	else if (!p->done && !is_in_gap(p))
		return -EBADMSG; /* the file ends before the memory begins */
	return 0;
}

int evlog_read(struct evlog *l, uint64_t from, bool (*fn)(void *ctx, const struct evlog_entry *e),
	       void *ctx)
{
	return evlog_read_some(l, from, SIZE_MAX, fn, ctx);
}

int evlog_read_some(struct evlog *l, uint64_t from, size_t max,
		    bool (*fn)(void *ctx, const struct evlog_entry *e), void *ctx)
{
	bool held = l->held;
	int r;

	if (from >= l->tail_first || !l->path) {
		read_tail(l, from, fn, ctx);
		return 0;
	}
	evlog_flush(l); /* if that fails, what was pending is still in the tail */
	r = evlog_journal_get(l, 0);
	l->held = true; /* whatever fn does */
	if (r == 0)
		r = evlog_read_journal(
			&(struct tail_reading){ l, from, from, fn, ctx, max, false });
	l->held = held;
	evlog_journal_put(l);
	return r;
}

static uint64_t tail_behind(const struct evlog *l, uint64_t seq)
{
	uint64_t n = 0;

	list_each(b, (struct list *)&l->blocks, struct log_block, link) {
		size_t at = 0;

		if (b->first >= seq) {
			n += b->used;
			continue;
		}
		while (at < b->used) {
			struct log_item it;

			memcpy(&it, b->data + at, sizeof(it));
			n += it.seq >= seq ? item_size(it.len) : 0;
			at += item_size(it.len);
		}
	}
	return n;
}

uint64_t evlog_behind(const struct evlog *l, uint64_t seq)
{
	uint64_t end = (uint64_t)evlog_end(l);

	if (seq > l->last)
		return 0;
	if (seq >= l->tail_first || !l->path)
		return tail_behind(l, seq);
	return end - (uint64_t)index_find(l, seq);
}
