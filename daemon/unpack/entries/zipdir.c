/*
 * zipdir.c - parses the central directory of a zip with strict bounds, before any entry is used.
 *
 * A zip has everything twice, and attacks use the difference. So these rules hold. There is exactly one end record,
 * whose comment ends with the file, and which directly follows the directory (or the zip64 end record and its locator,
 * if there is one). Counts, sizes and offsets are correct. Every local header is equal to its entry in the directory:
 * name, flags, method, and CRC and sizes, or a data descriptor follows that has them. The entries with their headers
 * fill the file from its first byte to the directory, without gap or overlap. There is one disk, the methods are stored
 * and deflated, and nothing is encrypted. A Unicode-path field must have the same name.
 *
 * Unix modes and types are used of entries that were made on Unix; all others are files of 0644 and directories of
 * 0755. Times are the Unix time field's, else the DOS time as UTC. The reasons: ZIP_AMBIGUOUS, ZIP_HEADER_MISMATCH,
 * ZIP_OVERLAP, ENCRYPTED, METHOD_UNSUPPORTED, SIZE_MISMATCH, ARCHIVE_TRUNCATED, ARCHIVE_DAMAGED, TRAILING_DATA.
 *
 * The directory is read in pieces; `next` returns a pointer that is valid until its next call. An
 * entry with name, extra and comment (at most 3 * 65535 bytes) always fits into one piece. Names
 * are not stored, only their offset, because an archive may have UNPACK_ENTRIES_MAX of them. A
 * zip64 value is read only for a field that is all ones, in the order of the specification
 * (APPNOTE.TXT, 4.5.3).
 */
#include "unpack/entries/zipdir.h"

#include "base/os/file.h"

#include <time.h>
#include <zlib.h>

enum { ENTRY_BYTES = 46, PIECE_BYTES = 256 * 1024 };
enum { EXTRA_ZIP64 = 1, EXTRA_TIME = 0x5455, EXTRA_UNICODE_PATH = 0x7075 };
enum { FLAG_ENCRYPTED = 1 | 1 << 6 | 1 << 13, FLAG_PATCH = 1 << 5 };
enum { MADE_ON_UNIX = 3, MADE_ON_MACOS = 19 };
#define MAX32 0xffffffffu

/* --- the end of a zip: its end record, and the zip64 one ----------------------------------------------------- */

enum { END_BYTES = 22, LOCATOR_BYTES = 20, END64_BYTES = 56, COMMENT_MAX = 65535 };
#define MAX16 0xffffu

static const uint8_t end_magic[] = { 'P', 'K', 5, 6 }, end64_magic[] = { 'P', 'K', 6, 6 },
		     locator_magic[] = { 'P', 'K', 6, 7 };

struct end {
	uint64_t at; /* of the record */
	uint64_t disk, start_disk, here, count, bytes, offset;
};

int zip_pread(int fd, uint64_t at, void *to, size_t n, struct verdict *v)
{
	int r = file_read_at(fd, to, n, at);

	if (r == -EBADMSG)
		return refuse(v, "ARCHIVE_TRUNCATED", NULL, "the zip ends too early");
	return r < 0 ? fail_with(v, r, NULL, "reading the archive") : 0;
}

static int zip_ambiguous(struct verdict *v, const char *what)
{
	return refuse(v, "ZIP_AMBIGUOUS", NULL, "%s", what);
}

/* How many bytes of the tail come before the zeros at its end. */
static size_t zip_without_zeros(const uint8_t *tail, size_t n)
{
	while (n && !tail[n - 1])
		n--;
	return n;
}

/* Finds the only place in the tail where an end record's comment ends with the file, or where only zeros follow: whoever
 * writes into a pipe may fill its last block. */
static int zip_find_record(const uint8_t *tail, size_t n, size_t *ret, struct verdict *v)
{
	size_t found = 0, others = 0, cut = 0, filled = zip_without_zeros(tail, n);

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
	return zip_ambiguous(v, "the zip has more than one end record");
}

static struct end zip_read_end(const uint8_t *p, uint64_t at)
{
	return (struct end){ at,
			     zip_u16(p + 4),
			     zip_u16(p + 6),
			     zip_u16(p + 8),
			     zip_u16(p + 10),
			     zip_u32(p + 12),
			     zip_u32(p + 16) };
}

static bool zip_agrees(uint64_t small, uint64_t large, uint64_t full)
{
	return small == full || small == large;
}

/* The zip64 record replaces fields that were too small; the others must be equal. */
static int zip_read_end64(int fd, struct end *e, struct verdict *v)
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
		return zip_ambiguous(v, "the zip64 locator is wrong");
	r = zip_pread(fd, at, p, sizeof(p), v);
	if (r < 0)
		return r;
	bytes = zip_u64(p + 4);
	if (memcmp(p, end64_magic, sizeof(end64_magic)) != 0 || bytes < END64_BYTES - 12 ||
	    bytes > e->at || at + 12 + bytes != e->at - LOCATOR_BYTES)
		return zip_ambiguous(v, "the zip64 end record is not where it should be");
	large = (struct end){ at,
			      zip_u32(p + 16),
			      zip_u32(p + 20),
			      zip_u64(p + 24),
			      zip_u64(p + 32),
			      zip_u64(p + 40),
			      zip_u64(p + 48) };
	if (!zip_agrees(e->here, large.here, MAX16) || !zip_agrees(e->count, large.count, MAX16) ||
	    !zip_agrees(e->bytes, large.bytes, MAX32) ||
	    !zip_agrees(e->offset, large.offset, MAX32) ||
	    !zip_agrees(e->disk, large.disk, MAX16) ||
	    !zip_agrees(e->start_disk, large.start_disk, MAX16))
		return zip_ambiguous(v, "the two end records of the zip do not agree");
	*e = large;
	return 0;
}

/* Where the directory is and how many entries it has. */
static int zip_find_end(int fd, uint64_t size, struct zip_dir *d, uint64_t *count,
			struct verdict *v)
{
	size_t n = (size_t)MIN(size, (uint64_t)END_BYTES + COMMENT_MAX), at = 0;
	_cleanup_(freep) uint8_t *tail = xalloc(n);
	struct end e;
	int r = zip_pread(fd, size - n, tail, n, v);

	if (r == 0)
		r = zip_find_record(tail, n, &at, v);
	if (r < 0)
		return r;
	e = zip_read_end(tail + at, size - n + at);
	r = zip_read_end64(fd, &e, v);
	if (r < 0)
		return r;
	if (e.disk || e.start_disk || e.here != e.count)
		return zip_ambiguous(v, "the zip is a part of several");
	if (e.offset > e.at || e.bytes != e.at - e.offset)
		return zip_ambiguous(v,
				     "the directory of the zip is not where its end record says");
	d->begin = e.offset;
	d->end = e.at;
	*count = e.count;
	return 0;
}

/* --- the directory ------------------------------------------------------------------------------------------ */

struct zip_reader {
	struct zip_dir *d;
	struct verdict *v;
	uint64_t at; /* of buf[0] in the file */
	size_t pos, have;
	uint8_t buf[PIECE_BYTES];
};

static int zip_damaged(struct zip_reader *r, const char *what)
{
	return refuse(r->v, "ARCHIVE_DAMAGED", NULL, "%s", what);
}

/* The next n bytes of the directory; NULL: it ends before, or the verdict says why. */
static const uint8_t *zip_next(struct zip_reader *r, size_t n)
{
	uint64_t from = r->at + r->pos;

	if (n > r->d->end - from) {
		refuse(r->v, "ZIP_AMBIGUOUS", NULL, "an entry leaves the directory of the zip");
		return NULL;
	}
	if (n > r->have - r->pos) {
		r->have = (size_t)MIN(r->d->end - from, (uint64_t)PIECE_BYTES);
		r->at = from;
		r->pos = 0;
		if (zip_pread(r->d->fd, from, r->buf, r->have, r->v) < 0)
			return NULL;
	}
	r->pos += n;
	return r->buf + r->pos - n;
}

/* --- extra fields ------------------------------------------------------------------------------------------- */

/* Values for the fields that were full, in this order. */
static int zip_take_zip64(struct zip_reader *r, const uint8_t *p, size_t n, struct zip_entry *e)
{
	uint64_t *wide[] = { &e->size, &e->packed, &e->header };

	for (size_t i = 0; i < ARRAY_SIZE(wide); i++) {
		if (*wide[i] != MAX32)
			continue;
		if (n < 8)
			return zip_damaged(r, "a zip64 field is too short");
		*wide[i] = zip_u64(p);
		p += 8;
		n -= 8;
	}
	return 0;
}

static int zip_check_unicode(struct zip_reader *r, const uint8_t *p, size_t n, struct slice name)
{
	if (n < 5 || p[0] != 1)
		return zip_damaged(r, "a Unicode-path field is of another version");
	if (zip_u32(p + 1) != crc32(0, (const Bytef *)name.p, (uInt)name.n) || n - 5 != name.n ||
	    memcmp(p + 5, name.p, name.n) != 0)
		return refuse(r->v, "ZIP_HEADER_MISMATCH", NULL, "an entry has two names");
	return 0;
}

static int zip_take_extra(struct zip_reader *r, unsigned id, const uint8_t *p, size_t n,
			  struct slice name, struct zip_entry *e)
{
	if (id == EXTRA_ZIP64)
		return zip_take_zip64(r, p, n, e);
	if (id == EXTRA_UNICODE_PATH)
		return zip_check_unicode(r, p, n, name);
	if (id == EXTRA_TIME && n >= 5 && p[0] & 1)
		e->mtime = (int32_t)zip_u32(p + 1);
	return 0;
}

static int zip_take_extras(struct zip_reader *r, const uint8_t *p, size_t n, struct slice name,
			   struct zip_entry *e)
{
	bool wide = e->size == MAX32 || e->packed == MAX32 || e->header == MAX32, seen = false;

	while (n >= 4) {
		unsigned id = zip_u16(p);
		size_t len = zip_u16(p + 2);

		if (len > n - 4)
			return zip_damaged(
				r, "the extra fields of an entry are not as they should be");
		if (id == EXTRA_ZIP64 && seen)
			return zip_damaged(r, "an entry has two zip64 fields");
		seen = seen || id == EXTRA_ZIP64;
		if (zip_take_extra(r, id, p + 4, len, name, e) < 0)
			return -EBADMSG;
		p += 4 + len;
		n -= 4 + len;
	}
	return wide && !seen ? zip_damaged(r, "an entry needs a zip64 field and has none") : 0;
}

/* --- entries ------------------------------------------------------------------------------------------------ */

static int64_t zip_dos_time(unsigned time, unsigned date)
{
	struct tm tm = {
		.tm_sec = (int)(time & 31) * 2,
		.tm_min = (int)(time >> 5 & 63),
		.tm_hour = (int)(time >> 11),
		.tm_mday = (int)(date & 31),
		.tm_mon = (int)(date >> 5 & 15) - 1,
		.tm_year = (int)(date >> 9) + 80,
	};

	return timegm(&tm);
}

static const struct {
	mode_t format;
	enum source_entry_type type;
} formats[] = {
	{ S_IFREG, ENTRY_FILE },    { 0, ENTRY_FILE },	       { S_IFDIR, ENTRY_DIR },
	{ S_IFLNK, ENTRY_SYMLINK }, { S_IFIFO, ENTRY_FIFO },   { S_IFSOCK, ENTRY_SOCKET },
	{ S_IFCHR, ENTRY_DEVICE },  { S_IFBLK, ENTRY_DEVICE },
};

/* Other systems write DOS attributes there, which have no type and no permission bits of Unix. */
static int zip_take_mode(struct zip_reader *r, unsigned made_by, uint32_t external,
			 struct slice name, struct zip_entry *e)
{
	bool dir = name.n && name.p[name.n - 1] == '/';
	unsigned mode = made_by == MADE_ON_UNIX || made_by == MADE_ON_MACOS ? external >> 16 : 0;
	size_t i = 0;

	while (i < ARRAY_SIZE(formats) && formats[i].format != (mode & S_IFMT))
		i++;
	if (i == ARRAY_SIZE(formats))
		return zip_damaged(r, "an entry is of a type that Unix does not have");
	e->type = (uint8_t)formats[i].type;
	if (dir && e->type == ENTRY_FILE)
		e->type = ENTRY_DIR;
	e->mode = (uint16_t)(mode & 07777);
	if (!mode)
		e->mode = e->type == ENTRY_DIR ? 0755 : 0644;
	return 0;
}

static int zip_check_method(struct zip_reader *r, const struct zip_entry *e)
{
	if (e->flags & FLAG_ENCRYPTED || e->method == 99)
		return refuse(r->v, "ENCRYPTED", NULL, "the zip is encrypted");
	if (e->flags & FLAG_PATCH || (e->method != ZIP_STORED && e->method != ZIP_DEFLATED))
		return refuse(r->v, "METHOD_UNSUPPORTED", NULL,
			      "an entry is compressed with method %u", e->method);
	if (e->method == ZIP_STORED && e->packed != e->size)
		return refuse(r->v, "SIZE_MISMATCH", NULL, "a stored entry says two sizes");
	if (e->type == ENTRY_DIR && e->size)
		return zip_damaged(r, "a directory has data");
	return 0;
}

static int zip_read_entry(struct zip_reader *r, struct zip_entry *e)
{
	const uint8_t *p = zip_next(r, ENTRY_BYTES), *rest;
	size_t name_n, extra_n, comment_n;
	unsigned made_by, disk;
	uint32_t external;
	struct slice name;

	if (!p)
		return -EBADMSG;
	if (memcmp(p, "PK\1\2", 4) != 0)
		return refuse(r->v, "ZIP_AMBIGUOUS", NULL,
			      "the directory of the zip has fewer entries");
	*e = (struct zip_entry){
		.flags = (uint16_t)zip_u16(p + 8),
		.method = (uint16_t)zip_u16(p + 10),
		.mtime = zip_dos_time(zip_u16(p + 12), zip_u16(p + 14)),
		.crc = zip_u32(p + 16),
		.packed = zip_u32(p + 20),
		.size = zip_u32(p + 24),
		.header = zip_u32(p + 42),
		.name_n = (uint16_t)zip_u16(p + 28),
	};
	made_by = p[5];
	disk = zip_u16(p + 34);
	external = zip_u32(p + 38);
	name_n = e->name_n;
	extra_n = zip_u16(p + 30);
	comment_n = zip_u16(p + 32);
	rest = zip_next(r, name_n + extra_n + comment_n);
	if (!rest)
		return -EBADMSG;
	e->name_at = r->at + (uint64_t)(rest - r->buf);
	name = (struct slice){ (const char *)rest, name_n };
	if (disk != 0)
		return refuse(r->v, "ZIP_AMBIGUOUS", NULL, "the zip is a part of several");
	if (zip_take_extras(r, rest + name_n, extra_n, name, e) < 0 ||
	    zip_take_mode(r, made_by, external, name, e) < 0)
		return -EBADMSG;
	return zip_check_method(r, e);
}

static int zip_read_entries(struct zip_reader *r, uint64_t count)
{
	struct zip_dir *d = r->d;

	for (d->n = 0; d->n < count; d->n++) {
		struct zip_entry *e = &d->v[d->n];

		if (zip_read_entry(r, e) < 0)
			return -EBADMSG;
		if (__builtin_add_overflow(d->unpacked, e->size, &d->unpacked))
			return zip_damaged(r, "the sizes in the zip are impossible");
	}
	if (r->at + r->pos != d->end)
		return refuse(r->v, "ZIP_AMBIGUOUS", NULL,
			      "the directory of the zip has more than its entries");
	return 0;
}

/* The count is compared with the room for entries before memory is allocated for it. */
int zip_dir_read(struct zip_dir *d, int fd, uint64_t entries_max, struct verdict *v)
{
	_cleanup_(freep) struct zip_reader *r = new0(struct zip_reader);
	uint64_t count = 0;
	struct stat sb;
	int result;

	*d = (struct zip_dir){ .fd = fd };
	if (fstat(fd, &sb) < 0)
		return fail_with(v, -errno, NULL, "reading the archive");
	d->file_size = (uint64_t)sb.st_size;
	result = zip_find_end(fd, d->file_size, d, &count, v);
	if (result < 0)
		return result;
	if (count > entries_max)
		return refuse_over(v, "TOO_MANY_ENTRIES", NULL, entries_max, count, "entries");
	if (count > (d->end - d->begin) / ENTRY_BYTES)
		return refuse(v, "ZIP_AMBIGUOUS", NULL,
			      "the directory of the zip has fewer entries");
	d->v = xalloc(count * sizeof(*d->v));
	r->d = d;
	r->v = v;
	r->at = d->begin;
	result = zip_read_entries(r, count);
	return result < 0 ? result : zip_check_local(d, v);
}

void zip_dir_done(struct zip_dir *d)
{
	free(TAKE_PTR(d->v));
}

int zip_dir_name(const struct zip_dir *d, const struct zip_entry *e, struct buf *name,
		 struct verdict *v)
{
	buf_reset(name);
	if (buf_reserve(name, e->name_n + 1u) < 0)
		return fail_with(v, -ENOMEM, NULL, "a name");
	name->len = e->name_n;
	return zip_pread(d->fd, e->name_at, name->data, e->name_n, v);
}
