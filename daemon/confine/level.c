#include "confine/level.h"

#include "base/util.h"

#include <errno.h>

static const char *const level_names[LEVEL_MAX] = {
	[LEVEL_OPEN] = "open",
	[LEVEL_GUARDED] = "guarded",
	[LEVEL_STRICT] = "strict",
};

const char *level_name(enum confine_level level)
{
	return level_names[level];
}

int level_parse(const char *name, enum confine_level *ret)
{
	for (unsigned i = 0; i < LEVEL_MAX; i++) {
		if (strcmp(name, level_names[i]) == 0) {
			*ret = (enum confine_level)i;
			return 0;
		}
	}
	return -EINVAL;
}
