#include "session/programs/programs.h"

#include "session/workspace/session_paths.h"

#include <stdio.h>

char *program_find(const struct harness_def *def, const char *prefix, const char *path)
{
	_cleanup_(freep) char *own = NULL;

	if (prefix && !def->own_command) {
		if (asprintf(&own, "%s/%s/bin/%s", prefix, def->id, def->command) < 0)
			abort();
		if (access(own, X_OK) == 0)
			return TAKE_PTR(own);
	}
	return paths_find_command(def->command, path);
}
