/*
 * input.c - ACP content blocks as Codex's UserInput[]. What Codex has no input for reaches the model as text.
 *
 * A text that cannot be decoded fails the whole prompt: a model must not answer half of what was said.
 */
#include "harnesses/codex/internal.h"

#include "harnesses/adapter.h"

static void put_input_text(struct jw *w, const struct buf *text)
{
	/* Must fail the prompt (codex_input_put) and not shorten it. */
	w->b->failed |= text->failed;
	jw_object(w, NULL, JW_STR("type", "text"), JW_SLICE("text", buf_slice(text)),
		  JW_RAW("text_elements", SLICE("[]")));
}

static void put_text_block(struct jw *w, struct slice block)
{
	jw_object(w, NULL, JW_STR("type", "text"), JW_RAW("text", jobj_get(block, "text").raw),
		  JW_RAW("text_elements", SLICE("[]")));
}

static void put_image(struct jw *w, struct slice block)
{
	_cleanup_(buf_done) struct buf url = { 0 };

	/* A data URL (RFC 2397), see README.md. */
	buf_puts(&url, "data:");
	harness_add_text(&url, jobj_get(block, "mimeType"));
	buf_puts(&url, ";base64,");
	harness_add_text(&url, jobj_get(block, "data"));
	w->b->failed |= url.failed;
	jw_object(w, NULL, JW_STR("type", "image"), JW_SLICE("url", buf_slice(&url)));
}

static void put_input_link(struct jw *w, struct slice block)
{
	struct jval uri = jobj_get(block, "uri"), name = jobj_get(block, "name");
	_cleanup_(buf_done) struct buf b = { 0 };

	buf_puts(&b, "[@");
	harness_add_text(&b, name.type == J_STRING ? name : uri);
	buf_puts(&b, "](");
	harness_add_text(&b, uri);
	buf_puts(&b, ")");
	put_input_text(w, &b);
}

static void put_input_resource(struct jw *w, struct slice block)
{
	struct slice resource = jobj_get(block, "resource").raw;
	struct jval text = jobj_get(resource, "text");
	_cleanup_(buf_done) struct buf b = { 0 };

	if (text.type != J_STRING) { /* bytes: the model can learn their origin */
		put_input_link(w, resource);
		return;
	}
	buf_puts(&b, "<context ref=\"");
	harness_add_text(&b, jobj_get(resource, "uri"));
	buf_puts(&b, "\">\n");
	harness_add_text(&b, text);
	buf_puts(&b, "\n</context>");
	put_input_text(w, &b);
}

static const struct {
	const char *type;
	void (*put)(struct jw *w, struct slice block);
} blocks[] = {
	{ "text", put_text_block },
	{ "image", put_image },
	{ "resource_link", put_input_link },
	{ "resource", put_input_resource },
};

static void put_input_block(struct jw *w, struct jval v)
{
	for (size_t i = 0; i < ARRAY_SIZE(blocks); i++)
		if (v.type == J_OBJECT && jstr_is(jobj_get(v.raw, "type"), blocks[i].type))
			blocks[i].put(w, v.raw);
}

int codex_input_put(struct jw *w, const char *key, struct slice content, struct err *e)
{
	jw_arr(w, key);
	jarr_each_at(i, v, content) {
		put_input_block(w, v);
		if (w->b->failed)
			return harness_refuse_block(i, e);
	}
	jw_end_arr(w);
	return 0;
}
