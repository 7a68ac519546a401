/* grep.c - grep: lines that a regular expression matches, in a file or in all below a directory. */
#include "base/os/file.h"
#include "base/limits.h"
#include "base/format/utf8.h"
#include "tools/builtin/files/file_describe.h"
#include "tools/builtin/core/tool.h"
#include "tools/builtin/search/globs.h"
#include "tools/builtin/search/regex.h"
#include "tools/builtin/files/file_walk.h"
#include "tools/builtin/core/model_text.h"

#define BINARY_BYTES (8 * KIB) /* NUL among the first bytes: binary, as git has it */
#define FULL (-EXFULL)

struct grep {
	struct builtin_call *call;
	struct regex *regex;
	struct globs include, exclude;
	char *path;
	int64_t context, per_file, left;
	int64_t searched, with, binary, skipped;
	bool truncated, costly;
	struct jw *w;
};

/* --- lines ---------------------------------------------------------------------------- */

static struct slice line_at(struct slice text, size_t at)
{
	const char *nl = memchr(text.p + at, '\n', text.n - at);
	size_t end = nl ? (size_t)(nl - text.p) : text.n;

	/* CR LF ends a line, too: a pattern with $ must match before the CR. */
	if (end > at && text.p[end - 1] == '\r')
		end--;
	return (struct slice){ text.p + at, end - at };
}

/* Where the line after the one at at begins; text.n: there is none. */
static size_t grep_next_line(struct slice text, size_t at)
{
	const char *nl = memchr(text.p + at, '\n', text.n - at);

	return nl ? (size_t)(nl - text.p) + 1 : text.n;
}

/* at must be the start of a line. 0 for the first one. */
static size_t line_before(struct slice text, size_t at)
{
	const char *nl = at > 1 ? memrchr(text.p, '\n', at - 1) : NULL;

	return nl ? (size_t)(nl - text.p) + 1 : 0;
}

/* UTF-16 units; a byte that is no UTF-8 counts as the one character that shows it. */
static int64_t utf16_units(struct slice s)
{
	const unsigned char *p = (const unsigned char *)s.p;
	int64_t units = 0;

	for (size_t i = 0; i < s.n;) {
		size_t n = p[i] < 0x80 ? 1 : utf8_sequence(p + i, s.n - i);

		units += n == 4 ? 2 : 1;
		i += n ? n : 1;
	}
	return units;
}

/* At most so many bytes of it, whole characters. */
static struct slice shown(struct slice line)
{
	return (struct slice){ line.p, model_text_cut(line, TOOL_GREP_LINE_MAX) };
}

static void before_put(struct grep *g, struct slice text, size_t at)
{
	size_t starts[TOOL_GREP_CONTEXT_MAX], n = 0;

	while ((int64_t)n < g->context && at > 0) {
		at = line_before(text, at);
		starts[n++] = at;
	}
	jw_arr(g->w, "before");
	/* Collected backwards, so written from the end. */
	while (n > 0)
		jw_slice(g->w, NULL, shown(line_at(text, starts[--n])));
	jw_end_arr(g->w);
}

static void after_put(struct grep *g, struct slice text, size_t at)
{
	jw_arr(g->w, "after");
	for (int64_t i = 0; i < g->context; i++) {
		at = grep_next_line(text, at);
		if (at == text.n)
			break;
		jw_slice(g->w, NULL, shown(line_at(text, at)));
	}
	jw_end_arr(g->w);
}

struct hit {
	size_t at, start; /* of the line in the text; of the match in the line */
	int64_t number;
};

static void hit_put(struct grep *g, const char *path, struct slice text, const struct hit *h)
{
	struct slice line = line_at(text, h->at);

	jw_obj(g->w, NULL);
	file_walk_put_path(g->w, g->path, path);
	jw_int(g->w, "line", h->number);
	jw_int(g->w, "column", utf16_units((struct slice){ line.p, h->start }));
	jw_slice(g->w, "text", shown(line));
	if (shown(line).n < line.n)
		jw_bool(g->w, "lineTruncated", true);
	if (g->context) {
		before_put(g, text, h->at);
		after_put(g, text, h->at);
	}
	jw_end_obj(g->w);
}

/* --- files ---------------------------------------------------------------------------- */

static int search_text(struct grep *g, const char *path, struct slice text)
{
	struct hit h = { .number = 1 };
	int64_t left = g->per_file;
	size_t end;

	for (; h.at < text.n && left; h.at = grep_next_line(text, h.at), h.number++) {
		enum regex_found found = regex_find(g->regex, line_at(text, h.at), &h.start, &end);

		/* Looked at now and then only: most files are shorter. */
		if (h.number % 4096 == 0 && tool_cancelled(g->call))
			return -ECANCELED;
		g->costly |= found == REGEX_TOO_COSTLY;
		if (found != REGEX_MATCHED)
			continue;
		/* Checked at a match and not before it, so "truncated" means that there is one
		 * more. */
		if (!g->left)
			return FULL;
		g->left--;
		/* Counts the file once, at its first match. */
		g->with += left-- == g->per_file;
		hit_put(g, path, text, &h);
	}
	return 0;
}

/* path NULL: the one file that was asked for. */
static int search_fd(struct grep *g, const char *path, int fd, const struct stat *sb)
{
	_cleanup_(buf_done) struct buf bytes = { 0 };

	/* A file may also grow between the two checks, so the read has the limit, too. */
	if (sb->st_size > (off_t)TOOL_GREP_FILE_MAX ||
	    file_read_fd(fd, TOOL_GREP_FILE_MAX, &bytes) < 0) {
		g->skipped++;
		return 0;
	}
	if (memchr(buf_len(&bytes) ? bytes.data : "", '\0', MIN(buf_len(&bytes), BINARY_BYTES))) {
		g->binary++;
		return 0;
	}
	g->searched++;
	return buf_len(&bytes) ? search_text(g, path, buf_slice(&bytes)) : 0;
}

static int grep_visit(void *ctx, const struct tree_entry *e)
{
	struct grep *g = ctx;
	_cleanup_(closep) int fd = -1;
	struct stat sb;

	/* 1: the walk does not enter an excluded directory. */
	if (globs_match(&g->exclude, e->path))
		return 1;
	if (!S_ISREG(e->sb.st_mode) || (g->include.n && !globs_match(&g->include, e->path)))
		return 0;
	fd = file_walk_open(e->dir, e->leaf, &sb);
	/* A file that is deleted or not readable is not an error of the search. */
	return fd < 0 ? 0 : search_fd(g, e->path, fd, &sb);
}

static int grep_search_path(struct grep *g, struct tool_path *p, struct err *e)
{
	struct builtin_call *c = g->call;
	struct file_walk_options o = { .gitignore = tool_arg_bool(c, "gitignore", true),
				       .no_hidden = !tool_arg_bool(c, "hidden", true) };
	int fd, r;

	if (S_ISDIR(p->sb.st_mode))
		return file_walk_below(c, p, &o, grep_visit, g, e);
	r = tool_path_judge(c, p->real, TOOL_PATH_READ, e);
	fd = r < 0 ? r : tool_path_open_file(p, g->path, e);
	if (fd < 0)
		return fd;
	r = search_fd(g, NULL, fd, &p->sb);
	close(fd);
	return r;
}

static int globs_arg(struct grep *g, const char *name, struct globs *ret, struct err *e)
{
	char **list = tool_arg_strv(g->call, name);
	int r = 0;

	ret->deep = true;
	for (char **p = list; p && *p && r == 0; p++)
		r = globs_add(ret, *p, name, e);
	strv_free(list);
	return r;
}

static int grep_search(struct grep *g, struct err *e)
{
	struct builtin_call *c = g->call;
	_cleanup_(buf_done) struct buf pattern = { 0 };
	struct tool_path p;
	int r;

	tool_arg_bytes(c, "pattern", &pattern);
	if (memchr(buf_len(&pattern) ? pattern.data : "", '\n', buf_len(&pattern)))
		return err_field(
			e, "pattern", "EUNSUPPORTED_PATTERN",
			"pattern: a line end never matches, lines are searched one by one");
	g->regex = regex_new(buf_slice(&pattern), tool_arg_bool(c, "literal", false),
			     !tool_arg_bool(c, "caseSensitive", true), e);
	r = g->regex ? globs_arg(g, "include", &g->include, e) : -EINVAL;
	if (r == 0)
		r = globs_arg(g, "exclude", &g->exclude, e);
	if (r == 0)
		r = tool_path_find(c, g->path, TOOL_PATH_STAT, &p, e);
	if (r < 0)
		return r;
	r = grep_search_path(g, &p, e);
	tool_path_done(&p);
	/* Out of time: what was found until then is the result. */
	g->truncated = r == FULL || r == -ECANCELED;
	return g->truncated ? 0 : r;
}

static int grep(struct builtin_call *c, struct jw *w, struct err *e)
{
	struct grep g = { .call = c,
			  .path = tool_arg_str(c, "path"),
			  .context = tool_arg_int(c, "contextLines", 0),
			  .per_file = tool_arg_int(c, "maxCountPerFile", INT64_MAX),
			  .left = tool_arg_int(c, "maxMatches", 0),
			  .w = w };
	int r;

	jw_arr(w, "matches");
	r = grep_search(&g, e);
	jw_end_arr(w);
	jw_bool(w, "truncated", g.truncated);
	jw_int(w, "filesSearched", g.searched);
	jw_int(w, "filesWithMatches", g.with);
	jw_int(w, "filesBinary", g.binary);
	jw_int(w, "filesSkipped", g.skipped);
	if (g.costly)
		jw_str(w, "note",
		       "on some lines the pattern took too many steps: they count as not matching");
	if (g.regex)
		regex_free(g.regex);
	globs_done(&g.include);
	globs_done(&g.exclude);
	free(g.path);
	return r;
}

static const struct tool_field in[] = {
	TF_STRING("pattern", TOOL_REQUIRED,
		  "regular expression as in JavaScript or Perl, for single lines", .max = 4096),
	TF_STRING("path", 0, PATH_TEXT "; a file or a directory", .fallback = "\".\""),
	TF_STRINGS("include", 0,
		   "only files that match one of these; without a slash the name at any depth",
		   .max = 64),
	TF_STRINGS("exclude", 0, "neither these nor what is in them", .max = 64),
	TF_BOOL("literal", 0, "pattern is the text itself", .fallback = "false"),
	TF_BOOL("caseSensitive", 0, "a is not A", .fallback = "true"),
	TF_INT("contextLines", 0, "lines shown before and after each", .max = TOOL_GREP_CONTEXT_MAX,
	       .fallback = "0"),
	TF_INT("maxCountPerFile", 0, "matching lines of one file", .min = 1, .max = INT32_MAX),
	TF_INT("maxMatches", 0, "matching lines of all", .min = 1, .max = TOOL_GREP_MATCHES_MAX,
	       .fallback = NUMBER(TOOL_GREP_MATCHES)),
	TF_BOOL("gitignore", 0, "leave out what .gitignore files exclude, and .git",
		.fallback = "true"),
	TF_BOOL("hidden", 0, "names that begin with a dot, too", .fallback = "true"),
	{ 0 },
};

static const struct tool_field match_out[] = {
	TF_STRING("path", TOOL_REQUIRED, "to read it by"),
	TF_STRING("pathBase64", 0, "its bytes, if they are no UTF-8"),
	TF_INT("line", TOOL_REQUIRED, "from 1"),
	TF_INT("column", TOOL_REQUIRED,
	       "where the first match begins in the line: UTF-16 units, from 0"),
	TF_STRING("text", TOOL_REQUIRED, "the line without its end"),
	TF_BOOL("lineTruncated", 0, "text is only its beginning"),
	TF_STRINGS("before", 0, "with contextLines"),
	TF_STRINGS("after", 0, "with contextLines"),
	{ 0 },
};

static const struct tool_field out_fields[] = {
	TF_OBJECTS("matches", TOOL_REQUIRED, "in the order of paths and lines", .sub = match_out),
	TF_BOOL("truncated", TOOL_REQUIRED, "there are more, or the time was over"),
	TF_INT("filesSearched", 0, "how many"),
	TF_INT("filesWithMatches", 0, "of them"),
	TF_INT("filesBinary", 0, "not searched"),
	TF_INT("filesSkipped", 0, "not searched: too large, or not readable"),
	TF_STRING("note", 0, "what else is to be known"),
	{ 0 },
};

const struct builtin_tool grep_tools[] = {
	BUILTIN_TOOL(
		"grep", "Search in files",
		"Finds lines that match a regular expression; a pattern that cannot be understood is EUNSUPPORTED_PATTERN.",
		CATEGORY_READ, HINT_READ_ONLY | HINT_IDEMPOTENT, in, out_fields,
		.show = list_text_matches, .result = grep),
	{ 0 },
};
