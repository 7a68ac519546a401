/*
 * jscan.c - a recursive-descent scanner over untrusted JSON that returns spans and allocates
 * nothing.
 *
 * Recursion is bounded by JSON_DEPTH_MAX, so the stack is. Speed decides the structure: one pass
 * finds all requested members, names are first compared as raw bytes, and plain string bytes are
 * skipped 16 at a time (jplain.h). Only names with escapes are decoded. Values in an index
 * (jknown.h) are skipped, except an object in which members are requested. jiter_next validates
 * again; it trusts only the bounds of its text.
 */
#include "json/jscan.h"

#include "base/limits.h"
#include "base/format/utf8.h"
#include "base/util.h"
#include "json/jplain.h"
#include "json/jstr.h"
#include "json/jwalk.h"

const char *jscan_strerror(enum jscan_error e)
{
	static const char *const text[] = {
		[JSCAN_OK] = "ok",
		[JSCAN_E_SYNTAX] = "not valid JSON",
		[JSCAN_E_UTF8] = "not valid UTF-8",
		[JSCAN_E_DEPTH] = "nested too deeply",
		[JSCAN_E_NOT_OBJECT] = "not an object",
		[JSCAN_E_DUPLICATE] = "a member appears twice",
	};

	return (size_t)e < ARRAY_SIZE(text) ? text[e] : "unknown";
}

/* Half of a pair is passed as any escape is. */
static size_t scan_surrogate(struct jwalk *c)
{
	size_t n = jstr_surrogates((const char *)c->p, (const char *)c->end);

	c->half |= !n;
	return n ? n : JSTR_U_LENGTH;
}

/* A call of strchr for each cost more than all else of a text that has many. */
static bool is_short_escape(unsigned char c)
{
	switch (c) {
	case '"':
	case '\\':
	case '/':
	case 'b':
	case 'f':
	case 'n':
	case 'r':
	case 't':
		return true;
	default:
		return false;
	}
}

static enum jscan_error scan_escape(struct jwalk *c)
{
	size_t left = (size_t)(c->end - c->p);

	if (left < 2)
		return JSCAN_E_SYNTAX;
	if (c->p[1] == 'u') {
		if (!jstr_is_u((const char *)c->p, left))
			return JSCAN_E_SYNTAX;
		c->p += (c->p[2] | 0x20) == 'd' && c->p[3] >= '8' ? scan_surrogate(c) :
								    JSTR_U_LENGTH;
		return JSCAN_OK;
	}
	if (!is_short_escape(c->p[1]))
		return JSCAN_E_SYNTAX;
	c->p += 2;
	return JSCAN_OK;
}

/* At what does not stand for itself. */
static enum jscan_error scan_special(struct jwalk *c)
{
	size_t n;

	if (c->p >= c->end || *c->p < 0x20)
		return JSCAN_E_SYNTAX;
	if (*c->p == '\\')
		return scan_escape(c);
	n = *c->p < 0x80 ? 1 : utf8_sequence(c->p, (size_t)(c->end - c->p));
	c->p += n;
	return n ? JSCAN_OK : JSCAN_E_UTF8;
}

enum jscan_error jwalk_string_rest(struct jwalk *c)
{
	enum jscan_error e = JSCAN_OK;

	if (c->known && jknown_skip_rest(c))
		return JSCAN_OK;
	while (!e) {
		c->p = jplain_skip(c->p, c->end);
		if (c->p < c->end && *c->p == '"') {
			c->p++;
			return JSCAN_OK;
		}
		e = scan_special(c);
	}
	return e;
}

static bool scan_digits(struct jwalk *c)
{
	const unsigned char *start = c->p;

	while (c->p < c->end && *c->p >= '0' && *c->p <= '9')
		c->p++;
	return c->p > start;
}

static enum jscan_error scan_number(struct jwalk *c)
{
	if (*c->p == '-')
		c->p++;
	/* No leading zeros (RFC 8259, section 6): no digit may follow a 0 here. */
	if (c->p < c->end && *c->p == '0')
		c->p++;
	else if (!scan_digits(c))
		return JSCAN_E_SYNTAX;
	if (c->p < c->end && *c->p == '.') {
		c->p++;
		if (!scan_digits(c))
			return JSCAN_E_SYNTAX;
	}
	if (c->p < c->end && (*c->p == 'e' || *c->p == 'E')) {
		c->p++;
		if (c->p < c->end && (*c->p == '+' || *c->p == '-'))
			c->p++;
		if (!scan_digits(c))
			return JSCAN_E_SYNTAX;
	}
	return JSCAN_OK;
}

static enum jscan_error scan_word(struct jwalk *c, const char *word)
{
	size_t n = strlen(word);

	if ((size_t)(c->end - c->p) < n || memcmp(c->p, word, n) != 0)
		return JSCAN_E_SYNTAX;
	c->p += n;
	return JSCAN_OK;
}

static enum jscan_error scan_members(struct jwalk *c, struct jslot *slots, size_t n);
static enum jscan_error scan_elements(struct jwalk *c);

static enum jscan_error scan_container(struct jwalk *c, bool object, struct jslot *slots, size_t n)
{
	enum jscan_error e;

	if (c->depth >= JSON_DEPTH_MAX)
		return JSCAN_E_DEPTH;
	c->depth++;
	e = object ? scan_members(c, slots, n) : scan_elements(c);
	c->depth--;
	return e;
}

static enum jscan_error scan_unknown(struct jwalk *c, enum jtype *type, struct jslot *in)
{
	if (c->p >= c->end)
		return JSCAN_E_SYNTAX;
	switch (*c->p) {
	case '{':
		*type = J_OBJECT;
		return scan_container(c, true, in ? in->sub : NULL, in ? in->nsub : 0);
	case '[':
		*type = J_ARRAY;
		return scan_container(c, false, NULL, 0);
	case '"':
		*type = J_STRING;
		return jwalk_string(c);
	case 't':
		*type = J_TRUE;
		return scan_word(c, "true");
	case 'f':
		*type = J_FALSE;
		return scan_word(c, "false");
	case 'n':
		*type = J_NULL;
		return scan_word(c, "null");
	default:
		*type = J_NUMBER;
		return scan_number(c);
	}
}

/* Of text of which the long values are known, or are to be. */
static enum jscan_error scan_known(struct jwalk *c, enum jtype *type, struct jslot *in)
{
	const unsigned char *start = c->p;
	bool half = c->half;
	enum jscan_error e;

	*type = jwalk_type(c);
	if (!(in && in->sub) && jknown_skip(c))
		return JSCAN_OK;
	c->half = false;
	e = scan_unknown(c, type, in);
	if (!e)
		jknown_note(c, start);
	c->half |= half;
	return e;
}

static enum jscan_error scan_any(struct jwalk *c, enum jtype *type, struct jslot *in)
{
	return c->known ? scan_known(c, type, in) : scan_unknown(c, type, in);
}

/* After an element: ',' goes on (true in *more), the closing byte ends. */
static enum jscan_error scan_separator(struct jwalk *c, unsigned char close, bool *more)
{
	jwalk_space(c);
	if (c->p >= c->end || (*c->p != ',' && *c->p != close))
		return JSCAN_E_SYNTAX;
	*more = *c->p++ == ',';
	if (*more)
		jwalk_space(c);
	return JSCAN_OK;
}

static enum jscan_error scan_elements(struct jwalk *c)
{
	bool more = true;

	c->p++;
	jwalk_space(c);
	if (c->p < c->end && *c->p == ']') {
		c->p++;
		return JSCAN_OK;
	}
	while (more) {
		enum jtype type;
		enum jscan_error e = scan_any(c, &type, NULL);

		if (!e)
			e = scan_separator(c, ']', &more);
		if (e)
			return e;
	}
	return JSCAN_OK;
}

/* Of those that say how long their name is, the one whose name comes now as it is; passes it. */
static struct jslot *named_slot(struct jwalk *c, struct jslot *slots, size_t n)
{
	const unsigned char *name = c->p + 1;
	size_t left = (size_t)(c->end - name);

	for (size_t i = 0; i < n; i++) { /* slots may be NULL */
		struct jslot *s = &slots[i];

		if (s->n && s->n < left && name[s->n] == '"' && memcmp(name, s->key, s->n) == 0) {
			c->p = name + s->n + 1;
			return s;
		}
	}
	return NULL;
}

static struct jslot *find_slot(struct slice key, struct jslot *slots, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (jkey_is(key, slots[i].key))
			return &slots[i];
	return NULL;
}

static enum jscan_error scan_slot(struct jwalk *c, enum jtype *type, struct jslot *slot)
{
	struct jwalk taken = *c;

	/* take walks a copy: if it declines, the value is scanned from its start. */
	if (!slot || !slot->take || !slot->take(&taken, slot->ctx))
		return scan_any(c, type, slot);
	*type = jwalk_type(c);
	*c = taken;
	return JSCAN_OK;
}

/* Up to the value; *slot NULL: it is not looked for. */
static enum jscan_error scan_name(struct jwalk *c, struct jslot *slots, size_t n,
				  struct jslot **slot)
{
	const unsigned char *key = c->p + 1;
	enum jscan_error e;

	if (c->p >= c->end || *c->p != '"')
		return JSCAN_E_SYNTAX;
	*slot = named_slot(c, slots, n);
	if (!*slot) {
		e = jwalk_string(c);
		if (e)
			return e;
		*slot = find_slot((struct slice){ (const char *)key, (size_t)(c->p - key) - 1 },
				  slots, n);
	}
	return jwalk_colon(c) ? JSCAN_OK : JSCAN_E_SYNTAX;
}

static enum jscan_error scan_member(struct jwalk *c, struct jslot *slots, size_t n)
{
	const unsigned char *value;
	struct jslot *slot;
	enum jscan_error e = scan_name(c, slots, n, &slot);
	enum jtype type;

	if (e)
		return e;
	value = c->p;
	e = scan_slot(c, &type, slot);
	if (e || !slot)
		return e;
	/* Only requested members are compared: the scanner stores no list of the others. */
	if (slot->v.type != J_NONE)
		return JSCAN_E_DUPLICATE;
	slot->v = (struct jval){ type, { (const char *)value, (size_t)(c->p - value) } };
	return JSCAN_OK;
}

static enum jscan_error scan_members(struct jwalk *c, struct jslot *slots, size_t n)
{
	bool more = true;

	c->p++;
	jwalk_space(c);
	if (c->p < c->end && *c->p == '}') {
		c->p++;
		return JSCAN_OK;
	}
	while (more) {
		enum jscan_error e = scan_member(c, slots, n);

		if (!e)
			e = scan_separator(c, '}', &more);
		if (e)
			return e;
	}
	return JSCAN_OK;
}

enum jscan_error jscan_value(struct slice text, struct jval *ret)
{
	struct jwalk c = jwalk_of(text);
	const unsigned char *start = c.p;
	enum jtype type = J_NONE;
	enum jscan_error e = scan_any(&c, &type, NULL);

	if (e)
		return e;
	if (ret)
		*ret = (struct jval){ type, { (const char *)start, (size_t)(c.p - start) } };
	jwalk_space(&c);
	return c.p == c.end ? JSCAN_OK : JSCAN_E_SYNTAX;
}

const char *jscan_explain(struct slice text, enum jscan_error e, char out[JSCAN_TEXT_SIZE])
{
	struct jwalk c = jwalk_of(text);
	const unsigned char *start = (const unsigned char *)text.p;
	unsigned long line = 1, column = 1;
	enum jtype type;

	if (scan_any(&c, &type, NULL) == JSCAN_OK)
		jwalk_space(&c);
	for (const unsigned char *p = start; p < c.p; p++, column++)
		if (*p == '\n') {
			line++;
			column = 0;
		}
	/* an object that is valid to its end was refused for its contents, not for its syntax */
	if (c.p == c.end && e != JSCAN_E_SYNTAX)
		snprintf(out, JSCAN_TEXT_SIZE, "%s", jscan_strerror(e));
	else
		snprintf(out, JSCAN_TEXT_SIZE, "%s, line %lu, column %lu", jscan_strerror(e), line,
			 column);
	return out;
}

void jscan_join_lines(struct buf *b)
{
	for (size_t i = b->pos; i < b->len; i++)
		if (b->data[i] == '\n' || b->data[i] == '\r')
			b->data[i] = ' ';
}

static void clear_slots(struct jslot *slots, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		slots[i].v = (struct jval){ J_NONE, SLICE_NONE };
		if (slots[i].sub)
			clear_slots(slots[i].sub, slots[i].nsub);
	}
}

enum jscan_error jscan_object(struct slice text, struct jslot *slots, size_t n)
{
	bool repair;

	return jscan_message(text, slots, n, &repair);
}

enum jscan_error jscan_message(struct slice text, struct jslot *slots, size_t n, bool *repair)
{
	struct jwalk c = jwalk_of(text);
	enum jscan_error e;

	*repair = false;
	clear_slots(slots, n);
	/* Scanned to its end: text that is not JSON at all is a syntax error first. */
	if (c.p >= c.end || *c.p != '{') {
		e = jscan_value(text, NULL);
		return e ? e : JSCAN_E_NOT_OBJECT;
	}
	c.depth = 1;
	e = scan_members(&c, slots, n);
	jwalk_space(&c);
	if (!e && c.p != c.end)
		e = JSCAN_E_SYNTAX;
	*repair = e ? e == JSCAN_E_UTF8 : c.half;
	return e;
}

bool jwalk_value(struct jwalk *w, struct jval *ret)
{
	const unsigned char *start = w->p;

	if (scan_any(w, &ret->type, NULL))
		return false;
	ret->raw = (struct slice){ (const char *)start, (size_t)(w->p - start) };
	return true;
}

struct jval jobj_get(struct slice object, const char *key)
{
	struct jslot slot = { .key = key };

	if (!object.p || jscan_object(object, &slot, 1) != JSCAN_OK)
		return (struct jval){ J_NONE, SLICE_NONE };
	return slot.v;
}

bool jiter_init(struct jiter *it, struct jval v)
{
	struct jwalk c = jwalk_of(v.raw);

	*it = (struct jiter){ 0 };
	/* a caller that expects an array may pass what the other side sent instead, with the type of an array */
	if ((v.type != J_OBJECT && v.type != J_ARRAY) || c.end - c.p < 2 ||
	    *c.p != (v.type == J_OBJECT ? '{' : '['))
		return false;
	/* a file's text has white space around its value */
	while (c.end[-1] != '}' && c.end[-1] != ']' && c.end - c.p > 2)
		c.end--;
	*it = (struct jiter){ (const char *)c.p + 1, (const char *)c.end - 1, v.type == J_OBJECT };
	return true;
}

bool jiter_next(struct jiter *it, struct slice *key, struct jval *ret)
{
	struct jwalk c = jwalk_of((struct slice){ it->p, (size_t)(it->end - it->p) });
	struct slice unasked;
	bool more;

	if (c.p >= c.end)
		return false;
	if (it->object && !jwalk_key(&c, key ? key : &unasked))
		return false;
	if (!jwalk_value(&c, ret))
		return false;
	/* 0 is no byte of valid JSON: the bracket is not part of the span, whose end is the end. */
	if (scan_separator(&c, 0, &more) && c.p < c.end)
		return false;
	it->p = (const char *)c.p;
	return true;
}
