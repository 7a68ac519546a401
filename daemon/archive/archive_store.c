/*
 * archive_store.c - the table of archives in the store, and the operations on entries that exist.
 *
 * Damage. Disks change bits. The user of an archive (acpd-unpack) hashes it. If the hash differs from the name, the
 * caller reports it (archive_damaged): the archive is removed, so that it can be uploaded again. A baked one is
 * forgotten until the next start.
 *
 * The table is the only record of the files: scan.c fills it at startup, and later changes update
 * the file and its entry together. It has no lock, because only the loop's thread uses it. An entry
 * is in a hash bucket, by the first byte of its digest, and in one LRU list, oldest first, which
 * eviction.c scans.
 *
 * Every change of an entry ends with stored_recount: it updates the bytes used, and frees an entry
 * that has no file, no pin and no upload. So the caller must not use the entry after that call.
 */
#include "archive/archive_internal.h"

#include "base/clock.h"
#include "base/os/file.h"
#include "base/os/threads.h"

#include <time.h>

/* --- entries ---------------------------------------------------------------------------------------------- */

static struct list *stored_bucket(struct archive_store *s, const struct sha256 *d)
{
	return &s->buckets[d->bytes[0] % BUCKETS];
}

struct stored *stored_find(struct archive_store *s, const struct sha256 *d)
{
	list_each(e, stored_bucket(s, d), struct stored, bucket)
		if (memcmp(e->digest.bytes, d->bytes, SHA256_BYTES) == 0)
			return e;
	return NULL;
}

struct stored *stored_get(struct archive_store *s, const struct sha256 *d)
{
	struct stored *e = stored_find(s, d);

	if (e)
		return e;
	e = new0(struct stored);
	e->digest = *d;
	sha256_hex(d, e->hex);
	list_init(&e->bucket);
	list_init(&e->lru);
	list_add_tail(stored_bucket(s, d), &e->bucket);
	list_add_tail(&s->lru, &e->lru);
	s->count++;
	return e;
}

/* Nothing refers to e any more: no file, no pin, no upload (stored_recount). */
static void stored_free(struct archive_store *s, struct stored *e)
{
	list_del(&e->bucket);
	list_del(&e->lru);
	s->count--;
	free(e);
}

/* The old charge is subtracted and the new one added, so a caller can change several fields
 * first. */
void stored_recount(struct archive_store *s, struct stored *e)
{
	uint64_t charge = eviction_charge(e->derived);

	if (e->whole && !e->baked)
		charge += eviction_charge(e->size);
	if (e->has_part)
		charge += eviction_charge(MAX(e->part, e->reserved));
	s->used += charge - e->charged;
	e->charged = charge;
	if (!e->whole && !e->has_part && !e->derived && !e->pins && !e->upload)
		stored_free(s, e);
}

char *stored_file(const struct archive_store *s, const struct stored *e, const char *suffix)
{
	const char *dir = e->baked && !*suffix ? s->baked : s->dir;
	return xprintf("%s/%s%s", dir, e->hex, suffix);
}

/* The suffix of the derived file. */
static const char *stored_derived(const struct stored *e, char suffix[DERIVED_SUFFIX_SIZE])
{
	snprintf(suffix, DERIVED_SUFFIX_SIZE, ".%s.tar", SHA256_HEX_OF(&e->derived_digest));
	return suffix;
}

/* Moves e to the end of the list, as the newest. The file's mtime keeps this: ours, since the kernel's
 * own would be the same for all uses of some milliseconds. */
void stored_use(struct archive_store *s, struct stored *e)
{
	_cleanup_(freep) char *path = stored_file(s, e, e->whole ? "" : ".part");

	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	e->used_ns = time_ns(&now);
	list_del(&e->lru);
	list_add_tail(&s->lru, &e->lru);
	if (!e->baked)
		(void)utimensat(AT_FDCWD, path, (struct timespec[]){ now, now },
				0); /* else it is a little older after a restart */
}

static void stored_remove_file(struct archive_store *s, const struct stored *e, const char *suffix)
{
	_cleanup_(freep) char *path = stored_file(s, e, suffix);

	(void)unlink(path); /* if this fails, the next daemon finds the file again */
}

void stored_remove_whole(struct archive_store *s, struct stored *e)
{
	stored_remove_file(s, e, "");
	e->whole = false;
	e->size = 0;
}

void stored_remove_derived(struct archive_store *s, struct stored *e)
{
	char suffix[DERIVED_SUFFIX_SIZE];

	stored_remove_file(s, e, stored_derived(e, suffix));
	e->derived = 0;
}

void stored_remove_part(struct archive_store *s, struct stored *e)
{
	stored_remove_file(s, e, ".part");
	e->has_part = false;
	e->part = e->reserved = 0;
}

void archive_store_limit(struct archive_store *s, uint64_t store_max, uint64_t upload_max)
{
	s->max = store_max;
	s->upload_max = MIN(upload_max, store_max);
}

struct archive_store *archive_store_open(struct loop *loop, const struct archive_config *cfg,
					 struct err *e)
{
	struct archive_store *s = new0(struct archive_store);
	int r;

	s->loop = loop;
	s->dir = xstrdup(cfg->dir);
	s->baked = xstrdup(cfg->baked);
	archive_store_limit(s, cfg->store_max, cfg->upload_max);
	for (size_t i = 0; i < BUCKETS; i++)
		list_init(&s->buckets[i]);
	list_init(&s->lru);
	list_init(&s->uploads);
	r = file_mkdirs(s->dir, 0700);
	if (r < 0)
		err_set(e, r, 0, "STORE_FAILED", "%s: %s", s->dir, strerror(-r));
	if (r < 0 || archive_scan(s, e) < 0)
		return archive_store_close(s);
	eviction_tidy(s);
	return s;
}

struct archive_store *archive_store_close(struct archive_store *s)
{
	if (!s)
		return NULL;
	uploads_close(s);
	loop_timer_cancel(&s->tidy);
	list_each(e, &s->lru, struct stored, lru)
		stored_free(s, e);
	free_each(s->dir, s->baked, s);
	return NULL;
}

/* --- what is there ---------------------------------------------------------------------------------------- */

/* While an upload is open its own offset counts: bytes that are on their way to the file are taken already. */
static struct archive_info info_of(const struct stored *e)
{
	struct archive_info i = { .whole = e->whole,
				  .baked = e->baked,
				  .size = e->size,
				  .derived = e->derived,
				  .derived_digest = e->derived_digest,
				  .used_ms = e->used_ns / NS_PER_MS,
				  .pins = e->pins };

	memcpy(i.hex, e->hex, sizeof(i.hex));
	if (e->has_part)
		i.partial = e->upload ? upload_offset(e->upload) : e->part;
	return i;
}

bool archive_find(struct archive_store *s, const struct sha256 *d, struct archive_info *ret)
{
	const struct stored *e = stored_find(s, d);

	if (e)
		*ret = info_of(e);
	return e && (e->whole || e->has_part);
}

/* In the order of their last use; callers may not rely on it. */
void archive_each(struct archive_store *s, bool (*fn)(void *ctx, const struct archive_info *i),
		  void *ctx)
{
	list_each(e, &s->lru, struct stored, lru) {
		struct archive_info i = info_of(e);

		if ((e->whole || e->has_part) && !fn(ctx, &i))
			return;
	}
}

uint64_t archive_store_used(const struct archive_store *s)
{
	return s->used;
}

uint64_t archive_store_max(const struct archive_store *s)
{
	return s->max;
}

/* --- using it ----------------------------------------------------------------------------------------------- */

static struct stored *stored_find_whole(struct archive_store *s, const struct sha256 *d)
{
	struct stored *e = stored_find(s, d);

	return e && e->whole ? e : NULL;
}

static int not_found(struct err *e)
{
	return err_set(e, -ENOENT, 0, "ARCHIVE_NOT_FOUND", "there is no such archive");
}

/* A pin counts as a use at both ends, so that an archive that was in use for long is not the next to be evicted. */
int archive_pin(struct archive_store *s, const struct sha256 *d, struct err *e)
{
	struct stored *entry = stored_find_whole(s, d);

	if (!entry)
		return not_found(e);
	entry->pins++;
	stored_use(s, entry);
	return 0;
}

void archive_unpin(struct archive_store *s, const struct sha256 *d)
{
	struct stored *e = stored_find(s, d);

	if (!e || !e->pins)
		return;
	e->pins--;
	stored_use(s, e);
	stored_recount(s, e);
}

char *archive_path(struct archive_store *s, const struct sha256 *d)
{
	const struct stored *e = stored_find_whole(s, d);

	return e ? stored_file(s, e, "") : NULL;
}

char *archive_derived_path(struct archive_store *s, const struct sha256 *d)
{
	const struct stored *e = stored_find(s, d);
	char suffix[DERIVED_SUFFIX_SIZE];

	return e && e->derived ? stored_file(s, e, stored_derived(e, suffix)) : NULL;
}

char *archive_derived_temp(const struct archive_store *s)
{
	return file_join(s->dir, "derived");
}

int archive_derived_reserve(struct archive_store *s, uint64_t bytes, struct err *e)
{
	return eviction_make_space(s, NULL, eviction_charge(bytes), bytes, e);
}

/* The file replaces an earlier one, whose name has another digest in it. If the rename fails, the entry has none. */
int archive_derived_keep(struct archive_store *s, const struct sha256 *d,
			 const struct sha256 *digest)
{
	_cleanup_(freep) char *temp = archive_derived_temp(s), *path = NULL;
	char suffix[DERIVED_SUFFIX_SIZE];
	struct stored *e = stored_get(s, d);
	struct stat st;
	int r = 0;

	if (e->derived)
		stored_remove_derived(s, e);
	e->derived_digest = *digest;
	path = stored_file(s, e, stored_derived(e, suffix));
	if (rename(temp, path) < 0 || lstat(path, &st) < 0)
		r = -errno;
	else
		e->derived = (uint64_t)st.st_size;
	stored_recount(s, e);
	return r;
}

/* O_NONBLOCK: nothing but a regular file may be there, and if something else is, it must not hold up the loop. */
int archive_open(struct archive_store *s, const struct sha256 *d)
{
	struct stored *e = stored_find_whole(s, d);
	_cleanup_(freep) char *path = e ? stored_file(s, e, "") : NULL;
	int fd = e ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;

	if (fd >= 0)
		stored_use(s, e);
	return fd >= 0 ? fd : -ENOENT;
}

/* Keeps the file open while it is removed, so that a thread frees its blocks. Eviction does not use this: it needs them
 * free at once. */
static void let_go_slowly(struct archive_store *s, struct stored *e, const char *suffix,
			  void (*remove)(struct archive_store *s, struct stored *e))
{
	_cleanup_(freep) char *path = stored_file(s, e, suffix);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	remove(s, e);
	if (fd >= 0)
		thread_close(fd);
}

static void let_derived_go(struct archive_store *s, struct stored *e)
{
	char suffix[DERIVED_SUFFIX_SIZE];

	if (e->derived)
		let_go_slowly(s, e, stored_derived(e, suffix), stored_remove_derived);
}

/* An upload that a client still sends would write into a file without a name, so it is refused here and not ended. */
int archive_delete(struct archive_store *s, const struct sha256 *d, struct err *e)
{
	struct stored *entry = stored_find(s, d);

	if (!entry || (!entry->whole && !entry->has_part))
		return not_found(e);
	if (entry->baked)
		return err_set(e, -EPERM, 0, "ARCHIVE_BAKED", "the archive belongs to the image");
	if (entry->pins)
		return err_set(e, -EBUSY, 0, "ARCHIVE_IN_USE", "the archive is in use");
	if (entry->upload && !upload_is_idle(entry->upload))
		return err_set(e, -EBUSY, 0, "UPLOAD_IN_PROGRESS", "the archive is being uploaded");
	if (entry->upload)
		upload_leave(entry->upload);
	if (entry->has_part)
		let_go_slowly(s, entry, ".part", stored_remove_part);
	let_derived_go(s, entry);
	if (entry->whole)
		let_go_slowly(s, entry, "", stored_remove_whole);
	stored_recount(s, entry);
	return 0;
}

/* --- damage ------------------------------------------------------------------------------------------------ */

/* Both files: the derived one was made of bytes that cannot be trusted. */
static void drop_damaged(struct archive_store *s, struct stored *e)
{
	if (e->baked)
		e->whole = e->baked = false; /* the image's file is not ours to remove */
	else
		let_go_slowly(s, e, "", stored_remove_whole);
	e->size = 0;
	let_derived_go(s, e);
}

void archive_damaged(struct archive_store *s, const struct sha256 *d, const struct sha256 *file)
{
	struct stored *e = stored_find(s, d);
	bool whole = sha256_equal(d, file);

	if (!e || (whole ? !e->whole : !e->derived || !sha256_equal(file, &e->derived_digest)))
		return; /* it was reported before */
	s->damaged++;
	if (whole)
		drop_damaged(s, e);
	else
		let_derived_go(s, e);
	if (s->problem)
		s->problem(
			s->problem_ctx, SHA256_HEX_OF(d),
			whole ? "the archive has another SHA-256 than its name says; it was "
				"removed, and can be uploaded again" :
				"the decompressed copy of the archive has changed; it was removed");
	stored_recount(s, e);
}

uint64_t archive_damaged_count(const struct archive_store *s)
{
	return s->damaged;
}

void archive_on_problem(struct archive_store *s, archive_problem_fn fn, void *ctx)
{
	s->problem = fn;
	s->problem_ctx = ctx;
}
