/* schema_fitting.c - keywords: what may stand anywhere in a schema. */
#include "tools/relay/harness/schema_fitting.h"

#include "base/limits.h"
#include "base/util.h"
#include "json/jstr.h"

/* Of JSON: below it a schema allows anything, so that the harness can still read the list. */
#define DEPTH_MAX (JSON_DEPTH_MAX - 12)

/* --- keywords --------------------------------------------------------------------------------------------------- */

static const char *const types[] = { "object", "string",  "number", "integer",
				     "array",  "boolean", "null" };

bool fitting_is_type(struct jval v)
{
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (jstr_is(v, types[i]))
			return true;
	return false;
}

bool fitting_type_has(struct jval type, const char *name)
{
	if (type.type != J_ARRAY)
		return jstr_is(type, name);
	jarr_each(v, type)
		if (jstr_is(v, name))
			return true;
	return false;
}

static void put_type(struct fitting *f, struct slice key, struct jval v)
{
	bool any = v.type == J_STRING && fitting_is_type(v), odd = !any;

	if (v.type == J_ARRAY) {
		odd = false;
		jarr_each(one, v) {
			any |= fitting_is_type(one);
			odd |= !fitting_is_type(one);
		}
	}
	f->changed |= odd || !any;
	if (any && !odd)
		jw_member_raw(&f->w, key, v.raw);
}

static void fitting_put_enum(struct fitting *f, struct slice key, struct jval v)
{
	if (v.type == J_ARRAY && fitting_element(v, "0").type != J_NONE)
		jw_member_raw(&f->w, key, v.raw);
	else
		f->changed = true;
}

static void put_map(struct fitting *f, struct slice key, struct jval v)
{
	if (v.type != J_OBJECT) {
		f->changed = true;
		return;
	}
	jw_member_raw(&f->w, key, SLICE("{"));
	f->w.comma = false;
	jobj_each(name, one, v.raw) {
		if (one.type == J_FALSE) /* it must not be there */
			f->changed = true;
		else
			fitting_put(f, name, one);
	}
	jw_end_obj(&f->w);
}

static void fitting_put_list(struct fitting *f, struct slice key, struct jval v)
{
	if (v.type != J_ARRAY || fitting_element(v, "0").type == J_NONE) {
		f->changed = true;
		return;
	}
	jw_member_raw(&f->w, key, SLICE("["));
	f->w.comma = false;
	jarr_each(one, v)
		fitting_put(f, SLICE_NONE, one);
	jw_end_arr(&f->w);
}

static void put_schema_member(struct fitting *f, struct slice key, struct jval v)
{
	if (v.type == J_OBJECT)
		fitting_put(f, key, v);
	else
		f->changed = true;
}

/* Where a member starts that can only be written as it is. */
struct mark {
	size_t len;
	bool comma, changed;
};

/* Clears `changed`, so that mark_differs tells the changes of this member alone. */
static struct mark mark_start(struct fitting *f)
{
	struct mark m = { f->w.b->len, f->w.comma, f->changed };

	f->changed = false;
	return m;
}

/* Returns whether what has been written since then differs from what was read. */
static bool mark_differs(struct fitting *f, const struct mark *m)
{
	bool differs = f->changed;

	f->changed |= m->changed;
	return differs;
}

static void mark_take_back(struct fitting *f, const struct mark *m)
{
	if (f->w.b->failed)
		return;
	f->w.b->len = m->len;
	f->w.comma = m->comma;
}

/* A rewritten schema allows more. Where the schema around it would then allow less, the member is left out instead. */
static bool put_exact_schema(struct fitting *f, struct slice key, struct jval v)
{
	struct mark m = mark_start(f);

	put_schema_member(f, key, v);
	if (!mark_differs(f, &m))
		return true;
	mark_take_back(f, &m);
	return false;
}

static void put_exact(struct fitting *f, struct slice key, struct jval v)
{
	put_exact_schema(f, key, v);
}

static void put_bool_or_schema(struct fitting *f, struct slice key, struct jval v)
{
	if (v.type == J_TRUE || v.type == J_FALSE)
		jw_member_raw(&f->w, key, v.raw);
	else
		put_schema_member(f, key, v);
}

static void fitting_put_text(struct fitting *f, struct slice key, struct jval v)
{
	if (v.type == J_STRING)
		jw_member_raw(&f->w, key, v.raw);
	else
		f->changed = true;
}

static void fitting_put_number(struct fitting *f, struct slice key, struct jval v)
{
	if (v.type == J_NUMBER)
		jw_member_raw(&f->w, key, v.raw);
	else /* exclusiveMinimum: true, as draft 4 has it */
		f->changed = true;
}

/* Nothing of a model's: it need not be left out if the rest stays as it is. */
static void fitting_skip(struct fitting *f _unused_, struct slice key _unused_,
			 struct jval v _unused_)
{
}

static void fitting_leave_out(struct fitting *f, struct slice key _unused_, struct jval v _unused_)
{
	f->changed = true;
}

/* Those that depend on others of the same schema are written after them: required, items, oneOf, if, unevaluated. */
static const struct keyword {
	const char *name;
	void (*put)(struct fitting *f, struct slice key, struct jval v);
} keywords[] = {
	{ "type", put_type },
	{ "properties", put_map },
	{ "required", fitting_skip },
	{ "items", fitting_skip },
	{ "description", fitting_put_text },
	{ "title", fitting_put_text },
	{ "enum", fitting_put_enum },
	{ "additionalProperties", put_bool_or_schema },
	{ "patternProperties", put_map },
	{ "dependentSchemas", put_map },
	{ "anyOf", fitting_put_list },
	{ "oneOf", fitting_skip },
	{ "allOf", fitting_put_list },
	{ "not", put_exact },
	{ "if", fitting_skip },
	{ "then", fitting_skip },
	{ "else", fitting_skip },
	{ "contains", put_exact }, /* maxContains */
	{ "propertyNames", put_schema_member },
	{ "unevaluatedProperties", fitting_skip },
	{ "unevaluatedItems", fitting_skip },
	{ "format", fitting_put_text },
	{ "pattern", fitting_put_text },
	{ "minimum", fitting_put_number },
	{ "maximum", fitting_put_number },
	{ "exclusiveMinimum", fitting_put_number },
	{ "exclusiveMaximum", fitting_put_number },
	{ "multipleOf", fitting_put_number },
	{ "minLength", fitting_put_number },
	{ "maxLength", fitting_put_number },
	{ "minItems", fitting_put_number },
	{ "maxItems", fitting_put_number },
	{ "minProperties", fitting_put_number },
	{ "maxProperties", fitting_put_number },
	{ "prefixItems", fitting_leave_out },
	{ "additionalItems", fitting_leave_out },
	{ "dependencies", fitting_leave_out },
	{ "$ref", fitting_leave_out },
	{ "$dynamicRef", fitting_leave_out },
	{ "$recursiveRef", fitting_leave_out },
	{ "$schema", fitting_skip },
	{ "$id", fitting_skip },
	{ "id", fitting_skip },
	{ "$defs", fitting_skip },
	{ "definitions", fitting_skip },
	{ "$comment", fitting_skip },
};

static const struct keyword *find_keyword(struct slice key)
{
	for (size_t i = 0; i < ARRAY_SIZE(keywords); i++)
		if (jkey_is(key, keywords[i].name))
			return &keywords[i];
	return NULL;
}

/* A keyword that is not in the table passes unchanged. */
void fitting_put_member(struct fitting *f, struct slice key, struct jval v)
{
	const struct keyword *k = find_keyword(key);

	if (k)
		k->put(f, key, v);
	else
		jw_member_raw(&f->w, key, v.raw);
}

bool fitting_has(struct fitting *f, struct slice object, struct slice name)
{
	_cleanup_(freep) char *text = NULL;
	enum jtype type;

	if (!fitting_may_look(f, object.n))
		return true;
	if (jstr_decode(jkey_string(name), name.n + 2, &text) < 0)
		return false;
	type = jobj_get(object, text).type;
	return type != J_NONE && type != J_FALSE;
}

/* Of the names only those that are properties: some providers refuse others. */
static void put_required(struct fitting *f, struct jval v, struct jval properties)
{
	bool any = false;

	f->changed |= v.type != J_NONE && v.type != J_ARRAY;
	jarr_each(name, v) {
		struct slice inner = { name.raw.p + 1, name.raw.n - 2 };

		if (name.type != J_STRING || !fitting_has(f, properties.raw, inner)) {
			f->changed = true;
			continue;
		}
		if (!any)
			jw_arr(&f->w, "required");
		any = true;
		jw_raw(&f->w, NULL, name.raw);
	}
	if (any)
		jw_end_arr(&f->w);
}

/* Providers want the items of each array, as one schema. Beside prefixItems they are only the rest of them. */
static void fitting_put_items(struct fitting *f, struct slice schema)
{
	struct jval items = jobj_get(schema, "items");

	if (items.type == J_OBJECT && jobj_get(schema, "prefixItems").type == J_NONE) {
		fitting_put(f, SLICE("items"), items);
	} else if (items.type != J_NONE || fitting_type_has(jobj_get(schema, "type"), "array")) {
		jw_raw(&f->w, "items", SLICE("{}"));
		f->changed = true;
	}
}

/* A value that fits one schema can fit several once they are rewritten: then oneOf becomes anyOf. */
static void put_one_of(struct fitting *f, struct slice schema)
{
	struct jval list = jobj_get(schema, "oneOf");
	struct mark m = mark_start(f);
	struct buf *b = f->w.b;

	if (list.type != J_NONE)
		fitting_put_list(f, SLICE("oneOf"), list);
	if (!mark_differs(f, &m) || b->failed || b->len == m.len)
		return;
	if (jobj_get(schema, "anyOf").type == J_NONE)
		/* Both names have five letters, and stand behind the comma and the quote. */
		memcpy(b->data + m.len + (m.comma ? 2 : 1), "anyOf", 5);
	else
		mark_take_back(f, &m);
}

/* Without if, then and else mean nothing. */
static void put_condition(struct fitting *f, struct slice schema)
{
	static const char *const outcomes[] = { "then", "else" };
	struct jval v = jobj_get(schema, "if");

	if (v.type == J_NONE || !put_exact_schema(f, SLICE("if"), v))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(outcomes); i++) {
		v = jobj_get(schema, outcomes[i]);
		if (v.type != J_NONE)
			put_schema_member(f, slice_of(outcomes[i]), v);
	}
}

void fitting_put_unevaluated(struct fitting *f, struct slice schema)
{
	static const char *const names[] = { "unevaluatedProperties", "unevaluatedItems" };

	/* What counts as evaluated depends on the rest, so with any change they could refuse
	 * what was allowed. */
	for (size_t i = 0; i < ARRAY_SIZE(names) && !f->changed; i++) {
		struct jval v = jobj_get(schema, names[i]);

		if (v.type != J_NONE)
			put_bool_or_schema(f, slice_of(names[i]), v);
	}
}

/* Without description if it has been written already. */
static void fitting_put_members(struct fitting *f, struct slice schema, bool described)
{
	struct mark m = mark_start(f);

	jobj_each(key, v, schema)
		if (!described || !jkey_is(key, "description"))
			fitting_put_member(f, key, v);
	put_required(f, jobj_get(schema, "required"), jobj_get(schema, "properties"));
	fitting_put_items(f, schema);
	put_one_of(f, schema);
	put_condition(f, schema);
	fitting_put_unevaluated(f, schema);
	mark_differs(f, &m);
}

/* What is said of a reference stays beside what it refers to. */
static void put_referred(struct fitting *f, struct slice schema)
{
	struct jval about = jobj_get(schema, "description"),
		    target = fitting_open(f, jobj_get(schema, "$ref"));

	f->changed = true;
	if (about.type == J_STRING)
		jw_raw(&f->w, "description", about.raw);
	if (target.type == J_NONE)
		return;
	if (target.type == J_OBJECT && jobj_get(target.raw, "$ref").type == J_STRING)
		put_referred(f, target.raw);
	else if (target.type == J_OBJECT)
		fitting_put_members(f, target.raw, about.type == J_STRING);
	fitting_close(f);
}

void fitting_put(struct fitting *f, struct slice key, struct jval v)
{
	bool deep = f->depth + 2 > DEPTH_MAX;

	if (f->w.b->failed)
		return;
	f->changed |= v.type != J_OBJECT || deep;
	if (key.n)
		jw_member_raw(&f->w, key, SLICE("{"));
	else
		jw_raw(&f->w, NULL, SLICE("{"));
	f->w.comma = false;
	f->depth += 2;
	if (v.type != J_OBJECT || deep)
		;
	else if (jobj_get(v.raw, "$ref").type == J_STRING)
		put_referred(f, v.raw);
	else
		fitting_put_members(f, v.raw, false);
	f->depth -= 2;
	jw_end_obj(&f->w);
}
