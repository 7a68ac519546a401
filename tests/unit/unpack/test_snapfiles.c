/* The files of a snapshot directory by themselves: order of paths, index and turns written and read, the pack, going back. */
#include "snap_rig.h"

#include "base/os/file.h"
#include "unpack/export/tree_pack.h"
#include "unpack/snapshot/packfile.h"
#include "unpack/snapshot/tree_walk.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

static struct index_entry file_entry(const char *text, uint64_t at)
{
	struct index_entry e = { .type = INDEX_FILE, .mode = S_IFREG | 0644, .size = strlen(text) };

	e.at = at;
	e.packed = 20;
	e.ino = 7;
	e.mtime = -5; /* before 1970 */
	e.ctime = 1;
	e.proven = true;
	sha256_of(slice_of(text), &e.digest);
	return e;
}

static void test_order(void **state _unused_)
{
	static const char *const sorted[] = { "",    "\x01",  " ",     "a",  "a/",
					      "a/b", "a/b/c", "a\x01", "a ", "a-b",
					      "a.b", "a0",    "aa",    "b",  "\xc3\xa4" };

	for (size_t i = 0; i < ARRAY_SIZE(sorted); i++)
		for (size_t j = 0; j < ARRAY_SIZE(sorted); j++) {
			int c = index_compare(sorted[i], sorted[j]);

			if ((i < j) != (c < 0) || (i == j) != (c == 0))
				fail_msg("%s and %s: %d", sorted[i], sorted[j], c);
		}
}

static int memory(void)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static void test_index_written_and_read(void **state _unused_)
{
	_cleanup_(closep) int fd = memory();
	struct index_head head = { .kind = INDEX_STATE, .epoch = 99, .turn = 4, .pack = 1000 };
	struct index_entry out[3] = { file_entry("one", 10), file_entry("two", 980), { 0 } }, in;
	static const char *const paths[] = { "a", "a/b", "a.b" };
	struct index_writer w;
	struct index_reader r;
	const char *path;

	out[2] = (struct index_entry){ .type = INDEX_OMITTED, .reason = OMIT_FIFO };
	index_begin(&w, fd);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(index_put(&w, paths[i], &out[i]), 0);
	assert_int_equal(index_end(&w, &head), 0);
	index_writer_done(&w);
	assert_int_equal(index_open(&r, fd, INDEX_TURN), -EBADMSG);
	assert_int_equal(index_open(&r, fd, INDEX_STATE), 0);
	assert_true(r.head.epoch == 99 && r.head.turn == 4 && r.head.entries == 3);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(index_next(&r, &path, &in), 1);
		assert_string_equal(path, paths[i]);
		assert_memory_equal(&in, &out[i], sizeof(in));
	}
	assert_int_equal(index_next(&r, &path, &in), 0);
	index_close(&r);
}

/* One entry, or two, that no writer of ours would write. */
static int open_bad(const char *first, const char *second, const struct index_entry *e)
{
	_cleanup_(closep) int fd = memory();
	struct index_head head = { .kind = INDEX_STATE, .pack = 100 };
	struct index_writer w;
	struct index_reader r;
	int ret;

	index_begin(&w, fd);
	index_put(&w, first, e);
	if (second)
		index_put(&w, second, e);
	index_end(&w, &head);
	index_writer_done(&w);
	ret = index_open(&r, fd, INDEX_STATE);
	if (ret == 0)
		index_close(&r);
	return ret;
}

static void test_index_refuses(void **state _unused_)
{
	static const char *const paths[] = { "",  "/",	 "a/",	"/a", "a//b",
					     ".", "a/.", "./a", "..", "a/../b" };
	struct index_entry good = file_entry("x", 80), e;

	assert_int_equal(open_bad("a", NULL, &good), 0);
	assert_int_equal(open_bad("...", "a.", &good), 0);
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		if (open_bad(paths[i], NULL, &good) != -EBADMSG)
			fail_row(i, paths[i]);
	assert_int_equal(open_bad("b", "a", &good), -EBADMSG);
	assert_int_equal(open_bad("a", "a", &good), -EBADMSG);
	assert_int_equal(open_bad("a.b", "a/b", &good), -EBADMSG);
#define BAD(change)                                                                                \
	do {                                                                                       \
		e = good;                                                                          \
		change;                                                                            \
		assert_int_equal(open_bad("a", NULL, &e), -EBADMSG);                               \
	} while (0)
	BAD(e.at = 81);
	BAD(e.at = UINT64_MAX);
	BAD(e.packed = 0);
	BAD(e.packed = UINT64_MAX);
	BAD(e.size = 0);
	BAD(e.size = UINT64_MAX);
	BAD(e.mode = S_IFLNK);
	BAD(e.type = INDEX_NONE);
	BAD(e.type = INDEX_OMITTED);
	BAD(e.reason = OMIT_FIFO);
}

/* --- the pack ------------------------------------------------------------------------------------------------- */

static void fill(struct buf *b, size_t n, bool random)
{
	uint32_t x = 1;

	buf_reserve(b, n);
	for (size_t i = 0; i < n; i++) {
		x = x * 1664525 + 1013904223;
		b->data[i] = random ? (char)(x >> 24) : (char)('a' + i % 7);
	}
	b->len = n;
}

static void test_pack(void **state _unused_)
{
	static const size_t sizes[] = { 0, 1, 100, 128 * KIB, 128 * KIB + 1, 3 * MIB };
	_cleanup_(closep) int fd = memory();
	_cleanup_(buf_done) struct buf in = { 0 }, out = { 0 };
	struct index_entry e[2 * ARRAY_SIZE(sizes)];
	struct packfile p;

	packfile_init(&p, fd, 0, UINT64_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(e); i++) {
		fill(&in, sizes[i / 2], i % 2);
		e[i] = (struct index_entry){ .type = INDEX_FILE };
		sha256_of(buf_slice(&in), &e[i].digest);
		assert_int_equal(packfile_append(&p, buf_slice(&in), &e[i]), 0);
	}
	for (size_t i = ARRAY_SIZE(e); i-- > 0;) {
		fill(&in, sizes[i / 2], i % 2);
		assert_int_equal(packfile_read(&p, &e[i], &out), 0);
		assert_true(slice_eq(buf_slice(&in), buf_slice(&out)));
	}
	e[4].digest.bytes[0] ^= 1;
	assert_int_equal(packfile_read(&p, &e[4], &out), -EBADMSG);
	e[6].size++;
	assert_int_equal(packfile_read(&p, &e[6], &out), -EBADMSG);
	e[7].packed--;
	assert_int_equal(packfile_read(&p, &e[7], &out), -EBADMSG);
	packfile_done(&p);
}

static void test_pack_is_full(void **state _unused_)
{
	_cleanup_(closep) int fd = memory();
	_cleanup_(buf_done) struct buf in = { 0 };
	struct index_entry e = { .type = INDEX_FILE };
	struct packfile p;
	struct stat sb;

	packfile_init(&p, fd, 0, 300 * KIB);
	fill(&in, 200 * KIB, true);
	assert_int_equal(packfile_append(&p, buf_slice(&in), &e), 0);
	assert_int_equal(packfile_append(&p, buf_slice(&in), &e), -EFBIG);
	fstat(fd, &sb);
	assert_int_equal(sb.st_size, p.end);
	assert_int_equal(packfile_append(&p, SLICE("small"), &e), 0);
	packfile_done(&p);
}

/* --- names ------------------------------------------------------------------------------------------------------ */

static void test_reserved_names(void **state _unused_)
{
	static const char *const reserved[] = { ".git",	  ".GIT",    ".gIt.", ".git ..",
						".git:x", ".git\\x", "git~1", "GIT~1 " };
	static const char *const fine[] = { ".gitx", "git",	   "git~2", "git~10",
					    ".gi",   ".gitignore", "a.git", ".git x" };

	for (size_t i = 0; i < ARRAY_SIZE(reserved); i++)
		if (!git_name_reserved(reserved[i], false))
			fail_row(i, reserved[i]);
	for (size_t i = 0; i < ARRAY_SIZE(fine); i++)
		if (git_name_reserved(fine[i], false) || git_name_reserved(fine[i], true))
			fail_row(i, fine[i]);
	assert_true(git_name_reserved(".gitmodules", true));
	assert_false(git_name_reserved(".gitmodules", false));
	assert_true(git_path_reserved(".git/index", false));
	assert_true(git_path_reserved("a/.GIT/b", false));
	assert_true(git_path_reserved("a/.gitmodules", true));
	assert_false(git_path_reserved(".gitmodules/a", true));
	assert_false(git_path_reserved("a/b.git/c", false));
}

static void test_export_paths(void **state _unused_)
{
	static const char *const cases[][2] = {
		{ "a", "a" },	{ "a/b", "a/b" },   { "./a//b/", "a/b" }, { ".", "" },
		{ "./", "" },	{ "a/./b", "a/b" }, { "...", "..." },	  { "", NULL },
		{ "/a", NULL }, { "..", NULL },	    { "a/../b", NULL },	  { "a/..", NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(freep) char *path = xstrdup(cases[i][0]);
		int r = tree_pack_clean_path(path);

		if (r != (cases[i][1] ? 0 : -EINVAL) || (r == 0 && strcmp(path, cases[i][1]) != 0))
			fail_row(i, cases[i][0]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),	      cmocka_unit_test(test_index_written_and_read),
		cmocka_unit_test(test_index_refuses), cmocka_unit_test(test_pack),
		cmocka_unit_test(test_pack_is_full),  cmocka_unit_test(test_reserved_names),
		cmocka_unit_test(test_export_paths),
	};

	return RUN(tests, NULL, NULL);
}
