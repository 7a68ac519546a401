/*
 * frontmatter.c - the frontmatter of a SKILL.md: where it is, its YAML as a tree, and the repair of its most frequent
 * mistake.
 *
 * The tree is built from libyaml's events, not by its document loader: anchors, tags and styles are seen, depth and
 * number of nodes are bounded while it grows, and aliases (a small text that expands to gigabytes) are refused before
 * anything is expanded.
 *
 * The YAML is anybody's. Depth and number of nodes are bounded while the tree grows, and aliases, tags and second
 * documents are refused at their first event: libyaml's own document loader would have expanded them by then.
 */
#include "skill/skill_internal.h"

#include "base/format/utf8.h"

#include <stdarg.h>
#include <yaml.h>

/* --- between the lines --------------------------------------------------------------------------------- */

static bool front_is_fence(struct slice line)
{
	if (!slice_skip(&line, "---"))
		return false;
	for (size_t i = 0; i < line.n; i++)
		/* strchr also finds the end of its list: a NUL is not white space. */
		if (!strchr(" \t\r", line.p[i]) || !line.p[i])
			return false;
	return true;
}

static bool front_find_fences(struct slice file, struct slice *yaml, struct slice *body,
			      struct skill_report *r)
{
	struct slice rest = file, line;

	if (!slice_item(&rest, '\n', &line) || !front_is_fence(line)) {
		skill_note(r, SKILL_FATAL, "FRONTMATTER_MISSING", (struct skill_at){ .line = 1 },
			   "the file does not begin with a line of three hyphens");
		return false;
	}
	yaml->p = rest.p;
	while (slice_item(&rest, '\n', &line)) {
		/* Only at the left edge: an indented --- is text of a block scalar. */
		if (!front_is_fence(line))
			continue;
		yaml->n = (size_t)(line.p - yaml->p);
		*body = rest;
		return true;
	}
	skill_note(r, SKILL_FATAL, "FRONTMATTER_UNCLOSED", (struct skill_at){ .line = 1 },
		   "no line of three hyphens ends the frontmatter");
	return false;
}

/* NOT_UTF8 is fatal for the frontmatter alone: the body is only shown to a model. */
bool front_split(struct slice file, struct slice *yaml, struct slice *body, struct skill_report *r)
{
	*yaml = *body = SLICE_NONE;
	if (slice_skip(&file, "\xef\xbb\xbf"))
		skill_note(r, SKILL_ERROR, "BOM", (struct skill_at){ .line = 1 },
			   "a byte order mark stands before the frontmatter");
	if (!front_find_fences(file, yaml, body, r))
		return false;
	if (yaml->n > SKILL_FRONT_MAX) {
		skill_note(r, SKILL_FATAL, "FRONTMATTER_TOO_LARGE",
			   AT_LIMIT(NULL, SKILL_FRONT_MAX, yaml->n),
			   "the frontmatter has more than %lu bytes", SKILL_FRONT_MAX);
		return false;
	}
	if (utf8_valid(*yaml))
		return true;
	skill_note(r, SKILL_FATAL, "NOT_UTF8", NOWHERE, "the frontmatter is not UTF-8");
	return false;
}

/* --- YAML ------------------------------------------------------------------------------------------------ */

#define TAG_PREFIX "tag:yaml.org,2002:"

struct yaml_level {
	struct front_node *node, *last; /* last child */
	size_t children;
};

struct build {
	struct front_tree *tree;
	struct front_fault *fault;
	struct yaml_level levels[SKILL_YAML_DEPTH];
	size_t depth;
	unsigned documents;
};

_printf_(4, 5) static bool front_fail(struct build *b, const char *code, unsigned line,
				      const char *fmt, ...)
{
	va_list ap;

	b->fault->code = code;
	b->fault->line = line;
	va_start(ap, fmt);
	vsnprintf(b->fault->msg, sizeof(b->fault->msg), fmt, ap);
	va_end(ap);
	return false;
}

static unsigned front_line_of(const yaml_mark_t *mark)
{
	/* libyaml counts from 0, and the YAML starts in the second line of the file. */
	return (unsigned)mark->line + 2;
}

static struct front_node *front_add_node(struct build *b, enum front_type type, unsigned line)
{
	struct front_tree *t = b->tree;
	struct yaml_level *up = b->depth ? &b->levels[b->depth - 1] : NULL;
	struct front_node *node;

	if (t->n == SKILL_YAML_NODES) {
		front_fail(b, "YAML_TOO_LARGE", line, "more than %d values", SKILL_YAML_NODES);
		return NULL;
	}
	/* Keys and values alternate, so after an even number of children a key follows. front_on_close
	 * compares keys as strings. */
	if (up && up->node->type == FRONT_MAP && up->children % 2 == 0 && type != FRONT_SCALAR) {
		front_fail(b, "KEY_NOT_SCALAR", line, "a list or mapping stands as a key");
		return NULL;
	}
	/* The array has its full size from the start, so pointers into it stay valid. */
	node = &t->nodes[t->n++];
	node->type = type;
	node->line = line;
	if (up) {
		*(up->last ? &up->last->next : &up->node->child) = node;
		up->last = node;
		up->children++;
	}
	return node;
}

static void front_note_extra(struct build *b, enum front_extra what, unsigned line)
{
	if (!b->tree->extra[what])
		b->tree->extra[what] = line;
}

/* Tags of YAML itself do not change how others read the file; any other may make them refuse it. */
static bool front_check_tag(struct build *b, const yaml_char_t *tag, unsigned line)
{
	static const char *const known[] = { "str", "seq", "map", "int", "float", "bool", "null" };
	struct slice rest = slice_of((const char *)tag);

	if (!tag)
		return true;
	front_note_extra(b, FRONT_TAG, line);
	if (slice_is(rest, "!"))
		return true;
	for (size_t i = 0; slice_starts(rest, TAG_PREFIX) && i < ARRAY_SIZE(known); i++)
		if (strcmp(rest.p + strlen(TAG_PREFIX), known[i]) == 0)
			return true;
	return front_fail(b, "YAML_TAG_UNKNOWN", line, "a tag that is not one of YAML's own");
}

static bool front_on_scalar(struct build *b, const yaml_event_t *ev, unsigned line)
{
	const char *text = (const char *)ev->data.scalar.value;
	struct front_node *node;

	if (ev->data.scalar.anchor)
		front_note_extra(b, FRONT_ANCHOR, line);
	if (!front_check_tag(b, ev->data.scalar.tag, line))
		return false;
	/* libyaml decodes "\0" in double quotes, where a C string would end. */
	if (memchr(text, 0, ev->data.scalar.length))
		return front_fail(b, "YAML_INVALID", line, "a value holds the character NUL");
	node = front_add_node(b, FRONT_SCALAR, line);
	if (!node)
		return false;
	node->plain = ev->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	node->text = xstrndup(text, ev->data.scalar.length);
	return true;
}

/* The depth is checked before the node is made, so levels[] is never left. */
static bool front_on_open(struct build *b, enum front_type type, const yaml_event_t *ev,
			  unsigned line)
{
	bool map = type == FRONT_MAP;
	bool flow = map ? ev->data.mapping_start.style == YAML_FLOW_MAPPING_STYLE :
			  ev->data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE;
	struct front_node *node;

	if (flow)
		front_note_extra(b, FRONT_FLOW, line);
	if (map ? ev->data.mapping_start.anchor : ev->data.sequence_start.anchor)
		front_note_extra(b, FRONT_ANCHOR, line);
	if (!front_check_tag(b, map ? ev->data.mapping_start.tag : ev->data.sequence_start.tag,
			     line))
		return false;
	if (b->depth == SKILL_YAML_DEPTH)
		return front_fail(b, "YAML_TOO_DEEP", line, "nested deeper than %d levels",
				  SKILL_YAML_DEPTH);
	node = front_add_node(b, type, line);
	if (!node)
		return false;
	b->levels[b->depth++] = (struct yaml_level){ .node = node };
	return true;
}

/* Keys are compared pairwise: SKILL_YAML_NODES bounds them. A second key of one name is what readers differ about. */
static bool front_on_close(struct build *b)
{
	const struct front_node *map = b->levels[--b->depth].node;

	if (map->type != FRONT_MAP)
		return true;
	/* Each key has a value: libyaml emits an empty scalar for a missing one. */
	for (const struct front_node *k = map->child; k; k = k->next->next)
		for (const struct front_node *o = map->child; o != k; o = o->next->next)
			if (strcmp(k->text, o->text) == 0)
				return front_fail(b, "KEY_DUPLICATE", k->line,
						  "the key '%.60s' stands here a second time",
						  k->text);
	return true;
}

static bool front_on_event(struct build *b, const yaml_event_t *ev)
{
	unsigned line = front_line_of(&ev->start_mark);

	switch (ev->type) {
	case YAML_DOCUMENT_START_EVENT:
		return ++b->documents == 1 ||
		       front_fail(b, "YAML_DOCUMENTS", line,
				  "more than one document in the frontmatter");
	case YAML_ALIAS_EVENT:
		return front_fail(b, "YAML_ALIAS", line, "aliases (*name) are not allowed");
	case YAML_SCALAR_EVENT:
		return front_on_scalar(b, ev, line);
	case YAML_SEQUENCE_START_EVENT:
		return front_on_open(b, FRONT_LIST, ev, line);
	case YAML_MAPPING_START_EVENT:
		return front_on_open(b, FRONT_MAP, ev, line);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		return front_on_close(b);
	default:
		return true;
	}
}

/* Every event is deleted, also the one that is refused: libyaml owns its texts. */
static bool front_run_parser(yaml_parser_t *p, struct build *b)
{
	yaml_event_t ev;
	bool ok, end;

	do {
		if (!yaml_parser_parse(p, &ev))
			return front_fail(b, "YAML_INVALID", front_line_of(&p->problem_mark), "%s",
					  p->problem ? p->problem : "not YAML");
		ok = front_on_event(b, &ev);
		end = ev.type == YAML_STREAM_END_EVENT;
		yaml_event_delete(&ev);
	} while (ok && !end);
	return ok;
}

bool front_parse(struct slice yaml, struct front_tree *ret, struct front_fault *fault)
{
	struct build b = { .tree = ret, .fault = fault };
	yaml_parser_t p;
	bool ok;

	*ret = (struct front_tree){ .nodes = xalloc(SKILL_YAML_NODES * sizeof(*ret->nodes)) };
	if (!yaml_parser_initialize(&p))
		abort();
	/* Without it libyaml would detect UTF-16 by a byte order mark; front_split has checked for UTF-8. */
	yaml_parser_set_encoding(&p, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&p, (const unsigned char *)yaml.p, yaml.n);
	ok = front_run_parser(&p, &b);
	yaml_parser_delete(&p);
	if (ok && (!ret->n || ret->nodes[0].type != FRONT_MAP))
		return front_fail(&b, "FRONTMATTER_NOT_MAPPING", 2,
				  "the frontmatter is not a mapping");
	return ok;
}

void front_tree_done(struct front_tree *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->nodes[i].text);
	free(t->nodes);
	*t = (struct front_tree){ 0 };
}

/* --- quotes ---------------------------------------------------------------------------------------------- */

/*
 * The most frequent mistake in skills, which other programs accept: "description: Use when: ..." without quotes. The
 * client guide advises to quote such values and to try again. Only a colon in the key's own line counts: one in a line
 * below may just as well belong to a key that is indented wrongly.
 */

/* "key: " at the left edge, with a value of plain text; returns where the value begins, 0: no such line. */
static size_t quote_plain_value(struct slice line)
{
	size_t i = 0;

	while (i < line.n &&
	       (line.p[i] == '_' || line.p[i] == '-' || (line.p[i] >= '0' && line.p[i] <= '9') ||
		((line.p[i] | 0x20) >= 'a' && (line.p[i] | 0x20) <= 'z')))
		i++;
	if (!i || i + 1 >= line.n || line.p[i] != ':' || line.p[i + 1] != ' ')
		return 0;
	for (i++; i < line.n && line.p[i] == ' ';)
		i++;
	/* YAML's indicators start something other than a plain scalar (YAML 1.2, section 5.3). */
	return i < line.n && !strchr("\"'|>[{&*!#%@`\r", line.p[i]) ? i : 0;
}

/* A line that belongs to the value before it: indented, or empty. */
static bool quote_goes_on(struct slice rest)
{
	return rest.n && strchr(" \t\r\n", rest.p[0]) != NULL && rest.p[0];
}

static bool quote_has_colon(struct slice value)
{
	for (size_t i = 0; i < value.n; i++)
		if (value.p[i] == ':' && (i + 1 == value.n || strchr(" \t\r\n", value.p[i + 1])))
			return true;
	return false;
}

static void quote_put(struct buf *b, struct slice value)
{
	buf_putc(b, '"');
	for (size_t i = 0; i < value.n; i++) {
		if (value.p[i] == '"' || value.p[i] == '\\')
			buf_putc(b, '\\');
		buf_putc(b, value.p[i]);
	}
	buf_putc(b, '"');
}

bool front_quote(struct slice yaml, struct buf *ret)
{
	bool changed = false;

	while (yaml.n) {
		size_t n = slice_line(yaml), at = quote_plain_value((struct slice){ yaml.p, n }),
		       end;
		bool wrong = quote_has_colon((struct slice){ yaml.p + at, n - at });

		/* After the check for a colon: only the key's own line counts for it. */
		while (quote_goes_on(slice_after(yaml, n)))
			n += slice_line(slice_after(yaml, n));
		for (end = n; end > at && strchr(" \t\r\n", yaml.p[end - 1]);)
			end--;
		if (at && wrong) {
			buf_add(ret, yaml.p, at);
			quote_put(ret, (struct slice){ yaml.p + at, end - at });
			buf_add(ret, yaml.p + end, n - end);
			changed = true;
		} else {
			buf_add(ret, yaml.p, n);
		}
		yaml = slice_after(yaml, n);
	}
	return changed;
}
