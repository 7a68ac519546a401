/* list_files.c - listFiles: pages of a directory, or of all below it. */
#include "base/limits.h"
#include "digest/base64.h"
#include "tools/builtin/files/file_describe.h"
#include "tools/builtin/core/tool.h"
#include "tools/builtin/search/globs.h"
#include "tools/builtin/core/toolbox.h"
#include "tools/builtin/files/file_walk.h"
#include "tools/builtin/core/model_text.h"

#define PAGE_FULL (-EXFULL)

struct list_page {
	struct builtin_call *call;
	struct globs globs;
	char **extensions;
	char *path, *type;
	int64_t left;
	struct buf last; /* path of the last one given, NUL-terminated */
	struct jw *w;
};

static bool has_extension(char *const *list, const char *name)
{
	size_t n = strlen(name);

	for (; list && *list; list++) {
		const char *ext = **list == '.' ? *list + 1 : *list;
		size_t k = strlen(ext);

		if (n > k && name[n - k - 1] == '.' && strcmp(name + n - k, ext) == 0)
			return true;
	}
	return false;
}

static bool list_files_wants(const struct list_page *l, const struct tree_entry *e)
{
	if (l->globs.n && !globs_match(&l->globs, e->path))
		return false;
	if (l->extensions && !has_extension(l->extensions, e->leaf))
		return false;
	return !l->type || strcmp(l->type, stat_type(&e->sb)) == 0;
}

static void entry_put(struct list_page *l, const struct tree_entry *e)
{
	_cleanup_(freep) char *target = NULL;

	jw_obj(l->w, NULL);
	name_put(l->w, "name", e->leaf);
	file_walk_put_path(l->w, l->path, e->path);
	jw_bool(l->w, "isDirectory", S_ISDIR(e->sb.st_mode));
	jw_str(l->w, "type", stat_type(&e->sb));
	jw_int(l->w, "size", e->sb.st_size);
	jw_int(l->w, "mtime", stat_mtime_ms(&e->sb));
	if (S_ISLNK(e->sb.st_mode))
		target = link_target(e->dir, e->leaf);
	if (target)
		name_put(l->w, "symlinkTarget", target);
	jw_end_obj(l->w);
}

static int list_files_visit(void *ctx, const struct tree_entry *e)
{
	struct list_page *l = ctx;

	if (!list_files_wants(l, e))
		return 0;
	/* Only when there is one more: so truncated is never true for the last page. */
	if (!l->left)
		return PAGE_FULL;
	l->left--;
	entry_put(l, e);
	buf_reset(&l->last);
	/* The cursor is a path, so files that are made or removed between two pages move
	 * nothing. */
	buf_puts(&l->last, e->path);
	buf_putc(&l->last, '\0');
	return 0;
}

/* A cursor is the path that was given last. */
static int get_cursor(const struct builtin_call *c, struct buf *ret, struct err *e)
{
	_cleanup_(freep) char *cursor = tool_arg_str(c, "cursor");

	if (cursor && (base64_decode(slice_of(cursor), ret) < 0 || !buf_len(ret) ||
		       memchr(ret->data, '\0', ret->len) || buf_len(ret) > PATH_BYTES_MAX))
		return err_field(e, "cursor", "INVALID_ARGUMENT", "cursor is none of ours");
	buf_putc(ret, '\0');
	return cursor ? 1 : 0;
}

/* "/" where that is no root: what of it is there for these tools, the roots. Clients list it because it is the
 * default elsewhere. */
static bool is_above_roots(const struct builtin_call *c, const char *path)
{
	char **roots = toolbox_config(c->box)->roots;

	if (!*path || path[strspn(path, "/")])
		return false;
	for (; *roots; roots++)
		if (strcmp(*roots, "/") == 0)
			return false;
	return true;
}

static void list_roots(struct list_page *l)
{
	for (char **root = toolbox_config(l->call->box)->roots; *root; root++) {
		struct tool_path p;
		struct err e;

		/* A root that the policy denies, or that is gone. */
		if (tool_path_find(l->call, *root, TOOL_PATH_STAT, &p, &e) < 0)
			continue;
		jw_obj(l->w, NULL);
		name_put(l->w, "name", strrchr(*root, '/') + 1);
		name_put(l->w, "path", *root);
		jw_bool(l->w, "isDirectory", true);
		jw_str(l->w, "type", stat_type(&p.sb));
		jw_int(l->w, "size", p.sb.st_size);
		jw_int(l->w, "mtime", stat_mtime_ms(&p.sb));
		jw_end_obj(l->w);
		tool_path_done(&p);
	}
}

static int list_files_walk(struct list_page *l, struct err *e)
{
	struct builtin_call *c = l->call;
	bool recursive = tool_arg_bool(c, "recursive", false);
	_cleanup_(buf_done) struct buf cursor = { 0 };
	_cleanup_(freep) char *pattern = tool_arg_str(c, "pattern");
	struct file_walk_options o = { .gitignore = tool_arg_bool(c, "gitignore", false),
				       .no_hidden = !tool_arg_bool(c, "hidden", true),
				       .depth = (unsigned)tool_arg_int(c, "depth",
								       recursive ? 0 : 1) };
	struct tool_path start;
	int r = get_cursor(c, &cursor, e);

	if (r > 0)
		o.after = cursor.data;
	if (r >= 0 && pattern)
		r = globs_add(&l->globs, pattern, "pattern", e);
	if (r >= 0)
		r = tool_path_find(c, l->path, TOOL_PATH_STAT, &start, e);
	if (r < 0)
		return r;
	r = file_walk_below(c, &start, &o, list_files_visit, l, e);
	tool_path_done(&start);
	if (r == -ECANCELED)
		err_set(e, r, 0, "TIMEOUT", "there was no time to list it all");
	return r;
}

static void cursor_put(struct list_page *l)
{
	_cleanup_(buf_done) struct buf text = { 0 };

	/* A path need not be UTF-8, but the text of a cursor must be. */
	base64_encode((struct slice){ l->last.data, l->last.len - 1 }, &text);
	jw_slice(l->w, "nextCursor", buf_slice(&text));
}

static int files_list(struct builtin_call *c, struct jw *w, struct err *e)
{
	struct list_page l = { .call = c,
			       .globs.deep = true,
			       .path = tool_arg_str(c, "path"),
			       .type = tool_arg_str(c, "type"),
			       .extensions = tool_arg_strv(c, "extensions"),
			       .left = tool_arg_int(c, "limit", 0),
			       .w = w };
	int r = 0;

	jw_arr(w, "files");
	if (is_above_roots(c, l.path))
		list_roots(&l);
	else
		r = list_files_walk(&l, e);
	jw_end_arr(w);
	jw_str(w, "path", l.path);
	jw_bool(w, "truncated", r == PAGE_FULL);
	if (r == PAGE_FULL)
		cursor_put(&l);
	globs_done(&l.globs);
	buf_done(&l.last);
	strv_free(l.extensions);
	free_each(l.path, l.type);
	return r == PAGE_FULL ? 0 : r;
}

static const struct tool_field in[] = {
	TF_STRING("path", 0, PATH_TEXT "; \"/\", unless it is a root, has the roots in it",
		  .fallback = "\".\""),
	TF_INT("depth", 0, "how far below: 1 (the default) is what is in the directory itself",
	       .min = 1, .max = PATH_DEPTH_MAX),
	TF_BOOL("recursive", 0, "without depth: everything below", .fallback = "false"),
	TF_BOOL("hidden", 0, "names that begin with a dot, too", .fallback = "true"),
	TF_STRING(
		"pattern", 0,
		"only what matches; without a slash the name at any depth, else the path from the directory",
		.max = 4096),
	TF_STRINGS("extensions", 0, "only names with one of these, with or without the dot",
		   .max = 256),
	TF_STRING("type", 0, "only these", .words = type_words),
	TF_BOOL("gitignore", 0, "leave out what .gitignore files exclude, and .git",
		.fallback = "false"),
	TF_INT("limit", 0, "entries of one page", .min = 1, .max = TOOL_LIST_PAGE_MAX,
	       .fallback = NUMBER(TOOL_LIST_PAGE)),
	TF_STRING("cursor", 0,
		  "nextCursor of the page before, with the other arguments as they were",
		  .max = 8192),
	{ 0 },
};

static const struct tool_field entry_out[] = {
	TF_STRING("name", TOOL_REQUIRED, "last part of path"),
	TF_STRING("nameBase64", 0, "its bytes, if they are no UTF-8"),
	TF_STRING("path", TOOL_REQUIRED, "path as given, and below it"),
	TF_STRING("pathBase64", 0, "its bytes, if they are no UTF-8"),
	TF_BOOL("isDirectory", TOOL_REQUIRED, "of itself, not of what a link leads to"),
	TF_STRING("type", TOOL_REQUIRED, "of itself", .words = type_words),
	TF_INT("size", TOOL_REQUIRED, "bytes"),
	TF_INT("mtime", TOOL_REQUIRED, "last change in ms since 1970"),
	TF_STRING("symlinkTarget", 0, "of a link, as it says"),
	TF_STRING("symlinkTargetBase64", 0, "its bytes, if they are no UTF-8"),
	{ 0 },
};

static const struct tool_field out_fields[] = {
	TF_OBJECTS("files", TOOL_REQUIRED,
		   "in the order of their names, a directory before what is in it",
		   .sub = entry_out),
	TF_STRING("path", TOOL_REQUIRED, "as it was given"),
	TF_BOOL("truncated", 0, "there is more: ask with nextCursor"),
	TF_STRING("nextCursor", 0, "cursor of the next page"),
	{ 0 },
};

const struct builtin_tool list_tools[] = {
	BUILTIN_TOOL(
		"listFiles", "List files",
		"Lists a directory, or all below it, page by page: what is there all the time is given exactly once.",
		CATEGORY_READ, HINT_READ_ONLY | HINT_IDEMPOTENT, in, out_fields,
		.show = list_text_files, .result = files_list),
	{ 0 },
};
