/* delivered.c - the list of a delivery, made of the manifests that the extraction has. */
#include "unpack/snapshot/delivered.h"

#include "base/os/file.h"
#include "base/util.h"

#include <errno.h>
#include <sys/stat.h>

/* The fresh files and links of a manifest, in their order. */
struct fresh {
	const struct manifest *m;
	bool all, removed;
	uint32_t *order;
	size_t n, at;
	char buf[PATH_BYTES_MAX + 1];
	const char *path; /* NULL: the end */
};

static bool wanted(const struct fresh *f)
{
	const struct node *v = &f->m->v[f->order[f->at]];

	return v->type != NODE_DIR && (f->all || v->fresh);
}

static void fresh_find(struct fresh *f)
{
	while (f->at < f->n && !wanted(f))
		f->at++;
	f->path = f->at < f->n ? manifest_path(f->m, f->order[f->at], f->buf) : NULL;
}

static void fresh_pass(struct fresh *f, const char *path)
{
	if (!f->path || strcmp(f->path, path) != 0)
		return;
	f->at++;
	fresh_find(f);
}

static void fresh_begin(struct fresh *f, const struct manifest *m, bool all, bool removed)
{
	*f = (struct fresh){ .m = m, .all = all, .removed = removed };
	if (m)
		f->order = manifest_order(m, &f->n);
	fresh_find(f);
}

static struct index_entry fresh_entry(const struct fresh *f)
{
	const struct node *v = &f->m->v[f->order[f->at]];

	if (f->removed)
		return (struct index_entry){ .type = INDEX_NONE };
	return (struct index_entry){
		.type = v->type == NODE_LINK ? INDEX_LINK : INDEX_FILE,
		.mode = (v->type == NODE_LINK ? S_IFLNK : S_IFREG) | v->mode,
		.size = v->size,
		.digest = v->digest,
	};
}

/* An earlier list. */
struct earlier {
	struct index_reader r;
	bool open;
	const char *path;
	struct index_entry entry;
};

static void earlier_next(struct earlier *l)
{
	if (!l->open || index_next(&l->r, &l->path, &l->entry) != 1)
		l->path = NULL;
}

static void earlier_begin(struct earlier *l, int fd)
{
	l->open = fd >= 0 && index_open(&l->r, fd, INDEX_DELIVERED) == 0;
	earlier_next(l);
}

static const char *least(const char *a, const char *b)
{
	return !a || (b && index_compare(b, a) < 0) ? b : a;
}

static bool is_at(const char *path, const char *at)
{
	return path && strcmp(path, at) == 0;
}

/* What was written counts more than what was removed at its path, and both more than an earlier list. */
static int put_next(struct index_writer *w, const char *path, struct fresh *written,
		    struct fresh *removed, struct earlier *before)
{
	struct index_entry e;
	int r;

	if (is_at(written->path, path))
		e = fresh_entry(written);
	else if (is_at(removed->path, path))
		e = fresh_entry(removed);
	else
		e = before->entry;
	r = index_put(w, path, &e);
	if (is_at(before->path, path))
		earlier_next(before);
	fresh_pass(written, path);
	fresh_pass(removed, path);
	return r;
}

static int put_all(struct index_writer *w, struct fresh *written, struct fresh *removed,
		   struct earlier *before)
{
	char path[PATH_BYTES_MAX + 1];
	const char *next;
	int r = 0;

	while (r == 0 && (next = least(least(written->path, removed->path), before->path))) {
		memcpy(path, next, strlen(next) + 1);
		r = put_next(w, path, written, removed, before);
	}
	return r;
}

int delivered_write(int fd, int before, const struct manifest *staged, const struct manifest *old,
		    bool whole)
{
	struct index_head head = { .kind = INDEX_DELIVERED };
	struct fresh *written = new0(struct fresh), *removed = new0(struct fresh);
	struct earlier *earlier = new0(struct earlier);
	struct index_writer w;
	int r;

	index_begin(&w, fd);
	fresh_begin(written, staged, whole, false);
	fresh_begin(removed, old, false, true);
	earlier_begin(earlier, before);
	r = put_all(&w, written, removed, earlier);
	if (r == 0)
		r = index_end(&w, &head);
	index_writer_done(&w);
	if (earlier->open)
		index_close(&earlier->r);
	free(written->order);
	free(removed->order);
	free(written);
	free(removed);
	free(earlier);
	return r;
}
