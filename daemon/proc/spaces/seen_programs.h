/*
 * seen_programs.h - which programs there are in a view (fsview.h), and what is hidden around them: places that every
 * confined command is given.
 */
#pragma once

#include "proc/spaces/fsview.h"

/* The directory of a program as it is called, and of what that really is. Relative: nothing. */
void seen_program(struct fsview *v, const char *file);
/* The directories of a PATH. */
void seen_path(struct fsview *v, const char *path);
/* /run, and the homes of users with our own. */
void seen_homes_hidden(struct fsview *v);
