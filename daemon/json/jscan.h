/*
 * jscan.h - the one JSON parser of the wire: validates and finds spans, allocates nothing.
 *
 * Every byte from a client or a harness passes here first. One pass checks syntax (RFC 8259, no extensions),
 * UTF-8 (no overlongs, no surrogates), depth (<= JSON_DEPTH_MAX) and trailing bytes, and records where the values
 * of the asked-for members lie. Values stay raw text: an id never passes through a double, and rawInput, _meta and
 * whole updates are spliced through byte for byte. json/jdec.h decodes from the same spans, so there is no second
 * parser to disagree with this one.
 *
 * A member that appears twice among the asked-for ones is JSCAN_E_DUPLICATE: two readers of such an object may see
 * two different messages.
 */
#pragma once

#include "base/buf.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>

enum jtype { J_NONE, J_NULL, J_FALSE, J_TRUE, J_NUMBER, J_STRING, J_ARRAY, J_OBJECT };

struct jval {
	enum jtype type;  /* J_NONE: absent */
	struct slice raw; /* the value's text, quotes and braces included */
};

/* One member to look for; the caller sets key, or by JSLOT key and n, where time matters; the scan sets v. With sub, the
 * members of an object there are looked for in the same pass. With take, that reads the value if it returns true
 * (jwalk.h); else the value is read as any other is. */
struct jwalk;
struct jslot {
	const char *key;
	size_t n; /* its length, if nothing in it has to be escaped; 0: not said */
	struct jval v;
	struct jslot *sub;
	size_t nsub;
	bool (*take)(struct jwalk *w, void *ctx);
	void *ctx;
};

#define JSLOT(name) .key = name, .n = sizeof(name) - 1

enum jscan_error {
	JSCAN_OK = 0,
	JSCAN_E_SYNTAX,
	JSCAN_E_UTF8,
	JSCAN_E_DEPTH,
	JSCAN_E_NOT_OBJECT, /* valid JSON, but not an object (or not an array, for jarr) */
	JSCAN_E_DUPLICATE,
};

const char *jscan_strerror(enum jscan_error e);

/* Room for what jscan_explain writes. */
#define JSCAN_TEXT_SIZE 96
/* For files that people write: jscan_strerror, and where text stops being valid, "…, line 3, column 7" (both from
 * 1, the column in bytes). Scans text again; returns out. */
const char *jscan_explain(struct slice text, enum jscan_error e, char out[JSCAN_TEXT_SIZE]);

/* Makes valid JSON one line, in place, for messages and protocols that are lines: line breaks can only be white
 * space between tokens. */
void jscan_join_lines(struct buf *b);

/* Validates text as exactly one JSON value; its type and trimmed span go to ret (may be NULL). */
enum jscan_error jscan_value(struct slice text, struct jval *ret);
/* Validates text as one object and fills slots[0..n). */
enum jscan_error jscan_object(struct slice text, struct jslot *slots, size_t n);
/* The same. *repair: text is not Unicode, since it holds halves of surrogate pairs, which is no error of the syntax, or bytes
 * that are not UTF-8, which is JSCAN_E_UTF8. Of either jstr_repair (jstr.h) makes a text that is. */
enum jscan_error jscan_message(struct slice text, struct jslot *slots, size_t n, bool *repair);
/* The member key of an object; .type J_NONE if absent or text is no object. */
struct jval jobj_get(struct slice object, const char *key);

/* Walks the members of a valid object or the elements of a valid array. */
struct jiter {
	const char *p, *end;
	bool object;
};

/* False, and nothing to walk, if v is not an object or array, by its type or by its text. White space around it, as in
 * a file, is skipped. */
bool jiter_init(struct jiter *it, struct jval v);
/* key (raw text between the quotes, still escaped) is only set for objects; may be NULL. */
bool jiter_next(struct jiter *it, struct slice *key, struct jval *ret);

static inline struct jiter jiter_array(struct jval v)
{
	struct jiter it;

	jiter_init(&it, (struct jval){ v.type == J_ARRAY ? J_ARRAY : J_NONE, v.raw });
	return it;
}

static inline struct jiter jiter_object(struct slice object)
{
	struct jiter it;

	jiter_init(&it, (struct jval){ J_OBJECT, object });
	return it;
}

/* Loops over the elements of an array; of any other value there are none. el is declared here. The outer loops run
 * once, so break and continue are those of the innermost. */
#define jarr_each(el, ...)                                                                         \
	for (struct jiter _it_##el = jiter_array(__VA_ARGS__), *_at_##el = &_it_##el; _at_##el;    \
	     _at_##el = NULL)                                                                      \
		for (struct jval el; jiter_next(_at_##el, NULL, &el);)

static inline size_t jarr_length(struct jval array)
{
	size_t n = 0;

	jarr_each(el, array)
		n++;
	return n;
}

/* Loops over the members of a valid object, which is a slice; of any other text there are none. name (raw, still
 * escaped) and el are declared here. */
#define jobj_each(name, el, object)                                                                \
	for (struct jiter _it_##el = jiter_object(object), *_at_##el = &_it_##el; _at_##el;        \
	     _at_##el = NULL)                                                                      \
		for (struct slice name, *_name_##el = &name; _name_##el; _name_##el = NULL)        \
			for (struct jval el; jiter_next(_at_##el, &name, &el);)
