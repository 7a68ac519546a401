/* evlog_trim.c - cutting off the head of an event log. The file keeps its length and its offsets: what is given up
 * becomes a hole. */
#include "session/core/log/evlog_internal.h"

#include "base/log.h"

#include <errno.h>
#include <fcntl.h>

/* Where holes begin: the first record after what the log began with, which stays in case that nothing that follows can
 * be read. */
static off_t hole_begin(const struct evlog *l)
{
	for (size_t i = 0; i < l->nindex; i++)
		if (l->index[i].offset >= (off_t)LOG_INDEX_STEP)
			return l->index[i].offset;
	return l->written;
}

bool evlog_cut(const struct evlog *l, uint64_t upto, size_t least, struct evlog_index *ret)
{
	off_t begin = MAX(hole_begin(l), l->free_to);

	if (!l->path || l->cannot_trim)
		return false;
	for (size_t i = l->nindex; i-- > 0;) {
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

static int punch(struct evlog *l, off_t from, off_t to)
{
	int r = evlog_journal_get(l, 0);

	if (r == 0 &&
	    fallocate(l->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, from, to - from) < 0)
		r = -errno;
	evlog_journal_put(l);
	return r;
}

/* A piece of what is left. What a life leaves undone has records in it, which the next may give up again. */
static void go_on(void *ctx)
{
	struct evlog *l = ctx;
	off_t to = MIN(l->trim_next + (off_t)LOG_TRIM_PIECE, l->free_to);

	if (punch(l, l->trim_next, to) < 0)
		return; /* only the space is lost, until the log is gone */
	l->trim_next = to;
	if (to < l->free_to)
		loop_timer_set(l->loop, &l->trim_timer, 1, go_on, l);
}

bool evlog_trim(struct evlog *l, const struct evlog_index *at)
{
	off_t from = MAX(hole_begin(l), l->free_to);
	off_t to = MIN(from + (off_t)LOG_TRIM_PIECE, at->offset);
	bool busy = l->trim_next < l->free_to;
	int r = punch(l, from, to);

	if (r < 0) {
		l->cannot_trim = true;
		log_warn("session", "the file system cannot free a part of a journal", "path",
			 l->path, "text", strerror(-r));
		return false;
	}
	l->freed += at->offset - from;
	l->free_to = at->offset;
	if (!busy)
		l->trim_next = to;
	evlog_was_trimmed(l, at->seq - 1);
	if (l->trim_next < l->free_to)
		loop_timer_set(l->loop, &l->trim_timer, 1, go_on, l);
	return true;
}
