/*
 * input_schema.h - the input schema of a tool as harnesses and model providers take it.
 *
 * A provider refuses a whole request for one schema, and a harness drops a whole list. So a schema that is not an object's,
 * that is not valid in JSON Schema 2020-12, or that has anyOf, oneOf, allOf, enum or not at its top is rewritten: references
 * are replaced by what they refer to (recursion ends in a schema that allows anything), the properties of all branches stand
 * side by side (as anyOf if branches differ in one), and keywords with a value that they cannot have are left out. The result
 * allows what the server allows, and may allow more: the server checks its arguments itself. So not and if are left out, and
 * oneOf becomes anyOf, if a schema in them is rewritten. A schema that needs none of it passes byte for byte.
 */
#pragma once

#include "base/buf.h"
#include "json/jscan.h"

enum schema_fit { SCHEMA_FITS, SCHEMA_REWRITTEN, SCHEMA_UNFIT };

/* schema: the member inputSchema, J_NONE if it is absent. Appends to ret if it returns SCHEMA_REWRITTEN; sets *ret_why, which
 * is static, if SCHEMA_UNFIT. effort: what the schemas of one list may cost (TOOL_SCHEMA_EFFORT_MAX), reduced by this one. */
enum schema_fit input_schema_fit(struct jval schema, size_t *effort, struct buf *ret,
				 const char **ret_why);
