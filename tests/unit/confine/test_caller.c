/*
 * What is said of a process that waits in a system call, beside what the kernel says: a child tries each act in a tree whose
 * one half is mounted read-only, and then waits to be looked at.
 */
#include "confine/watch/caller.h"
#include "unit.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PLAIN_UID 61500
#define PAGE 4096

enum act_kind { ACT_OPEN, ACT_MKDIR, ACT_UNLINK, ACT_RMDIR, ACT_CHMOD, ACT_SYMLINK };

static const struct act {
	const char *path; /* below the tree */
	enum act_kind kind;
	int flags; /* of open */
	struct caller_write what;
} acts[] = {
	{ "ro/file", ACT_OPEN, O_WRONLY, { .old = true, .asks_first = true } },
	{ "ro/file", ACT_OPEN, O_RDWR | O_CREAT, { .asks_first = true } },
	{ "ro/none", ACT_OPEN, O_WRONLY, { .old = true, .asks_first = true } },
	{ "ro/none", ACT_OPEN, O_WRONLY | O_CREAT, { .asks_first = true } },
	{ "ro/none/none", ACT_OPEN, O_WRONLY | O_CREAT, { .asks_first = true } },
	{ "ro/file",
	  ACT_OPEN,
	  O_WRONLY | O_CREAT | O_EXCL,
	  { .fresh = true, .no_follow = true, .asks_first = true } },
	{ "ro/closed", ACT_OPEN, O_WRONLY, { .old = true, .asks_first = true } },
	{ "ro/fifo", ACT_OPEN, O_RDWR, { .old = true, .asks_first = true } },
	{ "rw/file", ACT_OPEN, O_WRONLY, { .old = true, .asks_first = true } },
	{ "rw/none", ACT_OPEN, O_WRONLY | O_CREAT, { .asks_first = true } },
	{ "rw/link", ACT_OPEN, O_WRONLY, { .old = true, .asks_first = true } },
	{ "rw/link",
	  ACT_OPEN,
	  O_WRONLY | O_NOFOLLOW,
	  { .old = true, .no_follow = true, .asks_first = true } },
	{ "rw/link", ACT_CHMOD, 0, { .old = true } },
	{ "rw/other", ACT_UNLINK, 0, { .no_follow = true } },
	{ "ro/closed", ACT_CHMOD, 0, { .old = true } },
	{ "ro/file", ACT_UNLINK, 0, { .no_follow = true } },
	{ "ro/none", ACT_UNLINK, 0, { .no_follow = true } },
	{ "ro/dir", ACT_RMDIR, 0, { .no_follow = true } },
	{ "ro/dir", ACT_MKDIR, 0, { .fresh = true, .no_follow = true } },
	{ "ro/dir/", ACT_MKDIR, 0, { .fresh = true, .no_follow = true } },
	{ "ro/new", ACT_MKDIR, 0, { .fresh = true, .no_follow = true } },
	{ "ro/new/", ACT_MKDIR, 0, { .fresh = true, .no_follow = true } },
	{ "ro/new", ACT_SYMLINK, 0, { .fresh = true, .no_follow = true } },
	{ "rw/new", ACT_MKDIR, 0, { .fresh = true, .no_follow = true } },
	{ "rw/../ro/new", ACT_MKDIR, 0, { .fresh = true, .no_follow = true } },
};

static int try_act(const struct act *a)
{
	int r = -1;

	switch (a->kind) {
	case ACT_OPEN:
		r = open(a->path, a->flags | O_NONBLOCK | O_CLOEXEC, 0600);
		break;
	case ACT_MKDIR:
		r = mkdir(a->path, 0700);
		break;
	case ACT_UNLINK:
		r = unlink(a->path);
		break;
	case ACT_RMDIR:
		r = rmdir(a->path);
		break;
	case ACT_CHMOD:
		r = chmod(a->path, 0600);
		break;
	case ACT_SYMLINK:
		r = symlink("x", a->path);
		break;
	}
	return r < 0 ? errno : 0;
}

static int make_file(const char *path, mode_t mode)
{
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, mode);

	return fd < 0 ? -1 : fchmod(fd, mode) + close(fd);
}

static bool make_half(const char *name)
{
	return mkdir(name, 0777) == 0 && chdir(name) == 0 && make_file("file", 0666) == 0 &&
	       make_file("closed", 0644) == 0 && mkdir("dir", 0777) == 0 &&
	       mkfifo("fifo", 0666) == 0 && chdir("..") == 0;
}

/* In mounts of its own, which end with it. */
static bool make_tree(const char *at)
{
	return unshare(CLONE_NEWNS) == 0 &&
	       mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("tmpfs", at, "tmpfs", 0, "mode=0777") == 0 && chdir(at) == 0 &&
	       make_half("ro") && make_half("rw") && symlink("../ro/file", "rw/link") == 0 &&
	       symlink("../ro/file", "rw/other") == 0 &&
	       mount("ro", "ro", NULL, MS_BIND, NULL) == 0 &&
	       mount(NULL, "ro", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) == 0;
}

/* Says the errno of each act; then waits until it is killed. */
static _Noreturn void child(const char *at, int to)
{
	int got[ARRAY_SIZE(acts)];

	umask(0);
	if (!make_tree(at) || setresgid(PLAIN_UID, PLAIN_UID, PLAIN_UID) < 0 ||
	    setresuid(PLAIN_UID, PLAIN_UID, PLAIN_UID) < 0)
		_exit(1);
	for (size_t i = 0; i < ARRAY_SIZE(acts); i++)
		got[i] = try_act(&acts[i]);
	if (write(to, got, sizeof(got)) != (ssize_t)sizeof(got))
		_exit(1);
	for (;;)
		pause();
}

static void judge_all(pid_t pid, const char *at, const int got[ARRAY_SIZE(acts)])
{
	char path[CALLER_PATH_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(acts); i++) {
		snprintf(path, sizeof(path), "%s/%s", at, acts[i].path);
		if ((caller_write_error(pid, path, &acts[i].what) == -EROFS) != (got[i] == EROFS))
			fail_row(i, acts[i].path);
	}
}

static void test_says_what_the_kernel_says(void **state _unused_)
{
	const char *at = scratch_dir();
	int got[ARRAY_SIZE(acts)], ends[2], rofs = 0;
	pid_t pid;
	bool told;

	if (geteuid() != 0)
		skip(); /* mounts */
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		child(at, ends[1]);
	close(ends[1]);
	told = read(ends[0], got, sizeof(got)) == (ssize_t)sizeof(got);
	close(ends[0]);
	if (told)
		judge_all(pid, at, got);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_true(told);
	for (size_t i = 0; i < ARRAY_SIZE(acts); i++)
		rofs += got[i] == EROFS;
	assert_in_range(rofs, 8, ARRAY_SIZE(acts) - 8); /* the tree was what it was meant to be */
}

/* Two pages, the second of which cannot be read. */
static char *page_before_nothing(void)
{
	/* cppcheck-suppress invalidFunctionArg; -1 is right with MAP_ANONYMOUS */
	char *at = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(at, MAP_FAILED);
	assert_int_equal(mprotect(at + PAGE, PAGE, PROT_NONE), 0);
	return at;
}

static void test_memory_is_read_to_its_end_and_no_further(void **state _unused_)
{
	char *at = page_before_nothing(), text[CALLER_PATH_MAX], few[4];

	memcpy(at + PAGE - 5, "/etc", 5);
	assert_int_equal(caller_text(getpid(), (uintptr_t)at + PAGE - 5, text, sizeof(text)), 0);
	assert_string_equal(text, "/etc");
	assert_int_equal(caller_text(getpid(), (uintptr_t)at + PAGE - 5, few, sizeof(few)),
			 -ENAMETOOLONG);
	at[PAGE - 1] = 'x';
	assert_int_equal(caller_text(getpid(), (uintptr_t)at + PAGE - 5, text, sizeof(text)),
			 -EFAULT);
	assert_int_equal(caller_text(getpid(), 0, text, sizeof(text)), -EFAULT);
	assert_int_equal(caller_bytes(getpid(), (uintptr_t)at + PAGE - 2, few, 2), 0);
	assert_int_equal(caller_bytes(getpid(), (uintptr_t)at + PAGE - 2, few, 4), -EFAULT);
	memset(at, 'a', PAGE);
	assert_int_equal(caller_text(getpid(), (uintptr_t)at + 1, text, sizeof(text)), -EFAULT);
	munmap(at, 2 * PAGE);
}

static void test_paths_begin_where_the_process_is(void **state _unused_)
{
	char got[CALLER_PATH_MAX], want[CALLER_PATH_MAX + 8], longest[CALLER_PATH_MAX];
	_cleanup_(freep) char *here = realpath(".", NULL);
	_cleanup_(closep) int root = open("/", O_PATH | O_CLOEXEC);

	snprintf(want, sizeof(want), "%s/a/b", here);
	assert_int_equal(caller_path(getpid(), AT_FDCWD, (uintptr_t) "a/b", got), 0);
	assert_string_equal(got, want);
	assert_int_equal(caller_path(getpid(), root, (uintptr_t) "a/b", got), 0);
	assert_string_equal(got, "/a/b");
	assert_int_equal(caller_path(getpid(), root, (uintptr_t) "", got), 0);
	assert_string_equal(got, "/");
	assert_int_equal(caller_path(getpid(), 9999, (uintptr_t) "/abs", got), 0);
	assert_string_equal(got, "/abs");
	assert_int_equal(caller_path(getpid(), 9999, (uintptr_t) "a", got), -ENOENT);
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(caller_path(getpid(), AT_FDCWD, (uintptr_t)longest, got), -ENAMETOOLONG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_says_what_the_kernel_says),
		cmocka_unit_test(test_memory_is_read_to_its_end_and_no_further),
		cmocka_unit_test(test_paths_begin_where_the_process_is),
	};

	return RUN(tests, scratch_setup, scratch_done);
}
