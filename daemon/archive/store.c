#include "archive/internal.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/thread.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#define BOOT_ID "/proc/sys/kernel/random/boot_id"

/* --- entries ---------------------------------------------------------------------------------------------- */

static struct list *bucket_of(struct archive_store *s, const struct sha256 *d)
{
	return &s->buckets[d->bytes[0] % BUCKETS];
}

struct entry *entry_find(struct archive_store *s, const struct sha256 *d)
{
	list_each(e, bucket_of(s, d), struct entry, bucket)
		if (memcmp(e->digest.bytes, d->bytes, SHA256_BYTES) == 0)
			return e;
	return NULL;
}

struct entry *entry_get(struct archive_store *s, const struct sha256 *d)
{
	struct entry *e = entry_find(s, d);

	if (e)
		return e;
	e = new0(struct entry);
	e->digest = *d;
	sha256_hex(d, e->hex);
	list_init(&e->bucket);
	list_init(&e->lru);
	list_add_tail(bucket_of(s, d), &e->bucket);
	list_add_tail(&s->lru, &e->lru);
	s->count++;
	return e;
}

static void entry_free(struct archive_store *s, struct entry *e)
{
	list_del(&e->bucket);
	list_del(&e->lru);
	s->count--;
	free(e);
}

void entry_settle(struct archive_store *s, struct entry *e)
{
	uint64_t charge = room_charge(e->derived);

	if (e->whole && !e->baked)
		charge += room_charge(e->size);
	if (e->has_part)
		charge += room_charge(MAX(e->part, e->reserved));
	s->used += charge - e->charged;
	e->charged = charge;
	if (!e->whole && !e->has_part && !e->derived && !e->pins && !e->upload)
		entry_free(s, e);
}

char *entry_file(const struct archive_store *s, const struct entry *e, const char *suffix)
{
	const char *dir = e->baked && !*suffix ? s->baked : s->dir;
	char *path = NULL;

	if (asprintf(&path, "%s/%s%s", dir, e->hex, suffix) < 0)
		abort();
	return path;
}

/* Newest last; the file remembers it. */
void entry_use(struct archive_store *s, struct entry *e)
{
	_cleanup_(freep) char *path = entry_file(s, e, e->whole ? "" : ".part");

	e->used_ms = clock_real_ms();
	list_del(&e->lru);
	list_add_tail(&s->lru, &e->lru);
	if (!e->baked)
		(void)utimensat(AT_FDCWD, path, NULL,
				0); /* else it is a little older after a restart */
}

static void remove_file(struct archive_store *s, const struct entry *e, const char *suffix)
{
	_cleanup_(freep) char *path = entry_file(s, e, suffix);

	(void)unlink(path); /* what cannot be removed is found again by the next daemon */
}

void entry_remove_whole(struct archive_store *s, struct entry *e)
{
	remove_file(s, e, "");
	e->whole = false;
	e->size = 0;
}

void entry_remove_derived(struct archive_store *s, struct entry *e)
{
	remove_file(s, e, ".tar");
	e->derived = 0;
}

void entry_remove_part(struct archive_store *s, struct entry *e)
{
	remove_file(s, e, ".part");
	e->has_part = false;
	e->part = e->reserved = 0;
}

/* --- what an earlier daemon left -------------------------------------------------------------------------- */

struct scan {
	struct archive_store *store;
	int dirfd;
	bool same_boot, baked;
};

static uint64_t mtime_ms(const struct stat *st)
{
	return (uint64_t)st->st_mtim.tv_sec * 1000 + (uint64_t)st->st_mtim.tv_nsec / 1000000;
}

static bool on_disk(const struct stat *st)
{
	return !(st->st_mode & 0200);
}

static void found_whole(struct scan *sc, struct entry *e, const struct stat *st)
{
	if (!sc->baked && !on_disk(st) && !sc->same_boot) {
		unlinkat(sc->dirfd, e->hex, 0);
		return;
	}
	if (sc->baked && e->whole)
		entry_remove_whole(sc->store, e); /* was uploaded before the image had it */
	e->whole = true;
	e->baked = sc->baked;
	e->size = (uint64_t)st->st_size;
	e->used_ms = sc->baked ? 0 : mtime_ms(st);
}

static void found_part(struct scan *sc, struct entry *e, const char *name, const struct stat *st)
{
	if (on_disk(st) && renameat(sc->dirfd, name, sc->dirfd, e->hex) == 0) {
		found_whole(sc, e, st); /* it was whole and synced, only its name was not */
		return;
	}
	e->has_part = true;
	e->part = (uint64_t)st->st_size;
	e->used_ms = MAX(e->used_ms, mtime_ms(st));
}

static void scan_file(struct scan *sc, const char *name)
{
	static const size_t hex = 2 * (size_t)SHA256_BYTES;
	const char *suffix = strlen(name) >= hex ? name + hex : NULL;
	char canonical[SHA256_HEX];
	struct sha256 d;
	struct entry *e;
	struct stat st;

	if (!suffix || sha256_from_hex((struct slice){ name, hex }, &d) < 0 ||
	    fstatat(sc->dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
		return;
	sha256_hex(&d, canonical);
	if (strncmp(name, canonical, hex) != 0) /* capital letters: no name of ours */
		return;
	e = entry_get(sc->store, &d);
	if (!*suffix)
		found_whole(sc, e, &st);
	else if (!sc->baked && strcmp(suffix, ".part") == 0)
		found_part(sc, e, name, &st);
	else if (!sc->baked && strcmp(suffix, ".tar") == 0)
		e->derived = (uint64_t)st.st_size;
	entry_settle(sc->store, e);
}

static int scan_dir(struct scan *sc, const char *path)
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
	const struct entry *x = *(struct entry *const *)a, *y = *(struct entry *const *)b;

	return x->used_ms < y->used_ms ? -1 : x->used_ms > y->used_ms;
}

static void sort_by_use(struct archive_store *s)
{
	struct entry **all = xalloc((s->count + 1) * sizeof(struct entry *));
	size_t n = 0;

	list_each(e, &s->lru, struct entry, lru)
		all[n++] = e;
	qsort(all, n, sizeof(struct entry *), by_use);
	for (size_t i = 0; i < n; i++) {
		list_del(&all[i]->lru);
		list_add_tail(&s->lru, &all[i]->lru);
	}
	free(all);
}

/* True if the machine has not been started anew since the last daemon; remembers its start. */
static bool check_boot(const struct archive_store *s)
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

struct archive_store *archive_store_open(struct loop *loop, const struct archive_config *cfg,
					 struct err *e)
{
	struct archive_store *s = new0(struct archive_store);
	struct scan sc = { .store = s };
	int r;

	s->loop = loop;
	s->dir = xstrdup(cfg->dir);
	s->baked = xstrdup(cfg->baked);
	s->max = cfg->store_max;
	s->upload_max = MIN(cfg->upload_max, cfg->store_max);
	for (size_t i = 0; i < BUCKETS; i++)
		list_init(&s->buckets[i]);
	list_init(&s->lru);
	list_init(&s->uploads);
	r = file_mkdirs(s->dir, 0700);
	if (r == 0) {
		sc.same_boot = check_boot(s);
		r = scan_dir(&sc, s->dir);
	}
	if (r < 0) {
		err_set(e, r, 0, "STORE_FAILED", "%s: %s", s->dir, strerror(-r));
		return archive_store_close(s);
	}
	sc.baked = true;
	r = s->baked ? scan_dir(&sc, s->baked) : 0;
	if (r < 0) {
		err_set(e, r, 0, "STORE_FAILED", "%s: %s", s->baked, strerror(-r));
		return archive_store_close(s);
	}
	sort_by_use(s);
	room_tidy_start(s);
	return s;
}

struct archive_store *archive_store_close(struct archive_store *s)
{
	if (!s)
		return NULL;
	uploads_close(s);
	loop_timer_cancel(&s->tidy);
	list_each(e, &s->lru, struct entry, lru)
		entry_free(s, e);
	free(s->dir);
	free(s->baked);
	free(s);
	return NULL;
}

/* --- what is there ---------------------------------------------------------------------------------------- */

int archive_digest_parse(struct slice text, struct sha256 *ret)
{
	return slice_skip(&text, "sha256:") ? sha256_from_hex(text, ret) : -EINVAL;
}

static struct archive_info info_of(const struct entry *e)
{
	struct archive_info i = { .whole = e->whole,
				  .baked = e->baked,
				  .size = e->size,
				  .derived = e->derived,
				  .used_ms = e->used_ms,
				  .pins = e->pins };

	memcpy(i.hex, e->hex, sizeof(i.hex));
	if (e->has_part)
		i.partial = e->upload ? upload_offset(e->upload) : e->part;
	return i;
}

bool archive_find(struct archive_store *s, const struct sha256 *d, struct archive_info *ret)
{
	const struct entry *e = entry_find(s, d);

	if (e)
		*ret = info_of(e);
	return e && (e->whole || e->has_part);
}

void archive_each(struct archive_store *s, bool (*fn)(void *ctx, const struct archive_info *i),
		  void *ctx)
{
	list_each(e, &s->lru, struct entry, lru) {
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

static struct entry *find_whole(struct archive_store *s, const struct sha256 *d)
{
	struct entry *e = entry_find(s, d);

	return e && e->whole ? e : NULL;
}

static int not_found(struct err *e)
{
	return err_set(e, -ENOENT, 0, "ARCHIVE_NOT_FOUND", "there is no such archive");
}

int archive_pin(struct archive_store *s, const struct sha256 *d, struct err *e)
{
	struct entry *entry = find_whole(s, d);

	if (!entry)
		return not_found(e);
	entry->pins++;
	entry_use(s, entry);
	return 0;
}

void archive_unpin(struct archive_store *s, const struct sha256 *d)
{
	struct entry *e = entry_find(s, d);

	if (!e || !e->pins)
		return;
	e->pins--;
	entry_use(s, e);
	entry_settle(s, e);
}

char *archive_path(struct archive_store *s, const struct sha256 *d)
{
	const struct entry *e = find_whole(s, d);

	return e ? entry_file(s, e, "") : NULL;
}

char *archive_derived_path(struct archive_store *s, const struct sha256 *d)
{
	char hex[SHA256_HEX], *path = NULL;

	sha256_hex(d, hex);
	if (asprintf(&path, "%s/%s.tar", s->dir, hex) < 0)
		abort();
	return path;
}

int archive_derived_room(struct archive_store *s, uint64_t bytes, struct err *e)
{
	return room_make(s, NULL, room_charge(bytes), bytes, e);
}

void archive_derived_changed(struct archive_store *s, const struct sha256 *d)
{
	_cleanup_(freep) char *path = archive_derived_path(s, d);
	struct entry *e = entry_get(s, d);
	struct stat st;

	e->derived = lstat(path, &st) == 0 && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
	entry_settle(s, e);
}

int archive_open(struct archive_store *s, const struct sha256 *d)
{
	struct entry *e = find_whole(s, d);
	_cleanup_(freep) char *path = e ? entry_file(s, e, "") : NULL;
	int fd = e ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;

	if (fd >= 0)
		entry_use(s, e);
	return fd >= 0 ? fd : -ENOENT;
}

/* Held open while it is removed, so that its bytes are given back by a thread. Where room is made they have to be free at once. */
static void let_go_slowly(struct archive_store *s, struct entry *e, const char *suffix,
			  void (*remove)(struct archive_store *s, struct entry *e))
{
	_cleanup_(freep) char *path = entry_file(s, e, suffix);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	remove(s, e);
	if (fd >= 0)
		thread_close(fd);
}

int archive_delete(struct archive_store *s, const struct sha256 *d, struct err *e)
{
	struct entry *entry = entry_find(s, d);

	if (!entry || (!entry->whole && !entry->has_part))
		return not_found(e);
	if (entry->baked)
		return err_set(e, -EPERM, 0, "ARCHIVE_BAKED", "the archive belongs to the image");
	if (entry->pins)
		return err_set(e, -EBUSY, 0, "ARCHIVE_IN_USE", "the archive is in use");
	if (entry->upload && !upload_idle(entry->upload))
		return err_set(e, -EBUSY, 0, "UPLOAD_IN_PROGRESS", "the archive is being uploaded");
	if (entry->upload)
		upload_drop(entry->upload);
	if (entry->has_part)
		let_go_slowly(s, entry, ".part", entry_remove_part);
	if (entry->derived)
		let_go_slowly(s, entry, ".tar", entry_remove_derived);
	if (entry->whole)
		let_go_slowly(s, entry, "", entry_remove_whole);
	entry_settle(s, entry);
	return 0;
}
