/*
 * tarblock.h - what the files that read a tar share: the current header block, what preceded it, and the places of its
 * fields.
 */
#pragma once

#include "unpack/entries/pax.h"
#include "unpack/entries/tar.h"

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

/* Refuses with the name in the current block. */
int tar_damaged(struct tar *t, const char *what);
int tar_size_field(struct tar *t, size_t at, uint64_t *ret);
/* For a sparse file: reads its map from any of its places, and checks it. The entry's size is then that of the whole
 * file, t->stored what the archive still has of it. */
int tar_take_map(struct tar *t, struct source_entry *e);
