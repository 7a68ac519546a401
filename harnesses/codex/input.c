/* input.c - ACP content blocks as Codex's UserInput[]. What Codex has no input for reaches the model as text. */
#include "harnesses/codex/internal.h"

static void put_text(struct jw *w, struct slice text)
{
	jw_obj(w, NULL);
	jw_str(w, "type", "text");
	jw_slice(w, "text", text);
	jw_raw(w, "text_elements", SLICE("[]"));
	jw_end_obj(w);
}

static void put_text_block(struct jw *w, struct slice block)
{
	jw_obj(w, NULL);
	jw_str(w, "type", "text");
	jw_raw(w, "text", jobj_get(block, "text").raw);
	jw_raw(w, "text_elements", SLICE("[]"));
	jw_end_obj(w);
}

static void put_image(struct jw *w, struct slice block)
{
	_cleanup_(freep) char *mime = codex_str(block, "mimeType"),
			      *data = codex_str(block, "data");
	_cleanup_(buf_done) struct buf url = { 0 };

	if (!mime || !data)
		return;
	buf_printf(&url, "data:%s;base64,", mime);
	buf_puts(&url, data);
	jw_obj(w, NULL);
	jw_str(w, "type", "image");
	jw_slice(w, "url", buf_slice(&url));
	jw_end_obj(w);
}

static void put_link(struct jw *w, struct slice block)
{
	_cleanup_(freep) char *uri = codex_str(block, "uri"), *name = codex_str(block, "name");
	_cleanup_(buf_done) struct buf b = { 0 };

	if (!uri)
		return;
	buf_puts(&b, "[@");
	buf_puts(&b, name ? name : uri);
	buf_puts(&b, "](");
	buf_puts(&b, uri);
	buf_puts(&b, ")");
	put_text(w, buf_slice(&b));
}

static void put_resource(struct jw *w, struct slice block)
{
	struct slice resource = jobj_get(block, "resource").raw;
	_cleanup_(freep) char *uri = codex_str(resource, "uri"),
			      *text = codex_str(resource, "text");
	_cleanup_(buf_done) struct buf b = { 0 };

	if (!text) { /* bytes: the model can learn their origin */
		put_link(w, resource);
		return;
	}
	buf_puts(&b, "<context ref=\"");
	buf_puts(&b, uri ? uri : "");
	buf_puts(&b, "\">\n");
	buf_puts(&b, text);
	buf_puts(&b, "\n</context>");
	put_text(w, buf_slice(&b));
}

static const struct {
	const char *type;
	void (*put)(struct jw *w, struct slice block);
} blocks[] = {
	{ "text", put_text_block },
	{ "image", put_image },
	{ "resource_link", put_link },
	{ "resource", put_resource },
};

void codex_input_put(struct jw *w, const char *key, struct slice content)
{
	struct jiter it;
	struct jval v;

	jw_arr(w, key);
	if (content.n && jiter_init(&it, (struct jval){ J_ARRAY, content }))
		while (jiter_next(&it, NULL, &v))
			for (size_t i = 0; i < ARRAY_SIZE(blocks); i++)
				if (v.type == J_OBJECT &&
				    jstr_is(jobj_get(v.raw, "type"), blocks[i].type))
					blocks[i].put(w, v.raw);
	jw_end_arr(w);
}
