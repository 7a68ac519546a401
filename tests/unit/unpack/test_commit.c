/* A generation meets a tree in which others work: every rule, path by path, in both modes; generations after each other; whole commits. */
#include "commit_rig.h"

#include "base/limits.h"
#include "tree/held_tree.h"
#include "unpack/commit/merge.h"

#include <fcntl.h>
#include <sys/stat.h>

struct row {
	const char *old, *tree, *new, *want; /* want: the tree afterwards; NULL: as before */
	const char *skipped, *ours;
	unsigned written, removed, unchanged;
};

static void check_row(size_t i, const struct row *w, bool merge)
{
	struct rig r;
	char *dump, *skipped, *ours, *before;

	rig_open(&r, w->old, w->tree, w->new, merge);
	before = rig_dump(r.target);
	if (commit_plan(&r.c, &r.out, &r.e) < 0 || commit_apply(&r.c, &r.out, &r.e) != 0)
		fail_row(i, r.e.msg);
	dump = rig_dump(r.target);
	skipped = rig_skipped(&r.out);
	ours = rig_lines(&r.new);
	if (strcmp(dump, w->want ? w->want : before) != 0 || strcmp(skipped, w->skipped) != 0 ||
	    strcmp(ours, w->ours) != 0 || r.out.written != w->written ||
	    r.out.removed != w->removed || r.out.unchanged != w->unchanged) {
		print_error("old [%s] tree [%s] new [%s]\n tree [%s]\n skipped [%s]\n ours [%s]\n"
			    " written %u removed %u unchanged %u\n",
			    w->old, w->tree, w->new, dump, skipped, ours, (unsigned)r.out.written,
			    (unsigned)r.out.removed, (unsigned)r.out.unchanged);
		fail_row(i, merge ? "merge" : "replace");
	}
	free(dump);
	free(skipped);
	free(ours);
	free(before);
	rig_close(&r);
}

/* The same in both modes: nothing that only the old generation has. */
static const struct row both[] = {
	/* absent, not in old */
	{ "", "", "a=1", "a=1", "", "a", 1, 0, 0 },
	{ "", "x=1", "a->x", "a->x x=1", "", "a", 1, 0, 0 },
	{ "", "x=1", "d/e/a=1 d/f/", "d/ d/e/ d/e/a=1 d/f/ x=1", "", "d/ d/e/ d/e/a d/f/", 4, 0,
	  0 },
	{ "", "x=1", "d/:700 d/a:755=1", "d/:700 d/a:755=1 x=1", "", "d/ d/a", 2, 0, 0 },
	/* there, not in old: the same */
	{ "", "a=1", "a=1", NULL, "", "", 0, 0, 1 },
	{ "", "l->a", "l->a", NULL, "", "", 0, 0, 1 },
	/* there, not in old: something else */
	{ "", "a=1", "a=2", NULL, "a:CONFLICT_FOREIGN", "", 0, 0, 0 },
	{ "", "a=1", "a=12", NULL, "a:CONFLICT_FOREIGN", "", 0, 0, 0 },
	{ "", "a=1", "a:755=1", NULL, "a:CONFLICT_FOREIGN", "", 0, 0, 0 },
	{ "", "a=1", "a->1", NULL, "a:CONFLICT_FOREIGN", "", 0, 0, 0 },
	{ "", "l->a", "l->b", NULL, "l:CONFLICT_FOREIGN", "", 0, 0, 0 },
	{ "", "l->a", "l=a", NULL, "l:CONFLICT_FOREIGN", "", 0, 0, 0 },
	{ "", "p|", "p=1", NULL, "p:CONFLICT_FOREIGN", "", 0, 0, 0 },
	{ "", "d/", "d=1", NULL, "d:CONFLICT_FOREIGN", "", 0, 0, 0 },
	/* the same with marks */
	{ "", "a=1", "?a=2", NULL, "a:EXISTS", "", 0, 0, 0 },
	{ "", "a=1", "?a=1", NULL, "", "", 0, 0, 1 },
	{ "", "", "?a=1", "a=1", "", "a", 1, 0, 0 },
	{ "", "a=1", "!a=2", "a=2", "", "a", 1, 0, 0 },
	{ "", "a->x", "!a=2", "a=2", "", "a", 1, 0, 0 },
	{ "", "p|", "!p=2", "p=2", "", "p", 1, 0, 0 },
	{ "", "d/", "!d=2", NULL, "d:CONFLICT_FOREIGN", "", 0, 0, 0 },
	{ "a=1", "a=9", "!a=2", "a=2", "", "a", 1, 0, 0 },
	{ "", "a=1", "~a=2", NULL, "a:EXISTS", "", 0, 0, 0 },
	{ "a=1", "a=1", "?a=2", NULL, "a:EXISTS", "a", 0, 0, 0 },
	{ "a=1", "a=1", "?a=1", NULL, "", "a", 0, 0, 1 },
	{ "a=1", "a=1", "~a=2", "a=2", "", "a", 1, 0, 0 },
	{ "a=1", "a=9", "~a=2", NULL, "a:CONFLICT_MODIFIED", "", 0, 0, 0 },
	{ "a=1", "a=9", "?a=2", NULL, "a:CONFLICT_MODIFIED", "", 0, 0, 0 },
	/* shared directories: not ours, their modes stay */
	{ "", "d/", "d/", NULL, "", "", 0, 0, 1 },
	{ "", "d/:700 d/x=1", "d/a=1", "d/:700 d/a=1 d/x=1", "", "d/a", 1, 0, 1 },
	{ "", "d/:700", "d/:755", NULL, "", "", 0, 0, 1 },
	/* in old, untouched */
	{ "a=1", "a=1", "a=1", NULL, "", "a", 0, 0, 1 },
	{ "a=1", "a=1", "a=2", "a=2", "", "a", 1, 0, 0 },
	{ "a=1", "a=1", "a:755=1", "a:755=1", "", "a", 1, 0, 0 },
	{ "a=1", "a=1", "a->1", "a->1", "", "a", 1, 0, 0 },
	{ "l->1", "l->1", "l->2", "l->2", "", "l", 1, 0, 0 },
	{ "l->1", "l->1", "l=2", "l=2", "", "l", 1, 0, 0 },
	{ "d/:700", "d/:700", "d/", "d/", "", "d/", 1, 0, 0 },
	{ "d/:700", "d/:700", "d/a=1", "d/:700 d/a=1", "", "d/ d/a", 1, 0, 1 },
	/* in old, modified */
	{ "a=1", "a=9", "a=1", NULL, "", "a", 0, 0, 1 },
	{ "a=1", "a:755=1", "a=1", NULL, "", "a", 0, 0, 1 },
	{ "a=1", "a/", "a=1", NULL, "", "a", 0, 0, 1 },
	{ "a=1", "a=2", "a=2", NULL, "", "a", 0, 0, 1 },
	{ "a=1", "a=9", "a=2", NULL, "a:CONFLICT_MODIFIED", "", 0, 0, 0 },
	{ "a=1", "a:600=1", "a=2", NULL, "a:CONFLICT_MODIFIED", "", 0, 0, 0 },
	{ "a=1", "a->x", "a=2", NULL, "a:CONFLICT_MODIFIED", "", 0, 0, 0 },
	{ "a=1", "a|", "a=2", NULL, "a:CONFLICT_MODIFIED", "", 0, 0, 0 },
	{ "a=1", "a/ a/x=1", "a=2", NULL, "a:CONFLICT_MODIFIED", "", 0, 0, 0 },
	{ "l->1", "l->9", "l->2", NULL, "l:CONFLICT_MODIFIED", "", 0, 0, 0 },
	{ "d/:700", "d/:711", "d/:700", NULL, "", "d/", 0, 0, 1 },
	{ "d/:700", "d/:711", "d/:711", NULL, "", "d/", 0, 0, 1 },
	{ "d/:700 d/a=1", "d/:711 d/a=1", "d/ d/a=2", "d/:711 d/a=2", "d:CONFLICT_MODIFIED", "d/a",
	  1, 0, 0 },
	/* in old, deleted */
	{ "a=1", "", "a=1", NULL, "a:DELETED", "a", 0, 0, 0 },
	{ "a=1", "", "a=2", NULL, "a:DELETED", "a", 0, 0, 0 },
	{ "a=1", "", "!a=2", NULL, "a:DELETED", "a", 0, 0, 0 },
	{ "l->1", "", "l->2", NULL, "l:DELETED", "l", 0, 0, 0 },
	{ "d/ d/a=1", "", "d/a=1", NULL, "d/a:DELETED d:DELETED", "d/ d/a", 0, 0, 0 },
	{ "d/ d/a=1", "d/", "d/a=1", NULL, "d/a:DELETED", "d/ d/a", 0, 0, 1 },
	{ "d/a=1", "", "d/a=1", NULL, "d/a:DELETED d:DELETED", "d/a", 0, 0, 0 },
	{ "d/ d/e/ d/e/a=1", "", "d/e/a=1 d/e/b=2", "d/ d/e/ d/e/b=2", "d/e/a:DELETED",
	  "d/ d/e/ d/e/a d/e/b", 3, 0, 0 },
	{ "d/ d/a=1", "", "d/a=1 d/n/x=1", "d/ d/n/ d/n/x=1", "d/a:DELETED", "d/ d/a d/n/ d/n/x", 3,
	  0, 0 },
	/* something else on the way */
	{ "", "d=1", "d/a=1 d/e/b=1", NULL,
	  "d:CONFLICT_FOREIGN d/a:NOT_DIRECTORY d/e:NOT_DIRECTORY d/e/b:NOT_DIRECTORY", "", 0, 0,
	  0 },
	{ "", "d->o o/", "d/a=1", NULL, "d:CONFLICT_FOREIGN d/a:NOT_DIRECTORY", "", 0, 0, 0 },
	{ "", "d->/tmp", "d/a=1", NULL, "d:CONFLICT_FOREIGN d/a:NOT_DIRECTORY", "", 0, 0, 0 },
	{ "d/ d/a=1", "d->o o/a=1", "d/a=2", NULL, "d:CONFLICT_MODIFIED d/a:NOT_DIRECTORY", "", 0,
	  0, 0 },
	{ "d/ d/a=1", "d|", "d/a=2", NULL, "d:CONFLICT_MODIFIED d/a:NOT_DIRECTORY", "", 0, 0, 0 },
	/* a file of ours becomes a directory, a directory a file */
	{ "a=1", "a=1", "a/b/c=1", "a/ a/b/ a/b/c=1", "", "a/ a/b/ a/b/c", 3, 0, 0 },
	{ "a=1", "a=9", "a/b=1", NULL, "a:CONFLICT_MODIFIED a/b:NOT_DIRECTORY", "", 0, 0, 0 },
	{ "a=1", "", "a/b=1", "a/ a/b=1", "", "a/ a/b", 2, 0, 0 },
	{ "a=1", "", "a/", NULL, "a:DELETED", "a", 0, 0, 0 },
	{ "a=1", "a/ a/b=9", "a/b=1", NULL, "a/b:CONFLICT_FOREIGN", "", 0, 0, 1 },
	{ "a/ a/b=1 a/c/", "a/ a/b=1 a/c/", "a=1", "a=1", "", "a", 1, 2, 0 },
	{ "a/", "a/", "a->b", "a->b", "", "a", 1, 0, 0 },
	{ "a/ a/b=1", "", "a=1", NULL, "a:DELETED", "a/", 0, 0, 0 },
	{ "a/ a/b=1", "a=9", "a=1", NULL, "a:CONFLICT_MODIFIED", "", 0, 0, 0 },
};

static const struct row replace[] = {
	{ "a=1 b=1", "a=1 b=1", "a=1", "a=1", "", "a", 0, 1, 1 },
	{ "a=1 b=1", "a=1 b=9", "a=1", NULL, "b:CONFLICT_MODIFIED", "a", 0, 0, 1 },
	{ "a=1 b=1", "a=1 b:755=1", "a=1", NULL, "b:CONFLICT_MODIFIED", "a", 0, 0, 1 },
	{ "a=1 b=1", "a=1 b|", "a=1", NULL, "b:CONFLICT_MODIFIED", "a", 0, 0, 1 },
	{ "a=1 b=1", "a=1 b/", "a=1", NULL, "b:CONFLICT_MODIFIED", "a", 0, 0, 1 },
	{ "a=1 b=1", "a=1", "a=1", NULL, "", "a", 0, 0, 1 },
	{ "l->x", "l->x y=1", "a=1", "a=1 y=1", "", "a", 1, 1, 0 },
	{ "l->x", "l->z", "a=1", "a=1 l->z", "l:CONFLICT_MODIFIED", "a", 1, 0, 0 },
	{ "d/ d/e/ d/e/a=1", "d/e/a=1", "", "", "", "", 0, 3, 0 },
	{ "d/ d/e/ d/e/a=1", "d/e/a=1 d/x=1", "", "d/ d/x=1", "", "", 0, 2, 0 },
	{ "d/ d/e/ d/e/a=1", "d/e/a=9", "", NULL, "d/e/a:CONFLICT_MODIFIED", "", 0, 0, 0 },
	{ "d/ d/e/ d/e/a=1", "d/e/", "", "", "", "", 0, 2, 0 },
	{ "d/a=1", "d/a=1", "", "d/", "", "", 0, 1, 0 },
	{ "d/ d/a=1", "d->o o/a=1", "", NULL, "", "", 0, 0, 0 },
	{ "a/ a/b=1 a/c=1", "a/ a/b=1 a/c=9", "a=1", "a/ a/c=9",
	  "a/c:CONFLICT_MODIFIED a:CONFLICT_MODIFIED", "", 0, 1, 0 },
	{ "a/ a/b=1", "a/ a/b=1 a/x=1", "a=1", "a/ a/x=1", "a:CONFLICT_MODIFIED", "", 0, 1, 0 },
	{ "a/b=1", "a/ a/b=1", "a=1", "a/", "a:CONFLICT_FOREIGN", "", 0, 1, 0 },
};

static const struct row merged[] = {
	{ "a=1 b=1", "a=1 b=1", "a=2", "a=2 b=1", "", "a b", 1, 0, 0 },
	{ "a=1 b=1", "a=1 b=9", "a=1", NULL, "", "a b", 0, 0, 1 },
	{ "a=1 b=1", "a=1", "a=1", NULL, "", "a b", 0, 0, 1 },
	{ "d/ d/a=1 l->x", "d/ d/a=1 l->x", "c=1", "c=1 d/ d/a=1 l->x", "", "c d/ d/a l", 1, 0, 0 },
	{ "d/a=1", "d/ d/a=1", "d/b=1", "d/ d/a=1 d/b=1", "", "d/a d/b", 1, 0, 1 },
	{ "d/ d/a=1", "d=9", "d/b=1", NULL, "d:CONFLICT_MODIFIED d/b:NOT_DIRECTORY", "", 0, 0, 0 },
	{ "a/ a/b=1 a/c=1", "a/ a/b=1 a/c=9", "a=1", NULL, "a:CONFLICT_MODIFIED", "", 0, 0, 0 },
	{ "a/ a/b=1", "a/ a/b=1 a/x=1", "a=1", NULL, "a:CONFLICT_MODIFIED", "", 0, 0, 0 },
	{ "a/b=1", "a/ a/b=1", "a=1", NULL, "a:CONFLICT_FOREIGN", "", 0, 0, 0 },
};

static void test_rules(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(both); i++) {
		check_row(i, &both[i], false);
		check_row(i, &both[i], true);
	}
	for (size_t i = 0; i < ARRAY_SIZE(replace); i++)
		check_row(i, &replace[i], false);
	for (size_t i = 0; i < ARRAY_SIZE(merged); i++)
		check_row(i, &merged[i], true);
}

/* Generation after generation over what the one before left. */
static void step(struct manifest *ours, const char *new, const char *skipped, const char *want)
{
	struct rig r;
	char *text;

	rig_open_after(&r, ours, new, false);
	assert_int_equal(commit_plan(&r.c, &r.out, &r.e), 0);
	assert_int_equal(commit_apply(&r.c, &r.out, &r.e), 0);
	text = rig_skipped(&r.out);
	assert_string_equal(text, skipped);
	free(text);
	text = rig_dump(r.target);
	assert_string_equal(text, want);
	free(text);
	*ours = r.new;
	r.new = (struct manifest){ 0 };
	rig_reread(ours);
	rig_close(&r);
}

static void edit(const char *remove, const char *add)
{
	int fd = open(scratch_path("target"), O_RDONLY | O_DIRECTORY);

	assert_int_equal(held_remove_at(fd, remove), 0);
	rig_build(fd, add);
	close(fd);
}

static void test_generations(void **state _unused_)
{
	struct manifest ours;
	struct rig r;

	rig_open(&r, "", "mine=1", "", false);
	rig_close(&r);
	rig_manifest(&ours, "");
	step(&ours, "a=1 b=1 d/c=1 d/e=1", "", "a=1 b=1 d/ d/c=1 d/e=1 mine=1");
	edit("a", "b=9 d/x=1");
	/* what is deleted stays deleted, for as many generations as bring it; what is modified stays */
	step(&ours, "a=1 b=1 d/c=2", "a:DELETED", "b=9 d/ d/c=2 d/x=1 mine=1");
	step(&ours, "a=2 b=2 d/c=2", "a:DELETED b:CONFLICT_MODIFIED", "b=9 d/ d/c=2 d/x=1 mine=1");
	/* b is not ours any more */
	step(&ours, "a=2 b=2", "a:DELETED b:CONFLICT_FOREIGN", "b=9 d/ d/x=1 mine=1");
	/* left out once, it may come again */
	step(&ours, "c=1", "", "b=9 c=1 d/ d/x=1 mine=1");
	edit("d", "");
	step(&ours, "a=3 d/c=1", "", "a=3 b=9 d/ d/c=1 mine=1");
	step(&ours, "", "", "b=9 mine=1");
	manifest_done(&ours);
}

static void test_many_skipped(void **state _unused_)
{
	_cleanup_(buf_done) struct buf tree = { 0 }, new = { 0 };
	struct rig r;

	for (unsigned i = 0; i < SKIPPED_MAX + 7; i++) {
		buf_printf(&tree, "f%04u=1 ", i);
		buf_printf(&new, "f%04u=2 ", i);
	}
	buf_putc(&tree, '\0');
	buf_putc(&new, '\0');
	rig_open(&r, "", tree.data, new.data, false);
	assert_int_equal(commit_plan(&r.c, &r.out, &r.e), 0);
	assert_int_equal(commit_apply(&r.c, &r.out, &r.e), 0);
	assert_int_equal(r.out.skipped_total, SKIPPED_MAX + 7);
	assert_string_equal(r.out.skipped[SKIPPED_MAX - 1].path, "f0999");
	rig_close(&r);
}

/* Between plan and apply somebody works in the tree. */
static void test_changed_meanwhile(void **state _unused_)
{
	static const struct {
		const char *old, *tree, *new;
		const char *gone, *came; /* meanwhile */
		const char *want;
		unsigned written, removed, skipped;
	} rows[] = {
		{ "a=1", "a=1", "a=2", "a", "a=9", "a=9", 0, 0, 1 },
		/* the same bytes, but another file */
		{ "a=1", "a=1", "a=2", "a", "a=1", "a=1", 0, 0, 1 },
		{ "a=1", "a=1", "a=2", "a", "", "", 0, 0, 1 },
		{ "a=1", "a=1", "a=2", "a", "a/", "a/", 0, 0, 1 },
		{ "a=1", "a=1", "", "a", "a=9", "a=9", 0, 0, 1 },
		{ "a=1", "a=1", "", "a", "", "", 0, 1, 0 },
		{ "", "", "a=2", "x", "a=9", "a=9", 0, 0, 1 },
		{ "", "", "d/a=2 d/b=1", "x", "d/", "d/", 0, 0, 3 },
		{ "", "d/", "d/a=2", "d", "d->/tmp", "d->/tmp", 0, 0, 1 },
		{ "", "d/", "d/a=2", "d", "", "", 0, 0, 1 },
		{ "d/ d/a=1", "d/ d/a=1", "", "x", "d/x=1", "d/ d/x=1", 0, 1, 1 },
		{ "d/ d/a=1", "", "d/b=1", "x", "d=1", "d=1", 0, 0, 2 },
		{ "d/ d/a=1", "", "d/a=1 d/b=1", "x", "d=1", "d=1", 0, 0, 3 },
		{ "d/ d/a=1", "", "d/a=1 d/b=1", "x", "d/c=1", "d/ d/b=1 d/c=1", 2, 0, 1 },
		{ "d/:700", "d/:700", "d/", "x", "d/:711", "d/:711", 0, 0, 1 },
		{ "d/:700 d/a=1", "d/:700 d/a=1", "d/ d/a=2", "x", "d/:711", "d/:711 d/a=2", 1, 0,
		  1 },
		{ "a/ a/b=1", "a/ a/b=1", "a=1", "x", "a/x=1", "a/ a/x=1", 0, 1, 1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct rig r;
		char *dump;

		rig_open(&r, rows[i].old, rows[i].tree, rows[i].new, false);
		assert_int_equal(commit_plan(&r.c, &r.out, &r.e), 0);
		edit(rows[i].gone, rows[i].came);
		if (commit_apply(&r.c, &r.out, &r.e) < 0)
			fail_row(i, r.e.msg);
		dump = rig_dump(r.target);
		if (strcmp(dump, rows[i].want) != 0 || r.out.written != rows[i].written ||
		    r.out.removed != rows[i].removed || r.out.skipped_total != rows[i].skipped)
			fail_row(i, dump);
		free(dump);
		rig_close(&r);
	}
}

/* A file is what it was when it was looked at, to the end of the reading, or it is not the same as anything. */
static void test_changed_while_compared(void **state _unused_)
{
	struct seen seen;
	struct held h;
	struct rig r;

	rig_open(&r, "", "a=12 b=12 p|", "a=12 b=12 p=", false);
	held_init(&h, r.target);
	assert_int_equal(seen_look(&h, "a", &seen), 0);
	assert_true(seen_same(&h, "a", &seen, &r.new, 1));
	assert_int_equal(seen_look(&h, "a", &seen), 0);
	edit("a", "a=12"); /* another file */
	assert_false(seen_same(&h, "a", &seen, &r.new, 1));
	assert_int_equal(seen_look(&h, "b", &seen), 0);
	usleep(20000);	   /* a tick of the file system's clock */
	edit("x", "b=12"); /* written to */
	assert_false(seen_same(&h, "b", &seen, &r.new, 2));
	/* a FIFO with no writer: nobody waits for one */
	assert_int_equal(seen_look(&h, "p", &seen), 0);
	assert_int_equal(seen.type, SEEN_OTHER);
	assert_false(seen_same(&h, "p", &seen, &r.new, 3));
	held_done(&h);
	rig_close(&r);
}

/* A file with two names: what a step does to one of them is no change of the other. */
static void test_hard_links(void **state _unused_)
{
	struct rig r;
	char *dump;

	rig_open(&r, "a=1 b=1 c=1", "a=1", "a=2 b=2", false);
	assert_int_equal(linkat(r.target, "a", r.target, "b", 0), 0);
	assert_int_equal(linkat(r.target, "a", r.target, "c", 0), 0);
	assert_int_equal(commit_plan(&r.c, &r.out, &r.e), 0);
	assert_int_equal(commit_apply(&r.c, &r.out, &r.e), 0);
	dump = rig_dump(r.target);
	assert_string_equal(dump, "a=2 b=2");
	free(dump);
	rig_close(&r);
}

static void test_whole(void **state _unused_)
{
	struct rig r;
	bool committed = true;
	int parent = open(scratch_dir(), O_RDONLY | O_DIRECTORY);
	struct stat sb;

	rig_open(&r, "a=1", "", "a=1 d/b=1", false);
	/* beside the target, as such a stage lies */
	assert_int_equal(renameat(r.target, RIG_STAGE, parent, RIG_STAGE), 0);
	r.c.whole = true;
	assert_int_equal(commit_plan(&r.c, &r.out, &r.e), 0);
	assert_int_equal(r.out.written, 3);
	assert_int_equal(commit_recover(r.target, r.stage, &committed, &r.e), 0);
	assert_false(committed);
	assert_int_equal(commit_apply(&r.c, &r.out, &r.e), 0);
	assert_int_equal(renameat(r.stage, "tree", parent, "target"), 0);
	assert_int_equal(commit_recover(-1, r.stage, &committed, &r.e), 0);
	assert_true(committed);
	assert_int_equal(fstatat(parent, "target/d/b", &sb, 0), 0);
	assert_int_equal(held_remove_at(parent, RIG_STAGE), 0);
	close(parent);
	rig_close(&r);
}

static void test_errors(void **state _unused_)
{
	struct rig r;

	rig_open(&r, "", "", "a=1", false);
	/* staged is not what the manifest says */
	assert_int_equal(held_remove_at(r.stage, "tree"), 0);
	assert_int_equal(mkdirat(r.stage, "tree", 0755), 0);
	assert_int_equal(commit_plan(&r.c, &r.out, &r.e), -ENOENT);
	assert_string_equal(r.e.reason, "IO_ERROR");
	assert_string_equal(r.e.field, "a");
	/* without a plan */
	assert_true(commit_apply(&r.c, &r.out, &r.e) < 0);
	rig_close(&r);
}

/* The agent can write the log: no path of it leaves the tree. */
static void test_paths_of_the_log(void **state _unused_)
{
	static const char *const bad[] = { "..",    "../x", "a/../x", "a/..", ".",
					   "a/./b", "/x",   "a//b",   "a/",   "" };
	char line[64];
	struct op op;

	assert_int_equal(op_parse(SLICE("a 0 0 0 0 0 0 0 0 0 0 a/..b"), &op), 0);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		snprintf(line, sizeof(line), "a 0 0 0 0 0 0 0 0 0 0 %s", bad[i]);
		assert_int_equal(op_parse(slice_of(line), &op), -EBADMSG);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths_of_the_log),
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_generations),
		cmocka_unit_test(test_many_skipped),
		cmocka_unit_test(test_changed_meanwhile),
		cmocka_unit_test(test_changed_while_compared),
		cmocka_unit_test(test_hard_links),
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_errors),
	};

	return RUN(tests, scratch_setup_memory, scratch_done);
}
