/* input_schema.c - the top of a schema: an object, whatever its branches are. */
#include "tools/relay/harness/schema_fitting.h"

#include "base/limits.h"
#include "base/util.h"
#include "json/jstr.h"

#define BRANCHES_DEEP 8

static const char *const branches[] = { "allOf", "anyOf", "oneOf" };

/* True if an object can be meant by it. */
static bool means_object(struct slice schema)
{
	struct jval type = jobj_get(schema, "type"), values = jobj_get(schema, "enum"), v;

	if (fitting_is_type(type) ||
	    (type.type == J_ARRAY && fitting_element(type, "0").type != J_NONE))
		return fitting_type_has(type, "object");
	v = jobj_get(schema, "const");
	if (v.type != J_NONE)
		return v.type == J_OBJECT;
	if (values.type != J_ARRAY)
		return true;
	jarr_each(value, values)
		if (value.type == J_OBJECT)
			return true;
	return false;
}

/* Names as the members of an object; the brace that closes it is there only while something is looked for. */
struct names {
	struct buf text;
	struct jw w;
};

/* Those of the first schema are not compared with each other: they are as many as its author wrote. */
static bool names_add(struct fitting *f, struct names *n, struct slice name, bool first)
{
	bool has = false;

	if (!first) {
		buf_putc(&n->text, '}');
		has = n->text.failed || fitting_has(f, buf_slice(&n->text), name);
		n->text.len -= !n->text.failed;
	}
	if (!has)
		jw_member_raw(&n->w, name, SLICE("0"));
	return !has;
}

/* A schema that a property has in branches that not all objects are of. */
struct variant {
	struct slice name;
	struct jval schema;
};

/* The top while the branches are read: the properties written so far, what all objects must have, and the struct variants
 * that are written at the end (failed: there are more). */
struct top {
	struct names properties, required;
	struct buf variants;
};

static size_t variants_len(const struct top *t)
{
	return buf_len(&t->variants) / sizeof(struct variant);
}

static struct variant variant_at(const struct top *t, size_t i)
{
	struct variant v;

	memcpy(&v, t->variants.data + i * sizeof(v), sizeof(v));
	return v;
}

static void variants_add(struct fitting *f, struct top *t, struct slice name, struct jval schema)
{
	struct variant v = { name, schema };

	if (!fitting_may_look(f, buf_len(&t->variants) + schema.raw.n))
		t->variants.failed = true;
	if (t->variants.failed)
		return;
	for (size_t i = 0; i < variants_len(t); i++) {
		struct variant o = variant_at(t, i);

		if (slice_eq(o.name, name) && slice_eq(o.schema.raw, schema.raw))
			return;
	}
	/* The limit of the buffer is TOOL_SCHEMA_VARIANTS_MAX; above it `failed` is set. */
	buf_add(&t->variants, &v, sizeof(v));
}

/* The next variant of a name, from i on; as many as there are if there is none. */
static size_t find_variant(const struct top *t, size_t i, struct slice name)
{
	while (i < variants_len(t) && !slice_eq(variant_at(t, i).name, name))
		i++;
	return i;
}

static void put_any_of(struct fitting *f, const struct top *t, size_t i, struct slice name)
{
	jw_member_raw(&f->w, name, SLICE("{\"anyOf\":["));
	f->w.comma = false;
	f->depth += 2;
	for (; i < variants_len(t); i = find_variant(t, i + 1, name))
		fitting_put(f, SLICE_NONE, variant_at(t, i).schema);
	f->depth -= 2;
	jw_end_arr(&f->w);
	jw_end_obj(&f->w);
}

/* Writes a property by its first variant. It can be anything if not all variants are there. */
static void put_variants_of(struct fitting *f, const struct top *t, size_t i)
{
	struct variant first = variant_at(t, i);

	if (t->variants.failed)
		jw_member_raw(&f->w, first.name, SLICE("{}"));
	else if (find_variant(t, i + 1, first.name) == variants_len(t))
		fitting_put(f, first.name, first.schema);
	else
		put_any_of(f, t, i, first.name);
}

/* Names that all objects have are written already, and each other one with its first variant. */
static void put_variants(struct fitting *f, struct top *t)
{
	for (size_t i = 0; i < variants_len(t); i++)
		if (fitting_may_look(f, buf_len(&t->variants)) &&
		    names_add(f, &t->properties, variant_at(t, i).name, false))
			put_variants_of(f, t, i);
}

static bool put_properties(struct fitting *f, struct top *t, struct slice schema, bool sure,
			   unsigned deep);

/* False: no object fits. */
static bool put_branches(struct fitting *f, struct top *t, struct slice schema, bool sure,
			 unsigned deep)
{
	bool fits = true;

	for (size_t i = 0; i < ARRAY_SIZE(branches); i++) {
		struct jval list = jobj_get(schema, branches[i]);
		/* allOf needs each of its schemas, the others one of them. */
		bool all = i == 0, ok, any = all;

		if (fitting_element(list, "0").type == J_NONE)
			continue;
		f->changed = true;
		jarr_each(v, list) {
			ok = v.type == J_TRUE ||
			     (v.type == J_OBJECT &&
			      put_properties(f, t, v.raw, sure && all, deep + 1));
			any = all ? any && ok : any || ok;
		}
		fits &= any;
	}
	return fits;
}

static bool put_target_properties(struct fitting *f, struct top *t, struct jval ref, bool sure,
				  unsigned deep)
{
	struct jval target = fitting_open(f, ref);
	bool fits;

	f->changed = true;
	if (target.type == J_NONE)
		return true;
	fits = target.type != J_OBJECT || put_properties(f, t, target.raw, sure, deep + 1);
	fitting_close(f);
	return fits;
}

static void add_required(struct fitting *f, struct top *t, struct jval list, bool first)
{
	f->changed |= list.type != J_NONE && list.type != J_ARRAY;
	jarr_each(v, list) {
		struct slice name = { v.raw.p + 1, v.raw.n - 2 };

		if (v.type != J_STRING || !names_add(f, &t->required, name, first))
			f->changed = true;
	}
}

static void put_property(struct fitting *f, struct top *t, struct slice name, struct jval schema,
			 bool sure, bool first)
{
	if (schema.type == J_FALSE)
		f->changed = true;
	else if (!sure)
		variants_add(f, t, name, schema);
	else if (names_add(f, &t->properties, name, first))
		fitting_put(f, name, schema);
	else
		f->changed = true;
}

/* Writes the properties of a schema and of its branches. sure: all objects are of this branch; the properties of the others
 * become variants. False: no object fits. */
static bool put_properties(struct fitting *f, struct top *t, struct slice schema, bool sure,
			   unsigned deep)
{
	struct jval properties = jobj_get(schema, "properties"), ref = jobj_get(schema, "$ref");

	if (deep > BRANCHES_DEEP || f->w.b->failed)
		return true;
	if (ref.type == J_STRING)
		return put_target_properties(f, t, ref, sure, deep);
	jobj_each(key, v, properties.raw)
		put_property(f, t, key, v, sure, !deep);
	if (sure)
		add_required(f, t, jobj_get(schema, "required"), !deep);
	return put_branches(f, t, schema, sure, deep) && means_object(schema);
}

/* Keywords that providers do not take at the top, and those that are written apart. */
static bool is_apart(struct slice key)
{
	static const char *const apart[] = { "type",  "properties", "required", "items", "$ref",
					     "allOf", "anyOf",	    "oneOf",	"enum",	 "const",
					     "not",   "if",	    "then",	"else" };

	for (size_t i = 0; i < ARRAY_SIZE(apart); i++)
		if (jkey_is(key, apart[i]))
			return true;
	return false;
}

/* Writes the members of the top that are not apart. Next to a reference only the description is written: of the other
 * properties that the object may have none is written, so that additionalProperties would refuse them. */
static void put_top_members(struct fitting *f, struct slice schema)
{
	bool refers = jobj_get(schema, "$ref").type == J_STRING;

	jobj_each(key, v, schema)
		if (refers ? jkey_is(key, "description") : !is_apart(key))
			fitting_put_member(f, key, v);
}

static const char *const not_at_top[] = { "$ref", "enum", "const", "not", "if", "then", "else" };

static void input_schema_note_top(struct fitting *f, struct slice schema)
{
	if (!jstr_is(jobj_get(schema, "type"), "object") ||
	    jobj_get(schema, "properties").type != J_OBJECT)
		f->changed = true;
	for (size_t i = 0; i < ARRAY_SIZE(not_at_top); i++)
		f->changed |= jobj_get(schema, not_at_top[i]).type != J_NONE;
	for (size_t i = 0; i < ARRAY_SIZE(branches); i++)
		f->changed |= jobj_get(schema, branches[i]).type != J_NONE;
	f->changed |= jobj_get(schema, "items").type != J_NONE;
}

static void put_all_required(struct fitting *f, const struct top *t)
{
	bool any = false;

	jobj_each(name, v, buf_slice(&t->required.text)) {
		if (!fitting_has(f, buf_slice(&t->properties.text), name)) {
			f->changed = true;
			continue;
		}
		if (!any)
			jw_arr(&f->w, "required");
		any = true;
		jw_raw(&f->w, NULL, jkey_string(name).raw);
	}
	if (any)
		jw_end_arr(&f->w);
}

/* Writes the schema of an object; false: the schema is that of something else. */
static bool input_schema_put_object(struct fitting *f, struct top *t, struct slice schema)
{
	bool fits;

	input_schema_note_top(f, schema);
	jw_obj(&f->w, NULL);
	jw_str(&f->w, "type", "object");
	put_top_members(f, schema);
	jw_obj(&f->w, "properties");
	/* Of the object and its properties, which are open here. */
	f->depth = 2;
	fits = put_properties(f, t, schema, true, 0);
	put_variants(f, t);
	jw_end_obj(&f->w);
	buf_putc(&t->properties.text, '}');
	buf_putc(&t->required.text, '}');
	put_all_required(f, t);
	fitting_put_unevaluated(f, schema);
	jw_end_obj(&f->w);
	return fits && !t->properties.text.failed && !t->required.text.failed;
}

static bool put_top(struct fitting *f, struct slice schema)
{
	struct top t = { .variants.max = TOOL_SCHEMA_VARIANTS_MAX * sizeof(struct variant) };
	bool fits;

	t.properties.w = JW(&t.properties.text);
	t.required.w = JW(&t.required.text);
	buf_putc(&t.properties.text, '{');
	buf_putc(&t.required.text, '{');
	fits = input_schema_put_object(f, &t, schema);
	buf_done(&t.properties.text);
	buf_done(&t.required.text);
	buf_done(&t.variants);
	return fits;
}

/* The tool is left out of the list; why is reported to the session. */
static enum schema_fit unfit(const char **ret_why, const char *why)
{
	*ret_why = why;
	return SCHEMA_UNFIT;
}

enum schema_fit input_schema_fit(struct jval schema, size_t *effort, struct buf *ret,
				 const char **ret_why)
{
	_cleanup_(buf_done) struct buf out = { .max = TOOL_SCHEMA_MAX };
	struct fitting f = { .root = schema.raw, .w = JW(&out), .effort = effort };

	if (schema.type == J_NONE || schema.type == J_NULL || schema.type == J_TRUE) {
		buf_add_slice(ret, SLICE("{\"type\":\"object\",\"properties\":{}}"));
		return SCHEMA_REWRITTEN;
	}
	if (schema.type != J_OBJECT)
		return unfit(ret_why, "inputSchema: not a schema");
	if (schema.raw.n > TOOL_SCHEMA_MAX)
		return unfit(ret_why, "inputSchema: larger than 256 KiB");
	if (!put_top(&f, schema.raw))
		return unfit(ret_why, "inputSchema: not the schema of an object");
	if (out.failed)
		return unfit(ret_why,
			     "inputSchema: larger than 256 KiB with its references resolved");
	if (!f.changed)
		return SCHEMA_FITS;
	buf_add_slice(ret, buf_slice(&out));
	return SCHEMA_REWRITTEN;
}
