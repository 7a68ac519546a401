/*
 * packfile.h - the contents that an index and its turns refer to: one append-only file. A content is a zstd frame with
 * its size in it, or the bytes as they are: then its entry has packed == size. (Packs of earlier versions may have a
 * frame that is just as long as its content; the digest tells.) Empty contents are not in it.
 *
 * Functions return 0 or a negative errno; -EBADMSG for contents that are not what the entry says; -EFBIG beyond max.
 */
#pragma once

#include "unpack/snapshot/index.h"

/* Contents in the form in which they are kept: a zstd frame where that is much smaller, else the bytes as they are. */
struct packer {
	void *zstd; /* made when it is first needed */
};

struct packed {
	struct slice bytes; /* of frame, or the content itself */
	struct buf frame;
};

/* ret is used again and again. Without memory for a frame it is the content itself. */
void packer_pack(struct packer *p, struct slice content, struct packed *ret);
void packer_done(struct packer *p);

struct packfile {
	int fd; /* borrowed */
	uint64_t end, max;
	struct packer packer;
	void *inflate; /* zstd's, made when it is first needed */
	struct buf piece;
};

/* end: what the index says. */
void packfile_init(struct packfile *p, int fd, uint64_t end, uint64_t max);
void packfile_done(struct packfile *p);
/* Before the first packfile_append. -EBADMSG if the file is shorter than its index says. */
int packfile_cut(struct packfile *p);
/* Fills in e->at, packed and size. After an error the file ends where it ended. */
int packfile_append(struct packfile *p, struct slice content, struct index_entry *e);
/* The same with a content of n bytes that packer_pack has packed. */
int packfile_append_packed(struct packfile *p, struct slice packed, size_t n,
			   struct index_entry *e);
/* ret is emptied before. The digest is checked. */
int packfile_read(struct packfile *p, const struct index_entry *e, struct buf *ret);
