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

bool route_accepts(struct slice accept, const char *type)
{
	struct slice range, name;

	while (accept.n && slice_item(&accept, ',', &range))
		if (slice_item(&range, ';', &name) && http_word_is(slice_trim(name, " \t"), type))
			return true;
	return false;
}
