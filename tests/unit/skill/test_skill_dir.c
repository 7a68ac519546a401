/* A whole skill: the rules over its listing, links walked by its own entries, and the same read from disk. */
#include "unit.h"

#include "base/os/file.h"
#include "base/limits.h"
#include "skill/skill.h"

#include <fcntl.h>
#include <sys/stat.h>

#define GOOD "---\nname: pdf-tools\ndescription: Reads PDF files.\n---\n# Do it\n"

static struct skill_report report;
static struct err e;

static int setup(void **state)
{
	skill_report_init(&report);
	return scratch_setup(state);
}

static int teardown(void **state)
{
	skill_report_done(&report);
	return scratch_done(state);
}

/* The codes of all findings with their paths: "CODE path;CODE path;". */
static void assert_codes(const char *want, size_t row)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	for (size_t i = 0; i < report.n; i++)
		buf_printf(&b, "%s %s;", report.findings[i].code,
			   report.findings[i].path ? report.findings[i].path : "");
	if (!slice_is(buf_slice(&b), want))
		fail_msg("row %zu:\n  want: %s\n  got:  %.*s", row, want, (int)b.len, b.data);
}

static void fresh(void)
{
	skill_report_done(&report);
	skill_report_init(&report);
	memset(&e, 0, sizeof(e));
}

/* --- listings ------------------------------------------------------------------------------------------ */

#define FILE_AT(p)                                                                                 \
	{                                                                                          \
		.path = (char *)(p), .type = SKILL_ENTRY_FILE, .size = 10, .mode = 0644            \
	}
#define DIR_AT(p)                                                                                  \
	{                                                                                          \
		.path = (char *)(p), .type = SKILL_ENTRY_DIR, .mode = 0755                         \
	}
#define LINK_AT(p, t)                                                                              \
	{                                                                                          \
		.path = (char *)(p), .type = SKILL_ENTRY_SYMLINK, .target = (char *)(t)            \
	}

static void test_listings(void **state _unused_)
{
	static const struct {
		struct skill_entry entries[6];
		const char *want;
		bool usable;
	} rows[] = {
		{ { FILE_AT("SKILL.md") }, "", true },
		{ { FILE_AT("a"), DIR_AT("scripts"), FILE_AT("scripts/x"), FILE_AT("SKILL.md") },
		  "",
		  true },
		{ { { .path = NULL } }, "SKILL_FILE_MISSING SKILL.md;", false },
		{ { FILE_AT("README.md") }, "SKILL_FILE_MISSING SKILL.md;", false },
		{ { FILE_AT("Skill.md") }, "SKILL_FILE_MISSING SKILL.md;", false },
		{ { FILE_AT("sub/SKILL.md"), DIR_AT("sub") },
		  "SKILL_FILE_MISSING SKILL.md;NESTED_SKILL sub/SKILL.md;",
		  false },
		{ { FILE_AT("skill.md") }, "SKILL_FILE_LOWERCASE skill.md;", true },
		{ { FILE_AT("skill.md"), FILE_AT("SKILL.md") }, "SKILL_FILE_TWICE skill.md;", true },
		{ { DIR_AT("SKILL.md") }, "SKILL_FILE_TYPE SKILL.md;", false },
		{ { LINK_AT("SKILL.md", "a"), FILE_AT("a") }, "SKILL_FILE_TYPE SKILL.md;", false },
		{ { FILE_AT("SKILL.md"), DIR_AT("a"), FILE_AT("a/SKILL.md"),
		    FILE_AT("a/skill.md") },
		  "NESTED_SKILL a/SKILL.md;NESTED_SKILL a/skill.md;",
		  true },
		{ { FILE_AT("SKILL.md"), FILE_AT("a\xff") }, "PATH_NOT_UTF8 a\xff;", true },
		{ { FILE_AT("SKILL.md"), { .path = (char *)"f", .type = SKILL_ENTRY_OTHER } },
		  "SPECIAL_FILE f;",
		  false },
		{ { FILE_AT("SKILL.md"), { .path = (char *)"s", .mode = 04755 } },
		  "SETID s;",
		  false },
		{ { FILE_AT("SKILL.md"), { .path = (char *)"s", .mode = 02755 } },
		  "SETID s;",
		  false },
		{ { FILE_AT("SKILL.md"), { .path = (char *)"s", .mode = 01755 } }, "", true },
		/* a set-group bit on a directory only hands the group on */
		{ { FILE_AT("SKILL.md"),
		    { .path = (char *)"d", .type = SKILL_ENTRY_DIR, .mode = 02755 } },
		  "",
		  true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t n = 0;

		while (n < ARRAY_SIZE(rows[i].entries) && rows[i].entries[n].path)
			n++;
		fresh();
		skill_check_listing(rows[i].entries, n, &SKILL_LIMITS_DEFAULT, &report);
		assert_codes(rows[i].want, i);
		if (report.usable != rows[i].usable)
			fail_row(i, rows[i].want);
	}
}

static void test_links(void **state _unused_)
{
	static const struct {
		const char *path, *target, *code;
	} rows[] = {
		{ "l", "SKILL.md", NULL },
		{ "l", "./SKILL.md", NULL },
		{ "l", "d", NULL },
		{ "l", "d/../SKILL.md", NULL },
		{ "l", ".", NULL },
		{ "d/l", "..", NULL },
		{ "d/l", "../SKILL.md", NULL },
		{ "d/l", "../d/../d/f", NULL },
		{ "l", "in", NULL },
		{ "l", "in/f", NULL },
		{ "l", "up/SKILL.md", NULL },
		{ "l", "..", "SYMLINK_OUTWARD" },
		{ "l", "../", "SYMLINK_OUTWARD" },
		{ "l", "../pdf-tools/SKILL.md", "SYMLINK_OUTWARD" },
		{ "l", "d/../../x", "SYMLINK_OUTWARD" },
		{ "d/l", "../../x", "SYMLINK_OUTWARD" },
		/* by its text it stays inside: d/up is the root */
		{ "l", "d/up/../x", "SYMLINK_OUTWARD" },
		{ "l", "out", "SYMLINK_OUTWARD" },
		{ "l", "/etc/passwd", "SYMLINK_ABSOLUTE" },
		{ "l", "abs/x", "SYMLINK_ABSOLUTE" },
		{ "l", "l", "SYMLINK_LOOP" },
		{ "l", "loop/x", "SYMLINK_LOOP" },
		{ "l", "none", "SYMLINK_DANGLING" },
		{ "l", "none/../../x", "SYMLINK_DANGLING" },
		{ "l", "", NULL },
	};
	/* the others have findings of their own: only those of the link of the row count */
	struct skill_entry entries[] = {
		FILE_AT("SKILL.md"),	  DIR_AT("d"),
		FILE_AT("d/f"),		  LINK_AT("in", "d"),
		LINK_AT("d/up", ".."),	  LINK_AT("up", "d/.."),
		LINK_AT("out", ".."),	  LINK_AT("abs", "/etc"),
		LINK_AT("loop", "loop2"), LINK_AT("loop2", "loop"),
		LINK_AT("l", ""),
	};
	struct skill_entry *link = &entries[ARRAY_SIZE(entries) - 1];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *got = NULL;

		link->path = (char *)(uintptr_t)rows[i].path;
		link->target = (char *)(uintptr_t)rows[i].target;
		fresh();
		skill_check_listing(entries, ARRAY_SIZE(entries), &SKILL_LIMITS_DEFAULT, &report);
		for (size_t k = 0; k < report.n; k++)
			if (strcmp(report.findings[k].path, rows[i].path) == 0)
				got = report.findings[k].code;
		if (got ? !rows[i].code || strcmp(got, rows[i].code) != 0 : rows[i].code != NULL)
			fail_msg("row %zu: %s -> %s is %s", i, rows[i].path, rows[i].target,
				 got ? got : "fine");
	}
}

/* A chain of links up to the limit is walked, one more is not; long targets do not grow without end. */
static void test_many_links(void **state _unused_)
{
	struct skill_entry entries[SKILL_LINK_HOPS + 3] = { FILE_AT("SKILL.md") };
	char names[SKILL_LINK_HOPS + 3][8];
	size_t n = ARRAY_SIZE(entries);

	for (size_t i = 1; i < n; i++) {
		snprintf(names[i], sizeof(names[i]), "l%zu", i);
		entries[i] =
			(struct skill_entry){ .path = names[i],
					      .type = SKILL_ENTRY_SYMLINK,
					      .target = i > 1 ? names[i - 1] : (char *)"SKILL.md" };
	}
	fresh();
	skill_check_listing(entries, n - 2, &SKILL_LIMITS_DEFAULT, &report);
	assert_codes("", 0);
	fresh();
	skill_check_listing(entries, n, &SKILL_LIMITS_DEFAULT, &report);
	assert_true(report.n == 2 && !report.usable);
	assert_string_equal(report.findings[0].code, "SYMLINK_LOOP");
}

/* A link that leads through itself grows the way to be walked with each hop. */
static void test_growing_way(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct skill_entry entries[] = { FILE_AT("SKILL.md"), LINK_AT("l", NULL) };

	buf_puts(&b, "l");
	while (b.len < 3000)
		buf_puts(&b, "/./x");
	buf_putc(&b, '\0');
	entries[1].target = b.data;
	skill_check_listing(entries, 2, &SKILL_LIMITS_DEFAULT, &report);
	assert_codes("SYMLINK_LOOP l;", 0);
}

static void test_limits(void **state _unused_)
{
	struct skill_entry entries[] = { FILE_AT("SKILL.md"), FILE_AT("a"), DIR_AT("d") };
	struct skill_limits at = { 2, 20 }, below = { 1, 19 };

	skill_check_listing(entries, 3, &at, &report);
	assert_codes("", 0);
	assert_int_equal(report.files, 2);
	assert_int_equal(report.bytes, 20);
	fresh();
	skill_check_listing(entries, 3, &below, &report);
	assert_codes("TOO_MANY_FILES ;TOO_LARGE ;", 1);
	assert_true(report.findings[0].limit == 1 && report.findings[0].used == 2);
	assert_true(report.findings[1].limit == 19 && report.findings[1].used == 20);
	assert_false(report.usable);
	fresh();
	entries[0].size = entries[1].size = UINT64_MAX;
	skill_check_listing(entries, 3, &at, &report);
	assert_int_equal(report.findings[0].used, UINT64_MAX);
}

/* --- on disk ------------------------------------------------------------------------------------------- */

static void make_dir(const char *name)
{
	assert_int_equal(file_mkdirs(scratch_path(name), 0755), 0);
}

static void put_text(const char *name, const char *text)
{
	scratch_write(name, text, strlen(text));
}

static void make_good(void)
{
	make_dir("pdf-tools/scripts");
	put_text("pdf-tools/SKILL.md", GOOD);
	put_text("pdf-tools/scripts/run.sh", "#!/bin/sh\n");
}

static int check_dir(const char *name)
{
	_cleanup_(closep) int fd = open(scratch_path(name), O_PATH | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	fresh();
	return skill_check_dir(fd, name, &SKILL_LIMITS_DEFAULT, &report, &e);
}

static void test_good_directory(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);

	make_good();
	assert_int_equal(check_dir("pdf-tools"), 0);
	jw_obj(&w, NULL);
	skill_report_put(&report, &w);
	jw_end_obj(&w);
	assert_buf(
		&b,
		"{\"valid\":true,\"usable\":true,\"name\":\"pdf-tools\",\"description\":\"Reads PDF files.\","
		"\"files\":2,\"bytes\":72,\"findings\":[]}");
}

static void test_findings_as_json(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);

	make_dir("other/a");
	put_text("other/skill.md", "---\nname: pdf-tools\nx: 1\n---\nDo\n");
	put_text("other/a/SKILL.md", "");
	assert_int_equal(check_dir("other"), 0);
	skill_report_put(&report, &w);
	assert_buf(
		&b,
		"\"valid\":false,\"usable\":false,\"name\":\"pdf-tools\",\"unknownKeys\":[\"x\"],\"files\":2,\"bytes\":32,\"findings\":["
		"{\"severity\":\"warning\",\"code\":\"SKILL_FILE_LOWERCASE\",\"path\":\"skill.md\",\"message\":\"most harnesses look for SKILL.md only\"},"
		"{\"severity\":\"warning\",\"code\":\"NESTED_SKILL\",\"path\":\"a/SKILL.md\",\"message\":\"a skill within the skill: some harnesses list it by itself, others never see it\"},"
		"{\"severity\":\"error\",\"code\":\"NAME_MISMATCH\",\"field\":\"name\",\"line\":2,\"message\":\"the skill's directory is called 'other'\"},"
		"{\"severity\":\"error\",\"code\":\"KEY_UNKNOWN\",\"field\":\"x\",\"line\":3,\"message\":\"the format has no such key; clients may use it or not\"},"
		"{\"severity\":\"error\",\"fatal\":true,\"code\":\"DESCRIPTION_MISSING\",\"field\":\"description\",\"message\":\"the key is missing\"}]");
}

/* Nothing is read through a link, be it to a file that anybody may read. */
static void test_links_are_not_followed(void **state _unused_)
{
	make_dir("pdf-tools");
	put_text("secret", GOOD);
	assert_int_equal(symlink("../secret", scratch_path("pdf-tools/SKILL.md")), 0);
	assert_int_equal(symlink("/etc", scratch_path("pdf-tools/etc")), 0);
	assert_int_equal(check_dir("pdf-tools"), 0);
	assert_codes("SKILL_FILE_TYPE SKILL.md;SYMLINK_OUTWARD SKILL.md;SYMLINK_ABSOLUTE etc;", 0);
	assert_null(report.skill.name);
	assert_int_equal(report.files, 2);
}

/* Opening a FIFO must not wait for its other end. */
static void test_special_files(void **state _unused_)
{
	make_good();
	assert_int_equal(mkfifo(scratch_path("pdf-tools/pipe"), 0644), 0);
	assert_int_equal(check_dir("pdf-tools"), 0);
	assert_codes("SPECIAL_FILE pipe;", 0);
	assert_int_equal(unlink(scratch_path("pdf-tools/SKILL.md")), 0);
	assert_int_equal(mkfifo(scratch_path("pdf-tools/SKILL.md"), 0644), 0);
	assert_int_equal(check_dir("pdf-tools"), 0);
	assert_codes("SKILL_FILE_TYPE SKILL.md;SPECIAL_FILE SKILL.md;SPECIAL_FILE pipe;", 1);
}

static void test_too_many_entries_on_disk(void **state _unused_)
{
	make_good();
	for (int i = 0; i < SKILL_FILES_MAX; i++) {
		char name[40];

		snprintf(name, sizeof(name), "pdf-tools/scripts/%d", i);
		put_text(name, "");
	}
	assert_int_equal(check_dir("pdf-tools"), 0);
	assert_codes("TOO_MANY_FILES ;", 0);
	assert_int_equal(report.findings[0].used, SKILL_FILES_MAX + 2);
	for (int i = 0; i < 2 * SKILL_FILES_MAX; i++) {
		char name[40];

		snprintf(name, sizeof(name), "dirs/d%d", i);
		make_dir(name);
	}
	for (int i = 0; i < 100; i++) {
		char name[40];

		snprintf(name, sizeof(name), "dirs/e%d", i);
		make_dir(name);
	}
	put_text("dirs/SKILL.md", "---\nname: dirs\ndescription: d\n---\nDo\n");
	assert_int_equal(check_dir("dirs"), 0);
	assert_codes("TOO_MANY_FILES ;", 1);
	assert_int_equal(report.findings[0].limit, 2 * SKILL_FILES_MAX + 64);
	assert_false(report.usable);
}

static void test_too_deep_on_disk(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	make_good();
	buf_puts(&b, "pdf-tools");
	for (int i = 0; i < SKILL_TREE_DEPTH; i++)
		buf_puts(&b, "/d");
	buf_putc(&b, '\0');
	make_dir(b.data);
	assert_int_equal(check_dir("pdf-tools"), 0);
	assert_true(report.usable);
	b.len--;
	buf_puts(&b, "/d");
	buf_putc(&b, '\0');
	make_dir(b.data);
	assert_int_equal(check_dir("pdf-tools"), 0);
	assert_string_equal(report.findings[0].code, "TOO_DEEP");
	assert_int_equal(report.findings[0].used, SKILL_TREE_DEPTH + 1);
	assert_false(report.usable);
}

static void test_large_skill_file(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	make_good();
	buf_puts(&b, GOOD);
	while (b.len <= SKILL_FILE_MAX)
		buf_puts(&b, "more and more and more words\n");
	scratch_write("pdf-tools/SKILL.md", b.data, b.len);
	assert_int_equal(check_dir("pdf-tools"), 0);
	assert_codes("FILE_TOO_LARGE SKILL.md;", 0);
	assert_null(report.skill.name);
}

/* What is no directory is the machine's trouble, not a finding. */
static void test_unreadable(void **state _unused_)
{
	_cleanup_(closep) int fd = -1;

	put_text("file", "x");
	fd = open(scratch_path("file"), O_RDONLY | O_CLOEXEC);
	fresh();
	assert_int_equal(skill_check_dir(fd, "file", &SKILL_LIMITS_DEFAULT, &report, &e), -ENOTDIR);
	assert_string_equal(e.reason, "IO");
	assert_non_null(strstr(e.msg, "Not a directory"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_listings, setup, teardown),
		cmocka_unit_test_setup_teardown(test_links, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many_links, setup, teardown),
		cmocka_unit_test_setup_teardown(test_growing_way, setup, teardown),
		cmocka_unit_test_setup_teardown(test_limits, setup, teardown),
		cmocka_unit_test_setup_teardown(test_good_directory, setup, teardown),
		cmocka_unit_test_setup_teardown(test_findings_as_json, setup, teardown),
		cmocka_unit_test_setup_teardown(test_links_are_not_followed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_special_files, setup, teardown),
		cmocka_unit_test_setup_teardown(test_too_many_entries_on_disk, setup, teardown),
		cmocka_unit_test_setup_teardown(test_too_deep_on_disk, setup, teardown),
		cmocka_unit_test_setup_teardown(test_large_skill_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unreadable, setup, teardown),
	};

	return RUN(tests, NULL, NULL);
}
