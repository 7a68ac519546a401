/*
 * globs.c - expands braces into plain patterns once, and matches paths against these.
 *
 * tree/glob.h has no braces. globs_expand() replaces the first brace by each of its alternatives and
 * recurses, so a nested brace is the first one of a later pass. TOOL_GLOBS_MAX limits the patterns,
 * TOOL_GLOB_BRACES_MAX the recursion on the small stack of a tool's thread, and TOOL_GLOB_BYTES_MAX
 * the text that each step copies. A backslash protects a brace or a comma.
 */
#include "tools/builtin/search/globs.h"

#include "base/buf.h"
#include "base/limits.h"
#include "base/strv.h"
#include "base/util.h"
#include "tree/glob.h"

/* The brace that closes the one at p; NULL: none. */
static const char *closing(const char *p)
{
	int depth = 0;

	for (; *p; p++) {
		if (*p == '\\' && p[1])
			p++;
		else if (*p == '{')
			depth++;
		else if (*p == '}' && --depth == 0)
			return p;
	}
	return NULL;
}

/* The first brace that no backslash protects. */
static const char *opening(const char *p)
{
	for (; *p; p++) {
		if (*p == '\\' && p[1])
			p++;
		else if (*p == '{')
			return p;
	}
	return NULL;
}

/* The end of an alternative: a comma or the closing brace of its own depth. */
static const char *alternative(const char *p, const char *end)
{
	for (int depth = 0; p < end; p++) {
		if (*p == '\\' && p + 1 < end)
			p++;
		else if (*p == '{')
			depth++;
		else if (*p == '}')
			depth--;
		else if (*p == ',' && depth == 0)
			break;
	}
	return p;
}

/* braces: how many were replaced on the way to this pattern. */
static int globs_expand(struct globs *g, const char *pattern, unsigned braces)
{
	const char *open = opening(pattern), *close = open ? closing(open) : NULL;

	if (!open) {
		if (g->n == TOOL_GLOBS_MAX)
			return -E2BIG;
		*GROW(g->v, g->n) = xstrdup(pattern);
		return 0;
	}
	if (!close)
		return -EINVAL;
	if (braces == TOOL_GLOB_BRACES_MAX)
		return -E2BIG;
	/* Up to the closing brace itself: the last alternative may be empty, as in "{a,}". */
	for (const char *p = open + 1; p <= close;) {
		const char *end = alternative(p, close);
		_cleanup_(buf_done) struct buf one = { 0 };
		int r;

		buf_add(&one, pattern, (size_t)(open - pattern));
		buf_add(&one, p, (size_t)(end - p));
		buf_puts(&one, close + 1);
		buf_putc(&one, '\0');
		r = one.failed ? -ENOMEM : globs_expand(g, one.data, braces + 1);
		if (r < 0)
			return r;
		p = end + 1;
	}
	return 0;
}

int globs_add(struct globs *g, const char *pattern, const char *field, struct err *e)
{
	/* Paths are compared from the beginning of the walk, and have no such prefix. */
	while (strncmp(pattern, "./", 2) == 0)
		pattern += 2;
	if (!*pattern || *pattern == '/' || strlen(pattern) > TOOL_GLOB_BYTES_MAX ||
	    globs_expand(g, pattern, 0) < 0)
		return err_field(e, field, "PATTERN_INVALID",
				 "%s: '%.100s' is no pattern of paths below the beginning", field,
				 pattern);
	return 0;
}

bool globs_match(const struct globs *g, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	for (size_t i = 0; i < g->n; i++) {
		bool by_name = g->deep && !strchr(g->v[i], '/');

		if (glob_match(slice_of(g->v[i]), slice_of(by_name ? name : path), true))
			return true;
	}
	return false;
}

void globs_done(struct globs *g)
{
	strv_free_n(g->v, g->n);
	*g = (struct globs){ 0 };
}
