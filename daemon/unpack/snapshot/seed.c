/*
 * seed.c - collects contents and stat data of an extraction, so that the baseline need not read the
 * files again.
 *
 * Contents go into the pack as they are, in pieces, by the thread that hashes them. A file of more than
 * SNAPSHOT_FILE_MAX is left out, and so is all beyond SNAPSHOT_PLAIN_MAX. What cannot be written (no room) only costs the seed.
 *
 * Stat data prove a content only once the clock of the file system has moved on since the last change: seed_write waits
 * for its next tick, on file systems that use the clock of this kernel, and leaves the rest unproven (as take.h does).
 * Until then nobody but the user of the tree, in a stage directory with a random name, can have changed it.
 *
 * It is an optimization: after any failure the seed is dropped, and the baseline reads everything.
 * A proven entry claims that equal stat data mean equal bytes. So seed_write waits until the file
 * system's clock has advanced past the newest ctime. On file systems with an unknown clock, entries
 * get a safety margin instead. With a hashing thread (ring.h), seed_add and seed_end run on it,
 * everything else on the writer's thread.
 */
#include "unpack/snapshot/seed.h"

#include "base/os/file.h"
#include "base/util.h"
#include "unpack/snapshot/take.h"

#include <linux/magic.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <time.h>

#define TICK_MS_MAX 20 /* no kernel's clock is slower */
#define ZEROS (64 * KIB)

struct seed_file {
	uint64_t at, ino;
	int64_t mtime, ctime;
	bool placed, written;
};

struct seed {
	int pack, index;
	uint64_t begin, end; /* of the file at hand, in the pack */
	bool failed, large;  /* the pack; the file at hand */
	struct seed_file *v; /* by node */
	size_t n;
	int64_t newest; /* ctime */
};

struct seed *seed_new(int pack, int index)
{
	struct seed *s = new0(struct seed);
	struct statvfs fs;

	*s = (struct seed){ .pack = pack, .index = index };
	s->failed = fstatvfs(pack, &fs) < 0 || fs.f_bavail * fs.f_frsize < SNAPSHOT_PLAIN_ROOM;
	return s;
}

void seed_free(struct seed *s)
{
	if (s)
		free(s->v);
	free(s);
}

/* --- contents --------------------------------------------------------------------------------------------- */

static int seed_put(struct seed *s, const char *p, size_t n)
{
	int r = file_write_at(s->pack, p, n, s->end);

	s->end += n;
	return r;
}

static int put_zeros(struct seed *s, size_t n)
{
	static const char zeros[ZEROS];
	int r = 0;

	for (; r == 0 && n; n -= MIN(n, (size_t)ZEROS))
		r = seed_put(s, zeros, MIN(n, (size_t)ZEROS));
	return r;
}

void seed_add(struct seed *s, const void *p, size_t n)
{
	if (!s || s->failed || s->large)
		return;
	s->large = s->end - s->begin + n > SNAPSHOT_FILE_MAX || s->end + n > SNAPSHOT_PLAIN_MAX;
	if (!s->large)
		s->failed = (p ? seed_put(s, p, n) : put_zeros(s, n)) < 0;
}

struct seed_place seed_end(struct seed *s)
{
	struct seed_place place = { 0 };

	if (!s)
		return place;
	if (s->failed || s->large)
		s->end = s->begin;
	else
		place = (struct seed_place){ s->end > s->begin ? s->begin : 0, true };
	s->begin = s->end;
	s->large = false;
	return place;
}

/* --- files ------------------------------------------------------------------------------------------------ */

static struct seed_file *seed_file_of(struct seed *s, uint32_t node)
{
	if (node >= s->n) {
		size_t n = MAX(2 * s->n, (size_t)node + 1024);
		struct seed_file *v = reallocarray(s->v, n, sizeof(*v));

		if (!v)
			return NULL;
		memset(v + s->n, 0, (n - s->n) * sizeof(*v));
		s->v = v;
		s->n = n;
	}
	return &s->v[node];
}

void seed_placed(struct seed *s, uint32_t node, struct seed_place place)
{
	struct seed_file *f = s ? seed_file_of(s, node) : NULL;

	if (f) {
		f->at = place.at;
		f->placed = place.whole;
	}
}

void seed_written(struct seed *s, uint32_t node, const struct stat *sb)
{
	struct seed_file *f = s ? seed_file_of(s, node) : NULL;
	struct index_entry e;

	if (!f)
		return;
	take_stat(&e, sb);
	*f = (struct seed_file){ f->at, e.ino, e.mtime, e.ctime, f->placed, true };
	s->newest = MAX(s->newest, e.ctime);
}

void seed_forget(struct seed *s, uint32_t node)
{
	if (s && node < s->n)
		s->v[node] = (struct seed_file){ 0 };
}

/* --- proof ------------------------------------------------------------------------------------------------ */

/* Their times of change are those of CLOCK_REALTIME_COARSE, or newer ones. */
static bool has_our_clock(int dir)
{
	static const long known[] = { EXT4_SUPER_MAGIC, TMPFS_MAGIC, XFS_SUPER_MAGIC,
				      BTRFS_SUPER_MAGIC, OVERLAYFS_SUPER_MAGIC };
	struct statfs fs;

	for (size_t i = 0; fstatfs(dir, &fs) == 0 && i < ARRAY_SIZE(known); i++)
		if ((long)fs.f_type == known[i])
			return true;
	return false;
}

static int64_t coarse_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME_COARSE, &t);
	return take_ns(t);
}

/* What was changed before this time cannot be changed any more without showing it. */
static int64_t seed_settle(const struct seed *s, int dir)
{
	struct timespec ms = { 0, 1000000 };
	int64_t now = coarse_now();

	if (!has_our_clock(dir))
		return now - (int64_t)SNAPSHOT_RECENT_MS * 1000000;
	for (int i = 0; i < TICK_MS_MAX && now <= s->newest; i++) {
		nanosleep(&ms, NULL);
		now = coarse_now();
	}
	return now;
}

/* --- the index -------------------------------------------------------------------------------------------- */

static struct index_entry entry_of(const struct seed_file *f, const struct node *node,
				   int64_t settled)
{
	/* whole seconds: the file system may keep no more */
	int64_t margin = f->ctime % 1000000000 ? 0 : (int64_t)SNAPSHOT_RECENT_COARSE_MS * 1000000;

	return (struct index_entry){
		.type = INDEX_FILE,
		.mode = S_IFREG | node->mode,
		.size = node->size,
		.ino = f->ino,
		.mtime = f->mtime,
		.ctime = f->ctime,
		.at = f->at,
		.packed = node->size, /* as it is */
		.digest = node->digest,
		.proven = f->ctime + margin < settled,
	};
}

static bool seed_knows(const struct seed *s, const struct manifest *m, uint32_t node)
{
	if (node >= s->n || m->v[node].type != NODE_FILE)
		return false;
	return s->v[node].placed && s->v[node].written;
}

static int put_entries(struct seed *s, const struct manifest *m, struct index_writer *w,
		       struct index_head *head, int64_t settled)
{
	char path[PATH_BYTES_MAX + 1];
	size_t n;
	_cleanup_(freep) uint32_t *order = manifest_order(m, &n);
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		struct index_entry e;

		if (!seed_knows(s, m, order[i]))
			continue;
		e = entry_of(&s->v[order[i]], &m->v[order[i]], settled);
		head->files++;
		head->bytes += e.size;
		r = index_put(w, manifest_path(m, order[i], path), &e);
	}
	return r;
}

int seed_write(struct seed *s, const struct manifest *m, int tree)
{
	struct index_head head = { .kind = INDEX_STATE, .epoch = 0 };
	struct index_writer w;
	int r;

	if (!s || s->failed)
		return 0;
	index_begin(&w, s->index);
	r = put_entries(s, m, &w, &head, seed_settle(s, tree));
	head.pack = s->end;
	if (r == 0)
		r = index_end(&w, &head);
	index_writer_done(&w);
	return r;
}
