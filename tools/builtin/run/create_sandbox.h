/* create_sandbox.h - the variables of createSandbox, which all later commands of this sandbox get. */
#pragma once

#include "tools/builtin/core/toolbox.h"

/* NAME=value, ended by NULL; NULL: none. On top of the configuration's, below those of a call; the policy judges them
 * with each command. */
char *const *sandbox_variables(const struct toolbox *b);
