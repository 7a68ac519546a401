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
	longer = xprintf("%s%s" NODE_DIR, path ? path : "", path && *path ? ":" : "");
	setenv("PATH", longer, 1);
}
