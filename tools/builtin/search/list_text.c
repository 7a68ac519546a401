/* list_text.c - what a model is shown of lists: names, contents, matches, files of a patch. */
#include "base/limits.h"
#include "json/json.h"
#include "tools/builtin/core/model_text.h"

#include <inttypes.h>

static void list_text_put_name(struct buf *out, struct slice object, const char *key)
{
	_cleanup_(buf_done) struct buf name = { 0 };

	model_text_member(object, key, &name);
	model_text_name(out, buf_slice(&name));
}

/* Call it after each element. False: it did not fit, and was removed again. */
static bool still_fits(struct buf *out, size_t before, int64_t shown, size_t room)
{
	/* The first element stays even if it is too long, so the text is never empty. */
	if (buf_len(out) <= room || !shown)
		return true;
	out->len = out->pos + before;
	return false;
}

/* --- listFiles -------------------------------------------------------------------------------------------------- */

static void list_text_put_entry(struct buf *out, struct slice e)
{
	list_text_put_name(out, e, "path");
	if (jobj_is_true(e, "isDirectory"))
		buf_putc(out, '/');
	if (jobj_get(e, "symlinkTarget").type == J_STRING) {
		buf_puts(out, " -> ");
		list_text_put_name(out, e, "symlinkTarget");
	} else if (!jobj_is_true(e, "isDirectory")) {
		buf_printf(out, "  %" PRId64, jobj_int(e, "size"));
	}
	buf_putc(out, '\n');
}

void list_text_files(struct buf *out, struct slice object, size_t room)
{
	int64_t shown = 0, all = 0;

	jarr_each(v, jobj_get(object, "files")) {
		size_t before = buf_len(out);

		/* Counts all, and stops to show with the first that does not fit, so no later
		 * one stands in its place. */
		if (++all > shown + 1 || shown >= TOOL_SHOW_LINES)
			continue;
		list_text_put_entry(out, v.raw);
		shown += still_fits(out, before, shown, room);
	}
	if (!all)
		buf_puts(out, "[nothing]\n");
	if (shown < all) {
		buf_printf(out,
			   "[%" PRId64 " more of this page are not shown: ask with limit: %" PRId64
			   ", then with the cursor that it gives]\n",
			   all - shown, shown);
	} else if (jobj_is_true(object, "truncated")) {
		buf_puts(out, "[there is more: ask with cursor: ");
		model_text_member(object, "nextCursor", out);
		buf_puts(out, "]\n");
	}
}

/* --- readFiles -------------------------------------------------------------------------------------------------- */

static void put_rest(struct buf *out, struct slice f, const struct model_text_lines *l, size_t n)
{
	if (l->used < n || jobj_is_true(f, "truncated"))
		buf_printf(out, "[not all of it: read on with readFile, startLine: %" PRId64 "]\n",
			   l->shown + 1);
}

static void list_text_put_content(struct buf *out, struct slice f, size_t room)
{
	_cleanup_(buf_done) struct buf text = { 0 };
	struct model_text_lines l = { .first = 1, .most = TOOL_SHOW_LINES };

	buf_puts(out, "==> ");
	list_text_put_name(out, f, "path");
	buf_printf(out, "  %" PRId64 "\n", jobj_int(f, "size"));
	model_text_member(f, "content", &text);
	if (slice_is(jobj_get(f, "encoding").raw, "\"base64\"")) {
		buf_puts(out, "[no text]\n");
		return;
	}
	/* What the files before have left. */
	l.bytes = room - MIN(buf_len(out), room);
	model_text_lines(out, buf_slice(&text), &l);
	put_rest(out, f, &l, buf_len(&text));
}

void list_text_contents(struct buf *out, struct slice object, size_t room)
{
	int64_t shown = 0;

	jarr_each(v, jobj_get(object, "files")) {
		if (buf_len(out) >= room)
			break;
		list_text_put_content(out, v.raw, room);
		shown++;
	}
	if (!jobj_int(object, "matched"))
		buf_puts(out, "[no file matches]\n");
	else if (shown < jobj_int(object, "matched"))
		buf_printf(out,
			   "[%" PRId64
			   " more files match: narrow glob, or read them by readFile]\n",
			   jobj_int(object, "matched") - shown);
}

/* --- grep ------------------------------------------------------------------------------------------------------- */

static void put_hit(struct buf *out, struct slice m, const char *key, int64_t number, char mark)
{
	_cleanup_(buf_done) struct buf text = { 0 };
	struct slice s;
	size_t n;

	if (key)
		model_text_member(m, key, &text);
	s = key ? buf_slice(&text) : m;
	n = model_text_cut(s, TOOL_SHOW_MATCH);
	buf_printf(out, "%" PRId64 "%c", number, mark);
	buf_add(out, s.p, n);
	buf_puts(out, n < s.n || (key && jobj_is_true(m, "lineTruncated")) ? " [cut]\n" : "\n");
}

static void put_around(struct buf *out, struct slice m, const char *key, int64_t number)
{
	jarr_each(v, jobj_get(m, key)) {
		_cleanup_(buf_done) struct buf text = { 0 };

		jstr_decode_bytes(v, &text);
		put_hit(out, buf_slice(&text), NULL, number++, '-');
	}
}

/* The path stands once above its matches, as in the output of ripgrep on a terminal. */
static void put_match(struct buf *out, struct slice m, struct slice *path)
{
	struct slice now = jobj_get(m, "path").raw;
	int64_t line = jobj_int(m, "line");
	bool around = jobj_get(m, "before").type == J_ARRAY;

	if (!slice_eq(now, *path)) {
		buf_puts(out, path->n ? "\n" : "");
		list_text_put_name(out, m, "path");
		buf_putc(out, '\n');
	} else if (around) {
		buf_puts(out, "--\n");
	}
	*path = now;
	put_around(out, m, "before", line - (int64_t)jarr_length(jobj_get(m, "before")));
	put_hit(out, m, "text", line, ':');
	put_around(out, m, "after", line + 1);
}

void list_text_matches(struct buf *out, struct slice object, size_t room)
{
	int64_t shown = 0, all = (int64_t)jarr_length(jobj_get(object, "matches"));
	struct slice path = SLICE_NONE;

	jarr_each(v, jobj_get(object, "matches")) {
		size_t before = buf_len(out);

		put_match(out, v.raw, &path);
		if (!still_fits(out, before, shown, room))
			break;
		shown++;
	}
	if (!all)
		buf_printf(out, "[no line matches in %" PRId64 " files]\n",
			   jobj_int(object, "filesSearched"));
	else if (shown < all || jobj_is_true(object, "truncated"))
		buf_printf(
			out,
			"[%" PRId64
			" matches are shown; there are more: narrow the pattern, path or include]\n",
			shown);
	if (jobj_get(object, "note").type == J_STRING) {
		buf_putc(out, '[');
		model_text_member(object, "note", out);
		buf_puts(out, "]\n");
	}
}

/* --- applyDiff -------------------------------------------------------------------------------------------------- */

void list_text_patch(struct buf *out, struct slice object, size_t room _unused_)
{
	buf_puts(out, jobj_is_true(object, "dryRun") ? "[dry run: nothing was changed]\n" : "");
	jarr_each(v, jobj_get(object, "files")) {
		model_text_member(v.raw, "status", out);
		buf_putc(out, ' ');
		list_text_put_name(out, v.raw, "path");
		buf_printf(out, "  +%" PRId64 " -%" PRId64 "\n", jobj_int(v.raw, "insertions"),
			   jobj_int(v.raw, "deletions"));
	}
}
