#include "session/core/harness/program_find.h"

#include "session/core/session_paths.h"

#include <stdio.h>
#include <sys/stat.h>

char *program_find(const struct harness_def *def, const char *prefix, const char *path)
{
	_cleanup_(freep) char *own = NULL;
	struct stat st;

	if (prefix && !def->own_command) {
		if (asprintf(&own, "%s/%s/bin/%s", prefix, def->id, def->command) < 0)
			abort();
		if (access(own, X_OK) == 0 && stat(own, &st) == 0 && S_ISREG(st.st_mode))
			return TAKE_PTR(own);
	}
	return paths_find_command(def->command, path);
}
