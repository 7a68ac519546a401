/*
 * Random generations over random trees that were edited at random, against what has to hold for each path whatever the
 * rest does, and against a table for paths whose directories are directories everywhere.
 */
#include "commit_rig.h"

#include "tree/held_tree.h"

#include <fcntl.h>
#include <sys/stat.h>

#define NAMES 3
#define PATHS (NAMES + NAMES * NAMES + NAMES * NAMES * NAMES)
#define ROUNDS (1500 / stride_san(4))

/* A tree of paths over three names, three deep: what stands at each. 0: nothing, 'd', or one of the letters below. */
struct tree {
	char at[PATHS];
};

/* Two files, one executable, two links; and what only somebody else makes. */
static const char *const texts[] = {
	['1'] = "=one",	 ['2'] = "=two", ['x'] = ":755=one", ['l'] = "->one",
	['m'] = "->two", ['p'] = "|",	 ['d'] = "/"
};
static const char *paths[PATHS];
static int above[PATHS]; /* -1: the root */

static uint64_t seed;

static unsigned any(unsigned n)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (unsigned)(seed >> 33) % n;
}

static int name_paths(void **state)
{
	static char room[PATHS][16];
	unsigned n = 0;

	for (int i = 0; i < PATHS; i++, n++) {
		above[i] = i < NAMES ? -1 : i / NAMES - 1;
		snprintf(room[i], sizeof(room[i]), "%s%s%c", i < NAMES ? "" : paths[above[i]],
			 i < NAMES ? "" : "/", 'a' + i % NAMES);
		paths[i] = room[i];
	}
	return scratch_setup_memory(state);
}

static bool has_children(int i)
{
	return i < NAMES + NAMES * NAMES;
}

static void random_tree(struct tree *t)
{
	for (int i = 0; i < PATHS; i++) {
		bool inside = above[i] < 0 || t->at[above[i]] == 'd';

		t->at[i] = 0;
		if (inside && any(3))
			t->at[i] = has_children(i) && any(2) ? 'd' : "12xlm"[any(5)];
	}
}

static void drop_below(struct tree *t, int i)
{
	for (int k = i + 1; k < PATHS; k++)
		if (above[k] >= 0 && (above[k] == i || (above[k] > i && !t->at[above[k]])))
			t->at[k] = t->at[above[k]] == 'd' ? t->at[k] : 0;
}

/* Somebody deletes, replaces, adds. */
static void edit(struct tree *t)
{
	for (unsigned n = any(6); n > 0; n--) {
		int i = (int)any(PATHS);

		if (above[i] >= 0 && t->at[above[i]] != 'd')
			continue;
		t->at[i] = any(3) ? "12xlmpd"[any(has_children(i) ? 7 : 6)] : 0;
		drop_below(t, i);
	}
}

static void words_of(const struct tree *t, char *out)
{
	*out = '\0';
	for (int i = 0; i < PATHS; i++)
		if (t->at[i])
			out += sprintf(out, "%s%s ", paths[i], texts[(int)t->at[i]]);
}

/* What is really there. */
static void read_tree(int dir, struct tree *t)
{
	for (int i = 0; i < PATHS; i++) {
		char text[8] = "";
		struct stat sb;
		int fd;

		t->at[i] = 0;
		if ((above[i] >= 0 && t->at[above[i]] != 'd') ||
		    fstatat(dir, paths[i], &sb, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (S_ISDIR(sb.st_mode)) {
			t->at[i] = 'd';
		} else if (S_ISLNK(sb.st_mode)) {
			assert_int_equal(readlinkat(dir, paths[i], text, sizeof(text)), 3);
			t->at[i] = strcmp(text, "one") == 0 ? 'l' : 'm';
		} else if (S_ISREG(sb.st_mode)) {
			fd = openat(dir, paths[i], O_RDONLY);
			assert_int_equal(read(fd, text, sizeof(text)), 3);
			close(fd);
			t->at[i] = (char)(sb.st_mode & 0111 ? 'x' : text[0] == 'o' ? '1' : '2');
		} else {
			t->at[i] = 'p';
		}
	}
}

static const char *reason_of(const struct outcome *out, int i)
{
	for (size_t k = 0; k < out->skipped_total; k++)
		if (strcmp(out->skipped[k].path, paths[i]) == 0)
			return out->skipped[k].reason;
	return "";
}

struct round {
	struct tree old, tree, new, after;
	bool merge;
	struct rig r;
};

/* Directories all the way, in every tree that has anything there. */
static bool plain(const struct round *w, int i)
{
	for (int k = above[i]; k >= 0; k = above[k])
		if (w->new.at[k] != 'd' || w->tree.at[k] != 'd' ||
		    (w->old.at[k] && w->old.at[k] != 'd'))
			return false;
	return true;
}

struct verdict {
	char after;
	const char *reason;
};

/* The table of commit.h. */
static struct verdict judge(char old, char tree, char new)
{
	if (!tree)
		return old ? (struct verdict){ 0, "DELETED" } : (struct verdict){ new, "" };
	if (tree == new || old == new)
		return (struct verdict){ tree, "" };
	if (!old)
		return (struct verdict){ tree, "CONFLICT_FOREIGN" };
	if (tree == old)
		return (struct verdict){ new, "" };
	return (struct verdict){ tree, "CONFLICT_MODIFIED" };
}

static void check_plain(const struct round *w, int i)
{
	struct verdict v = judge(w->old.at[i], w->tree.at[i], w->new.at[i]);

	assert_int_equal(w->after.at[i], v.after);
	assert_string_equal(reason_of(&w->r.out, i), v.reason);
}

static void check_path(const struct round *w, int i)
{
	char old = w->old.at[i], tree = w->tree.at[i], new = w->new.at[i], after = w->after.at[i];
	const char *reason = reason_of(&w->r.out, i);

	/* nobody's work is lost, whatever else happens */
	if (tree && tree != 'd' && tree != old)
		assert_int_equal(after, tree);
	/* nothing comes from nowhere, nothing old stays where it was to be replaced */
	assert_true(after == tree || after == new || !after);
	if (new && !*reason)
		assert_true(after == new || (new == old &&after == tree));
	if (!new &&after)
		assert_int_equal(after, tree);
	/* what only the old generation had */
	if (old && !new &&tree == old && tree != 'd' && !w->merge)
		assert_int_equal(after, 0);
	/* directories and what others have no name for: files and links of both only */
	if (new &&new != 'd' && old != 'd' && tree != 'd' && plain(w, i))
		check_plain(w, i);
}

static void check_counts(const struct round *w)
{
	const struct outcome *out = &w->r.out;
	uint64_t entries = 0, reported = 0, left = 0;

	for (int i = 0; i < PATHS; i++) {
		entries += w->new.at[i] != 0;
		reported += w->new.at[i] && *reason_of(out, i);
		left += !w->new.at[i] && *reason_of(out, i);
	}
	assert_int_equal(out->written + out->unchanged + reported, entries);
	assert_int_equal(out->skipped_total, reported + left);
}

/* The same generation once more: nothing to do. */
static void check_again(struct round *w, const char *words)
{
	struct manifest ours = w->r.new;
	struct rig r;
	struct tree again;

	w->r.new = (struct manifest){ 0 };
	rig_close(&w->r);
	rig_reread(&ours);
	rig_open_after(&r, &ours, words, w->merge);
	assert_int_equal(commit_plan(&r.c, &r.out, &r.e), 0);
	assert_int_equal(commit_apply(&r.c, &r.out, &r.e), 0);
	read_tree(r.target, &again);
	assert_memory_equal(&again, &w->after, sizeof(again));
	assert_int_equal(r.out.written, 0);
	assert_int_equal(r.out.removed, 0);
	rig_close(&r);
}

static void run_round(struct round *w, bool edited)
{
	char old[PATHS * 16], tree[PATHS * 16], new[PATHS * 16];

	random_tree(&w->old);
	random_tree(&w->new);
	w->tree = w->old;
	if (edited)
		edit(&w->tree);
	words_of(&w->old, old);
	words_of(&w->tree, tree);
	words_of(&w->new, new);
	rig_open(&w->r, old, tree, new, w->merge);
	assert_int_equal(commit_plan(&w->r.c, &w->r.out, &w->r.e), 0);
	assert_int_equal(commit_apply(&w->r.c, &w->r.out, &w->r.e), 0);
	read_tree(w->r.target, &w->after);
	for (int i = 0; i < PATHS; i++)
		check_path(w, i);
	check_counts(w);
	if (!edited && !w->merge) {
		assert_memory_equal(&w->after, &w->new, sizeof(w->new));
		assert_int_equal(w->r.out.skipped_total, 0);
	}
	check_again(w, new);
}

static void test_random(void **state _unused_)
{
	static struct round w;

	for (unsigned i = 0; i < ROUNDS; i++) {
		seed = i;
		w.merge = i % 2;
		run_round(&w, i % 5 != 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_random) };

	return RUN(tests, name_paths, scratch_done);
}
