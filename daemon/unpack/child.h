/* child.h - short-lived confined processes of the keeper, for what only the tree's user should do. */
#pragma once

#include "unpack/confine.h"

/* Kills (if it still lives) and reaps. */
void child_end(pid_t pid);
/* Removes everything in the directory; what could not be removed stays. */
void child_empty(const struct ident *ident, int dir);
