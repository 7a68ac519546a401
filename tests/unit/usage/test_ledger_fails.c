/* The usage ledger where the machine says no: full disks, no threads; and what a thread must not disturb. */
#include "ledger_rig.h"

#include "base/os/file.h"
#include "base/log.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

static int setup(void **state)
{
	int r = rig_setup(state);

	open_at(scratch_path(LEDGER), "aa");
	return r;
}

static void append_durably(void)
{
	struct waiter w = { 0 };

	append_turn();
	wait_for(&w);
	run_until(&w.calls, 1);
	assert_int_equal(w.error, 0);
}

static void check_whole(const char *path, uint64_t records)
{
	struct ledger_report r;

	assert_int_equal(ledger_verify(path, NULL, &r, NULL), 0);
	assert_true(r.first_bad == 0);
	assert_true(r.records == records);
}

static bool count_line(void *ctx, uint64_t n _unused_, struct slice line _unused_)
{
	++*(unsigned *)ctx;
	return true;
}

/* The line that fitted in part only is taken back; what was there stays, and with room again it goes on. */
static void test_file_size_limit(void **state _unused_)
{
	struct rlimit old, small;
	unsigned lines = 0;
	struct stat sb;

	for (int i = 0; i < 5; i++)
		append_turn();
	stat(scratch_path(LEDGER), &sb);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	small = (struct rlimit){ (rlim_t)sb.st_size + 40, old.rlim_max };
	setrlimit(RLIMIT_FSIZE, &small);
	assert_true(ledger_append(l, SLICE("{\"a\":1}")) == 0);
	setrlimit(RLIMIT_FSIZE, &old);
	assert_true(ledger_error(l) < 0);
	assert_true(ledger_append(l, SLICE("no record")) == 0);
	assert_int_equal(ledger_error(l), 0); /* it is no longer that of the append before */
	check_whole(scratch_path(LEDGER), 5);
	assert_true(ledger_append(l, SLICE("{\"a\":1}")) == 6);
	assert_int_equal(ledger_error(l), 0);
	assert_int_equal(ledger_read(l, 0, count_line, &lines), 0);
	assert_int_equal(lines, 6);
	l = ledger_free(l);
	open_at(scratch_path(LEDGER), "aa");
	append_turn();
	check_whole(scratch_path(LEDGER), 7);
}

/* In a child with a mount namespace: 0 passed, 77 it may not mount. */
static int fill_disk(const char *dir)
{
	_cleanup_(freep) char *path = file_join(dir, "full.jsonl");
	struct ledger_report r;
	char pad[2000];
	int ret = 0;

	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("none", dir, "tmpfs", 0, "size=64k") < 0)
		return 77;
	l = ledger_free(l);
	open_at(path, "aa");
	snprintf(pad, sizeof(pad), "{\"pad\":\"%01900d\"}", 0);
	while (ledger_append(l, slice_of(pad)))
		;
	if (ledger_error(l) != -ENOSPC || ledger_last(l) < 20)
		ret = 1;
	else if (ledger_verify(path, NULL, &r, NULL) < 0 || r.first_bad ||
		 r.records != ledger_last(l))
		ret = 2;
	return ret;
}

static int run_child(int (*fn)(const char *dir))
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		status = fn(scratch_dir());
		rig_teardown(NULL);
		_exit(status);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void test_full_disk(void **state _unused_)
{
	int r = run_child(fill_disk);

	if (r == 77)
		skip();
	assert_int_equal(r, 0);
}

/* In a child whose user may have no further thread: the loop syncs by itself. */
static int sync_without_thread(const char *dir _unused_)
{
	static const struct rlimit none = { 0, 0 };
	struct waiter w = { 0 };

	if (geteuid() == 0 && setresuid(65534, 65534, 65534) < 0)
		return 77;
	setrlimit(RLIMIT_NPROC, &none);
	append_turn();
	ledger_sync(l, &w.wait, on_done, &w);
	loop_dispatch(loop);
	return threads() == 1 && w.calls == 1 && w.error == 0 ? 0 : 1;
}

static void test_without_thread(void **state _unused_)
{
	int r = run_child(sync_without_thread);

	if (r == 77)
		skip();
	assert_int_equal(r, 0);
}

/* --- what others would notice ----------------------------------------------------------------------------- */

static void test_signals_stay_with_the_loop(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct dirent *e;
	unsigned checked = 0;
	DIR *d;

	append_durably();
	d = opendir("/proc/self/task");
	while ((e = readdir(d))) {
		char path[300];
		unsigned long long blocked;

		if (e->d_name[0] == '.' || atoi(e->d_name) == getpid())
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%s/status", e->d_name);
		buf_reset(&b);
		assert_int_equal(file_read(path, 1 << 16, &b), 0);
		buf_putc(&b, '\0');
		blocked = strtoull(strstr(b.data, "SigBlk:") + 7, NULL, 16);
		for (int sig = 1; sig < 32; sig++)
			if (sig != SIGKILL && sig != SIGSTOP)
				assert_true(blocked >> (sig - 1) & 1);
		checked++;
	}
	closedir(d);
	assert_int_equal(checked, threads() - 1);
	assert_true(checked > 0);
}

static void test_no_descriptor_for_children(void **state _unused_)
{
	unsigned before;

	l = ledger_free(l);
	before = count_dir("/proc/self/fd");
	open_at(scratch_path(LEDGER), "aa");
	append_durably();
	assert_true(count_dir("/proc/self/fd") > before);
	for (int fd = 3; fd < 64; fd++) {
		char path[32], text[300] = "";

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		if (readlink(path, text, sizeof(text) - 1) > 0 &&
		    (strstr(text, "acpd-unit") || strstr(text, "eventfd")))
			assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	}
	l = ledger_free(l);
	assert_int_equal(count_dir("/proc/self/fd"), before);
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_file_size_limit),
		T(test_full_disk),
		T(test_without_thread),
		T(test_signals_stay_with_the_loop),
		T(test_no_descriptor_for_children),
	};

	log_set_level(LOG_ERROR);
	return RUN(tests, scratch_setup_disk, scratch_done);
}
