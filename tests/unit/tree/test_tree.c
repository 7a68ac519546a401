/* Trees below a held directory: walking, making, removing; with openat2 and without. */
#include "unit.h"

#include "base/os/file.h"
#include "base/limits.h"
#include "tree/held_tree.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* Kernels and filters without openat2. */
static bool no_openat2;

long syscall(long number, ...)
{
	static long (*real)(long, ...);
	long v[6];
	va_list args;

	va_start(args, number);
	for (size_t i = 0; i < ARRAY_SIZE(v); i++)
		v[i] = va_arg(args, long);
	va_end(args);
	if (number == SYS_openat2 && no_openat2) {
		errno = ENOSYS;
		return -1;
	}
	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "syscall");
	return real(number, v[0], v[1], v[2], v[3], v[4], v[5]);
}

static int root;
static struct held held;

static int setup(void **state)
{
	if (scratch_setup(state) < 0)
		return -1;
	root = open(scratch_dir(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	held_init(&held, root);
	return root < 0 ? -1 : 0;
}

static int teardown(void **state)
{
	held_done(&held);
	close(root);
	return scratch_done(state);
}

static int make_dirs(const char *path)
{
	_cleanup_(freep) char *in = xprintf("%s/x", path);
	const char *leaf;

	return MIN(held_parent_made(&held, in, 0700, &leaf), 0);
}

static void make_file(const char *path, const char *text)
{
	int fd = held_create(&held, path, 0644);

	assert_true(fd >= 0);
	assert_int_equal(file_write_all(fd, text, strlen(text)), 0);
	close(fd);
}

/* --- held --------------------------------------------------------------------------------------------- */

static void use_tree(void)
{
	struct stat sb;
	char text[8];
	int fd;

	assert_int_equal(make_dirs("a/b/c"), 0);
	assert_int_equal(make_dirs("a/b/c"), 0);
	assert_int_equal(held_stat(&held, "a/b/c", &sb), 0);
	assert_int_equal(sb.st_mode, S_IFDIR | 0700);
	make_file("a/b/c/f", "text");
	assert_int_equal(held_create(&held, "a/b/c/f", 0644), -EEXIST);
	assert_int_equal(held_create(&held, "a/missing/f", 0644), -ENOENT);
	fd = held_open(&held, "a/b/c/f", &sb);
	assert_int_equal(sb.st_size, 4);
	assert_int_equal(read(fd, text, sizeof(text)), 4);
	close(fd);
	assert_int_equal(held_open(&held, "a/b", NULL), -EINVAL);
	assert_int_equal(held_open(&held, "a/none", NULL), -ENOENT);
	assert_int_equal(held_stat(&held, "a/b/none", &sb), -ENOENT);
	assert_true(held_dir(&held, SLICE("a/b")) >= 0);
	/* a file where a directory is needed */
	assert_int_equal(held_dir(&held, SLICE("a/b/c/f")), -ENOTDIR);
	assert_int_equal(held_stat(&held, "a/b/c/f/g", &sb), -ENOTDIR);
	assert_int_equal(make_dirs("a/b/c/f/g"), -ENOTDIR);
	held_forget(&held, "a");
	assert_int_equal(held_remove_at(root, "a"), 0);
	assert_int_equal(held_remove_at(root, "a"), 0);
	assert_int_equal(held_stat(&held, "a/b/c/f", &sb), -ENOENT);
}

static bool in_the_way(int r)
{
	return r == -ELOOP || r == -ENOTDIR;
}

static void use_links(void)
{
	struct stat sb;

	assert_int_equal(make_dirs("real/sub"), 0);
	make_file("real/f", "x");
	assert_int_equal(symlinkat("real", root, "link"), 0);
	assert_int_equal(symlinkat("/", root, "top"), 0);
	assert_int_equal(symlinkat("f", held_dir(&held, SLICE("real")), "lf"), 0);
	assert_true(in_the_way(held_dir(&held, SLICE("link"))));
	assert_true(in_the_way(held_dir(&held, SLICE("link/sub"))));
	assert_true(in_the_way(held_stat(&held, "link/f", &sb)));
	assert_true(in_the_way(held_open(&held, "link/f", NULL)));
	assert_true(in_the_way(held_open(&held, "real/lf", NULL)));
	assert_true(in_the_way(held_create(&held, "link/new", 0644)));
	assert_true(in_the_way(make_dirs("link/new/dir")));
	assert_true(in_the_way(make_dirs("top/tmp")));
	assert_true(in_the_way(held_dir(&held, SLICE("top/tmp"))));
	assert_int_equal(held_stat(&held, "link", &sb), 0);
	assert_true(S_ISLNK(sb.st_mode));
	/* a directory that is held stays the one it was, though a link stands there now */
	assert_true(held_dir(&held, SLICE("real/sub")) >= 0);
	assert_int_equal(renameat(root, "real", root, "moved"), 0);
	assert_int_equal(symlinkat("/", root, "real"), 0);
	make_file("real/sub/g", "y");
	assert_int_equal(faccessat(root, "moved/sub/g", F_OK, 0), 0);
	held_forget(&held, "real");
	assert_true(in_the_way(held_dir(&held, SLICE("real/sub"))));
	/* removing a link leaves what it names */
	assert_int_equal(held_remove_at(root, "link"), 0);
	assert_int_equal(held_remove_at(root, "real"), 0);
	assert_int_equal(held_remove_at(root, "top"), 0);
	assert_int_equal(faccessat(root, "moved/sub/g", F_OK, 0), 0);
	assert_int_equal(held_remove_at(root, "moved"), 0);
	held_forget(&held, "real");
}

/* More directories than are held. */
static void use_many(void)
{
	char path[64];

	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < 3 * HELD_DIRS; i++) {
			snprintf(path, sizeof(path), "many/d%u/e", i);
			assert_int_equal(make_dirs(path), 0);
			snprintf(path, sizeof(path), "many/d%u/e/f%u", i, round);
			make_file(path, "x");
		}
	}
	/* only whole names: many/d1 is not many/d10 */
	assert_true(held_dir(&held, SLICE("many/d10")) >= 0);
	held_forget(&held, "many/d1");
	assert_int_equal(held_remove_at(held_dir(&held, SLICE("many")), "d1"), 0);
	assert_int_equal(held_dir(&held, SLICE("many/d1/e")), -ENOENT);
	assert_true(held_dir(&held, SLICE("many/d10/e")) >= 0);
	held_forget(&held, "many");
	assert_int_equal(held_remove_at(root, "many"), 0);
}

static void test_held(void **state _unused_)
{
	for (int i = 0; i < 2; i++) {
		no_openat2 = i;
		use_tree();
		use_links();
		use_many();
	}
	no_openat2 = false;
}

static void test_odd_files(void **state _unused_)
{
	assert_int_equal(mkfifoat(root, "fifo", 0644), 0);
	/* does not wait for a writer */
	assert_int_equal(held_open(&held, "fifo", NULL), -EINVAL);
	assert_int_equal(held_remove_at(root, "fifo"), 0);
}

struct seen {
	char text[512];
	const char *prune, *stop;
};

static int visit(void *ctx, const char *path, int dir, const char *leaf, const struct stat *sb)
{
	struct seen *s = ctx;
	struct stat own;
	size_t n = strlen(s->text);

	assert_int_equal(fstatat(dir, leaf, &own, AT_SYMLINK_NOFOLLOW), 0);
	assert_int_equal(own.st_ino, sb->st_ino);
	snprintf(s->text + n, sizeof(s->text) - n, "%s ", path);
	if (s->stop && strcmp(path, s->stop) == 0)
		return -ECANCELED;
	return s->prune && strcmp(path, s->prune) == 0;
}

static void test_walk(void **state _unused_)
{
	struct seen all = { 0 }, pruned = { .prune = "w/b" }, stopped = { .stop = "w" };
	int top;

	assert_int_equal(make_dirs("walk/w/b/c"), 0);
	make_file("walk/w/b/c/f", "x");
	top = held_open_dir_at(root, "walk");
	assert_int_equal(symlinkat("/", held_dir(&held, SLICE("walk/w/b/c")), "out"), 0);
	assert_int_equal(held_walk(top, visit, &all), 0);
	assert_non_null(strstr(all.text, "w w/b w/b/c w/b/c/"));
	assert_non_null(strstr(all.text, "w/b/c/f "));
	assert_non_null(strstr(all.text, "w/b/c/out "));
	assert_null(strstr(all.text, "out/"));
	assert_int_equal(held_walk(top, visit, &pruned), 0);
	assert_string_equal(pruned.text, "w w/b ");
	assert_int_equal(held_walk(top, visit, &stopped), -ECANCELED);
	assert_string_equal(stopped.text, "w ");
	close(top);
	held_forget(&held, "walk");
	assert_int_equal(held_remove_at(root, "walk"), 0);
}

static int visit_nothing(void *ctx _unused_, const char *path _unused_, int dir _unused_,
			 const char *leaf _unused_, const struct stat *sb _unused_)
{
	return 0;
}

static void test_deep(void **state _unused_)
{
	_cleanup_(buf_done) struct buf path = { 0 };
	int top;

	buf_puts(&path, "deep");
	for (unsigned i = 0; i < PATH_DEPTH_MAX; i++)
		buf_puts(&path, "/d");
	buf_putc(&path, '\0');
	assert_int_equal(make_dirs(path.data), 0);
	top = held_open_dir_at(root, "deep");
	assert_int_equal(held_walk(top, visit_nothing, NULL), 0);
	path.len--;
	buf_add(&path, "/e", 3);
	assert_int_equal(make_dirs(path.data), 0);
	assert_int_equal(held_walk(top, visit_nothing, NULL), -ELOOP);
	close(top);
	held_forget(&held, "deep");
	assert_int_equal(held_remove_at(root, "deep"), 0);
}

/* Deeper than any path, wider at its deepest than one level, and with few descriptors to be had. */
static void remove_deep(void)
{
	struct rlimit few = { 64, 64 };
	int top = held_open_dir_at(root, "well"), fd = dup(top);

	for (int i = 0; i < 6000; i++) {
		int next;

		if (mkdirat(fd, "d", 0700) < 0 || mkdirat(fd, "empty", 0700) < 0)
			_exit(1);
		next = held_open_dir_at(fd, "d");
		close(openat(fd, ".acpd-removed-7", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
		if (i % 100 == 0 && fchmodat(fd, "d", 0, 0) < 0)
			_exit(2);
		close(fd);
		fd = next;
	}
	close(fd);
	setrlimit(RLIMIT_NOFILE, &few);
	if (held_empty(top) < 0)
		_exit(3);
	_exit(unlinkat(root, "well", AT_REMOVEDIR) < 0 ? 4 : 0);
}

static void in_child(void (*run)(void), int *status)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		run();
		_exit(9);
	}
	assert_int_equal(waitpid(pid, status, 0), pid);
}

static void test_remove_deep(void **state _unused_)
{
	int status;

	assert_int_equal(mkdirat(root, "well", 0700), 0);
	in_child(remove_deep, &status);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* As somebody whom modes hold back. */
static void remove_readonly(void)
{
	if (geteuid() == 0 && setresuid(65534, 65534, 65534) < 0)
		_exit(1);
	if (make_dirs("open/a/b/c") < 0 || make_dirs("open/d") < 0)
		_exit(2);
	close(held_create(&held, "open/a/b/f", 0400));
	if (fchmodat(root, "open/a/b/c", 0, 0) < 0 || fchmodat(root, "open/a/b", 0500, 0) < 0 ||
	    fchmodat(root, "open/a", 0100, 0) < 0 || fchmodat(root, "open/d", 0, 0) < 0)
		_exit(3);
	if (held_remove_at(held_dir(&held, SLICE("open")), "a") < 0 ||
	    held_remove_at(held_dir(&held, SLICE("open")), "d") < 0)
		_exit(4);
	_exit(0);
}

static void test_remove_readonly(void **state _unused_)
{
	struct stat sb;
	int status;

	assert_int_equal(fchmodat(root, ".", 0755, 0), 0);
	assert_int_equal(mkdirat(root, "open", 0777), 0);
	assert_int_equal(fchmodat(root, "open", 0777, 0), 0);
	in_child(remove_readonly, &status);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(held_stat(&held, "open/a", &sb), -ENOENT);
	assert_int_equal(held_remove_at(root, "open"), 0);
}

#define NO_MOUNTS 77

static void meet_mount(void)
{
	struct seen s = { 0 };
	int top;

	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("none", scratch_path("m/on"), "tmpfs", 0, NULL) < 0)
		_exit(NO_MOUNTS);
	/* a descriptor sees the mounts of where it was opened */
	held_done(&held);
	root = open(scratch_dir(), O_RDONLY | O_DIRECTORY);
	held_init(&held, root);
	close(open(scratch_path("m/on/f"), O_CREAT | O_WRONLY, 0644));
	for (int i = 0; i < 2; i++) {
		no_openat2 = i;
		if (held_dir(&held, SLICE("m/on")) != -EXDEV ||
		    held_create(&held, "m/on/x", 0644) != -EXDEV)
			_exit(1);
	}
	top = held_open_dir_at(root, "m");
	if (held_walk(top, visit, &s) < 0 || strcmp(s.text, "on ") != 0)
		_exit(2);
	if (held_remove_at(root, "m") != -EXDEV || access(scratch_path("m/on/f"), F_OK) < 0)
		_exit(3);
	_exit(0);
}

static void test_mount(void **state _unused_)
{
	int status;

	assert_int_equal(make_dirs("m/on"), 0);
	held_forget(&held, "m");
	in_child(meet_mount, &status);
	assert_int_equal(held_remove_at(root, "m"), 0);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == NO_MOUNTS)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_held),	    cmocka_unit_test(test_odd_files),
		cmocka_unit_test(test_walk),	    cmocka_unit_test(test_deep),
		cmocka_unit_test(test_remove_deep), cmocka_unit_test(test_remove_readonly),
		cmocka_unit_test(test_mount),
	};

	return RUN(tests, setup, teardown);
}
