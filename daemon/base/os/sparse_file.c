#include "base/os/sparse_file.h"

#include "base/limits.h"
#include "base/util.h"

#define BLOCK_BYTES 512 /* of st_blocks, whatever the file system's are */

void sparse_reader_begin(struct sparse_reader *r, int fd, uint64_t size)
{
	*r = (struct sparse_reader){ .fd = fd, .end = size };
}

/* Finds what begins at r->at. A file system that has no word for holes has data only. */
static void find_edge(struct sparse_reader *r)
{
	off_t data = lseek(r->fd, (off_t)r->at, SEEK_DATA), next;

	/* ENXIO: no data follows (lseek(2)). After any other error the rest counts as data. */
	r->hole = data < 0 ? errno == ENXIO : (uint64_t)data > r->at;
	if (r->hole) {
		next = data < 0 ? lseek(r->fd, 0, SEEK_END) : data;
		r->edge = next < 0 ? r->end : MIN((uint64_t)next, r->end);
		return;
	}
	next = data < 0 ? -1 : lseek(r->fd, data, SEEK_HOLE);
	r->edge = next <= data ? r->end : MIN((uint64_t)next, r->end);
}

ssize_t sparse_read(struct sparse_reader *r, void *bytes, size_t max)
{
	ssize_t n;

	if (r->at >= r->end)
		return 0;
	if (r->at >= r->edge)
		find_edge(r);
	if (r->at >= r->edge) /* the file has become shorter */
		return 0;
	max = (size_t)MIN((uint64_t)max, r->edge - r->at);
	if (r->hole) {
		memset(bytes, 0, max);
		n = (ssize_t)max;
	} else {
		n = RETRY(pread(r->fd, bytes, max, (off_t)r->at));
	}
	if (n < 0)
		return -errno;
	r->at += (uint64_t)n;
	return n;
}

static uint64_t bytes_beyond_disk(const struct stat *sb)
{
	uint64_t size = sb->st_size > 0 ? (uint64_t)sb->st_size : 0;
	uint64_t disk = (uint64_t)sb->st_blocks * BLOCK_BYTES;

	if (sb->st_nlink > TREE_LINKS_FREE)
		disk = disk / (uint64_t)sb->st_nlink * TREE_LINKS_FREE;
	return size - MIN(size, disk);
}

bool sparse_afford(uint64_t *left, const struct stat *sb)
{
	uint64_t beyond = bytes_beyond_disk(sb);

	if (beyond > *left)
		return false;
	*left -= beyond;
	return true;
}
