#include "json/jpretty.h"

#include "base/limits.h"
#include "base/util.h"
#include "json/jscan.h"
#include "json/jstr.h"

#include <cjson/cJSON.h>

static cJSON *tree_of(struct jval v);

/* True once child (may be NULL) belongs to parent. A key that is no C string cannot be given to cJSON. */
static bool attach_child(cJSON *parent, struct slice raw_key, cJSON *child)
{
	_cleanup_(freep) char *key = NULL;
	struct jval quoted = { J_STRING, SLICE_NONE };

	if (raw_key.p) /* members have one, with its quotes around it */
		quoted.raw = (struct slice){ raw_key.p - 1, raw_key.n + 2 };
	if (child && (cJSON_IsArray(parent) ? cJSON_AddItemToArray(parent, child) :
					      jstr_decode(quoted, MESSAGE_MAX, &key) == 0 &&
						      cJSON_AddItemToObject(parent, key, child)))
		return true;
	cJSON_Delete(child);
	return false;
}

/* The nesting is bounded by jscan (JSON_DEPTH_MAX). */
static cJSON *container_of_parts(struct jval v)
{
	cJSON *tree = v.type == J_OBJECT ? cJSON_CreateObject() : cJSON_CreateArray();
	struct slice key = SLICE_NONE;
	struct jiter it;
	struct jval part;

	jiter_init(&it, v);
	while (tree && jiter_next(&it, &key, &part))
		if (!attach_child(tree, key, tree_of(part))) {
			cJSON_Delete(tree);
			return NULL;
		}
	return tree;
}

static cJSON *tree_of(struct jval v)
{
	_cleanup_(freep) char *text = NULL;

	if (v.type == J_OBJECT || v.type == J_ARRAY)
		return container_of_parts(v);
	/* Raw: a number would lose digits as cJSON's double, and strings keep their escapes. */
	text = xstrndup(v.raw.p, v.raw.n);
	return cJSON_CreateRaw(text);
}

char *jpretty(struct slice text)
{
	struct jval v;
	cJSON *tree;
	char *out;

	if (jscan_value(text, &v) != JSCAN_OK)
		return NULL;
	tree = tree_of(v);
	/* malloc'd: cJSON's hooks are the defaults. What it cannot hold is printed as it came. */
	out = tree ? cJSON_Print(tree) : xstrndup(text.p, text.n);
	cJSON_Delete(tree);
	return out;
}
