/*
 * jenc.h - streaming JSON writer over a buf. It keeps commas and nesting; the caller names what comes next.
 * A raw span (jw_raw) must already have passed json/jscan.h. Errors are sticky in the buf (buf.failed).
 */
#pragma once

#include "base/buf.h"
#include "json/jscan.h"

struct jw {
	struct buf *b;
	bool comma; /* a value stands before: the next one needs a comma */
};

#define JW(buffer) ((struct jw){ (buffer), false })
/* Declares an empty buffer, which is freed at the end of the block, and a writer into it. */
#define JW_BUF(writer, buffer)                                                                     \
	_cleanup_(buf_done) struct buf buffer = { 0 };                                             \
	struct jw writer = JW(&(buffer))

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

/* A member of an object that is written at once. */
struct jw_member {
	const char *key;
	enum {
		JW_M_END,
		JW_M_STR,
		JW_M_SLICE,
		JW_M_RAW,
		JW_M_INT,
		JW_M_UINT,
		JW_M_BOOL,
		JW_M_OBJ,
		JW_M_ARR /* of one object */
	} kind;
	union {
		const char *str;
		struct slice slice; /* JW_M_RAW too */
		int64_t i;
		uint64_t u;
		bool b;
		const struct jw_member *members; /* ends with JW_M_END */
	};
};

/* clang-format off */
#define JW_STR(key_, v) { .key = (key_), .kind = JW_M_STR, .str = (v) }
#define JW_SLICE(key_, v) { .key = (key_), .kind = JW_M_SLICE, .slice = (v) }
#define JW_RAW(key_, v) { .key = (key_), .kind = JW_M_RAW, .slice = (v) }
#define JW_INT(key_, v) { .key = (key_), .kind = JW_M_INT, .i = (v) }
#define JW_UINT(key_, v) { .key = (key_), .kind = JW_M_UINT, .u = (v) }
#define JW_BOOL(key_, v) { .key = (key_), .kind = JW_M_BOOL, .b = (v) }
#define JW_OBJ(key_, ...) { .key = (key_), .kind = JW_M_OBJ, .members = JW_MEMBERS(__VA_ARGS__) }
#define JW_ARR(key_, ...) { .key = (key_), .kind = JW_M_ARR, .members = JW_MEMBERS(__VA_ARGS__) }
#define JW_MEMBERS(...) (const struct jw_member[]){ __VA_ARGS__, { .kind = JW_M_END } }
/* clang-format on */

/* Writes an object whose members are known in advance, each as the function of its name would. */
#define jw_object(w, key, ...) jw_object_of(w, key, JW_MEMBERS(__VA_ARGS__))
void jw_object_of(struct jw *w, const char *key, const struct jw_member *members);
/* Writes the members alone, into an object that is open. */
void jw_put(struct jw *w, const struct jw_member *members);
/* A member key that is not a plain literal: escaped; the value follows with key NULL. */
void jw_lead_key(struct jw *w, const char *key);
/* A member as it was read: key still escaped, value raw. */
void jw_member_raw(struct jw *w, struct slice raw_key, struct slice value);
/* Copies the members of a valid object except the one named skip. */
void jw_members(struct jw *w, struct slice object, const char *skip);
/* How acpd names itself to its peers: the member key as what ACP and MCP call an implementation, with name, title (NULL: left
 * out) and the version of this build. */
void jw_self(struct jw *w, const char *key, const char *name, const char *title);
/* Writes a member for an object of HTTP headers: "user-agent": "acpd/VERSION". */
void jw_user_agent(struct jw *w);
