/*
 * scan.c - what an earlier daemon left in the store, and what the image brings.
 *
 * Durability. An archive gets its name once its hash is right. Then its upload is answered, and the thread syncs the
 * file and takes away the write permission. So a file without that permission is on disk. One with it is trusted as
 * long as the machine has not been restarted since (boot id), and removed otherwise. If the machine crashes during an
 * upload, the hash detects what is missing.
 */
#include "archive/archive_internal.h"

#include "base/clock.h"
#include "base/os/file.h"

#define BOOT_ID "/proc/sys/kernel/random/boot_id"

struct archive_scan {
	struct archive_store *store;
	int dirfd;
	bool same_boot, baked;
};

/* The thread of an upload takes the write permission away once the file is synced (upload_thread.c). */
static bool is_on_disk(const struct stat *st)
{
	return !(st->st_mode & 0200);
}

static void found_whole(struct archive_scan *sc, struct stored *e, const struct stat *st)
{
	if (!sc->baked && !is_on_disk(st) && !sc->same_boot) {
		unlinkat(sc->dirfd, e->hex, 0);
		return;
	}
	if (sc->baked && e->whole)
		stored_remove_whole(sc->store, e); /* it was uploaded before the image had it */
	e->whole = true;
	e->baked = sc->baked;
	e->size = (uint64_t)st->st_size;
	e->used_ns = sc->baked ? 0 : time_ns(&st->st_mtim);
}

static void found_part(struct archive_scan *sc, struct stored *e, const char *name,
		       const struct stat *st)
{
	if (is_on_disk(st) && renameat(sc->dirfd, name, sc->dirfd, e->hex) == 0) {
		found_whole(sc, e, st); /* it was whole and synced, only its name was not */
		return;
	}
	e->has_part = true;
	e->part = (uint64_t)st->st_size;
	e->used_ns = MAX(e->used_ns, time_ns(&st->st_mtim));
}

/* Keeps one of several derived files, and none without a digest, which earlier daemons made. */
static void found_derived(struct archive_scan *sc, struct stored *e, const char *name,
			  const char *suffix, const struct stat *st)
{
	struct slice hex = { suffix + 1, SHA256_HEX - 1 };

	if (e->derived || strlen(suffix) != DERIVED_SUFFIX_SIZE - 1 ||
	    sha256_from_hex(hex, &e->derived_digest) < 0)
		unlinkat(sc->dirfd, name, 0);
	else
		e->derived = (uint64_t)st->st_size;
}

static bool scan_name_ends_in(const char *name, const char *end)
{
	size_t n = strlen(name), k = strlen(end);

	return n >= k && strcmp(name + n - k, end) == 0;
}

static void scan_file(struct archive_scan *sc, const char *name)
{
	static const size_t hex = 2 * (size_t)SHA256_BYTES;
	const char *suffix = strlen(name) >= hex ? name + hex : NULL;
	char canonical[SHA256_HEX];
	struct sha256 d;
	struct stored *e;
	struct stat st;

	if (!suffix || sha256_from_hex((struct slice){ name, hex }, &d) < 0 ||
	    fstatat(sc->dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
		return;
	sha256_hex(&d, canonical);
	if (strncmp(name, canonical, hex) != 0) /* capital letters: no name of ours */
		return;
	e = stored_get(sc->store, &d);
	if (!*suffix)
		found_whole(sc, e, &st);
	else if (!sc->baked && strcmp(suffix, ".part") == 0)
		found_part(sc, e, name, &st);
	else if (!sc->baked && scan_name_ends_in(suffix, ".tar"))
		found_derived(sc, e, name, suffix, &st);
	stored_recount(sc->store, e);
}

static int scan_dir(struct archive_scan *sc, const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *de;

	if (!dir)
		return -errno;
	sc->dirfd = dirfd(dir);
	while ((de = readdir(dir)))
		scan_file(sc, de->d_name);
	closedir(dir);
	return 0;
}

static int by_use(const void *a, const void *b)
{
	const struct stored *x = *(struct stored *const *)a, *y = *(struct stored *const *)b;

	return x->used_ns < y->used_ns ? -1 : x->used_ns > y->used_ns;
}

/* readdir gives no order, and eviction needs the one of the uses. */
static void sort_by_use(struct archive_store *s)
{
	struct stored **all = xalloc((s->count + 1) * sizeof(struct stored *));
	size_t n = 0;

	list_each(e, &s->lru, struct stored, lru)
		all[n++] = e;
	qsort(all, n, sizeof(struct stored *), by_use);
	for (size_t i = 0; i < n; i++) {
		list_del(&all[i]->lru);
		list_add_tail(&s->lru, &all[i]->lru);
	}
	free(all);
}

/* True if the machine has not been restarted since the last daemon. Records its boot id. */
static bool is_same_boot(const struct archive_store *s)
{
	_cleanup_(freep) char *path = file_join(s->dir, "boot");
	_cleanup_(buf_done) struct buf now = { 0 }, before = { 0 };
	bool same;

	if (file_read(BOOT_ID, 256, &now) < 0)
		return false;
	same = file_read(path, 256, &before) == 0 && slice_eq(buf_slice(&now), buf_slice(&before));
	if (!same)
		(void)file_replace(path, now.data, now.len,
				   0600); /* then nothing unsynced is kept next time */
	return same;
}

static int scan_one(struct archive_scan *sc, const char *path, struct err *e)
{
	int r = scan_dir(sc, path);

	return r < 0 ? err_set(e, r, 0, "STORE_FAILED", "%s: %s", path, strerror(-r)) : 0;
}

int archive_scan(struct archive_store *s, struct err *e)
{
	struct archive_scan sc = { .store = s, .same_boot = is_same_boot(s) };
	int r = scan_one(&sc, s->dir, e);

	sc.baked = true;
	if (r == 0 && s->baked)
		r = scan_one(&sc, s->baked, e);
	if (r == 0)
		sort_by_use(s);
	return r;
}
