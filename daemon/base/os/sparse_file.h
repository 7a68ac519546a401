/*
 * sparse_file.h - a file read from front to back without reading its holes, and what of a tree is larger than its disk.
 *
 * A file of a terabyte costs nothing if it is a hole, and neither does the thousandth name of a file. So a job that reads
 * a tree has an allowance of such bytes (TREE_EXTRA_MAX): a file that does not fit is left out and named. The rest is
 * bounded by the disk.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

struct sparse_reader {
	int fd; /* borrowed */
	uint64_t at, end;
	uint64_t edge; /* up to here it is what hole says */
	bool hole;
};

/* The first size bytes of fd. */
void sparse_reader_begin(struct sparse_reader *r, int fd, uint64_t size);
/* Reads the next piece of at most max bytes; of a hole it is zeros, and r->hole is true. Returns its length, 0 at the
 * end or where the file is shorter than size, or a negative errno. */
ssize_t sparse_read(struct sparse_reader *r, void *bytes, size_t max);

/* Takes the bytes of that regular file that its disk does not have from *left. False: it has more than that. */
bool sparse_afford(uint64_t *left, const struct stat *sb);
