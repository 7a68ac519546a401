/*
 * schema_fitting.h - one pass over a schema that writes it anew (input_schema.c), and remembers whether that makes a
 * difference. Keys are raw: still escaped, without their quotes.
 */
#pragma once

#include "base/buf.h"
#include "json/jenc.h"
#include "json/jscan.h"

#define REFS_OPEN_MAX 32

struct fitting {
	struct slice root;
	struct jw w;
	bool changed;
	unsigned depth;
	const char *open[REFS_OPEN_MAX]; /* the schemas whose references are being followed */
	size_t nopen;
	size_t *effort;
};

/* Returns whether so many bytes may still be read to find something, and charges them. */
bool fitting_may_look(struct fitting *f, size_t bytes);
/* Returns the element with this index, in decimal; J_NONE if there is none. */
struct jval fitting_element(struct jval array, const char *index);
/* Opens what a reference refers to, for fitting_close; J_NONE: it is unknown, open already, or too dear to find. */
struct jval fitting_open(struct fitting *f, struct jval ref);
void fitting_close(struct fitting *f);
/* Returns whether the object has this member; true if that is too dear to find out. */
bool fitting_has(struct fitting *f, struct slice object, struct slice name);
/* Returns whether it is the name of a type. */
bool fitting_is_type(struct jval v);
/* Returns whether the type, a name or an array of names, has this one. */
bool fitting_type_has(struct jval type, const char *name);
/* Writes a schema; key empty: in a list. What is not an object becomes a schema that allows anything. */
void fitting_put(struct fitting *f, struct slice key, struct jval v);
/* Writes a member of a schema, or leaves it out. */
void fitting_put_member(struct fitting *f, struct slice key, struct jval v);
/* Writes unevaluatedProperties and unevaluatedItems of a schema whose other members are written. They apply to what the
 * others do not name: where a member was left out or rewritten they would refuse what the server takes, and are left out. */
void fitting_put_unevaluated(struct fitting *f, struct slice schema);

/*
 * The input schema of a tool as harnesses and model providers take it.
 *
 * A provider refuses a whole request for one schema, and a harness drops a whole list. So a schema that is not an object's,
 * that is not valid in JSON Schema 2020-12, or that has anyOf, oneOf, allOf, enum or not at its top is rewritten: references
 * are replaced by what they refer to (recursion ends in a schema that allows anything), the properties of all branches stand
 * side by side (as anyOf if branches differ in one), and keywords with a value that they cannot have are left out. The result
 * allows what the server allows, and may allow more: the server checks its arguments itself. So not and if are left out, and
 * oneOf becomes anyOf, if a schema in them is rewritten. A schema that needs none of it passes byte for byte.
 */

enum schema_fit { SCHEMA_FITS, SCHEMA_REWRITTEN, SCHEMA_UNFIT };

/* schema: the member inputSchema, J_NONE if it is absent. Appends to ret if it returns SCHEMA_REWRITTEN; sets *ret_why, which
 * is static, if SCHEMA_UNFIT. effort: what the schemas of one list may cost (TOOL_SCHEMA_EFFORT_MAX), reduced by this one. */
enum schema_fit input_schema_fit(struct jval schema, size_t *effort, struct buf *ret,
				 const char **ret_why);
