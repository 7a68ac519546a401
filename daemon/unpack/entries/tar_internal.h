/*
 * tar_internal.h - what the files that read a tar share: pax records and maps of sparse files, which precede a header and
 * change the next entry; the current header block, and the places of its fields.
 */
#pragma once

#include "base/buf.h"
#include "unpack/entries/entries.h"
#include "unpack/job/verdict.h"

struct sparse_piece {
	uint64_t offset, n;
};

struct sparse_map {
	struct sparse_piece *v;
	size_t n;
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
	bool has_blocks, has_real, has_name;
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

#define BLOCK 512

/* Offsets and widths in a header. */
enum {
	OFF_NAME = 0,
	OFF_MODE = 100,
	OFF_SIZE = 124,
	OFF_MTIME = 136,
	OFF_TYPE = 156,
	OFF_LINK = 157
};
enum {
	OFF_MAGIC = 257,
	OFF_PREFIX = 345,
	OFF_MAP = 386,
	OFF_MORE = 482,
	OFF_REAL = 483,
	OFF_MORE_EXT = 504
};
enum { NAME_WIDTH = 100, PREFIX_WIDTH = 155, MODE_WIDTH = 8, NUMBER_WIDTH = 12 };
enum { MAP_IN_HEADER = 4, MAP_IN_BLOCK = 21 };

struct tar {
	struct source *src;
	struct plan *plan;
	struct verdict *v;
	struct pax pax;
	bool has_pax, has_long, has_long_link;
	struct buf name, link; /* of this entry; GNU long ones before it */
	uint64_t stored;       /* bytes of data of this entry */
	uint8_t block[BLOCK];
};

int tar_size_field(struct tar *t, size_t at, uint64_t *ret);
/* For a sparse file: reads its map from any of its places, and checks it. The entry's size is then that of the whole
 * file, t->stored what the archive still has of it. */
int tar_take_map(struct tar *t, struct source_entry *e);
