/* content.c - content blocks of a prompt against what the harness takes. */
#include "acp/params.h"

#include "json/jstr.h"

#include <stdio.h>

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

static int check_block(struct jval v, const struct harness_caps *caps, const char *path,
		       struct err *e)
{
	const struct block_row *row = NULL;
	struct jval type;

	if (v.type != J_OBJECT)
		return err_field(e, path, "FIELD_INVALID", "%s must be an object", path);
	type = jobj_get(v.raw, "type");
	for (size_t i = 0; i < ARRAY_SIZE(blocks); i++)
		if (jstr_is(type, blocks[i].type))
			row = &blocks[i];
	if (!row)
		return err_field(e, path, "CONTENT_UNKNOWN", "%s has no known type", path);
	if (!row->baseline && !*(const bool *)((const char *)caps + row->cap))
		return err_field(e, path, "CAPABILITY_MISSING",
				 "this harness takes no content of type %s", row->type);
	for (size_t i = 0; i < ARRAY_SIZE(row->needs) && row->needs[i]; i++)
		if (jobj_get(v.raw, row->needs[i]).type != J_STRING)
			return err_field(e, path, "FIELD_MISSING", "%s: %s must be a string", path,
					 row->needs[i]);
	if (strcmp(row->type, "resource") == 0 && jobj_get(v.raw, "resource").type != J_OBJECT)
		return err_field(e, path, "FIELD_MISSING", "%s: resource must be an object", path);
	return 0;
}

int prompt_check(struct slice content, const struct harness_caps *caps, struct err *e)
{
	struct jiter it;
	struct jval v;
	char path[32];
	size_t n = 0;
	int r = 0;

	jiter_init(&it, (struct jval){ J_ARRAY, content });
	for (; r == 0 && jiter_next(&it, NULL, &v); n++) {
		snprintf(path, sizeof(path), "prompt[%zu]", n);
		r = check_block(v, caps, path, e);
	}
	if (r == 0 && n == 0)
		r = err_field(e, "prompt", "PROMPT_EMPTY",
			      "prompt must hold at least one content block");
	return r;
}
