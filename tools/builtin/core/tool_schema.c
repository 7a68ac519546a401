/*
 * tool_schema.c - prints the table of a tool as JSON Schema 2020-12, and the tool as a row of
 * tools/list.
 *
 * tool_args.c enforces the same table: a new type or flag needs a change in both. Every output
 * schema also allows a lone `error`, because clients validate error results, too. An object takes
 * no other members (additionalProperties), as the check of arguments does.
 */
#include "tools/builtin/core/toolbox_internal.h"

static const char *const type_names[] = {
	[TOOL_STRING] = "string", [TOOL_INT] = "integer", [TOOL_BOOL] = "boolean",
	[TOOL_STRINGS] = "array", [TOOL_MAP] = "object",  [TOOL_OBJECT] = "object",
	[TOOL_OBJECTS] = "array", [TOOL_ANY] = NULL,
};

const struct tool_field tool_common[] = {
	TF_STRING("sandboxId", 0, "id of this sandbox; may be left out"),
	{ 0 },
};

static void object_put(struct jw *w, const struct tool_field *fields,
		       const struct tool_field *more);

/* 0 in a row means that there is no limit. */
static void bounds_put(struct jw *w, const struct tool_field *f, const char *most)
{
	if (f->max)
		jw_int(w, most, f->max);
}

static void type_put(struct jw *w, const struct tool_field *f)
{
	const char *name = type_names[f->type];

	if (!name)
		return;
	if (!(f->flags & (TOOL_NULLABLE | TOOL_TIME))) {
		jw_str(w, "type", name);
		return;
	}
	jw_arr(w, "type");
	jw_str(w, NULL, name);
	jw_str(w, NULL, f->flags & TOOL_TIME ? "string" : "null");
	jw_end_arr(w);
}

static void words_put(struct jw *w, const char *const *words)
{
	jw_arr(w, "enum");
	for (; *words; words++)
		jw_str(w, NULL, *words);
	jw_end_arr(w);
}

static void string_items_put(struct jw *w, const char *key)
{
	jw_object(w, key, JW_STR("type", "string"));
}

static void details_put(struct jw *w, const struct tool_field *f)
{
	switch (f->type) {
	case TOOL_STRING:
		if (f->min)
			jw_int(w, "minLength", f->min);
		bounds_put(w, f, "maxLength");
		if (f->words)
			words_put(w, f->words);
		break;
	case TOOL_INT:
		if (f->min || f->max) {
			jw_int(w, "minimum", f->min);
			jw_int(w, "maximum", f->max);
		}
		break;
	case TOOL_STRINGS:
		bounds_put(w, f, "maxItems");
		string_items_put(w, "items");
		break;
	case TOOL_MAP:
		bounds_put(w, f, "maxProperties");
		string_items_put(w, "additionalProperties");
		break;
	case TOOL_OBJECT:
		object_put(w, f->sub, NULL);
		break;
	case TOOL_OBJECTS:
		bounds_put(w, f, "maxItems");
		jw_obj(w, "items");
		jw_str(w, "type", "object");
		object_put(w, f->sub, NULL);
		jw_end_obj(w);
		break;
	case TOOL_BOOL:
	case TOOL_ANY:
		break;
	}
}

static void field_put(struct jw *w, const struct tool_field *f)
{
	jw_obj(w, f->name);
	type_put(w, f);
	jw_str(w, "description", f->text);
	details_put(w, f);
	if (f->fallback)
		jw_raw(w, "default", slice_of(f->fallback));
	jw_end_obj(w);
}

static void required_put(struct jw *w, const struct tool_field *fields)
{
	jw_arr(w, "required");
	for (const struct tool_field *f = fields; f->name; f++)
		if (f->flags & TOOL_REQUIRED)
			jw_str(w, NULL, f->name);
	jw_end_arr(w);
}

static bool has_required_field(const struct tool_field *f)
{
	for (; f->name; f++)
		if (f->flags & TOOL_REQUIRED)
			return true;
	return false;
}

static void properties_put(struct jw *w, const struct tool_field *fields,
			   const struct tool_field *more)
{
	jw_obj(w, "properties");
	for (const struct tool_field *f = fields; f->name; f++)
		field_put(w, f);
	for (const struct tool_field *f = more; f && f->name; f++)
		field_put(w, f);
	jw_end_obj(w);
}

static void object_put(struct jw *w, const struct tool_field *fields, const struct tool_field *more)
{
	properties_put(w, fields, more);
	if (has_required_field(fields))
		required_put(w, fields);
	jw_bool(w, "additionalProperties", false);
}

/* The error form that every output may have. Clients check error results against the schema as well. */
static void error_put(struct jw *w, const struct tool_field *fields)
{
	static const char error[] =
		"{\"type\":\"object\",\"description\":\"only if the call failed\","
		"\"properties\":{\"code\":{\"type\":\"string\"},\"message\":{\"type\":\"string\"},"
		"\"field\":{\"type\":\"string\"}},\"required\":[\"code\",\"message\"]}";

	jw_obj(w, "properties");
	for (const struct tool_field *f = fields; f->name; f++)
		field_put(w, f);
	jw_raw(w, "error", slice_of(error));
	jw_end_obj(w);
	jw_bool(w, "additionalProperties", false);
	jw_arr(w, "anyOf");
	jw_raw(w, NULL, SLICE("{\"required\":[\"error\"]}"));
	jw_obj(w, NULL);
	required_put(w, fields);
	jw_end_obj(w);
	jw_end_arr(w);
}

static void tool_schema_put(struct jw *w, const char *key, const struct builtin_tool *t,
			    bool output)
{
	jw_obj(w, key);
	jw_str(w, "type", "object");
	if (output)
		error_put(w, t->out);
	else
		object_put(w, t->in, tool_common);
	jw_end_obj(w);
}

static void annotations_put(struct jw *w, const struct builtin_tool *t)
{
	jw_object(w, "annotations", JW_STR("title", t->title),
		  JW_BOOL("readOnlyHint", t->hints & HINT_READ_ONLY),
		  JW_BOOL("destructiveHint", t->hints & HINT_DESTRUCTIVE),
		  JW_BOOL("idempotentHint", t->hints & HINT_IDEMPOTENT),
		  JW_BOOL("openWorldHint", t->hints & HINT_OPEN_WORLD));
}

void tool_put(struct jw *w, const struct builtin_tool *t, bool output)
{
	jw_obj(w, NULL);
	jw_str(w, "name", t->name);
	jw_str(w, "title", t->title);
	jw_str(w, "description", t->text);
	tool_schema_put(w, "inputSchema", t, false);
	if (output)
		tool_schema_put(w, "outputSchema", t, true);
	annotations_put(w, t);
	jw_end_obj(w);
}
