/* The walk below a directory: its order, what each function of its user is asked and may refuse, and every trouble. */
#include "unit.h"

#include "base/buf.h"
#include "base/limits.h"
#include "base/util.h"
#include "tree/tree_walker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

struct told {
	struct buf text;
	const char *shut, *skip, *stop, *lose, *also; /* paths */
	int entered, left, on_read, wanted;
};

static bool is(const char *path, const char *of)
{
	return of && strcmp(path, of) == 0;
}

static void tell(struct told *t, const char *what, const char *path)
{
	buf_puts(&t->text, what);
	buf_puts(&t->text, path);
	buf_puts(&t->text, " ");
}

static int visit(void *ctx, const struct tree_entry *e)
{
	struct told *t = ctx;
	struct stat sb;

	assert_int_equal(fstatat(e->dir, e->leaf, &sb, AT_SYMLINK_NOFOLLOW), 0);
	assert_int_equal(sb.st_ino, e->sb.st_ino);
	tell(t, "", strncmp(e->leaf, "any", 3) == 0 ? "any" : e->path);
	if (is(e->path, t->lose))
		assert_int_equal(unlinkat(e->dir, e->leaf, AT_REMOVEDIR), 0);
	if (is(e->path, t->lose) && t->also)
		assert_int_equal(unlinkat(e->dir, t->also, 0), 0);
	return is(e->path, t->stop) ? -ECANCELED : is(e->path, t->skip);
}

static int enter(void *ctx, const struct tree_entry *e, int fd)
{
	struct told *t = ctx;
	struct stat sb;

	assert_int_equal(fstat(fd, &sb), 0);
	tell(t, ">", e->depth ? e->path : ".");
	if (is(e->path, t->shut))
		return 1;
	t->entered++;
	return 0;
}

static void leave(void *ctx)
{
	struct told *t = ctx;

	t->left++;
	tell(t, "<", "");
}

static int trouble(void *ctx, const struct tree_entry *e, enum walk_trouble what, int error)
{
	static const char *const marks[] = {
		[WALK_CANNOT_LOOK] = "look:", [WALK_PATH_TOO_LONG] = "long:",
		[WALK_TOO_DEEP] = "deep:",    [WALK_CANNOT_OPEN] = "open:",
		[WALK_CANNOT_READ] = "read:",
	};
	struct told *t = ctx;

	assert_true(error < 0);
	tell(t, marks[what], what == WALK_PATH_TOO_LONG || what == WALK_TOO_DEEP ? "" : e->path);
	return what == WALK_CANNOT_READ ? t->on_read : 0;
}

/* No hidden names, and one of those that begin with "any". */
static int want_few(void *ctx, const char *name)
{
	struct told *t = ctx;

	if (strncmp(name, "any", 3) == 0 && t->wanted++)
		return -E2BIG;
	return name[0] != '.';
}

static const struct walk_calls calls = { NULL, visit, enter, leave, trouble };

static int scratch_open(const char *name)
{
	int fd = open(scratch_path(name), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static void make_dir(const char *name)
{
	assert_int_equal(mkdir(scratch_path(name), 0700), 0);
}

/* What t told, and that each directory that was entered was left. */
static void walk(const char *name, const struct walk_calls *with, struct told *t, int r,
		 const char *told)
{
	_cleanup_(closep) int fd = scratch_open(name);

	assert_int_equal(tree_walker_run(fd, "", with, t), r);
	buf_putc(&t->text, '\0');
	assert_string_equal(t->text.data, told);
	assert_int_equal(t->entered, t->left);
	/* still open: it was borrowed */
	assert_true(fcntl(fd, F_GETFD) >= 0);
	buf_done(&t->text);
}

static void test_order(void **state _unused_)
{
	struct told all = { 0 }, shut = { .shut = "a" }, skip = { .skip = "a/d" };
	struct told stop = { .stop = "a/d/f" }, root = { .shut = "" };

	make_dir("t");
	make_dir("t/a");
	make_dir("t/a/d");
	scratch_write("t/a/d/f", "", 0);
	scratch_write("t/a/z", "", 0);
	scratch_write("t/a.b", "", 0);
	assert_int_equal(symlink("a", scratch_path("t/link")), 0);
	walk("t", &calls, &all, 0, ">. a >a a/d >a/d a/d/f < a/z < a.b link < ");
	walk("t", &calls, &shut, 0, ">. a >a a.b link < ");
	walk("t", &calls, &skip, 0, ">. a >a a/d a/z < a.b link < ");
	walk("t", &calls, &stop, -ECANCELED, ">. a >a a/d >a/d a/d/f < < < ");
	walk("t", &calls, &root, 0, ">. ");
}

/* A name that is gone by its turn, a directory that is gone before it is opened. */
static void test_gone(void **state _unused_)
{
	struct told t = { .lose = "a" }, late = { .lose = "a", .also = "b" };

	make_dir("g");
	make_dir("g/a");
	scratch_write("g/b", "", 0);
	walk("g", &calls, &t, 0, ">. a open:a b < ");
	make_dir("g/a");
	walk("g", &calls, &late, 0, ">. a open:a look:b < ");
}

/* 0 goes on with the names that were read, positive leaves them out, negative ends. */
static void test_unread(void **state _unused_)
{
	static const struct {
		int answer;
		const char *told;
	} rows[] = {
		{ 0, ">. d >d read:d any < z < " },
		{ 1, ">. d >d read:d < z < " },
		{ -EIO, ">. d >d read:d < < " },
	};
	const struct walk_calls few = { want_few, visit, enter, leave, trouble };

	make_dir("u");
	make_dir("u/d");
	scratch_write("u/d/any1", "", 0);
	scratch_write("u/d/any2", "", 0);
	scratch_write("u/z", "", 0);
	scratch_write("u/.hidden", "", 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct told t = { .on_read = rows[i].answer };

		walk("u", &few, &t, MIN(rows[i].answer, 0), rows[i].told);
	}
}

struct whole {
	const char *wanted;
	int n;
};

static int visit_whole(void *ctx, const struct tree_entry *e)
{
	struct whole *w = ctx;

	assert_string_equal(e->whole, w->wanted);
	assert_string_equal(e->path, "b");
	w->n++;
	return 0;
}

static void test_above(void **state _unused_)
{
	static const struct walk_calls whole = { .visit = visit_whole, .trouble = trouble };
	struct told t = { 0 };
	struct whole root = { "/b", 0 }, below = { "/x/y/b", 0 };
	_cleanup_(closep) int fd = -1;
	char far[PATH_BYTES_MAX + 2];

	make_dir("w");
	scratch_write("w/b", "", 0);
	fd = scratch_open("w");
	assert_int_equal(tree_walker_run(fd, "/", &whole, &root), 0);
	assert_int_equal(tree_walker_run(fd, "/x/y", &whole, &below), 0);
	assert_int_equal(root.n + below.n, 2);
	memset(far, 'x', sizeof(far) - 1);
	far[sizeof(far) - 1] = '\0';
	assert_int_equal(tree_walker_run(fd, far, &calls, &t), 0);
	assert_buf(&t.text, "long: ");
	buf_done(&t.text);
}

struct bounds {
	size_t longest;
	unsigned deepest, too_long, too_deep;
};

static int visit_bounds(void *ctx, const struct tree_entry *e)
{
	struct bounds *b = ctx;

	b->longest = MAX(b->longest, strlen(e->path));
	b->deepest = MAX(b->deepest, e->depth);
	return 0;
}

static int trouble_bounds(void *ctx, const struct tree_entry *e _unused_, enum walk_trouble what,
			  int error _unused_)
{
	struct bounds *b = ctx;

	b->too_long += what == WALK_PATH_TOO_LONG;
	b->too_deep += what == WALK_TOO_DEEP;
	return 0;
}

/* levels directories of that name in each other. */
static void walk_bounds(const char *top, const char *name, int levels, struct bounds *b)
{
	static const struct walk_calls bounds = { .visit = visit_bounds,
						  .trouble = trouble_bounds };
	_cleanup_(closep) int root = -1;
	int fd;

	make_dir(top);
	root = scratch_open(top);
	fd = dup(root);
	for (int i = 0; i < levels; i++) {
		int next;

		assert_int_equal(mkdirat(fd, name, 0700), 0);
		next = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		close(fd);
		fd = next;
	}
	close(fd);
	assert_int_equal(tree_walker_run(root, "", &bounds, b), 0);
}

static void test_bounds(void **state _unused_)
{
	struct bounds deep = { 0 }, wide = { 0 }, edge = { 0 };
	char name[256] = { 0 };

	walk_bounds("deep", "d", PATH_DEPTH_MAX, &edge);
	assert_int_equal(edge.deepest, PATH_DEPTH_MAX);
	assert_int_equal(edge.too_deep, 0);
	walk_bounds("deeper", "d", PATH_DEPTH_MAX + 2, &deep);
	assert_int_equal(deep.deepest, PATH_DEPTH_MAX + 1);
	assert_int_equal(deep.too_deep, 1);
	memset(name, 'n', 255);
	/* 16 names and the slashes between them are 4095 bytes */
	walk_bounds("wide", name, 18, &wide);
	assert_int_equal(wide.longest, 4095);
	assert_int_equal(wide.too_long, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_order, scratch_setup, scratch_done),
		cmocka_unit_test_setup_teardown(test_gone, scratch_setup, scratch_done),
		cmocka_unit_test_setup_teardown(test_unread, scratch_setup, scratch_done),
		cmocka_unit_test_setup_teardown(test_above, scratch_setup, scratch_done),
		cmocka_unit_test_setup_teardown(test_bounds, scratch_setup, scratch_done),
	};

	return RUN(tests, NULL, NULL);
}
