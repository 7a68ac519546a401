/* Snapshots: what is read again, what counts as a change, what is left out and told, turns and the way back, damage. */
#include "snap_rig.h"

#include "base/os/file.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

/* --- what is read ----------------------------------------------------------------------------------------- */

static void test_unchanged_is_not_read(void **state _unused_)
{
	rig_put("a", "one\n");
	rig_put("d/b", "two\n");
	rig_link("d/l", "b");
	rig_settle();
	rig_snapshot_ok(0);
	assert_int_equal(rig.report.read, 3);
	assert_int_equal(rig.report.files, 3);
	assert_int_equal(rig.report.bytes, 9);
	rig_snapshot_ok(1);
	assert_int_equal(rig.report.read, 0);
	assert_int_equal(rig.report.changed, 0);
	assert_int_equal(rig.report.files, 3);
	rig_put("d/b", "six\n");
	rig_settle();
	rig_snapshot_ok(2);
	assert_int_equal(rig.report.read, 1);
	assert_int_equal(rig.report.changed, 1);
	assert_int_equal(rig.report.patch.insertions, 1);
	assert_true(rig_patch_has("-two\n+six\n"));
}

/* Within the same tick of the clock it could change again and look the same. */
static void test_recent_is_read_again(void **state _unused_)
{
	rig_put("a", "one\n");
	rig_snapshot_ok(0);
	rig_settle();
	rig_snapshot_ok(1);
	assert_int_equal(rig.report.read, 1);
	assert_int_equal(rig.report.changed, 0);
	rig_snapshot_ok(2);
	assert_int_equal(rig.report.read, 0);
}

static void test_times_put_back(void **state _unused_)
{
	struct stat before, after;
	struct timespec times[2];

	rig_put("a", "one\n");
	rig_settle();
	rig_snapshot_ok(0);
	stat(rig_path("a"), &before);
	rig_put("a", "six\n");
	times[0] = before.st_atim;
	times[1] = before.st_mtim;
	assert_int_equal(utimensat(AT_FDCWD, rig_path("a"), times, 0), 0);
	stat(rig_path("a"), &after);
	assert_memory_equal(&before.st_mtim, &after.st_mtim, sizeof(before.st_mtim));
	assert_int_equal(before.st_ino, after.st_ino);
	assert_int_equal(before.st_size, after.st_size);
	rig_snapshot_ok(1);
	assert_int_equal(rig.report.changed, 1);
	assert_true(rig_patch_has("-one\n+six\n"));
}

static void test_touched_is_no_change(void **state _unused_)
{
	rig_put("a", "one\n");
	rig_put("b", "two\n");
	rig_settle();
	rig_snapshot_ok(0);
	rig_put("a", "one\n");
	assert_int_equal(chmod(rig_path("b"), 0600), 0); /* git knows no such difference */
	rig_snapshot_ok(1);
	assert_int_equal(rig.report.read, 2);
	assert_int_equal(rig.report.changed, 0);
	assert_int_equal(rig.report.patch_bytes, 0);
}

static void test_kinds_of_changes(void **state _unused_)
{
	rig_put("executable", "x\n");
	rig_put("file-to-dir", "x\n");
	rig_put("dir-to-file/a", "x\n");
	rig_put("file-to-link", "x\n");
	rig_link("link-to-file", "a");
	rig_link("retargeted", "a");
	rig_put("gone", "x\n");
	rig_snapshot_ok(0);
	assert_int_equal(chmod(rig_path("executable"), 0755), 0);
	rig_put("file-to-dir", NULL);
	rig_put("file-to-dir/b", "x\n");
	rig_put("dir-to-file", NULL);
	rig_put("dir-to-file", "x\n");
	rig_put("file-to-link", NULL);
	rig_link("file-to-link", "elsewhere");
	rig_put("link-to-file", NULL);
	rig_put("link-to-file", "x\n");
	rig_put("retargeted", NULL);
	rig_link("retargeted", "b");
	rig_put("gone", NULL);
	rig_put("new", "x\n");
	rig_snapshot_ok(1);
	assert_int_equal(rig.report.changed, 10);
	assert_true(rig_patch_has("old mode 100644\nnew mode 100755\n"));
	assert_true(rig_patch_has("b/file-to-link\nnew file mode 120000\n"));
	assert_true(rig_patch_has("diff --git a/gone b/gone\ndeleted file mode 100644\n"));
}

/* Contents come from the tree or from the pack, into the same memory. */
static void test_link_before_a_larger_file(void **state _unused_)
{
	_cleanup_(freep) char *text = xalloc(20001);

	memset(text, 'x', 20000);
	rig_put("b", "small\n");
	rig_snapshot_ok(0);
	rig_put("b", text);
	rig_settle();
	rig_snapshot_ok(1);
	rig_link("a", "new");
	rig_diff_ok(0);
	assert_int_equal(rig.report.read, 1);
	assert_int_equal(rig.report.patch.files, 2);
	assert_true(rig_patch_has(text));
}

/* --- what is left out ------------------------------------------------------------------------------------- */

static void test_never_looked_at(void **state _unused_)
{
	rig_put(".git/config", "x\n");
	rig_put("d/.git", "gitdir: elsewhere\n");
	rig_put(".acpd-stage-0011223344556677/log", "x\n");
	rig_put("a", "x\n");
	rig_snapshot_ok(0);
	assert_int_equal(rig.report.files, 1);
	assert_omitted("");
}

static void test_names_of_git(void **state _unused_)
{
	rig_put(".GIT/config", "x\n");
	rig_put("git~1", "x\n");
	rig_put("d/.git .", "x\n");
	rig_link(".gitmodules", "x");
	rig_put(".gitx", "x\n");
	rig_put("d/.gitmodules", "x\n");
	rig_snapshot_ok(0);
	assert_int_equal(rig.report.files, 2);
	assert_omitted("{\"path\":\".GIT\",\"reason\":\"NAME_RESERVED\"},"
		       "{\"path\":\".gitmodules\",\"reason\":\"NAME_RESERVED\"},"
		       "{\"path\":\"d/.git .\",\"reason\":\"NAME_RESERVED\"},"
		       "{\"path\":\"git~1\",\"reason\":\"NAME_RESERVED\"}");
	rig_snapshot_ok(1);
	assert_omitted("");
}

static void test_gitignore(void **state _unused_)
{
	rig.gitignore = true;
	rig_put("tracked.log", "x\n");
	rig_put("out/tracked", "x\n");
	rig_snapshot_ok(0);
	assert_int_equal(rig.report.files, 2);
	rig_put(".gitignore", "*.log\nout/\n");
	rig_put("d/.gitignore", "!keep.log\n");
	rig_put("new.log", "x\n");
	rig_put("d/keep.log", "x\n");
	rig_put("out/new", "x\n");
	rig_put("tracked.log", "y\n");
	rig_put("out/tracked", "y\n");
	rig_snapshot_ok(1);
	assert_int_equal(rig.report.files, 5);
	assert_false(rig_patch_has("new.log") || rig_patch_has("out/new"));
	assert_text(buf_slice(&rig.report.ignored.json),
		    "{\"path\":\"new.log\",\"reason\":\"IGNORED\"},"
		    "{\"path\":\"out/new\",\"reason\":\"IGNORED\"}");
	assert_true(rig_patch_has("d/keep.log") && rig_patch_has("a/tracked.log") &&
		    rig_patch_has("a/out/tracked"));
	rig_put("out", NULL);
	rig_put("tracked.log", NULL);
	rig_snapshot_ok(2);
	assert_int_equal(rig.report.changed, 2);
	/* once gone they are ignored like any other */
	rig_put("tracked.log", "z\n");
	rig_snapshot_ok(3);
	assert_int_equal(rig.report.changed, 0);
}

static void make_socket(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	close(fd);
}

static void test_special_files(void **state _unused_)
{
	rig_put("was-file", "x\n");
	rig_snapshot_ok(0);
	rig_put("was-file", NULL);
	assert_int_equal(mkfifo(rig_path("was-file"), 0600), 0);
	make_socket(rig_path("socket"));
	rig_snapshot_ok(1);
	assert_omitted("{\"path\":\"socket\",\"reason\":\"SOCKET\"},"
		       "{\"path\":\"was-file\",\"reason\":\"FIFO\"}");
	assert_true(rig_patch_has("deleted file mode 100644"));
	rig_snapshot_ok(2);
	assert_omitted("");
	rig_put("was-file", NULL);
	rig_put("was-file", "x\n");
	rig_snapshot_ok(3);
	assert_omitted("");
	assert_true(rig_patch_has("new file mode 100644"));
}

static void test_large_files(void **state _unused_)
{
	rig.limits.file_bytes = 8;
	rig_put("large", "123456789");
	rig_put("fits", "12345678");
	rig_put("grows", "1");
	rig_snapshot_ok(0);
	assert_int_equal(rig.report.files, 2);
	assert_omitted("{\"path\":\"large\",\"reason\":\"TOO_LARGE\"}");
	rig_put("grows", "123456789");
	rig_snapshot_ok(1);
	assert_omitted("{\"path\":\"grows\",\"reason\":\"TOO_LARGE\"}");
	assert_int_equal(rig.report.patch_bytes, 0);
	rig_put("large", "1");
	rig_snapshot_ok(2);
	/* it is known now, but what it was is not */
	assert_omitted("{\"path\":\"large\",\"reason\":\"TOO_LARGE\"}");
	assert_int_equal(rig.report.patch_bytes, 0);
	rig_diff_ok(1);
	assert_omitted("{\"path\":\"large\",\"reason\":\"TOO_LARGE\"}");
	rig_diff_ok(2);
	assert_omitted("");
}

static void test_patch_ends_between_files(void **state _unused_)
{
	static const char *const names[] = { "a", "b", "c" };

	rig_snapshot_ok(0);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		rig_put(names[i],
			i == 1 ? "a text that is much longer than the others, and longer\n" :
				 "x\n");
	rig.limits.patch_bytes = 380;
	rig_snapshot_ok(1);
	assert_omitted("{\"path\":\"b\",\"reason\":\"PATCH_TOO_LARGE\"},"
		       "{\"path\":\"c\",\"reason\":\"PATCH_TOO_LARGE\"}");
	assert_true(rig_patch_has("b/a") && !rig_patch_has("b/b") && !rig_patch_has("b/c"));
	assert_int_equal(rig.report.patch.files, 1);
	rig.limits.patch_bytes = SNAPSHOT_PATCH_MAX;
	rig_diff_ok(0);
	assert_omitted("");
	assert_true(rig_patch_has("b/a") && rig_patch_has("b/b") && rig_patch_has("b/c"));
}

static void test_full_store(void **state _unused_)
{
	rig_put("a", "first");
	rig_snapshot_ok(0);
	rig.limits.bytes = 40;
	rig_put("b", "0123456789abcdefghijklmnopqrstuvwxyz");
	rig_put("c", "more");
	rig_snapshot_ok(1);
	assert_omitted("{\"path\":\"b\",\"reason\":\"STORE_FULL\"}");
	assert_int_equal(rig.report.files, 2);
	rig_diff_ok(0);
	assert_true(rig_patch_has("b/c") && !rig_patch_has("b/b"));
}

/* As another user where the test is root, to whom everything is readable. */
static void snapshot_as_nobody(uint32_t turn)
{
	bool root = geteuid() == 0;
	struct snapshot_dir s;

	rig.v = (struct verdict){ 0 };
	assert_int_equal(snapshot_dir_open_snapshot(&s, scratch_path("base"), turn, NULL, &rig.v),
			 0);
	struct snapshot_job job = { .turn = turn, .limits = rig.limits };
	job.root = open(scratch_path("ws"), O_RDONLY | O_DIRECTORY);
	snapshot_report_done(&rig.report);
	assert_true(!root || seteuid(65534) == 0);
	assert_int_equal(snapshot_take(&job, &s.files, &rig.report, &rig.v), 0);
	assert_true(!root || seteuid(0) == 0);
	close(job.root);
	assert_int_equal(snapshot_dir_commit(&s, &rig.v), 0);
	snapshot_dir_close(&s);
}

static void test_unreadable(void **state _unused_)
{
	rig_put("d/a", "x\n");
	rig_put("d/b", "x\n");
	rig_put("f", "x\n");
	snapshot_as_nobody(0);
	assert_int_equal(rig.report.files, 3);
	chmod(rig_path("d"), 0);
	chmod(rig_path("f"), 0);
	snapshot_as_nobody(1);
	assert_omitted("{\"path\":\"d\",\"reason\":\"UNREADABLE\"},"
		       "{\"path\":\"f\",\"reason\":\"UNREADABLE\"}");
	assert_int_equal(rig.report.files, 0);
	snapshot_as_nobody(2);
	assert_omitted("");
	chmod(rig_path("d"), 0755);
	chmod(rig_path("f"), 0644);
	rig_diff_ok(0);
	assert_omitted("");
	assert_int_equal(rig.report.patch_bytes, 0);
	snapshot_as_nobody(3);
	assert_int_equal(rig.report.files, 3);
}

/* --- turns -------------------------------------------------------------------------------------------------- */

static void test_order_of_turns(void **state _unused_)
{
	assert_true(rig_snapshot(1) < 0);
	assert_reason("NO_BASELINE");
	assert_int_equal(rig.v.kind, VERDICT_REFUSED);
	assert_true(rig_diff(0) < 0);
	assert_reason("NO_BASELINE");
	rig_put("a", "0\n");
	rig_snapshot_ok(0);
	rig_put("a", "3\n");
	rig_snapshot_ok(3);
	assert_true(rig_snapshot(3) < 0);
	assert_reason("TURN_ORDER");
	assert_true(rig_snapshot(2) < 0);
	assert_reason("TURN_ORDER");
	assert_string_equal(rig_base_files(), "index pack turn-3");
	rig_put("a", "5\n");
	rig_snapshot_ok(5);
	assert_true(rig_diff(4) < 0);
	assert_reason("TURN_UNKNOWN");
	assert_true(rig_diff(6) < 0);
	assert_reason("TURN_UNKNOWN");
	rig_diff_ok(3);
	assert_true(rig_patch_has("-3\n+5\n"));
	rig_diff_ok(0);
	assert_true(rig_patch_has("-0\n+5\n"));
}

static void test_next_baseline(void **state _unused_)
{
	_cleanup_(buf_done) struct buf old = { 0 };

	rig_put("a", "0\n");
	rig_snapshot_ok(0);
	rig_put("a", "1\n");
	rig_snapshot_ok(1);
	assert_int_equal(file_read(scratch_path("base/turn-1"), 1 << 20, &old), 0);
	rig_snapshot_ok(0);
	assert_string_equal(rig_base_files(), "index pack");
	rig_put("a", "2\n");
	rig_snapshot_ok(1);
	rig_diff_ok(0);
	assert_true(rig_patch_has("-1\n"));
	/* the turn of an earlier baseline is none of ours */
	scratch_write("base/turn-1", old.data, old.len);
	assert_true(rig_diff(0) < 0);
	assert_reason("STATE_DAMAGED");
	rig_diff_ok(1);
}

static void test_one_at_a_time(void **state _unused_)
{
	struct snapshot_dir s;

	rig_put("a", "0\n");
	rig_snapshot_ok(0);
	assert_int_equal(snapshot_dir_open_snapshot(&s, scratch_path("base"), 1, NULL, &rig.v), 0);
	assert_true(rig_snapshot(1) < 0);
	assert_reason("STATE_BUSY");
	rig_diff_ok(0);
	snapshot_dir_close(&s);
	rig_snapshot_ok(1);
}

static void test_limits(void **state _unused_)
{
	for (int i = 0; i < 20; i++) {
		char name[16];

		snprintf(name, sizeof(name), "%d", i);
		rig_put(name, name);
	}
	rig.limits.entries = 19;
	assert_true(rig_snapshot(0) < 0);
	assert_reason("TOO_MANY_ENTRIES");
	assert_int_equal(rig.v.limit, 19);
	rig.limits.entries = 20;
	rig.limits.deadline_ms = 1;
	assert_true(rig_snapshot(0) < 0);
	assert_reason("TIME_LIMIT");
	assert_string_equal(rig_base_files(), "pack");
	rig.limits.deadline_ms = 0;
	rig_snapshot_ok(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_done)
		TEST(test_unchanged_is_not_read),
		TEST(test_recent_is_read_again),
		TEST(test_times_put_back),
		TEST(test_touched_is_no_change),
		TEST(test_kinds_of_changes),
		TEST(test_link_before_a_larger_file),
		TEST(test_never_looked_at),
		TEST(test_names_of_git),
		TEST(test_gitignore),
		TEST(test_special_files),
		TEST(test_large_files),
		TEST(test_patch_ends_between_files),
		TEST(test_full_store),
		TEST(test_unreadable),
		TEST(test_order_of_turns),
		TEST(test_next_baseline),
		TEST(test_one_at_a_time),
		TEST(test_limits),
	};

	return RUN(tests, NULL, NULL);
}
