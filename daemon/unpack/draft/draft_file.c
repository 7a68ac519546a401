/*
 * draft_file.c - copies one file, link or directory between two untrusted trees.
 *
 * The digest is computed from the bytes that are written, so it describes the copy even if the
 * source changes during the copy. At most the size at open is read. A file is created with mode
 * 0600 and gets its final mode and time after its bytes, since a write changes the time.
 */
#include "unpack/draft/draft.h"

#include "base/os/file.h"
#include "base/os/sparse_file.h"

#define READ_BYTES (256 * KIB)

/* A hole stays one. */
static int put_piece(int out, bool hole, const void *bytes, size_t n)
{
	if (!hole)
		return file_write_all(out, bytes, n);
	return lseek(out, (off_t)n, SEEK_CUR) < 0 ? -errno : 0;
}

static int draft_copy_bytes(int in, int out, uint64_t size, struct draft_sent *ret)
{
	static unsigned char bytes[READ_BYTES];
	struct sparse_reader file;
	struct sha256_stream sum;
	ssize_t got;
	int r = 0;

	sha256_begin(&sum);
	sparse_reader_begin(&file, in, size);
	while (r == 0 && (got = sparse_read(&file, bytes, sizeof(bytes))) != 0) {
		if (got < 0)
			return (int)got;
		sha256_add(&sum, bytes, (size_t)got);
		r = put_piece(out, file.hole, bytes, (size_t)got);
	}
	sha256_end(&sum, &ret->digest);
	ret->bytes = file.at;
	return r == 0 && ftruncate(out, (off_t)file.at) < 0 ? -errno : r;
}

int draft_file_copy(struct held *from, struct held *to, const char *path, mode_t mode, uint64_t max,
		    struct draft_sent *ret)
{
	_cleanup_(closep) int in = -1, out = -1;
	struct stat sb;
	int r;

	in = held_open(from, path, &sb);
	if (in < 0)
		return in;
	if ((uint64_t)sb.st_size > max)
		return -EFBIG;
	out = held_create(to, path, 0600);
	if (out < 0)
		return out;
	r = draft_copy_bytes(in, out, (uint64_t)sb.st_size, ret);
	if (r == 0 && fchmod(out, mode & 07777) < 0)
		r = -errno;
	if (r == 0 &&
	    futimens(out, (struct timespec[]){ { .tv_nsec = UTIME_OMIT }, sb.st_mtim }) < 0)
		r = -errno;
	return r;
}

int draft_link_copy(struct held *from, struct held *to, const char *path, struct draft_sent *ret)
{
	char text[PATH_BYTES_MAX + 1];
	ssize_t n = held_readlink(from, path, text, sizeof(text));
	int r;

	if (n < 0 || n > PATH_BYTES_MAX)
		return n < 0 ? (int)n : -ENAMETOOLONG;
	text[n] = '\0';
	ret->bytes = (uint64_t)n;
	r = held_symlink(to, path, text);
	return r < 0 ? r : sha256_of(slice_of(text), &ret->digest);
}
