#include "http/route.h"

#include "base/http/http_fields.h"

bool route_match(const char *pattern, const char *path, struct slice params[ROUTE_PARAMS_MAX])
{
	unsigned count = 0;

	while (*pattern) {
		if (strncmp(pattern, "{}", 2) == 0) {
			size_t n = strcspn(path, "/");

			if (!n || count == ROUTE_PARAMS_MAX)
				return false;
			params[count++] = (struct slice){ path, n };
			pattern += 2;
			path += n;
		} else if (*pattern++ != *path++) {
			return false;
		}
	}
	return !*path;
}

static struct slice trim(struct slice s)
{
	while (s.n && (*s.p == ' ' || *s.p == '\t')) {
		s.p++;
		s.n--;
	}
	while (s.n && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
		s.n--;
	return s;
}

/* The part of s before the byte. */
static struct slice before(struct slice s, char end)
{
	const char *at = s.n ? memchr(s.p, end, s.n) : NULL;

	return (struct slice){ s.p, at ? (size_t)(at - s.p) : s.n };
}

bool route_accepts(struct slice accept, const char *type)
{
	while (accept.n) {
		struct slice range = before(accept, ','), name = trim(before(range, ';'));
		size_t used = range.n + (range.n < accept.n);

		if (http_word_is(name, type))
			return true;
		accept.p += used;
		accept.n -= used;
	}
	return false;
}
