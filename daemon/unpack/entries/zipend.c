/* The end of a zip: its end record, and the zip64 one. */
#include "unpack/entries/zipdir.h"

#include <errno.h>

enum { END_BYTES = 22, LOCATOR_BYTES = 20, END64_BYTES = 56, COMMENT_MAX = 65535 };
#define MAX16 0xffffu
#define MAX32 0xffffffffu

static const uint8_t end_magic[] = { 'P', 'K', 5, 6 }, end64_magic[] = { 'P', 'K', 6, 6 },
		     locator_magic[] = { 'P', 'K', 6, 7 };

struct end {
	uint64_t at; /* of the record */
	uint64_t disk, start_disk, here, count, bytes, offset;
};

int zip_pread(int fd, uint64_t at, void *to, size_t n, struct verdict *v)
{
	size_t done = 0;

	while (done < n) {
		ssize_t got = RETRY(pread(fd, (uint8_t *)to + done, n - done, (off_t)(at + done)));

		if (got < 0)
			return fail_with(v, -errno, NULL, "reading the archive");
		if (got == 0)
			return refuse(v, "ARCHIVE_TRUNCATED", NULL, "the zip ends too early");
		done += (size_t)got;
	}
	return 0;
}

static int ambiguous(struct verdict *v, const char *what)
{
	return refuse(v, "ZIP_AMBIGUOUS", NULL, "%s", what);
}

/* How many bytes of the tail come before the zeros at its end. */
static size_t without_zeros(const uint8_t *tail, size_t n)
{
	while (n && !tail[n - 1])
		n--;
	return n;
}

/* Finds the only place in the tail where an end record's comment ends with the file, or where only zeros follow: whoever
 * writes into a pipe may fill its last block. */
static int find_record(const uint8_t *tail, size_t n, size_t *ret, struct verdict *v)
{
	size_t found = 0, others = 0, cut = 0, filled = without_zeros(tail, n);

	for (size_t i = n < END_BYTES ? 0 : n - END_BYTES + 1; i-- > 0;) {
		size_t end;

		if (memcmp(tail + i, end_magic, sizeof(end_magic)) != 0)
			continue;
		end = i + END_BYTES + zip_u16(tail + i + 20);
		if (end <= n && end >= filled) {
			found++;
			*ret = i;
		} else if (end < n) {
			cut++;
		}
		others += found == 0;
	}
	if (found == 1 && others == 0)
		return 0;
	if (found == 0 && cut)
		return refuse(v, "TRAILING_DATA", NULL,
			      "something follows the end record of the zip");
	if (found == 0)
		return refuse(v, "ARCHIVE_TRUNCATED", NULL, "the zip has no end record");
	return ambiguous(v, "the zip has more than one end record");
}

static struct end read_end(const uint8_t *p, uint64_t at)
{
	return (struct end){ at,
			     zip_u16(p + 4),
			     zip_u16(p + 6),
			     zip_u16(p + 8),
			     zip_u16(p + 10),
			     zip_u32(p + 12),
			     zip_u32(p + 16) };
}

static bool agree(uint64_t small, uint64_t large, uint64_t full)
{
	return small == full || small == large;
}

/* The zip64 record replaces fields that were too small; the others must be equal. */
static int read_end64(int fd, struct end *e, struct verdict *v)
{
	uint8_t locator[LOCATOR_BYTES], p[END64_BYTES];
	struct end large;
	uint64_t at, bytes;
	int r = 0;

	if (e->at < LOCATOR_BYTES)
		return 0;
	r = zip_pread(fd, e->at - LOCATOR_BYTES, locator, sizeof(locator), v);
	if (r < 0 || memcmp(locator, locator_magic, sizeof(locator_magic)) != 0)
		return r;
	at = zip_u64(locator + 8);
	if (zip_u32(locator + 4) != 0 || zip_u32(locator + 16) > 1 || at > e->at)
		return ambiguous(v, "the zip64 locator is wrong");
	r = zip_pread(fd, at, p, sizeof(p), v);
	if (r < 0)
		return r;
	bytes = zip_u64(p + 4);
	if (memcmp(p, end64_magic, sizeof(end64_magic)) != 0 || bytes < END64_BYTES - 12 ||
	    bytes > e->at || at + 12 + bytes != e->at - LOCATOR_BYTES)
		return ambiguous(v, "the zip64 end record is not where it should be");
	large = (struct end){ at,
			      zip_u32(p + 16),
			      zip_u32(p + 20),
			      zip_u64(p + 24),
			      zip_u64(p + 32),
			      zip_u64(p + 40),
			      zip_u64(p + 48) };
	if (!agree(e->here, large.here, MAX16) || !agree(e->count, large.count, MAX16) ||
	    !agree(e->bytes, large.bytes, MAX32) || !agree(e->offset, large.offset, MAX32) ||
	    !agree(e->disk, large.disk, MAX16) || !agree(e->start_disk, large.start_disk, MAX16))
		return ambiguous(v, "the two end records of the zip do not agree");
	*e = large;
	return 0;
}

int zip_find_end(int fd, uint64_t size, struct zip_dir *d, uint64_t *count, struct verdict *v)
{
	size_t n = (size_t)MIN(size, (uint64_t)END_BYTES + COMMENT_MAX), at = 0;
	_cleanup_(freep) uint8_t *tail = xalloc(n);
	struct end e;
	int r = zip_pread(fd, size - n, tail, n, v);

	if (r == 0)
		r = find_record(tail, n, &at, v);
	if (r < 0)
		return r;
	e = read_end(tail + at, size - n + at);
	r = read_end64(fd, &e, v);
	if (r < 0)
		return r;
	if (e.disk || e.start_disk || e.here != e.count)
		return ambiguous(v, "the zip is a part of several");
	if (e.offset > e.at || e.bytes != e.at - e.offset)
		return ambiguous(v, "the directory of the zip is not where its end record says");
	d->begin = e.offset;
	d->end = e.at;
	*count = e.count;
	return 0;
}
