/*
 * zip.c - plans and extracts the entries of a zip whose directory zipdir.c has verified.
 *
 * Reads a zip: its whole directory first (zipdir.h), then a plan of all entries without writing, so that
 * nothing is written of an archive whose names, types or sizes are against a rule; then the contents, inflated one
 * after the other on a thread of their own (ring.h) with size and CRC of each enforced.
 *
 * An entry that comes twice replaces the earlier one, in the order of the directory.
 *
 * All entries are planned twice. The first plan has no writer, so an archive that breaks a rule
 * leaves nothing on disk. The second one writes. The inflating thread works through the entries in
 * the same order as the consumer, so the ring needs no marks between entries: the sizes of the
 * directory delimit them. The thread's verdict names no entry; take_verdict finds it from the
 * number of bytes produced.
 */
#include "unpack/entries/entries.h"

#include "unpack/bytes/inflater.h"
#include "unpack/entries/zipdir.h"

struct zip {
	struct zip_dir dir;
	struct plan *plan;
	struct verdict *v;
	struct ring *ring;
	struct buf name, target;
	struct feed feed;
};

/* --- inflating (the ring's thread) ----------------------------------------------------------------------- */

static const struct {
	const char *reason, *message;
} faults[] = {
	[DEFLATED_CUT] = { "SIZE_MISMATCH", "an entry of the zip is shorter than it says" },
	[DEFLATED_LONG] = { "SIZE_MISMATCH", "an entry of the zip is longer than it says" },
	[DEFLATED_DAMAGED] = { "ARCHIVE_DAMAGED", "an entry of the zip is damaged" },
};

static int inflate_entry(struct feed *f, struct ring *r, struct deflated *d,
			 const struct zip_entry *e)
{
	enum deflated_end end = deflated_read(d, f, r, e->size);

	if (end == DEFLATED_LEFT || end == DEFLATED_REFUSED)
		return end == DEFLATED_LEFT ? 1 : -EBADMSG;
	if (end != DEFLATED_WHOLE)
		return refuse(&f->v, faults[end].reason, NULL, "%s", faults[end].message);
	if (d->made != e->size || feed_fill(f) != 0)
		return refuse(&f->v, "SIZE_MISMATCH", NULL,
			      "an entry of the zip is not as long as it says");
	if (d->crc != e->crc)
		return refuse(&f->v, "CRC_MISMATCH", NULL,
			      "the CRC of an entry of the zip is wrong");
	return 0;
}

static int copy_entry(struct feed *f, struct ring *r, struct deflated *d, const struct zip_entry *e)
{
	uint32_t crc = 0;
	ssize_t n;

	while ((n = feed_fill(f)) > 0) {
		size_t room, take;
		uint8_t *to = ring_space(r, &room);

		if (!to)
			return 1;
		take = MIN((size_t)n, room);
		memcpy(to, f->in + f->at, take);
		crc = d->i.ops->crc(crc, to, take);
		f->at += take;
		if (feed_made(f, take) < 0)
			return -EBADMSG;
		ring_put(r, take);
	}
	if (n == 0 && crc != e->crc)
		return refuse(&f->v, "CRC_MISMATCH", NULL,
			      "the CRC of an entry of the zip is wrong");
	return (int)n;
}

static int produce(void *ctx, struct ring *r)
{
	struct zip *zip = ctx;
	struct feed *f = &zip->feed;
	struct deflated d = { .crc = 0 };
	int result = 0;

	if (inflater_open(&d.i, inflater_choose()) < 0)
		return fail_with(&f->v, -ENOMEM, NULL, "inflating");
	for (size_t i = 0; result == 0 && i < zip->dir.n; i++) {
		const struct zip_entry *e = &zip->dir.v[i];

		feed_part(f, e->data, e->packed);
		result = (e->method == ZIP_DEFLATED ? inflate_entry : copy_entry)(f, r, &d, e);
	}
	inflater_close(&d.i);
	return result < 0 ? -EBADMSG : 0;
}

/* Takes the producer's verdict. The bytes that were passed on before show the entry. */
static void take_verdict(struct zip *z)
{
	uint64_t at = 0;
	size_t i = 0;

	if (z->v->kind != VERDICT_NONE)
		return;
	*z->v = z->feed.v;
	while (i < z->dir.n && at + z->dir.v[i].size < z->feed.made)
		at += z->dir.v[i++].size;
	if (i < z->dir.n && zip_dir_name(&z->dir, &z->dir.v[i], &z->name, z->v) == 0)
		snprintf(z->v->path, sizeof(z->v->path), "%.*s",
			 (int)MIN(z->name.len, PATH_BYTES_MAX), z->name.data);
}

/* --- entries -------------------------------------------------------------------------------------------------- */

/* Shows up to n bytes of the current entry. */
static ssize_t peek(struct zip *z, const uint8_t **p, uint64_t n)
{
	ssize_t have = ring_peek(z->ring, p);

	if (have < 0)
		take_verdict(z);
	if (have == 0)
		return refuse(z->v, "ARCHIVE_TRUNCATED", NULL, "the zip ends within an entry");
	return have < 0 ? have : (ssize_t)MIN((uint64_t)have, n);
}

/* Reads n bytes of the current entry, for a file, a link's target, or nobody. */
enum zip_use { ZIP_FILE, ZIP_TARGET, ZIP_UNWANTED };

static int zip_copy(struct zip *z, uint64_t n, enum zip_use use)
{
	while (n) {
		const uint8_t *p;
		ssize_t have = peek(z, &p, n);
		int r = have < 0 ? (int)have : 0;

		if (r == 0 && use == ZIP_FILE)
			r = plan_data(z->plan, p, (size_t)have);
		else if (r == 0 && use == ZIP_TARGET)
			buf_add(&z->target, p, (size_t)have);
		if (r < 0)
			return r;
		ring_take(z->ring, (size_t)have);
		n -= (uint64_t)have;
	}
	return 0;
}

static int zip_next_entry(struct zip *z, struct plan *plan, const struct zip_entry *e,
			  struct source_entry *ret)
{
	int r = zip_dir_name(&z->dir, e, &z->name, z->v);

	*ret = (struct source_entry){
		.type = (enum source_entry_type)e->type,
		.path = buf_slice(&z->name),
		.mode = e->mode,
		.size = e->type == ENTRY_FILE ? e->size : 0,
		.mtime = e->mtime,
	};
	if (r == 0 && e->type == ENTRY_SYMLINK && e->size > plan->limits->names.path_bytes) {
		_cleanup_(freep) char *name = xstrndup(ret->path.p, ret->path.n);

		return refuse_over(z->v, "PATH_TOO_LONG", name, plan->limits->names.path_bytes,
				   e->size, "bytes of a link's target");
	}
	return r;
}

/* Checks everything that the directory alone decides. Where a link leads is in its data. */
static int rehearse(struct zip *z)
{
	struct stage_sink none = { NULL, NULL };
	struct plan *real = z->plan, dry;
	int r = 0;

	plan_init(&dry, real->limits, none, z->v);
	dry.into = real->into;
	dry.strip = real->strip;
	dry.links = real->links;
	for (size_t i = 0; r >= 0 && i < z->dir.n; i++) {
		struct source_entry e;

		r = zip_next_entry(z, &dry, &z->dir.v[i], &e);
		e.link = SLICE(".");
		if (r == 0)
			r = plan_entry(&dry, &e);
		dry.left = 0;
	}
	plan_done(&dry);
	return r < 0 ? r : 0;
}

static int zip_extract_entry(struct zip *z, const struct zip_entry *from)
{
	struct source_entry e;
	int r = zip_next_entry(z, z->plan, from, &e);

	if (r == 0 && e.type == ENTRY_SYMLINK) {
		buf_reset(&z->target);
		r = zip_copy(z, from->size, ZIP_TARGET);
		e.link = buf_slice(&z->target);
	}
	if (r == 0)
		r = plan_entry(z->plan, &e);
	if (r < 0 || e.type != ENTRY_FILE)
		return MIN(r, 0);
	if (r > 0)
		return zip_copy(z, from->size, ZIP_UNWANTED);
	r = zip_copy(z, from->size, ZIP_FILE);
	return r < 0 ? r : plan_end(z->plan);
}

static int zip_read_all(struct zip *z)
{
	const uint8_t *p;
	struct sums *sums;
	ssize_t n;
	int r = 0;

	z->ring = ring_start(produce, z);
	if (!z->ring)
		return fail_with(z->v, -EAGAIN, NULL, "starting a thread");
	sums = sums_start(z->plan->seed);
	ring_sums(z->ring, sums);
	plan_sums(z->plan, sums);
	for (size_t i = 0; r == 0 && i < z->dir.n; i++)
		r = zip_extract_entry(z, &z->dir.v[i]);
	plan_sums(z->plan, NULL);
	/* the last CRC is checked after the last byte */
	n = r < 0 ? 0 : ring_peek(z->ring, &p);
	if (n < 0)
		take_verdict(z);
	ring_sums(z->ring, NULL);
	sums_stop(sums);
	ring_stop(z->ring);
	return r < 0 ? r : (int)n;
}

/* By the sizes that the directory declares, before a byte is inflated; each entry is held to its size later. */
static int check_ratio(struct zip *z, struct feed_limits limits)
{
	if (z->dir.unpacked > UNPACK_RATIO_FROM &&
	    z->dir.unpacked / limits.ratio > z->dir.file_size)
		return refuse_over(z->v, "RATIO_TOO_HIGH", NULL, limits.ratio,
				   z->dir.unpacked / z->dir.file_size,
				   "unpacked bytes for each packed byte");
	return 0;
}

int zip_read(int fd, struct feed_limits limits, struct plan *plan)
{
	struct zip *z = new0(struct zip);
	int r;

	z->plan = plan;
	z->v = plan->v;
	r = zip_dir_read(&z->dir, fd, plan->limits->entries, z->v);
	if (r == 0)
		r = rehearse(z);
	if (r == 0)
		r = check_ratio(z, limits);
	if (r == 0)
		r = plan_reserve(plan, z->dir.unpacked);
	feed_init(&z->feed, fd, z->dir.file_size, limits);
	if (r == 0)
		r = zip_read_all(z);
	zip_dir_done(&z->dir);
	buf_done(&z->name);
	buf_done(&z->target);
	free(z);
	return r;
}
