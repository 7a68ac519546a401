/*
 * jshape.h - checks a JSON value against a shape: a static table of what its parts may be. For values from a foreign
 * producer to a strict reader.
 *
 *	static const struct jmember point_members[] = {
 *		JS_MEMBER("x", jshape_number, JS_REQUIRED, NULL), JS_MEMBER("label", jshape_string, JS_NULLABLE, NULL),
 *		JS_LAST };
 *	static const struct jshape point = { JS_OBJECT, .members = JS_MEMBERS(point_members) };
 *
 * jshape_fits walks once, allocates nothing, and is all that a good value costs. jshape_mend writes the good parts of a
 * bad one. It removes unknown members, members of a wrong type, repeated members, and elements that do not fit. Where a
 * required member is wrong, its fallback takes its place, or the whole object is removed. The result fits. What fits is
 * valid JSON too, and need not have been scanned before; what is mended must have been (jscan.h). Of strings only those
 * of a set of words are compared. The recursion is as deep as the tables are.
 */
#pragma once

#include "base/util.h"
#include "json/jenc.h"
#include "json/jscan.h"
#include "json/jwalk.h"

enum jshape_kind {
	JS_ANY,
	JS_STRING,
	JS_NAME, /* a string that is not empty */
	JS_TIME, /* ISO 8601 with a zone */
	JS_WORD, /* one of words */
	JS_BOOL,
	JS_NUMBER,
	JS_INTEGER, /* min to max, without fraction or exponent */
	JS_MAP,	    /* any object */
	JS_OBJECT,  /* with members */
	JS_ARRAY,   /* of items */
	JS_TAGGED,  /* an object whose member tag says which of arms it is */
	JS_ONE_OF,  /* an object with members, or else with more */
	JS_EITHER,  /* an array of items, or of other if its first element has the member tag */
};

enum jmember_flag {
	JS_REQUIRED = 1,
	JS_NULLABLE = 2,
	JS_ID = 4, /* its value is handed out by jshape_fits, and kept by jshape_mend */
};

struct jmember {
	const char *name;
	size_t n; /* its length */
	const struct jshape *shape;
	unsigned flags;
	const char *fallback; /* raw, for a required one */
};

#define JS_MEMBER(name, shape, flags, fallback)                                                    \
	{                                                                                          \
		name, sizeof(name) - 1, &shape, flags, fallback                                    \
	}
#define JSHAPE_MEMBERS_MAX 32 /* of one table: jshape.c tracks them in an unsigned */
/* Evaluates to the table, which must be an array, and fails to compile if it has too many members. */
#define JS_MEMBERS(...)                                                                            \
	((__VA_ARGS__) + 0 * sizeof(struct {                                                       \
				 _Static_assert(ARRAY_SIZE((__VA_ARGS__)) <=                       \
							JSHAPE_MEMBERS_MAX + 1,                    \
						"a table with too many members");                  \
				 char c;                                                           \
			 }))
#define JS_LAST                                                                                    \
	{                                                                                          \
		NULL, 0, NULL, 0, NULL                                                             \
	}

struct jarm {
	const char *tag;
	const struct jmember *members;
};

struct jshape {
	enum jshape_kind kind;
	const char *const *words;
	int64_t min, max;
	const struct jmember *members, *more;
	const struct jshape *items, *other;
	const char *tag;
	const struct jarm *arms;
};

extern const struct jshape jshape_any, jshape_string, jshape_name, jshape_time, jshape_bool,
	jshape_number, jshape_map;

/* id (may be NULL): the value of the member JS_ID of v itself, J_NONE if it has none. */
bool jshape_fits(const struct jshape *s, struct jval v, struct jval *id);
/* Of an object with a tag, of which w has passed the tag: all that stands behind that. True: w has passed it too. */
bool jshape_fits_rest(const struct jshape *s, struct jwalk *w, struct jval *id);
/* Appends what fits. False: nothing of it fits, and the caller throws away what was appended. */
bool jshape_mend(const struct jshape *s, struct jval v, struct buf *out);
