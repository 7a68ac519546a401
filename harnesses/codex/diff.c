/*
 * diff.c - the patches of a fileChange as ACP diffs. For a new or deleted file Codex sends the text, for a changed one
 * a unified diff: each hunk's two sides become the old and new text, since we may not read the file itself.
 */
#include "harnesses/codex/internal.h"

struct sides {
	struct buf old, new;
	bool any;
};

static void put_sides(struct jw *w, const char *path, const struct slice *old, struct slice new)
{
	jw_obj(w, NULL);
	jw_str(w, "type", "diff");
	jw_str(w, "path", path);
	/* A new file has no old text, which ACP writes as null. */
	if (old)
		jw_slice(w, "oldText", *old);
	else
		jw_null(w, "oldText");
	jw_slice(w, "newText", new);
	jw_end_obj(w);
}

static struct slice hunk_side_text(const struct buf *b)
{
	return b->data ? buf_slice(b) : SLICE("");
}

static void end_hunk(struct jw *w, const char *path, struct sides *s)
{
	struct slice old = hunk_side_text(&s->old);

	if (s->any)
		put_sides(w, path, &old, hunk_side_text(&s->new));
	buf_reset(&s->old);
	buf_reset(&s->new);
	s->any = false;
}

/* "\ No newline at end of file" belongs to the line before it. */
static void drop_newline(struct buf *b)
{
	if (b->len > b->pos && b->data[b->len - 1] == '\n')
		b->len--;
}

static void put_hunk_line(struct sides *s, char before, char last, struct slice line)
{
	if (before == '\\') {
		/* After a context line both sides end without a newline. */
		if (last != '+')
			drop_newline(&s->old);
		if (last != '-')
			drop_newline(&s->new);
		return;
	}
	s->any = true;
	if (before != '+')
		buf_add_slice(&s->old, line);
	if (before != '-')
		buf_add_slice(&s->new, line);
}

static void put_hunks(struct jw *w, const char *path, struct slice diff)
{
	struct sides s = { 0 };
	bool inside = false;
	char last = '\0';

	while (diff.n) {
		size_t n = slice_line(diff);

		/* Lines before the first hunk ("---", "+++") are not part of either side. */
		if (slice_starts(diff, "@@")) {
			end_hunk(w, path, &s);
			inside = true;
		} else if (inside && strchr(" +-\\", diff.p[0])) {
			put_hunk_line(&s, diff.p[0], last, (struct slice){ diff.p + 1, n - 1 });
			last = diff.p[0];
		}
		diff = slice_after(diff, n);
	}
	end_hunk(w, path, &s);
	buf_done(&s.old);
	buf_done(&s.new);
}

static void put_file_change(struct jw *w, struct slice change)
{
	struct slice kind = jobj_get(change, "kind").raw;
	struct jval type = jobj_get(kind, "type");
	_cleanup_(freep) char *path = codex_str(change, "path"), *diff = codex_str(change, "diff");
	_cleanup_(freep) char *moved = codex_str(kind, "move_path");
	struct slice text = slice_of(diff);

	if (!path || !diff)
		return;
	if (jstr_is(type, "add"))
		put_sides(w, path, NULL, text);
	else if (jstr_is(type, "delete"))
		put_sides(w, path, &text, SLICE(""));
	else
		/* A moved file is shown under its new path, where it is now. */
		put_hunks(w, moved ? moved : path, text);
}

void codex_diff_put(struct jw *w, struct slice changes)
{
	jarr_each(v, changes)
		if (v.type == J_OBJECT)
			put_file_change(w, v.raw);
}
