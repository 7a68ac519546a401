/*
 * param_headers.c - learns x-mcp-header declarations from lists of tools, and writes the headers of
 * a call.
 *
 * A declaration is a tool, a path of properties and a header. A list that has the tool again
 * replaces its declarations. The walk enters only schemas whose text has "x-mcp-header", to
 * MCP_MIRRORED_DEPTH levels. An integer is written as JavaScript writes it, because the server
 * compares the header with the argument that it parsed.
 */
#include "tools/upstream/http/http_post.h"

#include "base/http/http_fields.h"
#include "base/limits.h"
#include "json/json.h"

/* Number.MAX_SAFE_INTEGER of JavaScript: above it two integers can be one number there. */
#define SAFE_INTEGER 9007199254740991

/* One argument: the keys that lead to it, and the header's name. */
struct param_header {
	struct list link;
	char *tool, *header;
	char *path[MCP_MIRRORED_DEPTH];
	unsigned depth;
};

void param_headers_init(struct param_headers *m)
{
	list_init(&m->fields);
	m->n = 0;
}

static void field_free(struct param_headers *m, struct param_header *f)
{
	list_del(&f->link);
	m->n--;
	for (unsigned i = 0; i < f->depth; i++)
		free(f->path[i]);
	free_each(f->tool, f->header, f);
}

void param_headers_done(struct param_headers *m)
{
	list_each(f, &m->fields, struct param_header, link)
		field_free(m, f);
}

/* --- learning --------------------------------------------------------------------------------------------- */

struct schema_walk {
	struct param_headers *m;
	const char *tool;
	char *path[MCP_MIRRORED_DEPTH];
	unsigned depth;
};

static void param_headers_add(struct schema_walk *w, struct slice schema, const char *header)
{
	struct jval type = jobj_get(schema, "type");
	struct param_header *f;

	/* The name is the server's: one with other characters could add a header of its own. */
	if (!header_name_ok(slice_of(header)) || w->m->n >= MCP_MIRRORED_MAX ||
	    (!jstr_is(type, "string") && !jstr_is(type, "integer") && !jstr_is(type, "boolean")))
		return;
	f = new0(struct param_header);
	f->tool = xstrdup(w->tool);
	f->header = xstrdup(header);
	f->depth = w->depth;
	for (unsigned i = 0; i < w->depth; i++)
		f->path[i] = xstrdup(w->path[i]);
	list_add_tail(&w->m->fields, &f->link);
	w->m->n++;
}

static void walk_schema(struct schema_walk *w, struct slice schema)
{
	struct jval properties = jobj_get(schema, "properties");
	_cleanup_(freep) char *header = NULL;

	if (w->depth && jstr_decode(jobj_get(schema, "x-mcp-header"), MCP_TEXT_MAX, &header) == 0)
		param_headers_add(w, schema, header);
	if (w->depth >= MCP_MIRRORED_DEPTH)
		return;
	jobj_each(key, v, properties.raw) {
		if (v.type != J_OBJECT || !memmem(v.raw.p, v.raw.n, "x-mcp-header", 12))
			continue;
		if (jstr_decode(jkey_string(key), MCP_TEXT_MAX, &w->path[w->depth]) < 0)
			continue;
		w->depth++;
		walk_schema(w, v.raw);
		free(w->path[--w->depth]);
	}
}

void param_headers_learn(struct param_headers *m, struct slice result)
{
	struct jval tools = jobj_get(result, "tools");

	jarr_each(v, tools) {
		_cleanup_(freep) char *tool = NULL;
		struct schema_walk w = { .m = m };

		if (jstr_decode(jobj_get(v.raw, "name"), MCP_TEXT_MAX, &tool) < 0)
			continue;
		list_each(f, &m->fields, struct param_header, link)
			if (strcmp(f->tool, tool) == 0)
				field_free(m, f);
		w.tool = tool;
		walk_schema(&w, jobj_get(v.raw, "inputSchema").raw);
	}
}

/* --- calls ------------------------------------------------------------------------------------------------ */

/* As JavaScript writes it: the server compares with what it parsed. */
static char *integer_text(struct slice raw)
{
	const char *dot = memchr(raw.p, '.', raw.n);
	struct jval whole = { J_NUMBER, { raw.p, dot ? (size_t)(dot - raw.p) : raw.n } };
	char *text = NULL;
	int64_t n;

	for (const char *p = dot ? dot + 1 : raw.p + raw.n; p < raw.p + raw.n; p++)
		if (*p != '0')
			return NULL;
	if (jdec_int(whole, &n) < 0 || n > SAFE_INTEGER || n < -SAFE_INTEGER)
		return NULL;
	return asprintf(&text, "%lld", (long long)n) < 0 ? NULL : text;
}

/* NULL: there is none that a header could carry. */
static char *value_text(struct jval v)
{
	char *text = NULL;

	switch (v.type) {
	case J_STRING:
		jstr_decode(v, HTTP_HEADERS_MAX / 4, &text);
		return text;
	case J_TRUE:
		return xstrdup("true");
	case J_FALSE:
		return xstrdup("false");
	case J_NUMBER:
		return integer_text(v.raw);
	case J_NONE:
	case J_NULL:
	case J_ARRAY:
	case J_OBJECT:
		break;
	}
	return NULL;
}

void param_headers_put(struct buf *b, const struct param_headers *m, struct slice params)
{
	struct jslot s[] = { { .key = "name" }, { .key = "arguments" } };

	if (!m->n || jscan_object(params, s, ARRAY_SIZE(s)) != JSCAN_OK)
		return;
	list_each(f, (struct list *)&m->fields, struct param_header, link) {
		_cleanup_(freep) char *text = NULL, *name = NULL;
		struct jval v = s[1].v;

		if (!jstr_is(s[0].v, f->tool))
			continue;
		for (unsigned i = 0; i < f->depth; i++)
			v = jobj_get(v.raw, f->path[i]);
		/* An argument that the call does not have gets no header. */
		text = value_text(v);
		if (text && asprintf(&name, "Mcp-Param-%s", f->header) > 0)
			http_target_put_encoded(b, name, text);
	}
}
