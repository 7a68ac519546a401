/*
 * draft_base.h - what the real tree was when a draft began, path by path, and what of the draft its agent has not
 * touched since. It tells apart what the agent changed and what others changed meanwhile.
 *
 * A file of the daemon's state: a first line (tree/draft_head.h), a record for each path in the order of tree_walker.h, a line
 * with a checksum of all of it. An apply begins a new generation: with that an overlay begins anew, empty, since what lies
 * beneath it has changed. An entry whose stamps are all zeros says that there was nothing. real: the stat data of the real tree's
 * entry; after an apply they are not known. The digest is of its bytes, so that a file with other times and the same bytes
 * is as it was; up to DRAFT_HASH_BYTES of a tree are hashed when a draft begins. view: the stat data of a copy's own entry when
 * it was the same as the real tree's.
 *
 * Functions return 0 or a negative errno; -EBADMSG: the file is damaged.
 */
#pragma once

#include "digest/digest.h"
#include "tree/draft_head.h"
#include "unpack/draft/draft_tree.h"

struct draft_base_entry {
	size_t path;
	struct stamp real, view;
	bool has_view, has_digest;
	struct sha256 digest; /* of a file's bytes, of a link's text */
};

struct draft_base {
	struct draft_base_entry *v;
	size_t n;
	struct buf text;
	struct draft_head head;
};

int draft_base_read(struct draft_base *b, int fd);
void draft_base_done(struct draft_base *b);
static inline const char *draft_base_path(const struct draft_base *b, size_t i)
{
	return b->text.data + b->v[i].path;
}

struct draft_base_writer {
	int fd;
	struct buf out;
	uint32_t crc;
};

void draft_base_begin(struct draft_base_writer *w, int fd, const struct draft_head *head);
/* path: in order. */
int draft_base_put(struct draft_base_writer *w, const char *path, const struct draft_base_entry *e);
/* The file is whole, and on its disk. */
int draft_base_end(struct draft_base_writer *w);
void draft_base_writer_done(struct draft_base_writer *w);
