/*
 * jdec.h - decodes an object's members into a plain struct by a static table, so that a handler never sees JSON.
 *
 *	struct load { char *session_id; struct slice meta; };
 *	static const struct jfield load_fields[] = {
 *		JF_STR(struct load, session_id, "sessionId", JF_REQUIRED, RPC_ID_MAX),
 *		JF_OBJ(struct load, meta, "_meta", JF_LENIENT),
 *		JF_END,
 *	};
 *
 * A mismatch is RPC_INVALID_PARAMS naming the field, and the struct holds nothing to free. Leniency follows the ACP
 * schema: JF_LENIENT members that are malformed count as absent; null counts as absent for every optional member; for a
 * required one null is an error unless JF_NULLABLE. Unknown members are ignored. Slices borrow from the input text.
 */
#pragma once

#include "base/err.h"
#include "base/slice.h"
#include "json/jscan.h"

enum jftype { JF_T_STR, JF_T_BOOL, JF_T_INT, JF_T_OBJ, JF_T_ARR, JF_T_RAW, JF_T_TEXT };

enum jfflag {
	JF_REQUIRED = 1,
	JF_LENIENT = 2,
	JF_NULLABLE = 4, /* required, but null is as good as empty */
	JF_FILLED =
		8, /* JF_T_STR: not empty: an empty text is no name, and should not count as absent */
};

struct jfield {
	const char *name;
	enum jftype type;
	unsigned flags;
	size_t offset;
	int64_t min, max; /* JF_T_STR: longest length in max; JF_T_INT: range */
};

/* clang-format off */
#define JF_STR(st, m, name, flags, max) { name, JF_T_STR, flags, offsetof(st, m), 0, max }
#define JF_INT(st, m, name, flags, min, max) { name, JF_T_INT, flags, offsetof(st, m), min, max }
#define JF_BOOL(st, m, name, flags) { name, JF_T_BOOL, flags, offsetof(st, m), 0, 0 }
#define JF_OBJ(st, m, name, flags) { name, JF_T_OBJ, flags, offsetof(st, m), 0, 0 }
#define JF_ARR(st, m, name, flags) { name, JF_T_ARR, flags, offsetof(st, m), 0, 0 }
#define JF_RAW(st, m, name, flags) { name, JF_T_RAW, flags, offsetof(st, m), 0, 0 }
#define JF_TEXT(st, m, name, flags) { name, JF_T_TEXT, flags, offsetof(st, m), 0, 0 }
#define JF_END { NULL, JF_T_RAW, 0, 0, 0, 0 }
/* clang-format on */

#define JDEC_FIELDS_MAX 48

/* Members: char * (owned), bool, int64_t, struct slice for OBJ and ARR, struct jval for RAW (anything) and TEXT (a
 * string that is left as it stands). prefix (may be NULL) is put before field names in errors, e.g.
 * "mcpServers[0].". */
int jdec_object(struct slice text, const struct jfield *fields, const char *prefix, void *ret,
		struct err *e);
/* Refuses a member that the table does not have: PARAM_UNSUPPORTED with its path, and the names that exist where they
 * are few. For objects of our own: a misspelt member must not be ignored silently. */
int jdec_refuse_unknown(struct slice object, const struct jfield *fields, const char *prefix,
			const char *refusal, struct err *e);
/* Both of these: an object of our own, with members of the table and no others. */
int jdec_strict(struct slice object, const struct jfield *fields, const char *prefix,
		const char *refusal, void *ret, struct err *e);
/* Refuses a member of an object that was decoded with that prefix: "PREFIXMEMBER text". Returns -EINVAL. */
int jdec_refuse(struct err *e, const char *prefix, const char *member, const char *reason,
		const char *text);
/* Frees the strings that jdec_object allocated. */
void jdec_free(const struct jfield *fields, void *st);
/* Whole JSON integer to int64; -ERANGE, or -EINVAL for fractions and exponents. */
int jdec_int(struct jval v, int64_t *ret);
/* A member as an integer; 0 if it is absent or not one. */
int64_t jobj_int(struct slice object, const char *key);
/* The same, and 0 if it is below 0. */
uint64_t jobj_uint(struct slice object, const char *key);
