/* What the archive store keeps: what is evicted, what is pinned, what a later daemon finds. */
#include "archive_rig.h"

/* --- room --------------------------------------------------------------------------------------------------- */

static void test_eviction(void **state _unused_)
{
	struct sha256 a = stored(300000, 10), b = stored(300000, 11), c = stored(300000, 12), d;
	struct err e;

	close(archive_open(store, &a));
	d = stored(300000, 13);
	assert_true(has(&a) && !has(&b) && has(&c) && has(&d));
	assert_int_equal(archive_pin(store, &c, &e), 0);
	assert_int_equal(archive_pin(store, &c, &e), 0);
	close(archive_open(store, &a)); /* so that the pinned one is the oldest */
	close(archive_open(store, &d));
	b = stored(350000, 14);
	assert_true(!has(&a) && has(&b) && has(&c));
	assert_int_equal(archive_delete(store, &c, &e), -EBUSY);
	assert_string_equal(e.reason, "ARCHIVE_IN_USE");
	archive_unpin(store, &c);
	assert_int_equal(archive_delete(store, &c, &e), -EBUSY);
	archive_unpin(store, &c);
	assert_int_equal(archive_delete(store, &c, &e), 0);
	assert_int_equal(archive_delete(store, &c, &e), -ENOENT);
	assert_int_equal(archive_pin(store, &c, &e), -ENOENT);
	assert_true(archive_store_used(store) <= 1000000);
}

static void test_full_of_pins(void **state _unused_)
{
	struct sha256 a = stored(350000, 20), b = stored(350000, 21), c;
	_cleanup_(slice_freep) struct slice data = { NULL, 0 };
	struct err e;

	archive_pin(store, &a, &e);
	archive_pin(store, &b, &e);
	data = make(350000, 22, &c);
	assert_string_equal(upload(data, &c, 350000), "STORE_FULL");
	assert_string_equal(upload(data, &c, ARCHIVE_SIZE_UNKNOWN), "STORE_FULL");
	assert_true(has(&a) && has(&b));
	archive_unpin(store, &a);
	archive_unpin(store, &b);
	assert_string_equal(upload(data, &c, 350000), "");
}

static void test_derived(void **state _unused_)
{
	struct sha256 a = stored(200000, 30), b = stored(200000, 31);
	_cleanup_(freep) char *temp = archive_derived_temp(store), *path = NULL,
			      *raw = xalloc(400000);
	struct archive_info i;
	struct err e;

	assert_null(archive_derived_path(store, &a));
	assert_int_equal(archive_derived_reserve(store, 400000, &e), 0);
	assert_int_equal(file_replace(temp, raw, 400000, 0600), 0);
	assert_int_equal(archive_derived_keep(store, &a, &b), 0);
	path = archive_derived_path(store, &a);
	assert_true(archive_find(store, &a, &i) && i.derived == 400000);
	assert_true(sha256_equal(&i.derived_digest, &b));
	assert_true(archive_store_used(store) >= 800000);
	reopen();
	assert_true(archive_find(store, &a, &i) && i.derived == 400000);
	assert_true(sha256_equal(&i.derived_digest, &b));
	assert_int_equal(archive_derived_reserve(store, 1000001, &e), -ENOSPC);
	stored(300000, 32);
	assert_true(has(&a) && has(&b)); /* the derived file went first */
	assert_true(archive_find(store, &a, &i) && i.derived == 0 && access(path, F_OK) < 0);
}

static void note_problem(void *ctx, const char *name, const char *text)
{
	assert_true(strlen(name) == 64 && *text);
	++*(unsigned *)ctx;
}

static void derive(const struct sha256 *a, const struct sha256 *digest)
{
	_cleanup_(freep) char *temp = archive_derived_temp(store);

	assert_int_equal(file_replace(temp, "0123456789", 10, 0600), 0);
	assert_int_equal(archive_derived_keep(store, a, digest), 0);
}

static void test_damaged(void **state _unused_)
{
	struct sha256 a = stored(200000, 33), other = stored(1000, 34);
	unsigned told = 0;
	struct archive_info i;
	struct err e;
	char path[300];

	archive_on_problem(store, note_problem, &told);
	derive(&a, &other);
	archive_damaged(store, &a, &other); /* the derived one alone */
	assert_true(archive_find(store, &a, &i) && i.whole && !i.derived && told == 1);
	archive_damaged(store, &a, &other); /* as told before */
	derive(&a, &other);
	assert_int_equal(archive_pin(store, &a, &e), 0);
	archive_damaged(store, &a, &a); /* whoever holds it */
	file_of(&a, "", path);
	assert_true(!has(&a) && access(path, F_OK) < 0 && told == 2);
	archive_unpin(store, &a);
	archive_damaged(store, &a, &a);
	assert_true(archive_damaged_count(store) == 2 && told == 2);
	assert_true(has(&other) && archive_store_used(store) < 10000);
	stored(200000, 33);
	assert_true(has(&a));
	reopen();
	assert_true(has(&a));
	file_of(&a, ".tar", path); /* as earlier daemons called them */
	assert_int_equal(file_replace(path, "x", 1, 0600), 0);
	reopen();
	assert_true(has(&a) && access(path, F_OK) < 0);
}

static void test_parts_go_before_archives(void **state _unused_)
{
	_cleanup_(slice_freep) struct slice data = { NULL, 0 };
	struct sha256 a = stored(300000, 40), b;
	struct archive_writer *w;
	struct err e;

	data = make(300000, 41, &b);
	w = begin(&b, 0, 300000, &e);
	add(w, (struct slice){ data.p, 250000 });
	archive_writer_release(w);
	stored(300000, 42);
	assert_true(has(&a));
	assert_int_equal(part_of(&b), 250000);
	stored(300000, 43);
	assert_true(has(&a));
	assert_int_equal(part_of(&b), -1);
}

/* --- other lives ------------------------------------------------------------------------------------------- */

static void test_last_use_survives(void **state _unused_)
{
	struct sha256 a = stored(300000, 50), b = stored(300000, 51), c = stored(300000, 52);

	age(&a, "", 100);
	age(&b, "", 300);
	age(&c, "", 200);
	reopen();
	stored(300000, 53);
	assert_true(has(&a) && !has(&b) && has(&c));
	stored(300000, 54);
	assert_true(has(&a) && !has(&c));
}

static void test_old_parts(void **state _unused_)
{
	_cleanup_(slice_freep) struct slice data = { NULL, 0 };
	struct sha256 a, b;
	struct err e;

	data = make(1000, 60, &a);
	b = a;
	b.bytes[0] ^= 1;
	archive_writer_release(begin(&a, 0, 1000, &e));
	archive_writer_release(begin(&b, 0, 1000, &e));
	store = archive_store_close(store);
	age(&a, ".part", 90000);
	age(&b, ".part", 80000);
	open_store(1000000, 400000);
	assert_int_equal(part_of(&a), -1);
	assert_int_equal(part_of(&b), 0);
}

/* After the machine was started anew only what is known to be on disk counts. */
static void test_other_boot(void **state _unused_)
{
	struct sha256 a = stored(1000, 70), b = stored(1000, 71), c = stored(1000, 72);
	char path[300], part[300];

	store = archive_store_close(store); /* waits for the threads: all are synced */
	file_of(&b, "", path);
	chmod(path, 0600);
	file_of(&c, "", path);
	file_of(&c, ".part", part);
	assert_int_equal(rename(path, part), 0); /* synced, but its name was lost */
	open_store(1000000, 400000);
	assert_true(has(&a) && has(&b) && has(&c));
	store = archive_store_close(store);
	snprintf(path, sizeof(path), "%s/boot", dir);
	assert_int_equal(file_replace(path, "another", 7, 0600), 0);
	open_store(1000000, 400000);
	assert_true(has(&a) && !has(&b) && has(&c));
}

static void test_strangers_in_the_directory(void **state _unused_)
{
	struct sha256 a = stored(1000, 80);
	char hex[SHA256_HEX], path[400];
	uint64_t used = archive_store_used(store);

	sha256_hex(&a, hex);
	for (char *p = hex; *p; p++)
		*p = *p >= 'a' ? (char)(*p - 32) : *p;
	snprintf(path, sizeof(path), "%s/%s", dir, hex);
	assert_int_equal(file_replace(path, "x", 1, 0600), 0);
	snprintf(path, sizeof(path), "%s/README", dir);
	assert_int_equal(file_replace(path, "x", 1, 0600), 0);
	file_of(&a, "", path);
	path[strlen(path) - 1] ^= 1;
	assert_int_equal(symlink("/etc/passwd", path), 0);
	reopen();
	assert_true(has(&a) && archive_store_used(store) == used);
}

static void test_baked(void **state _unused_)
{
	_cleanup_(slice_freep) struct slice data = { NULL, 0 };
	struct archive_config cfg = { dir, baked, 1000000, 400000 };
	char hex[SHA256_HEX], path[400];
	struct archive_info i;
	struct sha256 d;
	struct err e;

	data = make(5000, 90, &d);
	assert_string_equal(upload(data, &d, 5000), "");
	sha256_hex(&d, hex);
	assert_int_equal(file_mkdirs(baked, 0755), 0);
	snprintf(path, sizeof(path), "%s/%s", baked, hex);
	assert_int_equal(file_replace(path, data.p, data.n, 0444), 0);
	store = archive_store_close(store);
	store = archive_store_open(loop, &cfg, &e);
	assert_true(archive_find(store, &d, &i) && i.baked && i.whole && i.size == 5000);
	assert_true(archive_store_used(store) == 0); /* the uploaded copy went */
	assert_int_equal(archive_delete(store, &d, &e), -EPERM);
	assert_string_equal(e.reason, "ARCHIVE_BAKED");
	assert_int_equal(archive_pin(store, &d, &e), 0);
	archive_unpin(store, &d);
	for (unsigned k = 0; k < 6; k++)
		stored(300000, 91 + k);
	assert_true(has(&d) && access(path, F_OK) == 0);
	store = archive_store_close(store);
	cfg.baked = "/nonexistent";
	assert_null(archive_store_open(loop, &cfg, &e));
	assert_string_equal(e.reason, "STORE_FAILED");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_eviction),
		T(test_full_of_pins),
		T(test_derived),
		T(test_damaged),
		T(test_parts_go_before_archives),
		T(test_last_use_survives),
		T(test_old_parts),
		T(test_other_boot),
		T(test_strangers_in_the_directory),
		T(test_baked),
	};

	return RUN(tests, scratch_setup, scratch_done);
}
