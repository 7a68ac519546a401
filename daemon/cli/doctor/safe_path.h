/*
 * safe_path.h - whether anybody but root and ourselves could change what is at a path, or put something else in its place:
 * by the owners and modes of it and of all directories above. A directory with the sticky bit (/tmp) is no danger to what
 * is root's or ours in it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* path: absolute, and without symbolic links where it shall be believed (realpath). true: nobody could. Else why says who,
 * in words. What cannot be looked at counts as safe: nobody goes there either. */
bool safe_path(const char *path, char *why, size_t size);
/* Of that file or directory alone. */
bool safe_path_itself(const char *path, char *why, size_t size);
