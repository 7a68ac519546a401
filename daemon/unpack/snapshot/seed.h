/*
 * seed.h - what an extraction leaves for the baseline of the tree that it writes: contents in the pack and an index of
 * them, as if a snapshot had been taken. The baseline that follows then finds each file known by its stat data, and
 * reads no byte that has passed through here. Whatever is not as it was written (renamed into place path by path, linked
 * to, given away, changed) has another ctime, and is read.
 */
#pragma once

#include "tree/tree_manifest.h"

#include <sys/stat.h>

struct seed;

struct seed_place {
	uint64_t at;
	bool whole; /* it is in the pack */
};

/* Both borrowed, empty files. */
struct seed *seed_new(int pack, int index);
void seed_free(struct seed *s);
/* The next bytes of the file at hand; NULL: so many zeros. One thread at a time. s NULL: nothing, here and below. */
void seed_add(struct seed *s, const void *p, size_t n);
/* The file at hand is complete. */
struct seed_place seed_end(struct seed *s);
void seed_placed(struct seed *s, uint32_t node, struct seed_place place);
/* What it was when it was written. */
void seed_written(struct seed *s, uint32_t node, const struct stat *sb);
/* What is known of node counts no more: it is another file's now. */
void seed_forget(struct seed *s, uint32_t node);
/* The index of all files of m, which stand below tree, with the digests that m has. 0, or a negative errno: then index is empty, or damaged. */
int seed_write(struct seed *s, const struct manifest *m, int tree);
