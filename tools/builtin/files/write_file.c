/* write_file.c - writeFile and writeFiles. */
#include "base/format/digits.h"
#include "base/limits.h"
#include "digest/base64.h"
#include "json/jstr.h"
#include "tools/builtin/files/file_describe.h"
#include "tools/builtin/core/tool.h"
#include "tools/builtin/files/write_lock.h"

struct write_item {
	char *path;
	struct buf bytes;
	struct atomic_write_options how;
	bool parents;
	struct tool_path_entry at;
	struct stat old, now;
	struct err e; /* reason empty: written */
};

static void item_done(struct write_item *it)
{
	free(it->path);
	buf_done(&it->bytes);
	tool_path_entry_done(&it->at);
}

/* --- one file -------------------------------------------------------------------------------------------------- */

static int write_item_decode(struct jval content, bool base64, struct buf *ret, struct err *e)
{
	_cleanup_(buf_done) struct buf text = { 0 };

	if (!base64)
		return jstr_decode_bytes(content, ret);
	if (jstr_decode_bytes(content, &text) < 0 || base64_decode(buf_slice(&text), ret) < 0)
		return err_field(e, "content", "INVALID_ARGUMENT", "content is no base64");
	return 0;
}

/* content, or data as writeFiles of some sandboxes calls it. */
static int get_content(struct slice object, struct buf *ret, struct err *e)
{
	struct jval content = jobj_get(object, "content"), data = jobj_get(object, "data");

	if ((content.type == J_STRING) == (data.type == J_STRING))
		return err_field(e, "content", "INVALID_ARGUMENT", "%s",
				 content.type == J_STRING ? "content and data are both given" :
							    "content is missing");
	return write_item_decode(content.type == J_STRING ? content : data,
				 jstr_is(jobj_get(object, "encoding"), "base64"), ret, e);
}

/* Finds the place, and checks that it may be written. Nothing is changed. */
static int write_item_check(struct builtin_call *c, struct write_item *it, struct err *e)
{
	size_t n = strlen(it->path);
	int r;

	/* A slash at the end says that it is a directory. */
	if (n && it->path[n - 1] == '/')
		return tool_errno(e, EISDIR, "cannot write", it->path);
	if (it->parents)
		r = tool_path_entry_parents(c, it->path, TOOL_PATH_WRITE, true, &it->at, e);
	else
		r = tool_path_entry(c, it->path, TOOL_PATH_WRITE, true, &it->at, e);
	if (r == 0)
		r = atomic_write_check(&it->at, it->path, &it->old, e);
	if (r == 0 && it->how.exclusive && it->old.st_nlink)
		r = tool_errno(e, EEXIST, "cannot write", it->path);
	return r;
}

/* The file may have changed since the check, so it is checked again under the lock. */
static int write_item(struct builtin_call *c, struct write_item *it, struct err *e)
{
	_cleanup_(write_lock_releasep) struct write_lock *g = NULL;
	int r = 0;

	/* Parents are missing: the check only found where they would be. */
	if (it->at.dir < 0 && !it->how.dry) {
		tool_path_entry_done(&it->at);
		r = tool_path_entry_parents(c, it->path, TOOL_PATH_WRITE, false, &it->at, e);
	}
	if (r == 0)
		r = write_lock_take(c, &it->at.dir, 1, &g, e);
	if (r == 0)
		r = atomic_write_check(&it->at, it->path, &it->old, e);
	if (r == 0)
		r = version_check(c, it->old.st_nlink ? &it->old : NULL, it->path, e);
	return r < 0 ? r :
		       atomic_write(c, &it->at, it->path, buf_slice(&it->bytes), &it->how, &it->old,
				    &it->now, e);
}

/* 3.0 is an integer, too. The table has checked its range. */
static mode_t write_item_mode(struct jval v)
{
	uint64_t mode = 0;

	if (v.type == J_NUMBER)
		u64_take(&v.raw, 4, &mode);
	return (mode_t)mode;
}

/* --- writeFile --------------------------------------------------------------------------------------------------- */

static int write_one(struct builtin_call *c, struct jw *w, struct err *e)
{
	struct write_item it = { .path = tool_arg_str(c, "path"),
				 .parents = tool_arg_bool(c, "createParents", true),
				 .how = { .mode = (mode_t)tool_arg_int(c, "mode", 0),
					  .exclusive = !tool_arg_bool(c, "overwrite", true),
					  .sync = tool_arg_bool(c, "fsync", false),
					  .dry = c->dry_run },
				 .at = TOOL_PATH_ENTRY_NONE };
	int r = get_content(c->args, &it.bytes, e);

	if (r == 0)
		r = write_item_check(c, &it, e);
	if (r == 0)
		r = write_item(c, &it, e);
	jw_bool(w, "success", true);
	jw_str(w, "path", it.path);
	jw_int(w, "bytesWritten", (int64_t)buf_len(&it.bytes));
	jw_bool(w, "created", !it.old.st_nlink);
	if (c->dry_run)
		jw_bool(w, "dryRun", true);
	else
		stat_put_version(w, &it.now);
	item_done(&it);
	return r;
}

/* --- writeFiles ---------------------------------------------------------------------- */

static int item_get(struct builtin_call *c, struct slice object, struct write_item *it,
		    struct err *e)
{
	it->at = TOOL_PATH_ENTRY_NONE;
	it->parents = tool_arg_bool(c, "createParents", true);
	it->how = (struct atomic_write_options){ .mode = write_item_mode(jobj_get(object, "mode")),
						 .sync = tool_arg_bool(c, "fsync", false),
						 .dry = c->dry_run };
	jstr_decode(jobj_get(object, "path"), MESSAGE_MAX, &it->path);
	return get_content(object, &it->bytes, e);
}

/* By their real paths: two paths may lead to one file. Files that share an inode by hard links
 * differ here. */
static int check_twice(const struct write_item *items, size_t n, struct err *e)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(items[i].at.real, items[n].at.real) == 0)
			return err_field(e, "path", "DUPLICATE_PATH",
					 "%.120s is the same file as files[%zu]", items[n].path, i);
	return 0;
}

/* Checks everything first: with one bad path of ten, nothing is written. */
static int write_files_check(struct builtin_call *c, struct write_item *items, size_t *n,
			     struct err *e)
{
	char field[96];

	jarr_each(v, tool_arg(c, "files")) {
		struct write_item *item = &items[(*n)++];
		int r = item_get(c, v.raw, item, e);

		if (r == 0)
			r = write_item_check(c, item, e);
		if (r == 0)
			r = check_twice(items, *n - 1, e);
		if (r == 0)
			continue;
		snprintf(field, sizeof(field), "files[%zu].%.60s", *n - 1,
			 *e->field ? e->field : "path");
		snprintf(e->field, sizeof(e->field), "%s", field);
		return r;
	}
	return 0;
}

static void write_item_put(struct jw *w, const struct write_item *it)
{
	jw_obj(w, NULL);
	jw_str(w, "path", it->path);
	jw_bool(w, "success", !*it->e.reason);
	if (*it->e.reason) {
		jw_str(w, "code", it->e.reason);
		jw_str(w, "message", it->e.msg);
	} else {
		jw_int(w, "bytesWritten", (int64_t)buf_len(&it->bytes));
		if (!it->how.dry)
			stat_put_version(w, &it->now);
	}
	jw_end_obj(w);
}

/* Also after failures an ordinary result, because some files are written. */
static void write_files_put(struct jw *w, const struct write_item *items, size_t n, size_t failed,
			    bool dry)
{
	jw_bool(w, "success", !failed);
	jw_arr(w, "filesWritten");
	for (size_t i = 0; i < n; i++)
		if (!*items[i].e.reason)
			jw_str(w, NULL, items[i].path);
	jw_end_arr(w);
	jw_arr(w, "results");
	for (size_t i = 0; i < n; i++)
		write_item_put(w, &items[i]);
	jw_end_arr(w);
	if (failed)
		jw_str(w, "note",
		       "what was written before a failure stays: nothing is rolled back");
	if (dry)
		jw_bool(w, "dryRun", true);
}

static void write_next(struct builtin_call *c, struct write_item *it)
{
	struct err e;

	if (tool_cancelled(c))
		err_set(&it->e, -ECANCELED, 0, "CANCELLED", "the call was ended");
	else if (write_item(c, it, &e) < 0)
		it->e = e;
}

static int write_many(struct builtin_call *c, struct jw *w, struct err *e)
{
	struct write_item *items = xalloc(TOOL_FILES_MAX * sizeof(*items));
	size_t n = 0, failed = 0;
	int r = write_files_check(c, items, &n, e);

	for (size_t i = 0; r == 0 && i < n; i++) {
		write_next(c, &items[i]);
		failed += *items[i].e.reason != '\0';
	}
	write_files_put(w, items, n, failed, c->dry_run);
	for (size_t i = 0; i < n; i++)
		item_done(&items[i]);
	free(items);
	return r;
}

/* --- tables -------------------------------------------------------------------------- */

#define CONTENT(flags_) TF_STRING("content", TOOL_BYTES | (flags_), "the whole new content")
#define ENCODING                                                                                   \
	TF_STRING("encoding", 0, "of content: base64 for bytes that are no text",                  \
		  .fallback = "\"utf-8\"", .words = encoding_words)
#define MODE                                                                                             \
	TF_INT("mode", 0,                                                                                \
	       "permission bits as a number (420 is 0644); default: those it has, or 0666 by the umask", \
	       .min = 1, .max = 0777)
#define PARENTS TF_BOOL("createParents", 0, "make missing directories above", .fallback = "true")
#define FSYNC TF_BOOL("fsync", 0, "on the disk before the answer", .fallback = "false")
#define DRY_RUN TF_BOOL("dryRun", 0, "true: nothing was changed")

static const struct tool_field write_in[] = {
	TF_STRING("path", TOOL_REQUIRED, PATH_TEXT),
	CONTENT(TOOL_REQUIRED),
	ENCODING,
	MODE,
	PARENTS,
	TF_BOOL("overwrite", 0, "false: EEXIST if there is one", .fallback = "true"),
	FSYNC,
	VERSION_IN,
	{ 0 },
};

static const struct tool_field write_out[] = {
	TF_BOOL("success", TOOL_REQUIRED, "true"),
	TF_STRING("path", TOOL_REQUIRED, "as it was given"),
	TF_INT("bytesWritten", 0, "size of the file"),
	TF_BOOL("created", 0, "there was none before"),
	VERSION_OUT,
	DRY_RUN,
	{ 0 },
};

static const struct tool_field file_in[] = {
	TF_STRING("path", TOOL_REQUIRED, PATH_TEXT),
	TF_STRING("data", TOOL_BYTES, "the whole new content"),
	CONTENT(0),
	ENCODING,
	MODE,
	{ 0 },
};

static const struct tool_field many_in[] = {
	TF_OBJECTS("files", TOOL_REQUIRED, "each with data or content, which mean the same",
		   .max = TOOL_FILES_MAX, .sub = file_in),
	PARENTS,
	FSYNC,
	{ 0 },
};

static const struct tool_field result_out[] = {
	TF_STRING("path", TOOL_REQUIRED, "as it was given"),
	TF_BOOL("success", TOOL_REQUIRED, "it was written"),
	TF_STRING("code", 0, "why not"),
	TF_STRING("message", 0, "the same in words"),
	TF_INT("bytesWritten", 0, "size of the file"),
	VERSION_OUT,
	{ 0 },
};

static const struct tool_field many_out[] = {
	TF_BOOL("success", TOOL_REQUIRED, "all were written"),
	TF_STRINGS("filesWritten", TOOL_REQUIRED, "paths"),
	TF_OBJECTS("results", 0, "of each, in the order given", .sub = result_out),
	TF_STRING("note", 0, "after a failure: what became of the others"),
	DRY_RUN,
	{ 0 },
};

const struct builtin_tool write_tools[] = {
	BUILTIN_TOOL(
		"writeFile", "Write a file",
		"Makes or replaces a file, atomically: there is the old or the new content, never a part.",
		CATEGORY_EDIT, HINT_DESTRUCTIVE | HINT_IDEMPOTENT, write_in, write_out,
		.result = write_one),
	BUILTIN_TOOL(
		"writeFiles", "Write several files",
		"Every path is checked before any file is written; each file is written atomically. If writing one fails, the others stay: nothing is rolled back.",
		CATEGORY_EDIT, HINT_DESTRUCTIVE | HINT_IDEMPOTENT, many_in, many_out,
		.result = write_many),
	{ 0 },
};
