/* Our reading of .gitignore against git's own: chosen and random patterns on one tree, every path of it asked of both. */
#include "git_tree.h"

#include "base/os/file.h"
#include "tree/ignore.h"

#include <sys/stat.h>

#define RANDOM_CASES (500 / stride_san(4))

/* Directories end in a slash and stand before what is in them. */
static const char *const paths[] = {
	"a/",	     "a/a",	  "a/b/",	"a/b/a",       "a/b/c/",     "a/b/c/a",
	"a/b/c/d.c", "a/b/c/x/",  "a/b/c/x/y",	"a/b/ab.c",    "a/c",	     "a/x.c",
	"a/ a",	     "b/",	  "b/a/",	"b/a/b/",      "b/a/b/a",    "b/a/b/c.c",
	"b/a/c",     "b/abc",	  "abc/",	"abc/a",       "abc/d/",     "abc/d/b/",
	"abc/d/b/e", "abc/d/b/c", "ab/",	"ab/b",	       "abd",	     "abbb",
	"x.c",	     "x.cc",	  ".c",		".hidden",     "a b",	     "a b ",
	"#x",	     "!x",	  "\\x",	"[a]",	       "]",	     "^",
	"-",	     "a-c",	  "*",		"a*b",	       "?",	     "A",
	"7",	     "a7b",	  "tab\tx",	"\xc3\xa9t",   "\x0bvt",     "\x7f",
	"foo/",	     "foo/bar/",  "foo/bar/x",	"foo/barx/",   "foo/barx/y", "foo/baz",
	"foobar/",   "foobar/x",  "a\\b",	"cr\r",	       "x/",	     "x/y/",
	"x/y/z/",    "x/y/z/a",	  "x/y/z/b.c/", "x/y/z/b.c/k",
};

/* One .gitignore at the top each. */
static const char *const chosen[] = {
	"a",
	"a/",
	"/a",
	"/a/",
	"a/b",
	"/a/b",
	"a/b/",
	"a/*",
	"a/**",
	"**/a",
	"**/a/",
	"a/**/a",
	"a/**/b",
	"a/**/c",
	"**/b/c",
	"**/b/**",
	"/**/b",
	"/**",
	"**",
	"*",
	"/*",
	"*/",
	"/*/",
	"*/*",
	"*/b",
	"*/b/c",
	"**/*.c",
	"*.c",
	"/*.c",
	"a/*.c",
	"*.c/",
	"a*",
	"*a",
	"*a*",
	"a*b",
	"a?c",
	"a?",
	"?",
	"??",
	"/?",
	"foo**/bar",
	"foo**",
	"foo/b**",
	"foo/b**/y",
	"f**/x",
	"**foo",
	"**oo/bar",
	"fo*/bar",
	"x/**/",
	"x/**/z/",
	"x/*/z",
	"x/*/*/a",
	"x/**/a",
	"x/**/**/a",
	"**/**/a",
	"**/y/**/a",
	"x/y*/z",
	"***",
	"a/***",
	"a/***/a",
	"[a]",
	"[a-c]",
	"[!a]",
	"[^a]",
	"[]]",
	"[!]]",
	"[]-]",
	"[a-]",
	"[-a]",
	"[a-c-e]",
	"[c-a]",
	"\\[a]",
	"[\\]]",
	"[\\a-\\c]",
	"[[:alpha:]]",
	"[[:digit:]]",
	"[[:upper:]]",
	"[[:lower:]]*",
	"a[[:digit:]]b",
	"[[:space:]]*",
	"[[:punct:]]",
	"[[:punct:]]x",
	"[[:cntrl:]]*",
	"[![:alnum:]]",
	"[[:xdigit:]]",
	"[[:blank:]]a",
	"[[:graph:]]",
	"[[:print:]]",
	"[[:nothing:]]",
	"[[:alpha:]",
	"[[:alpha]",
	"[[:]",
	"[[::]]",
	"[",
	"[a",
	"a[",
	"[]",
	"[!]",
	"[^]",
	"a[b",
	"a/[b]",
	"a[/]b",
	"a/[!x]/c",
	"foo[/]bar",
	"a[!x]b",
	"a\\/b",
	"a/b\\/c",
	"**\\/a",
	"x/**\\/a",
	"x/**\\/z",
	"\\a",
	"\\#x",
	"#x",
	"\\!x",
	"!x",
	"!",
	"\\",
	"a\\",
	"\\\\x",
	"a\\\\b",
	"\\*",
	"a\\*b",
	"\\?",
	"\\ a",
	" a",
	"a b",
	"a b ",
	"a b\\ ",
	"a b  ",
	"a\\ b",
	"a b\\  ",
	"a ",
	"a  ",
	"\\ ",
	" ",
	"  ",
	"a\\\\ ",
	"#",
	"# a",
	"/",
	"//",
	"//a",
	"/a//",
	"a//b",
	"./a",
	"../a",
	"a/.",
	".",
	"..",
	"",
	"\n",
	"\n\n\na\n",
	"a\nb",
	"a\r\nb\r\n",
	"a\r\r\n",
	"cr\r",
	"cr\r\r",
	"cr?",
	"\xef\xbb\xbf"
	"a",
	"\xc3\xa9t",
	"\xc3?t",
	"??t",
	"???",
	"[\xc3]\xa9t",
	"\xc3[\xa0-\xaf]t",
	"*\n!a",
	"*\n!*/",
	"*\n!/a/\n!a/b",
	"/*\n!/a",
	"/*\n!/a/\n/a/*\n!/a/b",
	"a/\n!a/a",
	"a/*\n!a/b",
	"a/**\n!a/b/",
	"a/**\n!a/**/\n",
	"*.c\n!x.c",
	"!x.c\n*.c",
	"a\n!a\na",
	"!*\n*",
	"foo/\n!foo/bar",
	"foo/*\n!foo/bar/\nfoo/bar/*",
	"foo/bar/",
	"/foo/bar/",
	"foo/bar",
	"/foo/ba?",
	"foo/ba*",
	"/foo/b*/",
	"/foo",
	"foo",
	"fo",
	"foo/b",
	"/fo/",
	"x/y/z",
	"x/y/",
	"y/",
	"y/z",
	"/y",
	"z/",
	"**/z/*",
	"**/z/**/k",
	"x/**/k",
	"**/b.c",
	"*.c/k",
	"/x/y/z/b.c/",
	"**/.c",
	".*",
	"a7b",
	"a[0-9]b",
	"a[0-9",
	"tab\t*",
	"tab[\t]x",
	"A",
	"[A-Z]",
	"a/b/c/x/y",
	"a/*/c",
	"a/*/*/a",
	"*/*/*/a",
	"*/b/*",
};

static bool is_dir(const char *path)
{
	return path[strlen(path) - 1] == '/';
}

static char *bare(const char *path)
{
	return xstrndup(path, strlen(path) - is_dir(path));
}

static int make_tree(void **state)
{
	_cleanup_(buf_done) struct buf list = { 0 };

	if (scratch_setup(state) < 0)
		return -1;
	mkdir(scratch_path("repo"), 0700);
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		_cleanup_(freep) char *name = bare(paths[i]);
		_cleanup_(freep) char *path = file_join("repo", name);

		buf_add(&list, name, strlen(name) + 1);
		if (is_dir(paths[i]))
			mkdir(scratch_path(path), 0700);
		else
			scratch_write(path, NULL, 0);
	}
	scratch_write("paths", list.data, list.len);
	return git_run("repo", "git init -q .");
}

/* The .gitignore files of a case: at the top, in a/ and in a/b/. */
static const char *const dirs[] = { "", "a", "a/b" };

struct rules {
	struct slice of[ARRAY_SIZE(dirs)];
};

static struct slice rules_of(const struct rules *r, const char *dir)
{
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		if (strcmp(dirs[i], dir) == 0)
			return r->of[i];
	return SLICE_NONE;
}

static bool ours(const struct rules *r, const char *path)
{
	_cleanup_(freep) char *name = bare(path);
	struct ignore *ig = ignore_new();
	bool ignored;

	assert_int_equal(ignore_push(ig, "", r->of[0]), 0);
	for (char *slash = name; (slash = strchr(slash, '/')); *slash++ = '/') {
		*slash = '\0';
		assert_int_equal(ignore_push(ig, name, rules_of(r, name)), 0);
	}
	ignored = ignore_match(ig, name, is_dir(path));
	ignore_free(ig);
	return ignored;
}

static bool listed(const struct buf *out, const char *name)
{
	size_t n;

	for (size_t i = 0; i < out->len; i += n + 1) {
		n = strlen(out->data + i);
		if (strcmp(out->data + i, name) == 0)
			return true;
	}
	return false;
}

/* Returns how many paths are ignored. */
static unsigned check_case(const struct rules *r, const char *what)
{
	_cleanup_(buf_done) struct buf out = { 0 };
	unsigned ignored = 0;
	char file[64];
	int status;

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		snprintf(file, sizeof(file), "repo/%s/.gitignore", dirs[i]);
		scratch_write(file, r->of[i].p, r->of[i].n);
	}
	status = git_run("repo", "git check-ignore -z --stdin <../paths");
	if (status > 1)
		fail_msg("%s: git check-ignore: %d", what, status);
	assert_int_equal(file_read(scratch_path("out"), 1 << 20, &out), 0);
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		_cleanup_(freep) char *name = bare(paths[i]);
		bool theirs = listed(&out, name);

		if (ours(r, paths[i]) != theirs)
			fail_msg("%s: [%.*s] [%.*s] [%.*s]: git %s %s", what, (int)r->of[0].n,
				 r->of[0].p, (int)r->of[1].n, r->of[1].p, (int)r->of[2].n,
				 r->of[2].p, theirs ? "ignores" : "does not ignore", name);
		ignored += theirs;
	}
	return ignored;
}

static void test_chosen(void **state _unused_)
{
	unsigned ignored = 0;

	for (size_t i = 0; i < ARRAY_SIZE(chosen); i++)
		ignored += check_case(&(struct rules){ { slice_of(chosen[i]) } }, "chosen");
	print_message("%zu cases, %zu paths each, %u ignored\n", ARRAY_SIZE(chosen),
		      ARRAY_SIZE(paths), ignored);
}

static void put_pattern(struct buf *b, uint64_t *seed)
{
	static const char *const tokens[] = {
		"a",  "b",   "c",   "a", "b",	"x",	       "y", ".c",    "*",    "*",
		"**", "/",   "/",   "/", "**/", "/**",	       "?", "[a-c]", "[!a]", "[/]",
		"\\", "\\a", "\\/", " ", "\\ ", "[[:alpha:]]", "]", "foo",   "bar",
	};

	if (!random_below(seed, 5))
		buf_putc(b, '!');
	for (uint32_t i = 1 + random_below(seed, 6); i > 0; i--)
		buf_puts(b, tokens[random_below(seed, ARRAY_SIZE(tokens))]);
	buf_puts(b, random_below(seed, 10) ? "\n" : "\r\n");
}

static void test_random(void **state _unused_)
{
	unsigned ignored = 0;

	for (unsigned i = 1; i <= RANDOM_CASES; i++) {
		struct buf text[ARRAY_SIZE(dirs)] = { 0 };
		struct rules r = { 0 };
		uint64_t seed = i;
		char what[32];

		for (size_t d = 0; d < ARRAY_SIZE(dirs); d++) {
			for (uint32_t n = random_below(&seed, d ? 3 : 6); n > 0; n--)
				put_pattern(&text[d], &seed);
			r.of[d] = buf_slice(&text[d]);
		}
		snprintf(what, sizeof(what), "seed %u", i);
		ignored += check_case(&r, what);
		for (size_t d = 0; d < ARRAY_SIZE(dirs); d++)
			buf_done(&text[d]);
	}
	print_message("seeds 1 to %d: %u ignored\n", RANDOM_CASES, ignored);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chosen),
		cmocka_unit_test(test_random),
	};

	return RUN(tests, make_tree, scratch_done);
}
