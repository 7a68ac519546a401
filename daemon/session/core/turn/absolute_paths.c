/*
 * absolute_paths.c - makes relative paths in a harness's tool calls absolute. Pure.
 *
 * ACP requires absolute paths, but harnesses send relative ones. The arrays are scanned first, and
 * the call is copied only if a relative path is found. The original text is spliced behind the
 * working directory, with its escapes unchanged and ".." components unresolved.
 */
#include "session/core/turn/absolute_paths.h"

#include "base/util.h"
#include "json/json.h"

/* The text of a string value that is no absolute path, or empty. An escaped first character counts as relative. */
static bool is_relative(struct jval path)
{
	return path.type == J_STRING && path.raw.n > 2 && path.raw.p[1] != '/' &&
	       !(path.raw.p[1] == '\\' && path.raw.p[2] == '/');
}

static bool has_relative_path(struct jval array)
{
	jarr_each(v, array)
		if (v.type == J_OBJECT && is_relative(jobj_get(v.raw, "path")))
			return true;
	return false;
}

/* "./a" and "a" are both <cwd>/a. The rest of the raw text is spliced, so its escapes stay as they are. */
static void absolute_path_put(struct jw *w, struct jval path, const char *cwd)
{
	struct slice rest = { path.raw.p + 1, path.raw.n - 2 };
	struct buf *b = w->b;

	if (slice_starts(rest, "./")) {
		rest.p += 2;
		rest.n -= 2;
	}
	jw_str(w, "path", cwd);
	b->len--; /* the closing quote */
	if (rest.n && !slice_is(rest, ".")) {
		buf_putc(b, '/');
		buf_add_slice(b, rest);
	}
	buf_putc(b, '"');
}

static void put_array(struct jw *w, const char *key, struct jval array, const char *cwd)
{
	jw_arr(w, key);
	jarr_each(v, array) {
		struct jval path = v.type == J_OBJECT ? jobj_get(v.raw, "path") :
							(struct jval){ J_NONE, SLICE_NONE };

		if (!is_relative(path)) {
			jw_raw(w, NULL, v.raw);
			continue;
		}
		jw_obj(w, NULL);
		jw_members(w, v.raw, "path");
		absolute_path_put(w, path, cwd);
		jw_end_obj(w);
	}
	jw_end_arr(w);
}

bool absolute_paths_put(struct slice call, const char *cwd, struct buf *b)
{
	static const char *const keys[] = { "locations", "content" };
	struct jslot found[] = { { JSLOT("locations") }, { JSLOT("content") } };
	struct jw w = JW(b);

	if (jscan_object(call, found, ARRAY_SIZE(found)) != JSCAN_OK ||
	    (!has_relative_path(found[0].v) && !has_relative_path(found[1].v)))
		return false;
	/* A call without a relative path has ended above, without a copy. */
	jw_obj(&w, NULL);
	jobj_each(key, v, call) {
		if (jkey_is(key, keys[0]) && has_relative_path(v))
			put_array(&w, keys[0], v, cwd);
		else if (jkey_is(key, keys[1]) && has_relative_path(v))
			put_array(&w, keys[1], v, cwd);
		else
			jw_member_raw(&w, key, v.raw);
	}
	jw_end_obj(&w);
	return true;
}
