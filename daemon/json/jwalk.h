/*
 * jwalk.h - the place up to which a JSON text has been read, and the steps of a reader that knows what has to come.
 *
 * Each step checks what it passes as jscan.h does, so that a text which was read to the end of its value is valid up to
 * there. After a step that says otherwise nothing more can be read. Inline, since scanner and shapes take them for every
 * byte of a message.
 */
#pragma once

#include "base/limits.h"
#include "json/jknown.h"
#include "json/jplain.h"
#include "json/jscan.h"

struct jwalk {
	const unsigned char *p, *end;
	unsigned depth;
	bool half;	      /* a string that was passed holds half of a surrogate pair (jstr.h) */
	struct jknown *known; /* NULL: nothing */
};

static inline void jwalk_space(struct jwalk *w)
{
	while (w->p < w->end && (*w->p == ' ' || *w->p == '\n' || *w->p == '\t' || *w->p == '\r'))
		w->p++;
}

static inline struct jwalk jwalk_of(struct slice text)
{
	const unsigned char *start = (const unsigned char *)text.p;
	struct jwalk w = { start, text.n ? start + text.n : start, 0, false, jknown_used };

	jwalk_space(&w);
	return w;
}

/* What comes now, by its first byte; it need not be one. */
static inline enum jtype jwalk_type(const struct jwalk *w)
{
	switch (w->p < w->end ? *w->p : 0) {
	case '{':
		return J_OBJECT;
	case '[':
		return J_ARRAY;
	case '"':
		return J_STRING;
	case 't':
		return J_TRUE;
	case 'f':
		return J_FALSE;
	case 'n':
		return J_NULL;
	case 0:
		return J_NONE;
	default:
		return J_NUMBER;
	}
}

/* All of what comes now. */
bool jwalk_value(struct jwalk *w, struct jval *ret);

/* The rest of a string, from anywhere between its quotes. */
enum jscan_error jwalk_string_rest(struct jwalk *w);

/* At the opening quote; leaves p after the closing one. */
static inline enum jscan_error jwalk_string(struct jwalk *w)
{
	w->p = jplain_skip(w->p + 1, w->end);
	if (w->p >= w->end || *w->p != '"')
		return jwalk_string_rest(w);
	w->p++;
	return JSCAN_OK;
}

/* Between a name and its value. */
static inline bool jwalk_colon(struct jwalk *w)
{
	jwalk_space(w);
	if (w->p >= w->end || *w->p != ':')
		return false;
	w->p++;
	jwalk_space(w);
	return true;
}

/* In an object: the name (raw text between the quotes, still escaped), before its value. */
static inline bool jwalk_key(struct jwalk *w, struct slice *key)
{
	const unsigned char *start = w->p + 1;

	if (w->p >= w->end || *w->p != '"' || jwalk_string(w))
		return false;
	*key = (struct slice){ (const char *)start, (size_t)(w->p - start) - 1 };
	return jwalk_colon(w);
}

/* What an object or an array has behind a part. */
enum jwalk_part { JWALK_PART, JWALK_END, JWALK_WRONG };

static inline enum jwalk_part jwalk_leave(struct jwalk *w)
{
	w->p++;
	w->depth--;
	return JWALK_END;
}

/* Goes into an object or an array that begins with open and ends with close, up to its first part. */
static inline enum jwalk_part jwalk_enter(struct jwalk *w, char open, char close)
{
	if (w->p >= w->end || *w->p != open || w->depth >= JSON_DEPTH_MAX)
		return JWALK_WRONG;
	w->p++;
	w->depth++;
	jwalk_space(w);
	return w->p < w->end && *w->p == close ? jwalk_leave(w) : JWALK_PART;
}

/* Behind a part: up to the next one, or behind the end. */
static inline enum jwalk_part jwalk_next(struct jwalk *w, char close)
{
	jwalk_space(w);
	if (w->p >= w->end || (*w->p != ',' && *w->p != close))
		return JWALK_WRONG;
	if (*w->p == close)
		return jwalk_leave(w);
	w->p++;
	jwalk_space(w);
	return JWALK_PART;
}
