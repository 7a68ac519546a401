#include "base/path_below.h"

#include <string.h>

const char *path_below(const char *path, const char *dir)
{
	size_t n = strcmp(dir, "/") == 0 ? 0 : strlen(dir);

	if (strncmp(path, dir, n) != 0 || (n && path[n] && path[n] != '/'))
		return NULL;
	return path + n + (path[n] == '/');
}
