/* edit_file.c - editFile: one text for another, exactly as often as meant. */
#include "base/os/file.h"
#include "base/limits.h"
#include "diff/ends.h"
#include "json/jstr.h"
#include "tools/builtin/files/file_describe.h"
#include "tools/builtin/core/tool.h"
#include "tools/builtin/files/write_lock.h"

struct edit {
	struct buf old, new, text, result;
	bool all;
	size_t count, edits;
	int64_t line; /* of the first */
};

static const char *edit_find(const struct edit *ed, const char *from)
{
	const char *end = ed->text.data + ed->text.len;

	return memmem(from, (size_t)(end - from), ed->old.data + ed->old.pos, buf_len(&ed->old));
}

/* Also those that overlap: "aa" is in "aaa" twice, so it is not clear which one is meant. */
static size_t occurrences(const struct edit *ed)
{
	size_t n = 0;

	for (const char *p = edit_find(ed, ed->text.data); p; p = edit_find(ed, p + 1))
		n++;
	return n;
}

static int64_t edit_line_of(const struct edit *ed, const char *at)
{
	int64_t n = 1;

	for (const char *p = ed->text.data; p < at; p++)
		n += *p == '\n';
	return n;
}

static void edit_replace(struct edit *ed)
{
	const char *from = ed->text.data, *at;
	size_t n = 0;

	while ((at = edit_find(ed, from))) {
		ed->count++;
		/* Only the first place of the first edit is reported. */
		if (!n++ && ed->edits <= 1)
			ed->line = edit_line_of(ed, at);
		buf_add(&ed->result, from, (size_t)(at - from));
		buf_add_slice(&ed->result, buf_slice(&ed->new));
		from = at + buf_len(&ed->old);
	}
	buf_add(&ed->result, from, (size_t)(ed->text.data + ed->text.len - from));
}

/* Several edits are one: each sees what those before it have left, and the file is only written when all have found
 * their place. */
static int apply_one(struct edit *ed, const char *path, struct err *e)
{
	size_t n;

	if (!buf_len(&ed->old))
		return err_field(e, "oldText", "INVALID_ARGUMENT", "oldText is empty");
	/* Models write plain line ends, whatever the file has. */
	if (ends_are_crlf(buf_slice(&ed->text))) {
		ends_to_crlf(&ed->old);
		ends_to_crlf(&ed->new);
	}
	if (slice_eq(buf_slice(&ed->old), buf_slice(&ed->new)))
		return err_field(e, "newText", "NO_CHANGE", "oldText and newText are the same");
	n = buf_len(&ed->text) ? occurrences(ed) : 0;
	if (!n)
		return err_field(e, "oldText", "NO_MATCH", "oldText is not in %.120s", path);
	if (n > 1 && !ed->all)
		return err_field(
			e, "oldText", "NOT_UNIQUE",
			"oldText is in %.100s %zu times: give more of what is around it, or replaceAll",
			path, n);
	edit_replace(ed);
	return ed->result.failed ? tool_errno(e, E2BIG, "cannot edit", path) : 0;
}

static int take_edit(struct slice object, struct edit *ed, struct err *e)
{
	struct jval old = jobj_get(object, "oldText"), new = jobj_get(object, "newText");

	buf_reset(&ed->old);
	buf_reset(&ed->new);
	ed->all = jobj_get(object, "replaceAll").type == J_TRUE;
	if (old.type != J_STRING || new.type != J_STRING)
		return err_field(e, old.type != J_STRING ? "oldText" : "newText",
				 "INVALID_ARGUMENT", "%s is missing",
				 old.type != J_STRING ? "oldText" : "newText");
	jstr_decode_bytes(old, &ed->old);
	jstr_decode_bytes(new, &ed->new);
	return 0;
}

/* What one edit made is what the next one finds. */
static void next_edit(struct edit *ed)
{
	buf_done(&ed->text);
	ed->text = ed->result;
	ed->result = (struct buf){ .max = TOOL_EDIT_MAX + 8192 };
}

static int edit_apply(struct builtin_call *c, struct edit *ed, const char *path, struct err *e)
{
	struct jval edits = tool_arg(c, "edits");
	char field[96];
	int r = 0;

	if (edits.type != J_ARRAY) {
		r = take_edit(c->args, ed, e);
		return r < 0 ? r : apply_one(ed, path, e);
	}
	if (tool_arg(c, "oldText").type || tool_arg(c, "newText").type ||
	    tool_arg(c, "replaceAll").type == J_TRUE)
		return err_field(e, "edits", "INVALID_ARGUMENT",
				 "give edits, or oldText and newText, not both");
	jarr_each(v, edits) {
		if (ed->edits++)
			next_edit(ed);
		r = take_edit(v.raw, ed, e);
		if (r == 0)
			r = apply_one(ed, path, e);
		if (r < 0)
			break;
	}
	if (r < 0) {
		snprintf(field, sizeof(field), "edits[%zu].%.60s", ed->edits - 1,
			 *e->field ? e->field : "oldText");
		snprintf(e->field, sizeof(e->field), "%s", field);
	} else if (!ed->edits) {
		r = err_field(e, "edits", "INVALID_ARGUMENT", "edits is empty");
	}
	return r;
}

static int edit_load(struct builtin_call *c, const char *path, const struct stat *old,
		     struct edit *ed, struct err *e)
{
	struct tool_path p;
	int r = tool_path_find(c, path, TOOL_PATH_READ, &p, e), fd;

	if (r < 0)
		return r;
	fd = tool_path_open_file(&p, path, e);
	r = fd < 0 ? fd : version_check(c, &p.sb, path, e);
	/* The file is found twice, by its name for writing and by its path for reading: both
	 * must be the same inode. */
	if (r == 0 && (p.sb.st_ino != old->st_ino || p.sb.st_dev != old->st_dev)) {
		err_field(e, "path", "ESTALE", "%.120s was replaced meanwhile", path);
		r = -ESTALE;
	}
	tool_path_done(&p);
	/* A little more than a file may have, so that file_read_fd itself reports one that is
	 * too large. */
	ed->text.max = TOOL_EDIT_MAX + 8192;
	if (r == 0) {
		r = file_read_fd(fd, TOOL_EDIT_MAX, &ed->text);
		if (r < 0)
			tool_errno(e, r, "cannot read", path);
	}
	closep(&fd);
	return r;
}

static int edit(struct builtin_call *c, const char *path, struct edit *ed, bool dry,
		struct stat *now, struct err *e)
{
	_cleanup_(write_lock_releasep) struct write_lock *g = NULL;
	struct atomic_write_options how = { .dry = dry };
	struct tool_path_entry at;
	struct stat old;
	int r = tool_path_entry(c, path, TOOL_PATH_WRITE, true, &at, e);

	if (r < 0)
		return r;
	/* Before the file is read: of two parallel edits the second must find the result of the
	 * first. */
	r = write_lock_take(c, &at.dir, 1, &g, e);
	if (r == 0)
		r = atomic_write_check(&at, path, &old, e);
	if (r == 0 && !old.st_nlink)
		r = tool_errno(e, ENOENT, "cannot edit", path);
	if (r == 0)
		r = edit_load(c, path, &old, ed, e);
	if (r == 0)
		r = edit_apply(c, ed, path, e);
	if (r == 0)
		r = atomic_write(c, &at, path, buf_slice(&ed->result), &how, &old, now, e);
	tool_path_entry_done(&at);
	return r;
}

static void edit_file_work(struct builtin_call *c)
{
	_cleanup_(freep) char *path = tool_arg_str(c, "path");
	_cleanup_(buf_done) struct buf out = { 0 };
	_cleanup_(buf_done) struct buf nearest = { 0 };
	struct edit ed = { 0 };
	bool dry = c->dry_run || tool_arg_bool(c, "dryRun", false);
	struct jw w = JW(&out), near = JW(&nearest);
	struct stat now;
	struct err e;

	if (edit(c, path, &ed, dry, &now, &e) == 0) {
		jw_bool(&w, "success", true);
		jw_str(&w, "path", path);
		jw_int(&w, "replacements", (int64_t)ed.count);
		jw_int(&w, "line", ed.line);
		jw_int(&w, "size", (int64_t)buf_len(&ed.result));
		if (dry)
			jw_bool(&w, "dryRun", true);
		else
			stat_put_version(&w, &now);
		tool_done(c, buf_slice(&out));
	} else {
		if (strcmp(e.reason, "NO_MATCH") == 0)
			nearest_text_put(&near, buf_slice(&ed.text), buf_slice(&ed.old));
		tool_fail(c, &e, buf_slice(&nearest));
	}
	buf_done(&ed.old);
	buf_done(&ed.new);
	buf_done(&ed.text);
	buf_done(&ed.result);
}

static const struct tool_field edit_in[] = {
	TF_STRING("oldText", TOOL_REQUIRED | TOOL_BYTES, "as outside"),
	TF_STRING("newText", TOOL_REQUIRED | TOOL_BYTES, "as outside"),
	TF_BOOL("replaceAll", 0, "as outside", .fallback = "false"),
	{ 0 },
};

static const struct tool_field in[] = {
	TF_STRING("path", TOOL_REQUIRED, PATH_TEXT),
	TF_STRING(
		"oldText", TOOL_BYTES,
		"what is there, to the byte; in a file whose lines end in CR LF a plain line end stands for that"),
	TF_STRING("newText", TOOL_BYTES, "what takes its place"),
	TF_BOOL("replaceAll", 0, "false: oldText must be there exactly once", .fallback = "false"),
	TF_OBJECTS(
		"edits", 0,
		"instead: several, one after the other, all or none; each finds what those before it have left",
		.max = TOOL_EDITS_MAX, .sub = edit_in),
	TF_BOOL("dryRun", 0, "change nothing, only say what would be done", .fallback = "false"),
	VERSION_IN,
	{ 0 },
};

static const struct tool_field out_fields[] = {
	TF_BOOL("success", TOOL_REQUIRED, "true"),
	TF_STRING("path", TOOL_REQUIRED, "as it was given"),
	TF_INT("replacements", TOOL_REQUIRED, "how many"),
	TF_INT("line", 0, "of the first, from 1"),
	TF_INT("size", 0, "bytes of the file now"),
	VERSION_OUT,
	TF_BOOL("dryRun", 0, "true: nothing was changed"),
	{ 0 },
};

const struct builtin_tool edit_tools[] = {
	BUILTIN_TOOL(
		"editFile", "Edit a file",
		"Replaces a text in a file by another: where it is exactly once, or everywhere; or several (edits), all or none. "
		"Atomic; line ends stay as they are. NO_MATCH shows the places that are most like it.",
		CATEGORY_EDIT, HINT_DESTRUCTIVE, in, out_fields, .work = edit_file_work),
	{ 0 },
};
