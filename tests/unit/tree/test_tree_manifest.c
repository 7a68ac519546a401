/* Manifests of trees: nodes, the order and form of their lines, what is no manifest, many entries. */
#include "unit.h"

#include "base/os/file.h"
#include "base/limits.h"
#include "tree/tree_manifest.h"

#include <sys/mman.h>

static uint32_t put(struct manifest *m, const char *path, enum node_type type, unsigned mode,
		    const char *content)
{
	bool existed;
	int64_t i = manifest_put(m, path, &existed);

	assert_true(i > 0);
	m->v[i].type = (uint8_t)type;
	m->v[i].mode = (uint16_t)mode;
	m->v[i].implied = 0;
	m->v[i].size = strlen(content);
	sha256_of(slice_of(content), &m->v[i].digest);
	if (type == NODE_LINK)
		manifest_set_target(m, (uint32_t)i, slice_of(content));
	return (uint32_t)i;
}

static int written(const struct manifest *m, struct buf *text, struct sha256 *digest)
{
	int fd = memfd_create("manifest", MFD_CLOEXEC);

	assert_int_equal(manifest_write(m, fd, digest), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	if (text) {
		assert_int_equal(file_read_fd(fd, TREE_MANIFEST_MAX, text), 0);
		assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	}
	return fd;
}

#define ONE "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b"

static void test_manifest_lines(void **state _unused_)
{
	_cleanup_(buf_done) struct buf text = { 0 }, again = { 0 };
	struct sha256 digest, want;
	struct manifest m, back;
	int64_t at;
	int fd;

	manifest_init(&m, 100);
	put(&m, "a-b", NODE_FILE, 0644, "1");
	put(&m, "a/z", NODE_FILE, 0755, "1");
	put(&m, "a/b c -> d", NODE_LINK, 0777, "1");
	put(&m, "\xc3\xa4", NODE_FILE, 0600, "1");
	put(&m, "B", NODE_DIR, 0700, "");
	m.v[put(&m, "gone", NODE_FILE, 0644, "1")].gone = 1;
	put(&m, "shared/f", NODE_FILE, 0644, "1");
	at = manifest_find(&m, SLICE("shared"));
	m.v[at].shared = 1;
	fd = written(&m, &text, &digest);
	assert_buf(&text, "d 0700 0 - B\n"
			  "d 0755 0 - a\n"
			  "l 0777 1 " ONE " a/b c -> d -> 1\n"
			  "f 0755 1 " ONE " a/z\n"
			  "f 0644 1 " ONE " a-b\n"
			  "f 0644 1 " ONE " shared/f\n"
			  "f 0600 1 " ONE " \xc3\xa4\n");
	sha256_of(buf_slice(&text), &want);
	assert_true(sha256_equal(&digest, &want));
	manifest_init(&back, 100);
	assert_int_equal(manifest_read(&back, fd), 0);
	close(fd);
	at = manifest_find(&back, SLICE("a/b c -> d"));
	assert_true(at > 0);
	assert_string_equal(manifest_target(&back, (uint32_t)at), "1");
	assert_true(back.v[manifest_find(&back, SLICE("shared"))].implied);
	assert_false(back.v[manifest_find(&back, SLICE("a"))].implied);
	assert_int_equal(manifest_find(&back, SLICE("gone")), -ENOENT);
	back.v[manifest_find(&back, SLICE("shared"))].shared = 1;
	close(written(&back, &again, &digest));
	assert_true(slice_eq(buf_slice(&text), buf_slice(&again)));
	manifest_done(&m);
	manifest_done(&back);
}

static void test_manifest_bad(void **state _unused_)
{
	static const char *const rows[] = {
		"x 0644 1 " ONE " a\n",
		"f 1644 1 " ONE " a\n",
		"f 0648 1 " ONE " a\n",
		"f 0644 -1 " ONE " a\n",
		"f 0644 99999999999999999999 " ONE " a\n",
		"f 0644 1 " ONE "0 a\n",
		"f 0644 1 - a\n",
		"f 0644 1 " ONE "\n",
		"f 0644 1 " ONE " \n",
		"f 0644 1 " ONE " a",
		"f 0644 1 " ONE " a\nf 0644 1 " ONE " a\n",
		"l 0777 1 " ONE " a -> bc\n",
		"l 0777 1 " ONE " a\n",
		"l 0777 9 " ONE " a -> b\n",
		"\n",
		"f\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct manifest m;
		int fd = memfd_create("manifest", MFD_CLOEXEC);

		assert_int_equal(file_write_all(fd, rows[i], strlen(rows[i])), 0);
		lseek(fd, 0, SEEK_SET);
		manifest_init(&m, 100);
		if (manifest_read(&m, fd) != -EBADMSG)
			fail_row(i, rows[i]);
		manifest_done(&m);
		close(fd);
	}
}

static void test_manifest_nodes(void **state _unused_)
{
	char path[PATH_BYTES_MAX + 1], text[] = "a/b/c";
	struct manifest m;
	bool existed;
	int64_t i;

	manifest_init(&m, 5);
	i = manifest_put(&m, text, &existed);
	assert_false(existed);
	assert_string_equal(manifest_path(&m, (uint32_t)i, path), "a/b/c");
	assert_true(m.v[m.v[i].parent].implied && !m.v[i].implied);
	assert_int_equal(manifest_put(&m, text, &existed), i);
	assert_true(existed);
	m.v[i].type = NODE_FILE;
	assert_int_equal(manifest_put(&m, "a/b/c/d", &existed), -ENOTDIR);
	m.v[i].gone = 1;
	assert_int_equal(manifest_find(&m, SLICE("a/b/c")), -ENOENT);
	assert_int_equal(manifest_put(&m, text, &existed), i);
	assert_false(existed);
	assert_int_equal(manifest_find(&m, SLICE("")), 0);
	assert_true(manifest_put(&m, "d", &existed) > 0);
	assert_true(manifest_put(&m, "e", &existed) > 0);
	assert_int_equal(manifest_put(&m, "f", &existed), -E2BIG);
	assert_int_equal(manifest_put(&m, "e", &existed), 5);
	manifest_done(&m);
}

static void test_manifest_many(void **state _unused_)
{
	_cleanup_(freep) uint32_t *order = NULL;
	struct sha256 digest, again;
	struct manifest m, back;
	unsigned many = 50000 / stride(5);
	char path[64];
	size_t n;
	int fd;

	manifest_init(&m, UNPACK_ENTRIES_MAX);
	for (unsigned i = 0; i < many; i++) {
		/* in no order */
		snprintf(path, sizeof(path), "d%u/e%u/f%u", i * 7919u % 97, i % 13, i);
		put(&m, path, i % 3 ? NODE_FILE : NODE_LINK, 0644, path);
	}
	fd = written(&m, NULL, &digest);
	manifest_init(&back, UNPACK_ENTRIES_MAX);
	assert_int_equal(manifest_read(&back, fd), 0);
	close(fd);
	assert_int_equal(back.n, m.n);
	assert_int_equal(manifest_write(&back, -1, &again), 0);
	assert_true(sha256_equal(&digest, &again));
	order = manifest_order(&back, &n);
	assert_int_equal(n, back.n - 1);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(order[i], i + 1); /* read in the order that it is written in */
	for (unsigned i = 0; i < many; i += 17) {
		snprintf(path, sizeof(path), "d%u/e%u/f%u", i * 7919u % 97, i % 13, i);
		assert_true(manifest_find(&back, slice_of(path)) > 0);
	}
	manifest_done(&m);
	manifest_done(&back);
}

/* A path of n bytes whose components are those of prefix and then have 200 bytes at most. The caller frees. */
static char *long_path(const char *prefix, size_t n)
{
	char *path = xalloc(n + 1);
	size_t at = strlen(prefix);

	memcpy(path, prefix, at);
	for (size_t i = at; i < n; i++)
		path[i] = (i - at) % 200 == 199 && i + 1 < n ? '/' : 'x';
	return path;
}

/* Longer than it may be, in each of the ways in which a path comes about: none overruns a buffer of PATH_BYTES_MAX + 1. */
static void test_manifest_long(void **state _unused_)
{
	_cleanup_(freep) char *longest = long_path("a/b/", PATH_BYTES_MAX);
	_cleanup_(freep) char *longer = long_path("a/b/", PATH_BYTES_MAX + 1);
	_cleanup_(freep) char *line = NULL;
	char path[PATH_BYTES_MAX + 1];
	struct manifest m, back;
	uint32_t leaf, a, other;
	bool existed;
	int fd;

	manifest_init(&m, 100);
	assert_int_equal(manifest_put(&m, longer, &existed), -ENAMETOOLONG);
	leaf = put(&m, longest, NODE_FILE, 0644, "1");
	assert_string_equal(manifest_path(&m, leaf, path), longest);
	a = (uint32_t)manifest_find(&m, SLICE("a"));
	other = put(&m, "other", NODE_DIR, 0755, "");
	assert_int_equal(manifest_move(&m, a, 0, SLICE("aa")), -ENAMETOOLONG);
	assert_int_equal(manifest_move(&m, a, other, SLICE("a")), -ENAMETOOLONG);
	assert_int_equal(
		manifest_move(&m, (uint32_t)manifest_find(&m, SLICE("a/b")), 0, SLICE("b")), 0);
	assert_string_equal(manifest_path(&m, leaf, path), longest + 2);
	/* what was moved there counts for the directories above it */
	assert_int_equal(manifest_move(&m, (uint32_t)manifest_find(&m, SLICE("b")), a, SLICE("b")),
			 0);
	assert_int_equal(manifest_move(&m, a, 0, SLICE("aa")), -ENAMETOOLONG);
	assert_string_equal(manifest_path(&m, leaf, path), longest);
	manifest_done(&m);

	assert_true(asprintf(&line, "d 0755 0 - %s\n", longer) > 0);
	fd = memfd_create("manifest", MFD_CLOEXEC);
	assert_int_equal(file_write_all(fd, line, strlen(line)), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	manifest_init(&back, 100);
	assert_true(manifest_read(&back, fd) < 0);
	manifest_done(&back);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_manifest_lines), cmocka_unit_test(test_manifest_bad),
		cmocka_unit_test(test_manifest_nodes), cmocka_unit_test(test_manifest_many),
		cmocka_unit_test(test_manifest_long),
	};

	return RUN(tests, NULL, NULL);
}
