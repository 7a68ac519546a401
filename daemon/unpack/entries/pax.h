/*
 * pax.h - what precedes a tar header and changes the next entry: pax records ("x"), and maps of sparse files in all
 * their forms.
 *
 * Strict: a record that is not "LENGTH key=value\n" to the byte makes the archive damaged; numbers are digits only.
 * Known are path, linkpath, size, mtime and GNU.sparse.*; all other keys (owners, ACLs, extended attributes, comments)
 * are skipped. An empty value removes an override.
 *
 * A map is a list of pieces that hold data, rising and without overlap, inside the file's size; all else is a hole.
 * Other maps are SPARSE_INVALID. A struct pax owns its buffers; pax_reset() makes it ready for the next entry.
 */
#pragma once

#include "base/buf.h"
#include "unpack/job/verdict.h"

struct sparse_piece {
	uint64_t offset, n;
};

struct sparse_map {
	struct sparse_piece *v;
	size_t n, cap;
	uint64_t size; /* of the file */
};

struct pax {
	bool has_path, has_link, has_size, has_mtime;
	struct buf path, link;
	uint64_t size;
	int64_t mtime;
	/* GNU.sparse.* */
	bool sparse, has_offset;
	uint64_t major, minor, blocks, offset;
	bool has_blocks, has_real;
	struct buf sparse_name;
	struct sparse_map map;
};

void pax_reset(struct pax *p);
void pax_done(struct pax *p);
int pax_records(struct pax *p, struct slice text, struct verdict *v);
/* Decimal digits, all of text; false also beyond 2^63. */
bool pax_number(struct slice text, uint64_t *ret);

int sparse_add(struct sparse_map *m, uint64_t offset, uint64_t n, struct verdict *v);
/* stored: bytes of data that the archive has for it. */
int sparse_check(const struct sparse_map *m, uint64_t stored, struct verdict *v);
