/* Maps of sparse files, in the four ways in which GNU tar has written them. */
#include "unpack/entries/tar_internal.h"

static int sparse_add_pairs(struct tar *t, size_t at, unsigned n)
{
	for (unsigned i = 0; i < n; i++, at += 2 * NUMBER_WIDTH) {
		uint64_t offset, bytes;

		if (t->block[at] == '\0')
			return 0;
		if (tar_size_field(t, at, &offset) < 0 ||
		    tar_size_field(t, at + NUMBER_WIDTH, &bytes) < 0 ||
		    sparse_add(&t->pax.map, offset, bytes, t->v) < 0)
			return -EBADMSG;
	}
	return 0;
}

/* The map is in the header and the blocks after it. */
static int old_map(struct tar *t)
{
	bool more = t->block[OFF_MORE] != 0;
	int r = tar_size_field(t, OFF_REAL, &t->pax.map.size);

	if (r == 0)
		r = sparse_add_pairs(t, OFF_MAP, MAP_IN_HEADER);
	while (r == 0 && more) {
		ssize_t got = source_read(t->src, t->block, BLOCK);

		if (got != BLOCK)
			return got < 0 ? (int)got :
					 refuse(t->v, "ARCHIVE_TRUNCATED", NULL,
						"the archive ends within the map of a sparse file");
		more = t->block[OFF_MORE_EXT] != 0;
		r = sparse_add_pairs(t, 0, MAP_IN_BLOCK);
	}
	return r;
}

struct map_lines {
	struct tar *t;
	size_t at; /* in the block */
};

/* Each block is taken off the stored bytes of the entry, which must cover map and data. */
static int sparse_next_line(struct map_lines *l, uint64_t *ret)
{
	char digits[24];
	size_t n = 0;

	for (;;) {
		if (l->at == BLOCK) {
			ssize_t got = l->t->stored < BLOCK ?
					      0 :
					      source_read(l->t->src, l->t->block, BLOCK);

			if (got != BLOCK)
				return got < 0 ? (int)got :
						 refuse(l->t->v, "SPARSE_INVALID", NULL,
							"the map of a sparse file has no end");
			l->t->stored -= BLOCK;
			l->at = 0;
		}
		digits[n] = (char)l->t->block[l->at++];
		if (digits[n] == '\n')
			break;
		if (++n == sizeof(digits))
			break;
	}
	if (n == sizeof(digits) || !pax_number((struct slice){ digits, n }, ret))
		return refuse(l->t->v, "SPARSE_INVALID", NULL,
			      "the map of a sparse file is not made of numbers");
	return 0;
}

/* The map is in lines before the data. */
static int map_in_data(struct tar *t)
{
	struct map_lines l = { t, BLOCK };
	uint64_t n, offset, bytes;
	int r = sparse_next_line(&l, &n);

	for (; r == 0 && n; n--) {
		r = sparse_next_line(&l, &offset);
		if (r == 0)
			r = sparse_next_line(&l, &bytes);
		if (r == 0)
			r = sparse_add(&t->pax.map, offset, bytes, t->v);
	}
	return r;
}

int tar_take_map(struct tar *t, struct source_entry *e)
{
	struct pax *p = &t->pax;
	bool old = t->block[OFF_TYPE] == 'S';
	int r = 0;

	if (!old && !p->sparse)
		return 0;
	if (e->type != ENTRY_FILE || (old && p->sparse) || (p->sparse && !p->has_real) ||
	    p->major > 1 || p->minor > 1)
		return refuse(t->v, "SPARSE_INVALID", NULL,
			      "a sparse file of a form that is not known");
	if (old)
		r = old_map(t);
	else if (p->major == 1)
		r = map_in_data(t);
	else if (p->has_blocks && p->blocks != p->map.n)
		r = refuse(t->v, "SPARSE_INVALID", NULL, "the map of a sparse file lacks pieces");
	if (r == 0)
		r = sparse_check(&p->map, t->stored, t->v);
	e->size = p->map.size;
	p->sparse = true;
	return r;
}
