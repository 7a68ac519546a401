/*
 * prompt_content.c - checks the content blocks of a prompt, and rewrites image blocks for the
 * harness.
 *
 * The check is complete before the model is called: a block that the provider refuses would break
 * the session's history. With images_alone, bytes that are not a complete image of a known type are
 * refused here. prompt_content_for corrects a wrong mimeType, and delivers a resource with image
 * bytes as an image. It copies nothing if no block changes.
 */
#include "session/core/turn/prompt_content.h"

#include "base/format/image_type.h"
#include "base/limits.h"
#include "digest/base64.h"
#include "json/json.h"

struct block_row {
	const char *type;
	const char *needs[2]; /* required string members */
	size_t cap;	      /* offset of the flag in harness_caps; 0 with baseline */
	bool baseline;
};

static const struct block_row blocks[] = {
	{ "text", { "text" }, 0, true },
	{ "resource_link", { "uri", "name" }, 0, true },
	{ "image", { "data", "mimeType" }, offsetof(struct harness_caps, image), false },
	{ "audio", { "data", "mimeType" }, offsetof(struct harness_caps, audio), false },
	{ "resource", { NULL }, offsetof(struct harness_caps, embedded_context), false },
};

/* --- its bytes -------------------------------------------------------------------------------------------------- */

/* The bytes of an image or of a resource with a blob, as base64; J_NONE: the block has none. */
static struct jval block_bytes(struct slice block)
{
	struct slice resource = jobj_get(block, "resource").raw;

	if (jstr_is(jobj_get(block, "type"), "image"))
		return jobj_get(block, "data");
	if (!jstr_is(jobj_get(block, "type"), "resource") ||
	    jobj_get(resource, "text").type == J_STRING)
		return (struct jval){ J_NONE, SLICE_NONE };
	return jobj_get(resource, "blob");
}

/* NULL: the bytes are not a whole image of a type that models take. */
static const char *image_type(struct jval base64)
{
	_cleanup_(buf_done) struct buf bytes = { 0 };
	_cleanup_(freep) char *text = NULL;
	struct image image;

	if (jstr_decode(base64, base64.raw.n, &text) < 0 ||
	    base64_decode(slice_of(text), &bytes) < 0 ||
	    !image_type_find(buf_slice(&bytes), &image))
		return NULL;
	return image.type;
}

static int check_bytes(struct slice block, const char *path, struct err *e)
{
	struct jval bytes = block_bytes(block);
	_cleanup_(freep) char *mime = NULL;
	struct jval type = jobj_get(block, "mimeType");

	if (bytes.type == J_NONE || image_type(bytes))
		return 0;
	if (type.type != J_STRING)
		type = jobj_get(jobj_get(block, "resource").raw, "mimeType");
	if (jstr_decode(type, PROMPT_MIME_SHOWN_MAX, &mime) < 0)
		xstrset(&mime, "bytes");
	return err_field(
		e, path, "CONTENT_UNSUPPORTED",
		"%s: cannot deliver %s: this harness takes text and whole PNG, JPEG, GIF or "
		"WebP images as base64; put the file into the workspace and name its path",
		path, mime);
}

/* --- the check -------------------------------------------------------------------------------------------------- */

static int check_resource(struct jval resource, const char *path, struct err *e)
{
	if (resource.type != J_OBJECT)
		return err_field(e, path, "FIELD_MISSING", "%s: resource must be an object", path);
	if (jobj_get(resource.raw, "uri").type != J_STRING)
		return err_field(e, path, "FIELD_MISSING", "%s: resource.uri must be a string",
				 path);
	if (jobj_get(resource.raw, "text").type != J_STRING &&
	    jobj_get(resource.raw, "blob").type != J_STRING)
		return err_field(e, path, "FIELD_MISSING",
				 "%s: resource.text or resource.blob must be a string", path);
	return 0;
}

static int check_members(const struct block_row *row, struct slice block, const char *path,
			 struct err *e)
{
	for (size_t i = 0; i < ARRAY_SIZE(row->needs) && row->needs[i]; i++)
		if (jobj_get(block, row->needs[i]).type != J_STRING)
			return err_field(e, path, "FIELD_MISSING", "%s: %s must be a string", path,
					 row->needs[i]);
	return strcmp(row->type, "resource") == 0 ?
		       check_resource(jobj_get(block, "resource"), path, e) :
		       0;
}

static const struct block_row *find_row(struct slice block)
{
	struct jval type = jobj_get(block, "type");

	for (size_t i = 0; i < ARRAY_SIZE(blocks); i++)
		if (jstr_is(type, blocks[i].type))
			return &blocks[i];
	return NULL;
}

static int check_block(struct jval v, const struct harness_caps *caps, const char *path,
		       struct err *e)
{
	const struct block_row *row;
	int r;

	if (v.type != J_OBJECT)
		return err_field(e, path, "FIELD_INVALID", "%s must be an object", path);
	row = find_row(v.raw);
	if (!row)
		return err_field(e, path, "CONTENT_UNKNOWN", "%s has no known type", path);
	if (!row->baseline && !*(const bool *)((const char *)caps + row->cap))
		return err_field(e, path, "CAPABILITY_MISSING",
				 "this harness takes no content of type %s", row->type);
	r = check_members(row, v.raw, path, e);
	return r == 0 && caps->images_alone ? check_bytes(v.raw, path, e) : r;
}

int prompt_content_check(struct slice content, const struct harness_caps *caps, struct err *e)
{
	bool any = false;

	jarr_each_at(i, v, content) {
		int r;

		any = true;
		r = check_block(v, caps, SHORT_TEXT(32, "prompt[%zu]", i), e);
		if (r < 0)
			return r;
	}
	return any ? 0 :
		     err_field(e, "prompt", "PROMPT_EMPTY",
			       "prompt must hold at least one content block");
}

/* --- as the harness takes it ------------------------------------------------------------------------------------ */

/* A provider refuses an image whose bytes are of another type than the block says, and with it the session's history. */
static bool put_block(struct jw *w, struct jval v)
{
	struct jval bytes = block_bytes(v.raw);
	const char *type = bytes.type == J_STRING ? image_type(bytes) : NULL;

	if (!type || jstr_is(jobj_get(v.raw, "mimeType"), type)) {
		jw_raw(w, NULL, v.raw);
		return false;
	}
	jw_object(w, NULL, JW_STR("type", "image"), JW_RAW("data", bytes.raw),
		  JW_STR("mimeType", type));
	return true;
}

struct slice prompt_content_for(struct slice content, const struct harness_caps *caps,
				struct buf *buf)
{
	struct jw w = JW(buf);
	bool differs = false;

	if (!caps->images_alone)
		return content;
	jw_arr(&w, NULL);
	jarr_each(v, content)
		differs |= put_block(&w, v);
	jw_end_arr(&w);
	/* If the copy failed, the original is sent: it has passed the check. */
	return differs && !buf->failed ? buf_slice(buf) : content;
}
