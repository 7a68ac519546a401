/* jline.h - finds the line of a value in a file, for messages to the people who wrote the file. */
#pragma once

#include "base/slice.h"

/* The line (from 1) of the value that path names in a valid object or array: "harnesses[2].env.A", members as they
 * stand in text. If a part of path is absent, the line of the value that should hold it. */
unsigned long jline_of(struct slice text, const char *path);
