/*
 * history.c - merges turn files into the set of old entries, newest turn first.
 *
 * Going back from the index to the end of an earlier turn, or to the baseline.
 *
 * A history starts at the index and takes in one turn file after the other, newest first; each names the next (from).
 * The history then holds the old entry of every path that changed since; the index has all others. Its memory is the
 * number of these paths. Turn files need only be open while they are taken in, so a process that may open them can
 * build the history before it gives its rights up.
 *
 * What was delivered after a turn counts as delivered before it, too: history_deliver pins these paths, and older turns
 * do not change a pinned path.
 *
 * Set and file are sorted by index_compare, so each turn costs one merge. A file must name the
 * epoch and the turn that the history is at; otherwise it belongs to another chain of turns, and
 * the history cannot be trusted. Pinned paths retain their entry: they were delivered, and are not
 * a change of a turn.
 */
#include "unpack/snapshot/index.h"

#include "base/util.h"

#include <errno.h>

void history_init(struct history *h, const struct index_head *index)
{
	*h = (struct history){ .epoch = index->epoch, .turn = index->turn };
}

void history_done(struct history *h)
{
	for (size_t i = 0; i < h->n; i++)
		free(h->v[i].path);
	free(h->v);
	*h = (struct history){ 0 };
}

/* What a file says of its next path. */
static int history_next_item(struct index_reader *r, const char **path, struct history_item *ret)
{
	struct index_entry after;

	*ret = (struct history_item){ .pinned = r->head.kind == INDEX_DELIVERED };
	return ret->pinned ? index_next(r, path, &ret->was) :
			     index_next_change(r, path, &ret->was, &after);
}

/* Both are sorted: an older turn's entry of a path replaces that of a later one, unless it is pinned. */
static int merge(struct history *h, struct index_reader *r, struct history_item *v, size_t *n)
{
	struct history_item item;
	const char *path;
	size_t i = 0;
	int ret;

	while ((ret = history_next_item(r, &path, &item)) == 1) {
		while (i < h->n && index_compare(h->v[i].path, path) < 0)
			v[(*n)++] = h->v[i++];
		if (i < h->n && strcmp(h->v[i].path, path) == 0) {
			if (h->v[i].pinned) {
				v[(*n)++] = h->v[i++];
				continue;
			}
			free(h->v[i++].path);
		}
		item.path = xstrdup(path);
		v[(*n)++] = item;
	}
	while (i < h->n)
		v[(*n)++] = h->v[i++];
	return ret;
}

/* On success *from is the turn before that of the file. */
static int history_take_in(struct history *h, int fd, enum index_kind kind, uint32_t *from)
{
	struct index_reader r;
	struct history_item *v;
	size_t n = 0;
	int ret = index_open(&r, fd, kind);

	if (ret < 0)
		return ret;
	if (r.head.epoch != h->epoch || r.head.turn != h->turn) {
		index_close(&r);
		return -EBADMSG;
	}
	v = xalloc((h->n + r.head.entries / (kind == INDEX_TURN ? 2 : 1)) * sizeof(*v));
	ret = merge(h, &r, v, &n);
	free(h->v);
	h->v = v;
	h->n = n;
	*from = r.head.from;
	index_close(&r);
	return ret;
}

int history_back(struct history *h, int turn_fd)
{
	return history_take_in(h, turn_fd, INDEX_TURN, &h->turn);
}

int history_deliver(struct history *h, int list_fd)
{
	uint32_t from;

	return history_take_in(h, list_fd, INDEX_DELIVERED, &from);
}
