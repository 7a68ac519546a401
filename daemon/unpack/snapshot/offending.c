#include "unpack/snapshot/offending.h"

#include "base/util.h"
#include "base/limits.h"
#include "json/jenc.h"
#include "json/jstr.h"
#include "tree/glob.h"

#include <errno.h>
#include <stdlib.h>

#define LISTED_BYTES (8 * KIB)

static int take_patterns(struct slice raw, char ***ret, size_t *n)
{
	struct jiter it;
	struct jval v;

	if (!raw.n || !jiter_init(&it, (struct jval){ J_ARRAY, raw }))
		return 0;
	while (jiter_next(&it, NULL, &v)) {
		char *one = NULL;

		if (*n == CHECK_PATTERNS_MAX || jstr_decode(v, PATH_BYTES_MAX, &one) < 0)
			return -EINVAL;
		*GROW(*ret, *n) = one;
	}
	return 0;
}

int offending_init(struct offending *o, struct slice allow, struct slice deny)
{
	int r;

	*o = (struct offending){ .wanted = allow.n || deny.n, .allows = allow.n > 0 };
	r = take_patterns(allow, &o->allow, &o->nallow);
	return r < 0 ? r : take_patterns(deny, &o->deny, &o->ndeny);
}

static bool matches(char *const *patterns, size_t n, const char *path)
{
	const char *slash = strrchr(path, '/');

	for (size_t i = 0; i < n; i++) {
		bool by_name = slash && !strchr(patterns[i], '/');

		if (glob_match(slice_of(patterns[i]), slice_of(by_name ? slash + 1 : path), true))
			return true;
	}
	return false;
}

void offending_add(struct offending *o, const char *path)
{
	struct jw w = { &o->json, o->total > 0 };

	if (!o->wanted || (!matches(o->deny, o->ndeny, path) &&
			   (!o->allows || matches(o->allow, o->nallow, path))))
		return;
	if (o->total++ == 0 || buf_len(&o->json) < LISTED_BYTES)
		jw_str(&w, NULL, path);
}

static void free_patterns(char **v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(v[i]);
	free(v);
}

void offending_done(struct offending *o)
{
	free_patterns(o->allow, o->nallow);
	free_patterns(o->deny, o->ndeny);
	buf_done(&o->json);
	*o = (struct offending){ 0 };
}
