#include "git_tree.h"

#include "base/os/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

uint32_t random_below(uint64_t *seed, uint32_t n)
{
	uint64_t z = (*seed += 0x9e3779b97f4a7c15ull);

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return (uint32_t)((z ^ z >> 31) % n);
}

/* --- contents -------------------------------------------------------------------------------------------- */

static void put_word(struct buf *b, uint64_t *seed)
{
	static const char *const words[] = {
		"alpha",
		"beta",
		"{",
		"}",
		"return 0;",
		"\xc3\xa9t\xc3\xa9",
		"-- ",
		"@@ -1 +1 @@",
		"\t",
		" ",
		"+",
		"\f\v",
		"\\ No newline at end of file",
		"diff --git a/x b/x",
	};

	buf_puts(b, words[random_below(seed, ARRAY_SIZE(words))]);
}

static void put_some_line(struct buf *b, uint64_t *seed)
{
	static const char *const ends[] = { "\n", "\n", "\n", "\n", "\r\n", "\r\r\n" };

	for (uint32_t i = random_below(seed, 3); i > 0; i--)
		put_word(b, seed);
	if (!random_below(seed, 40))
		for (int i = 0; i < 3000; i++)
			buf_putc(b, 'x');
	buf_puts(b, ends[random_below(seed, ARRAY_SIZE(ends))]);
}

static void put_text(struct buf *b, uint64_t *seed)
{
	for (uint32_t i = random_below(seed, 60); i > 0; i--)
		put_some_line(b, seed);
	if (!random_below(seed, 3))
		put_word(b, seed);
}

static void put_bytes(struct buf *b, uint64_t *seed)
{
	for (uint32_t i = random_below(seed, 700); i > 0; i--)
		buf_putc(b, (char)random_below(seed, 256));
}

/* Text that only our rule calls binary, or git's too. */
static void put_odd(struct buf *b, uint64_t *seed)
{
	put_text(b, seed);
	buf_putc(b, random_below(seed, 2) ? '\xff' : '\0');
	put_text(b, seed);
}

static void put_contents(struct buf *b, uint64_t *seed)
{
	switch (random_below(seed, 8)) {
	case 0:
		put_bytes(b, seed);
		break;
	case 1:
		put_odd(b, seed);
		break;
	case 2: /* empty */
		break;
	default:
		put_text(b, seed);
	}
}

/* Drops, doubles and adds lines of what was there. */
static void put_edited(struct buf *b, struct slice old, uint64_t *seed)
{
	uint32_t calm = 2 + random_below(seed, 30);

	while (old.n) {
		const char *newline = memchr(old.p, '\n', old.n);
		size_t n = newline ? (size_t)(newline + 1 - old.p) : old.n;
		uint32_t what = random_below(seed, 3 * calm);

		if (what != 0)
			buf_add(b, old.p, n);
		if (what == 1)
			buf_add(b, old.p, n);
		if (what == 2)
			put_some_line(b, seed);
		old = slice_after(old, n);
	}
	if (!random_below(seed, 4))
		put_word(b, seed);
}

void text_pair_make(uint64_t seed, struct buf *from, struct buf *to)
{
	while (from->len < 8000)
		put_text(from, &seed);
	put_edited(to, buf_slice(from), &seed);
}

static void put_target(struct buf *b, uint64_t *seed)
{
	static const char *const targets[] = { "a.txt",	   "dir/none", "../up",	    "/abs/x",
					       "sp ace\n", "\xff\xfe", "\xc3\xa9t", "dir" };

	buf_puts(b, targets[random_below(seed, ARRAY_SIZE(targets))]);
}

/* --- pairs ----------------------------------------------------------------------------------------------- */

/* Two paths of which one is a directory of the other never exist together: they are neighbours in the list, and a tree has one of
 * them at most. */
static const char *const paths[] = {
	"a.txt",	   "dir/plain.c",
	"dir/sp ace.txt",  "dir/sub/\xc3\xa9t\xc3\xa9.txt",
	"x b/x",	   "trailing ",
	" leading",	   "quo\"te",
	"back\\slash",	   "tab\tname",
	"new\nline",	   "control\x01\x1f\x7f",
	"\xff\xfe raw",	   "-dash",
	"a b/a b",	   "b/a",
	"dev/null",	   "deep/er/and/deep/er/still",
	"{brace}$HOME`x`", "swap",
	"swap/below",	   "turn/a/b",
	"turn/a",	   "space /empty",
};

static bool is_below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return strncmp(path, dir, n) == 0 && path[n] == '/';
}

static void make_file(struct tree_file *f, uint64_t *seed)
{
	static const unsigned modes[] = { PATCH_FILE, PATCH_FILE, PATCH_FILE, PATCH_EXECUTABLE,
					  PATCH_SYMLINK };

	f->side.mode = modes[random_below(seed, ARRAY_SIZE(modes))];
	if (f->side.mode == PATCH_SYMLINK)
		put_target(&f->bytes, seed);
	else
		put_contents(&f->bytes, seed);
}

/* The same, the other mode, edited, another one altogether, or gone. */
static void change_file(struct tree_file *f, const struct tree_file *old, uint64_t *seed)
{
	uint32_t what = random_below(seed, 8);

	if (!old->side.mode || what == 0) {
		if (what < 4)
			make_file(f, seed);
		return;
	}
	if (what == 1)
		return;
	f->side.mode = old->side.mode;
	if (f->side.mode == PATCH_SYMLINK || what < 4)
		buf_add_slice(&f->bytes, buf_slice(&old->bytes));
	else
		put_edited(&f->bytes, buf_slice(&old->bytes), seed);
	if (f->side.mode != PATCH_SYMLINK && what % 2)
		f->side.mode ^= PATCH_FILE ^ PATCH_EXECUTABLE;
}

static void settle(struct tree *t)
{
	for (size_t i = 0; i < t->n; i++) {
		struct tree_file *f = &t->files[i];

		f->side.data = f->bytes.data;
		f->side.n = f->bytes.len;
		for (size_t j = 0; j < i && f->side.mode; j++)
			if (t->files[j].side.mode && (is_below(f->path, t->files[j].path) ||
						      is_below(t->files[j].path, f->path)))
				f->side.mode = 0;
	}
}

void tree_pair_make(uint64_t seed, struct tree *from, struct tree *to)
{
	*from = *to = (struct tree){ .n = ARRAY_SIZE(paths) };
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		from->files[i].path = to->files[i].path = paths[i];
		if (!random_below(&seed, 3))
			make_file(&from->files[i], &seed);
		change_file(&to->files[i], &from->files[i], &seed);
	}
	settle(from);
	settle(to);
}

void tree_done(struct tree *t)
{
	for (size_t i = 0; i < t->n; i++)
		buf_done(&t->files[i].bytes);
}

/* --- on disk --------------------------------------------------------------------------------------------- */

static void make_parents(char *path)
{
	for (char *slash = path; (slash = strchr(slash + 1, '/'));) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
}

static void write_file(const struct tree_file *f, char *path)
{
	int fd;

	make_parents(path);
	if (f->side.mode == PATCH_SYMLINK) {
		_cleanup_(freep) char *target = xstrndup(f->side.data, f->side.n);

		assert_int_equal(symlink(target, path), 0);
		return;
	}
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL, f->side.mode & 0777);
	assert_true(fd >= 0);
	assert_int_equal(file_write_all(fd, f->side.data, f->side.n), 0);
	close(fd);
}

void tree_write(const struct tree *t, const char *dir)
{
	mkdir(scratch_path(dir), 0700);
	for (size_t i = 0; i < t->n; i++) {
		_cleanup_(freep) char *path = file_join(scratch_path(dir), t->files[i].path);

		if (t->files[i].side.mode)
			write_file(&t->files[i], path);
	}
}

static unsigned count_files(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	unsigned n = 0;

	assert_non_null(d);
	while ((e = readdir(d))) {
		_cleanup_(freep) char *path = file_join(dir, e->d_name);

		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			n += e->d_type == DT_DIR ? count_files(path) : 1;
	}
	closedir(d);
	return n;
}

static bool read_file(const char *path, unsigned *mode, struct buf *bytes)
{
	char target[256];
	struct stat st;
	ssize_t n;

	if (lstat(path, &st) < 0)
		return false;
	if (!S_ISLNK(st.st_mode)) {
		*mode = st.st_mode & 0100 ? PATCH_EXECUTABLE : PATCH_FILE;
		return S_ISREG(st.st_mode) && file_read(path, 1 << 20, bytes) == 0;
	}
	*mode = PATCH_SYMLINK;
	n = readlink(path, target, sizeof(target));
	return n >= 0 && buf_add(bytes, target, (size_t)n) == 0;
}

void tree_check(const struct tree *t, const char *dir, const char *what)
{
	unsigned want = 0, seen;

	for (size_t i = 0; i < t->n; i++) {
		const struct tree_file *f = &t->files[i];
		_cleanup_(freep) char *path = file_join(scratch_path(dir), f->path);
		_cleanup_(buf_done) struct buf bytes = { 0 };
		unsigned mode;

		if (!f->side.mode)
			continue;
		want++;
		if (!read_file(path, &mode, &bytes) || mode != f->side.mode ||
		    !slice_eq(buf_slice(&bytes), buf_slice(&f->bytes)))
			fail_msg("%s: %s differs", what, f->path);
	}
	seen = count_files(scratch_path(dir));
	if (seen != want)
		fail_msg("%s: %u files instead of %u", what, seen, want);
}

int git_run(const char *dir, const char *command)
{
	_cleanup_(buf_done) struct buf line = { 0 };
	int status;

	buf_printf(&line, "cd %s/%s && (%s) >%s/out 2>&1", scratch_dir(), dir, command,
		   scratch_dir());
	buf_putc(&line, '\0');
	setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
	setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1);
	setenv("GIT_CEILING_DIRECTORIES", "/tmp", 1);
	status = system(line.data);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
