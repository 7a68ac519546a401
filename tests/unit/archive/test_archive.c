/* Uploads into the archive store: whole, cut, wrong, too large, too many. */
#include "archive_rig.h"

static void test_whole(void **state _unused_)
{
	struct sha256 d = stored(200000, 1);
	_cleanup_(freep) char *path = archive_path(store, &d);
	_cleanup_(buf_done) struct buf b = { 0 };
	struct sha256 got;
	struct archive_info i;

	assert_true(archive_find(store, &d, &i) && i.whole && i.size == 200000 && !i.baked);
	assert_int_equal(file_read(path, 1000000, &b), 0);
	sha256_of(buf_slice(&b), &got);
	assert_true(sha256_equal(&got, &d));
	assert_true(archive_store_used(store) >= 200000 && archive_store_used(store) < 210000);
	close(archive_open(store, &d));
}

static void test_wrong(void **state _unused_)
{
	_cleanup_(slice_freep) struct slice data = { NULL, 0 },
					    text = exact_copy(SLICE("no archive"));
	struct sha256 d, other = { { 1 } };
	struct archive_info i;

	data = make(1000, 2, &d);
	assert_string_equal(upload(data, &other, 1000), "DIGEST_MISMATCH");
	assert_false(archive_find(store, &other, &i));
	sha256_of(text, &other);
	assert_string_equal(upload(text, &other, text.n), "FORMAT_UNKNOWN");
	assert_false(archive_find(store, &other, &i));
	assert_string_equal(upload(data, &d, 400001), "ARCHIVE_TOO_LARGE");
	assert_true(archive_store_used(store) == 0);
	assert_string_equal(upload(data, &d, ARCHIVE_SIZE_UNKNOWN), "");
}

static void test_declared(void **state _unused_)
{
	_cleanup_(slice_freep) struct slice data = { NULL, 0 };
	struct archive_upload up = { .total = 1000, .format = ARCHIVE_ZIP };
	struct archive_writer *w;
	struct err e;

	data = make(1000, 3, &up.digest);
	w = archive_writer_open(store, &up, count_wake, &wakes, &e);
	archive_writer_add(w, data);
	archive_writer_finish(w);
	assert_int_equal(settle(w), ARCHIVE_FAILED);
	assert_string_equal(archive_writer_error(w)->reason, "FORMAT_MISMATCH");
	assert_string_equal(archive_writer_error(w)->msg, "declared as zip, but it is tar.gz");
	archive_writer_release(w);
	assert_int_equal(part_of(&up.digest), -1);
}

static void test_unknown_size(void **state _unused_)
{
	_cleanup_(slice_freep) struct slice data = { NULL, 0 };
	struct sha256 d;

	data = make(500000, 4, &d);
	assert_string_equal(upload(data, &d, ARCHIVE_SIZE_UNKNOWN), "ARCHIVE_TOO_LARGE");
	assert_int_equal(part_of(&d), -1);
	assert_true(archive_store_used(store) == 0);
}

static void test_resume(void **state _unused_)
{
	_cleanup_(slice_freep) struct slice data = { NULL, 0 };
	struct archive_writer *w;
	struct sha256 d;
	struct err e;

	data = make(300000, 5, &d);
	w = begin(&d, 0, 300000, &e);
	add(w, (struct slice){ data.p, 100000 });
	assert_null(begin(&d, 100000, 300000, &e));
	assert_string_equal(e.reason, "UPLOAD_IN_PROGRESS");
	archive_writer_release(w);
	assert_int_equal(part_of(&d), 100000);
	assert_null(begin(&d, 99999, 300000, &e));
	assert_string_equal(e.reason, "OFFSET_MISMATCH");
	assert_string_equal(e.msg, "the next byte is number 100000");
	w = begin(&d, 100000, 300000, &e); /* by the same thread */
	add(w, (struct slice){ data.p + 100000, 50000 });
	archive_writer_release(w);
	reopen();
	assert_int_equal(part_of(&d), 150000);
	w = begin(&d, 150000, 300000, &e); /* hashed again */
	add(w, (struct slice){ data.p + 150000, 150000 });
	archive_writer_finish(w);
	assert_int_equal(settle(w), ARCHIVE_DONE);
	assert_true(archive_writer_offset(w) == 300000);
	archive_writer_release(w);
	assert_true(has(&d));
}

static void test_anew(void **state _unused_)
{
	_cleanup_(slice_freep) struct slice data = { NULL, 0 }, junk = { NULL, 0 };
	struct archive_writer *w;
	struct sha256 d, other;
	struct err e;

	data = make(200000, 6, &d);
	junk = make(90000, 7, &other);
	w = begin(&d, 0, 200000, &e);
	add(w, junk);
	archive_writer_release(w);
	assert_string_equal(upload(data, &d, 200000), ""); /* while the thread of the first lives */
	assert_int_equal(archive_delete(store, &d, &e), 0);
	w = begin(&d, 0, 200000, &e);
	add(w, junk);
	archive_writer_release(w);
	reopen();
	assert_string_equal(upload(data, &d, 200000), "");
}

/* A part whose bytes are not what they should be is found out at the end. */
static void test_damaged_part(void **state _unused_)
{
	_cleanup_(slice_freep) struct slice data = { NULL, 0 };
	struct archive_writer *w;
	struct sha256 d;
	char path[300];
	struct err e;
	int fd;

	data = make(100000, 8, &d);
	w = begin(&d, 0, 100000, &e);
	add(w, (struct slice){ data.p, 60000 });
	archive_writer_release(w);
	store = archive_store_close(store);
	file_of(&d, ".part", path);
	fd = open(path, O_WRONLY);
	assert_int_equal(pwrite(fd, "X", 1, 1000), 1);
	close(fd);
	open_store(1000000, 400000);
	w = begin(&d, 60000, 100000, &e);
	add(w, (struct slice){ data.p + 60000, 40000 });
	archive_writer_finish(w);
	assert_int_equal(settle(w), ARCHIVE_FAILED);
	assert_string_equal(archive_writer_error(w)->reason, "DIGEST_MISMATCH");
	archive_writer_release(w);
	assert_int_equal(part_of(&d), -1);
	assert_string_equal(upload(data, &d, 100000), "");
}

static void test_too_many(void **state _unused_)
{
	struct archive_writer *w[ARCHIVE_UPLOADS_MAX];
	struct sha256 d = { { 0 } };
	struct err e;

	for (unsigned i = 0; i < ARCHIVE_UPLOADS_MAX; i++) {
		d.bytes[0] = (unsigned char)i;
		w[i] = begin(&d, 0, 1000, &e);
		assert_non_null(w[i]);
	}
	d.bytes[0] = 99;
	assert_null(begin(&d, 0, 1000, &e));
	assert_string_equal(e.reason, "TOO_MANY_UPLOADS");
	archive_writer_release(w[3]);
	w[3] = begin(&d, 0, 1000, &e); /* an idle one makes way */
	assert_non_null(w[3]);
	for (unsigned i = 0; i < ARCHIVE_UPLOADS_MAX; i++)
		archive_writer_release(w[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_whole),	T(test_wrong), T(test_declared),     T(test_unknown_size),
		T(test_resume), T(test_anew),  T(test_damaged_part), T(test_too_many),
	};

	return RUN(tests, scratch_setup, scratch_done);
}
