#include "cli/harness/own_node.h"

#include "base/util.h"
#include "harnesses/harness_pins.h"
#include "session/core/session_paths.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void own_node_add(void)
{
	const char *path = getenv("PATH");
	_cleanup_(freep) char *found = paths_find_command("node", path), *longer = NULL;

	if (found || access(NODE_DIR "/node", X_OK) < 0)
		return;
	if (asprintf(&longer, "%s%s" NODE_DIR, path ? path : "", path && *path ? ":" : "") < 0)
		abort();
	setenv("PATH", longer, 1);
}
