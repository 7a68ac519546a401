#include "unpack/snapshot/history.h"

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

/* Both are sorted: the older turn's entry of a path replaces that of a later one. */
static int merge(struct history *h, struct index_reader *r, struct history_item *v, size_t *n)
{
	struct index_entry before, after;
	const char *path;
	size_t i = 0;
	int ret;

	while ((ret = index_next_change(r, &path, &before, &after)) == 1) {
		while (i < h->n && index_compare(h->v[i].path, path) < 0)
			v[(*n)++] = h->v[i++];
		if (i < h->n && strcmp(h->v[i].path, path) == 0)
			free(h->v[i++].path);
		v[(*n)++] = (struct history_item){ xstrdup(path), before };
	}
	while (i < h->n)
		v[(*n)++] = h->v[i++];
	return ret;
}

int history_back(struct history *h, int turn_fd)
{
	struct index_reader r;
	struct history_item *v;
	size_t n = 0;
	int ret = index_open(&r, turn_fd, INDEX_TURN);

	if (ret < 0)
		return ret;
	if (r.head.epoch != h->epoch || r.head.turn != h->turn) {
		index_close(&r);
		return -EBADMSG;
	}
	v = xalloc((h->n + r.head.entries / 2) * sizeof(*v));
	ret = merge(h, &r, v, &n);
	free(h->v);
	h->v = v;
	h->n = n;
	h->turn = r.head.from;
	index_close(&r);
	return ret;
}
