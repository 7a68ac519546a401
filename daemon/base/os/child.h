/*
 * child.h - what a child does between fork and exec, by plain system calls: nothing here allocates or locks.
 */
#pragma once

#include <stdbool.h>

/* Sets signals as a new program expects them: no handler, none ignored, none blocked. */
void child_reset_signals(void);
/* Returns true if the reader of the pipe has died. For a child that has asked to die with its parent: the parent may have
 * died before that. */
bool child_is_orphan(int pipe);
