/*
 * program_version.h - what a foreign program says of its version: the first line of `program --version`, without its
 * unprintable bytes.
 *
 * It gets a clean environment, no input, no descriptor and no held signal of ours, no new privileges, and
 * PROGRAM_VERSION_MS. Once it has said its line, or has not in time, it is killed, and of what it has started all that
 * stayed in its process group. Blocks until then.
 */
#pragma once

#include "base/limits.h"
#include "proc/agent_user.h"

/* as: whom it runs as. 0; -ETIMEDOUT; -EIO: it says no line; else why it could not be started. */
int program_version(const char *path, const struct agent_user *as, char ret[PROGRAM_VERSION_MAX]);
