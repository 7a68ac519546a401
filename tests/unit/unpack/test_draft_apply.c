/* Applying a draft: the real tree gets exactly the changes that were compared, and so shown, or stays as it was. */
#include "commit_rig.h"

#include "base/clock.h"
#include "base/os/file.h"
#include "unpack/draft/draft.h"

#include <fcntl.h>
#include <sys/stat.h>

#define SHOWN "at->made d/ d/in=more made=shown"

/* A draft that is a copy, an empty real tree, the stage, and the record of that tree, all open. */
struct draft {
	int view, real, stage, base;
	struct draft_trees t;
	struct draft_changes c;
	struct verdict v;
};

static int open_dir(const char *name)
{
	int fd;

	assert_int_equal(mkdir(scratch_path(name), 0755), 0);
	fd = open(scratch_path(name), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static int open_base(void)
{
	const struct draft_head head = { 1, 0 };
	struct summed_writer w;
	int fd = open(scratch_path("base"), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	draft_base_begin(&w, fd, &head);
	assert_int_equal(draft_base_end(&w), 0);
	buf_done(&w.out);
	lseek(fd, 0, SEEK_SET);
	return fd;
}

/* Makes a draft with the files of SHOWN, and compares it. */
static void draft_open(struct draft *d)
{
	*d = (struct draft){ .view = open_dir("view"),
			     .real = open_dir("real"),
			     .stage = open_dir("stage"),
			     .base = open_base() };
	rig_build(d->view, SHOWN);
	assert_int_equal(draft_trees_open(&d->t, d->view, d->real, d->base, false,
					  clock_mono_ms() + 60000, &d->v),
			 0);
	draft_compare(&d->t, &d->c);
	assert_int_equal(d->c.n, 4);
}

static int draft_do(struct draft *d)
{
	int base = open(scratch_path("base.new"), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), r;
	const struct draft_target to = { d->real, d->stage, base };
	mode_t mask = umask(0);

	umask(mask);
	r = draft_apply(&d->t, &d->c, &to, &d->v);
	umask(mask);
	close(base);
	return r;
}

static void assert_real(const struct draft *d, const char *words)
{
	_cleanup_(freep) char *found = rig_dump(d->real);

	assert_string_equal(found, words);
}

static void draft_close(struct draft *d)
{
	draft_changes_done(&d->c);
	draft_trees_close(&d->t);
	close(d->view);
	close(d->real);
	close(d->stage);
	close(d->base);
}

static void test_applied(void **state _unused_)
{
	struct draft d;

	draft_open(&d);
	assert_int_equal(draft_do(&d), 0);
	assert_real(&d, SHOWN);
	draft_close(&d);
}

/* The draft may change between the comparison and the copy into the stage. */
static void test_changed_since(void **state _unused_)
{
	static const struct {
		const char *path, *now; /* instead of what was compared */
	} rows[] = {
		{ "made", "made=other" }, { "made", "made=larger" },
		{ "made", "made=less" },  { "made", "made->shown" },
		{ "made", "made/" },	  { "made", "made|" },
		{ "made", "" },		  { "at", "at->else" },
		{ "at", "at=made" },	  { "d/in", "d/in=MORE" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct draft d;

		draft_open(&d);
		assert_int_equal(unlinkat(d.view, rows[i].path, 0), 0);
		rig_build(d.view, rows[i].now);
		if (draft_do(&d) >= 0 || strcmp(d.v.reason, "PATCH_DIGEST_MISMATCH") != 0 ||
		    strcmp(d.v.path, rows[i].path) != 0)
			fail_row(i, rows[i].now);
		assert_real(&d, "");
		draft_close(&d);
		assert_int_equal(file_remove_tree(scratch_path("view")), 0);
		assert_int_equal(file_remove_tree(scratch_path("real")), 0);
		assert_int_equal(file_remove_tree(scratch_path("stage")), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_applied, scratch_setup, scratch_done),
		cmocka_unit_test_setup_teardown(test_changed_since, scratch_setup, scratch_done),
	};

	return RUN(tests, NULL, NULL);
}
