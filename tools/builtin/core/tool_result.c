/* tool_result.c - how a call ends: its result for programs and for models, or its error. */
#include "base/limits.h"
#include "base/format/utf8.h"
#include "digest/base64.h"
#include "tools/builtin/core/toolbox_internal.h"
#include "tools/builtin/core/model_text.h"

struct answer {
	struct slice structured, text; /* raw object; plain */
	const struct tool_image *image;
	struct slice meta; /* raw object, or empty */
	bool error;
};

static void tool_result_put_text(struct jw *w, struct slice text)
{
	jw_object(w, NULL, JW_STR("type", "text"), JW_SLICE("text", text));
}

static void image_put(struct jw *w, const struct tool_image *image)
{
	_cleanup_(buf_done) struct buf coded = { .max = 2 * TOOL_IMAGE_MAX };

	base64_encode(image->bytes, &coded);
	jw_object(w, NULL, JW_STR("type", "image"), JW_SLICE("data", buf_slice(&coded)),
		  JW_STR("mimeType", image->type));
}

/* {"content":[text, image?],"structuredContent":S} */
static void tool_result_put(const struct toolbox_call *c, struct buf *out, const struct answer *a)
{
	struct jw w = JW(out);

	jw_obj(&w, NULL);
	jw_str(&w, "resultType", "complete");
	jw_arr(&w, "content");
	tool_result_put_text(&w, a->text);
	if (a->image)
		image_put(&w, a->image);
	jw_end_arr(&w);
	if (!c->text_only)
		jw_raw(&w, "structuredContent", a->structured);
	if (a->error)
		jw_bool(&w, "isError", true);
	jw_raw(&w, "_meta", a->meta);
	jw_end_obj(&w);
}

static void artifact_put(struct buf *out, const struct tool_artifact *a)
{
	_cleanup_(buf_done) struct buf coded = { 0 };
	bool plain = utf8_valid(a->bytes) && !memchr(a->bytes.p, 0, a->bytes.n);
	struct jw w = JW(out);

	if (!plain)
		base64_encode(a->bytes, &coded);
	jw_object(&w, NULL,
		  JW_OBJ("acpd",
			 JW_OBJ("artifact", JW_STR("name", a->name), JW_STR("type", a->type),
				JW_SLICE(plain ? "text" : "base64",
					 plain ? a->bytes : buf_slice(&coded)))));
}

/* What a model reads: the tool's own words, else those of its row, else a line for each member. */
static void shown_put(const struct toolbox_call *c, const struct tool_result *r,
		      struct slice object, struct buf *text)
{
	const struct builtin_tool *t = c->tool.tool;

	text->max = TOOL_RESULT_MAX;
	if (r->text.n)
		buf_add_slice(text, r->text);
	else if (t->show)
		t->show(text, object, c->text_max);
	else
		model_text_plain(text, object);
	model_text_limit(text, c->text_max);
}

size_t tool_room(const struct builtin_call *t)
{
	return container_of(t, const struct toolbox_call, tool)->text_max;
}

void tool_answer(struct builtin_call *t, const struct tool_result *r)
{
	_cleanup_(buf_done) struct buf object = { 0 }, text = { 0 }, meta = { 0 };
	const struct tool_artifact *a = r->artifact;
	const struct toolbox_call *c = toolbox_call_of(t);
	struct buf out = { 0 };
	struct err e;
	size_t size;

	buf_putc(&object, '{');
	/* A result above the limit is refused below; until then it is an empty object for
	 * `show`. */
	if (r->members.n <= TOOL_RESULT_MAX)
		buf_add_slice(&object, r->members);
	buf_putc(&object, '}');
	shown_put(c, r, buf_slice(&object), &text);
	/* The size of what the client gets. */
	size = c->text_only ? buf_len(&text) : r->members.n;
	if (r->members.n > TOOL_RESULT_MAX ||
	    (c->result_max >= 0 && size > (size_t)c->result_max)) {
		err_set(&e, -E2BIG, 0, "RESULT_TOO_LARGE", "the result has %zu bytes", size);
		tool_fail(t, &e, SLICE_NONE);
		return;
	}
	/* Without a session there is no gate that would take the file out of the result. */
	if (a && a->bytes.n && a->bytes.n <= ARTIFACT_INLINE_MAX && t->box->config.session)
		artifact_put(&meta, a);
	tool_result_put(c, &out,
			&(struct answer){ buf_slice(&object), buf_slice(&text), r->image,
					  buf_slice(&meta), false });
	toolbox_call_post(toolbox_call_of(t), EVENT_RESULT, &out);
}

void tool_done(struct builtin_call *t, struct slice members)
{
	tool_answer(t, &(struct tool_result){ .members = members });
}

void tool_done_with(struct builtin_call *t, struct slice members, const struct tool_artifact *a)
{
	tool_answer(t, &(struct tool_result){ .members = members, .artifact = a });
}

void toolbox_error_put(const struct toolbox_call *c, const struct err *e, struct slice extra,
		       struct buf *out)
{
	_cleanup_(buf_done) struct buf object = { 0 }, text = { 0 };
	struct jw w = JW(&object);

	jw_obj(&w, NULL);
	jw_obj(&w, "error");
	jw_str(&w, "code", e->reason);
	jw_str(&w, "message", e->msg);
	jw_str(&w, "field", *e->field ? e->field : NULL);
	if (extra.n) {
		buf_putc(&object, ',');
		buf_add_slice(&object, extra);
	}
	jw_end_obj(&w);
	jw_end_obj(&w);
	model_text_error(&text, jobj_get(buf_slice(&object), "error").raw);
	model_text_limit(&text, c->text_max);
	tool_result_put(c, out,
			&(struct answer){ .structured = buf_slice(&object),
					  .text = buf_slice(&text),
					  .error = true });
}

void tool_fail(struct builtin_call *t, const struct err *e, struct slice extra)
{
	struct buf out = { 0 };

	/* A failed tool has a result with isError, which models read. EVENT_ERROR is for errors of
	 * JSON-RPC. */
	toolbox_error_put(toolbox_call_of(t), e, extra, &out);
	toolbox_call_post(toolbox_call_of(t), EVENT_RESULT, &out);
}

/* Errors that no tool documents are EIO. */
int tool_errno(struct err *e, int code, const char *what, const char *path)
{
	static const struct {
		int code;
		const char *name;
	} names[] = {
		{ ENOENT, "ENOENT" },	    { EEXIST, "EEXIST" },
		{ EISDIR, "EISDIR" },	    { ENOTDIR, "ENOTDIR" },
		{ ENOTEMPTY, "ENOTEMPTY" }, { EACCES, "EACCES" },
		{ EPERM, "EACCES" },	    { ELOOP, "ELOOP" },
		{ ENOSPC, "ENOSPC" },	    { EDQUOT, "ENOSPC" },
		{ EROFS, "READ_ONLY" },	    { ENAMETOOLONG, "ENAMETOOLONG" },
		{ ESTALE, "ESTALE" },	    { EBUSY, "EBUSY" },
		{ EMFILE, "EMFILE" },	    { ENFILE, "EMFILE" },
		{ ENOMEM, "ENOMEM" },	    { E2BIG, "TOO_LARGE" },
		{ ECANCELED, "CANCELLED" },
	};
	int n = code < 0 ? -code : code;
	const char *name = "EIO";

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (names[i].code == n)
			name = names[i].name;
	err_set(e, -n, 0, name, "%s %.120s: %s", what, path, strerrordesc_np(n));
	return -n;
}
