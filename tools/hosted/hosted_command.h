/* hosted_command.h - builds program, environment and directory from an entry of type stdio. */
#pragma once

#include "harnesses/spawn_plan.h"
#include "tools/hosted/hosted_server.h"

struct hosted_command {
	char **argv, **env; /* as execve wants them; argv[0] is absolute */
	char *cwd;
};

/* The program is looked up in the PATH that it will have. -ENOENT, COMMAND_NOT_FOUND: there is none. */
int hosted_command_build(const struct hosted_server_config *config, struct hosted_command *ret,
			 struct err *e);
void hosted_command_done(struct hosted_command *c);
