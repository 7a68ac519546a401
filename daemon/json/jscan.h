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
static inline bool jobj_is_true(struct slice object, const char *key)
{
	return jobj_get(object, key).type == J_TRUE;
}

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

/* A walk over v, or over a text that is taken for a value of that type. Nothing to walk if it is of another type. */
static inline struct jiter jiter_of_value(struct jval v, enum jtype type)
{
	struct jiter it = { 0 };

	if (v.type == type)
		jiter_init(&it, v);
	return it;
}

static inline struct jiter jiter_of_text(struct slice text, enum jtype type)
{
	return jiter_of_value((struct jval){ type, text }, type);
}

/* clang-format off */
#ifdef __cppcheck__ /* which follows no selection by type */
#define jarr_each(item, array) for (struct jval item; jiter_next(&(struct jiter){ 0 }, NULL, &item);)
#define jarr_each_at(at, item, array) for (size_t at = 0; at < 9; at++) jarr_each(item, array)
#define jobj_each(key, item, object) for (struct slice key = { 0 }; key.n < 9; key.n++) jarr_each(item, object)
#else
#define JITER_OF(x, type) \
	_Generic((x), struct jval: jiter_of_value, struct slice: jiter_of_text)((x), type)

/* Loops that declare item (struct jval), at (size_t, from 0) and key (struct slice, still escaped). array and object are a
 * struct jval or the text of one; one that is absent or of another type has no elements. break and continue work, as the
 * outer loops run once. */
#define jarr_each(item, array) \
	for (struct jiter item##_walk = JITER_OF(array, J_ARRAY), *item##_once = &item##_walk; \
	     item##_once; item##_once = NULL) \
		for (struct jval item; jiter_next(&item##_walk, NULL, &item);)
#define jarr_each_at(at, item, array) \
	for (struct jiter item##_walk = JITER_OF(array, J_ARRAY), *item##_once = &item##_walk; \
	     item##_once; item##_once = NULL) \
		for (size_t at = 0; item##_once; item##_once = NULL) \
			for (struct jval item; jiter_next(&item##_walk, NULL, &item); at++)
#define jobj_each(key, item, object) \
	for (struct jiter item##_walk = JITER_OF(object, J_OBJECT), *item##_once = &item##_walk; \
	     item##_once; item##_once = NULL) \
		for (struct slice key; item##_once; item##_once = NULL) \
			for (struct jval item; jiter_next(&item##_walk, &key, &item);)
#endif
/* clang-format on */

/* False for a value of another type, too. */
static inline bool jobj_has_members(struct jval object)
{
	struct jiter it = jiter_of_value(object, J_OBJECT);
	struct jval member;

	return jiter_next(&it, NULL, &member);
}

static inline size_t jarr_length(struct jval array)
{
	size_t n = 0;

	jarr_each(el, array)
		n++;
	return n;
}
