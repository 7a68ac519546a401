/*
 * A tree as an archive, read by other people's programs: GNU tar, bsdtar and unzip get exactly the tree back. What is chosen, what is left
 * out, files that change while they are read, readers that go away.
 */
#include "git_tree.h"
#include "snap_rig.h"

#include "base/clock.h"
#include "base/os/file.h"
#include "unpack/export/tree_pack.h"

#include <fcntl.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>

static struct tree_pack_report report;
static const char *paths[4];
static size_t npaths;

static int setup(void **state)
{
	setlocale(LC_CTYPE, "C.UTF-8");
	signal(SIGPIPE, SIG_IGN);
	npaths = 0;
	return rig_setup(state);
}

static int teardown(void **state)
{
	tree_pack_report_done(&report);
	return rig_done(state);
}

static struct tree_pack_job job_of(enum archive_format format)
{
	struct tree_pack_job job = { .format = format, .entries = 1000000, .bytes = UINT64_MAX };

	job.paths = (char **)(uintptr_t)paths;
	job.npaths = npaths;
	job.gitignore = rig.gitignore;
	return job;
}

static int export_to(struct tree_pack_job *job, int out)
{
	int r;

	rig.v = (struct verdict){ 0 };
	tree_pack_report_done(&report);
	job->root = open(scratch_path("ws"), O_RDONLY | O_DIRECTORY);
	r = tree_pack_check(job, &rig.v);
	if (r == 0)
		r = tree_pack_write(job, out, &report, &rig.v);
	close(job->root);
	return r;
}

static const char *const names[] = { [ARCHIVE_TAR] = "out.tar",
				     [ARCHIVE_TAR_GZ] = "out.tar.gz",
				     [ARCHIVE_TAR_ZST] = "out.tar.zst",
				     [ARCHIVE_ZIP] = "out.zip" };

static void export_as(enum archive_format format)
{
	struct tree_pack_job job = job_of(format);
	int out = open(scratch_path(names[format]), O_WRONLY | O_CREAT | O_TRUNC, 0600);
	int r = export_to(&job, out);
	struct stat sb;

	fstat(out, &sb);
	close(out);
	if (r != 0)
		fail_msg("%s: %s %s: %s", names[format], rig.v.reason, rig.v.path, rig.v.message);
	assert_int_equal(sb.st_size, report.archive_bytes);
}

static void shell(const char *dir, const char *command)
{
	_cleanup_(buf_done) struct buf out = { 0 };

	if (git_run(dir, command) == 0)
		return;
	file_read(scratch_path("out"), 1 << 20, &out);
	fail_msg("%s: %.*s", command, (int)MIN(out.len, 2000u), out.data);
}

/* Type, permission bits, seconds, target and content of everything, in one text. */
#define LIST                                                                                                      \
	"find . -mindepth 1 \\( -type l -printf '%P %y %l\\n' -o -printf '%P %y %m %Ts\\n' \\) | LC_ALL=C sort; " \
	"find . -type f -print0 | LC_ALL=C sort -z | xargs -0 -r sha256sum"

static void check_extracted(const char *command)
{
	_cleanup_(buf_done) struct buf want = { 0 }, got = { 0 };

	mkdir(scratch_path("x"), 0755);
	shell("x", command);
	shell("ws", LIST);
	assert_int_equal(file_read(scratch_path("out"), 1 << 24, &want), 0);
	shell("x", LIST);
	assert_int_equal(file_read(scratch_path("out"), 1 << 24, &got), 0);
	if (!slice_eq(buf_slice(&want), buf_slice(&got)))
		fail_msg("%s:\n%.*s\ninstead of\n%.*s", command, (int)got.len, got.data,
			 (int)want.len, want.data);
	shell(".", "chmod -R u+rwx x; rm -rf x");
}

static void put_repeated(const char *path, const char *text, unsigned n)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	while (n--)
		buf_puts(&b, text);
	buf_putc(&b, '\0');
	rig_put(path, b.data);
}

static void put_random(const char *path, size_t n)
{
	char command[200];

	snprintf(command, sizeof(command), "head -c %zu /dev/urandom >%s", n, path);
	shell("ws", command);
}

/* All that a tree may have and an archive can hold. */
static void make_tree(void)
{
	char name[300] = "";
	char deep[600] = "";

	memset(name, 'n', 240);
	for (int i = 0; i < 40; i++)
		strcat(deep, "directory/");
	strcat(deep, "file");
	rig_put("empty", "");
	rig_put("executable", "#!/bin/sh\n");
	chmod(rig_path("executable"), 0755);
	put_repeated("d/text", "a line that comes again and again\n", 20000);
	put_random("d/random", 300001);
	rig_put(name, "a long name\n");
	rig_put(deep, "a long path\n");
	rig_put("\xc3\xa4 \xe6\xbc\xa2 name", "not ASCII\n");
	rig_put("-option", "x\n");
	rig_put("d/read-only", "x\n");
	chmod(rig_path("d/read-only"), 0444);
	mkdir(rig_path("empty-dir"), 0755);
	mkdir(rig_path("private"), 0700);
	rig_link("link", "d/text");
	rig_link("d/up", "../empty");
	rig_link("dangling", "nowhere/at all");
	rig_link("to-dir", "d");
	assert_int_equal(link(rig_path("d/text"), rig_path("hard")), 0);
	rig_put(".git/HEAD", "ref\n");
	shell("ws",
	      "touch -d @1234567890 d/text; touch -d @1 empty; touch -d @1600000000 d private empty-dir");
}

static void test_tar(void **state _unused_)
{
	make_tree();
	export_as(ARCHIVE_TAR);
	assert_omitted("");
	check_extracted("tar xpf ../out.tar");
	check_extracted("bsdtar xpf ../out.tar");
}

static void test_tar_gz(void **state _unused_)
{
	make_tree();
	export_as(ARCHIVE_TAR_GZ);
	shell(".", "gzip -t out.tar.gz");
	check_extracted("tar xpzf ../out.tar.gz");
	check_extracted("bsdtar xpf ../out.tar.gz");
}

static void test_tar_zst(void **state _unused_)
{
	make_tree();
	export_as(ARCHIVE_TAR_ZST);
	shell(".", "zstd -qt out.tar.zst");
	check_extracted("tar xp --zstd -f ../out.tar.zst");
	check_extracted("bsdtar xpf ../out.tar.zst");
}

static void test_zip(void **state _unused_)
{
	make_tree();
	export_as(ARCHIVE_ZIP);
	shell(".", "unzip -qt out.zip");
	check_extracted("unzip -q ../out.zip");
	check_extracted("bsdtar xpf ../out.zip");
}

/* Nobody's name, number or clock is in it. */
static void test_same_tree_same_bytes(void **state _unused_)
{
	make_tree();
	shell(".", "cp -a ws ws2");
	for (enum archive_format f = ARCHIVE_TAR; f <= ARCHIVE_ZIP; f++) {
		char command[200];

		export_as(f);
		snprintf(
			command, sizeof(command),
			"cp %s first; mv ws ws3; mv ws2 ws; touch ws/.git; touch -r ws3/.git ws/.git",
			names[f]);
		shell(".", command);
		export_as(f);
		snprintf(command, sizeof(command), "cmp %s first && mv ws ws2 && mv ws3 ws",
			 names[f]);
		shell(".", command);
	}
	shell(".", "tar tvf out.tar --numeric-owner | grep -v ' 0/0 ' && exit 1; exit 0");
}

static void test_special_files(void **state _unused_)
{
	rig_put("a", "x\n");
	assert_int_equal(mkfifo(rig_path("fifo"), 0600), 0);
	chmod(rig_path("a"), 06755);
	export_as(ARCHIVE_TAR);
	assert_text(buf_slice(&report.skipped.json), "{\"path\":\"fifo\",\"reason\":\"FIFO\"}");
	shell(".", "test \"$(tar tf out.tar)\" = a && tar tvf out.tar | grep -q '^-rwxr-xr-x'");
}

/* A name that is no text goes as it is. */
static void test_name_not_utf8(void **state _unused_)
{
	rig_put("bad\xff", "x\n");
	export_as(ARCHIVE_TAR);
	check_extracted("tar xpf ../out.tar");
	export_as(ARCHIVE_ZIP);
}

static void expect_names(const char *want)
{
	_cleanup_(buf_done) struct buf got = { 0 };

	export_as(ARCHIVE_TAR);
	shell(".", "tar tf out.tar | tr '\\n' ' '");
	assert_int_equal(file_read(scratch_path("out"), 1 << 20, &got), 0);
	assert_buf(&got, want);
}

static void test_paths(void **state _unused_)
{
	rig_put("a/b/c", "x\n");
	rig_put("a/b.c", "x\n");
	rig_put("a/d", "x\n");
	rig_put("e", "x\n");
	expect_names("a/ a/b/ a/b/c a/b.c a/d e ");
	npaths = 2;
	paths[0] = "e";
	paths[1] = "a/b";
	expect_names("a/b/ a/b/c e ");
	npaths = 1;
	paths[0] = "";
	expect_names("a/ a/b/ a/b/c a/b.c a/d e ");
}

static void test_path_not_found(void **state _unused_)
{
	static const char *const missing[] = { "b", "a/x", "a/b/c", "link/b" };
	struct tree_pack_job job;

	rig_put("a/b", "x\n");
	rig_link("link", "a");
	for (size_t i = 0; i < ARRAY_SIZE(missing); i++) {
		npaths = 2;
		paths[0] = "a";
		paths[1] = missing[i];
		job = job_of(ARCHIVE_TAR);
		assert_true(export_to(&job, -1) < 0);
		assert_reason("PATH_NOT_FOUND");
		assert_string_equal(rig.v.path, missing[i]);
	}
}

static void test_gitignore(void **state _unused_)
{
	rig_put(".gitignore", "*.o\n");
	rig_put("a.o", "x\n");
	rig_put("a.c", "x\n");
	rig_put(".git/HEAD", "x\n");
	rig_put(".acpd-stage-0123456789abcdef/tree/x", "x\n");
	expect_names(".git/ .git/HEAD .gitignore a.c a.o ");
	rig.gitignore = true;
	expect_names(".gitignore a.c ");
}

/* --- trouble ---------------------------------------------------------------------------------------------------- */

static void test_limits(void **state _unused_)
{
	struct tree_pack_job job = job_of(ARCHIVE_TAR);
	int null = open("/dev/null", O_WRONLY), full = open("/dev/full", O_WRONLY);

	rig_put("a", "123");
	rig_put("b", "456");
	job.bytes = 5;
	assert_true(export_to(&job, null) < 0);
	assert_reason("TOO_LARGE");
	job.bytes = 6;
	assert_int_equal(export_to(&job, null), 0);
	job.entries = 1;
	assert_true(export_to(&job, null) < 0);
	assert_reason("TOO_MANY_ENTRIES");
	job.entries = 2;
	assert_true(export_to(&job, full) < 0);
	assert_reason("NO_SPACE");
	close(null);
	close(full);
}

/* Who reads it must not take it for all there is. */
static void test_failed_archive_is_torn(void **state _unused_)
{
	static const char *const tests[] = {
		[ARCHIVE_TAR] = "bsdtar tf out.tar && tar tf out.tar | grep b",
		[ARCHIVE_TAR_GZ] = "gzip -t out.tar.gz",
		[ARCHIVE_TAR_ZST] = "zstd -qt out.tar.zst",
		[ARCHIVE_ZIP] = "unzip -qt out.zip",
	};

	rig_put("a", "123");
	rig_put("b", "456");
	for (enum archive_format f = ARCHIVE_TAR; f <= ARCHIVE_ZIP; f++) {
		struct tree_pack_job job = job_of(f);
		int out = open(scratch_path(names[f]), O_WRONLY | O_CREAT | O_TRUNC, 0600);

		job.bytes = 5;
		assert_true(export_to(&job, out) < 0);
		close(out);
		assert_int_not_equal(git_run(".", tests[f]), 0);
	}
}

static void test_reader_gone(void **state _unused_)
{
	struct tree_pack_job job = job_of(ARCHIVE_TAR_GZ);
	int pipes[2];

	put_random("a", 1000000);
	assert_int_equal(pipe(pipes), 0);
	close(pipes[0]);
	assert_true(export_to(&job, pipes[1]) < 0);
	assert_reason("READER_GONE");
	assert_int_equal(rig.v.kind, VERDICT_FAILED);
	close(pipes[1]);
}

static atomic_bool resting;

static void *resize(void *ctx _unused_)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/ws/d/b", scratch_dir());
	for (unsigned i = 0; !resting; i++)
		if (truncate(path, (off_t)(i * 104729 % 2000000)) < 0)
			break;
	return NULL;
}

/* Whatever its size is at each moment, the archives are whole and what is behind it is right. */
static void test_size_changes_while_read(void **state _unused_)
{
	uint64_t until = clock_mono_ms() + 1500;
	uint64_t changed = 0;
	pthread_t thread;

	put_repeated("d/a", "before\n", 1000);
	rig_put("d/b", "x\n");
	put_repeated("d/c", "after\n", 1000);
	resting = false;
	assert_int_equal(pthread_create(&thread, NULL, resize, NULL), 0);
	for (unsigned i = 0; clock_mono_ms() < until || i < 8; i++) {
		export_as(i % 2 ? ARCHIVE_TAR : ARCHIVE_ZIP);
		changed += report.changed.total;
		shell(".", i % 2 ? "mkdir x && tar xf out.tar -C x" :
				   "mkdir x && unzip -q out.zip -d x");
		shell(".", "cmp x/d/a ws/d/a && cmp x/d/c ws/d/c && rm -r x");
	}
	resting = true;
	pthread_join(thread, NULL);
	assert_true(changed > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(test_tar),
		TEST(test_tar_gz),
		TEST(test_tar_zst),
		TEST(test_zip),
		TEST(test_same_tree_same_bytes),
		TEST(test_special_files),
		TEST(test_name_not_utf8),
		TEST(test_paths),
		TEST(test_path_not_found),
		TEST(test_gitignore),
		TEST(test_limits),
		TEST(test_failed_archive_is_torn),
		TEST(test_reader_gone),
		TEST(test_size_changes_while_read),
	};

	return RUN(tests, NULL, NULL);
}
