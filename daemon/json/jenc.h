/*
 * jenc.h - streaming JSON writer over a buf. It keeps commas and nesting; the caller names what comes next.
 * A raw span (jw_raw) must already have passed json/jscan.h. Errors are sticky in the buf (buf.failed).
 */
#pragma once

#include "base/buf.h"
#include "json/jscan.h"

#include <stdbool.h>
#include <stdint.h>

struct jw {
	struct buf *b;
	bool comma; /* a value stands before: the next one needs a comma */
};

#define JW(buffer) ((struct jw){ (buffer), false })

/* key NULL inside arrays and at the root. */
void jw_obj(struct jw *w, const char *key);
void jw_end_obj(struct jw *w);
void jw_arr(struct jw *w, const char *key);
void jw_end_arr(struct jw *w);
void jw_str(struct jw *w, const char *key, const char *s); /* s NULL: member left out */
void jw_slice(struct jw *w, const char *key, struct slice s);
void jw_int(struct jw *w, const char *key, int64_t v);
void jw_uint(struct jw *w, const char *key, uint64_t v);
void jw_bool(struct jw *w, const char *key, bool v);
void jw_null(struct jw *w, const char *key);
void jw_raw(struct jw *w, const char *key, struct slice json); /* empty: member left out */
/* A member key that is not a plain literal: escaped; the value follows with key NULL. */
void jw_lead_key(struct jw *w, const char *key);
/* A member as it was read: key still escaped, value raw. */
void jw_member_raw(struct jw *w, struct slice raw_key, struct slice value);
/* Copies the members of a valid object except the one named skip. */
void jw_members(struct jw *w, struct slice object, const char *skip);
