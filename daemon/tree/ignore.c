/*
 * ignore.c - a stack of parsed .gitignore files, one level for each directory of the current walk.
 *
 * Only the .gitignore files that the caller passes count: never .git/info/exclude, anybody's global excludes, or any
 * other file that a .git in the tree names, because that directory belongs to the user who worked there.
 *
 * Patterns point into one copy of the file's text. A path is tested from the deepest level up and
 * from the last line of a level up, and the first match decides: that is git's precedence. The
 * workspace's user writes these files. So limits apply to the size of a file, the patterns in force
 * and the levels.
 */
#include "tree/ignore.h"

#include "base/limits.h"
#include "base/util.h"
#include "tree/glob.h"

/* One line of a .gitignore. */
struct ignore_pattern {
	struct slice text;
	uint32_t literal; /* bytes of text before the first special one */
	bool negated, only_dir, anchored;
};

struct ignore_level {
	char *text; /* what the patterns point into */
	struct ignore_pattern *patterns;
	size_t n;
	size_t dir_n; /* length of the directory's path */
	bool excluded;
};

struct ignore {
	struct ignore_level *levels;
	size_t n, patterns;
};

struct ignore *ignore_new(void)
{
	return new0(struct ignore);
}

static void level_done(struct ignore_level *l)
{
	free_each(l->text, l->patterns);
	*l = (struct ignore_level){ 0 };
}

struct ignore *ignore_free(struct ignore *ig)
{
	while (ig && ig->n)
		ignore_pop(ig);
	if (ig)
		free(ig->levels);
	free(ig);
	return NULL;
}

/* --- reading --------------------------------------------------------------------------------------------- */

/* Removes spaces at the end, unless there is a backslash before them. */
static struct slice without_spaces(struct slice line)
{
	size_t end = 0;

	for (size_t i = 0; i < line.n; i++) {
		if (line.p[i] == '\\')
			i++;
		else if (line.p[i] == ' ')
			continue;
		end = i + 1;
	}
	return (struct slice){ line.p, MIN(end, line.n) };
}

/* A NUL ends a line for git, which keeps it as a C string. */
static struct slice clean_line(struct slice line)
{
	if (line.n && line.p[line.n - 1] == '\r')
		line.n--;
	line.n = strnlen(line.p, line.n);
	return without_spaces(line);
}

/* False if the line has no pattern. */
static bool parse_line(struct slice line, struct ignore_pattern *ret)
{
	*ret = (struct ignore_pattern){ 0 };
	if (!line.n || line.p[0] == '#')
		return false;
	line = clean_line(line);
	ret->negated = slice_skip(&line, "!");
	if (line.n && line.p[line.n - 1] == '/') {
		line.n--;
		ret->only_dir = true;
	}
	ret->anchored = line.n && memchr(line.p, '/', line.n);
	slice_skip(&line, "/");
	ret->text = line;
	ret->literal = (uint32_t)glob_literal(line);
	return line.n;
}

/* Counts if out is NULL. */
static size_t ignore_parse_all(struct slice rest, struct ignore_pattern *out)
{
	struct ignore_pattern p;
	struct slice line;
	size_t n = 0;

	slice_skip(&rest, "\xef\xbb\xbf");
	while (slice_item(&rest, '\n', &line)) {
		if (!parse_line(line, &p))
			continue;
		if (out)
			out[n] = p;
		n++;
	}
	return n;
}

/* Parsed twice: once to count, so that patterns and text are allocated at their size. */
static int ignore_read_level(struct ignore_level *l, struct slice gitignore)
{
	l->n = ignore_parse_all(gitignore, NULL);
	if (l->n > IGNORE_PATTERNS_MAX)
		return -E2BIG;
	if (!l->n)
		return 0;
	l->text = malloc(gitignore.n);
	l->patterns = calloc(l->n, sizeof(*l->patterns));
	if (!l->text || !l->patterns)
		return -ENOMEM;
	memcpy(l->text, gitignore.p, gitignore.n);
	ignore_parse_all((struct slice){ l->text, gitignore.n }, l->patterns);
	return 0;
}

int ignore_push(struct ignore *ig, const char *dir, struct slice gitignore)
{
	struct ignore_level l = { .dir_n = strlen(dir) };
	int r = gitignore.n > IGNORE_FILE_MAX || ig->n >= IGNORE_LEVELS_MAX ? -E2BIG : 0;

	if (r == 0)
		r = ignore_read_level(&l, gitignore);
	if (r == 0 && ig->patterns + l.n > IGNORE_PATTERNS_MAX)
		r = -E2BIG;
	if (r < 0) {
		level_done(&l);
		return r;
	}
	l.excluded = ig->n && ignore_match(ig, dir, true);
	ig->patterns += l.n;
	*GROW(ig->levels, ig->n) = l;
	return 0;
}

void ignore_pop(struct ignore *ig)
{
	ig->patterns -= ig->levels[--ig->n].n;
	level_done(&ig->levels[ig->n]);
}

/* --- asking ---------------------------------------------------------------------------------------------- */

/* The literal beginning of an anchored pattern is compared and taken off first, so that "**" after it counts as
 * standing at the beginning: "a**" + "/b" matches "ax/y/b". Git does the same. */
static bool pattern_has(const struct ignore_pattern *p, struct slice path, struct slice name)
{
	struct slice text = p->anchored ? path : name;

	if (p->literal > text.n || memcmp(p->text.p, text.p, p->literal) != 0)
		return false;
	if (p->literal == p->text.n)
		return p->text.n == text.n;
	if (!p->anchored)
		return glob_match(p->text, text, false);
	return glob_match(slice_after(p->text, p->literal), slice_after(text, p->literal), true);
}

/* 1 or 0 if a pattern of this level decides, -1 if none does. */
static int level_decides(const struct ignore_level *l, struct slice path, struct slice name,
			 bool is_dir)
{
	for (size_t i = l->n; i-- > 0;) {
		const struct ignore_pattern *p = &l->patterns[i];

		if ((is_dir || !p->only_dir) && pattern_has(p, path, name))
			return !p->negated;
	}
	return -1;
}

bool ignore_match(const struct ignore *ig, const char *path, bool is_dir)
{
	const char *slash = strrchr(path, '/');
	struct slice whole = slice_of(path), name = slice_of(slash ? slash + 1 : path);

	if (ig->n && ig->levels[ig->n - 1].excluded)
		return true;
	for (size_t i = ig->n; i-- > 0;) {
		const struct ignore_level *l = &ig->levels[i];
		size_t skip = l->dir_n ? l->dir_n + 1 : 0;
		int decided = level_decides(l, slice_after(whole, skip), name, is_dir);

		if (decided >= 0)
			return decided;
	}
	return false;
}
