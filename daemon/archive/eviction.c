/*
 * eviction.c - the limits of the store, and what is removed to make room.
 *
 * Size. The files together stay below store_max. When room is needed, these go, in this order, the least recently used
 * first, until there is enough: derived files; uploads that no client sends; archives. A pinned archive stays, and its
 * derived file too. The time of last use is the file's mtime, so it survives restarts. Unfinished uploads go after a
 * day.
 */
#include "archive/archive_internal.h"

#include "base/clock.h"
#include "base/limits.h"

#include <sys/statvfs.h>

/* A file takes whole blocks, and a name. */
uint64_t eviction_charge(uint64_t bytes)
{
	uint64_t block = 4 * KIB;

	return bytes > UINT64_MAX / 2 ? bytes : (bytes + block - 1) / block * block;
}

/* ARCHIVE_FREE_MIN is kept for the rest of the daemon's state, but not more than a sixteenth of a small disk. */
static uint64_t disk_free(const struct archive_store *s)
{
	struct statvfs v;
	uint64_t n, keep;

	if (statvfs(s->dir, &v) < 0)
		return UINT64_MAX / 2; /* the write will report it */
	n = (uint64_t)v.f_bavail * v.f_frsize;
	keep = MIN(ARCHIVE_FREE_MIN, (uint64_t)v.f_blocks * v.f_frsize / 16);
	return n > keep ? n - keep : 0;
}

/* --- what goes, and in which order ------------------------------------------------------------------------- */

static bool drop_derived(struct archive_store *s, struct stored *e)
{
	if (!e->derived || e->pins)
		return false;
	stored_remove_derived(s, e);
	return true;
}

static bool drop_part(struct archive_store *s, struct stored *e)
{
	if (!e->has_part || (e->upload && !upload_is_idle(e->upload)))
		return false;
	if (e->upload)
		upload_leave(e->upload);
	stored_remove_part(s, e);
	return true;
}

static bool drop_whole(struct archive_store *s, struct stored *e)
{
	if (!e->whole || e->baked || e->pins)
		return false;
	stored_remove_whole(s, e);
	return true;
}

static bool drop_one(struct archive_store *s, const struct stored *keep)
{
	static bool (*const order[])(struct archive_store *,
				     struct stored *) = { drop_derived, drop_part, drop_whole };

	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		list_each(e, &s->lru, struct stored, lru) {
			if (e == keep || !order[i](s, e))
				continue;
			stored_recount(s, e);
			return true;
		}
	}
	return false;
}

/* Bytes that drop_one could give back, one call after the other. */
/* The conditions are those of the three functions above: what this promises, drop_one must be able to do. */
static uint64_t droppable(const struct archive_store *s, const struct stored *keep)
{
	uint64_t n = 0;

	list_each(e, &s->lru, const struct stored, lru) {
		if (e == keep)
			continue;
		if (e->derived && !e->pins)
			n += eviction_charge(e->derived);
		if (e->has_part && (!e->upload || upload_is_idle(e->upload)))
			n += eviction_charge(e->part);
		if (e->whole && !e->baked && !e->pins)
			n += eviction_charge(e->size);
	}
	return n;
}

/* Without an overflow, whatever the two are: more comes from a client. */
static bool store_fits(const struct archive_store *s, uint64_t used, uint64_t more)
{
	return more <= s->max && used <= s->max - more;
}

/* Checks first whether enough can be removed, so that no file is removed in vain. */
int eviction_make_space(struct archive_store *s, const struct stored *keep, uint64_t store_more,
			uint64_t disk_more, struct err *e)
{
	uint64_t spare;

	if (store_fits(s, s->used, store_more) && s->count <= ARCHIVE_COUNT_MAX &&
	    disk_free(s) >= disk_more)
		return 0;
	spare = droppable(s, keep);
	if (!store_fits(s, s->used - MIN(spare, s->used), store_more))
		return err_set(e, -ENOSPC, 0, "STORE_FULL",
			       "the store is full (limit: %llu bytes) of archives in use",
			       (unsigned long long)s->max);
	if (disk_free(s) + spare < disk_more)
		return err_set(e, -ENOSPC, 0, "NO_SPACE",
			       "no room for %llu bytes on the disk of the store",
			       (unsigned long long)disk_more);
	while (!store_fits(s, s->used, store_more) || s->count > ARCHIVE_COUNT_MAX ||
	       disk_free(s) < disk_more)
		if (!drop_one(s, keep))
			return err_set(e, -ENOSPC, 0, "NO_SPACE",
				       "the disk of the store is full, and nothing more can go");
	return 0;
}

/* --- old parts ---------------------------------------------------------------------------------------------- */

/* Only parts without an upload: an idle upload ends by its own timer, and leaves its part with a new time. */
void eviction_tidy(void *store)
{
	struct archive_store *s = store;
	uint64_t now = clock_real_ms();

	list_each(e, &s->lru, struct stored, lru)
		if (e->has_part && !e->upload && e->used_ns / NS_PER_MS + ARCHIVE_PART_MS < now) {
			stored_remove_part(s, e);
			stored_recount(s, e);
		}
	loop_timer_set(s->loop, &s->tidy, ARCHIVE_TIDY_MS, eviction_tidy, s);
}
