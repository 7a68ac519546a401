/* The local headers of a zip against its directory. */
#include "unpack/entries/zipdir.h"

enum { LOCAL_BYTES = 30, FLAG_DESCRIPTOR = 8, EXTRA_ZIP64 = 1 };
#define MAX32 0xffffffffu

struct local {
	struct zip_dir *d;
	struct verdict *v;
	struct buf name, both; /* of the directory; of the local header with its extra fields */
};

static int mismatch(struct local *l, const char *what)
{
	_cleanup_(freep) char *name = xstrndup(l->name.data, l->name.len);

	return refuse(l->v, "ZIP_HEADER_MISMATCH", name, "%s", what);
}

/* The sizes of a local zip64 field: both, unpacked first. */
static void wide_sizes(const uint8_t *p, size_t n, uint64_t *size, uint64_t *packed)
{
	while (n >= 4) {
		size_t len = zip_u16(p + 2);

		if (len > n - 4)
			return;
		if (zip_u16(p) == EXTRA_ZIP64 && len >= 16) {
			*size = *size == MAX32 ? zip_u64(p + 4) : *size;
			*packed = *packed == MAX32 ? zip_u64(p + 12) : *packed;
			return;
		}
		p += 4 + len;
		n -= 4 + len;
	}
}

static int check_sizes(struct local *l, const struct zip_entry *e, const uint8_t *head,
		       const uint8_t *extra, size_t extra_n)
{
	uint64_t packed = zip_u32(head + 18), size = zip_u32(head + 22);
	uint32_t crc = zip_u32(head + 14);
	bool later = e->flags & FLAG_DESCRIPTOR;

	wide_sizes(extra, extra_n, &size, &packed);
	/* what only the descriptor knows is 0 here */
	if ((crc != e->crc && !(later && crc == 0)) || (size != e->size && !(later && size == 0)) ||
	    (packed != e->packed && !(later && packed == 0)))
		return mismatch(l, "a local header says another size or CRC than the directory");
	return 0;
}

static int local_check_header(struct local *l, struct zip_entry *e)
{
	uint8_t head[LOCAL_BYTES];
	size_t name_n, extra_n;
	int r;

	if (e->header > l->d->begin || l->d->begin - e->header < LOCAL_BYTES)
		return refuse(l->v, "ZIP_AMBIGUOUS", NULL, "an entry begins behind the directory");
	r = zip_dir_name(l->d, e, &l->name, l->v);
	if (r == 0)
		r = zip_pread(l->d->fd, e->header, head, sizeof(head), l->v);
	if (r < 0)
		return r;
	if (memcmp(head, "PK\3\4", 4) != 0)
		return mismatch(l, "there is no local header where the directory says");
	if (zip_u16(head + 6) != e->flags || zip_u16(head + 8) != e->method)
		return mismatch(l, "a local header says other flags or another method");
	name_n = zip_u16(head + 26);
	extra_n = zip_u16(head + 28);
	buf_reset(&l->both);
	if (buf_reserve(&l->both, name_n + extra_n + 1) < 0)
		return fail_with(l->v, -ENOMEM, NULL, "a name");
	r = zip_pread(l->d->fd, e->header + LOCAL_BYTES, l->both.data, name_n + extra_n, l->v);
	if (r < 0)
		return r;
	if (name_n != e->name_n || memcmp(l->both.data, l->name.data, name_n) != 0)
		return mismatch(l, "a local header says another name than the directory");
	e->data = e->header + LOCAL_BYTES + name_n + extra_n;
	if (e->data > l->d->begin || e->packed > l->d->begin - e->data)
		return refuse(l->v, "ZIP_OVERLAP", NULL,
			      "the data of an entry reach into the directory");
	return check_sizes(l, e, head, (const uint8_t *)l->both.data + name_n, extra_n);
}

/* A descriptor must fill the room up to the next entry. */
static int check_descriptor(struct local *l, const struct zip_entry *e, uint64_t room)
{
	uint8_t p[24], *at = p;
	size_t width = room == 12 || room == 16 ? 4 : 8;
	uint64_t packed, size;

	if (room != 12 && room != 16 && room != 20 && room != 24)
		return refuse(l->v, "ZIP_AMBIGUOUS", NULL,
			      "bytes that belong to no entry of the zip");
	if (zip_pread(l->d->fd, e->data + e->packed, p, (size_t)room, l->v) < 0)
		return -EBADMSG;
	if (room == 16 || room == 24) {
		if (memcmp(p, "PK\7\10", 4) != 0)
			return mismatch(l, "there is no data descriptor behind an entry");
		at += 4;
	}
	packed = width == 4 ? zip_u32(at + 4) : zip_u64(at + 4);
	size = width == 4 ? zip_u32(at + 8) : zip_u64(at + 12);
	if (zip_u32(at) != e->crc || packed != e->packed || size != e->size)
		return mismatch(l, "a data descriptor says another size or CRC than the directory");
	return 0;
}

static int by_header(const void *a, const void *b, void *ctx)
{
	const struct zip_dir *d = ctx;
	uint64_t x = d->v[*(const uint32_t *)a].header, y = d->v[*(const uint32_t *)b].header;

	return x < y ? -1 : x > y;
}

/* In the order of the file: each begins where the one before ends. */
/* Sorted by offset: then each gap or overlap is between neighbours. The directory itself is the last neighbour. */
static int check_order(struct local *l)
{
	struct zip_dir *d = l->d;
	_cleanup_(freep) uint32_t *order = xalloc(d->n * sizeof(*order));

	for (uint32_t i = 0; i < d->n; i++)
		order[i] = i;
	qsort_r(order, d->n, sizeof(*order), by_header, d);
	if ((d->n ? d->v[order[0]].header : d->begin) != 0)
		return refuse(l->v, "ZIP_AMBIGUOUS", NULL,
			      "something stands before the first entry");
	for (size_t i = 0; i < d->n; i++) {
		const struct zip_entry *e = &d->v[order[i]];
		uint64_t end = e->data + e->packed;
		uint64_t next = i + 1 < d->n ? d->v[order[i + 1]].header : d->begin;

		if (next < end)
			return refuse(l->v, "ZIP_OVERLAP", NULL, "two entries of the zip overlap");
		if (zip_dir_name(d, e, &l->name, l->v) < 0)
			return -EBADMSG;
		if (e->flags & FLAG_DESCRIPTOR) {
			if (check_descriptor(l, e, next - end) < 0)
				return -EBADMSG;
		} else if (next != end) {
			return refuse(l->v, "ZIP_AMBIGUOUS", NULL,
				      "bytes that belong to no entry of the zip");
		}
	}
	return 0;
}

int zip_check_local(struct zip_dir *d, struct verdict *v)
{
	struct local l = { .d = d, .v = v };
	int r = 0;

	for (size_t i = 0; r == 0 && i < d->n; i++)
		r = local_check_header(&l, &d->v[i]);
	if (r == 0)
		r = check_order(&l);
	buf_done(&l.name);
	buf_done(&l.both);
	return r;
}
