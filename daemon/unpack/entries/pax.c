/*
 * pax.c - parses the records of a pax header, and the maps of GNU sparse files.
 *
 * What precedes a tar header and changes the next entry: pax records ("x"), and maps of sparse files in all
 * their forms.
 *
 * Strict: a record that is not "LENGTH key=value\n" to the byte makes the archive damaged; numbers are digits only.
 * Known are path, linkpath, size, mtime and GNU.sparse.*; all other keys (owners, ACLs, extended attributes, comments)
 * are skipped. An empty value removes an override.
 *
 * A map is a list of pieces that hold data, rising and without overlap, inside the file's size; all else is a hole.
 * Other maps are SPARSE_INVALID. A struct pax owns its buffers; pax_reset() makes it ready for the next entry.
 *
 * The input is untrusted, so a record must match "LENGTH key=value\n" exactly, and the records must
 * fill the header. A later path, linkpath or size replaces an earlier one; an empty value removes
 * it. Numbers are limited to INT64_MAX, so that later sums cannot wrap. A GNU.sparse.offset must be
 * followed by its numbytes.
 */
#include "unpack/entries/tar_internal.h"

#include "base/format/digits.h"

void pax_reset(struct pax *p)
{
	buf_reset(&p->path);
	buf_reset(&p->link);
	buf_reset(&p->sparse_name);
	p->has_path = p->has_link = p->has_size = p->has_mtime = false;
	p->sparse = p->has_name = p->has_offset = p->has_blocks = p->has_real = false;
	p->major = p->minor = 0;
	p->map.n = 0;
	p->map.size = 0;
}

void pax_done(struct pax *p)
{
	buf_done(&p->path);
	buf_done(&p->link);
	buf_done(&p->sparse_name);
	free(p->map.v);
}

static int pax_damaged(struct verdict *v)
{
	return refuse(v, "ARCHIVE_DAMAGED", NULL,
		      "a record of a pax header is not as it should be");
}

bool pax_number(struct slice text, uint64_t *ret)
{
	*ret = 0;
	return u64_parse(text, ret) && *ret <= INT64_MAX;
}

/* --- maps ------------------------------------------------------------------------------------------------ */

int sparse_add(struct sparse_map *m, uint64_t offset, uint64_t n, struct verdict *v)
{
	if (m->n == UNPACK_SPARSE_MAX)
		return refuse_over(v, "SPARSE_INVALID", NULL, UNPACK_SPARSE_MAX, m->n + 1,
				   "pieces of a sparse file");
	*GROW(m->v, m->n) = (struct sparse_piece){ offset, n };
	return 0;
}

/* Pieces rise and stay inside the file, and account for all bytes that are stored: so neither a hole nor a piece is negative. */
int sparse_check(const struct sparse_map *m, uint64_t stored, struct verdict *v)
{
	uint64_t at = 0, sum = 0;

	for (size_t i = 0; i < m->n; i++) {
		const struct sparse_piece *p = &m->v[i];

		if (p->offset < at || p->offset > m->size || p->n > m->size - p->offset)
			return refuse(v, "SPARSE_INVALID", NULL,
				      "the pieces of a sparse file overlap or leave it");
		at = p->offset + p->n;
		sum += p->n;
	}
	if (sum != stored)
		return refuse(v, "SPARSE_INVALID", NULL,
			      "the map of a sparse file is not for the data it has");
	return 0;
}

/* --- records --------------------------------------------------------------------------------------------- */

/* A key of a pax header, and the members of struct pax that it fills. */
struct pax_key {
	const char *name;
	int (*take)(struct pax *p, const struct pax_key *k, struct slice value, struct verdict *v);
	size_t to, has;
};

static int pax_take_text(struct pax *p, const struct pax_key *k, struct slice value,
			 struct verdict *v _unused_)
{
	struct buf *to = (struct buf *)((char *)p + k->to);

	buf_reset(to);
	*(bool *)((char *)p + k->has) = value.n > 0;
	return buf_add_slice(to, value);
}

static int pax_take_number(struct pax *p, const struct pax_key *k, struct slice value,
			   struct verdict *v)
{
	*(bool *)((char *)p + k->has) = true;
	return pax_number(value, (uint64_t *)((char *)p + k->to)) ? 0 : pax_damaged(v);
}

static int pax_take_size(struct pax *p, const struct pax_key *k, struct slice value,
			 struct verdict *v)
{
	p->has_size = false;
	return value.n ? pax_take_number(p, k, value, v) : 0;
}

/* Whole seconds; a fraction is cut off. */
static int pax_take_time(struct pax *p, const struct pax_key *k _unused_, struct slice value,
			 struct verdict *v)
{
	const char *dot = value.n ? memchr(value.p, '.', value.n) : NULL;
	bool empty = !value.n, negative = slice_skip(&value, "-");
	uint64_t seconds;

	if (empty)
		return 0;
	if (dot)
		value.n = (size_t)(dot - value.p);
	p->has_mtime = pax_number(value, &seconds);
	p->mtime = negative ? -1 : (int64_t)seconds;
	return p->has_mtime ? 0 : pax_damaged(v);
}

static int pax_take_offset(struct pax *p, const struct pax_key *k, struct slice value,
			   struct verdict *v)
{
	return p->has_offset ? pax_damaged(v) : pax_take_number(p, k, value, v);
}

static int pax_take_piece(struct pax *p, const struct pax_key *k _unused_, struct slice value,
			  struct verdict *v)
{
	uint64_t n;

	if (!p->has_offset || !pax_number(value, &n))
		return pax_damaged(v);
	p->has_offset = false;
	return sparse_add(&p->map, p->offset, n, v);
}

/* "offset,length,offset,length"; at: whether the next number is a length. A map that ends after an offset is damaged. */
static int pax_take_map(struct pax *p, const struct pax_key *k _unused_, struct slice text,
			struct verdict *v)
{
	struct slice one;
	uint64_t pair[2];
	unsigned at = 0;

	while (text.n) {
		slice_item(&text, ',', &one);
		if (!pax_number(one, &pair[at]))
			return pax_damaged(v);
		at ^= 1;
		if (!at && sparse_add(&p->map, pair[0], pair[1], v) < 0)
			return -EBADMSG;
	}
	return at ? pax_damaged(v) : 0;
}

#define PAX(member) offsetof(struct pax, member)

static const struct pax_key keys[] = {
	{ "path", pax_take_text, PAX(path), PAX(has_path) },
	{ "linkpath", pax_take_text, PAX(link), PAX(has_link) },
	{ "size", pax_take_size, PAX(size), PAX(has_size) },
	{ "mtime", pax_take_time, 0, 0 },
	{ "GNU.sparse.major", pax_take_number, PAX(major), PAX(sparse) },
	{ "GNU.sparse.minor", pax_take_number, PAX(minor), PAX(sparse) },
	{ "GNU.sparse.name", pax_take_text, PAX(sparse_name), PAX(has_name) },
	{ "GNU.sparse.realsize", pax_take_number, PAX(map.size), PAX(has_real) },
	{ "GNU.sparse.size", pax_take_number, PAX(map.size), PAX(has_real) },
	{ "GNU.sparse.numblocks", pax_take_number, PAX(blocks), PAX(has_blocks) },
	{ "GNU.sparse.offset", pax_take_offset, PAX(offset), PAX(has_offset) },
	{ "GNU.sparse.numbytes", pax_take_piece, 0, 0 },
	{ "GNU.sparse.map", pax_take_map, 0, 0 },
};

/* Cuts "LENGTH key=value\n" off text. */
static bool next_record(struct slice *text, struct slice *key, struct slice *value)
{
	const char *space = memchr(text->p, ' ', MIN(text->n, (size_t)20)), *equals;
	uint64_t n;
	size_t head = space ? (size_t)(space - text->p) : 0;

	if (!space || !pax_number((struct slice){ text->p, head }, &n) || n > text->n ||
	    n < head + 4 || text->p[n - 1] != '\n')
		return false;
	equals = memchr(space + 1, '=', n - head - 2);
	if (!equals || equals == space + 1)
		return false;
	*key = (struct slice){ space + 1, (size_t)(equals - space - 1) };
	*value = (struct slice){ equals + 1, (size_t)(text->p + n - 1 - equals - 1) };
	text->p += n;
	text->n -= n;
	return true;
}

/* A key that is not known is skipped, whatever its value. */
int pax_records(struct pax *p, struct slice text, struct verdict *v)
{
	while (text.n) {
		struct slice key, value;
		int r = 0;

		if (!next_record(&text, &key, &value))
			return pax_damaged(v);
		for (size_t i = 0; i < ARRAY_SIZE(keys) && r == 0; i++) {
			if (!slice_is(key, keys[i].name))
				continue;
			p->sparse = p->sparse || slice_starts(key, "GNU.sparse.");
			r = keys[i].take(p, &keys[i], value, v);
		}
		if (r < 0)
			return r;
	}
	return p->has_offset ? pax_damaged(v) : 0;
}
