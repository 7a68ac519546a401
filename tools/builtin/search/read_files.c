/* read_files.c - readFiles: all files that a pattern matches, within bounds of bytes. */
#include "base/limits.h"
#include "base/format/utf8.h"
#include "tools/builtin/files/file_describe.h"
#include "tools/builtin/core/tool.h"
#include "tools/builtin/search/globs.h"
#include "tools/builtin/files/file_walk.h"
#include "tools/builtin/core/model_text.h"

struct gather {
	struct builtin_call *call;
	struct globs globs;
	char *path; /* where it begins, as it was given; "." is nothing */
	size_t file_max, left;
	int64_t files_max, files, matched;
	bool truncated;
	struct jw *w;
};

/* Text that was cut within a character is text still. */
static void cut_text(struct buf *b)
{
	size_t back = 1;

	if (utf8_valid(buf_slice(b)))
		return;
	while (back < 4 && back < buf_len(b)) {
		struct slice less = { b->data, b->len - back };

		if (utf8_valid(less)) {
			b->len -= back;
			return;
		}
		back++;
	}
}

static void read_files_put(struct gather *g, const struct tree_entry *e, struct buf *bytes,
			   const struct stat *sb)
{
	bool cut = (int64_t)buf_len(bytes) < sb->st_size;

	if (cut)
		cut_text(bytes);
	jw_obj(g->w, NULL);
	file_walk_put_path(g->w, g->path, e->path);
	content_put(g->w, "content", buf_slice(bytes), false);
	jw_int(g->w, "size", sb->st_size);
	jw_bool(g->w, "truncated", cut);
	stat_put_version(g->w, sb);
	jw_end_obj(g->w);
	g->left -= MIN(g->left, buf_len(bytes));
	g->files++;
	g->truncated |= cut;
}

static int read_files_visit(void *ctx, const struct tree_entry *e)
{
	struct gather *g = ctx;
	_cleanup_(closep) int fd = -1;
	_cleanup_(buf_done) struct buf bytes = { 0 };
	struct stat sb;

	if (!S_ISREG(e->sb.st_mode) || !globs_match(&g->globs, e->path))
		return 0;
	g->matched++;
	/* Goes on to count what matches. An empty file needs none of the bytes. */
	if (g->files == g->files_max || (!g->left && e->sb.st_size)) {
		g->truncated = true;
		return 0;
	}
	fd = file_walk_open(e->dir, e->leaf, &sb);
	/* Deleted since, or not readable: it counts as matched and as omitted. */
	if (fd < 0)
		return 0;
	/* After an error the file is given with what was read, and truncated. */
	file_read_part(fd, 0, MIN(g->file_max, g->left), &bytes);
	read_files_put(g, e, &bytes, &sb);
	return 0;
}

static int gather(struct gather *g, struct err *e)
{
	struct builtin_call *c = g->call;
	struct file_walk_options o = { .gitignore = tool_arg_bool(c, "gitignore", true),
				       .no_hidden = !tool_arg_bool(c, "hidden", true) };
	_cleanup_(freep) char *pattern = tool_arg_str(c, "glob");
	struct tool_path start;
	int r = globs_add(&g->globs, pattern, "glob", e);

	if (r == 0)
		r = tool_path_find(c, g->path, TOOL_PATH_STAT, &start, e);
	if (r < 0)
		return r;
	r = file_walk_below(c, &start, &o, read_files_visit, g, e);
	tool_path_done(&start);
	if (r == -ECANCELED)
		g->truncated = true;
	return r == -ECANCELED ? 0 : r;
}

static int read_files(struct builtin_call *c, struct jw *w, struct err *e)
{
	struct gather g = { .call = c,
			    .path = tool_arg_str(c, "path"),
			    .file_max = (size_t)tool_arg_int(c, "maxFileBytes", 0),
			    .left = (size_t)tool_arg_int(c, "maxTotalBytes", 0),
			    .files_max = tool_arg_int(c, "maxFiles", 0),
			    .w = w };
	int r;

	jw_arr(w, "files");
	r = gather(&g, e);
	jw_end_arr(w);
	jw_int(w, "matched", g.matched);
	jw_int(w, "omitted", g.matched - g.files);
	jw_bool(w, "truncated", g.truncated);
	globs_done(&g.globs);
	free(g.path);
	return r;
}

static const struct tool_field in[] = {
	TF_STRING(
		"glob", TOOL_REQUIRED,
		"paths from where it begins: * ? [a-z] {a,b}, ** for any directories; *.c is only those at the beginning",
		.max = 4096),
	TF_STRING("path", 0, "directory where it begins", .fallback = "\".\""),
	TF_INT("maxFileBytes", 0, "of one file", .min = 1, .max = TOOL_FILES_BYTES_MAX,
	       .fallback = NUMBER(TOOL_FILE_BYTES)),
	TF_INT("maxTotalBytes", 0, "of all", .min = 1, .max = TOOL_FILES_BYTES_MAX,
	       .fallback = NUMBER(TOOL_FILES_BYTES)),
	TF_INT("maxFiles", 0, "how many", .min = 1, .max = TOOL_FILES_MAX,
	       .fallback = NUMBER(TOOL_FILES_MAX)),
	TF_BOOL("gitignore", 0, "leave out what .gitignore files exclude, and .git",
		.fallback = "true"),
	TF_BOOL("hidden", 0, "names that begin with a dot, too", .fallback = "true"),
	{ 0 },
};

static const struct tool_field file_out[] = {
	TF_STRING("path", TOOL_REQUIRED, "to read it by"),
	TF_STRING("pathBase64", 0, "its bytes, if they are no UTF-8"),
	TF_STRING("content", TOOL_REQUIRED, "from its beginning"),
	TF_STRING("encoding", TOOL_REQUIRED, "of content: base64 if it is no UTF-8 text",
		  .words = encoding_words),
	TF_INT("size", TOOL_REQUIRED, "bytes of the file"),
	TF_BOOL("truncated", TOOL_REQUIRED, "content is not all of it"),
	VERSION_OUT,
	{ 0 },
};

static const struct tool_field out_fields[] = {
	TF_OBJECTS("files", TOOL_REQUIRED, "in the order of their paths", .sub = file_out),
	TF_INT("matched", TOOL_REQUIRED, "files that the pattern matches"),
	TF_INT("omitted", TOOL_REQUIRED, "of them not in files"),
	TF_BOOL("truncated", TOOL_REQUIRED, "a file is left out or not whole"),
	{ 0 },
};

const struct builtin_tool glob_tools[] = {
	BUILTIN_TOOL(
		"readFiles", "Read files by pattern",
		"Reads all files whose paths match a pattern, in a stable order, within bounds of bytes.",
		CATEGORY_READ, HINT_READ_ONLY | HINT_IDEMPOTENT, in, out_fields,
		.show = list_text_contents, .result = read_files),
	{ 0 },
};
