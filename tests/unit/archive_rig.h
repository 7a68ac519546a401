/* archive_rig.h - a store in a directory of its own for each test, and archives to put into it. */
#pragma once

#include "unit.h"

#include "archive/archive_store.h"
#include "base/clock.h"
#include "base/os/file.h"
#include "base/limits.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

static struct loop *loop;
static struct archive_store *store;
static char dir[128], baked[128];
static unsigned turn;

static inline void open_store(uint64_t store_max, uint64_t upload_max)
{
	struct archive_config cfg = { dir, NULL, store_max, upload_max };
	struct err e = { 0 };

	store = archive_store_open(loop, &cfg, &e);
	if (!store)
		fail_msg("%s", e.msg);
}

static inline void reopen(void)
{
	uint64_t max = archive_store_max(store);

	store = archive_store_close(store);
	open_store(max, max);
}

static inline int setup(void **state _unused_)
{
	snprintf(dir, sizeof(dir), "%s/store-%u", scratch_dir(), turn);
	snprintf(baked, sizeof(baked), "%s/baked-%u", scratch_dir(), turn++);
	loop = loop_new();
	open_store(1000000, 400000);
	return 0;
}

static inline int teardown(void **state _unused_)
{
	store = archive_store_close(store);
	loop = loop_free(loop);
	return 0;
}

/* Bytes that pass for a tar.gz; their digest depends on size and seed. */
static inline struct slice make(size_t n, unsigned seed, struct sha256 *d)
{
	unsigned char *p = xalloc(n);

	for (size_t i = 0; i < n; i++)
		p[i] = (unsigned char)(i * 31 + seed + (i >> 8));
	memcpy(p, "\x1f\x8b\x08", MIN(n, 3));
	sha256_of((struct slice){ (char *)p, n }, d);
	return (struct slice){ (char *)p, n };
}

static inline void count_wake(void *ctx)
{
	++*(unsigned *)ctx;
}

static unsigned wakes;

/* Runs the loop until the writer is neither full nor busy. */
static inline enum archive_writer_state settle(struct archive_writer *w)
{
	uint64_t end = clock_mono_ms() + 20000;

	loop_run_deferred(loop);
	while (archive_writer_state(w) == ARCHIVE_FULL || archive_writer_state(w) == ARCHIVE_BUSY) {
		assert_true(clock_mono_ms() < end);
		loop_dispatch(loop);
		usleep(200);
	}
	return archive_writer_state(w);
}

static inline struct archive_writer *begin(const struct sha256 *d, uint64_t offset, uint64_t total,
					   struct err *e)
{
	struct archive_upload up = {
		.digest = *d, .offset = offset, .resume = offset > 0, .total = total
	};

	memset(e, 0, sizeof(*e));
	return archive_writer_open(store, &up, count_wake, &wakes, e);
}

static inline void add(struct archive_writer *w, struct slice data)
{
	while (data.n) {
		struct slice piece = { data.p, MIN(data.n, (size_t)60000) };

		archive_writer_add(w, piece);
		settle(w);
		data = (struct slice){ data.p + piece.n, data.n - piece.n };
	}
}

/* The whole of it; the reason of a failure, "" if none. */
static inline const char *upload(struct slice data, const struct sha256 *d, uint64_t total)
{
	static struct err e;
	struct archive_writer *w = begin(d, 0, total, &e);

	if (!w)
		return e.reason;
	add(w, data);
	archive_writer_finish(w);
	settle(w);
	e = *archive_writer_error(w);
	archive_writer_release(w);
	return e.reason;
}

static inline struct sha256 stored(size_t n, unsigned seed)
{
	_cleanup_(slice_freep) struct slice data = { NULL, 0 };
	struct sha256 d;

	data = make(n, seed, &d);
	assert_string_equal(upload(data, &d, n), "");
	return d;
}

static inline bool has(const struct sha256 *d)
{
	struct archive_info i;

	return archive_find(store, d, &i) && i.whole;
}

/* Bytes of a part; -1: there is none. */
static inline long part_of(const struct sha256 *d)
{
	struct archive_info i;

	return archive_find(store, d, &i) && !i.whole ? (long)i.partial : -1;
}

static inline void file_of(const struct sha256 *d, const char *suffix, char out[300])
{
	char hex[SHA256_HEX];

	sha256_hex(d, hex);
	snprintf(out, 300, "%s/%s%s", dir, hex, suffix);
}

static inline void age(const struct sha256 *d, const char *suffix, time_t seconds)
{
	struct timespec t[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = time(NULL) - seconds } };
	char path[300];

	file_of(d, suffix, path);
	assert_int_equal(utimensat(AT_FDCWD, path, t, 0), 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
